import re

import pytest
from django.core.management import CommandError, call_command

from memory import identity, working
from memory.chats import service as chats
from memory.history import actors
from memory.models import Episode, Fact, Message, Pattern
from memory.operations import reset
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


@pytest.fixture
def space():
    space = make_space("home")
    chat = make_chat(space)
    make_fact(space)
    make_fact(space, sticky=True, pinned=True)
    make_episode(space)
    make_pattern(space)
    make_message(chat)
    working.write(chat, text="a task", by="tag")
    chats.set_context(chat, text="Type: friends", by="tag")
    identity.core.write(space, text="I am Bo.", by=ANA)
    identity.preferences.put(space, key="Length", value="short", by=ANA)
    make_fact(make_space("work"))
    return space


def live():
    return (
        Fact.objects.live().count(),
        Episode.objects.remembered().count(),
        Pattern.objects.live().count(),
        Message.objects.count(),
    )


def test_only_the_tiers_that_were_named_are_emptied(space):
    done = reset.reset(space, names=["facts"], by=ANA)
    assert (done.count, live()) == (2, (1, 1, 1, 1))


def test_only_a_person_resets(space):
    with pytest.raises(actors.PersonNeeded):
        reset.reset(space, names=["facts"], by="bot")


def test_the_command_shows_what_would_go_and_changes_nothing_on_a_dry_run(space, capsys):
    call_command("memory_reset", "home", tier=["memory"], dry_run=True)
    out = capsys.readouterr().out
    assert re.search(r"facts +2  to the trash", out)
    assert live() == (3, 1, 1, 1)


@pytest.mark.parametrize("answer", ["", "y", "HOME", "work"])
def test_the_command_asks_for_the_name_of_the_space(space, monkeypatch, answer):
    monkeypatch.setattr("builtins.input", lambda prompt: answer)
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("memory_reset", "home", tier=["facts"])
    assert live() == (3, 1, 1, 1)


def test_the_name_typed_empties_and_undo_brings_everything_back(space, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda prompt: "home")
    call_command("memory_reset", "home", tier=["memory", "identity"])
    assert live() == (1, 0, 0, 1)
    assert identity.core.read(space).startswith("# Keno")
    assert not identity.preferences.active(space)
    chat = space.chats.get()
    assert (chat.context, working.current(chat)) == ("", None)
    change = re.search(r"--undo (\S+)", capsys.readouterr().out)[1]
    call_command("memory_reset", "home", undo=change)
    assert live() == (3, 1, 1, 1)
    assert identity.core.read(space) == "I am Bo."


def test_all_deletes_the_messages_too(space, capsys):
    call_command("memory_reset", "home", tier=["all"], yes=True)
    assert live() == (1, 0, 0, 0)
    assert "deleted for good" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"tier": ["facts"], "space": "nowhere"}, "no space called nowhere"),
        ({"tier": [], "space": "home"}, "Say what to empty"),
        ({"tier": [], "space": "home", "undo": "nonsense"}, "cannot be taken back"),
    ],
)
def test_bad_arguments_get_a_sentence(space, given, says):
    with pytest.raises(CommandError, match=says):
        call_command("memory_reset", given.pop("space"), **given)
