"""The model a night may ask: outside its transactions, and within what a night may spend."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import Count, Sum

from memory.llm import pricing
from memory.llm.complete import asker, chosen
from memory.llm.request import Answer
from memory.models import LlmCall, Space

log = logging.getLogger(__name__)

HEURISTICS = "heuristics"
# After so many failures in a row a night stops asking: the heuristics need no patience.
PATIENCE = 3
# What an answer is reckoned at: a few lines of JSON.
TOKENS_OUT = 160
LETTERS_A_TOKEN = 4


class NotAsked(Exception):
    """The night may not ask this now; the heuristics answer instead."""


@dataclass
class Voice:
    """Asks a model once per question. What it was told outside a transaction it knows inside."""

    ask: Callable[[str], str]
    model: str
    may_spend: Callable[[str], bool] = lambda question: True
    answers: dict[str, str | None] = field(default_factory=dict)
    # Lengths of the questions that a counting voice would have asked.
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
        """What is asked inside goes to the model; afterwards only its answers are left."""
        self.answers.clear()
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    @contextmanager
    def counting(self) -> Iterator[list[int]]:
        """Nothing is asked inside, only counted."""
        self.counted, self._counting = [], True
        try:
            yield self.counted
        finally:
            self._counting = False

    def _answer(self, question: str) -> str | None:
        if self.failures >= PATIENCE:
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


def of_space(space: Space) -> dict:
    """The model a night may ask, and its name; heuristics when there is none."""
    ask = asker("sleep", space=space)
    return {"complete": ask, "mode": ask.model if ask else HEURISTICS}


def for_night(complete: Callable[[str], str] | None, *, night) -> Voice | None:
    """The voice of this night: on record with it, and silent when it has spent what it may."""
    if complete is None:
        return None
    if hasattr(complete, "about"):
        complete = complete.about(night_id=night.pk)
    return Voice(
        complete,
        str(getattr(complete, "model", "") or "model"),
        may_spend=lambda question: _may_spend(night, question),
    )


def price_of(lengths: list[int], *, space: Space) -> Decimal | None:
    """What questions of these lengths would cost, in US dollars; None when nobody knows."""
    choice = chosen("sleep", space=space)
    reckoned = Answer(
        "",
        model=choice.model,
        tokens_in=sum(lengths) // LETTERS_A_TOKEN,
        tokens_out=TOKENS_OUT * len(lengths),
    )
    return pricing.cost(reckoned, provider=choice.provider)


def spending(night) -> tuple[Decimal, int]:
    """US dollars and questions of a night so far."""
    calls = LlmCall.objects.filter(space=night.space, night_id=night.pk)
    found = calls.aggregate(cost=Sum("cost"), n=Count("pk"))
    return found["cost"] or Decimal(0), found["n"]


def _may_spend(night, question: str) -> bool:
    cost, asked = spending(night)
    options = night.space.options
    if asked >= options.night_questions:
        return False
    cap = Decimal(str(options.budget_night))
    more = price_of([len(question)], space=night.space) or Decimal(0)
    return not cap or cost + more <= cap
