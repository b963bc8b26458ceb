import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from memory.llm import pricing
from memory.llm.choose import afford, choose
from memory.llm.complete import complete
from memory.llm.providers import PROVIDERS
from memory.llm.request import Answer, BudgetSpent
from memory.models import LlmCall, Notice

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def spend(space, dollars, *, at=NOON):
    LlmCall.objects.create(
        space=space, purpose="chat", provider="anthropic", cost=Decimal(str(dollars)), at=at
    )


def test_cached_tokens_cost_less():
    answer = Answer(
        "hi", "claude-sonnet-4-6", tokens_in=1_000_000, tokens_out=100_000, tokens_cached=900_000
    )
    assert pricing.cost(answer, provider="anthropic") == Decimal("2.07")


def test_the_longest_name_counts():
    assert pricing.price("gpt-5-mini-2025").tokens_in == Decimal("0.25")
    assert pricing.price("gpt-5").tokens_in == Decimal("1.25")


def test_an_unknown_model_has_no_price_and_no_guess():
    assert pricing.cost(Answer("hi", "mystery", tokens_in=10), provider="anthropic") is None


def test_a_server_at_home_costs_nothing(settings):
    settings.OPENAI_BASE_URL = "http://localhost:11434/v1"
    assert pricing.cost(Answer("hi", "llama3", tokens_in=10), provider="openai") == 0


def test_the_owner_may_set_a_price(settings):
    settings.MODEL_PRICES = {"mystery": [Decimal(1), Decimal(2)]}
    answer = Answer("hi", "mystery", tokens_in=1_000_000, tokens_out=1_000_000)
    assert pricing.cost(answer, provider="openai") == 3


def test_the_table_has_a_date_and_sane_rows():
    date, prices = pricing.table()
    assert datetime.fromisoformat(date)
    assert all(0 < row.cached <= row.tokens_in < row.tokens_out for row in prices.values())


def test_every_row_says_where_it_was_read_and_when():
    data = json.loads(pricing.TABLE.read_text())
    assert {name.partition("-")[0] for name in data["prices"]} == set(data["sources"])
    for source in data["sources"].values():
        assert source["from"].startswith("https://")
        assert datetime.fromisoformat(source["read"]) <= datetime.fromisoformat(data["date"])


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-opus-4-8", "5"),
        ("claude-opus-4-20250514", "15"),
        ("claude-opus-4-0", "15"),
        ("gpt-5.5-2026-04-23", "5"),
        ("gpt-5.5-pro", "30"),
        ("gpt-5-pro", "15"),
    ],
)
def test_a_dear_relative_is_not_reckoned_at_the_cheap_ones_price(model, dollars):
    assert pricing.price(model).tokens_in == Decimal(dollars)


def test_every_model_keno_uses_of_its_own_accord_has_a_price():
    usual = [one for name, one in PROVIDERS.items() if name in {"anthropic", "openai"}]
    names = {name for one in usual for name in (one.model, one.fast_model, *one.aliases.values())}
    assert [name for name in sorted(names) if pricing.price(name) is None] == []


def test_the_docs_name_the_usual_models_and_the_date_of_the_table():
    told = (Path(__file__).resolve().parents[2] / "docs/settings.md").read_text()
    for name in ("anthropic", "openai"):
        assert f"`{PROVIDERS[name].model}`" in told
        assert f"`{PROVIDERS[name].fast_model}`" in told
    assert f"{datetime.fromisoformat(pricing.table()[0]):%-d %B %Y}" in told


def test_the_day_begins_at_the_space_s_midnight(space):
    space.timezone = "America/Mexico_City"
    spend(space, 1, at=datetime(2026, 3, 10, 5, 59, tzinfo=UTC))
    spend(space, 2, at=datetime(2026, 3, 10, 6, 1, tzinfo=UTC))
    day, month = pricing.budgets(space, now=NOON)
    assert (day.spent, month.spent) == (2, 3)


def test_eighty_and_a_hundred_percent_are_told_once_each(space):
    for dollars in ["0.79", "0.02", "0.05", "0.20", "0.50"]:
        spend(space, dollars)
        pricing.warn(space, now=NOON)
        pricing.warn(space, now=NOON)
    told = Notice.objects.filter(space=space, kind="budget").order_by("pk")
    assert [notice.key for notice in told] == [
        "budget-day-2026-03-10-80",
        "budget-day-2026-03-10-100",
    ]
    assert "small model" in told[1].text


def test_a_new_day_is_told_anew(space):
    spend(space, 1)
    pricing.warn(space, now=NOON)
    tomorrow = NOON.replace(day=11)
    spend(space, 1, at=tomorrow)
    pricing.warn(space, now=tomorrow)
    assert Notice.objects.filter(key__endswith="-100").count() == 2


@pytest.mark.parametrize("action", ["warn", "cheap", "pause"])
def test_what_happens_when_it_is_spent_is_a_setting(space, settings, action):
    settings.PROVIDER = "anthropic"
    space.settings = {"budget_action": action}
    assert pricing.action(space, now=NOON) == ""
    spend(space, 1)
    assert pricing.action(space, now=NOON) == action
    choice = choose("chat", space=space)
    if action == "pause":
        with pytest.raises(BudgetSpent):
            afford(choice, space=space, action=action)
    else:
        model = afford(choice, space=space, action=action).model
        assert ("haiku" in model) == (action == "cheap")


def test_a_limit_of_zero_is_no_limit(space):
    space.settings = {"budget_day": 0, "budget_month": 0}
    spend(space, 1000)
    assert pricing.action(space, now=NOON) == ""


def test_a_call_over_the_wire_is_paid_and_told(space, server, provider, settings):
    settings.MODEL_PRICES = {"test-model": [Decimal(10_000), Decimal(10_000)]}
    complete("chat", space=space, system="", messages=[{"role": "user", "content": "Hi"}], now=NOON)
    assert LlmCall.objects.get().cost == Decimal("1.05")
    assert Notice.objects.filter(kind="budget").count() == 1
