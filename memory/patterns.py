"""Procedural memory: habits. When a message says this, answer so.

Writers behave as facts.py describes.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from memory import actors, history, rows, rulings, text
from memory.history import Done
from memory.models import Chat, Pattern, Space
from memory.screen import ORDERS, RELEASED, Screened, in_words, screen, still_suspicious

SEPARATORS = re.compile(r"[\s+,]+")
# From here on a match is worth a place in the prompt.
INJECTED_FROM = 0.5
# A habit this weak that was never used is not worth keeping.
WEAK = 0.3

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
    **more: object,
) -> Done:
    """Learn the habit; learning it again strengthens the row that is there.

    Outcomes: new, again, restored, quarantined, refused. `more` may name learned_from, evidence,
    mode, use_count, created_at.
    """
    when, then = screen(trigger, line=True, but=ORDERS), screen(response, but=ORDERS)
    _check(when.text, then.text, confidence)
    if (refusal := _refusal(space, when, then, now=now)) is not None:
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
        if met := _same(pattern):
            return _meet(met, pattern, now=now, change_id=context.id)
        _insert(pattern, slug or _slug(pattern.trigger))
        if pattern.status == Status.QUARANTINED:
            return Done(pattern, context.id, "quarantined", in_words(pattern.flags))
        return Done(pattern, context.id, outcome="new")


def match(
    space: Space, *, said: str, chat: Chat | None = None, at_least: float = 0.0
) -> list[Match]:
    """The live habits this message calls up, best first. A chat sees its own and the space's."""
    heard = f" {' '.join(_words(said))} "
    if not heard.strip():
        return []
    found = []
    for pattern in Pattern.objects.live().in_scope(space, chat).order_by("pk"):
        hits, of = coverage(pattern.trigger, heard)
        score = len(hits) / of * pattern.confidence if of else 0.0
        if score > 0 and score >= at_least:
            found.append(Match(pattern, score, tuple(hits), of))
    return sorted(found, key=lambda m: -m.score)


def coverage(trigger: str, heard: str) -> tuple[list[str], int]:
    """The words of the trigger that were heard, as whole words, and how many it has."""
    words = [word for word in SEPARATORS.split(trigger) if word]
    # Words of one or two letters say little, unless the trigger has no others.
    words = list(dict.fromkeys([w for w in words if len(w) > 2] or words))
    spoken = {word: " ".join(_words(word)) for word in words}
    counted = [word for word in words if spoken[word]]
    return [word for word in counted if f" {spoken[word]} " in heard], len(counted)


def reinforce(patterns: list[Pattern], *, now: datetime | None = None) -> None:
    """Count that these reached a reply. Counting is not a change of what was learned."""
    Pattern.objects.filter(pk__in=[pattern.pk for pattern in patterns]).update(
        use_count=F("use_count") + 1, last_used_at=now or timezone.now()
    )


@transaction.atomic
def revise(pattern: Pattern, *, by: str, now: datetime | None = None, **values: object) -> Done:
    """Word it differently. A person's wording is final."""
    rows.lock(pattern)
    if (refusal := _worded(pattern, by=by)) is not None:
        return refusal
    merged = {name: values.get(name, getattr(pattern, name)) for name in ("trigger", "response")}
    when = screen(merged["trigger"], line=True, but=ORDERS)
    then = screen(merged["response"], but=ORDERS)
    _check(when.text, then.text, values.get("confidence", pattern.confidence))
    if (refusal := _refusal(pattern.space, when, then, now=now)) is not None:
        return refusal
    values |= {"trigger": text.short(when.text, 200), "response": then.text}
    if actors.is_person(by):
        values["sticky"] = True
    elif when.reasons or then.reasons:
        values["status"] = Status.QUARANTINED
    return rows.change(pattern, by=by, why="revise", now=now, **values)


def unlearn(pattern: Pattern, *, by: str, why: str = "unlearn", now=None) -> Done:
    """Put the habit away; restore brings it back."""
    return _set(pattern, by=by, why=why, now=now, status=Status.ARCHIVED)


def remove(space: Space, *, slug: str, by: str) -> bool:
    """Unlearn by name; False when there is no such habit."""
    pattern = Pattern.objects.live().filter(space=space, slug=slug).first()
    return pattern is not None and unlearn(pattern, by=by).changed


def discard(pattern: Pattern, *, by: str, now: datetime | None = None) -> Done:
    now = now or timezone.now()
    return _set(pattern, by=by, why="discard", now=now, status=Status.TRASHED, trashed_at=now)


@transaction.atomic
def restore(pattern: Pattern, *, by: str, now: datetime | None = None) -> Done:
    """Use it again, from wherever it was put; what waited for a person waits again."""
    rows.lock(pattern)
    waits = still_suspicious(pattern.flags) and not pattern.sticky
    values = {"status": Status.QUARANTINED if waits else Status.ACTIVE, "trashed_at": None}
    if _live(pattern.space, pattern.slug).exclude(pk=pattern.pk).exists():
        values["slug"] = _free(pattern.space, pattern.slug)
    return rows.change(pattern, by=by, why="restore", now=now, **values)


