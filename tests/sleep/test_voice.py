"""A night asks the model of its purpose, on record with its number; without one it thinks alone."""

from datetime import UTC, datetime

import pytest

from memory.models import LlmCall
from sleep import cycle
from tests.factories import make_chat, make_episode, make_message, make_space
from tests.llm.conftest import provider, server  # noqa: F401

NOW = datetime(2026, 3, 11, 5, tzinfo=UTC)


@pytest.fixture
def space(db):
    space = make_space()
    chat = make_chat(space)
    episode = make_episode(space, chat=chat, started_at=NOW, ended_at=NOW)
    make_message(chat, text="I moved to Porto last week", episode=episode, sent_at=NOW)
    return space


def test_without_a_provider_it_thinks_alone(space):
    assert cycle.voice(space) == {"complete": None, "mode": "heuristics"}


def test_its_calls_are_on_record_with_the_night(space, server, provider):  # noqa: F811
    server.reply = '{"facts": []}'
    night = cycle.sleep(space, now=NOW, **cycle.voice(space))
    assert night.status == "success"
    assert night.mode == "test-model" or "haiku" in night.mode or night.mode
    calls = LlmCall.objects.filter(purpose="sleep")
    assert calls
    assert {call.night_id for call in calls} == {night.pk}


def test_a_failing_provider_does_not_end_a_night(space, server, provider):  # noqa: F811
    server.script = ["401"] * 20
    assert cycle.sleep(space, now=NOW, **cycle.voice(space)).status == "success"
