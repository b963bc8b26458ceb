"""What a call costs, by a table that is data and carries its date."""

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from memory.llm.request import Answer

TABLE = Path(__file__).with_name("prices.json")
MILLION = Decimal(1_000_000)
FREE = frozenset({"offline"})


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    tokens_in: Decimal
    tokens_out: Decimal
    cached: Decimal
    written: Decimal


@cache
def table() -> tuple[str, dict[str, Price]]:
    """The date of the shipped table, and the table."""
    data = json.loads(TABLE.read_text())
    return data["date"], {model: _price(**row) for model, row in data["prices"].items()}


def price(model: str) -> Price | None:
    """The owner's own price first; else the longest shipped name the model begins with."""
    own = {name: _own(*row) for name, row in settings.MODEL_PRICES.items()}
    for prices in (own, table()[1]):
        names = [name for name in prices if model == name or model.startswith(f"{name}-")]
        if names:
            return prices[max(names, key=len)]
    return None


def cost(answer: Answer, *, provider: str) -> Decimal | None:
    """US dollars for the answer; None when nobody told us the price of its model."""
    if provider in FREE:
        return Decimal(0)
    if answer.cost is not None:
        return answer.cost
    found = price(answer.model)
    if found is None:
        return Decimal(0) if provider == "openai" and _is_at_home() else None
    fresh = answer.tokens_in - answer.tokens_cached - answer.tokens_written
    total = (
        max(0, fresh) * found.tokens_in
        + answer.tokens_cached * found.cached
        + answer.tokens_written * found.written
        + answer.tokens_out * found.tokens_out
    )
    return (total / MILLION).quantize(Decimal("0.000001"))


def _is_at_home() -> bool:
    """Whether the compatible server runs on this machine, so that a call costs nothing."""
    return urlsplit(settings.OPENAI_BASE_URL).hostname in {"localhost", "127.0.0.1", "::1"}


def _price(**row: str) -> Price:
    fresh = Decimal(row["in"])
    return Price(
        tokens_in=fresh,
        tokens_out=Decimal(row["out"]),
        cached=Decimal(row.get("cached", fresh)),
        written=Decimal(row.get("written", fresh)),
    )


def _own(fresh: Decimal, out: Decimal, cached: Decimal | None = None) -> Price:
    return Price(tokens_in=fresh, tokens_out=out, cached=cached or fresh, written=fresh)
