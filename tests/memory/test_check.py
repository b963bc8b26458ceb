from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from memory import patterns, rulings, working
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.history import actors
from memory.models import (
    Chat,
    Embedding,
    EmbeddingModel,
    Entity,
    Episode,
    Fact,
    Mention,
    Message,
    Recall,
    RecallItem,
    Ruling,
    Space,
    Unit,
    WorkingNote,
)
from memory.operations import integrity
from tests.factories import (
    make_chat,
    make_episode,
    make_fact,
    make_message,
    make_pattern,
    make_space,
)

pytestmark = pytest.mark.django_db
ANA = actors.person("ana")
NOW = datetime(2026, 2, 13, tzinfo=UTC)


@pytest.fixture
def space():
    return make_space("home")


@pytest.fixture
def chat(space):
    return make_chat(space)


def lively(space, chat):
    """A memory in which a bit of everything happened."""
    message = chats.receive(chat, text="I live in Lisbon now", author="Ana").message
    episodes.follow(message)
    old = facts.remember(space, text="Ana lives in Porto", by="tag", subject="Ana").row
    given = {"message": message, "quote": "I live in Lisbon", "chat": chat}
    facts.supersede(old, text="Ana lives in Lisbon", by="tag", **given)
    facts.discard(facts.remember(space, text="Ana likes tea", by="tag").row, by=ANA)
    rulings.keep(facts.remember(space, text="Ana likes coffee", by="tag").row, by=ANA)
    patterns.learn(space, trigger="tea", response="No", by="night", evidence=[{"quote": "x"}])
    working.write(chat, text="a task", by="tag")
    some = [make_episode(space, chat=chat), make_episode(space, chat=chat)]
    episodes.merge(some, by=ANA)
    episodes.summarise([make_episode(space, chat=chat)], by="night")


def test_r16_a_lively_memory_has_no_faults(space, chat):
    lively(space, chat)
    assert list(map(str, integrity.run())) == []
    call_command("memory_check")


