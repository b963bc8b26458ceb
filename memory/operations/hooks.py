"""Hooks: executables of the owner in `hooks/` of Keno's home, called when something has happened.

A file is named by its event (`reply-made`), or stands in a folder of that name (`reply-made.d/`).
It reads JSON, has a few seconds, and nothing waits for it: a job calls it. Without the folder there
are no hooks. A failure is logged and shown on the health page.
"""

import json
import logging
import os
import signal
import stat
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from memory import notices
from memory.guards.screening import redacted
from memory.jobs import HOOK_EVENTS
from memory.models import Message, Notice, Space
from memory.text.normalise import one_line, short

log = logging.getLogger(__name__)
KIND = "hook"
SECONDS = 5
# How long the health page shows a failure.
SHOW_FAILURE_FOR = timedelta(days=1)


class Unsafe(Exception):
    """Another user than the one who runs Keno could write the file."""


def files(event: str) -> list[Path]:
    """Return the executables of the event in their order; what cannot be executed is left."""
    home = Path(settings.KENO_HOME) / "hooks"
    candidates = [home / event, *sorted((home / f"{event}.d").glob("*"))]
    return [file for file in candidates if file.is_file() and os.access(file, os.X_OK)]


def call(event: str, *, space: Space, now: datetime, **details: object) -> list[str]:
    """Call every hook of the event; return what failed, a sentence each."""
    data = json.dumps({"event": event, "space": space.slug, "at": now.isoformat(), **details})
    failed = []
    for file in files(event):
        try:
            _run(file, data)
        except (Unsafe, OSError, subprocess.SubprocessError) as error:
            failed.append(f"{file.name}: {short(one_line(redacted(str(error))), 200)}")
            log.warning("hook failed", extra={"hook": file.name, "why": failed[-1]})
            _tell(space, event, failed[-1], now=now)
    return failed


def message_details(message: Message) -> dict[str, object]:
    """Return what a hook gets of a message or reply."""
    chat = message.chat
    names = {"chat": chat.key, "channel": chat.channel, "author": message.author}
    answered = {"reply_to": message.reply_to_id} if message.reply_to_id else {}
    sent = message.sent_at.isoformat()
    return {"id": message.pk, "text": message.text, "sent_at": sent, **names, **answered}


def failures(space: Space, *, now: datetime) -> list[str]:
    """Return what failed of late, for the health page."""
    if not (Path(settings.KENO_HOME) / "hooks").is_dir():
        return []
    recent = Notice.objects.filter(space=space, kind=KIND, created_at__gt=now - SHOW_FAILURE_FOR)
    return [str(notice) for notice in recent.order_by("-created_at")[:3]]


def _run(file: Path, data: str) -> None:
    for place in (file, file.parent, Path(settings.KENO_HOME) / "hooks"):
        stats = place.lstat()
        if stat.S_ISLNK(stats.st_mode) or stats.st_uid != os.geteuid() or stats.st_mode & 0o022:
            reason = (
                "it must belong to whoever runs Keno, be no link and be writable by nobody else."
            )
            raise Unsafe(f"{place.name}: {reason}")
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with subprocess.Popen(
        [str(file)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=env, cwd=file.parent, start_new_session=True, text=True,
    ) as running:  # fmt: skip
        try:
            _out, errors = running.communicate(data, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            # With whatever it started itself.
            os.killpg(running.pid, signal.SIGKILL)
            raise
        except BrokenPipeError:
            errors = ""  # it did not read its input, and need not
    if running.returncode:
        raise subprocess.SubprocessError(f"exit status {running.returncode}. {errors[-300:]}")


def _tell(space: Space, event: str, failed: str, *, now: datetime) -> None:
    assert event in HOOK_EVENTS
    notices.tell(
        space,
        kind=KIND,
        key=f"hook-{event}-{space.local_date(now)}",
        level=Notice.Level.WARNING,
        text=lambda: _("A hook failed: %(what)s") % {"what": failed},
    )
