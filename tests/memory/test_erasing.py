"""Erasing a message, chat, person, member, import or space: what goes, what stays, the receipt."""

import io
import json

import pytest
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models

from memory import erasure, people, tasks
from memory.history.actors import person
from memory.models import (
    AuditEntry,
    Chat,
    Entity,
    Episode,
    Erasure,
    Fact,
    Member,
    Message,
    Preference,
    Recall,
    Space,
    Unit,
)
from memory.operations import erasing
from memory.spaces.service import LastOwner
from memory.transfer import importing
from tests.factories import (
    make_chat,
    make_entity,
    make_episode,
    make_fact,
    make_member,
    make_message,
    make_preference,
    make_receipt,
    make_space,
    one_of_everything,
)
from tests.memory.test_erasure import dump

pytestmark = pytest.mark.django_db
OWNER = "person:owner"
ROSA, TOM = "ZQ-ROSA-7741-canary", "ZQ-TOM-9902-canary"


class Group:
    """Rosa and Tom talk in one chat, Rosa alone in another; each says something of their own."""

    def __init__(self, space=None):
        self.space = space or make_space(settings={"believe_from": 0.5, "offer_from": 0.2})
        self.chat = make_chat(self.space, channel="telegram", title="Friends")
        self.alone = make_chat(self.space, channel="telegram", title=f"Rosa {ROSA}")
        self.episode = make_episode(
            self.space, chat=self.chat, status="closed", title="Friends talk",
            body=f"Rosa: My boat is {ROSA}\nTom: My car is {TOM}", participants=["Rosa", "Tom"],
        )  # fmt: skip
        self.rosa = self.entity("Rosa", "7", aliases=["Rosita"])
        self.tom = self.entity("Tom", "8")
        self.said = self.say("Rosa", "7", f"My boat is registered as {ROSA}")
        self.answer = make_message(
            self.chat, f"Noted: Rosa's boat is {ROSA}.", role="assistant", reply_to=self.said,
            episode=self.episode,
        )  # fmt: skip
        self.toms = self.say("Tom", "8", f"My car is registered as {TOM}")
        self.private = make_message(
            self.alone, f"Only you know {ROSA}", author="Rosa", author_id="7"
        )
        self.fact = self.know("Rosa", self.rosa, f"Rosa's boat is {ROSA}", self.said)
        self.car = self.know("Tom", self.tom, f"Tom's car is {TOM}", self.toms)
        self.both = self.know("Tom", self.tom, f"Tom sails with Rosa {TOM}", self.toms)
        self.both.mentions.create(entity=self.rosa, role="named")

    def entity(self, name, number, **given):
        return make_entity(self.space, name=name, accounts=[f"telegram:{number}"], **given)

    def say(self, author, number, text):
        given = {"author": author, "author_id": number, "episode": self.episode}
        return make_message(self.chat, text, **given)

    def know(self, subject, entity, text, message):
        fact = make_fact(
            self.space, text, subject=subject, message=message, quote=message.text, chat=self.chat,
            said_by=subject,
        )  # fmt: skip
        fact.mentions.create(entity=entity, role="about")
        return fact


def erase(space, kind, row):
    asked = erasing.start(space, kind, row, typed=erasing.name_of(row), by=OWNER)
    tasks.erase(erasure_id=asked.pk, space_id=space.pk)
    return Erasure.objects.get(pk=asked.pk)


def words_left(mark):
    return [line for line in dump().splitlines() if mark.lower() in line.lower()]


def spread_over_every_column(space, mark, message):
    """Write the mark beside the message's words into every column of the table of places."""
    words = f"{message.text} {mark}"
    for place in erasure.PLACES:
        rows = place.table._base_manager.all()
        rows = rows.filter(**{place.space: space.pk}) if place.space else rows
        if place.table in (Message, Fact, Episode, Entity):
            continue
        for row in rows[:1]:
            for name in place.fields:
                column = row._meta.get_field(name)
                place.table._base_manager.filter(pk=row.pk).update(
                    **{name: _as(column, words, getattr(row, name))}
                )


def _as(column, words, was):
    if isinstance(column, ArrayField):
        return [words]
    if isinstance(column, models.JSONField):
        return {**was, "said": words} if isinstance(was, dict) else [{"said": words}]
    return words[: column.max_length] if column.max_length else words


