import pytest

from bot import turn
from memory import history, inbox
from memory.models import Fact
from tests.bot.conftest import after
from tests.factories import make_chat


def say(chat, text, seconds, **given):
    message = inbox.take(chat, text=text, now=after(seconds), **{"author": "Ana"} | given)
    turn.answer(message.pk, now=after(seconds + 2))


def believed(status="active"):
    return sorted(Fact.objects.filter(status=status).values_list("text", flat=True))


@pytest.mark.parametrize(
    ("first", "second", "old", "new"),
    [
        (
            "I live in Lisbon",
            "Actually, I live in Porto now",
            "Ana lives in Lisbon",
            "Ana lives in Porto now",
        ),
        (
            "Mi hermana se llama María",
            "No, es Marta",
            "La hermana de Ana se llama María",
            "La hermana de Ana se llama Marta",
        ),
        (
            "My dog is called Rex",
            "No, mi perro se llama Toby",
            "Ana's dog is called Rex",
            "El perro de Ana se llama Toby",
        ),
        (
            "My dog is called Rex",
            "no, Max",
            "Ana's dog is called Rex",
            "Ana's dog is called Max",
        ),
        ("I have two cats", "Sorry, I have three cats", "Ana has two cats", "Ana has three cats"),
    ],
)
def test_an_open_correction_takes_the_old_fact_s_place(chat, first, second, old, new):
    say(chat, first, 0)
    assert believed() == [old]
    say(chat, second, 60)
    assert believed() == [new]
    assert believed("superseded") == [old]
    was = Fact.objects.get(text=old)
    assert was.superseded_by.text == new
    assert was.valid_to == after(62)


def test_it_can_be_undone(chat):
    say(chat, "I live in Lisbon", 0)
    say(chat, "Actually, I live in Porto now", 60)
    old = Fact.objects.get(status="superseded")
    history.undo(history.history(old)[0], by="person:ana")
    assert "Ana lives in Lisbon" in believed()


def test_what_merely_disagrees_is_left_to_the_night(chat):
    say(chat, "I live in Lisbon", 0)
    say(chat, "I live in Porto", 60)
    assert believed() == ["Ana lives in Lisbon", "Ana lives in Porto"]


def test_a_correction_leaves_other_facts_alone(chat):
    say(chat, "My sister lives in Quito", 0)
    say(chat, "I live in Lisbon", 30)
    say(chat, "Actually, I live in Porto now", 60)
    assert believed() == ["Ana lives in Porto now", "Ana's sister lives in Quito"]


def test_a_pinned_fact_is_not_retired_by_a_chat(chat):
    say(chat, "I live in Lisbon", 0)
    Fact.objects.update(pinned=True)
    say(chat, "Actually, I live in Porto now", 60)
    assert len(believed()) == 2


def test_another_space_is_another_world(chat):
    other = make_chat(channel="fake")
    say(other, "I live in Lisbon", 0)
    say(chat, "Actually, I live in Porto now", 60)
    assert len(believed()) == 2
