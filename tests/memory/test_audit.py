import hashlib

import pytest
from django.db import Error, connection, transaction

from memory.history import audit
from memory.models import AuditEntry
from tests.factories import make_fact, make_space

pytestmark = pytest.mark.django_db


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
