"""Live the days of the demo: talk, replies and nights, under the clock of its story."""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pgtrigger
from django.apps import apps
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from memory import patterns, rulings
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.extraction import ingest, tags
from memory.extraction.apply import apply
from memory.facts import service as facts
from memory.history import actors
from memory.identity import preferences
from memory.models import ApiToken, AuditEntry, Chat, Episode, Fact, Member, Message, Space
from memory.models.prepared import prepared
from memory.models.space import one_turn
from memory.operations import erasing
from memory.prompt import builder as context
from memory.spaces import api_tokens
from memory.trust import golden
from memory.vectors import store as embeddings
from sleep import cycle, nights, proposals
from sleep.apply import TargetChanged
from sleep.models import PhaseRun, Proposal

# Models whose age matters to later days; the stamps of all others are moved at the end.
MOVED_DAILY = {"fact", "pattern", "ruling", "proposal"}
MOVE = """
WITH mark AS (SELECT mark.*, %s::interval AS skew FROM
    unnest(%s::timestamptz[], %s::timestamptz[], %s::timestamptz[]) AS mark (began, ended, at))
UPDATE {table} SET {moves} WHERE {mine} AND greatest({columns}) >= '{first}'
"""
MOVED = """
{column} = CASE WHEN {column} >= '{first}' THEN coalesce((
    SELECT at + ({column} - began{skew}) FROM mark
    WHERE {column}{skew} >= began AND {column}{skew} < ended), {column}) ELSE {column} END
"""
# Times of the story that are closer together count as one moment of the real clock.
MOMENT = dt.timedelta(minutes=10)
ZONE = "America/Mexico_City"
STORY = Path(__file__).with_name("story.txt")
OWNER = "!"
_LINE = re.compile(r"^(?:-(\d+) (\d\d):(\d\d)|~(\d+)) (?:(!) (\w+)|(\w+) ([^:]+):) ?(.*)$")
SLEEP_TIME = dt.time(4, 0, 3)
DECISION_TIME = dt.time(9, 12)
# Recorded as the author of Keno's replies, in place of a model.
MODE = "story"


class Calendar:
    """Remember which real moment stood for which one of the story."""

    def __init__(self, space: Space):
        self.space = space
        self.marks: list[tuple[dt.datetime, dt.datetime]] = []
        # The first mark whose rows of MOVED_DAILY are not moved yet.
        self.open = 0
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            # History is dated by the database, whose clock may be another machine's.
            self.skew = cursor.fetchone()[0] - timezone.now()

    def turn_to(self, at: dt.datetime) -> None:
        """Set the clock of the story."""
        if not self.marks or abs(at - self.marks[-1][1]) > MOMENT:
            self.marks.append((timezone.now(), at))

    def settle(self, *, only: set[str] | None = None) -> None:
        """Move the stamps of these models, or of all; what was moved before stays."""
        marks = self.marks[self.open :] if only else self.marks
        self.open = len(self.marks) - 1
        if not marks:
            return
        began, at = (list(moments) for moments in zip(*marks, strict=True))
        params = [self.skew, began, [*began[1:], timezone.now()], at, self.space.pk]
        first = began[0] - abs(self.skew)
        # The rows and their history move together: that is not a change to be recorded.
        with pgtrigger.ignore(), connection.cursor() as cursor:
            for model in apps.get_models():
                if model is AuditEntry or (only and _kind(model) not in only):
                    continue
                if statement := _statement(model, first=first.isoformat()):
                    cursor.execute(statement, params)


def _statement(model: type[models.Model], *, first: str) -> str:
    """Return the SQL that moves the stamps of a table; empty for tables without any."""
    stamps = [field for field in model._meta.fields if isinstance(field, models.DateTimeField)]
    if not stamps or not _own_rows(model):
        return ""
    moves = [
        MOVED.format(
            column=f'"{field.column}"',
            skew=" - skew" if field.name == "pgh_created_at" else "",
            first=first,
        )
        for field in stamps
    ]
    columns = ", ".join(f'"{field.column}"' for field in stamps)
    names = {"table": f'"{model._meta.db_table}"', "columns": columns, "first": first}
    return MOVE.format(moves=", ".join(moves), mine=_own_rows(model), **names)


def _kind(model: type[models.Model]) -> str:
    return getattr(model, "pgh_tracked_model", model)._meta.model_name


def _own_rows(model: type[models.Model]) -> str:
    """Return SQL for the rows of a table that belong to the space; empty for shared tables."""
    if any(field.name == "space" for field in model._meta.fields):
        return "space_id = %s"
    if model is PhaseRun:
        return "night_id IN (SELECT id FROM sleep_night WHERE space_id = %s)"
    return "pgh_obj_id = %s" if _kind(model) == "space" and model is not Space else ""


