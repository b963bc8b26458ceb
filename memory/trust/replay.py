"""Replay past recalls with and without a change: what it would have made of the answers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from memory.history import changes as history
from memory.models import (
    Fact,
    GoldenQuestion,
    Identity,
    Pattern,
    Preference,
    Recall,
    Rule,
    Space,
    WorkingNote,
)
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import recall
from memory.text import normalise as words
from memory.vectors import likeness
from memory.vectors import store as embeddings

MOST = 200
# So many new or changed memories: then everything is replayed without looking at the words first.
MANY = 40
# Less alike in meaning, and without a word in common, no recall passes its gate.
NEAR = 0.3
AT_ONCE = 30
# What changes nothing about what is recalled.
UNHEARD = (GoldenQuestion, Pattern, WorkingNote, Preference, Rule, Identity)


@dataclass(frozen=True)
class Changed:
    """One past question whose memories would be others; `gone` and `new` are what they say."""

    receipt: Recall
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def gone(self) -> list[str]:
        return [said for said in self.before if said not in self.after]

    @property
    def new(self) -> list[str]:
        return [said for said in self.after if said not in self.before]


@dataclass(frozen=True)
class Impact:
    asked: int
    changed: list[Changed]


class _TakeBack(Exception):
    """Ends the trial: everything it did is rolled back."""


def past(space: Space, *, most: int = MOST) -> list[Recall]:
    """The last recalls of the space, each question of a chat once."""
    rows = Recall.objects.filter(space=space, error="").exclude(query="")
    # Nobody is shown what was asked in private chats of others.
    rows = rows.exclude(chat__in=getattr(space, "hidden_chats", ()))
    found: dict[tuple, Recall] = {}
    for receipt in rows.select_related("chat").order_by("-at", "-pk")[: 4 * most]:
        found.setdefault((receipt.query, receipt.chat_id, receipt.person), receipt)
    return list(found.values())[:most]


def answers(space: Space, receipts: Iterable[Recall], *, now: datetime) -> dict[int, list[str]]:
    """What each of these questions would be given now, in its order; nothing is written."""
    found = {}
    for receipt in receipts:
        when = receipt.at if receipt.cue else now
        given: dict[str, Any] = {"chat": receipt.chat, "person": receipt.person}
        given |= {"budget": receipt.budget or None, "save": False, "settled": True}
        result = recall(space, receipt.query, now=when, **given)
        found[receipt.pk] = [_told(item) for item in result.items]
    return found


def _told(item: Scored) -> str:
    return item.unit.text


def impact(space: Space, apply: Callable[[], object], *, now: datetime, most: int = MOST) -> Impact:
    """Do it, ask the past questions again, and take everything back.

    Only questions that what changes could reach are asked: those that share a word or the meaning
    with it. Raises what `apply` raises when it cannot be done.
    """
    receipts = past(space, most=most)
    after: dict[int, list[str]] = {}
    near: list[Recall] = []
    try:
        with transaction.atomic():
            with history.change(by="person:preview", why="preview") as context:
                apply()
            near = _reached(receipts, history.changes_in(context.id))
            embeddings.backfill(space=space, limit=MANY)
            after = answers(space, near, now=now)
            raise _TakeBack
    except _TakeBack:
        pass
    space.refresh_from_db()
    before = answers(space, near, now=now)
    changed = [
        Changed(one, before[one.pk], after[one.pk])
        for one in near
        if before[one.pk] != after[one.pk]
    ]
    return Impact(len(receipts), changed)


def _reached(receipts: list[Recall], steps: list[history.Change]) -> list[Recall]:
    """The receipts whose recall may come out otherwise after these steps."""
    steps = [step for step in steps if step.model not in UNHEARD]
    if any(step.model is not Fact for step in steps) or len(steps) > MANY:
        return receipts
    texts = {str(image["text"]) for step in steps for image in (step.before, step.after) if image}
    stems = set().union(*map(words.stems, texts)) if texts else set()
    touched = {step.object_id for step in steps}
    recalled = Recall.objects.filter(pk__in=[one.pk for one in receipts], items__fact__in=touched)
    known = set(recalled.values_list("pk", flat=True))
    for one in receipts:
        asked = _words_of(one)
        if one.cue or not asked or asked & stems:
            known.add(one.pk)
    known |= _alike([one for one in receipts if one.pk not in known], sorted(texts))
    return [one for one in receipts if one.pk in known]


def _alike(receipts: list[Recall], texts: list[str]) -> set[int]:
    """Those whose question means something near to one of the texts."""
    # One question and few texts at a time: those vectors are kept for the next proposal.
    parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
    tables = ((one.pk, likeness.table([one.query], part)) for one in receipts for part in parts)
    return {pk for pk, table in tables if table is not None and table.max() >= NEAR}


def _words_of(receipt: Recall) -> set[str]:
    return words.stems(" ".join((receipt.query, *receipt.expansion)))
