"""Remind the chat of a plan at its time: once, or again and again.

A plan is a fact like any other; its Reminder only says when and where. What takes the fact back
(undo, forget, quarantine) silences the reminder, and what restores the fact brings it back.
"""

import re
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial
from pathlib import Path

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.formats import date_format
from django.utils.timezone import is_naive

from memory.calendar.resolve import When, resolve
from memory.calendar.words import NUMBERS
from memory.facts import rows
from memory.guards import rulebook
from memory.history import changes as history
from memory.models import Chat, Fact, Message, Reminder
from memory.spaces.chat_links import hears_the_space
from memory.text.normalise import fold

# The hour of a plan that names only a part of the day, or none.
MORNING, AFTERNOON, EVENING = time(9), time(16), time(20)
# A reminder that comes later than this says so.
LATE = timedelta(minutes=5)
# A reminder that is older than this is dropped.
TOO_LATE = timedelta(days=7)
MAX_LISTED = 20
MAX_DAYS_AHEAD = 366
_WEEK = (
    "monday lunes|tuesday martes|wednesday miercoles|thursday jueves|friday viernes"
    "|saturday sabado|sunday domingo"
)
WEEK = {name: day for day, names in enumerate(_WEEK.split("|")) for name in names.split()}
# Values of Reminder.every.
DAILY, WORKDAYS, MONTHLY = "0123456", "01234", "m"
_PATTERNS = rulebook.patterns(
    Path(__file__).with_name("plans.txt"),
    DAY=rf"(?:{'|'.join(WEEK)})s?",
    NUMBER=rf"\d{{1,3}}|an?|un|una|{'|'.join(NUMBERS)}",
)
_LEFTOVER = re.compile(r"^\W*(?:(?:to|that|about|que|de|del|para)\s+)?", re.I)

_FOR = re.compile(r"^(?:for|para)\s+", re.I)


@dataclass(frozen=True)
class Plan:
    """The words of a reminder, its first time, and how it repeats (see Reminder.every)."""

    text: str
    at: datetime
    every: str = ""


def read(words: str, *, said_at: datetime, language: str) -> Plan | None:
    """Read a plan and its time; None when the words name no time in the future.

    `said_at` carries the zone of the space.
    """
    # "At 18:00: dinner" names an hour.
    text = re.sub(r"(?<=\d):(?=\s)", " ", words.strip())
    plain = fold(text)
    same_length = len(plain) == len(text)
    for pattern, time_of in ((_PATTERNS["soon"], _soon), (_PATTERNS["each"], _again)):
        hit = pattern.search(plain) if same_length else None
        if hit and (result := time_of(hit, plain, said_at)):
            at, every, spans = result
            return Plan(_reworded(text, spans), at, every)
    for when in resolve(text, said_at=said_at, language=language, lean="future"):
        if at := _moment(when, text, said_at):
            return Plan(_reworded(text, [(when.start, when.end)]), at)
    if hour := _PATTERNS["hour"].search(plain) if same_length else None:
        for when in _today(hour[0], said_at):
            if at := _moment(replace(when, dated=False), text, said_at):
                return Plan(_reworded(text, [hour.span()]), at)
    return None


def _today(hour: str, said_at: datetime) -> list[When]:
    """Read an hour that stands alone ("at 9") as one of today."""
    return [when for when in resolve(f"today {hour}", said_at=said_at, language="") if when.time]


def _soon(hit: re.Match, plain: str, said_at: datetime) -> tuple | None:
    digits = hit["n"] or ""
    whole = int(digits) if digits.isdigit() else NUMBERS.get(digits, 1)
    number = 0.5 if hit["half"] else whole + (0.5 if hit["more"] else 0)
    minutes = number * (1 if (hit["unit"] or "").startswith("min") else 60)
    return said_at + timedelta(minutes=minutes), "", [hit.span()]


def _again(hit: re.Match, plain: str, said_at: datetime) -> tuple | None:
    if hit["days"] and hit[0].startswith("on ") and not hit[0].endswith("s"):
        return None  # "on Monday" is one day
    if hit["month"]:
        every = f"{MONTHLY}{min(int(hit['number'] or said_at.day), 31) or 1}"
    elif hit["days"]:
        named = {day for name, day in WEEK.items() if re.search(rf"\b{name}", hit["days"])}
        every = "".join(map(str, sorted(named)))
    else:
        every = WORKDAYS if hit["work"] else DAILY
    hour = _PATTERNS["hour"].search(plain)
    times = [when.time for when in _today(hour[0], said_at) if when.time] if hour else []
    at = times[0] if times else _usual(hit["part"] or "")
    spans = [hit.span(), *([hour.span()] if hour else [])]
    return after(said_at, every=every, at=at), every, spans


def _usual(words: str) -> time:
    """Return the usual hour of the part of the day that is named, or of the morning."""
    if re.search(r"\b(?:evening|night|tonight|noche)", fold(words)):
        return EVENING
    return AFTERNOON if re.search(r"\b(?:afternoon|tarde)", fold(words)) else MORNING


def _moment(when: When, text: str, said_at: datetime) -> datetime | None:
    """Return the moment that is named, if it is in the future."""
    if when.kind == "every" or when.first is None or when.precision not in ("day", "week"):
        return None
    hour = when.time or _usual(text[when.start : when.end])
    at = datetime.combine(when.first, hour, said_at.tzinfo)
    if at <= said_at and when.first == said_at.date():
        # "At 9", said at noon, is tonight; "at 14:00", said at 15:00, is tomorrow; "today" is soon.
        later = [at + timedelta(hours=12)] if when.time and when.time.hour < 12 else []
        later += [] if when.dated else [at + timedelta(days=1)]
        at = next((moment for moment in later if moment > said_at), at)
        if when.dated and when.time is None:
            at = said_at + timedelta(hours=1)
    return at if at > said_at else None


