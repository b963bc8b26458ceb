"""Spaces never mix and chats keep what is theirs, over random scopes and every lane."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.models import Chat, Fact, Message, Space
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

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)
WHAT = ("fact", "episode", "message", "pattern")
# (space, chat or the whole space, kind, put away)
ROW = st.tuples(
    st.integers(0, 1), st.sampled_from([None, 0, 1]), st.sampled_from(WHAT), st.booleans()
)
BIKES = "the green bicycle, la bicicleta verde"
ASKED = f"{BIKES}, today"
SAID = ["the green bicycle", "la bicicleta verde", "a bicycle, green as grass"]


def plant(rows, chats) -> dict[tuple[str, int], tuple]:
    planted = {}
    for number, (space, chat, kind, away) in enumerate(rows):
        place = chats[space][chat] if chat is not None else None
        text = f"{SAID[number % 3]} {number}"
        thing = _make(kind, chats[space][0].space, place or chats[space][0], place, text, away)
        scope = chats[space][0].pk if kind == "message" and place is None else place and place.pk
        planted[kind, thing.pk] = (chats[space][0].space_id, scope, away)
    return planted


def _make(kind, space, chat_for_message, chat, text, away):
    if kind == "fact":
        status = "archived" if away else "active"
        return make_fact(space, chat=chat, text=text, status=status, pinned=len(text) % 2 == 0)
    if kind == "episode":
        status = "discarded" if away else "closed"
        return make_episode(
            space, chat=chat, body=text, status=status, started_at=NOW, ended_at=NOW
        )
    if kind == "pattern":
        status = "archived" if away else "active"
        return make_pattern(space, chat=chat, trigger=text[:60], status=status)
    flags = ["suspicious"] if away else []
    return make_message(chat_for_message, text=text, flags=flags, sent_at=NOW)


@pytest.mark.django_db
@pytest.mark.parametrize("by_index", [False, True])
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(ROW, min_size=1, max_size=12))
def test_only_what_this_chat_may_know_is_recalled(by_index, rows, monkeypatch):
    monkeypatch.setitem(lanes.LIMITS, "exact_to", 0 if by_index else 3000)
    spaces = [make_space(), make_space()]
    chats = [[make_chat(space), make_chat(space)] for space in spaces]
    planted = plant(rows, chats)
    embeddings.backfill()
    for space, own in zip(spaces, chats, strict=True):
        for chat in (None, *own):
            result = recall(space, ASKED, chat=chat, now=NOW, limit=50, caps={}, save=False)
            assert not result.error
            may = {
                key
                for key, (of, scope, away) in planted.items()
                if of == space.pk and not away and scope in (None, chat and chat.pk)
            }
            assert _seen(result) == may
    _clear()


@pytest.mark.django_db
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(ROW, min_size=1, max_size=12))
def test_looking_back_shows_no_more_than_looking_now(rows):
    spaces = [make_space(), make_space()]
    chats = [[make_chat(space), make_chat(space)] for space in spaces]
    plant(rows, chats)
    for space, own in zip(spaces, chats, strict=True):
        for chat in (None, *own):
            how = {"chat": chat, "limit": 50, "caps": {}}
            now = recall(space, BIKES, now=timezone.now(), save=False, **how)
            then = recall(space, BIKES, as_of=timezone.now(), **how)
            assert not then.error
            assert _seen(then) == _seen(now)
    _clear()


def _seen(result) -> set[tuple[str, int]]:
    habits = {("pattern", habit.id) for habit in result.habits}
    return {one.key for one in [*result.items, *result.cut]} | habits


def _clear() -> None:
    Space.objects.all().delete()
    assert not any(model.objects.exists() for model in (Fact, Chat, Message))
