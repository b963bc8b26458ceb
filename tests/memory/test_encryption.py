"""The words of a space that is encrypted."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from memory import erasure, people
from memory.facts import service as facts
from memory.history import changes as history
from memory.models import (
    Embedding,
    Fact,
    Mention,
    Message,
    SpaceKey,
    Unit,
    WebhookEvent,
    encryption,
)
from memory.models.content import content_fields, content_models
from memory.operations import erasing, health, integrity, webhooks
from memory.retrieval.recall import recall
from memory.spaces import encryption as service
from memory.vectors import store as embeddings
from tests.factories import encrypt, make_chat, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db
ANA = "person:ana"


def stored(row, column="text"):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {row._meta.db_table} WHERE id = %s", [row.pk])
        return cursor.fetchone()[0]


def later():
    return timezone.now() + timedelta(hours=1)


def switch_off(space):
    service.switch_off(space, by=ANA)
    encryption.forget()
    service.work(space.pk, now=later())


@pytest.fixture(autouse=True)
def content_key(settings, tmp_path):
    file = tmp_path / "content.key"
    file.write_bytes(service.new_key_file())
    settings.KENO_CONTENT_KEY_FILE = str(file)


def test_words_that_were_there_are_encrypted_and_read_as_before():
    space = make_space()
    fact = make_fact(space, "Ana keeps bees", quote="I keep bees")
    encrypt(space)
    assert stored(fact).startswith("keno-enc:")
    found = Fact.objects.get(pk=fact.pk)
    assert (found.text, found.quote, found.said_key) == (fact.text, fact.quote, fact.said_key)
    assert Fact.objects.filter(said_key=fact.said_key).values_list("text", flat=True).get()


def test_new_words_are_encrypted_however_they_are_written():
    space = make_space()
    encrypt(space)
    chat = make_chat(space)
    said = make_message(chat, "my bees are gone")
    assert stored(said).startswith("keno-enc:")
    Message.objects.filter(pk=said.pk).update(text="my hens are gone")
    assert stored(said).startswith("keno-enc:")
    said.refresh_from_db()
    assert said.text == "my hens are gone"
    said.text = "my ducks are gone"
    Message.objects.bulk_update([said], ["text"])
    assert stored(said).startswith("keno-enc:")
    assert Message.objects.get(pk=said.pk).text == "my ducks are gone" == said.text
    Message.objects.bulk_create([Message(space=space, chat=chat, text="x y", external_id="9")])
    assert stored(Message.objects.get(external_id="9")).startswith("keno-enc:")


def test_switched_off_everything_is_plain_again():
    space = make_space()
    encrypt(space)
    fact = make_fact(space, "Ana keeps bees", evidence=[{"message": 3, "quote": "I keep bees"}])
    assert "bees" not in str(stored(fact, "evidence"))
    switch_off(space)
    assert stored(fact) == "Ana keeps bees"
    assert "I keep bees" in str(stored(fact, "evidence"))
    assert not SpaceKey.objects.exists()


def test_the_same_words_saved_again_are_no_change():
    space = make_space()
    encrypt(space)
    fact = make_fact(space, "Ana keeps bees")
    before, events = stored(fact), fact_events(fact)
    Fact.objects.get(pk=fact.pk).save()
    assert stored(fact) == before
    assert fact_events(fact) == events


def fact_events(fact):
    return history.events_of(Fact).filter(pgh_obj_id=fact.pk).count()


def test_encrypting_keeps_vectors_mentions_history_and_tells_nobody():
    space = make_space()
    fact = make_fact(space, "Ana keeps bees", subject="Ana")
    people.link(fact)
    facts.revise(fact, by=ANA, text="Ana keeps black bees")
    people.link(fact)
    embeddings.backfill(space=space)
    webhooks.subscribe(space, url="https://example.com/", events=["fact"], by=ANA)
    before = Embedding.objects.count(), Mention.objects.count(), fact_events(fact)
    assert all(before)
    encrypt(space)
    assert (Embedding.objects.count(), Mention.objects.count(), fact_events(fact)) == before
    assert not WebhookEvent.objects.exists()
    assert not Unit.objects.filter(space=space).exclude(words=None).exists()
    changes = history.history(fact)
    assert changes[0].fields["text"] == ("Ana keeps bees", "Ana keeps black bees")
    history.undo(changes[0], by=ANA)
    fact.refresh_from_db()
    assert fact.text == "Ana keeps bees"
    assert stored(fact).startswith("keno-enc:")
    switch_off(space)
    assert Unit.objects.filter(space=space).exclude(words=None).exists()


def test_the_key_of_a_space_changes_while_it_is_written():
    space = make_space()
    encrypt(space)
    old, chat = make_fact(space, "Ana keeps bees"), make_chat(space)
    service.rotate(space, by=ANA)
    said = make_message(chat, "written with the old key, by a process that does not know yet")
    assert ".1:" in stored(said)[:20]
    encryption.forget()
    new = make_fact(space, "Ana keeps hens")
    assert (".1:" in stored(old)[:20], ".2:" in stored(new)[:20]) == (True, True)
    both = set(Fact.objects.filter(said_key__in=[old.said_key, new.said_key]))
    assert both == {old, new}
    assert Fact.objects.get(pk=old.pk).text == "Ana keeps bees"
    state = service.of(space)
    assert service.work(space.pk, now=state.changed_at)  # it looks again later
    assert SpaceKey.objects.filter(space=space).count() == 2
    for row in (old, new, said):
        assert ".2:" in stored(row)[:20]
    assert not service.work(space.pk, now=later())
    assert [row.version for row in SpaceKey.objects.filter(space=space)] == [2]
    assert Message.objects.get(pk=said.pk).text == said.text


def test_what_two_said_in_the_same_moment_in_both_forms_does_not_stop_the_job():
    space = make_space()
    first = make_fact(space, "Ana keeps bees", subject="Ana")
    service.switch_on(space, by=ANA)
    encryption.forget()
    twin = Fact.objects.get(pk=first.pk)
    twin.pk, twin._state.adding = None, True
    twin.save()
    service.work(space.pk, now=later())
    assert service.of(space).status == "on"
    assert {row.text for row in Fact.objects.filter(space=space)} == {"Ana keeps bees"}
    assert Fact.objects.filter(space=space).count() == 2


def test_a_job_that_was_stopped_goes_on_where_it_was(monkeypatch):
    monkeypatch.setattr(service, "BATCH", 2)
    space = make_space()
    rows = [make_fact(space, f"Ana keeps {n} bees") for n in range(5)]
    service.switch_on(space, by=ANA)
    encryption.forget()

    def stop(done, total):
        if done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.work(space.pk, now=later(), progress=stop)
    state = service.of(space)
    assert state.status == "encrypting"
    assert state.done == 9
    assert state.position["table"] > 0
    service.work(space.pk, now=later())
    assert service.of(space).status == "on"
    assert all(stored(row).startswith("keno-enc:") for row in rows)


def test_words_of_one_space_do_not_open_in_another():
    one, other = make_space(), make_space()
    encrypt(one)
    encrypt(other)
    mine, theirs = make_fact(one, "Ana keeps bees"), make_fact(other, "Bo keeps hens")
    moved = stored(mine)
    relabelled = stored(theirs)[: len("keno-enc:")] + f"{other.pk}.1:" + moved.rpartition(":")[2]
    for words in (moved, relabelled, "keno-enc:1", stored(theirs)[:-4] + "AAAA"):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE memory_fact SET text = %s WHERE id = %s", [words, theirs.pk])
        row = Fact.objects.get(pk=theirs.pk)
        assert "bees" not in row.text
        assert row.text == encryption.NOT_READABLE or row.text == encryption.KEY_MISSING
        row.save()
        assert stored(theirs) == words, "what cannot be read is not overwritten"


def test_words_in_plain_or_of_another_space_are_found_by_the_check():
    one, other = make_space(), make_space()
    encrypt(one)
    encrypt(other)
    plain, moved, right = (
        make_fact(one, f"Ana keeps {what}") for what in ("bees", "hens", "ducks")
    )
    theirs = make_fact(other, "Bo keeps hens")
    assert not list(integrity.run(only=["encrypted"]))
    with connection.cursor() as cursor:
        write = "UPDATE memory_fact SET text = %s WHERE id = %s"
        cursor.execute(write, ["Ana keeps bees", plain.pk])
        cursor.execute(write, [stored(theirs), moved.pk])
    assert {fault.pk for fault in integrity.run(only=["encrypted"])} >= {plain.pk, moved.pk}
    assert right.pk not in {fault.pk for fault in integrity.run(only=["encrypted"])}


def test_health_says_that_a_key_is_missing(settings):
    space = make_space()
    encrypt(space)
    assert health.content_key(space, timezone.now()).level == "ok"
    settings.KENO_CONTENT_KEY_FILE = ""
    encryption.forget()
    assert health.content_key(space, timezone.now()).level == "error"


def test_two_spaces_one_encrypted_are_recalled_each_by_itself():
    plain, hidden = make_space(), make_space()
    encrypt(hidden)
    for space, name in ((plain, "Rex"), (hidden, "Bello")):
        make_fact(space, f"Ana's dog is called {name}", subject="Ana")
        make_fact(space, "Ana lives near the harbour", subject="Ana")
        embeddings.backfill(space=space)
    for space, name in ((plain, "Rex"), (hidden, "Bello")):
        found = recall(space, "What is Ana's dog called?", now=timezone.now())
        assert found.items[0].unit.text == f"Ana's dog is called {name}"
        assert "words" in {part[0] for part in found.items[0].parts if part[3]}


def test_without_its_key_nothing_is_read_and_nothing_written_in_plain(settings, tmp_path):
    space = make_space()
    encrypt(space)
    fact, chat = make_fact(space, "Ana keeps bees"), make_chat(space)
    embeddings.backfill(space=space)
    right = settings.KENO_CONTENT_KEY_FILE
    wrong = tmp_path / "wrong.key"
    wrong.write_bytes(service.new_key_file())
    for file in (str(wrong), str(tmp_path / "none"), ""):
        settings.KENO_CONTENT_KEY_FILE = file
        encryption.forget()
        assert Fact.objects.get(pk=fact.pk).text == encryption.KEY_MISSING
        with pytest.raises(encryption.KeyMissing), transaction.atomic():
            make_message(chat, "nobody may read this")
        with pytest.raises(encryption.KeyMissing):
            service.work(space.pk, now=later())
        with pytest.raises(service.Refused):
            service.switch_off(space, by=ANA)
        assert not recall(space, "who keeps bees?", now=timezone.now()).items
    settings.KENO_CONTENT_KEY_FILE = right
    encryption.forget()
    assert Fact.objects.get(pk=fact.pk).text == "Ana keeps bees"


def test_a_passphrase_will_do_and_the_key_of_the_installation_can_change(settings, tmp_path):
    file, settings.KENO_CONTENT_KEY_FILE = settings.KENO_CONTENT_KEY_FILE, ""
    settings.KENO_CONTENT_PASSPHRASE = words = "four words " + "of mine"
    space = make_space()
    encrypt(space)
    fact = make_fact(space, "Ana keeps bees")
    before = stored(fact)
    settings.KENO_CONTENT_PASSPHRASE, settings.KENO_CONTENT_KEY_FILE = "", file
    encryption.forget()
    assert Fact.objects.get(pk=fact.pk).text == encryption.KEY_MISSING
    with pytest.raises(CommandError, match="neither"):
        call_command("memory_encrypt", "rewrap", old_key_file=str(new_key(tmp_path)))
    old = tmp_path / "old"
    old.write_text(words)
    call_command("memory_encrypt", "rewrap", old_passphrase_file=old)
    encryption.forget()
    assert Fact.objects.get(pk=fact.pk).text == "Ana keeps bees"
    assert stored(fact) == before


def new_key(folder):
    file = folder / "made.key"
    call_command("memory_encrypt", "new-key", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(CommandError):
        call_command("memory_encrypt", "new-key", str(file))
    return file


def test_the_command_switches_and_says_how_it_stands(monkeypatch, capsys):
    monkeypatch.setattr("time.sleep", lambda seconds: encryption.forget())
    space = make_space("home")
    fact = make_fact(space, "Ana keeps bees")
    call_command("memory_encrypt", "on", "home")
    assert stored(fact).startswith("keno-enc:")
    with pytest.raises(CommandError, match="already"):
        call_command("memory_encrypt", "on", "home")
    call_command("memory_encrypt", "status")
    assert "home: on, key 1" in capsys.readouterr().out
    call_command("memory_encrypt", "off", "home")
    assert stored(fact) == "Ana keeps bees"


def test_erasing_the_space_destroys_its_key():
    space = make_space("gone")
    encrypt(space)
    make_fact(space, "Ana keeps bees")
    assert SpaceKey.objects.count() == 1
    asked = erasing.start(space, "space", space, typed=space.name, by=ANA)
    erasing.run(asked)
    assert not SpaceKey.objects.exists()


def test_a_person_who_types_our_own_mark_reads_it_again():
    said = make_message(text="keno-enc:1.1:abc is how it is stored")
    assert Message.objects.get(pk=said.pk).text.strip() == said.text


def test_every_column_with_words_is_encrypted_or_said_to_stay():
    covered = {
        (model._meta.label, field.name)
        for model in content_models()
        for field in content_fields(model)
    }
    places = {(place.model, name) for place in erasure.PLACES for name in place.fields}
    assert places - covered == STAYS


# What docs/security.md says stays readable in the database.
STAYS = {
    ("memory.Fact", "flags"), ("memory.Fact", "tags"), ("memory.Pattern", "flags"),
    ("memory.Entity", "name"), ("memory.Entity", "aliases"), ("memory.Entity", "keys"),
    ("memory.Rule", "category"), ("memory.DeadLetter", "args"), ("memory.DeadLetter", "error"),
    ("memory.Notice", "link"), ("memory.Parcel", "guild"), ("memory.AuditEntry", "details"),
    ("sleep.Claim", "subject"), ("pghistory.Context", "metadata"),
}  # fmt: skip
