"""Receipts: every recall with its reasons, from a reply to its memories."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.guards.screening import redacted
from memory.models import Chat, Episode, Fact, Message, Recall, RecallItem, Space
from memory.models.prepared import insert, save_fields
from memory.retrieval.ranking import Scored, parts
from memory.text import normalise as text

# Beside what was injected, the best of what was cut is kept too.
KEPT_CUT = 20
OWNERS = ("fact", "episode", "message")
# What a receipt takes over from a recall, and what it tells of each memory.
RECALL_FIELDS = "mode strict confidence level candidates tokens budget ms error".split()
ITEM_FIELDS = "rank kind score confidence lanes cut tokens mark".split()
# Forty rows through the ORM cost as much as the whole recall; as one value they cost nothing.
WRITE = """
WITH receipt AS ({}),
item AS (
  INSERT INTO memory_recallitem (recall_id, kind, fact_id, episode_id, message_id,
    rank, score, confidence, parts, lanes, injected, cut, tokens, mark)
  SELECT receipt.id, kind, CASE kind WHEN 'fact' THEN owner END,
    CASE kind WHEN 'episode' THEN owner END, CASE kind WHEN 'message' THEN owner END,
    rank, score, confidence, parts, ARRAY(SELECT jsonb_array_elements_text(lanes)),
    injected, cut, tokens, ''
  FROM receipt, jsonb_to_recordset(%s::jsonb) AS item (kind text, owner bigint, rank int,
    score float8, confidence float8, parts jsonb, lanes jsonb, injected bool, cut text, tokens int)
)
SELECT id FROM receipt
"""


def write(
    result: Any,
    *,
    space: Space,
    chat: Chat | None,
    person: str,
    now: datetime,
    message: Message | None = None,
    unsaved: bool = False,
) -> Recall:
    """Store a recall with its items, in one statement; `unsaved` leaves it to attach()."""
    question = result.question
    cue = question.cues[0] if question.cues else None
    receipt = Recall(
        space=space,
        chat=chat,
        message=message,
        query=redacted(question.written or question.text),
        person=text.short(person, 120),
        language=question.language,
        keywords=[word[:200] for word in question.keywords],
        expansion=[word[:200] for word in question.expansion],
        names=[name[:120] for name in question.names],
        cue={"phrase": cue.phrase, "start": cue.start.isoformat(), "end": cue.end.isoformat()}
        if cue
        else {},
        profile=result.profile.name if result.profile else "",
        profile_version=result.profile.version if result.profile else 1,
        at=now,
        **{name: getattr(result, name) for name in RECALL_FIELDS},
    )
    notes = {"prompt": result.prompt, "unjudged": result.unjudged}
    receipt.left_out = _left_out(result.cut[:KEPT_CUT], first=len(result.items) + 1)
    receipt.left_out |= {name: value for name, value in notes.items() if value}
    items = [_item(item, rank) for rank, item in enumerate(result.items, start=1)]
    if not unsaved:
        insert(receipt, within=WRITE, more=[json.dumps(items)])
    return receipt


def attach(
    receipt: Recall,
    *,
    reply: Message,
    sections: dict[str, int] | None = None,
    marks: Mapping[int, str] = {},
    habits: Sequence[tuple[int, float]] = (),
    unsaved: bool = False,
) -> None:
    """Attach the recall to its reply, with the sizes of the prompt's sections.

    `marks` says what the reply made of a memory, by its rank; `habits` are the patterns that fired,
    with how well they fitted. One that was left `unsaved` is stored here.
    """
    receipt.reply = reply
    receipt.sections = sections or receipt.sections
    if unsaved:
        insert(receipt)
    else:
        save_fields(receipt, "reply", "sections")
    for mark in set(marks.values()):
        ranks = [rank for rank, other in marks.items() if other == mark]
        receipt.items.filter(rank__in=ranks).update(mark=mark)
    last = receipt.items.count() + len(_rows(receipt)) if habits else 0
    for rank, (pk, score) in enumerate(habits, start=last + 1):
        fired = {"kind": "pattern", "pattern_id": pk, "score": score, "confidence": score}
        receipt.items.create(rank=rank, injected=True, **fired)


def add(receipt: Recall, items: Sequence[Scored], *, reply: str) -> None:
    """Put what the model looked up by itself on the receipt, each memory once."""
    if not items:
        return
    # What was cut is a row again when the model finds it after all.
    back = _take_back(receipt, {item.key for item in items})
    rows = [*receipt.items.all(), *back]
    kept = {(row.kind, row.fact_id or row.episode_id or row.message_id): row for row in rows}
    for rank, item in enumerate(items, start=len(kept) + len(_rows(receipt)) + 1):
        used = is_used(item.unit.text, reply=reply, question=receipt.query)
        mark = RecallItem.Mark.USED if used else ""
        if row := kept.get(item.key):
            row.injected, row.cut, row.mark = True, "", row.mark or mark
            row.save()
            continue
        receipt.items.create(
            kind=item.unit.kind, rank=rank, score=item.score, confidence=item.confidence,
            parts=[list(part) for part in item.parts], lanes=item.unit.lanes, injected=True,
            tokens=item.tokens, mark=mark, **{f"{item.unit.kind}_id": item.unit.owner_id},
        )  # fmt: skip


def _take_back(receipt: Recall, keys: set[tuple[str, int]]) -> list[RecallItem]:
    """Take these memories out of what was left out; return them as unsaved items."""
    rows = _rows(receipt)
    back = [row for row in rows if tuple(row[:2]) in keys]
    if back:
        receipt.left_out |= {"rows": [row for row in rows if row not in back]}
        receipt.save(update_fields=["left_out"])
    return [_unsaved(receipt, row) for row in back]


def add_listed(receipt: Recall, facts: Sequence[int]) -> None:
    """Put the facts of a list on the receipt: nothing was asked for, everything was told."""
    if not facts:
        return
    existing = receipt.items.filter(fact__in=facts)
    existing.update(mark=RecallItem.Mark.USED)
    known = set(existing.values_list("fact", flat=True))
    first = receipt.items.count() + len(_rows(receipt)) + 1
    new = [pk for pk in facts if pk not in known]
    _take_back(receipt, {("fact", pk) for pk in new})
    RecallItem.objects.bulk_create(
        RecallItem(
            recall=receipt, kind="fact", fact_id=pk, rank=rank, score=0, confidence=1, parts=[],
            lanes=["list"], injected=True, mark=RecallItem.Mark.USED,
        )
        for rank, pk in enumerate(new, start=first)
    )  # fmt: skip


def is_used(memory: str, *, reply: str, question: str) -> bool:
    """Tell whether the reply says what the memory does, and not only what was asked.

    By the stems they share: half of a short memory, and one at least that the question did not
    bring along; of a long one three are enough.
    """
    stems = text.stems(memory)
    shared = stems & text.stems(reply)
    if not shared - text.stems(question):
        return False
    return len(shared) >= min(3, (len(stems) + 1) // 2)


def explain(receipt: Recall) -> dict:
    """Return everything about a recall as plain data, for `/why` and the page."""
    items = items_of(receipt)
    understood = ("query", "keywords", "expansion", "names", "cue", "mode")
    measured = ("level", "confidence", "tokens", "budget", "ms", "error")
    return {
        **{name: getattr(receipt, name) for name in (*understood, *measured)},
        "profile": f"{receipt.profile} v{receipt.profile_version}",
        "injected": [_explained(item) for item in items if item.injected],
        "cut": [_explained(item) for item in items if not item.injected],
    }


def items_of(receipt: Recall) -> list[RecallItem]:
    """Return everything that the recall weighed and kept, with its memories, in its order.

    What was cut is made from one value of the receipt; older receipts have a row for each.
    """
    saved = list(receipt.items.select_related(*OWNERS, "pattern"))
    cut = [_unsaved(receipt, row) for row in _rows(receipt)]
    for kind, model in (("fact", Fact), ("episode", Episode), ("message", Message)):
        some = [item for item in cut if item.kind == kind]
        rows = model.objects.in_bulk([getattr(item, f"{kind}_id") for item in some]) if some else {}
        for item in some:
            setattr(item, kind, rows.get(getattr(item, f"{kind}_id")))
    # Of what was purged since nothing is left.
    existing = [item for item in cut if getattr(item, item.kind)]
    return sorted([*saved, *existing], key=lambda item: item.rank)


def _rows(receipt: Recall) -> list[list]:
    return receipt.left_out.get("rows", [])


def _left_out(cut: Sequence[Scored], *, first: int) -> dict:
    """Return what was cut as one value: names and weights once, then a short row for each."""
    if not cut:
        return {}
    names, _values, weights, _points = min((item.columns for item in cut), key=lambda c: len(c[0]))
    rows = []
    for rank, item in enumerate(cut, start=first):
        # One that fell behind a newer value has one part more, which is its own weight.
        values = [*item.columns[1][: len(names)], *item.columns[2][len(names) :]]
        row = [item.unit.kind, item.unit.owner_id, rank, item.score, item.confidence]
        rows.append([*row, item.cut, item.tokens, item.unit.lanes, values])
    return {"names": list(names), "weights": list(weights), "rows": rows}


def _unsaved(receipt: Recall, row: list) -> RecallItem:
    kind, owner, rank, score, confidence, cut, tokens, lanes, values = row
    names, weights = receipt.left_out["names"], receipt.left_out["weights"]
    more = values[len(names) :]
    values = [*values[: len(names)], *(1.0 for _ in more)]
    reasons = parts([*names, *("older" for _ in more)], values, [*weights, *more])
    return RecallItem(
        recall=receipt, kind=kind, rank=rank, score=score, confidence=confidence, cut=cut,
        tokens=tokens, lanes=lanes, parts=[list(part) for part in reasons], **{f"{kind}_id": owner},
    )  # fmt: skip


def of_reply(reply: Message) -> Recall | None:
    return Recall.objects.filter(reply=reply).order_by("-at", "-pk").first()


def last(chat: Chat) -> Recall | None:
    """Return the newest recall of a chat, which `/why` explains."""
    return Recall.objects.filter(chat=chat).order_by("-at", "-pk").first()


def _item(item: Scored, rank: int) -> dict:
    return {
        "kind": item.unit.kind,
        "owner": item.unit.owner_id,
        "rank": rank,
        "parts": [list(part) for part in item.parts],
        "lanes": item.unit.lanes,
        "injected": not item.cut,
        **{name: getattr(item, name) for name in ("score", "confidence", "cut", "tokens")},
    }


def _explained(item: RecallItem) -> dict:
    owner = item.fact or item.episode or item.message or item.pattern
    return {
        **{name: getattr(item, name) for name in ITEM_FIELDS},
        "id": owner.pk if owner else None,
        "owner": owner,
        "text": str(getattr(owner, "text", "") or getattr(owner, "body", "") or owner or ""),
        "parts": [
            dict(zip(("name", "value", "weight", "points"), part, strict=True))
            for part in item.parts
        ],
    }
