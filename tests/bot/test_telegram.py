import asyncio
import json

import httpx
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from telegram import Update

from bot import channels, outbox, turn
from bot.channels import Outgoing, SendFailed
from bot.channels import base as leading
from bot.channels import telegram as telegram_updates
from bot.channels.base import AllowList
from bot.channels.telegram import TelegramChannel
from memory.chats import inbox
from memory.jobs import RateLimit
from memory.models import Chat, Message, OutboxItem
from tests.bot import bot_api
from tests.bot.bot_api import TOKEN, update
from tests.bot.conftest import NOON, after

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server():
    with bot_api.running() as server:
        yield server


@pytest.fixture
def telegram(server, settings, monkeypatch):
    settings.TELEGRAM_BASE_URL = server.url
    settings.TELEGRAM_BOT_TOKEN = TOKEN
    settings.TELEGRAM_WEBHOOK_URL = ""
    channel = TelegramChannel(allow=AllowList([7], [-500]))
    monkeypatch.setitem(channels._open, "telegram", channel)
    return channel


def told(telegram, space, *updates):
    """Give the updates to the channel as if Telegram had."""

    async def give():
        async with telegram.bot:
            telegram.me = await telegram.bot.get_me()
            for one in updates:
                await telegram.take(space, Update.de_json(one, telegram.bot))
            for task in telegram._typing.values():
                task.cancel()
            await asyncio.gather(*telegram._typing.values(), return_exceptions=True)

    async_to_sync(give)()


def send(telegram, chat, text, key="reply-1", **given):
    async def go():
        async with telegram.bot:
            return await telegram.send(Outgoing(chat=chat, text=text, key=key, **given))

    return async_to_sync(go)()


def texts():
    return list(Message.objects.order_by("pk").values_list("text", flat=True))


class TestComingIn:
    def test_a_message_becomes_a_row_with_who_and_where(self, telegram, space):
        told(telegram, space, update("Hello", chat=7))
        message = Message.objects.select_related("chat").get()
        assert (message.text, message.author, message.author_id) == ("Hello", "Ana Ruiz", "7")
        assert message.chat.key == "telegram-7"

    def test_the_same_update_a_hundred_times_is_one_row(self, telegram, space):
        one = update("Hello")
        told(telegram, space, *[one] * 100)
        assert Message.objects.count() == 1

    def test_strangers_are_dropped_085(self, telegram, space):
        told(telegram, space, update("Hello", chat=8, person=8))
        assert texts() == []
        assert not Chat.objects.exists()

    def test_anybody_may_in_an_allowed_group_085(self, telegram, space):
        told(telegram, space, update("@KenoTestBot hello", chat=-500, person=8))
        assert texts() == ["hello"]
        assert Chat.objects.get().key == "telegram--500"

    def test_over_the_limit_is_dropped_085(self, telegram, space):
        telegram.limits = RateLimit(per_minute=2)
        told(telegram, space, update("1"), update("2"), update("3"))
        assert texts() == ["1", "2"]

    def test_in_a_group_only_what_is_meant_for_the_bot_is_read(self, telegram, space):
        reply = {"reply_to_message": _message_of(bot_api.BOT)}
        told(
            telegram,
            space,
            update("nice weather", chat=-500),
            update("mail me at ana@KenoTestBot.example", chat=-500),
            update("what is my dog called, @kenotestbot?", chat=-500),
            update("and my cat?", chat=-500, **reply),
            update("/why@OtherBot", chat=-500),
            update("/why@KenoTestBot", chat=-500),
        )
        assert texts() == ["what is my dog called?", "and my cat?", "/why"]

    def test_a_topic_of_a_forum_is_a_chat_of_its_own(self, telegram, space, server):
        topic = {"is_topic_message": True, "message_thread_id": 12}
        told(telegram, space, update("@KenoTestBot hi", chat=-500, **topic))
        chat = Chat.objects.get()
        assert chat.external_id == "-500_12"
        send(telegram, chat, "Hello")
        assert server.called("sendMessage")[0]["message_thread_id"] == "12"

    def test_an_edit_before_the_answer_changes_the_words(self, telegram, space):
        one = update("I live in Madird")
        better = {"update_id": 1, "edited_message": one["message"] | {"text": "I live in Madrid"}}
        told(telegram, space, one, better)
        assert texts() == ["I live in Madrid"]

    def test_an_edit_after_the_answer_is_said_anew(self, telegram, space, llm):
        one = update("I live in Madird")
        told(telegram, space, one)
        turn.answer(Message.objects.get().pk, now=after(1e9))
        better = {"update_id": 1, "edited_message": one["message"] | {"text": "I live in Madrid"}}
        told(telegram, space, better, better)
        said = Message.objects.filter(role="user").order_by("pk")
        assert [m.text for m in said] == ["I live in Madird", "I live in Madrid"]

    def test_words_of_a_voice_message_enter_with_their_trace(self, telegram, space):
        voice = {"voice": {"file_id": "a", "file_unique_id": "b", "duration": 3}}
        one = update("", caption="Remember the milk", **voice)
        del one["message"]["text"]
        told(telegram, space, one)
        message = Message.objects.get()
        assert (message.text, message.trace) == ("Remember the milk", "voice")

    def test_what_cannot_be_read_gets_a_sentence(self, telegram, space, server):
        one = update("", voice={"file_id": "a", "file_unique_id": "b", "duration": 3})
        del one["message"]["text"]
        told(telegram, space, one)
        assert texts() == []
        assert "only text" in server.sent[0]

    def test_a_hostile_update_is_survived(self, telegram, space):
        told(telegram, space, {"update_id": 1}, update("\x00\ud800" + "x" * 40000))
        assert len(Message.objects.get().text) <= 32768

    def test_somebody_who_writes_sees_typing(self, telegram, space, server):
        async def give():
            async with telegram.bot:
                telegram.me = await telegram.bot.get_me()
                await telegram.take(space, Update.de_json(update("Hello"), telegram.bot))
                while not server.called("sendChatAction"):
                    await asyncio.sleep(0.01)
                next(iter(telegram._typing.values())).cancel()

        async_to_sync(give)()
        assert server.called("sendChatAction")[0]["action"] == "typing"


