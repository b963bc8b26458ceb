"""A believable space of about three months, made through the real services. Only the clock is
faked: every message is received, answered, ingested and slept on as it would have been then."""

import datetime as dt
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import groupby
from zoneinfo import ZoneInfo

import pgtrigger
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F, OuterRef
from django.db.models.functions import Coalesce
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from kenoweb.demo.days import STORY, ZONE, Calendar, Life, read
from memory import jobs
from memory.chats import service as chats
from memory.history import rows
from memory.models import Chat, Fact, GoldenRun, LlmCall, Member, Message, Notice, Space
from memory.models.prepared import save_fields
from memory.spaces import service as spaces
from memory.vectors import store as embeddings
from sleep.models import Night

SLUG = "demo"
# Marks a space that was made here and may be made anew or removed.
MARK = {"demo": True}
# Only the last replies have a receipt: to make one takes as long as ten messages. Whole days, so
# that these are the same replies whatever the hour.
RECEIPT_DAYS = 1
# Three months must leave something to check.
SETTINGS = MARK | {"check_home_days": 60}
# The judge reads as many memories as it has time for. With the usual time a busy machine would make
# another demo than an idle one.
MAKING = SETTINGS | {"judge_ms": 2000}
TASK = "kenoweb.demo"
CHATS = {
    "dev": ("telegram", "-4990985512", "Studio", "Type: work group\nTone: short and technical"),
    "familia": ("telegram", "-4990985513", "Familia", "Tipo: familia\nTono: cariñoso, en español"),
    "adrian": ("telegram", "499098551", "Adrian", ""),
    "lucia": ("telegram", "499098552", "Lucía", ""),
    "web": ("web", "marta", "Marta", ""),
}
# Proposals of the last days still wait; older ones are decided.
UNDECIDED_DAYS = 8
# Keno slept every 24th night at first, and every night in the last weeks.
EARLY_NIGHTS_EVERY = 24
LATE_NIGHTS = 15
# The progress is saved whenever it has grown by so many percent.
PERCENT_STEP = 3
# Without progress for this long the making was stopped; the demo can be made again.
SILENT = dt.timedelta(minutes=2)
# Notices of the last nights are still unread.
NEWS = dt.timedelta(days=2)


class NotTheDemo(Exception):
    """There is a space at /s/demo/ that somebody made: it stays, and no demo can be made."""

    def __str__(self):
        return self.__doc__


