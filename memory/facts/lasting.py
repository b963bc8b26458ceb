"""Truth over time: how long a fact is believed without asking, and which are due for a check."""

import re
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import override

from memory.guards import rulebook
from memory.history import audit
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import AuditEntry, Fact, Recall, RecallItem, Space
from memory.models.prepared import prepared_update
from memory.text.normalise import fold

Lasts = Fact.Lasts
# The option that says after how many days each kind is asked about.
SPANS = {
    Lasts.HOME: "check_home_days",
    Lasts.TASTE: "check_taste_days",
    Lasts.HEALTH: "check_health_days",
}
# The fields that decide how long a fact lasts.
DECIDING_FIELDS = {"text", "category", "kind", "occurs_at", "valid_from"}
CHECKED, UNCHECKED = "fact.checked", "fact.unchecked"
_PATTERNS = rulebook.patterns(Path(__file__).with_name("lasting.txt"))


def kind_of(fact: Fact, **values: Any) -> str:
    """Return how long such a thing usually holds, by its words; `values` are about to change."""
    values = {name: getattr(fact, name) for name in DECIDING_FIELDS} | values
    if values["kind"] != Fact.Kind.FACT or fact.subject == Fact.LORE:
        return ""
    if values["occurs_at"]:
        begins = values["valid_from"] or fact.created_at
        return Lasts.PLAN if values["occurs_at"] > begins else ""
    text = fold(values["text"])
    if _PATTERNS["over"].search(text):
        return ""
    for kind in (Lasts.HEALTH, Lasts.HOME, Lasts.TASTE):
        if _PATTERNS[kind].search(text):
            return kind
    return Lasts.TASTE if values["category"] == Fact.Category.PREFERENCE else ""


def due_at(fact: Fact, space: Space) -> datetime | None:
    """Return when to ask about it; None for never."""
    if fact.lasts == Lasts.PLAN and fact.occurs_at:
        over = fact.occurs_until or fact.occurs_at
        days = space.options.check_plan_days
        asked_on = over.astimezone(space.zone).date() + timedelta(days=days)
        is_known = fact.checked_at > over or not days
        return None if is_known else datetime.combine(asked_on, time.min, space.zone)
    days = span(fact.lasts, space)
    return fact.checked_at + timedelta(days=days) if days else None


def span(kind: str, space: Space) -> int:
    return getattr(space.options, SPANS[Lasts(kind)]) if kind in SPANS else 0


def stale_since(kind: str, checked: datetime | None, space: Space, *, now: datetime) -> str:
    """Return the month of the last check, when that is too long ago; else an empty string."""
    days = span(kind, space)
    if not days or checked is None or now - checked < timedelta(days=days):
        return ""
    return checked.astimezone(space.zone).strftime("%Y-%m")


def due(space: Space, *, now: datetime) -> QuerySet:
    """Return the live facts that are due for a check: passed plans, then by use, then by age."""
    ripe = Q(pk__in=[])
    for kind in SPANS:
        if days := span(kind, space):
            before = now - timedelta(days=days)
            ripe |= Q(lasts=kind, last_seen_at__lt=before) & _never_or_before(before)
    if days := space.options.check_plan_days:
        over = midnight_of(space, now=now) - timedelta(days=days - 1)
        passed = Q(lasts=Lasts.PLAN, over__lt=over, last_seen_at__lte=F("over"))
        ripe |= passed & _never_or_before(F("over"))
    live = Fact.objects.in_space(space).live().annotate(over=Coalesce("occurs_until", "occurs_at"))
    holds = Q(valid_to=None) | Q(valid_to__gt=now)
    return live.filter(ripe, holds).order_by(F("over").desc(nulls_last=True), "-use_count", "pk")


def _never_or_before(when: Any) -> Q:
    confirmed = Q(confirmed_at=None) | Q(confirmed_at__lt=when)
    return confirmed & (Q(upheld_at=None) | Q(upheld_at__lt=when))


def answered(space: Space, *, since: datetime) -> list[AuditEntry]:
    """Return the checks since then that were not undone, newest first."""
    rows = AuditEntry.objects.filter(space=space, at__gte=since, action__in=(CHECKED, UNCHECKED))
    entries = list(rows.order_by("-at", "-pk"))
    undone = {entry.details.get("change") for entry in entries if entry.action == UNCHECKED}
    checks = [entry for entry in entries if entry.action == CHECKED]
    return [entry for entry in checks if entry.details.get("change") not in undone]


def left_today(space: Space, *, now: datetime) -> int:
    """Return how many more facts may be asked about today."""
    done = answered(space, since=midnight_of(space, now=now))
    return max(0, space.options.checks_a_day - len(done))