def _message_of(user):
    chat = {"id": -500, "type": "supergroup", "title": "Friends"}
    return {"message_id": 1, "date": 1773144000, "chat": chat, "from": user, "text": "Yes?"}


class TestGoingOut:
    @pytest.fixture
    def chat(self, space):
        return Chat.objects.create(
            space=space, channel="telegram", external_id="7", key="telegram-7"
        )

    def test_markdown_becomes_what_telegram_shows(self, telegram, chat, server):
        send(telegram, chat, "**Yes** & `a<b`")
        given = server.called("sendMessage")[0]
        assert given["text"] == "<b>Yes</b> &amp; <code>a&lt;b</code>"
        assert given["parse_mode"] == "HTML"

    def test_T03_telegram_fetches_no_preview_of_what_is_linked(self, telegram, chat, server):
        send(telegram, chat, "See https://example.org/a")
        assert '"is_disabled": true' in str(server.called("sendMessage")[0]["link_preview_options"])

    def test_when_telegram_cannot_parse_it_the_plain_text_goes(self, telegram, chat, server):
        server.faults = [(400, {"description": "Bad Request: can't parse entities"})]
        send(telegram, chat, "**Yes")
        assert server.sent[-1] == "**Yes"
        assert "parse_mode" not in server.called("sendMessage")[-1]

    def test_a_long_answer_comes_in_parts_and_a_retry_goes_on_where_it_stopped(
        self, telegram, chat, server
    ):
        long = "\n".join(f"line {n} " + "x" * 90 for n in range(100))
        original = telegram._send

        async def second_fails(*args, **given):
            if len(server.sent) == 1:
                server.faults = [(500, {"description": "Internal"})]
            return await original(*args, **given)

        telegram._send = second_fails
        with pytest.raises(SendFailed) as failed:
            send(telegram, chat, long)
        assert not failed.value.permanent
        telegram._send = original
        send(telegram, chat, long)
        good = [text for n, text in enumerate(server.sent) if n != 1]
        assert "\n".join(good) == long
        assert all(len(text) <= 4000 for text in good)

    def test_too_many_requests_say_when_to_come_back(self, telegram, chat, server):
        later = {"description": "Too Many Requests", "parameters": {"retry_after": 7}}
        server.faults = [(429, later)]
        with pytest.raises(SendFailed) as failed:
            send(telegram, chat, "Hello")
        assert failed.value.retry_after == 7

    @pytest.mark.parametrize(
        ("status", "description"),
        [(403, "Forbidden: bot was blocked by the user"), (400, "Bad Request: chat not found")],
    )
    def test_whoever_blocked_us_is_left_alone(self, telegram, chat, server, status, description):
        server.faults = [(status, {"description": description})]
        with pytest.raises(SendFailed) as failed:
            send(telegram, chat, "Hello")
        assert failed.value.permanent

    def test_a_group_that_moved_is_followed(self, telegram, chat, server):
        moved = {"description": "migrated", "parameters": {"migrate_to_chat_id": -100500}}
        server.faults = [(400, moved)]
        send(telegram, chat, "Hello")
        assert server.called("sendMessage")[-1]["chat_id"] == "-100500"


class TestARun:
    def test_from_the_wire_to_the_wire(self, telegram, space, server, llm):
        """Polls, stores, answers and delivers, and takes off Telegram's list what it has."""
        server.updates = [update("My dog is called Rex"), update("/ayuda")]

        async def run():
            stop = asyncio.Event()
            running = asyncio.create_task(telegram.run(space, stop))
            while await sync_to_async(Message.objects.count)() < 2:
                await asyncio.sleep(0.02)
            await sync_to_async(_answer_all)()
            async for item in OutboxItem.objects.order_by("pk"):
                await outbox.deliver(item.pk)
            stop.set()
            await running

        async_to_sync(run)()
        assert server.sent[0] == "All right."
        assert "/porque" in server.sent[1]
        assert int(server.called("getUpdates")[-1]["offset"]) > server.updates[-1]["update_id"]

    def test_one_process_listens_at_a_time(self, db):
        async def two():
            stop = asyncio.Event()
            stop.set()
            async with (
                leading.hold_leadership("x", stop) as first,
                leading.hold_leadership("x", stop) as second,
            ):
                return first, second

        assert async_to_sync(two)() == (True, False)


