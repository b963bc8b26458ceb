"""The terminal, as a person meets it: the real command over a pipe, without any key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from bot.channels import Outgoing
from bot.channels.console import ConsoleChannel
from memory.models import Fact, Heartbeat, OutboxItem
from tests.database_url import url_of
from tests.factories import make_space
from tests.kenoweb.running import until

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = os.environ | {"DJANGO_SETTINGS_MODULE": "kenoweb.settings", "PROVIDER": "offline"}
pytestmark = pytest.mark.django_db(transaction=True)


def chat(*lines):
    made = subprocess.run(
        [sys.executable, "manage.py", "chat", "--name", "Ana"],
        cwd=ROOT,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        env=ENVIRONMENT | {"DATABASE_URL": url_of(connection.settings_dict)},
    )
    return made.stdout + made.stderr


def test_a_talk_in_the_terminal():
    make_space("home")
    connection.close()
    said = chat("My dog is called Rex", "What is my dog called?", "/forget last", "/salir")
    assert "Ana › My dog is called Rex\nKeno › Noted: Your dog is called Rex." in said
    assert "(/undo takes it back)" in said
    assert "Forgotten — Ana's dog is called Rex" in said
    assert "\x1b[" not in said
    assert not Fact.objects.live().exists()


def test_mission_C_beside_a_running_keno_the_answer_comes_here_and_at_once():
    """The other worker has no terminal: what it thinks of must not wait for its next try."""
    make_space("home")
    connection.close()
    env = ENVIRONMENT | {"DATABASE_URL": url_of(connection.settings_dict)}
    other = subprocess.Popen([sys.executable, "manage.py", "runbot"], cwd=ROOT, env=env)
    try:
        assert until(lambda: Heartbeat.objects.exists())
        for _ in range(2):
            said = chat("What is my dog called?", "/salir")
            assert "Keno ›" in said
        assert not OutboxItem.objects.filter(delivered_at=None).exists()
        assert {*OutboxItem.objects.values_list("attempts", flat=True)} == {1}
    finally:
        other.terminate()
        other.wait(60)


def test_without_a_space_it_says_how_to_begin():
    assert "make run" in chat("Hello")


class TestGrowing:
    """In a terminal an answer is seen while it is written."""

    @pytest.fixture
    def screen(self):
        written = []
        channel = ConsoleChannel("Ana", write=written.append)
        channel.streams = True
        channel.written = written
        return channel

    def say(self, screen, text):
        async_to_sync(screen.send)(Outgoing(chat=None, text=text, key="reply-1"))
        return "".join(screen.written)

    def test_only_what_is_new_is_written(self, screen):
        for so_far in ("Your dog", "Your dog is", "Your dog is called"):
            screen.draft(None, so_far)
        said = self.say(screen, "Your dog is called Rex.\n\nNoted — x\n(/undo takes it back)")
        assert said == "Keno › Your dog is called Rex.\nNoted — x\n(/undo takes it back)\n\n"

    def test_an_attempt_that_was_given_up_is_left_behind(self, screen):
        screen.draft(None, "Your do")
        screen.draft(None, "Perhaps")
        assert self.say(screen, "I cannot answer.") == "Keno › Your do\nKeno › I cannot answer.\n\n"

    def test_the_next_answer_begins_anew(self, screen):
        screen.draft(None, "Yes")
        self.say(screen, "Yes")
        assert self.say(screen, "Yes, indeed").endswith("Keno › Yes, indeed\n\n")
