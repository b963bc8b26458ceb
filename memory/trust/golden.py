"""Golden questions: memory under test.

A question with what must be found and what must not be said, asked again after everything that
could make the answer worse. A red one holds back what the next night would do on its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypedDict, Unpack
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory import notices
from memory.erasure import ERASED
from memory.extraction.frames.compare import compare
from memory.facts import bulk as fact_bulk
from memory.guards.screening import redacted
from memory.history import actors
from memory.history import changes as history
from memory.history import rows as history_rows
from memory.history.changes import ChangeResult
from memory.llm.providers import offline
from memory.llm.request import Briefing
from memory.models import (
    Chat,
    Fact,
    GoldenQuestion,
    GoldenRun,
    Notice,
    Recall,
    RecallItem,
    SelfCheck,
    Space,
)
from memory.prompt.builder import briefed
from memory.retrieval import receipts
from memory.retrieval.recall import Recalled, Scored, recall
from memory.text import normalise as words
from memory.trust import replay

State, Status = GoldenQuestion.State, GoldenQuestion.Status
# What a memory must still hold of the words that were kept: in its own row, and in another one.
OWN_SHARE = 0.5
OTHER_SHARE = 0.8
MAX_EXPECTED = 12
MAX_STEPS = 20
# Answers that a night weighs, and how often it tries to leave less out.
MAX_WEIGHED = 40
MAX_ROUNDS = 3
KIND = "golden"
LINK = "golden/"
# Contexts that touched this space between two moments, the newest first.
BETWEEN = """
SELECT e.context, min(e.at), count(*), bool_or(e.hit), c.metadata ->> 'by', c.metadata ->> 'why'
FROM ({events}) AS e
JOIN pghistory_context c ON c.id = e.context
WHERE NOT c.metadata ?| array['undoes', 'undoes_context', 'redoes_context']
GROUP BY e.context, c.metadata ORDER BY bool_or(e.hit) DESC, min(e.at) DESC LIMIT %(most)s
"""
EVENTS = """
SELECT pgh_context_id AS context, pgh_created_at AS at, {hit} AS hit FROM {table}
WHERE {mine} = %(space)s AND pgh_created_at >= %(since)s AND pgh_created_at <= %(until)s
"""


class Invalid(ValueError):
    """A golden question that cannot be kept, with a sentence for the person."""


@dataclass(frozen=True)
class Attempt:
    """A question asked now: what was recalled, what the built-in answerer says."""

    recalled: Recalled
    answer: str


@dataclass(frozen=True)
class Step:
    """One change between the last green run and the red one; `hit` touched what is missing."""

    change: UUID
    at: datetime
    rows: int
    hit: bool
    by: str
    why: str


class Expected(TypedDict, total=False):
    """What must be found, what must not be found, and words that must not be said."""

    found: Iterable[dict]
    unfound: Iterable[dict]
    unsaid: Iterable[str]


@transaction.atomic
def keep(
    space: Space,
    *,
    question: str,
    by: str,
    chat: Chat | None = None,
    person: str = "",
    now: datetime | None = None,
    **expected: Unpack[Expected],
) -> ChangeResult:
    """Keep a question with what its answer must and must not hold; a person's act."""
    actors.require_person(by)
    question = redacted(question, single_line=True)
    unsaid = [redacted(text, single_line=True)[:200] for text in expected.get("unsaid", ())]
    fields: dict[str, list] = {
        "found": _quoted(expected.get("found", ())),
        "unfound": _quoted(expected.get("unfound", ())),
        "unsaid": list(dict.fromkeys(unsaid)),
    }
    if not question or not any(fields.values()):
        raise Invalid(_("Say what is asked, and what must be found or must not be said."))
    if any(len(rows) > MAX_EXPECTED for rows in fields.values()):
        raise Invalid(_("At most %(n)s of each can be kept.") % {"n": MAX_EXPECTED})
    same = _active(space).filter(chat=chat, question=question, **fields)
    if existing := same.first():
        return ChangeResult(existing, outcome="unchanged")
    now = now or timezone.now()
    with history.change(by=by, why="keep a golden question") as context:
        row = GoldenQuestion.objects.create(
            space=space, chat=chat, question=question, person=person[:120], by=by[:160],
            asked_at=now, created_at=now, **fields,
        )  # fmt: skip
    return ChangeResult(row, context.id, outcome="new")