@pytest.mark.django_db(transaction=True)
def test_a_person_is_erased_from_every_table_and_nobody_else_is():
    group = Group()
    things = one_of_everything(group.space, owner=make_member(space=group.space).user, mark="other")
    assert things
    make_preference(group.space, value=ROSA, channel="telegram", author_id="7", person="Rosa")
    make_receipt(group.space, f"what about {ROSA}?", message=group.said, reply=group.answer)
    # The audit is append-only for everybody else.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memory_auditentry DISABLE TRIGGER USER")
        spread_over_every_column(group.space, ROSA, group.said)
        cursor.execute("ALTER TABLE memory_auditentry ENABLE TRIGGER USER")
    before = words_left(TOM)
    assert len(words_left(ROSA)) > 20
    asked = erase(group.space, "person", group.rosa)
    assert asked.status == "done"
    assert words_left(ROSA) == []
    # Of what is Tom's only the name of Rosa is taken out, and the summary is written again.
    assert len(words_left(TOM)) >= len(before) - 1
    group.toms.refresh_from_db()
    assert (group.toms.text, group.toms.author) == (f"My car is registered as {TOM}", "Tom")
    assert Fact.objects.get(pk=group.car.pk).text == f"Tom's car is {TOM}"
    assert Fact.objects.get(pk=group.both.pk).text == f"Tom sails with [erased] {TOM}"
    assert "Rosa" not in " ".join(Episode.objects.get(pk=group.episode.pk).participants)


def test_the_person_leaves_the_chat_in_place_and_their_own_chat_goes():
    group = Group()
    erase(group.space, "person", group.rosa)
    assert not Chat.objects.filter(pk=group.alone.pk).exists()
    assert not Entity.objects.filter(name="Rosa").exists()
    told = Message.objects.filter(chat=group.chat).order_by("pk").values_list("author_id", "text")
    assert list(told)[:2] == [("", "[erased]"), ("", "[erased]")]
    assert not Unit.objects.filter(kind="message", owner_id=group.said.pk, live=True).exists()
    assert Unit.objects.filter(kind="message", owner_id=group.toms.pk, live=True).exists()


def test_whoever_is_known_only_through_them_goes_and_a_named_relative_stays():
    group = Group()
    sister = make_entity(group.space, name="Rosa's sister", owner=group.rosa, relation="sister")
    mother = make_entity(group.space, name="Carmen", owner=group.rosa, relation="mother")
    erase(group.space, "person", group.rosa)
    assert not Entity.objects.filter(pk=sister.pk).exists()
    mother.refresh_from_db()
    assert (mother.owner_id, mother.relation) == (None, "")


def test_a_fact_about_somebody_else_that_they_told_stays_without_their_words():
    group = Group()
    told = group.know("Tom", group.tom, f"Tom was born in {TOM}", group.said)
    erase(group.space, "person", group.rosa)
    told.refresh_from_db()
    assert (told.text, told.quote, told.said_by) == (f"Tom was born in {TOM}", "[erased]", "Tom")


def test_the_preview_counts_shows_examples_and_says_what_stays_and_changes_nothing():
    group = Group()
    found = erasing.preview(group.space, "person", group.rosa, by=OWNER)
    assert found.counts["memory.Message"] >= 3
    assert any(ROSA in said for said in found.examples)
    assert any(some and "Tom sails with Rosa" in some[0] for _why, _n, some in found.stays)
    group.said.refresh_from_db()
    assert ROSA in group.said.text
    assert erase(group.space, "person", group.rosa).counts == found.counts


def test_the_name_must_be_typed_and_the_last_owner_stays():
    group, owner = Group(), make_member()
    with pytest.raises(erasing.WrongName):
        erasing.start(group.space, "person", group.rosa, typed="rosa!", by=OWNER)
    with pytest.raises(LastOwner):
        erasing.start(owner.space, "member", owner, typed=str(owner.user), by=OWNER)
    assert not Erasure.objects.exists()


