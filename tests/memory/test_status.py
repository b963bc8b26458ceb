import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory import working
from memory.extraction.ingest import ingest_waiting
from memory.operations import health, metrics
from tests.factories import make_chat, make_episode, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def space():
    return make_space("home")


def note(space, days_ago):
    chat = make_chat(space)
    working.write(chat, text="x", by="tag", now=NOW - timedelta(days=days_ago))
    return chat


def test_a_space_is_counted(space):
    chat = make_chat(space)
    make_fact(space, pinned=True)
    make_fact(space, kind="lore")
    make_fact(space, status="archived")
    make_fact(make_space())
    make_episode(space, chat=chat)
    make_message(chat)
    note(space, 1)
    note(space, 9)
    found = metrics.memory_counts(space, now=NOW)
    assert found["facts"] == {"active": 2, "archived": 1, "pinned": 1}
    assert found["kinds"] == {"fact": 1, "lore": 1}
    assert found["episodes"] == {"closed": 1}
    assert found["working"] == {"active": 1, "stale": 1}
    assert found["messages"] == {"all": 1, "waiting": 1, "calls_saved": 0}


def test_a_message_that_says_nothing_saves_a_call_of_the_model(space):
    chat, asked = make_chat(space), []
    for said in ("haha ok", "good morning!", "I live in Oslo"):
        make_message(chat, text=said)
    ingest_waiting(space, complete=lambda prompt: asked.append(prompt) or "[]")
    assert (len(asked), metrics.memory_counts(space)["messages"]["calls_saved"]) == (1, 2)


def test_a_chat_counts_only_what_it_has(space):
    chat, other = make_chat(space), make_chat(space)
    make_fact(space)
    make_fact(space, chat=chat)
    make_fact(space, chat=other)
    make_episode(space, chat=other)
    found = metrics.memory_counts(space, chat=chat)
    assert (found["facts"]["active"], found["episodes"]) == (2, {})


@pytest.mark.parametrize(("stale", "warned"), [(10, False), (11, True)])
def test_more_than_ten_stale_notes_are_a_warning(space, stale, warned):
    for _ in range(stale):
        note(space, 8)
    found = health.memory_health(space, now=NOW)
    assert found["status"] == "healthy"
    assert bool(found["warnings"]) is warned


def test_a_large_long_term_memory_is_a_warning(space):
    make_fact(space, "x " * 520 * 1024)
    found = health.memory_health(space, now=NOW)
    assert (found["status"], found["checks"]["long_term_kb"]) == ("healthy", 1040)
    assert len(found["warnings"]) == 1


def test_a_message_that_waits_too_long_is_a_warning(space):
    chat = make_chat(space)
    make_message(chat, handled_at=NOW - timedelta(minutes=31))
    make_message(chat, handled_at=NOW - timedelta(minutes=1))
    assert health.memory_health(space, now=NOW)["checks"]["waiting_messages"] == 1


def test_the_command_prints_each_space(space, capsys):
    make_fact(space)
    call_command("memory_status")
    assert "home\n  facts      1 active" in capsys.readouterr().out
    call_command("memory_status", json=True)
    assert json.loads(capsys.readouterr().out)["home"]["facts"]["active"] == 1


def test_the_command_knows_its_spaces(space):
    with pytest.raises(CommandError, match="There are: home"):
        call_command("memory_status", space="nowhere")


def test_the_command_exits_with_one_when_something_is_unwell(space, capsys):
    call_command("memory_status", health=True)
    make_fact(space, status="quarantined")
    with pytest.raises(SystemExit):
        call_command("memory_status", health=True)
    assert "quarantine" in capsys.readouterr().out