def _active(space: Space) -> QuerySet[GoldenQuestion]:
    return GoldenQuestion.objects.filter(space=space, status=Status.ACTIVE)


def _quoted(rows: Iterable[dict]) -> list[dict]:
    cleaned = [row | {"quote": redacted(str(row.get("quote", "")))[:500]} for row in rows]
    return [row for row in cleaned if row["quote"]]


@transaction.atomic
def retire(row: GoldenQuestion, *, by: str) -> ChangeResult:
    actors.require_person(by)
    why = "retire a golden question"
    return history_rows.change(row, by=by, why=why, status=Status.RETIRED)


@transaction.atomic
def accept(row: GoldenQuestion, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Say that the answer of today is right: it is what must be found from now on."""
    actors.require_person(by)
    now = now or timezone.now()
    attempt = ask(row, now=now)
    broke = judge(row, attempt)
    missing, wrong, said = (broke.get(name, []) for name in ("missing", "found", "said"))
    items = attempt.recalled.items[:1] if missing else []
    best = [{item.unit.kind: item.unit.owner_id, "quote": item.unit.text[:500]} for item in items]
    found = [expected for expected in row.found if expected["quote"] not in missing]
    with history.change(by=by, why="accept an answer") as context:
        row.found = [*found, *(expected for expected in best if expected not in found)]
        row.unfound = [expected for expected in row.unfound if expected["quote"] not in wrong]
        row.unsaid = [text for text in row.unsaid if text not in said]
        row.save(update_fields=["found", "unfound", "unsaid"])
    check(row, now=now)
    return ChangeResult(row, context.id)


def from_receipt(receipt: Recall) -> list[tuple[dict, bool]]:
    """Return what a recall gave to its reply, and whether it was used; the best if none was."""
    items = receipt.items.filter(injected=True).exclude(kind="pattern").order_by("rank")
    rows = []
    for item in items.select_related("fact", "message", "episode")[:MAX_EXPECTED]:
        owner = item.fact or item.message or item.episode
        text = getattr(owner, "text", "") or getattr(owner, "body", "")
        if owner and text:
            expected = {item.kind: owner.pk, "quote": text[:500]}
            rows.append((expected, item.mark == RecallItem.Mark.USED))
    if rows and not any(is_used for _expected, is_used in rows):
        rows[0] = (rows[0][0], True)
    return rows


def ask(row: GoldenQuestion, *, now: datetime) -> Attempt:
    """Ask it as its chat would; nothing is written. Days are counted from when it was kept."""
    options: dict[str, Any] = {
        "chat": row.chat,
        "person": row.person,
        "budget": row.space.options.token_budget,
        "save": False,
        "settled": True,
    }
    result = recall(row.space, row.question, now=now, **options)
    if result.question.cues:
        now = row.asked_at
        result = recall(row.space, row.question, now=now, **options)
    return Attempt(result, _answer(row.space, result, result.items, person=row.person, now=now))


def _answer(
    space: Space, result: Recalled, items: list[Scored], *, person: str, now: datetime
) -> str:
    """Return what the built-in answerer says to the question with these memories."""
    return offline.reply(
        Briefing(
            text=result.question.text,
            now=now.astimezone(space.zone),
            language=space.language,
            person=person,
            recalled=briefed(items, None),
            level=result.level if items else "none",
        )
    )


@dataclass(frozen=True)
class Weight:
    """A memory that a question is given, and what it is to the answer."""

    text: str
    fact: int | None
    # decisive: without it the answer is another; helpful: the answer tells it; else idle.
    is_decisive: bool
    is_helpful: bool
    without: str

    @property
    def kind(self) -> str:
        return "decisive" if self.is_decisive else "helpful" if self.is_helpful else "idle"


def weigh(receipt: Recall, *, now: datetime) -> tuple[str, list[Weight]]:
    """Answer the question of a receipt again, each time without one of its memories.

    Returns the whole answer and every memory with what the answer is without it.
    """
    space, when = receipt.space, receipt.at if receipt.cue else now
    result = replay.repeat(space, receipt, now=now)
    answer = partial(_answer, space, result, person=receipt.person, now=when)
    whole, weights = answer(result.items), []
    for memory in result.items:
        unit = memory.unit
        without = answer([item for item in result.items if item is not memory])
        is_helpful = receipts.is_used(unit.text, reply=whole, question=receipt.query)
        fact = unit.owner_id if unit.kind == "fact" else None
        weights.append(Weight(unit.text, fact, without != whole, is_helpful, without))
    return whole, weights


def weigh_past(space: Space, *, now: datetime, most: int = MAX_WEIGHED) -> int:
    """Weigh the last answers that were not weighed yet, and count on each fact what it was to them.

    Harmful is what the reply contradicted, or what decided one that turned out poor.
    """
    rows = Recall.objects.filter(space=space, weighed=False, error="", reply__isnull=False)
    rows = rows.exclude(query="").select_related("space", "chat").order_by("-at", "-pk")[:most]
    for receipt in rows:
        poor = SelfCheck.objects.filter(reply=receipt.reply_id, quality=SelfCheck.Quality.POOR)
        wrong = receipt.items.filter(mark=RecallItem.Mark.CONTRADICTED)
        hurt, is_poor = set(wrong.values_list("fact", flat=True)), poor.exists()
        with transaction.atomic():
            for weight in weigh(receipt, now=now)[1]:
                if weight.fact is None:
                    continue
                hurts = weight.fact in hurt or (is_poor and weight.is_decisive)
                kind = "harmful" if hurts else weight.kind
                Fact.objects.filter(pk=weight.fact, space=space).update(**{kind: F(kind) + 1})
            Recall.objects.filter(pk=receipt.pk).update(weighed=True)
    return len(rows)


@dataclass(frozen=True)
class Proof:
    """What was asked again without the facts, and came out the same."""

    answers: int
    questions: int


def unneeded(space: Space, facts: list[Fact], *, now: datetime) -> tuple[list[Fact], Proof]:
    """Return those without which every past answer and every golden question is as it is now.

    Tried together, so that two that stand in for each other do not both go.
    """
    green = _active(space).exclude(state=State.RED).select_related("space", "chat").order_by("pk")
    questions = list(green)
    left = [fact for fact in facts if not (fact.decisive or fact.helpful)]
    for _round in range(MAX_ROUNDS):
        broken: list[str] = []

        def forget(trial: list[Fact] = left, broken: list[str] = broken) -> None:
            pks = [fact.pk for fact in trial]
            fact_bulk.forget(space, pks, by="person:preview", silence=False)
            for row in questions:
                broken += judge(row, ask(row, now=now)).get("missing", [])

        impact = replay.impact(space, forget, now=now)
        gone = {text for change in impact.changed for text in change.gone} | set(broken)
        if not gone and not impact.changed:
            return left, Proof(impact.asked, len(questions))
        # What was missed stays; when nothing of it is here, nothing is proven.
        still = [fact for fact in left if fact.text[:500] not in gone and fact.text not in gone]
        if len(still) == len(left):
            break
        left = still
    return [], Proof(0, 0)


def judge(row: GoldenQuestion, attempt: Attempt) -> dict[str, list[str]]:
    """Return what is wrong with the answer; empty when nothing is."""
    items = attempt.recalled.items
    answer = words.fold(attempt.answer)
    broke = {
        "missing": [one["quote"] for one in row.found if not _is_found(one, items)],
        "found": [one["quote"] for one in row.unfound if _is_found(one, items)],
        "said": [text for text in row.unsaid if words.fold(text) in answer],
    }
    return {name: texts for name, texts in broke.items() if texts}


def _is_found(expected: dict, items: Sequence[Scored]) -> bool:
    stems = words.stems(expected["quote"])
    numbers = {stem for stem in stems if any(char.isdigit() for char in stem)}
    kind = next((kind for kind in ("fact", "message", "episode") if kind in expected), "")
    for item in items:
        # What was said is there for good; whether a fact is believed only facts can tell.
        if kind == "fact" and item.unit.kind != "fact":
            continue
        other = words.stems(item.unit.text)
        share = len(stems & other) / len(stems) if stems else 1.0
        is_own = bool(kind) and item.key == (kind, expected[kind])
        if share < (OWN_SHARE if is_own else OTHER_SHARE if kind else 1.0) or not numbers <= other:
            continue
        if is_own or not compare(expected["quote"], item.unit.text, likeness=None).changes:
            return True
    return False


def check(row: GoldenQuestion, *, now: datetime) -> GoldenQuestion:
    """Ask it and write down how it went."""
    row.broke = judge(row, ask(row, now=now))
    row.state = State.RED if row.broke else State.GREEN
    row.checked_at = now
    row.green_at = row.green_at if row.broke else now
    row.save(update_fields=["state", "broke", "checked_at", "green_at"])
    return row


def run(space: Space, *, why: str, now: datetime | None = None) -> GoldenRun | None:
    """Ask every golden question of the space and tell of those that broke; None without any."""
    now = now or timezone.now()
    _drop_erased(space)
    rows = _active(space)
    was_red = set(rows.filter(state=State.RED).values_list("pk", flat=True))
    checked = [check(row, now=now) for row in rows.select_related("space", "chat").order_by("pk")]
    if not checked:
        return None
    red = [row for row in checked if row.state == State.RED]
    golden_run = GoldenRun.objects.create(
        space=space, why=why, green=len(checked) - len(red), red=len(red), at=now
    )
    if broken := [row for row in red if row.pk not in was_red]:
        notices.tell(
            space,
            kind=KIND,
            key=f"golden-{golden_run.pk}",
            level=Notice.Level.WARNING,
            text=partial(_sentence, len(broken), str(broken[0]), golden_run),
            link=LINK,
        )
    return golden_run


def _sentence(n: int, first: str, golden_run: GoldenRun) -> str:
    return ngettext(
        "%(n)s golden question broke %(why)s: “%(first)s”. The next night only proposes.",
        "%(n)s golden questions broke %(why)s, “%(first)s” first. The next night only proposes.",
        n,
    ) % {"n": n, "first": first, "why": golden_run.get_why_display()}


def _drop_erased(space: Space) -> None:
    """Expect nothing that was erased; a question that expects nothing more is retired."""
    for row in _active(space):
        if ERASED not in str((row.question, row.found, row.unfound, row.unsaid)):
            continue
        row.found = [expected for expected in row.found if ERASED not in expected["quote"]]
        row.unfound = [expected for expected in row.unfound if ERASED not in expected["quote"]]
        row.unsaid = [text for text in row.unsaid if ERASED not in text]
        if ERASED in row.question or not (row.found or row.unfound or row.unsaid):
            row.status = Status.RETIRED
        with history.change(by="erasure", why="expect nothing that was erased"):
            row.save(update_fields=["status", "found", "unfound", "unsaid"])


def red(space: Space) -> bool:
    """Tell whether a golden question is broken now."""
    return _active(space).filter(state=State.RED).exists()


def between(row: GoldenQuestion) -> list[Step]:
    """Return what was changed since it was green, what touched the missing memories first."""
    events, skipped = [], (GoldenQuestion, Chat)
    for model in (model for model in history.tracked_models() if model not in skipped):
        name = str(model._meta.model_name)
        hit = {"fact": "pgh_obj_id = ANY(%(facts)s)", "space": "true"}.get(name, "false")
        mine = "pgh_obj_id" if name == "space" else "space_id"
        table = history.events_of(model).model._meta.db_table
        events.append(EVENTS.format(hit=hit, table=table, mine=mine))
    values: dict[str, Any] = {
        "space": row.space_id,
        "since": row.green_at or row.created_at,
        "until": row.checked_at,
        "facts": [one["fact"] for one in (*row.found, *row.unfound) if "fact" in one],
        "most": MAX_STEPS,
    }
    with connection.cursor() as cursor:
        cursor.execute(BETWEEN.format(events=" UNION ALL ".join(events)), values)
        return [
            Step(change, at, rows, hit, by or "", why or "")
            for change, at, rows, hit, by, why in cursor.fetchall()
        ]


def undo(row: GoldenQuestion, step: UUID | str, *, by: str, now: datetime | None = None) -> bool:
    """Take one of the changes back and ask everything again; tell whether it is green now.

    Refused with what differs (history.Conflict) when that was changed since.
    """
    actors.require_person(by)
    history.undo_context(step, by=by)
    run(row.space, why=GoldenRun.Why.UNDO, now=now)
    row.refresh_from_db()
    return row.state == State.GREEN
