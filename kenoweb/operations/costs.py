"""The pages of costs of language models: days, purposes, nights, the month and its budgets."""

import calendar
import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from statistics import mean, pstdev

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import (
    Aggregate,
    Case,
    Count,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import TruncDate
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.nights.page import calls as calls_of
from kenoweb.recall import score_rows
from kenoweb.recall.receipts import url_of
from kenoweb.ui.charts import columns
from kenoweb.ui.formatting import dated, day_start, money
from kenoweb.ui.responses import space_url
from memory.llm import pricing
from memory.models import Fact, LlmCall, Message, Recall, RecallItem, Space
from sleep.models import Night

PERIODS = {"7": gettext_lazy("7 days"), "30": gettext_lazy("30 days"), "year": gettext_lazy("Year")}
DEFAULT_PERIOD = "30"
# Always in this order, always with these tones.
PURPOSES = [
    (LlmCall.Purpose.CHAT, gettext_lazy("Replies"), "d1"),
    (LlmCall.Purpose.EXTRACT, gettext_lazy("Extraction"), "d2"),
    (LlmCall.Purpose.SUMMARISE, gettext_lazy("Summaries"), "d3"),
    (LlmCall.Purpose.SLEEP, gettext_lazy("Night"), "d4"),
    (LlmCall.Purpose.EXPAND, gettext_lazy("Search words"), "d5"),
]
NAMES = {purpose: name for purpose, name, _tone in PURPOSES}
AFTER = {
    "warn": gettext_lazy("Keno says so and goes on as before."),
    "cheap": gettext_lazy("Keno goes on with the small model."),
    "pause": gettext_lazy("Keno waits until the next day or month, or a higher budget."),
}
MAX_NIGHTS = 8
FORECAST_DAYS = 14
MAX_CALLS = 60
MAX_FACTS = 100


class Median(Aggregate):
    template = "percentile_cont(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = models.FloatField()


@dataclass(frozen=True)
class Month:
    """What was spent since the first of the month, and a forecast."""

    spent: Decimal
    forecast: Decimal
    low: Decimal
    high: Decimal


def cost_page(space: Space, *, period: str, now: dt.datetime) -> dict:
    period = period if period in PERIODS else DEFAULT_PERIOD
    today = timezone.localdate(now)
    calls = rows_in(space, LlmCall)
    since = _since(period, today)
    recent = calls.filter(at__gte=day_start(since))
    rows = by_purpose(recent)
    days = by_day(recent, since=since, today=today, monthly=period == "year")
    spent = bool(sum(value for _day, parts in days for _t, value, _s in parts))
    chat = [row for row in rows if row["tone"] == "d1" and row["cost"]]
    replies, tokens = (sum(row[name] for row in chat) for name in ("calls", "tokens_in"))
    cached = sum(row["tokens_cached"] for row in chat) / tokens if tokens else 0.0
    narrow = {"width": 358, "height": 170, "labels": 3}
    return {
        "period": period,
        "periods": PERIODS.items(),
        "month": month(calls, today=today),
        "reply": sum(row["cost"] for row in chat) / replies if replies else None,
        "cached": cached,
        "cached_percent": round(100 * cached),
        "budgets": [_gauge(budget) for budget in pricing.budgets(space, now=now)],
        "after": AFTER[space.options.budget_action],
        "rows": rows,
        "total": sum((row["cost"] for row in rows if row["cost"]), Decimal(0)),
        "wide": columns(days, say=money) if spent else None,
        "narrow": columns(days[-14:], **narrow, say=money) if spent else None,
        "legend": [(tone, label) for _key, label, tone in PURPOSES],
        "nights": by_night(space, calls),
        "unpriced": sum(row["unpriced"] for row in rows),
        "prices_of": dt.date.fromisoformat(pricing.table()[0]),
        "settings_url": space_url("settings:index", space),
        "nothing_yet": not calls.exists(),
        "said": _("Dollars by purpose, %(period)s") % {"period": PERIODS[period]},
        "chart_title": _("A month, by purpose") if period == "year" else _("A day, by purpose"),
    }


def by_purpose(calls: QuerySet) -> list[dict]:
    """Return a row for each purpose and model, the dearest first within a purpose."""
    groups = (
        calls.order_by()
        .values("purpose", "model", "provider")
        .annotate(
            calls=Count("pk"),
            failed=Count("pk", filter=Q(ok=False)),
            tokens_in=Sum("tokens_in"),
            tokens_out=Sum("tokens_out"),
            tokens_cached=Sum("tokens_cached"),
            seconds=Median("ms"),
            # Before the sum, which takes the name of the field.
            unpriced=Count("pk", filter=Q(cost=None, ok=True)),
            cost=Sum("cost"),
        )
    )
    rows = [_purpose_row(sums) for sums in groups]
    return sorted(rows, key=lambda row: (row["tone"], -(row["cost"] or 0)))


def _purpose_row(sums: dict) -> dict:
    label, tone = {p: (name, tone) for p, name, tone in PURPOSES}[sums["purpose"]]
    return sums | {
        "label": label,
        "tone": tone,
        "model": sums["model"] or sums["provider"],
        "cached": sums["tokens_cached"] / sums["tokens_in"] if sums["tokens_in"] else 0,
        "seconds": (sums["seconds"] or 0) / 1000,
    }


def by_day(calls: QuerySet, *, since: dt.date, today: dt.date, monthly: bool) -> list:
    """Return (name, [(tone, dollars, label)]) for every day or month, also the empty ones."""
    units = _units(since, today, monthly=monthly)
    sums = defaultdict(dict)
    # Which unit a call falls into, from 1: the starts are known, and to truncate every time to the
    # day on the clock of the space takes Postgres twice as long.
    field = ArrayField(models.DateTimeField())
    starts = Value([day_start(day) for day in units], output_field=field)
    number = models.IntegerField()
    place = Func("at", starts, function="width_bucket", output_field=number)
    groups = calls.annotate(place=place).order_by().values_list("place", "purpose")
    for place, purpose, cost in groups.annotate(Sum("cost")):
        sums[place][purpose] = float(cost or 0)
    names = [dated(day, _("M Y") if monthly else _("j M")) for day in units]
    return [(name, _parts(sums[place], name)) for place, name in enumerate(names, start=1)]


def _parts(sums: dict[str, float], day: str) -> list[tuple[str, float, str]]:
    return [
        (tone, sums.get(purpose, 0.0), f"{day}, {label}: {money(sums.get(purpose, 0.0))}")
        for purpose, label, tone in PURPOSES
    ]


def _units(since: dt.date, today: dt.date, *, monthly: bool) -> list[dt.date]:
    if not monthly:
        return [since + dt.timedelta(days=n) for n in range((today - since).days + 1)]
    first = since.year * 12 + since.month - 1
    return [dt.date(n // 12, n % 12 + 1, 1) for n in range(first, first + 12)]


def by_night(space: Space, calls: QuerySet) -> list[tuple[Night, Decimal, int, str]]:
    """Return the last nights with cost, number of calls and URL of each."""
    nights = list(rows_in(space, Night).order_by("-local_date")[:MAX_NIGHTS])
    calls = calls.filter(night_id__in=[night.pk for night in nights]).order_by()
    rows = calls.values_list("night_id").annotate(Sum("cost"), Count("pk"))
    sums = {night: (cost or Decimal(0), count) for night, cost, count in rows}
    urls = [space_url("nights:detail", space, pk=night.pk) for night in nights]
    return [
        (night, *sums.get(night.pk, (Decimal(0), 0)), url)
        for night, url in zip(nights, urls, strict=True)
    ]


def month(calls: QuerySet, *, today: dt.date) -> Month:
    """Forecast by the mean of the last two weeks; the range is one deviation to either side."""
    first = today.replace(day=1)
    spent = calls.filter(at__gte=day_start(first)).aggregate(n=Sum("cost"))["n"] or Decimal(0)
    start = today - dt.timedelta(days=FORECAST_DAYS)
    recent = calls.filter(at__gte=day_start(start), at__lt=day_start(today)).order_by()
    sums = dict(recent.annotate(day=TruncDate("at")).values_list("day").annotate(Sum("cost")))
    days = [float(sums.get(start + dt.timedelta(days=n)) or 0) for n in range(FORECAST_DAYS)]
    left = calendar.monthrange(today.year, today.month)[1] - today.day
    ahead, spread = mean(days) * left, pstdev(days) * left**0.5
    low = spent + Decimal(str(round(max(0.0, ahead - spread), 6)))
    high = spent + Decimal(str(round(ahead + spread, 6)))
    return Month(spent, spent + Decimal(str(round(ahead, 6))), low, high)


def _gauge(budget: pricing.Budget) -> dict:
    """Return a budget as a bar: what is spent, and the line where the owner is warned."""
    limit, spent = budget.limit, budget.spent
    values = {"spent": money(spent), "limit": money(limit)}
    return {
        "name": budget.name,
        "limit": limit,
        "spent": spent,
        "is_spent": budget.is_spent,
        "near": not budget.is_spent and budget.share >= pricing.WARN_AT,
        "percent": round(100 * spent / limit) if limit else 0,
        "parts": [(_("spent"), float(spent))],
        "top": float(max(limit, spent)),
        "gate": float(limit * pricing.WARN_AT),
        "said": _("%(spent)s of %(limit)s are spent; the owner is warned at 80 %%") % values,
    }


def _since(period: str, today: dt.date) -> dt.date:
    if period == "year":
        # Twelve whole months, this one the last.
        before = today.year * 12 + today.month - 12
        return dt.date(before // 12, before % 12 + 1, 1)
    return today - dt.timedelta(days=int(period) - 1)


@in_space(role="viewer")
def index(request, space):
    page = cost_page(space, period=request.GET.get("period", ""), now=timezone.now())
    return render(request, "costs/index.html", {"page": page})


def prices(space: Space) -> QuerySet[Fact]:
    """Return the facts that took most room in prompts, with their cost and use."""
    heard = LlmCall.objects.filter(message=OuterRef("message"), purpose=LlmCall.Purpose.EXTRACT)
    learned = Subquery(heard.order_by().values("message").values_list(Sum("cost")))
    rows = rows_in(space, Fact).filter(recalled__injected=True)
    return rows.annotate(
        prompts=Count("recalled"),
        used=Count("recalled", filter=Q(recalled__mark=RecallItem.Mark.USED)),
        tokens=Sum("recalled__tokens"),
        # Only a model is paid for; its name stands behind that of its provider.
        learned_for=Case(When(mode__contains=":", then=learned)),
    ).order_by("-tokens", "-pk")[:MAX_FACTS]


@in_space(role="viewer")
def facts(request, space):
    """Show what facts cost and how often a reply used them, the dearest first."""
    return render(request, "costs/facts.html", {"facts": prices(space)})


@in_space(role="owner")
def calls(request, space):
    """Show the last calls of models, each with its words where the space keeps them."""
    rows = rows_in(space, LlmCall).order_by("-at", "-pk")[:MAX_CALLS]
    calls = [(row, NAMES[row.purpose]) for row in rows]
    return render(request, "costs/calls.html", {"calls": calls, "days": space.options.call_days})


def belongs_to(call: LlmCall, *, space: Space) -> dict:
    """Return what the call was made for: a night, or a message with its reply and receipt."""
    messages = rows_in(space, Message)
    asked = messages.filter(pk=call.message_id).select_related("chat").first()
    reply = receipt = None
    if asked and call.purpose == LlmCall.Purpose.CHAT:
        reply = messages.filter(reply_to=asked, role=Message.Role.ASSISTANT).order_by("pk").first()
        receipt = rows_in(space, Recall).filter(message=asked).order_by("-at", "-pk").first()
    night = rows_in(space, Night).filter(pk=call.night_id).first()
    sections = score_rows.sections(receipt.sections if receipt else {})
    return {
        "asked": asked,
        "asked_url": url_of(asked, space),
        "reply": reply,
        "reply_url": url_of(reply, space),
        "receipt": receipt,
        "sections": sections,
        "tokens": sum(count for _name, count in sections),
        "budget": (receipt and receipt.budget) or space.options.token_budget,
        "night": night,
        "calls": calls_of(night) if night else None,
    }


@in_space(role="owner")
def call(request, space, pk):
    """Show one call: what it was for, what it took, and its words where the space keeps them."""
    row = get_in_space_or_404(space, LlmCall, pk)
    context = {"call": row, "purpose": NAMES[row.purpose], "days": space.options.call_days}
    return render(request, "costs/call.html", context | belongs_to(row, space=space))