def _before_the_wall(*tables: str) -> None:
    """As rows were that an older Keno wrote; the end of the test brings the constraint back."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_chat_id_of_space")


def _other_space_chat(space, chat):
    _before_the_wall("memory_fact", "memory_unit")
    Fact.objects.filter(pk=make_fact(space).pk).update(chat=make_chat(make_space()))


def _other_space_message(space, chat):
    _before_the_wall("memory_message", "memory_unit")
    Message.objects.filter(pk=make_message(chat).pk).update(space=make_space())


def _note_in_other_space(space, chat):
    _before_the_wall("memory_workingnote")
    WorkingNote.objects.create(space=make_space(), chat=chat, notes="x")


def _receipt_of_other_space(space, chat):
    receipt = Recall.objects.create(space=space, query="x")
    fact = make_fact(make_space())
    RecallItem.objects.create(recall=receipt, fact=fact, kind="fact", rank=1, score=1)


def _fact_names_somebody_of_other_space(space, chat):
    ana = Entity.objects.create(space=make_space(), name="Ana")
    Mention.objects.create(fact=make_fact(space), entity=ana, role="about")


def _private_fact_elsewhere(space, chat):
    make_fact(space, chat=make_chat(space), message=make_message(chat, "x"))


def _message_in_other_chats_episode(space, chat):
    make_message(chat, episode=make_episode(space, chat=make_chat(space)))


def _wrong_key(space, chat):
    Fact.objects.filter(pk=make_fact(space).pk).update(text="changed behind our back")


def _superseded_by_nothing(space, chat):
    make_fact(space, status="superseded")


def _active_though_superseded(space, chat):
    make_fact(space, superseded_by=make_fact(space))


def _circle(space, chat):
    one = make_fact(space, status="superseded")
    two = make_fact(space, status="superseded", superseded_by=one)
    Fact.objects.filter(pk=one.pk).update(superseded_by=two)


def _missing_evidence(space, chat):
    make_fact(space, evidence=[{"message": 999_999, "quote": "x"}])


def _evidence_elsewhere(space, chat):
    elsewhere = make_episode(make_space())
    make_pattern(space, evidence=[{"episode": elsewhere.pk}])


def _invented_quote(space, chat):
    make_fact(space, message=make_message(chat, "I like tea"), quote="I like coffee")


def _undated_trash(space, chat):
    make_fact(space, status="trashed")


def _undated_discard(space, chat):
    make_episode(space, status="discarded")


def _dated_but_alive(space, chat):
    make_episode(space, discarded_at=NOW)


def _forgotten_open(space, chat):
    make_episode(space, chat=chat, status="open", started_at=NOW, ended_at=NOW)


def _open_without_chat(space, chat):
    make_episode(space, status="open")


def _summary_of_another_chat(space, chat):
    private = make_episode(space, chat=make_chat(space))
    make_episode(space, chat=chat, summary_of=[private.pk])


def _keeps_nothing(space, chat):
    Ruling.objects.create(space=space, kind="keep", text="x", said_key="x", by=ANA)


def _unknown_clock(space, chat):
    Space.objects.filter(pk=space.pk).update(timezone="Mars/Olympus")


def _wrong_chat_key(space, chat):
    Chat.objects.filter(pk=chat.pk).update(key="telegram-other")


def _history_off(space, chat):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memory_pattern DISABLE TRIGGER USER")


def _sql(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _not_searchable(space, chat):
    make_fact(space)
    _sql("DELETE FROM memory_unit")


def _ghost(space, chat):
    make_fact(space)
    _sql("UPDATE memory_unit SET owner_id = 999999")
    Fact.objects.all().delete()


def _found_elsewhere(space, chat):
    make_fact(space, chat=chat)
    _sql("UPDATE memory_unit SET chat_id = NULL")


def _vector(space, dims=3, **given):
    make_fact(space)
    values = {"model": "m", "dims": dims, "space": space, "scope": -2 * space.pk, "text_hash": "x"}
    unit = Unit.objects.get()
    return Embedding.objects.create(unit=unit, vector=[1.0] * 3, **values | given)


def _orphan_vector(space, chat):
    vector = _vector(space)
    _sql("SET CONSTRAINTS ALL IMMEDIATE")
    _sql("ALTER TABLE memory_embedding DROP CONSTRAINT embedding_of_unit")
    Embedding.objects.filter(pk=vector.pk).update(unit=999_999)


def _short_vector(space, chat):
    _vector(space, dims=384)


def _wrong_model_length(space, chat):
    EmbeddingModel.objects.create(name="m", provider="x", dims=768)
    _vector(space)


def _leaking_vector(space, chat):
    _vector(space, scope=chat.pk)


PLANTED = {
    _other_space_chat: "walls",
    _other_space_message: "walls",
    _note_in_other_space: "walls",
    _receipt_of_other_space: "walls",
    _fact_names_somebody_of_other_space: "walls",
    _private_fact_elsewhere: "chats_apart",
    _message_in_other_chats_episode: "chats_apart",
    _wrong_key: "keys",
    _superseded_by_nothing: "successors",
    _active_though_superseded: "successors",
    _circle: "successors",
    _missing_evidence: "evidence",
    _evidence_elsewhere: "evidence",
    _invented_quote: "quotes",
    _undated_trash: "trash",
    _undated_discard: "trash",
    _dated_but_alive: "trash",
    _forgotten_open: "open_episodes",
    _open_without_chat: "open_episodes",
    _summary_of_another_chat: "summaries",
    _keeps_nothing: "rulings_in_force",
    _unknown_clock: "spaces",
    _wrong_chat_key: "keys_of_chats",
    _history_off: "keepers",
    _not_searchable: "units",
    _ghost: "units",
    _found_elsewhere: "units",
    _orphan_vector: "vectors",
    _short_vector: "vectors",
    _wrong_model_length: "vectors",
    _leaking_vector: "vectors",
}


@pytest.mark.parametrize(
    ("plant", "name"), PLANTED.items(), ids=lambda x: getattr(x, "__name__", "")
)
def test_r16_each_planted_fault_is_found_and_nothing_else(space, chat, plant, name):
    plant(space, chat)
    found = list(integrity.run(now=timezone.now()))
    assert {fault.check for fault in found} == {name}
    assert name in integrity.CHECKS


def test_the_command_prints_faults_and_exits_with_one(space, chat, capsys):
    _undated_trash(space, chat)
    with pytest.raises(SystemExit) as stopped:
        call_command("memory_check")
    assert stopped.value.code == 1
    assert "in the trash without a date" in capsys.readouterr().out


def test_the_command_can_run_one_check_and_print_json(space, chat, capsys):
    _undated_trash(space, chat)
    call_command("memory_check", only=["walls"], json=True)
    assert capsys.readouterr().out == ""
    with pytest.raises(CommandError, match="no check called nonsense"):
        call_command("memory_check", only=["nonsense"])


def test_an_open_episode_of_today_is_no_fault(space, chat):
    now = timezone.now()
    Episode.objects.create(space=space, chat=chat, started_at=now - timedelta(days=2), ended_at=now)
    assert list(integrity.run()) == []
