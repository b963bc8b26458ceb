"""Receipts: every recall with its reasons, from a reply to its memories."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from memory.guards.screening import redacted
from memory.models import Chat, Message, Recall, RecallItem, Space
from memory.retrieval.ranking import Scored
from memory.text import normalise as text

# Beside what was injected, the best of what was cut is kept too.
KEPT_CUT = 20
OWNERS = ("fact", "episode", "message")
# Forty rows through the ORM cost as much as the whole recall; as one value they cost nothing.
ITEMS = """
INSERT INTO memory_recallitem (recall_id, kind, fact_id, episode_id, message_id,
    rank, score, confidence, parts, lanes, injected, cut, tokens, mark)
SELECT %s, kind, CASE kind WHEN 'fact' THEN owner END, CASE kind WHEN 'episode' THEN owner END,
    CASE kind WHEN 'message' THEN owner END, rank, score, confidence, parts,
    ARRAY(SELECT jsonb_array_elements_text(lanes)), injected, cut, tokens, ''
FROM jsonb_to_recordset(%s::jsonb) AS item (kind text, owner bigint, rank int, score float8,
    confidence float8, parts jsonb, lanes jsonb, injected bool, cut text, tokens int)
"""


def write(
    result: Any,
    *,
    space: Space,
    chat: Chat | None,
    person: str,
    now: datetime,
    message: Message | None = None,
) -> Recall:
    """Store a recall with its items, in two statements."""
    question = result.question
    receipt = Recall.objects.create(
        space=space,
        chat=chat,
        message=message,
        query=redacted(question.text),
        person=text.short(person, 120),
        language=question.language,
        keywords=[word[:200] for word in question.keywords],
        expansion=[word[:200] for word in question.expansion],
        names=[name[:120] for name in question.names],
        cue=_cue(question),
        mode=result.mode,
        profile=result.profile.name if result.profile else "",
        profile_version=result.profile.version if result.profile else 1,
        strict=result.strict,
        confidence=result.confidence,
        level=result.level,
        candidates=result.candidates,
        tokens=result.tokens,
        budget=result.budget,
        ms=result.ms,
        error=result.error,
        at=now,
    )
    kept = [*result.items, *result.cut[:KEPT_CUT]]
    items = [_item(item, rank) for rank, item in enumerate(kept, start=1)]
    with connection.cursor() as cursor:
        cursor.execute(ITEMS, [receipt.pk, json.dumps(items)])
    return receipt


def attach(
    receipt: Recall,
    *,
    reply: Message,
    sections: dict[str, int] | None = None,
    marks: Mapping[int, str] = {},
    habits: Sequence[tuple[int, float]] = (),
) -> None:
    """Attach the recall to its reply, with the sizes of the prompt's sections.

    `marks` says what the reply made of a memory, by its rank; `habits` are the patterns that fired,
    with how well they fitted.
    """
    receipt.reply = reply
    receipt.sections = sections or receipt.sections
    receipt.save(update_fields=["reply", "sections"])
    for mark in set(marks.values()):
        ranks = [rank for rank, one in marks.items() if one == mark]
        receipt.items.filter(rank__in=ranks).update(mark=mark)
    last = receipt.items.count() if habits else 0
    for rank, (pk, score) in enumerate(habits, start=last + 1):
        fired = {"kind": "pattern", "pattern_id": pk, "score": score, "confidence": score}
        receipt.items.create(rank=rank, injected=True, **fired)


def add(receipt: Recall, items: Sequence[Scored], *, reply: str) -> None:
    """Put what the model looked up by itself on the receipt, each memory once."""
    if not items:
        return
    kept = {(row.kind, row.fact_id or row.episode_id or row.message_id): row
            for row in receipt.items.all()}  # fmt: skip
    for rank, item in enumerate(items, start=len(kept) + 1):
        used = is_used(item.unit.text, reply=reply, question=receipt.query)
        mark = RecallItem.Mark.USED if used else ""
        if row := kept.get(item.key):
            row.injected, row.cut, row.mark = True, "", row.mark or mark
            row.save(update_fields=["injected", "cut", "mark"])
            continue
        receipt.items.create(
            kind=item.unit.kind, rank=rank, score=item.score, confidence=item.confidence,
            parts=[list(part) for part in item.parts], lanes=item.unit.lanes, injected=True,
            tokens=item.tokens, mark=mark, **{f"{item.unit.kind}_id": item.unit.owner_id},
        )  # fmt: skip


def is_used(memory: str, *, reply: str, question: str) -> bool:
    """Tell whether the reply says what the memory does, and not only what was asked.

    By the stems they share: half of a short memory, and one at least that the question did not
    bring along; of a long one three are enough.
    """
    told, said = text.stems(memory), text.stems(reply)
    shared = told & said
    if not shared - text.stems(question):
        return False
    return len(shared) >= min(3, (len(told) + 1) // 2)


def drop(receipt: Recall, cut: dict[int, str]) -> None:
    """Mark items that the prompt had no room for after all: {rank: why}."""
    for rank, why in cut.items():
        receipt.items.filter(rank=rank).update(injected=False, cut=why)


def explain(receipt: Recall) -> dict:
    """Return everything about a recall as plain data, for `/why` and the page."""
    items = list(receipt.items.select_related(*OWNERS, "pattern").order_by("rank"))
    return {
        "query": receipt.query,
        "keywords": receipt.keywords,
        "expansion": receipt.expansion,
        "names": receipt.names,
        "cue": receipt.cue,
        "mode": receipt.mode,
        "profile": f"{receipt.profile} v{receipt.profile_version}",
        "level": receipt.level,
        "confidence": receipt.confidence,
        "tokens": receipt.tokens,
        "budget": receipt.budget,
        "ms": receipt.ms,
        "error": receipt.error,
        "injected": [_explained(item) for item in items if item.injected],
        "cut": [_explained(item) for item in items if not item.injected],
    }


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
        "score": item.score,
        "confidence": item.confidence,
        "parts": [list(part) for part in item.parts],
        "lanes": item.unit.lanes,
        "injected": not item.cut,
        "cut": item.cut,
        "tokens": item.tokens,
    }


def _explained(item: RecallItem) -> dict:
    owner = item.fact or item.episode or item.message or item.pattern
    return {
        "rank": item.rank,
        "kind": item.kind,
        "id": owner.pk if owner else None,
        "owner": owner,
        "text": str(getattr(owner, "text", "") or getattr(owner, "body", "") or owner or ""),
        "score": item.score,
        "confidence": item.confidence,
        "parts": [
            {"name": name, "value": value, "weight": weight, "points": points}
            for name, value, weight, points in item.parts
        ],
        "lanes": item.lanes,
        "cut": item.cut,
        "tokens": item.tokens,
        "mark": item.mark,
    }


def _cue(question: Any) -> dict:
    if not question.cues:
        return {}
    cue = question.cues[0]
    return {"phrase": cue.phrase, "start": cue.start.isoformat(), "end": cue.end.isoformat()}
