"""Golden questions: memory under test.

A question with what must be found and what must not be said, asked again after everything that
could make the answer worse. A red one holds back what the next night would do on its own."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
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
OWN_SHARE, OTHER_SHARE = 0.5, 0.8
MAX_EXPECTED, MAX_STEPS = 12, 20
# Answers that a night weighs, and how often it tries to leave less out.
MOST_WEIGHED, MOST_ROUNDS = 40, 3
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
class Asked:
    """A question asked now: what was found, what the built-in answerer says."""

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


@transaction.atomic
def keep(
    space: Space,
    *,
    question: str,
    by: str,
    found: Iterable[dict] = (),
    unfound: Iterable[dict] = (),
    unsaid: Iterable[str] = (),
    chat: Chat | None = None,
    person: str = "",
    now: datetime | None = None,
) -> ChangeResult:
    """Keep a question with what its answer must and must not hold; a person's act."""
    actors.require_person(by)
    question = redacted(question, single_line=True)
    said = list(dict.fromkeys(redacted(one, single_line=True)[:200] for one in unsaid))
    expected: dict[str, list] = {
        "found": _quoted(found),
        "unfound": _quoted(unfound),
        "unsaid": said,
    }
    if not question or not any(expected.values()):
        raise Invalid(_("Say what is asked, and what must be found or must not be said."))
    if any(len(some) > MAX_EXPECTED for some in expected.values()):
        raise Invalid(_("At most %(n)s of each can be kept.") % {"n": MAX_EXPECTED})
    same = GoldenQuestion.objects.filter(
        space=space, chat=chat, question=question, status=Status.ACTIVE
    )
    if existing := same.filter(**expected).first():
        return ChangeResult(existing, outcome="unchanged")
    now = now or timezone.now()
    with history.change(by=by, why="keep a golden question") as context:
        row = GoldenQuestion.objects.create(
            space=space, chat=chat, question=question, person=person[:120], by=by[:160],
            asked_at=now, created_at=now, **expected,
        )  # fmt: skip
    return ChangeResult(row, context.id, outcome="new")


def _quoted(given: Iterable[dict]) -> list[dict]:
    cleaned = [one | {"quote": redacted(str(one.get("quote", "")))[:500]} for one in given]
    return [one for one in cleaned if one["quote"]]


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
    asked = ask(row, now=now)
    broke = judge(row, asked)
    best = [_expected(item) for item in asked.recalled.items[:1]] if broke.get("missing") else []
    kept = [one for one in row.found if one["quote"] not in broke.get("missing", [])]
    with history.change(by=by, why="accept an answer") as context:
        row.found = [*kept, *(one for one in best if one not in kept)]
        row.unfound = [one for one in row.unfound if one["quote"] not in broke.get("found", [])]
        row.unsaid = [one for one in row.unsaid if one not in broke.get("said", [])]
        row.save(update_fields=["found", "unfound", "unsaid"])
    check(row, now=now)
    return ChangeResult(row, context.id)


def _expected(item: Scored) -> dict:
    kind = item.unit.kind if item.unit.kind in ("fact", "message") else "episode"
    return {kind: item.unit.owner_id, "quote": item.unit.text[:500]}


def from_receipt(receipt: Recall) -> list[tuple[dict, bool]]:
    """What a recall gave to its reply, and whether the reply used it; the best if it used none."""
    rows = receipt.items.filter(injected=True).exclude(kind="pattern").order_by("rank")
    found = []
    for item in rows.select_related("fact", "message", "episode")[:MAX_EXPECTED]:
        owner = item.fact or item.message or item.episode
        said = getattr(owner, "text", "") or getattr(owner, "body", "")
        if owner and said:
            expected = {item.kind: owner.pk, "quote": said[:500]}
            found.append((expected, item.mark == RecallItem.Mark.USED))
    if found and not any(used for _one, used in found):
        found[0] = (found[0][0], True)
    return found


