"""Replay past recalls with and without a change: what it would have made of the answers."""

from collections.abc import Callable, Iterable, Iterator
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

MOST = 200
# So many new or changed memories: then everything is replayed without looking at the words first.
MANY = 40
# Less alike in meaning, and without a word in common, no recall passes its gate.
NEAR = 0.3
AT_ONCE = 30
FEW = (Recall.Level.NONE, Recall.Level.LOW)
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
    return {pk: _told(result) for pk, result in _ask(space, receipts, now=now).items()}


def _ask(space: Space, receipts: Iterable[Recall], *, now: datetime) -> dict[int, Recalled]:
    found = {}
    for receipt in receipts:
        when = receipt.at if receipt.cue else now
        given: dict[str, Any] = {"chat": receipt.chat, "person": receipt.person}
        given |= {"budget": receipt.budget or None, "save": False, "settled": True}
        # What was asked is in memory by now; it was not when it was asked.
        given |= {"seen": [receipt.message_id]} if receipt.message_id else {}
        found[receipt.pk] = recall(space, receipt.query, now=when, **given)
    return found


def _told(result: Recalled) -> list[str]:
    return [item.unit.text for item in result.items]


def impact(space: Space, apply: Callable[[], object], *, now: datetime, most: int = MOST) -> Impact:
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
        near = [one for one in near if _weighed(after[one.pk], touched)]
    before = _ask(space, near, now=now)
    if goes:
        near = [one for one in near if _weighed(before[one.pk], touched)]
        with _trial(space, apply):
            after = _ask(space, near, now=now)
    told = [Changed(one, _told(before[one.pk]), _told(after[one.pk])) for one in near]
    # Every new memory makes words a little more common: what only changes places is no change.
    return Impact(len(receipts), [one for one in told if one.gone or one.new])


@contextmanager
def _trial(space: Space, apply: Callable[[], object]) -> Iterator[list[history.Change]]:
    """The steps of the change; everything it did is taken back at the end."""
    with transaction.atomic():
        with history.change(by="person:preview", why="preview") as context:
            apply()
        embeddings.backfill(space=space, limit=MANY)
        yield history.changes_in(context.id)
        transaction.set_rollback(True)
    space.refresh_from_db()


def _touched(steps: list[history.Change]) -> set[tuple[str, int]]:
    """The memories that change with these facts: what they rest on falls silent with them.

    Empty when something else than facts changes.
    """
    if any(step.model is not Fact for step in steps):
        return set()
    rests_on, images = ("message", "episode"), _images(steps)
    found = {(kind, image[f"{kind}_id"]) for image in images for kind in rests_on}
    further = [one for image in images for one in image["evidence"]]
    found |= {(kind, one[kind]) for one in further for kind in rests_on if kind in one}
    return {("fact", step.object_id) for step in steps} | found


def _images(steps: list[history.Change]) -> list[dict]:
    return [image for step in steps for image in (step.before, step.after) if image]


def _weighed(result: Recalled, memories: set[tuple[str, int]]) -> bool:
    return any(item.key in memories for item in (*result.items, *result.cut))


def _reached(receipts: list[Recall], steps: list[history.Change]) -> list[Recall]:
    """The receipts whose recall may come out otherwise after these steps."""
    steps = [step for step in steps if step.model not in UNHEARD]
    if any(step.model is not Fact for step in steps) or len(steps) > MANY:
        return receipts
    images = _images(steps)
    texts, chats = {str(image["text"]) for image in images}, {image["chat_id"] for image in images}
    if None not in chats:
        # What is known in one chat is told in no other.
        receipts = [one for one in receipts if one.chat_id in chats]
    stems = set().union(*map(words.stems, texts)) if texts else set()
    touched = {step.object_id for step in steps}
    recalled = Recall.objects.filter(pk__in=[one.pk for one in receipts], items__fact__in=touched)
    known = set(recalled.values_list("pk", flat=True))
    for one in receipts:
        asked = words.stems(" ".join((one.query, *one.expansion)))
        # Where little was found, the nearest were given, however far they are.
        if one.cue or not asked or asked & stems or one.level in FEW or _left_out(one, touched):
            known.add(one.pk)
    known |= _alike([one for one in receipts if one.pk not in known], sorted(texts))
    return [one for one in receipts if one.pk in known]


def _left_out(receipt: Recall, facts: set[int]) -> bool:
    """Whether one of the facts was weighed for this receipt, and cut."""
    rows = receipt.left_out.get("rows", [])
    return any(kind == "fact" and pk in facts for kind, pk, *_more in rows)


def _alike(receipts: list[Recall], texts: list[str]) -> set[int]:
    """Those whose question means something near to one of the texts."""
    # One question and few texts at a time: those vectors are kept for the next proposal.
    parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
    tables = ((one.pk, likeness.table([one.query], part)) for one in receipts for part in parts)
    return {pk for pk, table in tables if table is not None and table.max() >= NEAR}
