import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import working
from memory.history import actors
from memory.history import changes as history
from memory.models import WorkingNote
from tests.factories import make_chat, make_space

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 2, 13, 18, 0, tzinfo=UTC)
ANA = actors.person("ana")


@pytest.fixture
def chat():
    return make_chat(make_space("home"))


def write(chat, text, days_ago=0):
    return working.write(chat, text=text, by="tag", now=NOW - timedelta(days=days_ago))


@pytest.mark.parametrize("text", ["version 2", "- Updated context\n- New topic added"])
def test_a10_a21_only_the_last_note_stays(chat, text):
    write(chat, "version 1")
    write(chat, text)
    assert WorkingNote.objects.get().notes == text


@pytest.mark.parametrize("nothing", ["", "  ", "\n\n", "\x00", "{}", '{"task": ""}'])
def test_a12_an_empty_tag_leaves_the_note(chat, nothing):
    write(chat, "active task: deploy v2")
    if nothing != "{}":
        assert write(chat, nothing).outcome == "empty"
        assert working.current(chat, now=NOW).notes == "active task: deploy v2"


def test_a19_a_note_is_stale_after_seven_days(chat):
    write(chat, "old", days_ago=8)
    assert working.current(chat, now=NOW) is None
    assert list(working.stale(chat.space, now=NOW)) == [WorkingNote.objects.get()]
    write(chat, "younger", days_ago=3)
    assert working.current(chat, now=NOW).notes == "younger"
    write(chat, "exactly seven", days_ago=7)
    assert working.current(chat, now=NOW)


def test_a19_the_days_are_a_setting_that_is_really_read(chat):
    chat.space.settings = {"working_stale_days": 20}
    chat.space.save()
    write(chat, "old", days_ago=15)
    assert working.current(chat, now=NOW).notes == "old"


def test_a20_missing_and_cleared_notes_do_not_exist(chat):
    assert working.current(chat, now=NOW) is None
    assert working.clear(chat, by=ANA).outcome == "unchanged"
    write(chat, "something")
    assert working.current(chat, now=NOW)
    done = working.clear(chat, by=ANA, now=NOW)
    assert not working.current(chat, now=NOW)
    assert working.as_text(WorkingNote.objects.get()) == ""
    history.undo_context(done.change_id, by=ANA)
    assert working.current(chat, now=NOW).notes == "something"


def test_a23_two_chats_have_two_notes(chat):
    other = make_chat(chat.space)
    write(chat, "secret for A")
    write(other, "secret for B")
    assert working.current(chat, now=NOW).notes == "secret for A"
    assert working.current(other, now=NOW).notes == "secret for B"


def test_the_structure_of_the_seed_is_understood(chat):
    note = {
        "session": "telegram-1",
        "task": "Debugging n8n webhook 401 error",
        "context": ["Bearer token failed"],
        "pending": ["Check the URL", {"odd": 1}],
        "notes": "User seems frustrated",
        "updated": "2026-02-13T18:00:00Z",
    }
    write(chat, f"```json\n{json.dumps(note)}\n```")
    found = working.current(chat, now=NOW)
    assert (found.task, found.context) == (note["task"], note["context"])
    assert found.pending == ["Check the URL", '{"odd": 1}']
    assert working.as_text(found).startswith("Task: Debugging n8n webhook 401 error\nContext:\n- B")


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("- a\n- b", "- a\n- b"),
        ("[1, 2]", "[1, 2]"),
        ('{"else": 1}', '{"else": 1}'),
        ('{"content": "free", "updatedAt": 3}', "free"),
        ("{" * 5000, "{" * 5000),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_what_is_no_note_structure_is_free_text(text, notes):
    assert working.parse(text) == working.EMPTY | {"notes": notes}


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_parsing_never_fails_and_gives_the_four_parts(text):
    assert working.parse(text).keys() == working.EMPTY.keys()
