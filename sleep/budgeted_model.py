"""The model a night may ask: outside its transactions, and within what a night may spend."""

import json
import logging
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from django.db.models import Count, Sum

from memory.extraction import grounding
from memory.guards import inspect as guards
from memory.llm import pricing
from memory.llm.choose import choose
from memory.llm.complete import asker
from memory.llm.request import Answer
from memory.models import LlmCall, Space
from memory.text.normalise import one_line, short

log = logging.getLogger(__name__)

HEURISTICS = "heuristics"
# A night stops asking after this many failures in a row and goes on with heuristics.
MAX_FAILURES = 3
# The estimated length of an answer: a few lines of JSON.
TOKENS_OUT = 160
CHARACTERS_PER_TOKEN = 4


class NotAsked(Exception):
    """The night may not ask this now; the heuristics answer instead."""


@dataclass
class BudgetedModel:
    """Ask a model once per question; answers got outside a transaction are reused inside it."""

    ask: Callable[[str], str]
    model: str
    may_spend: Callable[[str], bool] = lambda question: True
    answers: dict[str, str | None] = field(default_factory=dict)
    # Lengths of the questions that would have been asked while counting.
    counted: list[int] = field(default_factory=list)
    failures: int = 0
    spent: bool = False
    _asking: bool = False
    _counting: bool = False

    def __call__(self, question: str) -> str:
        if self._counting:
            self.counted.append(len(question))
            raise NotAsked
        if question not in self.answers and self._asking:
            self.answers[question] = self._answer(question)
        answer = self.answers.get(question)
        if answer is None:
            raise NotAsked
        return answer

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Send what is asked inside to the model; afterwards only its answers are left."""
        self.answers.clear()
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    @contextmanager
    def counting(self) -> Iterator[list[int]]:
        """Count what is asked inside, and ask nothing."""
        self.counted, self._counting = [], True
        try:
            yield self.counted
        finally:
            self._counting = False

    def _answer(self, question: str) -> str | None:
        if self.failures >= MAX_FAILURES:
            return None
        if not self.may_spend(question):
            self.spent = True
            return None
        try:
            answer = self.ask(question)
        except Exception as error:  # a provider may fail in any way; the heuristics still work
            self.failures += 1
            log.warning("the night's model did not answer: %s", error)
            return None
        self.failures = 0
        return answer


def model_for_space(space: Space, *, pause: Callable[[float], None] = time.sleep) -> dict:
    """Return what cycle.sleep() takes: the model a night may ask, and its name.

    `pause` waits between two tries of one question.
    """
    ask = asker("sleep", space=space, pause=pause)
    return {"complete": ask, "mode": ask.model if ask else HEURISTICS}


def model_for_night(complete: Callable[[str], str] | None, *, night) -> BudgetedModel | None:
    """Return the model of this night: its calls are on record, within what the night may spend."""
    if complete is None:
        return None
    if hasattr(complete, "about"):
        complete = complete.about(night_id=night.pk)
    return BudgetedModel(
        complete,
        str(getattr(complete, "model", "") or "model"),
        may_spend=lambda question: _may_spend(night, question),
    )


def estimate_cost(lengths: list[int], *, space: Space) -> Decimal | None:
    """Estimate what questions of these lengths cost, in US dollars; None when nobody knows."""
    choice = choose("sleep", space=space)
    tokens = sum(lengths) // CHARACTERS_PER_TOKEN, TOKENS_OUT * len(lengths)
    answer = Answer("", model=choice.model, tokens_in=tokens[0], tokens_out=tokens[1])
    return pricing.cost(answer, provider=choice.provider)


def night_spending(night) -> tuple[Decimal, int]:
    calls = LlmCall.objects.filter(space=night.space, night_id=night.pk)
    totals = calls.aggregate(cost=Sum("cost"), n=Count("pk"))
    return totals["cost"] or Decimal(0), totals["n"]


def _may_spend(night, question: str) -> bool:
    cost, asked = night_spending(night)
    options = night.space.options
    if asked >= options.night_questions:
        return False
    cap = Decimal(str(options.budget_night))
    more = estimate_cost([len(question)], space=night.space) or Decimal(0)
    return not cap or cost + more <= cap


Ask = Callable[[str], str]
EPISODE_CHARACTERS, ERROR_CHARACTERS = 1400, 500
MIN_QUOTE_LENGTH = 8
CATEGORIES = ("external", "configuration", "user", "internal")
PRIORITIES = ("high", "medium", "low")

PROMPTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))


class Habit(NamedTuple):
    """A solved problem as the model tells it."""

    trigger: str
    response: str
    quote: str
    confidence: float


@dataclass(frozen=True)
class DuplicateVerdict:
    """Whether notes say the same, and the wording that may stand for all."""

    duplicate: bool
    merged: str = ""


def ask_habit(text: str, *, ask: Ask) -> Habit | None:
    """Return the first usable habit in the answer."""
    rows = _ask_rows(ask, "habit", "patterns", text[:EPISODE_CHARACTERS])
    return next(filter(None, (_checked_habit(row, text) for row in rows)), None)


def _checked_habit(row: dict, text: str) -> Habit | None:
    trigger = _clean_line(row.get("trigger"), 100)
    response = _clean_line(row.get("resolution"), 200)
    sure = row.get("confidence")
    if not trigger or not response or isinstance(sure, bool) or not isinstance(sure, int | float):
        return None
    evidence = row.get("evidence")
    evidence = evidence if isinstance(evidence, str) else ""
    quote = grounding.quote_for(response, text, evidence=evidence)
    if len(quote) < MIN_QUOTE_LENGTH or guards.is_suspicious(f"{trigger}\n{response}"):
        return None
    return Habit(trigger, response, quote, min(1.0, max(0.0, float(sure))))


def ask_error(text: str, *, ask: Ask) -> tuple[str, str] | None:
    """Return whose error it was (its category), and a rule that would prevent it."""
    answer = _ask_json(ask, "error", text[:ERROR_CHARACTERS])
    if answer.get("category") not in CATEGORIES:
        return None
    rule = _clean_line(answer.get("rule"), 200)
    return answer["category"], "" if guards.is_suspicious(rule) else rule


def ask_duplicates(texts: Sequence[str], *, ask: Ask) -> DuplicateVerdict | None:
    answer = _ask_json(ask, "duplicates", [text[:190] for text in texts[:6]])
    if not isinstance(answer.get("duplicate"), bool):
        return None
    merged = _clean_line(answer.get("merged"), 190)
    # A merged wording may drop words, never bring new ones.
    if merged and not grounding.is_grounded(merged, "\n".join(texts)):
        merged = ""
    return DuplicateVerdict(answer["duplicate"], merged)


def ask_advice(numbers: dict, *, language: str, ask: Ask) -> list[dict]:
    """Return at most two rows with an observation, a suggestion and a priority each."""
    good = []
    for row in _ask_rows(ask, "advice", "suggestions", numbers, language=language):
        texts = {name: _clean_line(row.get(name), 190) for name in ("observation", "suggestion")}
        if all(texts.values()) and row.get("priority") in PRIORITIES:
            good.append(texts | {"priority": row["priority"]})
    return good[:2]


def _ask_rows(ask: Ask, prompt: str, name: str, data: object, **values: str) -> list[dict]:
    """Return the objects in the list that the answer has under this name."""
    rows = _ask_json(ask, prompt, data, **values).get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _ask_json(ask: Ask, prompt: str, data: object, **values: str) -> dict:
    """Return the object that the model answers; an empty one when it does not."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    question = PROMPTS[prompt].format(text=text, **values)
    try:
        parsed = json.loads(re.sub(r"^\s*```(?:json)?\s*|\s*```\s*$", "", ask(question)))
    except Exception:  # a provider may fail or say anything; the heuristics still work
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _clean_line(value: object, limit: int) -> str:
    return short(one_line(value), limit) if isinstance(value, str) and value.strip() else ""