def test_a_message_takes_what_rests_on_it_alone_and_the_reply_that_quoted_it():
    group = Group()
    also = make_message(group.chat, f"Yes, {ROSA} is the boat", author="Tom", author_id="8")
    group.both.evidence = [{"message": group.said.pk, "quote": group.said.text}]
    group.both.save()
    erase(group.space, "message", group.said)
    assert not Fact.objects.filter(pk=group.fact.pk).exists()
    group.answer.refresh_from_db()
    also.refresh_from_db()
    assert group.answer.text == "[erased]"
    assert also.text == f"Yes, {ROSA} is the boat"
    both = Fact.objects.get(pk=group.both.pk)
    assert both.evidence[0]["quote"] == "[erased]"
    assert Episode.objects.get(pk=group.episode.pk).body.count(TOM) == 1


def test_a_chat_goes_with_its_messages_facts_episodes_and_history():
    group = Group()
    erase(group.space, "chat", group.chat)
    assert not Message.objects.filter(chat_id=group.chat.pk).exists()
    assert not Episode.objects.exists()
    assert not Fact.objects.exists()
    assert Chat.objects.get().pk == group.alone.pk


def test_a_member_goes_with_what_they_said_here_and_their_tokens():
    member = make_member(role="curator")
    make_member(space=member.space)
    chat = make_chat(member.space, channel="web")
    said = make_message(chat, f"I hide {ROSA}", author="me", author_id=str(member.user_id))
    people.find_speakers(member.space)
    erase(member.space, "member", member)
    assert not Member.objects.filter(pk=member.pk).exists()
    assert not Message.objects.filter(pk=said.pk).exists()


def test_an_import_goes_with_what_it_brought_and_what_was_learned_from_it(tmp_path):
    source, space = Group(), make_space()
    file = tmp_path / "there.keno.zip"
    with file.open("wb") as out:
        importing.export(source.space, out, by=OWNER)
    importing.run(space, file, by=OWNER)
    mine = make_fact(space, "Something of ours")
    entry = AuditEntry.objects.get(space=space, action="import")
    erase(space, "import", entry)
    assert list(Fact.objects.filter(space=space)) == [mine]
    assert not Message.objects.filter(space=space).exists()
    assert not Chat.objects.filter(space=space).exists()


def test_a_space_is_erased_and_whoever_asked_keeps_the_receipt():
    group = Group()
    asked = erase(group.space, "space", group.space)
    assert not Space.objects.exists()
    assert (asked.space, asked.status) == (None, "done")
    assert asked.counts["memory.Message"] == 4
    assert erasing.asked_by(OWNER, asked.pk) == asked
    assert erasing.asked_by("person:else", asked.pk) is None


def test_the_receipt_says_what_when_by_whom_and_no_word():
    group = Group()
    asked = erase(group.space, "person", group.rosa)
    said = json.dumps(erasing.receipt(asked))
    assert "Rosa" not in said
    assert ROSA not in said
    assert json.loads(said)["rows"]["memory.Message"] >= 3
    assert len(asked.digests) >= 5
    done = AuditEntry.objects.get(action="erasure.done")
    assert (done.actor, done.details["kind"]) == (OWNER, "person")


def test_a_second_run_changes_nothing_and_what_is_gone_is_done():
    group = Group()
    asked = erase(group.space, "chat", group.chat)
    counts = asked.counts
    tasks.erase(erasure_id=asked.pk, space_id=group.space.pk)
    asked.refresh_from_db()
    assert asked.counts == counts
    again = Erasure.objects.create(
        space=group.space, kind="chat", object_id=group.chat.pk, by=OWNER
    )
    assert erasing.run(again).status == "done"


def test_a_job_that_was_cut_off_begins_again(monkeypatch):
    group, real = Group(), erasure._delete
    asked = erasing.start(group.space, "person", group.rosa, typed="Rosa", by=OWNER)

    def die(one):
        raise KeyboardInterrupt

    monkeypatch.setattr(erasure, "_delete", die)
    with pytest.raises(KeyboardInterrupt):
        erasing.run(asked)
    group.said.refresh_from_db()
    assert ROSA in group.said.text
    monkeypatch.setattr(erasure, "_delete", real)
    assert erasing.run(Erasure.objects.get(pk=asked.pk)).status == "done"
    group.said.refresh_from_db()
    assert group.said.text == "[erased]"