def _answer_all():
    for message in Message.objects.filter(role="user").order_by("pk"):
        turn.answer(message.pk, now=max(m.received_at for m in Message.objects.all()))


class TestTheWebhook:
    """T-15: who does not know the secret leaves no trace."""

    SECRET = "s3cret-token-of-telegram"

    def call(self, telegram, space, settings, *requests):
        settings.TELEGRAM_WEBHOOK_URL = "https://keno.example.org/telegram"
        settings.TELEGRAM_WEBHOOK_SECRET = self.SECRET
        settings.TELEGRAM_WEBHOOK_PORT = 0
        settings.TELEGRAM_WEBHOOK_HOST = "127.0.0.1"

        async def run():
            ports, stop = [], asyncio.Event()
            serve = telegram_serving(ports)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("bot.channels.http_server.serve", serve)
                running = asyncio.create_task(telegram.run(space, stop))
                while not ports:
                    await asyncio.sleep(0.01)
                async with httpx.AsyncClient() as http:
                    url = f"http://127.0.0.1:{ports[0]}/telegram"
                    answers = [await http.post(url, **request) for request in requests]
                stop.set()
                await running
            return [answer.status_code for answer in answers]

        return async_to_sync(run)()

    def signed(self, secret, body):
        return {"headers": {"X-Telegram-Bot-Api-Secret-Token": secret}, "content": body}

    def test_only_telegram_gets_in(self, telegram, space, settings, server):
        body = json.dumps(update("Hello"))
        wrong = ["", "S3CRET-TOKEN-OF-TELEGRAM", self.SECRET[:-1], self.SECRET + "x"]
        requests = [{"content": body}, *(self.signed(one, body) for one in wrong)]
        assert self.call(telegram, space, settings, *requests) == [401] * 5
        assert Message.objects.count() == 0
        assert server.called("setWebhook")[0]["secret_token"] == self.SECRET

    def test_a_replay_is_one_row_and_nonsense_is_refused(self, telegram, space, settings):
        body = json.dumps(update("Hello"))
        requests = [self.signed(self.SECRET, body)] * 5
        requests += [self.signed(self.SECRET, bad) for bad in ("no json", "[1]", '{"a": 1}')]
        requests += [self.signed(self.SECRET, "x" * (1024 * 1024 + 1))]
        statuses = self.call(telegram, space, settings, *requests)
        assert statuses == [200] * 5 + [400] * 3 + [413]
        assert Message.objects.count() == 1


def telegram_serving(ports):
    from contextlib import asynccontextmanager

    from bot.channels import http_server as serving

    real = serving.serve

    @asynccontextmanager
    async def serve(handle, **given):
        async with real(handle, **given) as port:
            ports.append(port)
            yield port

    return serve


class TestChunks:
    def test_short_text_is_one(self):
        assert leading.chunks("Hello", longest=4000) == ["Hello"]
        assert leading.chunks("  ", longest=4000) == []

    def test_cut_at_line_borders(self):
        lines = "\n".join("x" * 99 for _ in range(100))
        parts = leading.chunks(lines, longest=4000)
        assert "\n".join(parts) == lines
        assert max(map(len, parts)) <= 4000

    def test_one_endless_word_is_cut_hard_and_nothing_is_lost(self):
        assert "".join(leading.chunks("x" * 9001, longest=4000)) == "x" * 9001

    @pytest.mark.parametrize("text", ["<b>x</b>", "a < b & c", "[x](javascript:alert(1))", "**"])
    def test_nothing_of_the_text_becomes_markup_of_its_own(self, text):
        made = telegram_updates.as_html(text)
        assert "<b>" not in made
        assert "<a" not in made


def test_an_edit_of_something_unknown_is_taken_as_new(chat):
    message = inbox.edit(chat, text="Hello", external_id="77", author="Ana", now=NOON)
    assert message.text == "Hello"


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": {"id": 9, "is_bot": False, "first_name": "Mallory"}},
         "Mallory"),
        ({"type": "hidden_user", "sender_user_name": "Somebody"}, "Somebody"),
        ({"type": "channel", "chat": {"id": -5, "type": "channel", "title": "News"},
          "message_id": 3}, "News"),
        ({"type": "user", "sender_user": {"id": 7, "is_bot": False, "first_name": "Ana"}}, None),
    ],
)  # fmt: skip
def test_h1_what_was_passed_on_has_its_own_author_and_commands_nothing(origin, name):
    forwarded = update("/remember I own it all", forward_origin=origin | {"date": 1773144000})
    heard = telegram_updates.parse_update(Update.de_json(forwarded, None), bot="keno", bot_id=1)
    assert heard.origin == name
    assert inbox.is_command(heard.text) == (name is None)