@dataclass(frozen=True)
class Line:
    """Something said in a chat, or done by the owner where the chat is "!"."""

    at: dt.datetime
    # How many days ago it was; 0 for times in minutes.
    day: int
    chat: str
    who: str
    text: str


def read(story: str, *, now: dt.datetime) -> Iterator[Line]:
    """Yield the lines with their times, given in days or minutes before `now`."""
    local = now.astimezone(ZoneInfo(ZONE))
    for row in story.splitlines():
        if match := _LINE.match(row):
            day, hour, minute, minutes, owner, verb, chat, who, text = match.groups()
            if minutes:
                at = now - dt.timedelta(minutes=int(minutes))
            else:
                date, time = local.date() - dt.timedelta(int(day)), dt.time(int(hour), int(minute))
                at = dt.datetime.combine(date, time, tzinfo=local.tzinfo)
            yield Line(at, int(day or 0), owner or chat, verb or who, text)


@dataclass
class Life:
    """The demo space while its story is lived."""

    space: Space
    rooms: dict[str, Chat]
    owner: Member | None
    calendar: Calendar
    # An older receipt would be deleted by now.
    receipts_from: dt.datetime
    # Messages that are not ingested yet.
    unread: list[Message] = field(default_factory=list)

    def live(self, lines: list[Line]) -> None:
        if not lines:
            return
        last_messages: dict[str, Message] = {}
        for line in lines:
            self.calendar.turn_to(line.at)
            if line.chat == OWNER:
                self._ingest()
                act(line.who, line.text, space=self.space, member=self.owner, at=line.at)
            elif line.who == "Keno":
                with self._turn():
                    self._answer(self.rooms[line.chat], line, last_messages.get(line.chat))
            else:
                last_messages[line.chat] = self._hear(self.rooms[line.chat], line)
        self._ingest()
        self._embed(lines[-1].at)

    def sleep(self, day: int, *, now: dt.datetime) -> None:
        """Run the night after that day, at four in the morning of the space."""
        at = self._morning(day, SLEEP_TIME, now)
        if at < now:
            self.calendar.turn_to(at)
            cycle.sleep(self.space, now=at)
            self._embed(at)

    def decide(self, day: int, *, now: dt.datetime) -> None:
        if self.owner:
            self.calendar.turn_to(self._morning(day, DECISION_TIME, now))
            if decide(self.space, self.owner):
                # What was approved is as old as that morning when the next day speaks of it.
                self.calendar.settle(only=MOVED_DAILY)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Look up what is known of the space once, as it is now."""
        ((self.space.version,),) = _version(space=self.space.pk)
        with one_turn():
            yield

    def _hear(self, chat: Chat, line: Line) -> Message:
        values = {"author": line.who, "author_id": line.who.lower(), "handled_at": line.at}
        with transaction.atomic():
            received = chats.receive(chat, text=line.text, sent_at=line.at, now=line.at, **values)
            episodes.follow(received.message)
        self.unread.append(received.message)
        return received.message

    def _answer(self, chat: Chat, line: Line, to: Message | None) -> None:
        split = tags.split(line.text)
        asks = to and line.at > self.receipts_from
        built = asks and context.build(
            chat, to.text, now=line.at, person=to.author, group=[to], language=to.language
        )
        with transaction.atomic():
            reply = chats.reply(chat, text=split.text, to=to, now=line.at)
            episodes.follow(reply)
            if to:
                apply(split, chat=chat, messages=[to], mode=MODE, now=line.at)
            if built:
                context.keep(built, reply=reply, now=line.at)

    def _ingest(self) -> None:
        """Do what the worker does after the replies."""
        if self.unread:
            with self._turn():
                for message in self.unread:
                    ingest.ingest(message, now=message.sent_at)
            self.unread.clear()

    def _embed(self, at: dt.datetime) -> None:
        # Before there is anything to recall, what a night archives needs no vector.
        if at > self.receipts_from:
            embeddings.backfill(space=self.space)

    @staticmethod
    def _morning(day: int, time: dt.time, now: dt.datetime) -> dt.datetime:
        date = now.astimezone(ZoneInfo(ZONE)).date() - dt.timedelta(days=day - 1)
        return dt.datetime.combine(date, time, tzinfo=ZoneInfo(ZONE))


@prepared(space="bigint")
def _version(space):
    return Space.objects.filter(pk=space).values_list("version")


# The reasons why the owner declines proposals, by words of the title. All others are approved.
DECLINED = {
    "odia los cumpleaños": "a joke",
    "AcmeCloud": "not from us",
    "reply builder crashes": "mended since",
    "never used": "rare, but good to have",
    "still true?": "it is",
}


def decide(space: Space, member: Member) -> int:
    """Decide what waits, the oldest first; return how many were decided."""
    pending = Proposal.objects.filter(space=space, status=Proposal.Status.PENDING)
    waiting = list(pending.order_by("pk"))
    for proposal in waiting:
        _decide_one(proposal, member)
    return len(waiting)


def _decide_one(proposal: Proposal, member: Member) -> None:
    decision = {"member": member, "digest": proposal.digest}
    title = proposal.title.casefold()
    why = next((why for words, why in DECLINED.items() if words.casefold() in title), "")
    try:
        if proposal.kind == Proposal.Kind.SUPERSEDE:
            both = {"ruling": proposals.BOTH, "day": parse_datetime(proposal.evidence[1]["at"])}
            proposals.rule(proposal, reason="things change", **both, **decision)
        elif why:
            proposals.reject(proposal, reason=why, **decision)
        else:
            proposals.approve(proposal, reason="we said so", **decision)
    except (TargetChanged, ValueError):
        proposals.reject(proposal, reason="no longer fits", **decision)


@dataclass(frozen=True)
class Act:
    """Something that the owner does in the story, with its one or two parts."""

    space: Space
    words: str
    more: str
    member: Member | None
    at: datetime

    @property
    def by(self) -> str:
        return actors.person(self.member.user) if self.member else "person:demo"

    @property
    def fact(self) -> Fact:
        return Fact.objects.filter(space=self.space, text__icontains=self.words).latest("pk")

    @property
    def episode(self) -> Episode:
        rows = Episode.objects.filter(space=self.space, messages__text__icontains=self.words)
        return rows.latest("pk")

    def split_words(self) -> tuple[str, str]:
        before, _colon, after = (part.strip() for part in self.words.partition(":"))
        return before, after


def act(verb: str, text: str, *, space: Space, member: Member | None, at: datetime) -> None:
    words, _bar, more = (part.strip() for part in text.partition("|"))
    ACTS[verb](Act(space, words, more, member, at))


def _know(act: Act) -> None:
    subject, text = act.split_words()
    kind = act.more or "fact"
    facts.remember(act.space, text=text, by=act.by, subject=subject, kind=kind, now=act.at)


def _undo(act: Act) -> None:
    if act.member:
        done = Proposal.objects.filter(space=act.space, status=Proposal.Status.APPROVED)
        done = done.filter(title__icontains=act.words).latest("pk")
        proposals.undo(done, member=act.member)


def _golden(act: Act) -> None:
    """Keep a question of a chat with the fact that must be found; without one, with its words."""
    title, question = act.split_words()
    chat = Chat.objects.get(space=act.space, title=title)
    own = Q(chat=chat) | Q(chat=None)
    fact = Fact.objects.live().filter(own, space=act.space, text__icontains=act.more).first()
    found = [{"fact": fact.pk, "quote": fact.text} if fact else {"quote": act.more}]
    golden.keep(act.space, question=question, found=found, chat=chat, by=act.by, now=act.at)


def _agent(act: Act) -> None:
    """Let a program write; what it says is held for a person."""
    if act.member:
        token = ApiToken.objects.filter(space=act.space, name=act.words).first()
        rights = {"user": act.member.user, "name": act.words, "scopes": ["read", "write"]}
        token = token or api_tokens.create(act.space, **rights)[0]
        after = {"text": act.more, "quote": act.more, "subject": "", "said_by": act.words}
        proposals.hold(token, Proposal.Kind.ADD, act.more, after=after, now=act.at)


def _erase(act: Act) -> None:
    message = Message.objects.filter(space=act.space, text__icontains=act.words).latest("pk")
    erasure = erasing.start(act.space, "message", message, typed="", by=act.by, now=act.at)
    erasing.run(erasure, now=act.at)


ACTS: dict[str, Callable[[Act], object]] = {
    "agent": _agent,
    "discard": lambda a: episodes.discard(a.episode, by=a.by, reason=a.more, now=a.at),
    "erase": _erase,
    "rate": lambda a: episodes.rate(a.episode, feedback=a.more, by=a.by, now=a.at),
    "pin": lambda a: facts.pin(a.fact, by=a.by),
    "keep": lambda a: rulings.keep(a.fact, by=a.by, reason=a.more),
    "never": lambda a: rulings.forbid(a.space, text=a.words, by=a.by, reason=a.more),
    "trash": lambda a: facts.discard(a.fact, by=a.by, now=a.at),
    "forget": lambda a: facts.forget(a.fact, by=a.by, now=a.at),
    "know": _know,
    "teach": lambda a: patterns.learn(a.space, trigger=a.words, response=a.more, by=a.by, now=a.at),
    "prefer": lambda a: preferences.put(a.space, key=a.words, value=a.more, by=a.by, now=a.at),
    "golden": _golden,
    "undo": _undo,
    "undo_night": lambda a: nights.undo(nights.latest(a.space), by=a.by, now=a.at),
}