def make(
    *,
    owners: Iterable[User],
    now: dt.datetime,
    story: str = "",
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Space:
    """Make the demo space anew, with these owners."""
    with connection.cursor() as cursor:
        # A demo that is lost in a power cut can be made again: no commit waits for the disk.
        cursor.execute("SET synchronous_commit = off")
    try:
        return _make(list(owners), now=now, story=story, progress=progress)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def begin(owners: list[User], *, now: dt.datetime) -> tuple[Space, Life]:
    """Make an empty demo space with its chats, and the life to be lived in it."""
    values = {"name": "Demo", "slug": SLUG, "timezone": ZONE, "language": "en"}
    space = Space.objects.create(settings=SETTINGS, **values)
    _set(space, _making(0))
    members = [
        Member.objects.get_or_create(space=space, user=user, defaults={"role": "owner"})[0]
        for user in owners
    ]
    rooms = {name: _room(space, *values) for name, values in CHATS.items()}
    owner = members[0] if members else None
    return space, Life(space, rooms, owner, Calendar(space), receipts_from(now))


def receipts_from(now: dt.datetime) -> dt.datetime:
    """Return the first minute of yesterday, on the clock of the demo."""
    zone = ZoneInfo(ZONE)
    date = now.astimezone(zone).date() - dt.timedelta(days=RECEIPT_DAYS)
    return dt.datetime.combine(date, dt.time(), tzinfo=zone)


def _make(owners: list[User], *, now: dt.datetime, story: str, progress: Callable) -> Space:
    remove()
    space, life = begin(owners, now=now)
    lines = list(read(story or STORY.read_text(), now=now))
    days = {day: list(group) for day, group in groupby(lines, key=lambda line: line.day)}
    first = max(days, default=0)
    for day in range(first, -1, -1):
        life.live(days.get(day, []))
        if day < LATE_NIGHTS or day % EARLY_NIGHTS_EVERY == 0:
            life.sleep(day, now=now)
            if day >= UNDECIDED_DAYS:
                life.decide(day, now=now)
        _save_progress(space, first - day + 1, of=first + 1)
        progress(first - day + 1, first + 1)
    embeddings.backfill(space=space)
    _set(space, SETTINGS)
    life.calendar.settle()
    # Each chat is as old as the first thing said in it.
    started = Message.objects.filter(chat=OuterRef("pk")).order_by("sent_at").values("sent_at")[:1]
    with pgtrigger.ignore():
        Chat.objects.filter(space=space).update(created_at=Coalesce(started, F("created_at")))
    _add_model_calls(space)
    Notice.objects.filter(space=space, created_at__lt=now - NEWS).update(seen_at=now)
    # Thirty questions take as long as a month of talk: the worker asks them behind the first look.
    jobs.ask_golden(space.pk, GoldenRun.Why.HAND)
    return space


def _save_progress(space: Space, done: int, *, of: int) -> None:
    percent = min(99, done * 100 // of)
    # Not every day: writing the row of a space empties what is cached of it.
    if percent >= space.settings["making"] + PERCENT_STEP:
        _set(space, _making(percent))


def _set(space: Space, settings: dict) -> None:
    """Save settings without an entry in the history of the space."""
    space.settings = settings
    with pgtrigger.ignore():
        save_fields(space, "settings")


def _making(percent: int) -> dict:
    return MAKING | {"making": percent, "making_at": timezone.now().isoformat()}


def percent(space: Space) -> int | None:
    """Return how far the demo is while it is made, in percent; None for every other space."""
    if not is_demo(space) or "making" not in space.settings:
        return None
    saved_at = dt.datetime.fromisoformat(space.settings["making_at"])
    return space.settings["making"] if timezone.now() - saved_at < SILENT else None


def _add_model_calls(space: Space) -> None:
    """Add calls of a made-up model with made-up costs, so that the page of costs shows something.

    Nothing in the demo asked it: the replies are those of the story.
    """
    replies = Message.objects.filter(space=space, role=Message.Role.ASSISTANT).order_by("pk")
    calls = [
        _call(
            space,
            LlmCall.Purpose.CHAT,
            reply.sent_at,
            words=400 + 37 * (n % 11),
            chat_id=reply.chat_id,
            message_id=reply.reply_to_id,
        )
        for n, reply in enumerate(replies)
    ]
    for n, night in enumerate(Night.objects.filter(space=space).order_by("pk")):
        words = [900 + 210 * (part + n % 4) for part in range(1 + n % 3)]
        at_night = [
            _call(space, LlmCall.Purpose.SLEEP, night.started_at, words=w, night_id=night.pk)
            for w in words
        ]
        night.cost = sum(call.cost for call in at_night)
        night.save(update_fields=["cost"])
        calls += at_night
    LlmCall.objects.bulk_create(calls)


def _call(
    space: Space, purpose: str, at: dt.datetime, *, words: int, **made_for: int | None
) -> LlmCall:
    spent = {"tokens_in": words, "tokens_out": words // 6, "ms": 300 + words}
    spent["cost"] = Decimal(words * 2 + words // 6 * 8) / 1_000_000
    model = {"provider": "example", "model": "demo-model", "purpose": purpose}
    return LlmCall(space=space, at=at, **model, **spent, **made_for)


def remove() -> bool:
    """Delete the demo space and all that is in it; never a space that only bears its name."""
    if taken():
        raise NotTheDemo
    space = Space.objects.filter(slug=SLUG).first()
    if space:
        spaces.erase(space, typed=space.name, by="command")
    return bool(space)


def taken() -> bool:
    """Tell whether a space of another kind has the URL of the demo."""
    return any(not is_demo(space) for space in Space.objects.filter(slug=SLUG))


def is_welcome() -> bool:
    """Tell whether to offer the demo: nobody has told Keno anything yet."""
    return not Message.objects.exists() and not Fact.objects.exists() and not taken()


def is_demo(space: Space) -> bool:
    return MARK.items() <= space.settings.items()


def state() -> str:
    """Return "making" while it is made, "ready" when it can be opened, else an empty string."""
    under_way = ProcrastinateJob.objects.filter(task_name=TASK, status__in=["todo", "doing"])
    space = Space.objects.filter(slug=SLUG, settings__contains=MARK).first()
    if under_way.exists() or (space and percent(space) is not None):
        return "making"
    return "ready" if space and "making" not in space.settings else ""


def far() -> int:
    """Return how far the demo is that is being made, in percent."""
    space = Space.objects.filter(slug=SLUG).first()
    return (space and percent(space)) or 0


def _room(space: Space, channel: str, number: str, title: str, context: str) -> Chat:
    chat = chats.find_or_open(space, channel=channel, external_id=number)
    chats.set_context(chat, text=context, by="tag")
    # Named afterwards, as a person would: what is talked about does not name it anew.
    rows.change(chat, by="tag", why="chat context", title=title)
    return chat
