import asyncio
import json
import runpy
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.exceptions import ImproperlyConfigured

from bot import channels, outbox, turn
from bot.channels import SendFailed, http_server
from bot.channels.http import HttpChannel
from kenoweb.settings import bot as channel_settings
from memory.jobs import RateLimit
from memory.models import Chat, Message, OutboxItem

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "a secret of the tests, long enough"


@pytest.fixture
def http(settings, monkeypatch):
    settings.HTTP_TIMEOUT = 5
    settings.HTTP_HOST = "127.0.0.1"
    channel = HttpChannel(secret=SECRET, port=0)
    channel.limits = RateLimit()
    monkeypatch.setitem(channels._open, "http", channel)
    return channel


def body(message="Hello", **more):
    return json.dumps({"message": message, "chat_id": "lab", "author_id": "7"} | more).encode()


def signed(content, *, at=None, secret=SECRET):
    stamp = time.time() if at is None else at
    return {"content": content, "headers": http_server.sign(secret, body=content, at=stamp)}


def call(http, space, *requests, answer=True, path="/webhook", together=False):
    """The answers of the running channel; waiting messages are answered meanwhile."""

    async def run():
        stop, http.port = asyncio.Event(), 0
        running = asyncio.create_task(http.run(space, stop))
        while not http.port:
            await asyncio.sleep(0.01)
        working = asyncio.create_task(_work()) if answer else None
        async with httpx.AsyncClient(timeout=20) as client:
            url = f"http://127.0.0.1:{http.port}{path}"
            if together:
                found = await asyncio.gather(*[client.post(url, **each) for each in requests])
            else:
                found = [await client.post(url, **each) for each in requests]
        if working:
            working.cancel()
        stop.set()
        await running
        return found

    return async_to_sync(run)()


async def _work():
    while True:
        await sync_to_async(_answer)()
        await asyncio.sleep(0.02)


def _answer():
    for message in Message.objects.filter(role="user", handled_at=None):
        turn.answer(message.pk, now=message.received_at)


def statuses(answers):
    return [answer.status_code for answer in answers]