def midnight_of(space: Space, *, now: datetime) -> datetime:
    return datetime.combine(space.local_date(now), time.min, space.zone)


def asked_today(space: Space, *, now: datetime) -> tuple[list[Fact], int]:
    """Return the facts still to be asked about today, and how many wait for another day."""
    left, waiting = left_today(space, now=now), due(space, now=now)
    return list(waiting.select_related("chat", "message__chat")[:left]), waiting.count() - left


def note_answer(done: ChangeResult, *, answer: str, by: str) -> None:
    """Record in the audit that a person answered."""
    if done.changed:
        fact = done.row
        change = str(done.change_id)
        audit.record(CHECKED, actor=by, space=fact.space, obj=fact, answer=answer, change=change)


@transaction.atomic
def take_back(entry: AuditEntry, *, by: str) -> None:
    """Undo an answer. Raises history.Conflict when the fact was changed since."""
    history.undo_context(entry.details["change"], by=by)
    details = {"change": entry.details["change"], "fact": entry.object_id}
    audit.record(UNCHECKED, actor=by, space=entry.space, **details)


@prepared_update(chat="bigint")
def uphold(chat):
    """Count the facts in the last reply of the chat as checked, as its reader did not object.

    Call it when the reader has written something that corrects nothing, before the next reply.
    """
    receipts = Recall.objects.filter(chat=chat, reply__isnull=False).order_by("-at", "-pk")
    last = receipts.values("pk")[:1]
    used = RecallItem.objects.filter(recall__in=last, mark=RecallItem.Mark.USED)
    facts = Fact.objects.live().filter(pk__in=used.exclude(fact=None).values("fact"))
    # Rows that another reply has locked are skipped: waiting for them is not worth it.
    free = facts.exclude(lasts="").select_for_update(skip_locked=True, no_key=True).order_by("pk")
    rows = Fact.objects.filter(pk__in=free.values("pk"))
    return rows, {"upheld_at": Subquery(receipts.values("at")[:1])}


_SUBJECT = r"(?P<who>[A-ZÀ-Ý][\w’'.-]*(?: (?:de |del )?[A-ZÀ-Ý][\w’'.-]*)*)"
_SENTENCE_EN = re.compile(rf"(?:{_SUBJECT}|(?P<you>You)) (?P<verb>[a-z]+) (?P<rest>.+)", re.S)
_BASE = [("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("goes", "go"), ("does", "do"), ("s", "")]
_NOT_ASKED = {"does", "did", "was", "were", "can", "will", "would", "had", "never", "also", "just"}


def question(fact: Fact, text: str = "", *, language: str = "") -> str:
    """Ask whether the fact still holds, in its own language: "Does Ana still live in Rome?".

    `text` is the fact as it is worded for that reader ("You live in Rome").
    """
    sentence = (text or fact.text).strip().rstrip(".!")
    language = fact.language or language or "en"
    with override(language):
        if fact.lasts == Lasts.PLAN:
            return _("Did this happen: “%(text)s”?") % {"text": sentence}
        spanish = language == "es"
        asked = _ask_es(sentence, fact.subject) if spanish else _ask_en(sentence)
        return asked or _("Is this still so: “%(text)s”?") % {"text": sentence}


def _ask_en(sentence: str) -> str:
    match = _SENTENCE_EN.fullmatch(sentence)
    if not match or match["verb"] in _NOT_ASKED or re.search(r"\bnot\b|n['’]t\b", sentence):
        return ""
    verb, rest, you = match["verb"], match["rest"], match["you"] or match["who"] == "You"
    who = "you" if you else match["who"]
    if verb in ("is", "are"):
        return f"{verb.capitalize()} {who} still {rest}?"
    base = "have" if verb in ("has", "have") else verb if you else _base_form(verb)
    return f"{'Do' if you else 'Does'} {who} still {base} {rest}?" if base else ""


def _base_form(verb: str) -> str:
    """Return "live" for "lives"; empty when it has no such ending."""
    base = next((verb.removesuffix(end) + put for end, put in _BASE if verb.endswith(end)), "")
    return "" if verb.endswith("ss") else base


def _ask_es(sentence: str, subject: str) -> str:
    if re.search(r"\b(?:no|ya|nunca|tampoco)\b", sentence):
        return ""
    if subject and sentence.startswith(f"{subject} "):
        rest = sentence.removeprefix(f"{subject} ")
        return f"¿{subject} todavía {rest}?" if rest[:1].islower() else ""
    verb, _space, rest = sentence.partition(" ")
    is_you = verb.endswith(("as", "es", "s")) and rest
    return f"¿Todavía {verb.lower()} {rest}?" if is_you else ""
