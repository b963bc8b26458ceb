"""Replay past recalls with and without a change: what it would have made of the answers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
from memory.retrieval.recall import Recalled, recall
from memory.text import normalise as words
from memory.vectors import likeness
from memory.vectors import store as embeddings

MAX_QUESTIONS = 200
# From so many new or changed memories on, everything is replayed without comparing words first.
MANY = 40
# Less alike in meaning, and without a word in common, no recall passes its gate.
NEAR = 0.3
BATCH = 30
UNSURE = (Recall.Level.NONE, Recall.Level.LOW)
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
        return [text for text in self.before if text not in self.after]

    @property
    def new(self) -> list[str]:
        return [text for text in self.after if text not in self.before]


@dataclass(frozen=True)
class Impact:
    asked: int
    changed: list[Changed]


def past(space: Space, *, most: int = MAX_QUESTIONS) -> list[Recall]:
    """Return the last recalls of the space, each question of a chat once."""
    rows = Recall.objects.filter(space=space, error="").exclude(query="")
    # Nobody is shown what was asked in private chats of others.
    rows = rows.exclude(chat__in=getattr(space, "hidden_chats", ()))
    questions: dict[tuple, Recall] = {}
    for receipt in rows.select_related("chat").order_by("-at", "-pk")[: 4 * most]:
        questions.setdefault((receipt.query, receipt.chat_id, receipt.person), receipt)
    return list(questions.values())[:most]


def answers(space: Space, receipts: Iterable[Recall], *, now: datetime) -> dict[int, list[str]]:
    """Return what each of these questions would be given now, in its order; write nothing."""
    return {pk: _texts(result) for pk, result in _ask(space, receipts, now=now).items()}


def _ask(space: Space, receipts: Iterable[Recall], *, now: datetime) -> dict[int, Recalled]:
    # What was asked is in memory by now; it was not when it was asked.
    seen = {row: [row.message_id] if row.message_id else () for row in receipts}
    return {row.pk: repeat(space, row, now=now, seen=pks) for row, pks in seen.items()}


def repeat(space: Space, receipt: Recall, *, now: datetime, seen: Sequence[int] = ()) -> Recalled:
    """Ask the question of a receipt again; write nothing."""
    when = receipt.at if receipt.cue else now
    options: dict[str, Any] = {"chat": receipt.chat, "person": receipt.person, "seen": seen}
    options |= {"budget": receipt.budget or None, "save": False, "settled": True}
    return recall(space, receipt.query, now=when, **options)


def _texts(result: Recalled) -> list[str]:
    return [item.unit.text for item in result.items]


def impact(
    space: Space, apply: Callable[[], object], *, now: datetime, most: int = MAX_QUESTIONS
) -> Impact:
    """Do it, ask the past questions again, and take everything back.

    Only questions that what changes could reach are asked: those that share a word or the meaning
    with it. Raises what `apply` raises when it cannot be done.
    """
    receipts = past(space, most=most)
    after: dict[int, Recalled] = {}
    with _trial(space, apply) as steps:
        near, touched = _reached(receipts, steps), _touched(steps)
        goes = bool(touched) and all(step.after["status"] != Fact.Status.ACTIVE for step in steps)
        comes = bool(touched) and all(step.is_create for step in steps)
        if not goes:
            after = _ask(space, near, now=now)
    if comes:
        # Where what is new was not even weighed, nothing else came out otherwise.
        near = [receipt for receipt in near if _is_weighed(after[receipt.pk], touched)]
    before = _ask(space, near, now=now)
    if goes:
        near = [receipt for receipt in near if _is_weighed(before[receipt.pk], touched)]
        with _trial(space, apply):
            after = _ask(space, near, now=now)
    changes = [
        Changed(receipt, _texts(before[receipt.pk]), _texts(after[receipt.pk])) for receipt in near
    ]
    # Every new memory makes words a little more common: what only changes places is no change.
    return Impact(len(receipts), [change for change in changes if change.gone or change.new])


@contextmanager
def _trial(space: Space, apply: Callable[[], object]) -> Iterator[list[history.Change]]:
    """Give the steps of the change; take everything it did back at the end."""
    with transaction.atomic():
        with history.change(by="person:preview", why="preview") as context:
            apply()
        embeddings.backfill(space=space, limit=MANY)
        yield history.changes_in(context.id)
        transaction.set_rollback(True)
    space.refresh_from_db()


def _touched(steps: list[history.Change]) -> set[tuple[str, int]]:
    """Return the memories that change with these facts: what they rest on falls silent with them.

    Empty when something else than facts changes.
    """
    if any(step.model is not Fact for step in steps):
        return set()
    kinds, images = ("message", "episode"), _images(steps)
    touched = {(kind, image[f"{kind}_id"]) for image in images for kind in kinds}
    evidence = [row for image in images for row in image["evidence"]]
    touched |= {(kind, row[kind]) for row in evidence for kind in kinds if kind in row}
    return touched | {("fact", step.object_id) for step in steps}


def _images(steps: list[history.Change]) -> list[dict]:
    return [image for step in steps for image in (step.before, step.after) if image]


def _is_weighed(result: Recalled, memories: set[tuple[str, int]]) -> bool:
    return any(item.key in memories for item in (*result.items, *result.cut))


def _reached(receipts: list[Recall], steps: list[history.Change]) -> list[Recall]:
    """Return the receipts whose recall may come out otherwise after these steps."""
    steps = [step for step in steps if step.model not in UNHEARD]
    if any(step.model is not Fact for step in steps) or len(steps) > MANY:
        return receipts
    images = _images(steps)
    texts, chats = {str(image["text"]) for image in images}, {image["chat_id"] for image in images}
    if None not in chats:
        # What is known in one chat is told in no other.
        receipts = [receipt for receipt in receipts if receipt.chat_id in chats]
    stems = set().union(*map(words.stems, texts))
    facts = {step.object_id for step in steps}
    pks = [receipt.pk for receipt in receipts]
    recalled = Recall.objects.filter(pk__in=pks, items__fact__in=facts)
    reached = set(recalled.values_list("pk", flat=True))
    for receipt in receipts:
        asked = words.stems(" ".join((receipt.query, *receipt.expansion)))
        # Where little was found, the nearest were given, however far they are.
        is_vague = receipt.cue or not asked or receipt.level in UNSURE
        rows = receipt.left_out.get("rows", [])
        was_cut = any(kind == "fact" and pk in facts for kind, pk, *_more in rows)
        if is_vague or was_cut or asked & stems:
            reached.add(receipt.pk)
    rest = [receipt for receipt in receipts if receipt.pk not in reached]
    reached |= _alike(rest, sorted(texts))
    return [receipt for receipt in receipts if receipt.pk in reached]


def _alike(receipts: list[Recall], texts: list[str]) -> set[int]:
    """Return those whose question means something near to one of the texts."""
    # One question and few texts at a time: those vectors are kept for the next proposal.
    parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    tables = ((row.pk, likeness.table([row.query], part)) for row in receipts for part in parts)
    return {pk for pk, table in tables if table is not None and table.max() >= NEAR}
