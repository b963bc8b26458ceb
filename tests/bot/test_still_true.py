"""Is it still true? Asked in a chat of one person who allows it, answered by a yes or a no."""

from datetime import timedelta

import pytest

from bot.commands import still_true
from memory.extraction import ingest
from memory.models import Fact, Message
from tests.bot.conftest import NOON
from tests.bot.test_commands import send, talk
from tests.factories import make_chat, make_message, make_old_fact


@pytest.fixture
def allowed(space):
    space.settings = space.settings | {"check_in_chat": True}
    space.save()
    return space


def old_fact(chat, text="Ana works at Clínica Sol", language="en"):
    then = NOON - timedelta(days=900)
    said = make_message(chat, text, author="Ana", author_id="7", sent_at=then, ingested_at=then)
    given = {"chat": chat, "message": said, "said_by": "Ana", "subject": "Ana"}
    return make_old_fact(chat.space, text=text, language=language, **given)


def test_it_is_asked_below_a_reply_once_a_day_and_yes_confirms_it(chat, llm, allowed):
    fact = old_fact(chat)
    llm.script = ["Hello.", "Hello again."]
    assert "Do you still work at Clínica Sol?" in talk(chat, "good morning to you")
    assert "still so" in send(chat, "Yes, still", 20)
    fact.refresh_from_db()
    assert fact.confirmed_at
    assert "still" not in talk(chat, "and what else is new", 40)


def test_no_ends_it_and_undo_brings_it_back(chat, llm, allowed):
    fact = old_fact(chat, "Ana trabaja en la Clínica Sol", "es")
    llm.script = ["Hola."]
    assert "¿Todavía trabajas en la Clínica Sol?" in talk(chat, "buenos días, qué tal estás")
    send(chat, "No, ya no", 20)
    fact.refresh_from_db()
    assert fact.status == "archived"
    send(chat, "/undo", 30)
    fact.refresh_from_db()
    assert fact.status == "active"


def test_nothing_is_asked_unless_the_space_allows_it_nor_among_several(chat, llm, space):
    old_fact(chat)
    llm.script = ["Hello.", "Hello."]
    assert "still" not in talk(chat, "good morning to you")
    space.settings = space.settings | {"check_in_chat": True}
    space.save()
    make_message(chat, "me too", author="Luis", author_id="8")
    assert "still" not in talk(chat, "good evening to you", 40)


@pytest.mark.parametrize(
    ("told", "language", "answer", "new"),
    [
        ("Ana works at Clínica Sol", "en", "No, I work at Acme now.", "Acme"),
        ("Ana trabaja en la Clínica Sol", "es", "No, ahora trabajo en Acme.", "Acme"),
        ("Ana loves green tea", "en", "Not any more, it keeps me awake at night.", ""),
        ("A Ana le encanta el té verde", "es", "Ya no, me quita el sueño.", ""),
    ],
)
def test_something_else_ends_it_and_what_is_said_instead_is_learned(
    chat, llm, allowed, told, language, answer, new
):
    fact = old_fact(chat, told, language)
    llm.script = ["Hello.", "Fine."]
    assert "?" in talk(chat, "good morning to you" if language == "en" else "buenos días a todos")
    talk(chat, answer, 20)
    ingest.ingest_waiting(chat.space, now=NOON + timedelta(minutes=5))
    fact.refresh_from_db()
    assert fact.status in ("archived", "superseded")
    assert not new or Fact.objects.live().filter(text__contains=new).exists()


def test_a_longer_yes_confirms_it_too(chat, llm, allowed):
    fact = old_fact(chat)
    llm.script = ["Hello.", "Good."]
    talk(chat, "good morning to you")
    talk(chat, "Yes, but only in the mornings", 20)
    fact.refresh_from_db()
    assert fact.confirmed_at


def test_all_chats_together_are_asked_no_more_often_than_the_page_asks(chat, llm, allowed):
    allowed.settings = allowed.settings | {"checks_a_day": 1}
    allowed.save()
    other = make_chat(allowed, channel=chat.channel)
    for one in (chat, other):
        old_fact(one)
    llm.script = ["Hello.", "Hello."]
    assert "still" in talk(chat, "good morning to you")
    other.refresh_from_db()
    assert "still" not in talk(other, "good morning to you", 60)


def test_a_group_is_never_asked_also_when_only_one_has_spoken_there(space, llm, allowed):
    group = make_chat(allowed, external_id="-1001")
    old_fact(group)
    llm.script = ["Hello."]
    assert "still" not in talk(group, "good morning to you")


def test_nothing_is_asked_incognito(chat, llm, allowed):
    old_fact(chat)
    chat.incognito_since = NOON
    chat.save()
    llm.script = ["Hello."]
    assert "still" not in talk(chat, "good morning to you")


def test_a_yes_that_nobody_asked_for_is_not_an_answer(chat):
    old_fact(chat)
    message = make_message(chat, "yes", author="Ana", author_id="7")
    assert still_true.question_before(message, now=NOON) is None


def test_the_command_asks_at_once(chat):
    fact = old_fact(chat)
    assert send(chat, "/still-true") == "Do you still work at Clínica Sol?"
    send(chat, "yes", 10)
    fact.refresh_from_db()
    assert fact.confirmed_at
    assert "nothing of yours" in send(chat, "/still-true", 20)


@pytest.mark.parametrize(
    "said", ["/true #{n} until 31 December 2099", "/vigencia #{n} hasta el 31 de diciembre de 2099"]
)
def test_a_day_to_come_is_set_by_a_command(chat, said):
    fact = old_fact(chat)
    answer = send(chat, said.format(n=fact.pk))
    fact.refresh_from_db()
    assert "2099-12-31" in answer
    assert fact.valid_to.year == 2099


def test_a_command_without_days_says_how_to_send_it(chat):
    fact = old_fact(chat)
    assert "/true #12 until" in send(chat, f"/true #{fact.pk}")
    assert Fact.objects.get().valid_to is None


def test_what_was_asked_stands_on_the_reply(chat, llm, allowed):
    fact = old_fact(chat)
    llm.script = ["Hello."]
    talk(chat, "good morning to you")
    reply = Message.objects.filter(role="assistant").latest("pk")
    assert {"outcome": "asked", "fact": fact.pk} in reply.journal