def _reworded(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the words with a leading time moved to the end: "on Friday at 9 to call Marta"."""
    spans = sorted(spans)
    start, end = spans[0][0], spans[-1][1]
    if _LEFTOVER.sub("", text[:start]).strip(" ,") or not text[end:].strip(" .,!"):
        return _capital(_LEFTOVER.sub("", text))
    rest = _LEFTOVER.sub("", text[end:]).strip(" .,!")
    return _capital(f"{rest} {_FOR.sub('', text[start:end]).strip(' ,')}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def after(moment: datetime, *, every: str, at: time) -> datetime:
    """Return its next time after the moment, by the clock of its zone."""
    for shift in range(MAX_DAYS_AHEAD):
        day = moment.date() + timedelta(days=shift)
        next_at = datetime.combine(day, at, moment.tzinfo)
        if next_at > moment and _falls_on(day, every):
            return next_at
    return moment + timedelta(days=MAX_DAYS_AHEAD)


def _falls_on(day: date, every: str) -> bool:
    if every.startswith(MONTHLY):
        # The 31st is the last day of a shorter month.
        return day.day == min(int(every[1:]), monthrange(day.year, day.month)[1])
    return str(day.weekday()) in every


@transaction.atomic
def schedule(fact: Fact, plan: Plan, *, chat: Chat, by: str, now: datetime) -> Reminder | None:
    """Set a reminder in the chat; None when the message has another for the same time."""
    zone = fact.space.zone
    at = plan.at.replace(tzinfo=zone) if is_naive(plan.at) else plan.at.astimezone(zone)
    twins = Reminder.objects.filter(fact__message=fact.message_id, next_at=at)
    if fact.message_id and twins.filter(fact__status="active").exclude(fact=fact).exists():
        return None
    if not plan.every and fact.occurs_at != at and fact.status == Fact.Status.ACTIVE:
        with history.change(by=by, why="note a plan"):
            rows.save(fact, now=now, occurs_at=at, occurs_until=None)
    values = {"space": fact.space, "chat": chat, "next_at": at, "every": plan.every}
    return Reminder.objects.update_or_create(fact=fact, defaults=values | {"said_at": None})[0]


def due(*, now: datetime) -> QuerySet[Reminder]:
    """Return the reminders whose time has come, oldest first."""
    waiting = Reminder.objects.filter(next_at__lte=now, fact__status=Fact.Status.ACTIVE)
    return waiting.select_related("fact", "chat__space").order_by("next_at", "pk")


@transaction.atomic
def take(reminder: Reminder, *, now: datetime) -> datetime | None:
    """Claim it and set its next time; return the time it was for, or None for nothing to say."""
    row = Reminder.objects.select_for_update(of=("self",)).filter(pk=reminder.pk).first()
    if row is None or row.next_at is None or row.next_at > now:
        return None
    zone = reminder.space.zone
    was, row.next_at, row.said_at = row.next_at.astimezone(zone), None, now
    if row.every:
        # By the clock of the space, also when that changes to or from summer time.
        next_after = partial(after, every=row.every, at=was.time())
        row.next_at = next_after(now.astimezone(zone))
        # Of several that were missed only the last one counts.
        while (later := next_after(was)) <= now:
            was = later
    row.save(update_fields=["next_at", "said_at"])
    return was if now - was <= TOO_LATE else None


def upcoming(chat: Chat, *, now: datetime) -> list[Fact]:
    """Return the future plans that this chat may know, the next one first."""
    ahead = Q(occurs_at__gte=now, reminder=None) | Q(reminder__next_at__gte=now)
    plans = Fact.objects.in_scope(chat).live().filter(ahead).select_related("reminder", "space")
    plans = plans if hears_the_space(chat) else plans.filter(chat=chat)
    return sorted(plans[:200], key=_when)[:MAX_LISTED]


def _when(fact: Fact) -> datetime:
    reminder = getattr(fact, "reminder", None)
    at = (reminder and reminder.next_at) or fact.occurs_at
    assert at
    return at


def when_words(fact: Fact) -> str:
    """Return its next time by the clock of the space, in the active language."""
    return date_format(_when(fact).astimezone(fact.space.zone), "D j M, H:i")


def bare(fact: Fact) -> str:
    """Return its words without the time, which is now: "Call Marta"."""
    said_at = fact.created_at.astimezone(fact.space.zone)
    text, plain = fact.text, fold(fact.text)
    spans = [(when.start, when.end) for when in resolve(text, said_at=said_at, language="")]
    if len(plain) == len(text):
        spans += [
            hit.span()
            for pattern in (_PATTERNS["soon"], _PATTERNS["each"])
            for hit in pattern.finditer(plain)
        ]
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    left = " ".join(text.split()).strip(" ,.;")
    return left if len(left.split()) > 1 else fact.text


def of_message(fact: Fact, message: Message, words: str, *, now: datetime) -> Reminder | None:
    """Schedule what the words of a message ask for, if they name a time."""
    said_at = message.sent_at.astimezone(message.space.zone)
    plan = read(words, said_at=said_at, language=message.language)
    return schedule(fact, plan, chat=message.chat, by="extraction", now=now) if plan else None