def test_an_older_archive_does_not_bring_it_back(tmp_path):
    group = Group()
    file = tmp_path / "before.keno.zip"
    with file.open("wb") as out:
        importing.export(group.space, out, by=OWNER)
    erase(group.space, "person", group.rosa)
    importing.run(group.space, file, by=OWNER)
    said = " ".join(Message.objects.values_list("text", flat=True))
    known = " ".join(Fact.objects.values_list("text", flat=True))
    assert ROSA not in said + known
    assert not Entity.objects.filter(name="Rosa").exists()
    assert TOM in said
    assert TOM in known


def test_an_archive_carries_the_list_to_another_place(tmp_path):
    group, elsewhere = Group(), make_space()
    old, new = tmp_path / "old.keno.zip", tmp_path / "new.keno.zip"
    for file, before in (
        (old, lambda: None),
        (new, lambda: erase(group.space, "person", group.rosa)),
    ):
        before()
        with file.open("wb") as out:
            importing.export(group.space, out, by=OWNER)
    importing.run(elsewhere, new, by=OWNER)
    importing.run(elsewhere, old, by=OWNER)
    texts = Message.objects.filter(space=elsewhere).values_list("text", flat=True)
    assert ROSA not in " ".join(texts)
    assert TOM in " ".join(texts)


def test_a_receipt_replays_on_a_database_that_was_put_back():
    group = Group()
    asked = erase(group.space, "message", group.said)
    Message.objects.filter(pk=group.said.pk).update(text=f"My boat is registered as {ROSA}")
    told = json.load(io.StringIO(json.dumps(erasing.receipt(asked))))
    Erasure.objects.all().delete()  # younger than the backup
    erasing.replay(group.space, by=OWNER, receipts=[told])
    group.said.refresh_from_db()
    assert group.said.text == "[erased]"
    assert erasing.receipt(Erasure.objects.get())["digests"] == told["digests"]


def test_a_database_that_was_put_back_loses_the_member_again(settings, tmp_path):
    settings.KENO_BACKUPS = tmp_path
    group, left = Group(), make_member()
    member = make_member(space=group.space, user=left.user, role="viewer")
    erase(group.space, "member", member)
    listed = tmp_path / erasing.ERASURES
    again = Member.objects.create(pk=member.pk, space=group.space, user=left.user, role="viewer")
    assert erasing.replay_listed(listed, since="9") == 0
    assert Member.objects.filter(pk=again.pk).exists()
    assert erasing.replay_listed(listed, since="2000") == 1
    assert not Member.objects.filter(pk=again.pk).exists()


def test_a_list_of_receipts_that_breaks_off_erases_nothing(settings, tmp_path):
    settings.KENO_BACKUPS = tmp_path
    group = Group()
    erase(group.space, "message", group.said)
    Message.objects.filter(pk=group.said.pk).update(text=f"My boat is registered as {ROSA}")
    listed = tmp_path / erasing.ERASURES
    listed.write_text(listed.read_text() + '{"kind": "mess')
    with pytest.raises(json.JSONDecodeError):
        erasing.replay_listed(listed, since="2000")
    group.said.refresh_from_db()
    assert ROSA in group.said.text


def test_a_receipt_of_another_thing_with_the_same_number_erases_nothing():
    group = Group()
    told = erasing.receipt(erase(group.space, "message", group.said))
    told["number"] = Message.objects.filter(text__contains=TOM).values_list("pk", flat=True)[0]
    assert erasing.replay(group.space, by=OWNER, receipts=[told]) == {}
    assert Message.objects.filter(text__contains=TOM).exists()


def test_what_is_said_of_accounts_goes_with_them():
    group = Group()
    make_preference(group.space, value="short answers", channel="telegram", author_id="7")
    kept = make_preference(group.space, value="long answers", channel="telegram", author_id="8")
    Recall.objects.create(
        space=group.space, query="q", profile="keno", message=group.said, person="Rosa"
    )
    erase(group.space, "person", group.rosa)
    assert list(Preference.objects.all()) == [kept]
    assert not Recall.objects.filter(person="Rosa").exists()


def test_the_owner_who_asks_is_named_by_account():
    owner = make_member()
    chat = make_chat(owner.space)
    by = person(owner.user)
    asked = erasing.start(owner.space, "chat", chat, typed=str(chat), by=by)
    assert erasing.run(asked).by == by
