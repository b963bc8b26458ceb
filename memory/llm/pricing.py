"""Prices of calls by a dated table, token estimates of texts, and what may still be spent."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q, Sum
from django.utils.translation import gettext as _

from memory import notices
from memory.llm.choose import choose
from memory.llm.request import Answer
from memory.models import LlmCall, Notice, Recall, Space
from memory.spaces import connections
from memory.text import normalise as text

TABLE = Path(__file__).with_name("prices.json")
MILLION = Decimal(1_000_000)
CALLS_MEASURED = 50
MIN_CALLS = 5
CACHE_SECONDS = 300
# However odd the numbers, an estimate is never off by more than this.
MIN_RATIO = 0.6
MAX_RATIO = 2.0
_ratios: dict[tuple[int, str], tuple[float, float]] = {}
WARN_AT = Decimal("0.8")


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    tokens_in: Decimal
    tokens_out: Decimal
    cached: Decimal
    written: Decimal


@cache
def table() -> tuple[str, dict[str, Price]]:
    """Return the date of the shipped table, and its prices."""
    data = json.loads(TABLE.read_text())
    names = ("in", "out", "cached", "written")
    rows = data["prices"].items()
    return data["date"], {model: _price(*map(row.get, names)) for model, row in rows}


def price(model: str) -> Price | None:
    """Return the owner's price, else that of the longest shipped name the model begins with."""
    own = {name: _price(*row) for name, row in settings.MODEL_PRICES.items()}
    for prices in (own, table()[1]):
        names = [name for name in prices if model == name or model.startswith(f"{name}-")]
        if names:
            return prices[max(names, key=len)]
    return None


def cost(answer: Answer, *, provider: str) -> Decimal | None:
    """Return the US dollars for the answer; None when the price of its model is unknown."""
    if provider == "offline":
        return Decimal(0)
    if answer.cost is not None:
        return answer.cost
    rate = price(answer.model)
    if rate is None:
        return Decimal(0) if provider == "openai" and _is_at_home() else None
    fresh = answer.tokens_in - answer.tokens_cached - answer.tokens_written
    total = (
        max(0, fresh) * rate.tokens_in
        + answer.tokens_cached * rate.cached
        + answer.tokens_written * rate.written
        + answer.tokens_out * rate.tokens_out
    )
    return (total / MILLION).quantize(Decimal("0.000001"))


def _is_at_home() -> bool:
    """Tell whether the compatible server runs on this machine, so that a call costs nothing."""
    host = urlsplit(connections.value("OPENAI_BASE_URL")).hostname
    return host in {"localhost", "127.0.0.1", "::1"}


def _price(fresh: Any, out: Any, cached: Any = None, written: Any = None) -> Price:
    return Price(*map(Decimal, (fresh, out, cached or fresh, written or fresh)))


def counter(space: Space) -> Callable[[str], int]:
    """Return a token counter for the model that answers in this space."""
    ratio = correction(space)
    return lambda value: round(text.token_estimate(value) * ratio)


def correction(space: Space) -> float:
    """Return the ratio of counted to estimated tokens, measured on recent prompts."""
    choice = choose("chat", space=space)
    key = (space.pk, f"{choice.provider}:{choice.model}")
    ratio, until = _ratios.get(key, (1.0, 0.0))
    if until < time.monotonic():
        ratio = _measure(space, choice.provider, choice.model)
        _ratios[key] = (ratio, time.monotonic() + CACHE_SECONDS)
    return ratio


def _measure(space: Space, provider: str, model: str) -> float:
    calls = LlmCall.objects.filter(
        space=space, purpose="chat", provider=provider, model=model, message__isnull=False, ok=True
    ).order_by("-pk")[:CALLS_MEASURED]
    real = {call.message_id: call.tokens_in + call.tokens_cached for call in calls}
    rows = Recall.objects.filter(message__in=real, sections__has_key="prompt").values_list(
        "message_id", "sections__prompt"
    )
    pairs = [(real[pk], guess) for pk, guess in rows if guess and real[pk]]
    if len(pairs) < MIN_CALLS:
        return 1.0
    ratio = sum(counted for counted, _ in pairs) / sum(guess for _, guess in pairs)
    return min(MAX_RATIO, max(MIN_RATIO, ratio))


@dataclass(frozen=True)
class Budget:
    """One budget: of the day or of the month. A limit of 0 means none."""

    name: str
    period: str
    limit: Decimal
    spent: Decimal

    @property
    def share(self) -> Decimal:
        return self.spent / self.limit if self.limit else Decimal(0)

    @property
    def is_spent(self) -> bool:
        return self.share >= 1


def budgets(space: Space, *, now: datetime) -> list[Budget]:
    """Return the budgets of the day and the month, in the space's time zone."""
    local = now.astimezone(space.zone)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
    month = day.replace(day=1)
    limits = {"day": space.options.budget_day, "month": space.options.budget_month}
    spent = {"day": Decimal(0), "month": Decimal(0)}
    if any(limits.values()):
        spent = LlmCall.objects.filter(space=space, at__gte=month).aggregate(
            day=Sum("cost", filter=Q(at__gte=day), default=Decimal(0)),
            month=Sum("cost", default=Decimal(0)),
        )
    periods = {"day": f"{day:%Y-%m-%d}", "month": f"{month:%Y-%m}"}
    return [
        Budget(
            name, period, Decimal(str(limits[name])), spent[name] if limits[name] else Decimal(0)
        )
        for name, period in periods.items()
    ]


def action(space: Space, *, now: datetime) -> str:
    """Return what a spent budget demands of the next call: "", warn, cheap, pause or cap."""
    if is_capped(now=now):
        return "cap"
    if any(budget.is_spent for budget in budgets(space, now=now)):
        return space.options.budget_action
    return ""


def is_capped(*, now: datetime) -> bool:
    """Tell whether all spaces together have spent the month of the installation (UTC)."""
    cap = Decimal(str(settings.KENO_BUDGET_MONTH))
    if not cap:
        return False
    month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    spent = LlmCall.objects.filter(at__gte=month).aggregate(n=Sum("cost", default=Decimal(0)))
    return spent["n"] >= cap


def warn(space: Space, *, now: datetime) -> None:
    """Write a notice at 80 % and one at 100 % of each day's and month's budget."""
    for budget in budgets(space, now=now):
        if budget.is_spent:
            _tell(space, budget, at=100, level=Notice.Level.ERROR)
        elif budget.share >= WARN_AT:
            _tell(space, budget, at=80, level=Notice.Level.WARNING)


def _tell(space: Space, budget: Budget, *, at: int, level: str) -> None:
    key = f"budget-{budget.name}-{budget.period}-{at}"
    after = space.options.budget_action if at == 100 else ""
    notices.tell(space, kind="budget", text=lambda: _sentence(budget, after), key=key, level=level)


def _sentence(budget: Budget, after: str) -> str:
    period = _("today's") if budget.name == "day" else _("this month's")
    text = _("%(spent)s of %(what)s budget of %(limit)s US dollars is spent.") % {
        "spent": f"{budget.spent:.2f}",
        "what": period,
        "limit": f"{budget.limit:.2f}",
    }
    sentences = {
        "warn": _("Keno goes on as before."),
        "cheap": _("Keno goes on with the small model."),
        "pause": _("Keno waits until the next period or a higher budget."),
    }
    return f"{text} {sentences[after]}" if after else text
