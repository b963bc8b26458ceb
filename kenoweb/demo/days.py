"""A day of the demo, said, answered and slept on, under the clock of its story."""

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

# What later days ask the age of; everything else waits for the end.
ASKED = {"fact", "pattern", "ruling", "proposal"}
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
# A talk is one moment to the real clock.
MOMENT = dt.timedelta(minutes=10)
ZONE = "America/Mexico_City"
STORY = Path(__file__).with_name("story.txt")
OWNER = "!"
_LINE = re.compile(r"^(?:-(\d+) (\d\d):(\d\d)|~(\d+)) (?:(!) (\w+)|(\w+) ([^:]+):) ?(.*)$")
SLEEPS, DECIDES = dt.time(4, 0, 3), dt.time(9, 12)
# Who wrote what Keno says here: no model did.
MODE = "story"


class Calendar:
    """Remembers which real moment stood for which one of the story."""

    def __init__(self, space: Space):
        self.space = space
        self.marks: list[tuple[dt.datetime, dt.datetime]] = []
        # From which mark on the kinds that later days ask for have to be moved.
        self.open = 0
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            # History is dated by the database, whose clock may be another machine's.
            self.skew = cursor.fetchone()[0] - timezone.now()

    def turn_to(self, at: dt.datetime) -> None:
        """From here on it is then."""
        if not self.marks or abs(at - self.marks[-1][1]) > MOMENT:
            self.marks.append((timezone.now(), at))

    def settle(self, *, only: set[str] | None = None) -> None:
        """Move the stamps, of these kinds of rows or of all; one that was moved stays."""
        marks = self.marks[self.open :] if only else self.marks
        self.open = len(self.marks) - 1
        if not marks:
            return
        began, at = (list(some) for some in zip(*marks, strict=True))
        # Written out once, not for every table.
        spans = [_array(some) for some in (began, [*began[1:], timezone.now()], at)]
        given, first = [self.skew, *spans, self.space.pk], began[0] - abs(self.skew)
        # The rows and their history move together, so nothing of it is a change to be kept.
        with pgtrigger.ignore(), connection.cursor() as cursor:
            for model in _models(only):
                if statement := _statement(model, first=first.isoformat()):
                    cursor.execute(statement, given)


def _array(moments: list[dt.datetime]) -> str:
    return "{" + ",".join(moment.isoformat() for moment in moments) + "}"


def _statement(model: type[models.Model], *, first: str) -> str:
    stamps = [field for field in model._meta.fields if isinstance(field, models.DateTimeField)]
    if not stamps:
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
    named = {"table": f'"{model._meta.db_table}"', "columns": columns, "first": first}
    return MOVE.format(moves=", ".join(moves), mine=_mine(model), **named)


def _models(only: set[str] | None) -> list[type[models.Model]]:
    found = [model for model in apps.get_models() if _mine(model) and model is not AuditEntry]
    return [model for model in found if only is None or _kind(model) in only]


def _kind(model: type[models.Model]) -> str:
    return getattr(model, "pgh_tracked_model", model)._meta.model_name


def _mine(model: type[models.Model]) -> str:
    """Which rows of a table belong to the space; empty for tables of everybody."""
    if any(field.name == "space" for field in model._meta.fields):
        return "space_id = %s"
    if model is PhaseRun:
        return "night_id IN (SELECT id FROM sleep_night WHERE space_id = %s)"
    return "pgh_obj_id = %s" if _kind(model) == "space" and model is not Space else ""


@dataclass(frozen=True)
class Line:
    """Something said in a chat, or, where the chat is "!", done by the owner."""

    at: dt.datetime
    # How many days before today its night was; what is told in minutes has none yet.
    day: int
    chat: str
    who: str
    text: str


