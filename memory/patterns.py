"""Procedural memory: habits. When a message says this, answer so.

Writers behave as facts/service.py describes.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from memory import rulings
from memory.guards import screening
from memory.guards.screening import ORDERS, screen
from memory.history import actors, rows
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Pattern, Space
from memory.models.space import get_or_load, in_turn
from memory.text import normalise as text

SEPARATORS = re.compile(r"[\s+,]+")
# From here on a match is worth a place in the prompt.
INJECTED_FROM = 0.5

Status = Pattern.Status


class Invalid(ValueError):
    """A pattern that cannot be learned."""


@dataclass(frozen=True)
class Match:
    pattern: Pattern
    score: float
    words: tuple[str, ...]
    # How many words of the trigger count.
    of: int = 0


@transaction.atomic
def learn(
    space: Space,
    *,
    trigger: str,
    response: str,
    by: str,
    slug: str = "",
    confidence: float = 0.6,
    chat: Chat | None = None,
    now: datetime | None = None,
    **more: Any,
) -> ChangeResult:
    """Learn a habit; learning it again strengthens the existing row.

    Outcomes: new, again, restored, quarantined, refused. `more` may name learned_from, evidence,
    mode, use_count, created_at.
    """
    when, then = screen(trigger, single_line=True, ignore=ORDERS), screen(response, ignore=ORDERS)
    _check(when.text, then.text, confidence)
    if (refusal := rulings.refusal(space, when.text, then.text, now=now)) is not None:
        return refusal
    now = now or timezone.now()
    pattern = Pattern(
        space=space,
        chat=chat,
        trigger=text.short(when.text, 200),
        response=then.text,
        confidence=confidence,
        language=text.detect_language(f"{when.text} {then.text}"),
        flags=[*when.flags, *then.flags],
        sticky=actors.is_person(by),
        **{"created_at": now, "updated_at": now} | more,
    )
    if (when.reasons or then.reasons) and not actors.is_person(by):
        pattern.status = Status.QUARANTINED
    with history.change(by=by, why="learn") as context:
        if existing := _find_existing(pattern):
            return _strengthen_existing(existing, pattern, now=now, change_id=context.id)
        named = slugify(pattern.trigger, allow_unicode=True)[:70].strip("-")
        _insert(pattern, slug or named or "pattern")
        if pattern.status == Status.QUARANTINED:
            return ChangeResult(
                pattern, context.id, "quarantined", screening.describe_reasons(pattern.flags)
            )
        return ChangeResult(pattern, context.id, outcome="new")


def match(
    space: Space, *, text: str, chat: Chat | None = None, at_least: float = 0.0, shared=True
) -> list[Match]:
    """Return the live habits that match this text, best first, of the chat and of the space.

    Without `shared` only those of the chat.
    """
    folded = f" {' '.join(_words(text))} "
    has_none = in_turn() and not get_or_load(space, "patterns", lambda: _has_any(space))
    if not folded.strip() or has_none:
        return []
    matches = []
    for pattern in Pattern.objects.live().in_scope(space, chat, shared=shared).order_by("pk"):
        hits, of = coverage(pattern.trigger, folded)
        score = len(hits) / of * pattern.confidence if of else 0.0
        if score > 0 and score >= at_least:
            matches.append(Match(pattern, score, tuple(hits), of))
    return sorted(matches, key=lambda m: -m.score)


def _has_any(space: Space) -> bool:
    return Pattern.objects.live().filter(space=space).exists()


def coverage(trigger: str, message: str) -> tuple[list[str], int]:
    """Return the words of the trigger that the message contains, and how many it has."""
    words = [word for word in SEPARATORS.split(trigger) if word]
    # Words of one or two letters say little, unless the trigger has no others.
    words = list(dict.fromkeys([w for w in words if len(w) > 2] or words))
    folded = {word: " ".join(_words(word)) for word in words}
    counted = [word for word in words if folded[word]]
    return [word for word in counted if f" {folded[word]} " in message], len(counted)


def reinforce(patterns: list[Pattern], *, now: datetime | None = None) -> None:
    """Count that a reply used these habits; that is not a change in their history."""
    if patterns:
        Pattern.objects.filter(pk__in=[pattern.pk for pattern in patterns]).update(
            use_count=F("use_count") + 1, last_used_at=now or timezone.now()
        )


@transaction.atomic
def revise(
    pattern: Pattern, *, by: str, now: datetime | None = None, **values: Any
) -> ChangeResult:
    """Change the wording. A person's wording is final."""
    rows.lock(pattern)
    if (refusal := _refusal_if_sticky(pattern, by=by)) is not None:
        return refusal
    merged = {name: values.get(name, getattr(pattern, name)) for name in ("trigger", "response")}
    when = screen(merged["trigger"], single_line=True, ignore=ORDERS)
    then = screen(merged["response"], ignore=ORDERS)
    _check(when.text, then.text, values.get("confidence", pattern.confidence))
    if (refusal := rulings.refusal(pattern.space, when.text, then.text, now=now)) is not None:
        return refusal
    values |= {"trigger": text.short(when.text, 200), "response": then.text}
    if actors.is_person(by):
        values["sticky"] = True
    elif when.reasons or then.reasons:
        values["status"] = Status.QUARANTINED
    return rows.change(pattern, by=by, why="revise", now=now, **values)


def unlearn(
    pattern: Pattern, *, by: str, why: str = "unlearn", now: datetime | None = None
) -> ChangeResult:
    """Archive the habit; restore brings it back."""
    return _set(pattern, by=by, why=why, now=now, status=Status.ARCHIVED)


