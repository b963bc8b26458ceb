"""What would have come to mind on another day: memory as it stood then, nothing written."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from memory.models import Embedding, Fact, Recall
from memory.retrieval import lanes
from memory.retrieval.recall import recall
from memory.vectors import store as embeddings
from tests.factories import (
    make_chat,
    make_episode,
    make_fact,
    make_message,
    make_pattern,
    make_space,
)

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)
THEN = NOW - timedelta(days=30)
BEFORE = THEN - timedelta(days=30)


@pytest.fixture(autouse=True)
def nothing_known():
    embeddings._cache.clear()
    yield
    embeddings._cache.clear()


@pytest.fixture
def space():
    return make_space()


def dated(thing, at) -> None:
    """The last change of the row happened at that time."""
    table = f"memory_{thing._meta.model_name}event"
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET pgh_created_at = %s WHERE pgh_id = "
            f"(SELECT max(pgh_id) FROM {table} WHERE pgh_obj_id = %s)",
            [at, thing.pk],
        )


def fact(space, text, *, at=BEFORE, **given) -> Fact:
    made = make_fact(space, text=text, created_at=at, **given)
    dated(made, at)
    return made


def changed(thing, *, at=NOW, **values):
    type(thing).objects.filter(pk=thing.pk).update(**values)
    dated(thing, at)


def texts(result) -> list[str]:
    assert not result.error
    return [one.unit.text for one in result.items]


def ask(space, said, **given) -> list[str]:
    return texts(recall(space, said, as_of=THEN, **given))


def test_what_was_learned_later_is_not_known_yet(space):
    fact(space, "Ana plays the cello")
    fact(space, "Ana sold the cello", at=NOW)
    assert ask(space, "the cello") == ["Ana plays the cello"]
    assert len(recall(space, "the cello", now=NOW).items) == 2


def test_what_was_put_away_since_is_still_known(space):
    old = fact(space, "Ana plays the cello")
    embeddings.backfill()
    changed(old, status="archived")
    assert texts(recall(space, "the cello", now=NOW)) == []
    assert ask(space, "the cello") == ["Ana plays the cello"]


def test_what_was_put_away_then_is_not_known_though_it_is_now(space):
    back = fact(space, "Ana plays the cello", status="archived")
    changed(back, status="active")
    assert len(recall(space, "the cello", now=NOW).items) == 1
    assert ask(space, "the cello") == []


@pytest.mark.parametrize("by_index", [False, True])
def test_a_fact_says_what_it_said_then_by_words_and_by_meaning(space, monkeypatch, by_index):
    monkeypatch.setitem(lanes.LIMITS, "exact_to", 0 if by_index else 3000)
    edited = fact(space, "Ana lives in Granada", subject="Ana")
    changed(edited, text="Ana lives in Lisbon")
    for i in range(9):
        fact(space, f"the tax office closes at {i}")
    embeddings.backfill()
    result = recall(space, "Where is Ana's home in Spain?", as_of=THEN)
    assert texts(result)[0] == "Ana lives in Granada"
    assert "meaning" in result.items[0].unit.lanes
    assert result.question.names == ["ana"]
    assert ask(space, "Granada")[0] == "Ana lives in Granada"
    assert "Lisbon" not in " ".join(ask(space, "Lisbon"))


def test_names_that_were_not_known_yet_are_no_names(space):
    fact(space, "somebody plays the cello", subject="")
    fact(space, "plays the cello", subject="Bo", at=NOW)
    assert recall(space, "Does Bo play?", as_of=THEN).question.names == []
    assert recall(space, "Does Bo play?", now=NOW).question.names == ["bo"]


def test_episodes_are_as_they_stood(space):
    told = make_episode(space, title="", body="the train to Cuenca", started_at=BEFORE)
    dated(told, BEFORE)
    changed(told, body="the bus to Teruel", title="Trip")
    thrown = make_episode(space, title="", body="a train set for Leo", started_at=BEFORE)
    dated(thrown, BEFORE)
    changed(thrown, status="discarded")
    assert sorted(ask(space, "train")) == ["a train set for Leo", "the train to Cuenca"]
    assert texts(recall(space, "train", now=NOW)) == ["Trip\nthe bus to Teruel"]


def test_messages_count_from_when_they_were_sent(space):
    chat = make_chat(space)
    make_message(chat, text="the cello is here", sent_at=BEFORE)
    make_message(chat, text="the cello is gone", sent_at=NOW)
    assert ask(space, "cello", chat=chat) == ["the cello is here"]


def test_a_turn_of_an_episode_that_was_discarded_since_is_still_known(space):
    chat = make_chat(space)
    episode = make_episode(space, chat=chat, title="", body="", started_at=BEFORE)
    dated(episode, BEFORE)
    make_message(chat, text="the cello is here", episode=episode, sent_at=BEFORE)
    changed(episode, status="discarded")
    assert texts(recall(space, "cello", chat=chat, now=NOW)) == []
    assert ask(space, "cello", chat=chat) == ["the cello is here"]


def test_habits_are_as_they_stood(space):
    pattern = make_pattern(space, trigger="n8n webhook", response="Check the key")
    dated(pattern, BEFORE)
    changed(pattern, response="Ask Bo", status="archived")
    late = make_pattern(space, trigger="webhook", response="Later")
    dated(late, NOW)
    (habit,) = recall(space, "my n8n webhook", as_of=THEN).habits
    assert (habit.id, habit.response) == (pattern.pk, "Check the key")


def test_that_day_is_the_now_of_the_question(space):
    for day, body in ((THEN, "beans of the day before"), (NOW, "beans of a month later")):
        at = day - timedelta(days=1)
        dated(make_episode(space, title="", body=body, started_at=at, ended_at=at), BEFORE)
    assert ask(space, "what beans did we plant yesterday?") == ["beans of the day before"]


def test_spaces_and_chats_keep_what_is_theirs_then_too(space):
    mine, other = make_chat(space), make_chat(space)
    fact(space, "beans in the other chat", chat=other)
    fact(make_space(), "beans of another space")
    moved = fact(space, "black beans of Bo", chat=other)
    changed(moved, chat=mine)
    fact(space, "beans for all")
    assert ask(space, "beans", chat=mine) == ["beans for all"]
    assert len(ask(space, "beans", everywhere=True)) == 3


def test_looking_back_writes_nothing(space):
    edited = fact(space, "Ana lives in Granada")
    changed(edited, text="Ana lives in Lisbon")
    result = recall(space, "Granada", as_of=THEN)
    assert texts(result) == ["Ana lives in Granada"]
    assert result.receipt is None
    assert not Recall.objects.exists()
    assert not Embedding.objects.exists()


def test_today_as_a_day_finds_what_today_finds(space):
    chat = make_chat(space)
    for i, said in enumerate(("beans", "beans and rice", "rice with saffron", "a bean counter")):
        fact(space, said, at=BEFORE + timedelta(days=i))
        make_message(chat, text=f"about {said}", author="Bo", sent_at=BEFORE + timedelta(days=i))
    dated(make_episode(space, body="we cooked beans", started_at=BEFORE), BEFORE)
    embeddings.backfill()
    for said in ("beans", "what does Bo say about rice?", "saffron"):
        now = recall(space, said, chat=chat, now=NOW, save=False)
        then = recall(space, said, chat=chat, as_of=NOW)
        assert [one.key for one in then.items] == [one.key for one in now.items]
        assert [one.score for one in then.items] == [one.score for one in now.items]


def test_a_question_that_is_only_tried_writes_nothing(space):
    fact(space, "bread and butter")
    result = recall(space, "bread", save=False, now=NOW)
    assert texts(result) == ["bread and butter"]
    assert not Recall.objects.exists()
    assert not Embedding.objects.exists()