def ask(row: GoldenQuestion, *, now: datetime) -> Asked:
    """Ask it as its chat would; nothing is written. Days are counted from when it was kept."""
    given: dict[str, Any] = {
        "chat": row.chat,
        "person": row.person,
        "budget": row.space.options.token_budget,
        "save": False,
        "settled": True,
    }
    result = recall(row.space, row.question, now=now, **given)
    if result.question.cues:
        now = row.asked_at
        result = recall(row.space, row.question, now=now, **given)
    return Asked(result, _answer(row.space, result, result.items, person=row.person, now=now))


def _answer(
    space: Space, result: Recalled, items: list[Scored], *, person: str, now: datetime
) -> str:
    """What the built-in answerer says to the question with these memories."""
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
    given: dict[str, Any] = {"chat": receipt.chat, "person": receipt.person, "save": False}
    result = recall(
        space, receipt.query, now=when, budget=receipt.budget or None, settled=True, **given
    )
    say = partial(_answer, space, result, person=receipt.person, now=when)
    whole, weights = say(result.items), []
    for one in result.items:
        without = say([item for item in result.items if item is not one])
        told = receipts.is_used(one.unit.text, reply=whole, question=receipt.query)
        fact = one.unit.owner_id if one.unit.kind == "fact" else None
        weights.append(Weight(one.unit.text, fact, without != whole, told, without))
    return whole, weights


def weigh_past(space: Space, *, now: datetime, most: int = MOST_WEIGHED) -> int:
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
            for one in weigh(receipt, now=now)[1]:
                if one.fact is None:
                    continue
                hurts = one.fact in hurt or (is_poor and one.is_decisive)
                kind = "harmful" if hurts else one.kind
                Fact.objects.filter(pk=one.fact, space=space).update(**{kind: F(kind) + 1})
            Recall.objects.filter(pk=receipt.pk).update(weighed=True)
    return len(rows)


@dataclass(frozen=True)
class Proof:
    """What was asked again without the facts, and came out the same."""

    answers: int
    questions: int


def unneeded(space: Space, facts: list[Fact], *, now: datetime) -> tuple[list[Fact], Proof]:
    """Those without which every past answer and every golden question comes out as it does now.

    Tried together, so that two that stand in for each other do not both go.
    """
    rows = GoldenQuestion.objects.filter(space=space, status=Status.ACTIVE)
    green = list(rows.exclude(state=State.RED).select_related("space", "chat").order_by("pk"))
    left = [one for one in facts if not (one.decisive or one.helpful)]
    for _round in range(MOST_ROUNDS):
        broken: list[str] = []

        def forget(some: list[Fact] = left, broken: list[str] = broken) -> None:
            fact_bulk.forget(space, [one.pk for one in some], by="person:preview", silence=False)
            for row in green:
                broken += judge(row, ask(row, now=now)).get("missing", [])

        found = replay.impact(space, forget, now=now)
        gone = {said for one in found.changed for said in one.gone} | set(broken)
        if not gone and not found.changed:
            return left, Proof(found.asked, len(green))
        # What was missed stays; when nothing of it is here, nothing is proven.
        still = [one for one in left if one.text[:500] not in gone and one.text not in gone]
        if len(still) == len(left):
            break
        left = still
    return [], Proof(0, 0)


def judge(row: GoldenQuestion, asked: Asked) -> dict[str, list[str]]:
    """What is wrong with the answer; empty when nothing is."""
    items = asked.recalled.items
    missing = [one["quote"] for one in row.found if not _is_told(one, items)]
    wrong = [one["quote"] for one in row.unfound if _is_told(one, items)]
    answer = words.fold(asked.answer)
    said = [one for one in row.unsaid if words.fold(one) in answer]
    broke = {"missing": missing, "found": wrong, "said": said}
    return {name: some for name, some in broke.items() if some}


