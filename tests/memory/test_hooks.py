"""Hooks: the owner's executables, called by a job when something has happened."""

import json
import os
import sys

import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from bot import turn
from memory import jobs, tasks
from memory.chats import inbox
from memory.chats import service as chats
from memory.models import Message, Notice
from memory.operations import health, hooks
from tests.bot.conftest import NOON, after
from tests.factories import make_chat, make_message, make_space


@pytest.fixture
def space(db, settings, tmp_path):
    settings.KENO_HOME, settings.PROVIDER = tmp_path, "offline"
    return make_space("home")


@pytest.fixture
def folder(space, tmp_path):
    made = tmp_path / "hooks"
    made.mkdir(mode=0o755)
    made.chmod(0o755)
    return made


def write(path, *lines):
    """A hook of these lines of Python, which has what it was told as `told`."""
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    head = [f"#!{sys.executable}", "import json, sys, time", "told = json.load(sys.stdin)"]
    path.write_text("\n".join([*head, *lines]))
    path.chmod(0o755)


def waiting():
    rows = ProcrastinateJob.objects.filter(task_name=jobs.HOOK).order_by("pk")
    return [row.args["event"] for row in rows]


def call(space, event="message-received", **details):
    return hooks.call(event, space=space, now=NOON, **details)


def test_without_the_folder_nothing_is_called_nor_waits(space):
    inbox.receive(make_chat(space), text="Hello", now=NOON, author="Ana")
    assert waiting() == []


def test_a_message_and_its_reply_are_told_by_jobs_of_their_own(space, folder):
    chat = make_chat(space, channel="web")
    message = inbox.receive(chat, text="I live in Porto", now=NOON, author="Ana", author_id="7")
    turn.answer(message.pk, now=after(3))
    assert waiting() == ["message-received", "reply-made"]
    row = ProcrastinateJob.objects.filter(task_name=jobs.HOOK).first()
    assert "Porto" not in json.dumps(row.args)


def test_it_reads_json_and_every_file_of_the_folder_is_called(space, folder, tmp_path):
    out = tmp_path / "out"
    line = f"open({str(out)!r}, 'a').write(told['text'] + told['chat'] + '|')"
    write(folder / "message-received", line)
    write(folder / "message-received.d" / "second", line)
    chat = make_chat(space)
    said = make_message(chat, "Hola", author="Ana")
    tasks.hook(event="message-received", object_id=said.pk, space_id=space.pk)
    assert out.read_text() == f"Hola{chat.key}|" * 2


def test_what_was_deleted_or_is_incognito_is_not_told(space, folder, tmp_path):
    out = tmp_path / "out"
    write(folder / "message-received", f"open({str(out)!r}, 'a')")
    chat = make_chat(space)
    chats.begin_incognito(chat, now=NOON)
    message = inbox.receive(chat, text="Secret", now=NOON, author="Ana")
    assert waiting() == []
    for pk in (message.pk, Message.objects.latest("pk").pk + 1):
        tasks.hook(event="message-received", object_id=pk, space_id=space.pk)
    assert not out.exists()


def test_a_failure_is_told_once_a_day_and_health_shows_it(space, folder):
    write(folder / "night-done", "sys.exit('the disk is full')")
    assert "the disk is full" in call(space, "night-done", id=1)[0]
    call(space, "night-done", id=2)
    notice = Notice.objects.get(kind=hooks.KIND)
    Notice.objects.update(created_at=NOON)
    found = {one.name: one for one in health.check(space, now=after(60))}
    assert (found["hooks"].level, found["hooks"].text) == ("warning", str(notice))


def test_one_that_hangs_is_ended_with_what_it_started(space, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(hooks, "SECONDS", 1)
    late = tmp_path / "late"
    child = f"import time; time.sleep(3); open({str(late)!r}, 'w')"
    write(
        folder / "reply-made",
        f"import subprocess; subprocess.Popen([sys.executable, '-c', {child!r}])",
        "time.sleep(60)",
    )
    assert "timed out" in call(space, "reply-made")[0]
    assert not late.exists()


def test_one_that_does_not_read_is_fine(space, folder):
    path = folder / "reply-made"
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    assert call(space, "reply-made", text="x" * 300_000) == []


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_what_others_could_write_is_not_called(space, folder, tmp_path, mode):
    out = tmp_path / "out"
    write(folder / "message-received", f"open({str(out)!r}, 'w')")
    (folder / "message-received").chmod(mode)
    assert "nobody else" in call(space)[0]
    (folder / "message-received").chmod(0o755)
    folder.chmod(mode)
    assert "nobody else" in call(space)[0]
    assert not out.exists()


def test_a_file_of_somebody_else_or_a_link_is_not_called(space, folder, tmp_path, monkeypatch):
    write(tmp_path / "elsewhere")
    (folder / "message-received").symlink_to(tmp_path / "elsewhere")
    assert "no link" in call(space)[0]
    (folder / "message-received").unlink()
    write(folder / "message-received")
    assert call(space) == []
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert "must belong" in call(space)[0]


def test_what_cannot_be_executed_is_left(space, folder):
    (folder / "message-received").write_text("notes")
    assert hooks.files("message-received") == []
