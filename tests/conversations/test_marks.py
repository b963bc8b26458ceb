"""A receipt says what the reply made of each memory: it used it, says otherwise, or neither."""

import pytest

from bot import turn
from memory import patterns
from memory.chats import inbox
from memory.facts import service as facts
from memory.llm.request import Recalled
from memory.models import Message, RecallItem, SelfCheck
from memory.prompt import builder
from memory.retrieval import receipts
from tests.bot.conftest import NOON

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("memory", "reply", "question", "used"),
    [
        ("Ana's dog is called Rex", "Your dog is called Rex.", "What is my dog called?", True),
        ("El perro de Ana se llama Rex", "Se llama Rex.", "¿Cómo se llama mi perro?", True),
        ("Ana's dog is called Rex", "I do not know your dog.", "What is my dog called?", False),
        ("Ana lives in Lima", "Your dog is called Rex.", "What is my dog called?", False),
        ("Ana vive en Lima", "Tu perro se llama Rex.", "¿Cómo se llama mi perro?", False),
    ],
)
def test_what_the_reply_repeats_beyond_the_question_is_used(memory, reply, question, used):
    assert receipts.is_used(memory, reply=reply, question=question) is used


def fact(text, *, mine=True, subject="Ana"):
    return Recalled(text, subject=subject, by_asker=mine)


@pytest.mark.parametrize(
    ("known", "reply"),
    [
        (fact("Ana's dog is called Rex"), "Sure. Your dog is called Max."),
        (fact("Ana lives in Lima"), "You live in Oslo, as far as I know."),
        (fact("El perro de Ana se llama Rex"), "Claro: tu perro se llama Max."),
        (fact("Ana vive en Lima"), "Vives en Oslo."),
        (fact("Bo lives in Lima", mine=False, subject="Bo"), "Bo lives in Oslo."),
        (fact("The port is 8080", mine=False, subject=""), "The port is 9090."),
    ],
)
def test_a_sentence_that_cannot_stand_beside_the_fact_contradicts_it(known, reply):
    assert builder.contradicts(known, reply)


@pytest.mark.parametrize(
    ("known", "reply"),
    [
        (fact("Ana's dog is called Rex"), "Your dog is called Rex."),
        (fact("Ana lives in Lima"), "Do you still live in Oslo?"),
        (fact("Bo lives in Lima", mine=False, subject="Bo"), "You live in Oslo."),
        (fact("Ana vive en Lima"), "Bo vive en Oslo."),
        (fact("Ana lives in Lima"), "Lima is a fine city."),
    ],
)
def test_what_is_about_somebody_else_or_asks_does_not(known, reply):
    assert not builder.contradicts(known, reply)


def talk(chat, text):
    message = inbox.receive(chat, text=text, author="Ana", author_id="7", now=NOON)
    turn.answer(message.pk, now=NOON)
    return Message.objects.get(reply_to=message)


def test_a_model_that_says_otherwise_is_marked_on_the_receipt_and_in_its_check(chat, llm, space):
    facts.remember(space, text="Ana lives in Lima", subject="Ana", by="person:ana")
    llm.script = ["Ana lives in Oslo."]
    reply = talk(chat, "Where does Ana live?")
    item = RecallItem.objects.get(recall__reply=reply, kind="fact")
    assert item.mark == "contradicted"
    assert "contradicts_memory" in SelfCheck.objects.get(reply=reply).signals


def test_a_habit_that_fired_stands_on_the_receipt(chat, llm, space):
    habit = patterns.learn(
        space, trigger="deploy friday", response="Never on a Friday", confidence=0.9,
        by="person:ana",
    ).row  # fmt: skip
    reply = talk(chat, "May I deploy on friday?")
    item = RecallItem.objects.get(recall__reply=reply, pattern=habit)
    assert (item.kind, item.injected) == ("pattern", True)
