"""A believable space of about three months, made through the real services. Nothing is faked but
the clock: every message is received, ingested and slept on as it would have been that day."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from memory import chats, embeddings, episodes, events, facts, patterns, rulings, spaces, working
from memory.extraction import ingest
from memory.models import Chat, Episode, Fact, Member, Message, Notice, Pattern, Space
from memory.retrieval import receipts
from memory.retrieval.recall import recall
from sleep import cycle, proposals
from sleep.apply import TargetChanged
from sleep.models import Night, Proposal

SLUG = "demo"
# Says that a space was made here and may be made anew or removed.
MARK = {"demo": True}
TASK = "kenoweb.demo"
ZONE = "America/Mexico_City"
CHATS = {
    "dev": (
        "telegram",
        "-4990985512",
        "KenoBot dev",
        "Type: work group\nTone: short and technical",
    ),
    "familia": ("telegram", "-4990985513", "Familia", "Tipo: familia\nTono: cariñoso, en español"),
}
STORY = Path(__file__).with_name("story.txt")
_LINE = re.compile(r"^-(\d+) (\d\d):(\d\d) (\w+) ([^:]+): (.+)$")
# What the owner decided, by words of the title; the last week's proposals wait.
REJECTED = ("odia los cumpleaños", "hates")


class NotTheDemo(Exception):
    """There is a space at /s/demo/ that somebody made: it stays, and no demo can be made."""

    def __str__(self):
        return self.__doc__


@dataclass(frozen=True)
class Line:
    day: int
    time: dt.time
    chat: str
    who: str
    text: str


def read(story: str) -> Iterator[Line]:
    for row in story.splitlines():
        if match := _LINE.match(row):
            day, hour, minute, chat, who, text = match.groups()
            yield Line(int(day), dt.time(int(hour), int(minute)), chat, who, text)


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


def _make(owners: list[User], *, now: dt.datetime, story: str, progress: Callable) -> Space:
    remove()
    space = Space.objects.create(
        name="Demo", slug=SLUG, timezone=ZONE, language="en", settings=MARK
    )
    members = [_own(space, user) for user in owners]
    rooms = {name: _room(space, *given) for name, given in CHATS.items()}
    lines = list(read(story or STORY.read_text()))
    days = [(day, list(some)) for day, some in groupby(lines, key=lambda line: line.day)]
    for done, (day, some) in enumerate(days, 1):
        _live(space, rooms, some, now=now)
        _sleep(space, day, now=now)
        if members and day > 7:
            _decide(space, members[0])
        progress(done, len(days))
    _curate(space, rooms, members, now=now)
    embeddings.backfill(space=space)
    # What the nights told was news then.
    Notice.objects.filter(space=space).update(seen_at=now)
    return space


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
    """ "making" while the worker is at it, "ready" when it can be opened, else empty."""
    under_way = ProcrastinateJob.objects.filter(task_name=TASK, status__in=["todo", "doing"])
    if under_way.exists():
        return "making"
    found = Space.objects.filter(slug=SLUG, settings__contains=MARK)
    return "ready" if found.exists() else ""


def _own(space: Space, user) -> Member:
    return Member.objects.get_or_create(space=space, user=user, defaults={"role": "owner"})[0]


def _room(space: Space, channel: str, number: str, title: str, context: str) -> Chat:
    chat = chats.find_or_open(space, channel=channel, external_id=number, title=title)
    chats.set_context(chat, text=context, by="tag")
    return chat


def _live(space: Space, rooms: dict[str, Chat], lines: list[Line], *, now: dt.datetime) -> None:
    asked: dict[str, Message] = {}
    for line in lines:
        at = _moment(line, now)
        chat = rooms[line.chat]
        with _dated(at):
            if line.who == "Keno":
                _answer(space, chat, line, asked.get(line.chat), at)
            else:
                asked[line.chat] = _hear(chat, line, at)


def _hear(chat: Chat, line: Line, at: dt.datetime) -> Message:
    said = chats.receive(
        chat, text=line.text, author=line.who, author_id=line.who.lower(), sent_at=at, now=at
    )
    message = said.message
    episodes.follow(message)
    ingest.ingest(message, now=at)
    Message.objects.filter(pk=message.pk).update(handled_at=at)
    return message


def _answer(space: Space, chat: Chat, line: Line, to: Message | None, at: dt.datetime) -> None:
    asked = recall(space, to.text, chat=chat, person=to.author, now=at, message=to) if to else None
    reply = chats.reply(chat, text=line.text, to=to, now=at)
    episodes.follow(reply)
    if asked and asked.receipt:
        receipts.attach(asked.receipt, reply=reply)
        used = asked.receipt.items.filter(injected=True).exclude(fact=None).values("fact")
        Fact.objects.filter(pk__in=used).update(use_count=F("use_count") + 1, last_used_at=at)


def _sleep(space: Space, day: int, *, now: dt.datetime) -> None:
    """The night after that day, at four in the morning of the space."""
    local = (now.astimezone(ZoneInfo(ZONE)) - dt.timedelta(days=day - 1)).date()
    at = dt.datetime.combine(local, dt.time(4, 0, 3), tzinfo=ZoneInfo(ZONE))
    if at > now:
        return
    with _dated(at):
        night = cycle.sleep(space, now=at)
    Night.objects.filter(pk=night.pk).update(ended_at=at + dt.timedelta(seconds=2))
    Proposal.objects.filter(night=night).update(created_at=at)


def _decide(space: Space, member: Member) -> None:
    for proposal in Proposal.objects.filter(space=space, status=Proposal.Status.PENDING):
        at, began = proposal.created_at + dt.timedelta(hours=5), timezone.now()
        with _dated(at):
            _decide_one(proposal, member)
            for model in (Fact, Pattern):
                model.objects.filter(space=space, created_at__gte=began).update(created_at=at)
        Proposal.objects.filter(pk=proposal.pk).update(decided_at=at)


def _decide_one(proposal: Proposal, member: Member) -> None:
    given = {"member": member, "digest": proposal.digest}
    try:
        if any(word in proposal.title for word in REJECTED):
            proposals.reject(proposal, reason="a joke", **given)
        else:
            proposals.approve(proposal, **given)
    except (TargetChanged, ValueError):
        proposals.reject(proposal, reason="no longer fits", **given)


def _curate(space: Space, rooms: dict[str, Chat], members: list[Member], *, now) -> None:
    """What a person does by hand: pin, rule, discard, and a note of work under way."""
    by = f"person:{members[0].user}" if members else "person:demo"
    joke = Episode.objects.filter(space=space, body__contains="es broma").first()
    if joke:
        episodes.discard(joke, by=by, reason="a joke", now=now)
    pinned = Fact.objects.live().filter(space=space, text__icontains="short answers").first()
    if pinned:
        facts.pin(pinned, by=by)
    rulings.forbid(space, text="Adrian hates birthdays", by=by, reason="it was a joke")
    patterns.learn(
        space,
        trigger="certificate + expired",
        response="Caddy renews by itself: is nginx off?",
        by=by,
    )
    working.replace(
        rooms["dev"],
        task="Move the backups to Helsinki",
        context=["Iván decided it with Marta", "Old snapshots stay until March"],
        pending=["Copy the keys", "Try a restore"],
        notes="",
        by="tag",
        now=now - dt.timedelta(hours=3),
    )


def _tables() -> list[str]:
    return [model._meta.db_table for model in events.event_models()]


def _moment(line: Line, now: dt.datetime) -> dt.datetime:
    day = now.astimezone(ZoneInfo(ZONE)).date() - dt.timedelta(days=line.day)
    return dt.datetime.combine(day, line.time, tzinfo=ZoneInfo(ZONE))


class _dated:
    """History written inside is dated then, so that the time machine has something to show."""

    def __init__(self, at: dt.datetime):
        self.at = at

    def __enter__(self):
        self.began = _newest()

    def __exit__(self, *failure):
        now = _newest()
        written = [(table, n) for table, n in self.began.items() if now[table] > n]
        with connection.cursor() as cursor:
            for table, newest in written:
                cursor.execute(
                    f'UPDATE "{table}" SET pgh_created_at = %s WHERE pgh_id > %s', [self.at, newest]
                )


def _newest() -> dict[str, int]:
    """The last event of every table, in one question."""
    tables = _tables()
    asked = ", ".join(f'(SELECT coalesce(max(pgh_id), 0) FROM "{table}")' for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {asked}")
        return dict(zip(tables, cursor.fetchone(), strict=True))