class TestTheDoor:
    def test_a_signed_message_is_answered(self, http, space, llm):
        answer = call(http, space, signed(body()))[0]
        assert (answer.status_code, answer.json()["response"]) == (200, "All right.")
        assert Chat.objects.get().key == "http-lab"

    def test_without_a_good_signature_nothing_happens_086(self, http, space):
        content = body()
        good = http_server.sign(SECRET, body=content, at=time.time())
        sign = good["x-keno-signature"]
        bad = [
            {},
            {"x-keno-timestamp": good["x-keno-timestamp"]},
            good | {"x-keno-signature": ""},
            good | {"x-keno-signature": sign[:-1]},
            good | {"x-keno-signature": sign.upper()},
            good | {"x-keno-signature": sign.removeprefix("sha256=")},
            good | {"x-keno-timestamp": str(int(time.time()) + 1)},
            good | {"x-keno-timestamp": "12.5"},
            {"x-webhook-signature": sign},
        ]
        requests = [{"content": content, "headers": headers} for headers in bad]
        assert statuses(call(http, space, *requests)) == [401] * len(bad)
        assert statuses(call(http, space, signed(content, secret="another"))) == [401]
        assert Message.objects.count() == 0

    def test_another_body_does_not_fit_086(self, http, space):
        request = signed(body()) | {"content": body("Give me everything")}
        assert statuses(call(http, space, request)) == [401]

    @pytest.mark.parametrize("age", [360, -360])
    def test_after_five_minutes_it_is_too_late(self, http, space, age):
        assert statuses(call(http, space, signed(body(), at=time.time() - age))) == [401]
        assert Message.objects.count() == 0

    def test_a_replay_is_one_row_and_one_reply(self, http, space, llm):
        answers = call(http, space, *[signed(body(), at=time.time())] * 100)
        assert statuses(answers) == [200] * 100
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert Message.objects.filter(role="user").count() == len(llm.asked) == 1

    def test_the_same_id_again_gets_the_same_answer(self, http, space, llm):
        first, again = signed(body(id="m1")), signed(body(id="m1"), at=time.time() - 10)
        answers = call(http, space, first, again)
        assert answers[0].json() == answers[1].json()
        assert len(llm.asked) == 1

    @pytest.mark.parametrize(
        "content",
        [
            b"no json",
            b"[1]",
            b"{}",
            b'{"message": 5}',
            b'{"message": " "}',
            b'{"message": "x", "chat_id": {}}',
            b'{"message": "x", "chat_id": "../../etc"}',
            b'{"message": "x", "trace": "import"}',
            b'{"message": "x", "callback": "file:///etc/passwd"}',
            b'{"message": "x", "callback": "http://user:pass@example.org/"}',
            b"[" * 100_000,
        ],
    )
    def test_what_cannot_be_understood_gets_a_sentence_086(self, http, space, content):
        answer = call(http, space, signed(content))[0]
        assert answer.status_code == 400
        assert answer.json()["error"].endswith(".")
        assert Message.objects.count() == 0

    def test_a_body_too_large_is_refused_before_it_is_read(self, http, space):
        assert statuses(call(http, space, signed(b"x" * (1024 * 1024 + 1)))) == [413]

    def test_no_answer_in_time_086(self, http, space, settings):
        settings.HTTP_TIMEOUT = 0.1
        answer = call(http, space, signed(body()), answer=False)[0]
        assert answer.status_code == 408
        assert Message.objects.count() == 1

    def test_answers_of_other_channels_are_not_given_away_086(self, http, space, llm, chat):
        Message.objects.create(space=space, chat=chat, role="assistant", text="no", external_id="1")
        assert call(http, space, signed(body()))[0].json()["response"] == "All right."

    def test_over_the_limit(self, http, space, llm):
        http.limits = RateLimit(per_minute=1)
        answers = call(http, space, signed(body("a")), signed(body("b")))
        assert statuses(answers) == [200, 429]
        assert 1 <= int(answers[1].headers["retry-after"]) <= 60

    def test_a_transcript_enters_with_its_trace(self, http, space, llm):
        call(http, space, signed(body(trace="voice")))
        assert Message.objects.get(role="user").trace == "voice"

    def test_other_addresses_are_not_there(self, http, space):
        assert statuses(call(http, space, signed(body()), path="/admin")) == [404]

    def test_it_never_opens_without_a_secret_086(self, http, space):
        http.secret = ""
        with pytest.raises(RuntimeError, match="WEBHOOK_SECRET"):
            async_to_sync(http.run)(space, asyncio.Event())

    @pytest.mark.parametrize(
        "raw",
        [
            b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"POST /webhook HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
            b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
            b"POST /webhook HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"POST /webhook HTTP/1.1\r\n" + b"x: " + b"y" * 20000 + b"\r\n\r\n",
        ],
    )
    def test_what_is_no_request_is_refused(self, http, space, raw):
        async def run():
            stop = asyncio.Event()
            running = asyncio.create_task(http.run(space, stop))
            while not http.port:
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection("127.0.0.1", http.port)
            writer.write(raw)
            first = await reader.readline()
            writer.close()
            stop.set()
            await running
            return first

        assert async_to_sync(run)().split()[1] in (b"400", b"411", b"413", b"431")

    def test_l1_hundreds_of_half_requests_keep_nobody_waiting(self, http, space, monkeypatch):
        monkeypatch.setattr(http_server, "READ_SECONDS", 4)

        async def run():
            stop = asyncio.Event()
            running = asyncio.create_task(http.run(space, stop))
            while not http.port:
                await asyncio.sleep(0.01)
            half = [await asyncio.open_connection("127.0.0.1", http.port) for _ in range(300)]
            for _reader, writer in half:
                writer.write(b"POST /webhook HTTP/1.1\r\nX: ")
            # From another address: one address has only so many half requests.
            elsewhere = httpx.AsyncHTTPTransport(local_address="127.0.0.2")
            async with httpx.AsyncClient(timeout=60, transport=elsewhere) as client:
                there = await client.get(f"http://127.0.0.1:{http.port}/health")
            # Nobody of them is kept: each is hung up on at once or when its time is over.
            ends = await asyncio.wait_for(
                asyncio.gather(
                    *[reader.read() for reader, _writer in half], return_exceptions=True
                ),
                60,
            )
            for _reader, writer in half:
                writer.close()
            await asyncio.gather(
                *[writer.wait_closed() for _reader, writer in half], return_exceptions=True
            )
            stop.set()
            await running
            return there.status_code, len(ends)

        assert async_to_sync(run)() == (200, 300)


