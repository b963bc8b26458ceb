"""A believable space of about three months, made through the real services. Nothing is faked but
the clock: every message is received, answered, ingested and slept on as it would have been then."""

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
# Says that a space was made here and may be made anew or removed.
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
# What was proposed longer ago than this has been decided; the rest waits.
DECIDED = 8
# Keno slept now and then at first, and every night in the last weeks.
NOW_AND_THEN, EVERY_NIGHT = 24, 15
# So many percent more are worth a word to the pages.
STEP = 3
# A maker that has told nothing for this long was stopped; its demo can be made again.
SILENT = dt.timedelta(minutes=2)
# What the last nights told is news still.
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
    """The demo space, anew; the people who own another space own this one too."""
    with connection.cursor() as cursor:
        # Nothing is lost with a demo that a power cut takes: no commit waits for the disk.
        cursor.execute("SET synchronous_commit = off")
    try:
        return _make(list(owners), now=now, story=story, progress=progress)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def begin(owners: list[User], *, now: dt.datetime) -> tuple[Space, Life]:
    """An empty demo space with its chats, and the life that can be lived in it."""
    given = {"name": "Demo", "slug": SLUG, "timezone": ZONE, "language": "en"}
    space = Space.objects.create(settings=SETTINGS, **given)
    _set(space, _making(0))
    members = [_own(space, user) for user in owners]
    rooms = {name: _room(space, *given) for name, given in CHATS.items()}
    owner = members[0] if members else None
    return space, Life(space, rooms, owner, Calendar(space), receipts_from(now))


def receipts_from(now: dt.datetime) -> dt.datetime:
    """The first minute of yesterday, on the clock of the demo."""
    zone = ZoneInfo(ZONE)
    date = now.astimezone(zone).date() - dt.timedelta(days=RECEIPT_DAYS)
    return dt.datetime.combine(date, dt.time(), tzinfo=zone)


def _make(owners: list[User], *, now: dt.datetime, story: str, progress: Callable) -> Space:
    remove()
    space, life = begin(owners, now=now)
    lines = list(read(story or STORY.read_text(), now=now))
    days = {day: list(some) for day, some in groupby(lines, key=lambda line: line.day)}
    first = max(days, default=0)
    for day in range(first, -1, -1):
        life.live(days.get(day, []))
        if day < EVERY_NIGHT or day % NOW_AND_THEN == 0:
            life.sleep(day, now=now)
            if day >= DECIDED:
                life.decide(day, now=now)
        _tell(space, first - day + 1, of=first + 1)
        progress(first - day + 1, first + 1)
    embeddings.backfill(space=space)
    _set(space, SETTINGS)
    life.calendar.settle()
    _begin_chats(space)
    _spend(space)
    Notice.objects.filter(space=space, created_at__lt=now - NEWS).update(seen_at=now)
    # Thirty questions take as long as a month of talk: the worker asks them behind the first look.
    jobs.ask_golden(space.pk, GoldenRun.Why.HAND)
    return space


def _begin_chats(space: Space) -> None:
    """Each chat is as old as the first thing said in it."""
    said = Message.objects.filter(chat=OuterRef("pk")).order_by("sent_at").values("sent_at")[:1]
    with pgtrigger.ignore():
        Chat.objects.filter(space=space).update(created_at=Coalesce(said, F("created_at")))


def _tell(space: Space, done: int, *, of: int) -> None:
    """Let the pages say how far it is."""
    percent = min(99, done * 100 // of)
    # Not every day: what is kept of a space holds until its row is written.
    if percent >= space.settings["making"] + STEP:
        _set(space, _making(percent))


def _set(space: Space, settings: dict) -> None:
    """Change what only the making needs, which does not belong into the history of a space."""
    space.settings = settings
    with pgtrigger.ignore():
        save_fields(space, "settings")


def _making(percent: int) -> dict:
    return MAKING | {"making": percent, "making_at": timezone.now().isoformat()}


def percent(space: Space) -> int | None:
    """How far the demo is while it is made, in percent; None for every other space."""
    if not is_demo(space) or "making" not in space.settings:
        return None
    told = dt.datetime.fromisoformat(space.settings["making_at"])
    return space.settings["making"] if timezone.now() - told < SILENT else None


def _spend(space: Space) -> None:
    """Calls of a made-up model with made-up costs, so that the page of costs has something to show.

    Nothing in the demo asked it: the replies are those of the story.
    """
    replies = Message.objects.filter(space=space, role=Message.Role.ASSISTANT).order_by("pk")
    calls = [
        _call(space, LlmCall.Purpose.CHAT, reply.sent_at, words=400 + 37 * (n % 11), reply=reply)
        for n, reply in enumerate(replies)
    ]
    for n, night in enumerate(Night.objects.filter(space=space).order_by("pk")):
        words = [900 + 210 * (part + n % 4) for part in range(1 + n % 3)]
        some = [_call(space, LlmCall.Purpose.SLEEP, night.started_at, words=w) for w in words]
        for call in some:
            call.night_id = night.pk
        night.cost = sum(call.cost for call in some)
        night.save(update_fields=["cost"])
        calls += some
    LlmCall.objects.bulk_create(calls)


def _call(
    space: Space, purpose: str, at: dt.datetime, *, words: int, reply: Message | None = None
) -> LlmCall:
    spent = {"tokens_in": words, "tokens_out": words // 6, "ms": 300 + words}
    cost = Decimal(words * 2 + words // 6 * 8) / 1_000_000
    named = {"provider": "example", "model": "demo-model", "purpose": purpose}
    if reply:
        named |= {"chat_id": reply.chat_id, "message_id": reply.reply_to_id}
    return LlmCall(space=space, at=at, cost=cost, **named, **spent)


def remove() -> bool:
    """Delete the demo space and all that is in it; never a space that only bears its name."""
    if taken():
        raise NotTheDemo
    space = Space.objects.filter(slug=SLUG).first()
    if space:
        spaces.erase(space, typed=space.name, by="command")
    return bool(space)


def taken() -> bool:
    """Whether somebody's own space stands where the demo would."""
    return any(not is_demo(space) for space in Space.objects.filter(slug=SLUG))


def is_welcome() -> bool:
    """Whether it is worth an offer: nobody has told Keno anything yet."""
    return not Message.objects.exists() and not Fact.objects.exists() and not taken()


def is_demo(space: Space) -> bool:
    return MARK.items() <= space.settings.items()


def state() -> str:
    """ "making" while somebody is at it, "ready" when it can be opened, else empty."""
    under_way = ProcrastinateJob.objects.filter(task_name=TASK, status__in=["todo", "doing"])
    found = Space.objects.filter(slug=SLUG, settings__contains=MARK).first()
    if under_way.exists() or (found and percent(found) is not None):
        return "making"
    return "ready" if found and "making" not in found.settings else ""


def far() -> int:
    """How far the demo is that is being made, in percent."""
    found = Space.objects.filter(slug=SLUG).first()
    return (found and percent(found)) or 0


def _own(space: Space, user) -> Member:
    return Member.objects.get_or_create(space=space, user=user, defaults={"role": "owner"})[0]


def _room(space: Space, channel: str, number: str, title: str, context: str) -> Chat:
    chat = chats.find_or_open(space, channel=channel, external_id=number)
    chats.set_context(chat, text=context, by="tag")
    # Named afterwards, as somebody would: what is talked about does not name it anew.
    rows.change(chat, by="tag", why="chat context", title=title)
    return chat
