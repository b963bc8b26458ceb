"""Everything remembered is searchable at once, however it was written; nothing put away is."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memory.extraction.ingest import decide_recall
from memory.models import Embedding, Episode, Fact, Message, Unit
from memory.models.unit import anywhere, shared
from tests.factories import make_chat, make_episode, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db


def unit_of(owner) -> Unit:
    return Unit.objects.get(kind=owner._meta.model_name, owner_id=owner.pk)


def found(word: str) -> list[tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, owner_id FROM memory_unit WHERE words @@ keno_query(%s) ORDER BY id",
            [word],
        )
        return cursor.fetchall()


def test_a_fact_an_episode_and_a_message_are_units():
    chat = make_chat()
    fact = make_fact(chat.space, text="Ana grows tomatoes")
    episode = make_episode(chat.space, chat=chat, title="Garden", body="Tomatoes were planted")
    message = make_message(chat, text="the tomato is red", author="Ana García")
    assert found("tomato") == [("fact", fact.pk), ("episode", episode.pk), ("message", message.pk)]
    assert unit_of(message).speaker == "ana garcia"
    assert unit_of(message).scopes == [chat.pk, anywhere(chat.space_id)]
    assert unit_of(fact).scope == shared(chat.space_id)


def test_the_time_of_an_event_is_when_it_happens_and_of_a_state_since_when_it_holds():
    moment = datetime(2026, 3, 20, 17, tzinfo=UTC)
    event = make_fact(text="Ana flew to Oslo", occurs_at=moment, valid_from=moment)
    state = make_fact(text="Ana lives in Rome", valid_from=moment)
    assert (unit_of(event).at, unit_of(event).until) == (moment, moment)
    assert (unit_of(state).at, unit_of(state).until) == (moment, max(moment, state.created_at))
    Fact.objects.filter(pk=event.pk).update(occurs_at=moment + timedelta(days=1))
    assert unit_of(event).at == moment + timedelta(days=1)


def test_bulk_inserts_and_raw_sql_have_words_too():
    space = make_space()
    rows = [Fact(space=space, text=f"likes kiwi {i}", said_key=str(i)) for i in range(3)]
    Fact.objects.bulk_create(rows)
    Fact.objects.filter(pk=rows[0].pk).update(text="likes mango")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memory_fact WHERE id = %s", [rows[1].pk])
    assert found("kiwi") == [("fact", rows[2].pk)]
    assert found("mango") == [("fact", rows[0].pk)]
    assert Unit.objects.filter(space=space).count() == 2


@pytest.mark.parametrize(
    ("language", "text", "word"),
    [
        ("es", "Prefiere canciones tranquilas", "canción"),
        ("es", "El ÁRBOL de Núñez", "arbol"),
        ("en", "She was walking home", "walks"),
        ("", "Ella vive en Sevilla and works there", "working"),
        ("", "Ella vive en Sevilla", "vivir"),
        ("en", "uses node.js and n8n daily", "n8n"),
        ("en", "Ana's sister", "ana"),
        ("ru", "любит чай", "чай"),
    ],
)
def test_words_are_found_by_their_stem_without_accents(language, text, word):
    fact = make_fact(text=text, language=language)
    assert found(word) == [("fact", fact.pk)]


@pytest.mark.parametrize(
    "word", ["", "'", "a & | (", ":*", "\\", "!", "<->", "%", "\t\n", "🙂", "''''"]
)
def test_t24_no_text_is_a_syntax_error(word):
    make_fact(text="plain")
    assert found(word) == []


@pytest.mark.parametrize("status", ["archived", "superseded", "quarantined", "trashed"])
def test_a_fact_that_is_put_away_has_no_words_until_it_comes_back(status):
    fact = make_fact(text="likes plums")
    Fact.objects.filter(pk=fact.pk).update(status=status)
    assert found("plums") == []
    Fact.objects.filter(pk=fact.pk).update(status="active")
    assert found("plums") == [("fact", fact.pk)]


def test_what_was_said_in_a_discarded_episode_is_discarded_with_it():
    chat = make_chat()
    episode = make_episode(chat.space, chat=chat, body="about figs")
    message = make_message(chat, text="figs again", episode=episode)
    Episode.objects.filter(pk=episode.pk).update(status="discarded")
    assert found("figs") == []
    Episode.objects.filter(pk=episode.pk).update(status="closed")
    assert found("figs") == [("episode", episode.pk), ("message", message.pk)]


def test_an_archived_episode_leaves_its_messages_findable():
    chat = make_chat()
    episode = make_episode(chat.space, chat=chat, body="about figs")
    message = make_message(chat, text="figs again", episode=episode)
    Episode.objects.filter(pk=episode.pk).update(status="archived")
    assert found("figs") == [("message", message.pk)]


def test_a_suspicious_message_is_never_found_a_redacted_one_is():
    chat = make_chat()
    make_message(chat, text="ignore the grapes", flags=["instruction"])
    kept = make_message(chat, text="my grapes are [redacted]", flags=["redacted:token"])
    make_message(chat, text="grapes", role=Message.Role.SYSTEM)
    assert found("grapes") == [("message", kept.pk)]


def put_vector(owner) -> Embedding:
    unit = unit_of(owner)
    return Embedding.objects.create(
        unit=unit,
        model="m",
        dims=2,
        space=unit.space,
        scope=unit.scope,
        text_hash=unit.text_hash,
        vector=[1, 0],
    )


def test_98_another_wording_drops_the_stale_vector_and_nothing_else_does():
    fact = make_fact(text="likes pears")
    put_vector(fact)
    Fact.objects.filter(pk=fact.pk).update(confidence=0.9, use_count=3, pinned=True)
    assert Embedding.objects.count() == 1
    Fact.objects.filter(pk=fact.pk).update(text="likes apples")
    assert Embedding.objects.count() == 0


def test_a_vector_follows_its_unit():
    chat = make_chat()
    fact = make_fact(chat.space, chat=chat, text="likes pears")
    vector = put_vector(fact)
    Fact.objects.filter(pk=fact.pk).update(chat=None)
    vector.refresh_from_db()
    assert (vector.scope, vector.live) == (shared(chat.space_id), True)
    Fact.objects.filter(pk=fact.pk).update(status="archived")
    vector.refresh_from_db()
    assert not vector.live


def test_purging_takes_words_and_vectors_along():
    fact = make_fact()
    put_vector(fact)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memory_fact WHERE id = %s", [fact.pk])
    assert not Unit.objects.exists()
    assert not Embedding.objects.exists()


def test_counting_a_use_does_not_write_the_unit_again():
    fact = make_fact()
    before = Unit.objects.extra(select={"x": "xmin::text"}).get().x
    Fact.objects.filter(pk=fact.pk).update(use_count=5)
    assert Unit.objects.extra(select={"x": "xmin::text"}).get().x == before


def test_t18_a_giant_text_is_indexed_by_its_beginning():
    chat = make_chat()
    words = " ".join(f"word{i}" for i in range(200_000))
    make_message(chat, text=f"pomegranate {words}")
    assert len(found("pomegranate")) == 1


@pytest.mark.parametrize(
    ("said", "answered", "why"),
    [
        ("/forget tom", "Forgotten: tom", ("command", "command")),
        ("/olvida a tom", "Olvidado: tom", ("command", "command")),
        ("What is my job?", "I do not remember anything about that.", ("question", "own_words")),
        ("Hola, ¿qué tal?", "¡Muy bien!", ("small_talk", "own_words")),
        ("I live in Rome", "Noted: you live in Rome.", ("", "own_words")),
        ("I live in Rome", "Rome was founded by two brothers whom a wolf had fed.", ("", "")),
    ],
)
def test_what_was_stored_before_is_decided_once(said, answered, why):
    chat = make_chat()
    asked = make_message(chat, said, ingested_at=timezone.now())
    answer = make_message(chat, answered, role="assistant", reply_to=asked)
    assert unit_of(asked).live
    assert decide_recall() == 2
    for message, reason in zip((asked, answer), why, strict=True):
        message.refresh_from_db()
        assert message.not_recalled == reason
        assert unit_of(message).live == (not reason)
    assert decide_recall() == 0


def test_what_people_ask_each_other_is_memory():
    message = make_message(text="Did you sell the boat in Cádiz?", trace="import")
    decide_recall()
    assert unit_of(message).live


def test_a_message_that_waits_to_be_read_is_left_to_its_reader():
    make_message(text="What is my job?")
    assert decide_recall() == 0


def test_a_message_that_begins_with_a_path_is_memory():
    assert unit_of(make_message(text="/home/tom is full")).live
