"""Truth over time: how long a fact is believed unasked, and which ones are due for a check."""

import re
from datetime import datetime, time, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import override

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
# The fields that tell of which kind a fact is.
TOLD_BY = {"text", "category", "kind", "occurs_at", "valid_from"}
CHECKED, UNCHECKED = "fact.checked", "fact.unchecked"
# Both languages at once, without accents: a fact may be in either. What has ended stays ended.
_OVER = re.compile(
    r"\b(?:used to|no longer|not any ?more|ya no|solia|antes (?:vivia|trabajaba)|formerly"
    r"|was born|grew up|nacio|naci|crecio|creci)\b"
)
_HEALTH = re.compile(
    r"\b(?:allerg|alerg|vegan|vegetarian|diabet|asthma|asma\b|asmatic|pregnan|embaraz|medica|medicin"
    r"|pastilla|pills?\b|injur|lesion|therap|terapia|gluten|lactos|celiac|blood pressure|colesterol"
    r"|cholesterol|surgery|operad|enferm[ao]\b|enfermedad"
    r"|is (?:sick|ill)\b|migrain|migran|insulin|diet\b|dieta\b"
    r"|hipertens|anxiety|ansiedad|depress|depresi|back pain|dolor de)"
)
_HOME = re.compile(
    r"\b(?:lives?|living|resides?|moved|based) (?:in|at|on|near|with|to|alone)\b"
    r"|\bworks? (?:at|for|as|in|from|with)\b|\bworking (?:at|for|as)\b|\bstud(?:y|ies|ying)\b"
    r"|\b(?:job|employer|boss|office) is\b|\bemployed\b|\b(?:viv(?:e|o|en|imos)|resid[eo])\b"
    r"|\btrabaj(?:a|o|an|amos)\b|\bestudi(?:a|o|an)\b|\bmi (?:jefe|jefa|trabajo|oficina)\b"
    r"|\bse mud(?:o|aron)\b|\bme mude\b"
    r"|\b(?:is|soy|es) (?:an? )?(?:\w+ )?(?:nurse|teacher|engineer|doctor|developer|lawyer|designer"
    r"|enfermer[oa]|profesora?|ingenier[oa]|medic[oa]|abogad[oa]|disenador[a]?|programador[a]?)\b"
)
_TASTE = re.compile(
    r"\b(?:likes?|loves?|hates?|dislikes?|enjoys?|prefers?|favou?rites?|fan of|can.?t stand"
    r"|gustan?|encantan?|odi[ao]n?|detest[ao]n?|prefier[eo]n?|favorit[oa]s?|ador[ao]n?)\b"
)


def kind_of(fact: Fact, **values: Any) -> str:
    """How long such a thing usually holds, by its words; `values` are what is about to change."""

    def told(name: str) -> Any:
        return values.get(name, getattr(fact, name))

    if told("kind") != Fact.Kind.FACT or fact.subject == Fact.LORE:
        return ""
    begins, happens = told("valid_from") or fact.created_at, told("occurs_at")
    if happens:
        return Lasts.PLAN if happens > begins else ""
    said = fold(told("text"))
    if _OVER.search(said):
        return ""
    found = ((Lasts.HEALTH, _HEALTH), (Lasts.HOME, _HOME), (Lasts.TASTE, _TASTE))
    kind = next((kind for kind, words in found if words.search(said)), "")
    return kind or (Lasts.TASTE if told("category") == Fact.Category.PREFERENCE else "")


def due_at(fact: Fact, space: Space) -> datetime | None:
    """When it is to be asked about; None when never."""
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
    """The month in which it was last known to be so, when that is too long ago; else nothing."""
    days = span(kind, space)
    if not days or checked is None or now - checked < timedelta(days=days):
        return ""
    return checked.astimezone(space.zone).strftime("%Y-%m")


def due(space: Space, *, now: datetime) -> QuerySet:
    """The believed facts that are due for a check: passed plans, then by use, then by age."""
    ripe = Q(pk__in=[])
    for kind in SPANS:
        if days := span(kind, space):
            before = now - timedelta(days=days)
            ripe |= Q(lasts=kind, last_seen_at__lt=before) & _never_or_before(before)
    if days := space.options.check_plan_days:
        over = midnight_of(space, now=now) - timedelta(days=days - 1)
        ripe |= Q(lasts=Lasts.PLAN, over__lt=over, last_seen_at__lte=F("over")) & _never_or_before(
            F("over")
        )
    known = Fact.objects.in_space(space).live().annotate(over=Coalesce("occurs_until", "occurs_at"))
    holds = Q(valid_to=None) | Q(valid_to__gt=now)
    return known.filter(ripe, holds).order_by(F("over").desc(nulls_last=True), "-use_count", "pk")


def _never_or_before(when: Any) -> Q:
    confirmed = Q(confirmed_at=None) | Q(confirmed_at__lt=when)
    return confirmed & (Q(upheld_at=None) | Q(upheld_at__lt=when))


