"""R-06: a conversation over the real wire protocols while the server misbehaves."""

import functools

import pytest

from bot import replies, tools, turn
from memory import tasks
from memory.chats import inbox
from memory.llm.complete import complete
from memory.llm.request import ProviderError
from memory.models import Fact, Message, Notice, OutboxItem
from tests.bot.conftest import after
from tests.llm.conftest import provider, server  # noqa: F401

FAULTS = ["429", "500", "hang", "reset", "truncated", "malformed", "empty", "huge", "wrong-shape"]


@pytest.fixture
def _impatient(monkeypatch, settings, provider):  # noqa: F811
    """No real waiting between attempts, and little for a server that hangs."""
    settings.LLM_TIMEOUT = 2
    settings.CONSCIOUSNESS_ENABLED = False
    quick = functools.partial(complete, pause=lambda seconds: None)
    for asks in (replies, tools):
        monkeypatch.setattr(asks, "complete", quick)


pytestmark = pytest.mark.usefixtures("_impatient")


def say(chat, text, seconds=0):
    return inbox.receive(chat, text=text, author="Ana", now=after(seconds))


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost_and_one_notice_is_sent(chat, server, settings, fault):  # noqa: F811
    settings.LLM_TIMEOUT = 0.3 if fault == "hang" else 5
    message = say(chat, "I like tea")
    for seconds in (2, 20):
        server.script = [fault] * 3
        with pytest.raises(ProviderError):
            turn.answer(message.pk, now=after(seconds))
    assert [item.kind for item in OutboxItem.objects.all()] == ["notice"]
    assert Notice.objects.filter(kind="provider").count() == 1
    # What was told is learned all the same.
    assert Fact.objects.get().text == "Ana likes tea"

    settings.LLM_TIMEOUT = 5
    server.script, server.reply = [], "Noted. <memory>Ana likes tea</memory>"
    turn.answer(message.pk, now=after(120))
    assert Message.objects.get(reply_to=message).text == "Noted."
    assert Fact.objects.get().text == "Ana likes tea"
    assert OutboxItem.objects.count() == 2


def test_a_passing_fault_is_never_noticed_by_anybody(chat, server):  # noqa: F811
    server.script = ["429", "reset"]
    message = say(chat, "Hello")
    turn.answer(message.pk, now=after(2))
    assert Message.objects.get(reply_to=message)
    assert OutboxItem.objects.get().kind == "reply"
    assert not Notice.objects.exists()


def test_what_a_model_says_is_remembered_and_reaches_its_next_prompt(chat, server):  # noqa: F811
    server.reply = "Sure. <memory>Ana's dog is called Rex</memory>"
    first = say(chat, "My dog is called Rex")
    turn.answer(first.pk, now=after(2))
    reply = Message.objects.get(reply_to=first)
    assert reply.text == "Sure."
    tasks.ingest.func(message_ids=[first.pk], reply_id=reply.pk, space_id=chat.space_id)
    day = 86_400
    second = say(chat, "What is my dog called?", day)
    turn.answer(second.pk, now=after(day + 2))
    sent = server.requests[-1]
    assert "Rex" in str(sent["messages"][-1])
    assert "Rex" not in str(sent.get("system", ""))


def test_an_injected_memory_stands_as_data_before_the_question(chat, server):  # noqa: F811
    Fact.objects.create(space=chat.space, text="Ana's dog is called Rex", said_key="x")
    turn.answer(say(chat, "What is my dog called?").pk, now=after(2))
    last = server.requests[-1]["messages"][-1]
    content = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    assert content.endswith("What is my dog called?")
    assert "Rex" in content
