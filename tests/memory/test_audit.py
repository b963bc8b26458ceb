import hashlib
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import Error, connection, transaction
from django.utils import timezone

from memory import erasure
from memory.facts import service as facts
from memory.history import audit
from memory.models import AuditEntry
from tests.factories import make_fact, make_space

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def test_a_line_says_who_did_what_to_what():
    fact = make_fact()
    entry = audit.record(
        "fact.exported", actor="person:ana", space=fact.space, obj=fact, ip="10.0.0.1", count=3
    )
    assert (entry.object_type, entry.object_id) == ("fact", str(fact.pk))
    assert (entry.details, entry.ip) == ({"count": 3}, "10.0.0.1")


def test_the_words_stay_out_and_their_digests_go_in():
    entry = audit.record("x", actor="y", before={"text": "secret"}, after="other secret")
    assert len(entry.before_digest) == len(entry.after_digest) == 64
    assert "secret" not in str(AuditEntry.objects.values().get())


def test_the_digest_does_not_depend_on_the_order_of_names():
    one, other = {"a": 1, "b": "é"}, {"b": "é", "a": 1}
    assert audit.digest(one, key="k") == audit.digest(other, key="k")
    assert audit.digest(None, key="k") == ""
    assert audit.digest("\ud800", key="k")


def test_a_digest_cannot_be_guessed_without_the_key_of_its_space():
    here, there = make_space(), make_space()
    entries = [audit.record("x", actor="y", space=one, before="Rex") for one in (here, there)]
    plain = hashlib.sha256(b"Rex").hexdigest()
    assert len({plain, *(entry.before_digest for entry in entries)}) == 3


@pytest.mark.parametrize(
    "sql",
    ["UPDATE memory_auditentry SET actor = 'somebody else'", "DELETE FROM memory_auditentry"],
)
def test_the_database_refuses_to_change_a_line(sql):
    audit.record("x", actor="y")
    with (
        pytest.raises(Error, match="append_only"),
        transaction.atomic(),
        connection.cursor() as db,
    ):
        db.execute(sql)
    assert AuditEntry.objects.get().actor == "y"


def test_every_entry_is_chained_to_the_one_before(tmp_path):
    for number in range(5):
        audit.record("x", actor="y", number=number)
    assert (audit.head(), audit.seal(), audit.seal()) == ((0, audit.BEGIN), 5, 0)
    assert (audit.head()[0], audit.verify()) == (5, [])
    heads = tmp_path / "heads"
    audit.anchor(heads, now=NOW)
    audit.anchor(heads, now=NOW)
    audit.record("later", actor="y")
    audit.seal()
    assert (len(heads.read_text().splitlines()), audit.verify(heads)) == (1, [])


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        ("UPDATE memory_auditentry SET actor = 'z' WHERE id = {id}", "was changed"),
        ("""UPDATE memory_auditentry SET details = '{{"n": 9}}' WHERE id = {id}""", "details of"),
        ("DELETE FROM memory_auditentry WHERE id = {id}", "is gone"),
        ("DELETE FROM memory_auditseal WHERE entry_id = {id}", "one before is gone"),
        ("UPDATE memory_auditseal SET digest = 'no' WHERE entry_id = {id}", "was changed"),
        ("DELETE FROM memory_auditseal WHERE entry_id >= {id}", "head number 5"),
        ("TRUNCATE memory_auditseal", "head number 5"),
    ],
)
def test_m11_a_row_that_was_changed_removed_or_cut_off_is_found(harm, says, tmp_path):
    entries = [audit.record("x", actor="y", n=number) for number in range(5)]
    audit.seal()
    audit.anchor(tmp_path / "heads", now=NOW)
    with connection.cursor() as db:  # somebody who may switch triggers off
        for table in ("memory_auditentry", "memory_auditseal"):
            db.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        db.execute(harm.format(id=entries[2].pk))
        for table in ("memory_auditentry", "memory_auditseal"):
            db.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    assert says in " ".join(audit.verify(tmp_path / "heads"))
    with pytest.raises(CommandError, match="tampered"):
        call_command("audit_verify", heads=tmp_path / "heads", stderr=StringIO())


@pytest.mark.parametrize("table", ["memory_auditentry", "memory_auditseal"])
def test_m11_the_database_refuses_to_truncate_the_audit(table):
    audit.record("x", actor="y")
    with connection.cursor() as db:
        db.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        with pytest.raises(Error, match="no_truncate"), transaction.atomic():
            db.execute(f"TRUNCATE {table} CASCADE")


def test_an_erasure_leaves_the_chain_whole_and_nothing_to_guess_at():
    fact = make_fact(text="Vic sees Dr. Zeta on Mondays")
    audit.record("memory.read", actor="y", space=fact.space, query="Vic sees Dr. Zeta on Mondays")
    audit.record("x", actor="y", space=fact.space, other="kept")
    audit.seal()
    erasure.purge(facts.discard(fact, by="person:ana").row, by="person:ana")
    audit.seal()
    assert "Zeta" not in str(list(AuditEntry.objects.values_list("details")))
    assert (audit.verify(), audit.erased_details()) == ([], 1)


@pytest.mark.django_db(transaction=True)
def test_many_who_write_at_once_are_sealed_once_each_in_one_chain():
    def write(number):
        try:
            with transaction.atomic():
                audit.record("x", actor=f"y{number}")
            audit.seal()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert (audit.head()[0], audit.verify()) == (12, [])
