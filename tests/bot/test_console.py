"""The terminal, as a person meets it: the real command over a pipe, without any key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from kenoweb import database
from memory.models import Fact
from tests.factories import make_space

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.django_db(transaction=True)


def chat(*lines):
    made = subprocess.run(
        [sys.executable, "manage.py", "chat", "--name", "Ana"],
        cwd=ROOT,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "kenoweb.settings",
            "DATABASE_URL": database.url_of(connection.settings_dict),
            "PROVIDER": "offline",
        },
    )
    return made.stdout + made.stderr


def test_a_talk_in_the_terminal():
    make_space("home")
    connection.close()
    said = chat("My dog is called Rex", "What is my dog called?", "/forget last", "/salir")
    assert "Ana › My dog is called Rex\nKeno › Noted: Ana's dog is called Rex." in said
    assert "(/undo takes it back)" in said
    assert "Forgotten — Ana's dog is called Rex" in said
    assert "\x1b[" not in said
    assert not Fact.objects.live().exists()


def test_without_a_space_it_says_how_to_begin():
    assert "make run" in chat("Hello")
