"""The real process, over the real wire, stopped while it works."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.backends.signals import connection_created
from procrastinate.contrib.django.models import ProcrastinateJob

from bot import worker
from bot.management.commands.runbot import limit_statements
from memory import jobs
from memory.chats import inbox
from memory.models import Heartbeat, Message, OutboxItem
from tests.database_url import url_of
from tests.factories import make_chat, make_space
from tests.llm import servers

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server():
    with servers.running() as server:
        yield server


@pytest.fixture
def runbot(server):
    """Starts the command against the tests' own database and the local server."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "manage.py", "runbot", *arguments],
            cwd=ROOT,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "kenoweb.settings",
                "DATABASE_URL": url_of(connection.settings_dict),
                "PROVIDER": "openai",
                "MODEL": "test-model",
                "OPENAI_BASE_URL": f"{server.url}/v1",
            },
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def wait_for(condition, *, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def say_in(count):
    space = make_space()
    for n in range(count):
        inbox.receive(make_chat(space, channel="web"), text=f"Hello {n}", silence=0)


def test_once_does_what_is_due_and_ends(runbot):
    say_in(3)
    assert runbot("--once").wait(60) == 0
    assert Message.objects.filter(role="assistant").count() == 3
    assert not ProcrastinateJob.objects.exclude(status="succeeded").exists()


def test_l7_a_statement_of_the_worker_ends_after_a_quarter_of_an_hour(monkeypatch):
    shown = []

    def ask_over_a_connection_of_its_own():
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            shown.append(cursor.fetchone()[0])
        connection.close()

    async def work(*args, **given):
        await asyncio.to_thread(ask_over_a_connection_of_its_own)

    monkeypatch.setattr(worker, "run", work)
    try:
        call_command("runbot", once=True)
    finally:
        connection_created.disconnect(limit_statements)
    assert shown == ["15min"]


def test_r13_sigterm_with_five_in_flight_loses_and_doubles_nothing(runbot, server):
    say_in(5)
    server.script = ["hang"] * 5
    process = runbot("--jobs", "5")
    wait_for(lambda: len(server.requests) == 5)
    assert Heartbeat.objects.exists()
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0
    assert time.monotonic() - began < 10
    assert Message.objects.filter(role="assistant").count() == 0
    assert not Heartbeat.objects.exists()
    statuses = ProcrastinateJob.objects.filter(task_name="bot.answer")
    assert set(statuses.values_list("status", flat=True)) == {"todo"}
    assert runbot("--once").wait(60) == 0
    assert Message.objects.filter(role="assistant").count() == OutboxItem.objects.count() == 5


def test_an_idle_worker_stops_at_once(runbot):
    process = runbot()
    wait_for(Heartbeat.objects.exists)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert time.monotonic() - began < 3


def test_r04_it_outlives_the_loss_of_every_database_connection(runbot):
    process = runbot()
    wait_for(Heartbeat.objects.exists)
    say_in(1)
    wait_for(lambda: Message.objects.filter(role="assistant").count() == 1)
    _cut_all_connections()
    say_in(1)
    wait_for(lambda: Message.objects.filter(role="assistant").count() == 2)
    assert process.poll() is None


def test_a_refused_key_ends_as_a_dead_letter_that_can_be_tried_again(runbot, server):
    say_in(1)
    server.script = ["401"]
    assert runbot("--once").wait(60) == 0
    (letter,) = jobs.dead_letters()
    assert "refused the key" in letter.error
    assert Message.objects.get(role="user").flags == ["unanswered"]
    assert OutboxItem.objects.get().kind == "notice"
    assert jobs.retry(letter, by="person:ana")
    assert runbot("--once").wait(60) == 0
    assert Message.objects.filter(role="assistant").count() == 1
    assert list(jobs.dead_letters()) == []


def _cut_all_connections():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
