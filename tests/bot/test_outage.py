"""R-04: Postgres goes away and comes back; the worker says so calmly and goes on."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from procrastinate.contrib.django import app

from bot import turn
from memory.chats import inbox
from memory.models import DeadLetter, Heartbeat, Message
from tests.bot.test_worker import wait_for
from tests.database_url import url_of
from tests.factories import make_chat, make_space

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.django_db(transaction=True)


class Gate:
    """A door before Postgres that can be shut: then nobody is inside and nobody gets in."""

    def __init__(self, *, host: str, port: str):
        self.there, self.is_open, self.inside = (host, int(port or 5432)), True, []
        self.door = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._let_in, daemon=True).start()

    def shut(self):
        self.is_open = False
        for one in self.inside:
            _cut(one)

    def open(self):
        self.is_open = True

    def _let_in(self):
        while True:
            try:
                guest, _address = self.door.accept()
            except OSError:
                return
            if not self.is_open:
                guest.close()
                continue
            server = self._connect()
            self.inside += [guest, server]
            for pair in ((guest, server), (server, guest)):
                threading.Thread(target=_pass_on, args=pair, daemon=True).start()

    def _connect(self):
        host, port = self.there
        if not host.startswith("/"):
            return socket.create_connection(self.there)
        local = socket.socket(socket.AF_UNIX)
        local.connect(f"{host}/.s.PGSQL.{port}")
        return local


def _pass_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        _cut(source)
        _cut(target)


def _cut(wire):
    # Closing alone would not wake the thread that reads from it.
    with contextlib.suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)
    wire.close()


@pytest.fixture
def gate():
    values = connection.settings_dict
    gate = Gate(host=values["HOST"] or "127.0.0.1", port=values["PORT"])
    yield gate
    gate.shut()
    gate.door.close()


@pytest.fixture
def runbot(gate, tmp_path):
    through = {"HOST": "127.0.0.1", "PORT": str(gate.door.getsockname()[1])}
    log = tmp_path / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "runbot"],
            cwd=ROOT,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "kenoweb.settings",
                "DATABASE_URL": url_of(connection.settings_dict | through),
                "LOG_LEVEL": "warning",
                "PROVIDER": "offline",
            },
            stderr=stderr,
        )
    yield log
    process.kill()
    process.wait()


def test_r04_a_lost_database_is_one_calm_line_and_so_is_its_return(gate, runbot):
    wait_for(Heartbeat.objects.exists)
    gate.shut()
    wait_for(lambda: "does not answer" in runbot.read_text())
    inbox.receive(make_chat(make_space(), channel="web"), text="Hello", silence=0)
    since = Heartbeat.objects.get().beat_at
    gate.open()
    wait_for(lambda: Heartbeat.objects.filter(beat_at__gt=since).exists())
    wait_for(lambda: Message.objects.filter(role="assistant").exists())
    lines = [json.loads(line) for line in runbot.read_text().splitlines()]
    # Every line is a line of the log, no trace of a stack.
    events = [line["event"] for line in lines]
    assert [event for event in events if "database" in event] == [
        "the database does not answer; trying until it does",
        "the database is back",
    ]
    # A job that was cut in the middle goes on; it may say that it failed, not that it ended.
    assert "job given up" not in events
    assert not DeadLetter.objects.exists()


@pytest.fixture
def full_disk():
    """Postgres says of this one table what it says when its disk is full."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$;
            CREATE TRIGGER full_disk BEFORE INSERT ON memory_outboxitem
            FOR EACH ROW EXECUTE FUNCTION no_space();
            """
        )
    yield _free_the_disk
    _free_the_disk()


def _free_the_disk():
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION IF EXISTS no_space CASCADE")


def test_r05_a_full_disk_leaves_nothing_half_done_and_the_answer_comes_when_there_is_room(
    full_disk, settings
):
    settings.PROVIDER = "offline"
    message = inbox.receive(make_chat(make_space(), channel="web"), text="Hello", silence=0)
    with pytest.raises(OperationalError, match="No space left") as full:
        turn.answer(message.pk, now=message.received_at)
    message.refresh_from_db()
    assert message.handled_at is None
    assert not Message.objects.filter(role="assistant").exists()
    assert app.tasks["bot.answer"].retry_strategy.wait(full.value, attempt=0, chance=0.5) == 1
    full_disk()
    turn.answer(message.pk, now=message.received_at)
    assert Message.objects.filter(role="assistant").count() == 1