def _is_told(expected: dict, items: list[Scored]) -> bool:
    wanted = words.stems(expected["quote"])
    numbers = {one for one in wanted if any(sign.isdigit() for sign in one)}
    named = next((kind for kind in ("fact", "message", "episode") if kind in expected), "")
    for item in items:
        unit = item.unit
        have = words.stems(unit.text)
        share = len(wanted & have) / len(wanted) if wanted else 1.0
        is_own = bool(named) and item.key == (named, expected[named])
        # What was said is there for good; whether a fact is believed only facts can tell.
        if named == "fact" and unit.kind != "fact":
            continue
        enough = OWN_SHARE if is_own else OTHER_SHARE if named else 1.0
        if share < enough or not numbers <= have:
            continue
        if is_own or not compare(expected["quote"], unit.text, likeness=None).changes:
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
    rows = GoldenQuestion.objects.filter(space=space, status=Status.ACTIVE)
    was_red = set(rows.filter(state=State.RED).values_list("pk", flat=True))
    asked = [check(row, now=now) for row in rows.select_related("space", "chat").order_by("pk")]
    if not asked:
        return None
    red = [row for row in asked if row.state == State.RED]
    made = GoldenRun.objects.create(
        space=space, why=why, green=len(asked) - len(red), red=len(red), at=now
    )
    if broken := [row for row in red if row.pk not in was_red]:
        _tell(space, made, broken)
    return made


def _tell(space: Space, made: GoldenRun, broken: list[GoldenQuestion]) -> None:
    notices.tell(
        space,
        kind=KIND,
        key=f"golden-{made.pk}",
        level=Notice.Level.WARNING,
        text=partial(_told, len(broken), str(broken[0]), made),
        link=LINK,
    )


def _told(n: int, first: str, made: GoldenRun) -> str:
    return ngettext(
        "%(n)s golden question broke %(why)s: “%(first)s”. The next night only proposes.",
        "%(n)s golden questions broke %(why)s, “%(first)s” first. The next night only proposes.",
        n,
    ) % {"n": n, "first": first, "why": made.get_why_display()}


def _drop_erased(space: Space) -> None:
    """Expect nothing that was erased; a question that expects nothing more is retired."""
    for row in GoldenQuestion.objects.filter(space=space, status=Status.ACTIVE):
        told = (row.question, row.found, row.unfound, row.unsaid)
        if ERASED not in str(told):
            continue
        row.found = [one for one in row.found if ERASED not in one["quote"]]
        row.unfound = [one for one in row.unfound if ERASED not in one["quote"]]
        row.unsaid = [one for one in row.unsaid if ERASED not in one]
        if ERASED in row.question or not (row.found or row.unfound or row.unsaid):
            row.status = Status.RETIRED
        with history.change(by="erasure", why="expect nothing that was erased"):
            row.save(update_fields=["status", "found", "unfound", "unsaid"])


def red(space: Space) -> bool:
    """Whether a golden question is broken now."""
    rows = GoldenQuestion.objects.filter(space=space, status=Status.ACTIVE, state=State.RED)
    return rows.exists()


def between(row: GoldenQuestion) -> list[Step]:
    """What was changed since it was last green, what touched the missing memories first."""
    since = row.green_at or row.created_at
    facts = [one["fact"] for one in (*row.found, *row.unfound) if "fact" in one]
    events, skipped = [], (GoldenQuestion, Chat)
    for model in (one for one in history.tracked_models() if one not in skipped):
        name = model._meta.model_name
        hit = "pgh_obj_id = ANY(%(facts)s)" if name == "fact" else "false"
        hit = "true" if name == "space" else hit
        mine = "pgh_obj_id" if name == "space" else "space_id"
        table = history.events_of(model).model._meta.db_table
        events.append(EVENTS.format(hit=hit, table=table, mine=mine))
    given: dict[str, Any] = {
        "space": row.space_id,
        "since": since,
        "until": row.checked_at,
        "facts": facts,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            BETWEEN.format(events=" UNION ALL ".join(events)), given | {"most": MAX_STEPS}
        )
        found = cursor.fetchall()
    return [
        Step(change, at, rows, hit, by or "", why or "") for change, at, rows, hit, by, why in found
    ]


def undo(row: GoldenQuestion, step: UUID | str, *, by: str, now: datetime | None = None) -> bool:
    """Take one of the changes back and ask everything again; whether the question is green now.

    Refused with what differs (history.Conflict) when that was changed since.
    """
    actors.require_person(by)
    history.undo_context(step, by=by)
    run(row.space, why=GoldenRun.Why.UNDO, now=now)
    row.refresh_from_db()
    return row.state == State.GREEN
