"""The same conversation over Telegram's wire on one side and a model's on the other."""

import asyncio
import functools
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from telegram import Update

from bot import channels, outbox, replies, tools, turn
from bot.channels.base import AllowList
from bot.channels.telegram import TelegramChannel
from memory import tasks
from memory.llm.complete import complete
from memory.llm.request import ProviderError
from memory.models import Breaker, Fact, Message, Notice, OutboxItem
from tests.bot import bot_api
from tests.bot.bot_api import TOKEN, update
from tests.llm.conftest import provider, server  # noqa: F401

FAULTS = ["429", "500", "hang", "reset", "truncated", "malformed", "empty", "huge"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bot_server():
    with bot_api.running() as running:
        yield running


@pytest.fixture
def telegram(bot_server, settings, monkeypatch, provider):  # noqa: F811
    settings.TELEGRAM_BASE_URL, settings.TELEGRAM_BOT_TOKEN = bot_server.url, TOKEN
    settings.CONSCIOUSNESS_ENABLED = False
    channel = TelegramChannel(allow=AllowList([7]))
    monkeypatch.setitem(channels._open, "telegram", channel)
    quick = functools.partial(complete, pause=lambda seconds: None)
    for asks in (replies, tools):
        monkeypatch.setattr(asks, "complete", quick)
    return channel


@pytest.fixture
def say(telegram, space, bot_server, server):  # noqa: F811
    """Writes to the bot on Telegram and gives back what came there in answer."""

    def write(text, *, model="All right.", later=3):
        server.reply = model
        _told(telegram, space, update(text))
        message = Message.objects.filter(role="user").latest("pk")
        return try_again(message, later=later)

    def try_again(message, *, later):
        before = len(bot_server.sent)
        try:
            turn.answer(message.pk, now=message.received_at + timedelta(seconds=later))
        except ProviderError:
            pass  # the job tries again
        else:
            reply = Message.objects.get(reply_to=message)
            given = {"message_ids": [message.pk], "reply_id": reply.pk, "space_id": space.pk}
            tasks.ingest.func(**given)
        _deliver_all(telegram)
        return bot_server.sent[before:]

    write.again = try_again
    return write


def _told(telegram, space, one):
    async def give():
        async with telegram.bot:
            telegram.me = await telegram.bot.get_me()
            await telegram.take(space, Update.de_json(one, telegram.bot))
            typing = list(telegram._typing.values())
            for task in typing:
                task.cancel()
            await asyncio.gather(*typing, return_exceptions=True)

    async_to_sync(give)()


def _deliver_all(telegram):
    async def go():
        async with telegram.bot:
            async for item in OutboxItem.objects.filter(delivered_at=None).order_by("pk"):
                await outbox.deliver(item.pk)

    async_to_sync(go)()


def test_told_asked_corrected_explained_and_forgotten(say, server):  # noqa: F811
    first = say("My dog is called Rex", model="Nice. <memory>Ana Ruiz's dog is called Rex</memory>")
    assert first[0].startswith("Nice.\n\nNoted — Ana Ruiz's dog is called Rex")
    tea = "<memory>Ana Ruiz prefiere el té verde</memory>"
    assert "Anotado —" in say("Prefiero el té verde", model=f"Vale. {tea}")[0]
    assert say("What is my dog called?", model="Rex!") == ["Rex!"]
    assert "Rex" in str(server.requests[-1]["messages"])
    right = "<memory>Ana Ruiz's dog is called Max</memory>"
    say("No, my dog is called Max", model=f"Max, then. {right}")
    assert Fact.objects.get(text__contains="Rex").status == "superseded"
    asked = len(server.requests)
    assert "dog, called, max" in say("/why")[0]
    assert "Forgotten — Ana Ruiz's dog is called Max" in say("/forget last")[0]
    assert "Facts: 1 active" in say("/memory-status")[0]
    assert "Ana Ruiz's dog is called Max" in say("/undo")[0]
    assert len(server.requests) == asked, "a command never reaches a model"


@pytest.mark.parametrize("fault", FAULTS)
def test_r06_an_outage_is_said_once_and_the_answer_comes_later(
    say,
    server,  # noqa: F811
    settings,
    fault,
):
    settings.LLM_TIMEOUT = 0.3 if fault == "hang" else 5
    server.script = [fault] * 3
    (sorry,) = say("My dog is called Rex")
    assert "my language model does not answer" in sorry
    message = Message.objects.get(role="user")
    server.script = [fault] * 3
    assert say.again(message, later=30) == []
    assert Notice.objects.filter(kind="provider").count() == 1
    # L10: whatever the outage is called meanwhile, whoever waits was told.
    Breaker.objects.update(failing_since=None)
    server.script = [fault] * 3
    assert say.again(message, later=60) == []
    settings.LLM_TIMEOUT, server.script = 5, []
    server.reply = "Nice. <memory>Ana Ruiz's dog is called Rex</memory>"
    (late,) = say.again(message, later=120)
    assert late.startswith("Nice.")
    assert Fact.objects.get().text == "Ana Ruiz's dog is called Rex"