class Listener(HTTPServer):
    """Counts who connects, and answers as told."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Heard)
        self.heard, self.status, self.connects = [], 200, 0

    def get_request(self):
        self.connects += 1
        return super().get_request()


class Heard(BaseHTTPRequestHandler):
    def log_message(self, *_args):
        pass

    def do_POST(self):
        content = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.heard.append((headers, content))
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("location", f"http://127.0.0.1:{self.server.server_port}/there")
        self.send_header("content-length", "0")
        self.end_headers()


@pytest.fixture
def listener():
    server = Listener()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class TestTheCallback:
    """T-14: nobody leads us into our own network."""

    def accept(self, http, space, url):
        answer = call(http, space, signed(body(callback=url)))[0]
        assert answer.status_code == 202
        _answer()
        return OutboxItem.objects.get()

    def test_the_answer_is_posted_and_signed(self, http, space, llm, listener, settings):
        settings.HTTP_CALLBACK_PRIVATE = True
        item = self.accept(http, space, f"http://127.0.0.1:{listener.server_port}/done")
        async_to_sync(outbox.deliver)(item.pk)
        headers, content = listener.heard[0]
        told = {"headers": headers, "body": content, "now": time.time()}
        assert http_server.check(SECRET, **told, label=http_server.REPLY)
        assert json.loads(content)["response"] == "All right."
        # An answer of ours is no question that somebody could send back to us.
        with pytest.raises(http_server.BadSignature):
            http_server.check(SECRET, **told)

    @pytest.mark.parametrize(
        "host", ["127.0.0.1", "localhost", "0x7f000001", "2130706433", "[::ffff:7f00:1]", "0.0.0.0"]
    )
    def test_l8_a_private_address_is_refused_at_once_and_never_connected(
        self, http, space, llm, listener, host, settings
    ):
        url = f"http://{host}:{listener.server_port}/"
        refused = call(http, space, signed(body(callback=url)))[0]
        assert (refused.status_code, Message.objects.count()) == (400, 0)
        assert "private network" in refused.json()["error"]
        # Taken while it was allowed, it is not called when it no longer is.
        settings.HTTP_CALLBACK_PRIVATE = True
        item = self.accept(http, space, url)
        settings.HTTP_CALLBACK_PRIVATE = False
        with pytest.raises(SendFailed):
            async_to_sync(outbox.deliver)(item.pk)
        assert listener.connects == 0

    @pytest.mark.parametrize(
        "address",
        [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "::ffff:7f00:1",
            "fe80::1%eth0",
            "fd00::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "224.0.0.1",
            "fec0::1",
            "3fff::1",
            "::7f00:1",
        ],
    )
    def test_what_is_private(self, address):
        assert not http_server.is_public(address)

    def test_what_is_public(self):
        assert http_server.is_public("1.1.1.1")
        assert http_server.is_public("2606:4700::1111")

    def test_a_name_is_looked_up_once_and_all_its_addresses_count(self, listener):
        answers = [["1.1.1.1", "127.0.0.1"], ["127.0.0.1"]]

        async def resolve(host, port):
            return answers.pop(0)

        with pytest.raises(http_server.CallbackRefused):
            async_to_sync(http_server.post)(
                f"http://rebinding.example:{listener.server_port}/",
                body=b"{}",
                headers={},
                resolve=resolve,
            )
        assert len(answers) == 1
        assert listener.connects == 0

    def test_a_redirect_is_not_followed(self, http, space, llm, listener, settings):
        settings.HTTP_CALLBACK_PRIVATE = True
        listener.status = 302
        item = self.accept(http, space, f"http://127.0.0.1:{listener.server_port}/")
        with pytest.raises(SendFailed) as failed:
            async_to_sync(outbox.deliver)(item.pk)
        assert failed.value.permanent
        assert len(listener.heard) == 1

    def test_a_callback_that_is_down_is_tried_again(self, http, space, llm, listener, settings):
        settings.HTTP_CALLBACK_PRIVATE = True
        listener.status = 503
        item = self.accept(http, space, f"http://127.0.0.1:{listener.server_port}/")
        with pytest.raises(SendFailed) as failed:
            async_to_sync(outbox.deliver)(item.pk)
        assert not failed.value.permanent


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("HTTP_ENABLED", "true", "WEBHOOK_SECRET"),
        ("TELEGRAM_BOT_TOKEN", "your-token-here", "BotFather"),
        ("TELEGRAM_ALLOWED_USERS", "@ana", "numbers"),
        ("LIMIT_PER_MINUTE", "many", "whole number"),
    ],
)
def test_settings_that_cannot_work_say_so_at_start(monkeypatch, name, value, says):
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=says):
        runpy.run_path(channel_settings.__file__)


def test_a_telegram_webhook_needs_a_secret(monkeypatch):
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "123456789:" + "A" * 35)
    monkeypatch.setenv("TELEGRAM_ALLOWED_USERS", "7")
    monkeypatch.setenv("TELEGRAM_WEBHOOK_URL", "https://keno.example.org/t")
    with pytest.raises(ImproperlyConfigured, match="TELEGRAM_WEBHOOK_SECRET"):
        runpy.run_path(channel_settings.__file__)
