"""Rulings: what a person decided once and every writer obeys from then on."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import IntegrityError, models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.guards.screening import redacted
from memory.history import actors, rows
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Fact, Ruling, Space
from memory.models.prepared import prepared
from memory.models.space import get_or_load, in_turn
from memory.text import normalise as text
from memory.vectors import likeness

# Share of stems from which two statements are about the same.
NEAR_FROM = 0.7
# A statement that contains the whole ruling falls under it, unless the ruling is a word or two.
MIN_STEMS = 3
# The rows in which a fact stands in words: itself, its message, and the episode of that.
STANDS_IN = ("fact", "message", "episode")


def forbid(
    space: Space, *, text: str, by: str, reason: str = "", fact: Fact | None = None
) -> ChangeResult:
    """Rule never to remember this. What is already remembered is left to the caller."""
    return _rule(space, Ruling.Kind.NEVER_REMEMBER, text, by=by, reason=reason, fact=fact)


def keep(fact: Fact, *, by: str, reason: str = "") -> ChangeResult:
    """Rule to keep exactly this fact: no night, cap, extraction or import may change it."""
    return _rule(fact.space, Ruling.Kind.KEEP, fact.text, by=by, reason=reason, fact=fact)


def dont_mention(fact: Fact, *, by: str, reason: str = "") -> ChangeResult:
    """Rule that it is remembered and shown, but said to nobody who does not ask for it by name."""
    return _rule(fact.space, Ruling.Kind.DONT_MENTION, fact.text, by=by, reason=reason, fact=fact)


class Unmentioned:
    """The memories that must not be mentioned in the answer to this question."""

    def __init__(self, space: Space, question: str):
        asked = text.stems(question)
        ruled = () if _has_none(space, Ruling.Kind.DONT_MENTION) else _unmentioned(space=space.pk)
        self.ids: set[tuple[str, int]] = set()
        self.stems: list[set[str]] = []
        for words, subject, *ids in ruled:
            # The words that name the thing itself, without the subject.
            own = text.stems(words) - text.stems(subject or "")
            if not asked & own:
                self.stems.append(own)
                self.ids |= {(kind, pk) for kind, pk in zip(STANDS_IN, ids, strict=True) if pk}

    def covers(self, kind: str, number: int, words: str) -> bool:
        """Tell whether this memory mentions one of them, by its row or in its words."""
        if not self.stems:
            return False
        stems = text.stems(words)
        return (kind, number) in self.ids or any(own and own <= stems for own in self.stems)


@prepared(space="bigint")
def _unmentioned(space):
    return _active(space, Ruling.Kind.DONT_MENTION).values_list(
        "text", "fact__subject", "fact", "fact__message", "fact__message__episode"
    )


def lift(ruling: Ruling, *, by: str) -> ChangeResult:
    actors.require_person(by)
    lifted = Ruling.Status.LIFTED
    return rows.change_unless_refused(ruling, by=by, why="lift a ruling", status=lifted)


def forbidding_rulings(space: Space) -> list[Ruling]:
    """Return the rulings that forbidden() checks, for callers that check several texts."""
    kind = Ruling.Kind.NEVER_REMEMBER
    return get_or_load(space, "forbidding rulings", lambda: _in_order(space=space.pk, kind=kind))


@prepared(space="bigint")
def _in_order(space, kind):
    return _active(space, kind)


def forbidden(
    space: Space,
    *,
    statement: str,
    near: Callable[[str, str], bool] | None = likeness.same,
    among: list[Ruling] | None = None,
) -> Ruling | None:
    """Return the ruling that forbids to remember this, if there is one.

    `near` decides where words do not: (ruling's text, statement) -> do they mean the same?
    """
    rulings = forbidding_rulings(space) if among is None else among
    if not rulings or not statement:
        return None
    key, mine = text.said_key(statement), text.stems(statement)
    by_words = (r for r in rulings if r.said_key == key or is_near(text.stems(r.text), mine))
    by_meaning = (r for r in rulings if near and near(r.text, statement))
    return next(by_words, None) or next(by_meaning, None)


def refusal(space: Space, *statements: str, now: datetime | None = None) -> ChangeResult | None:
    """Return a refusal, and count it, when a ruling forbids to remember one of these."""
    checked = (forbidden(space, statement=statement) for statement in statements)
    if not (ruling := next(filter(None, checked), None)):
        return None
    count_obeyed(ruling, now=now)
    return ChangeResult(None, outcome="refused", reason=_("A ruling says never to remember this."))


def is_near(ruling_stems: set[str], stems: set[str]) -> bool:
    """Tell whether a statement with these stems falls under the ruling."""
    if len(ruling_stems) >= MIN_STEMS and ruling_stems <= stems:
        return True
    return text.jaccard(ruling_stems, stems) >= NEAR_FROM


def keep_ruling(fact: Fact) -> Ruling | None:
    """Return the ruling that protects this fact, if there is one."""
    return _in_force(fact.space, Ruling.Kind.KEEP).filter(fact=fact).first()


def kept_facts(space: Space) -> models.QuerySet:
    """Return the ids of the facts that no cap and no night may change."""
    rulings = _in_force(space, Ruling.Kind.KEEP).exclude(fact=None)
    return rulings.order_by().values("fact_id")


def count_obeyed(ruling: Ruling, *, now: datetime | None = None) -> None:
    """Count that the ruling refused a writer."""
    Ruling.objects.filter(pk=ruling.pk).update(
        times_obeyed=models.F("times_obeyed") + 1, last_obeyed_at=now or timezone.now()
    )


def _in_force(space: Space, kind: str) -> models.QuerySet:
    return Ruling.objects.none() if _has_none(space, kind) else _active(space, kind)


def _has_none(space: Space, kind: str) -> bool:
    """Whether the turn knows already that there is none, as in most spaces."""
    name = f"rulings {kind}"
    return in_turn() and not get_or_load(space, name, lambda: _active(space, kind).exists())


def _active(space: Any, kind: str) -> models.QuerySet:
    active = Ruling.objects.filter(space=space, status=Ruling.Status.ACTIVE)
    return active.filter(kind=kind).order_by("pk")


@transaction.atomic
def _rule(space, kind, statement, *, by: str, reason: str, fact: Fact | None) -> ChangeResult:
    actors.require_person(by)
    statement = redacted(statement, single_line=True)
    if not statement:
        return ChangeResult(None, outcome="empty", reason="A ruling needs words.")
    values = {"kind": kind, "said_key": text.said_key(statement)}
    if kind != Ruling.Kind.NEVER_REMEMBER:
        values["fact"] = fact
    standing = Ruling.objects.filter(space=space, status=Ruling.Status.ACTIVE, **values)
    if existing := standing.first():
        return ChangeResult(existing, outcome="unchanged")
    values["fact"] = fact
    with history.change(by=by, why=f"ruling: {kind}") as context:
        try:
            with transaction.atomic():
                ruling = Ruling.objects.create(
                    space=space,
                    text=statement,
                    by=by[:160],
                    reason=text.short(redacted(reason), 300),
                    **values,
                )
        except IntegrityError:
            return ChangeResult(standing.first(), outcome="unchanged")
    return ChangeResult(ruling, context.id, outcome="new")