def read(told: str, *, now: dt.datetime) -> Iterator[Line]:
    """The lines with their times: so many days before `now`, or so many minutes."""
    local = now.astimezone(ZoneInfo(ZONE))
    for row in told.splitlines():
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
    space: Space
    rooms: dict[str, Chat]
    owner: Member | None
    calendar: Calendar
    # Before this a receipt would be gone by now.
    receipts_from: dt.datetime
    # What was said and nobody has looked through yet.
    unread: list[Message] = field(default_factory=list)

    def live(self, lines: list[Line]) -> None:
        if not lines:
            return
        asked: dict[str, Message] = {}
        for line in lines:
            self.calendar.turn_to(line.at)
            if line.chat == OWNER:
                self._ingest()
                given = {"space": self.space, "member": self.owner, "at": line.at}
                act(line.who, line.text, **given)
            elif line.who == "Keno":
                with self._turn():
                    self._answer(self.rooms[line.chat], line, asked.get(line.chat))
            else:
                asked[line.chat] = self._hear(self.rooms[line.chat], line)
        self._ingest()
        self._embed(lines[-1].at)

    def sleep(self, day: int, *, now: dt.datetime) -> None:
        """The night after that day, at four in the morning of the space."""
        at = self._morning(day, SLEEPS, now)
        if at < now:
            self.calendar.turn_to(at)
            cycle.sleep(self.space, now=at)
            self._embed(at)

    def decide(self, day: int, *, now: dt.datetime) -> None:
        if self.owner:
            self.calendar.turn_to(self._morning(day, DECIDES, now))
            if decide(self.space, self.owner):
                # What was approved is as old as that morning when the next day speaks of it.
                self.calendar.settle(only=ASKED)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """What is known of the space is asked for once, as it is now."""
        ((self.space.version,),) = _version(space=self.space.pk)
        with one_turn():
            yield

    def _hear(self, chat: Chat, line: Line) -> Message:
        given = {"author": line.who, "author_id": line.who.lower(), "handled_at": line.at}
        with transaction.atomic():
            said = chats.receive(chat, text=line.text, sent_at=line.at, now=line.at, **given)
            episodes.follow(said.message)
        self.unread.append(said.message)
        return said.message

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
        """What the worker does behind the replies."""
        if not self.unread:
            return
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


# What the owner declines, by words of the title, and why. Everything else is approved.
DECLINED = {
    "odia los cumpleaños": "a joke",
    "AcmeCloud": "not from us",
    "reply builder crashes": "mended since",
    "never used": "rare, but good to have",
    "still true?": "it is",
}


def decide(space: Space, member: Member) -> int:
    """Go through what waits, the oldest first; how many were decided."""
    waiting = list(
        Proposal.objects.filter(space=space, status=Proposal.Status.PENDING).order_by("pk")
    )
    for proposal in waiting:
        _decide_one(proposal, member)
    return len(waiting)


def _decide_one(proposal: Proposal, member: Member) -> None:
    given = {"member": member, "digest": proposal.digest}
    words = proposal.title.casefold()
    why = next((why for said, why in DECLINED.items() if said.casefold() in words), "")
    try:
        if proposal.kind == Proposal.Kind.SUPERSEDE:
            day = parse_datetime(proposal.evidence[1]["at"])
            proposals.rule(
                proposal, ruling=proposals.BOTH, day=day, reason="things change", **given
            )
        elif why:
            proposals.reject(proposal, reason=why, **given)
        else:
            proposals.approve(proposal, reason="we said so", **given)
    except (TargetChanged, ValueError):
        proposals.reject(proposal, reason="no longer fits", **given)


def act(verb: str, said: str, *, space: Space, member: Member | None, at: datetime) -> None:
    words, _bar, more = (part.strip() for part in said.partition("|"))
    by = actors.person(member.user) if member else "person:demo"
    ACTS[verb](space, words, more, member=member, by=by, at=at)


def _fact(space: Space, words: str) -> Fact:
    return Fact.objects.filter(space=space, text__icontains=words).latest("pk")


def _episode(space: Space, words: str) -> Episode:
    return Episode.objects.filter(space=space, messages__text__icontains=words).latest("pk")