def answered(space: Space, *, since: datetime) -> list[AuditEntry]:
    """The checks since then that were not taken back, newest first."""
    rows = AuditEntry.objects.filter(space=space, at__gte=since, action__in=(CHECKED, UNCHECKED))
    entries = list(rows.order_by("-at", "-pk"))
    undone = {one.details.get("change") for one in entries if one.action == UNCHECKED}
    return [e for e in entries if e.action == CHECKED and e.details.get("change") not in undone]


def left_today(space: Space, *, now: datetime) -> int:
    """How many more may be asked about today."""
    done = answered(space, since=midnight_of(space, now=now))
    return max(0, space.options.checks_a_day - len(done))


def midnight_of(space: Space, *, now: datetime) -> datetime:
    return datetime.combine(space.local_date(now), time.min, space.zone)


def asked_today(space: Space, *, now: datetime) -> tuple[list[Fact], int]:
    """Those that are still asked about today, and how many wait for another day."""
    left, waiting = left_today(space, now=now), due(space, now=now)
    return list(waiting.select_related("chat", "message__chat")[:left]), waiting.count() - left


def note_answer(done: ChangeResult, *, answer: str, by: str) -> None:
    """Write into the audit that a person answered."""
    if done.changed:
        fact = done.row
        change = str(done.change_id)
        audit.record(CHECKED, actor=by, space=fact.space, obj=fact, answer=answer, change=change)


@transaction.atomic
def take_back(entry: AuditEntry, *, by: str) -> None:
    """Undo an answer. Raises history.Conflict when the fact was changed since."""
    history.undo_context(entry.details["change"], by=by)
    given = {"change": entry.details["change"], "fact": entry.object_id}
    audit.record(UNCHECKED, actor=by, space=entry.space, **given)


@prepared_update(chat="bigint")
def uphold(chat):
    """Count what the last reply of the chat said as checked: its reader went on without objecting.

    Call it when the reader has said something that corrects nothing, before the next reply.
    """
    receipts = Recall.objects.filter(chat=chat, reply__isnull=False).order_by("-at", "-pk")
    used = RecallItem.objects.filter(
        recall__in=receipts.values("pk")[:1], mark=RecallItem.Mark.USED
    )
    told = Fact.objects.live().filter(pk__in=used.exclude(fact=None).values("fact"))
    # What another reply holds is left: waiting for it is not worth it.
    free = told.exclude(lasts="").select_for_update(skip_locked=True, no_key=True).order_by("pk")
    rows = Fact.objects.filter(pk__in=free.values("pk"))
    return rows, {"upheld_at": Subquery(receipts.values("at")[:1])}


_SUBJECT = r"(?P<who>[A-ZÀ-Ý][\w’'.-]*(?: (?:de |del )?[A-ZÀ-Ý][\w’'.-]*)*)"
_TOLD_EN = re.compile(rf"(?:{_SUBJECT}|(?P<you>You)) (?P<verb>[a-z]+) (?P<rest>.+)", re.S)
_BASE = [("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("goes", "go"), ("does", "do"), ("s", "")]
_NOT_ASKED = {"does", "did", "was", "were", "can", "will", "would", "had", "never", "also", "just"}


def question(fact: Fact, text: str = "", *, language: str = "") -> str:
    """Ask whether the fact still holds, in its own language: "Does Ana still live in Rome?".

    `text` is how it is told to whoever is asked ("You live in Rome").
    """
    said = (text or fact.text).strip().rstrip(".!")
    language = fact.language or language or "en"
    with override(language):
        if fact.lasts == Lasts.PLAN:
            return _("Did this happen: “%(text)s”?") % {"text": said}
        asked = _ask_es(said, fact.subject) if language == "es" else _ask_en(said)
        return asked or _("Is this still so: “%(text)s”?") % {"text": said}


def _ask_en(said: str) -> str:
    told = _TOLD_EN.fullmatch(said)
    if not told or told["verb"] in _NOT_ASKED or re.search(r"\bnot\b|n['’]t\b", said):
        return ""
    verb, rest, you = told["verb"], told["rest"], told["you"] or told["who"] == "You"
    who = "you" if you else told["who"]
    if verb in ("is", "are"):
        return f"{verb.capitalize()} {who} still {rest}?"
    if verb in ("has", "have"):
        return f"{'Do' if you else 'Does'} {who} still have {rest}?"
    if you:
        return f"Do you still {verb} {rest}?"
    base = next((verb.removesuffix(end) + put for end, put in _BASE if verb.endswith(end)), "")
    return f"Does {who} still {base} {rest}?" if base and not verb.endswith("ss") else ""


def _ask_es(said: str, subject: str) -> str:
    if re.search(r"\b(?:no|ya|nunca|tampoco)\b", said):
        return ""
    if subject and said.startswith(f"{subject} "):
        rest = said.removeprefix(f"{subject} ")
        return f"¿{subject} todavía {rest}?" if rest[:1].islower() else ""
    first, _space, rest = said.partition(" ")
    spoken = first.endswith(("as", "es", "s")) and rest
    return f"¿Todavía {first.lower()} {rest}?" if spoken else ""