def release(pattern: Pattern, *, by: str, now: datetime | None = None) -> Done:
    """A person looked and found it harmless."""
    actors.require_person(by)
    with transaction.atomic(), history.change(by=by, why="release"):
        rows.guarded(pattern, by=by, why="release", now=now, flags=[*pattern.flags, RELEASED])
        return restore(pattern, by=by, now=now)


def promote(pattern: Pattern, *, by: str, now: datetime | None = None) -> Done:
    """Let every chat of the space have it. A person decides that."""
    actors.require_person(by)
    return _set(pattern, by=by, why="promote", now=now, chat=None)


@transaction.atomic
def prune(space: Space, *, by: str, now: datetime | None = None) -> Done:
    """Put away what is weak and was never used, all of it, unless a person worded it."""
    with history.change(by=by, why="weak and unused") as context:
        count = weak(space).update(status=Status.ARCHIVED, updated_at=now or timezone.now())
    return Done(None, context.id if count else None, outcome="archived", count=count)


def weak(space: Space) -> QuerySet:
    return Pattern.objects.live().filter(
        space=space, confidence__lt=WEAK, use_count=0, sticky=False
    )


def purge(pattern: Pattern, *, by: str) -> None:
    """Delete it for good, with its history. The caller has asked first."""
    rows.purge(pattern, by=by, words=f"{pattern.trigger}\n{pattern.response}")


def expire(space: Space, *, by: str = "system", now: datetime | None = None) -> int:
    """Empty the trash of what has lain there long enough."""
    ripe = (now or timezone.now()) - timedelta(days=space.options.trash_days)
    old = list(Pattern.objects.filter(space=space, status=Status.TRASHED, trashed_at__lte=ripe))
    for pattern in old:
        purge(pattern, by=by)
    return len(old)


def _words(said: str) -> list[str]:
    return text.words(text.fold(said))


def _check(trigger: str, response: str, confidence: object) -> None:
    if not trigger or not response:
        raise Invalid(_("A pattern needs a trigger and a response."))
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not number or not 0 <= confidence <= 1:
        raise Invalid(_("Confidence must be a number from 0 to 1."))


def _refusal(space: Space, when: Screened, then: Screened, *, now) -> Done | None:
    said = (rulings.forbidden(space, said=part.text) for part in (when, then))
    if not (ruling := next(filter(None, said), None)):
        return None
    rulings.obeyed(ruling, now=now)
    return Done(None, outcome="refused", reason=_("A ruling says never to remember this."))


def _worded(pattern: Pattern, *, by: str) -> Done | None:
    reason = _("A person worded this; only a person may change it.")
    return rows.worded_by(pattern, by=by, reason=reason)


def _set(pattern: Pattern, *, by: str, why: str, now: datetime | None, **values) -> Done:
    may = lambda row: _worded(row, by=by)  # noqa: E731
    return rows.guarded(pattern, by=by, why=why, now=now, may=may, **values)


def _same(pattern: Pattern) -> Pattern | None:
    """The row with this trigger and response in this scope, whatever became of it."""
    rows = Pattern.objects.select_for_update().filter(space=pattern.space, chat=pattern.chat)
    near = rows.filter(trigger__iexact=pattern.trigger).order_by("-updated_at")
    key = text.said_key(pattern.response)
    found = [row for row in near if text.said_key(row.response) == key]
    return min(found, key=lambda row: row.status != Status.ACTIVE, default=None)


def _meet(met: Pattern, pattern: Pattern, *, now: datetime, change_id) -> Done:
    values, outcome = {}, "again"
    if not met.sticky:
        values = {"confidence": max(met.confidence, pattern.confidence), "sticky": pattern.sticky}
    if met.status != Status.ACTIVE:
        if not pattern.sticky:  # only a person brings a put away or quarantined habit back
            return Done(met, outcome="refused", reason=_("This habit was put away before."))
        outcome = "restored"
        values |= {"status": Status.ACTIVE, "trashed_at": None}
    for name, value in values.items():
        setattr(met, name, value)
    met.updated_at = now
    met.save(update_fields=[*values, "updated_at"])
    return Done(met, change_id, outcome=outcome)


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


def _slug(trigger: str) -> str:
    return slugify(trigger, allow_unicode=True)[:70].strip("-") or "pattern"


def _free(space: Space, slug: str) -> str:
    stem = re.sub(r"-\d+$", "", slug)[:74]
    taken = Pattern.objects.filter(space=space, slug__startswith=stem)
    taken = set(taken.values_list("slug", flat=True))
    return next(name for n in range(2, 100_000) if (name := f"{stem}-{n}") not in taken)