def _discard(space: Space, words: str, why: str, *, by: str, at: datetime, **_) -> None:
    episodes.discard(_episode(space, words), by=by, reason=why, now=at)


def _rate(space: Space, words: str, how: str, *, by: str, at: datetime, **_) -> None:
    episodes.rate(_episode(space, words), feedback=how, by=by, now=at)


def _pin(space: Space, words: str, _more: str, *, by: str, **_) -> None:
    facts.pin(_fact(space, words), by=by)


def _keep(space: Space, words: str, why: str, *, by: str, **_) -> None:
    rulings.keep(_fact(space, words), by=by, reason=why)


def _never(space: Space, words: str, why: str, *, by: str, **_) -> None:
    rulings.forbid(space, text=words, by=by, reason=why)


def _trash(space: Space, words: str, _more: str, *, by: str, at: datetime, **_) -> None:
    facts.discard(_fact(space, words), by=by, now=at)


def _forget(space: Space, words: str, _more: str, *, by: str, at: datetime, **_) -> None:
    facts.forget(_fact(space, words), by=by, now=at)


def _know(space: Space, words: str, kind: str, *, by: str, at: datetime, **_) -> None:
    subject, _colon, text = (part.strip() for part in words.partition(":"))
    facts.remember(space, text=text, by=by, subject=subject, kind=kind or "fact", now=at)


def _teach(space: Space, trigger: str, response: str, *, by: str, at: datetime, **_) -> None:
    patterns.learn(space, trigger=trigger, response=response, by=by, now=at)


def _prefer(space: Space, key: str, value: str, *, by: str, at: datetime, **_) -> None:
    preferences.put(space, key=key, value=value, by=by, now=at)


def _undo(space: Space, words: str, _more: str, *, member: Member | None, **_) -> None:
    if member is None:
        return
    done = Proposal.objects.filter(space=space, status=Proposal.Status.APPROVED)
    proposals.undo(done.filter(title__icontains=words).latest("pk"), member=member)


def _undo_night(space: Space, _words: str, _more: str, *, by: str, at: datetime, **_) -> None:
    nights.undo(nights.latest(space), by=by, now=at)


def _golden(space: Space, words: str, tells: str, *, by: str, at: datetime, **_) -> None:
    """Keep a question of a chat with the fact that must be found; without one, with its words."""
    title, _colon, question = (part.strip() for part in words.partition(":"))
    chat = Chat.objects.get(space=space, title=title)
    own = Q(chat=chat) | Q(chat=None)
    known = Fact.objects.live().filter(own, space=space, text__icontains=tells).first()
    found = [{"fact": known.pk, "quote": known.text} if known else {"quote": tells}]
    golden.keep(space, question=question, found=found, chat=chat, by=by, now=at)


def _agent(space: Space, name: str, said: str, *, member: Member | None, at: datetime, **_) -> None:
    """A program wants to write; what it says is held for a person."""
    if member:
        token = ApiToken.objects.filter(space=space, name=name).first()
        rights = {"user": member.user, "name": name, "scopes": ["read", "write"]}
        token = token or api_tokens.create(space, **rights)[0]
        after = {"text": said, "quote": said, "subject": "", "said_by": name}
        proposals.hold(token, Proposal.Kind.ADD, said, after=after, now=at)


def _erase(space: Space, words: str, _more: str, *, by: str, at: datetime, **_) -> None:
    said = Message.objects.filter(space=space, text__icontains=words).latest("pk")
    erasing.run(erasing.start(space, "message", said, typed="", by=by, now=at), now=at)


ACTS: dict[str, Callable[..., None]] = {
    "agent": _agent,
    "discard": _discard,
    "erase": _erase,
    "rate": _rate,
    "pin": _pin,
    "keep": _keep,
    "never": _never,
    "trash": _trash,
    "forget": _forget,
    "know": _know,
    "teach": _teach,
    "prefer": _prefer,
    "golden": _golden,
    "undo": _undo,
    "undo_night": _undo_night,
}