@transaction.atomic
def unlearn_many(space: Space, pks: list[int], *, by: str, now: datetime | None = None) -> int:
    """Archive several habits as one change; return how many. Only a person may."""
    actors.require_person(by)
    # In one order, so that two people who pick the same rows wait for each other.
    locked = Pattern.objects.select_for_update().filter(space=space, pk__in=pks).order_by("pk")
    active = [pattern.pk for pattern in locked if pattern.status != Status.ARCHIVED]
    with history.change(by=by, why="unlearn"):
        return Pattern.objects.filter(pk__in=active).update(
            status=Status.ARCHIVED, updated_at=now or timezone.now()
        )


def discard(pattern: Pattern, *, by: str, now: datetime | None = None) -> ChangeResult:
    now = now or timezone.now()
    return _set(pattern, by=by, why="discard", now=now, status=Status.TRASHED, trashed_at=now)


@transaction.atomic
def restore(pattern: Pattern, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Make it active again; a habit that waited for a person goes back to quarantine."""
    rows.lock(pattern)
    waits = screening.still_suspicious(pattern.flags) and not pattern.sticky
    values = {"status": Status.QUARANTINED if waits else Status.ACTIVE, "trashed_at": None}
    if _live(pattern.space, pattern.slug).exclude(pk=pattern.pk).exists():
        values["slug"] = _free(pattern.space, pattern.slug)
    return rows.change(pattern, by=by, why="restore", now=now, **values)


def release(pattern: Pattern, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Release it from quarantine. Only a person may."""
    actors.require_person(by)
    with transaction.atomic(), history.change(by=by, why="release"):
        rows.change_unless_refused(
            pattern, by=by, why="release", now=now, flags=[*pattern.flags, screening.RELEASED]
        )
        return restore(pattern, by=by, now=now)


def promote(pattern: Pattern, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Share a chat's habit with the whole space. Only a person may."""
    actors.require_person(by)
    return _set(pattern, by=by, why="promote", now=now, chat=None)


def purge(pattern: Pattern, *, by: str, preview: bool = False) -> dict[str, int]:
    """Delete the habit for good, with its history; a preview only counts it."""
    if preview:
        return {"memory.Pattern": 1, "history": len(history.history(pattern))}
    rows.purge(pattern, by=by)


def expire(space: Space, *, by: str = "system", now: datetime | None = None) -> int:
    """Delete from the trash what is past its days; return how many."""
    ripe = (now or timezone.now()) - timedelta(days=space.options.trash_days)
    old = list(Pattern.objects.filter(space=space, status=Status.TRASHED, trashed_at__lte=ripe))
    for pattern in old:
        purge(pattern, by=by)
    return len(old)


def _words(sentence: str) -> list[str]:
    return text.words(text.fold(sentence))


def _check(trigger: str, response: str, confidence: object) -> None:
    if not trigger or not response:
        raise Invalid(_("A pattern needs a trigger and a response."))
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not number or not 0 <= confidence <= 1:
        raise Invalid(_("Confidence must be a number from 0 to 1."))


def _refusal_if_sticky(pattern: Pattern, *, by: str) -> ChangeResult | None:
    reason = _("A person wrote this; only a person may change it.")
    return rows.refusal_if_sticky(pattern, by=by, reason=reason)


def _set(pattern: Pattern, *, by: str, why: str, now: datetime | None, **values) -> ChangeResult:
    may = lambda row: _refusal_if_sticky(row, by=by)  # noqa: E731
    return rows.change_unless_refused(pattern, by=by, why=why, now=now, refuse=may, **values)


def _find_existing(pattern: Pattern) -> Pattern | None:
    """Return the locked row with this trigger and response in this scope, in any status."""
    rows = Pattern.objects.select_for_update().filter(space=pattern.space, chat=pattern.chat)
    near = rows.filter(trigger__iexact=pattern.trigger).order_by("-updated_at")
    key = text.said_key(pattern.response)
    candidates = [row for row in near if text.said_key(row.response) == key]
    return min(candidates, key=lambda row: row.status != Status.ACTIVE, default=None)


def _strengthen_existing(
    existing: Pattern, pattern: Pattern, *, now: datetime, change_id
) -> ChangeResult:
    values, outcome = {}, "again"
    if not existing.sticky:
        values["confidence"] = max(existing.confidence, pattern.confidence)
        values["sticky"] = pattern.sticky
    if existing.status != Status.ACTIVE:
        if not pattern.sticky:  # only a person brings a put away or quarantined habit back
            reason = _("This habit was archived before.")
            return ChangeResult(existing, outcome="refused", reason=reason)
        outcome = "restored"
        values |= {"status": Status.ACTIVE, "trashed_at": None}
    for name, value in values.items():
        setattr(existing, name, value)
    existing.updated_at = now
    existing.save(update_fields=[*values, "updated_at"])
    return ChangeResult(existing, change_id, outcome=outcome)


def _insert(pattern: Pattern, slug: str) -> None:
    pattern.slug = text.short(text.one_line(slug), 80)
    while True:
        try:
            with transaction.atomic():
                pattern.save(force_insert=True)
            return
        except IntegrityError:
            # The name is taken, perhaps only just now: take the next.
            if not _live(pattern.space, pattern.slug).exists():
                raise
            pattern.slug = _free(pattern.space, pattern.slug)


def _live(space: Space, slug: str) -> QuerySet:
    return Pattern.objects.live().filter(space=space, slug=slug)


def _free(space: Space, slug: str) -> str:
    stem = re.sub(r"-\d+$", "", slug)[:74]
    taken = Pattern.objects.filter(space=space, slug__startswith=stem)
    taken = set(taken.values_list("slug", flat=True))
    return next(name for n in range(2, 100_000) if (name := f"{stem}-{n}") not in taken)
