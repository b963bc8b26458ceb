"""What language models cost: days, purposes, nights, the month and its budgets."""

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
from kenoweb.recall.receipts import said_at
from kenoweb.ui.charts import Columns, columns
from kenoweb.ui.formatting import dated, day_start, money
from kenoweb.ui.responses import space_url
from memory.llm import pricing
from memory.models import Fact, LlmCall, Message, Recall, RecallItem, Space
from sleep.models import Night

PERIODS = {"7": gettext_lazy("7 days"), "30": gettext_lazy("30 days"), "year": gettext_lazy("Year")}
USUAL = "30"
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
NIGHTS = 8
LOOK_BACK = 14
CALLS, FACTS = 60, 100


class Median(Aggregate):
    template = "percentile_cont(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = models.FloatField()


@dataclass(frozen=True)
class Row:
    """One purpose by one model."""

    label: str
    tone: str
    model: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    cached: float
    seconds: float
    cost: Decimal | None
    unpriced: int = 0


@dataclass(frozen=True)
class Gauge:
    """A budget as a bar: what is spent, the line where the owner is warned, the end."""

    name: str
    limit: Decimal
    spent: Decimal
    is_spent: bool
    near: bool

    @property
    def percent(self) -> int:
        return round(100 * self.spent / self.limit) if self.limit else 0

    @property
    def parts(self) -> list[tuple[str, float]]:
        return [(_("spent"), float(self.spent))]

    @property
    def top(self) -> float:
        return float(max(self.limit, self.spent))

    @property
    def gate(self) -> float:
        return float(self.limit * pricing.WARN_AT)

    @property
    def said(self) -> str:
        values = {"spent": money(self.spent), "limit": money(self.limit)}
        return _("%(spent)s of %(limit)s are spent; the owner is warned at 80 %%") % values


@dataclass(frozen=True)
class Month:
    """What was spent since the first, and where that leads."""

    spent: Decimal
    forecast: Decimal
    low: Decimal
    high: Decimal


@dataclass(frozen=True)
class CostPage:
    period: str
    periods: list[tuple[str, str]]
    month: Month
    reply: Decimal | None
    cached: float
    budgets: list[Gauge]
    after: str
    rows: list[Row]
    total: Decimal
    wide: Columns | None
    narrow: Columns | None
    legend: list[tuple[str, str]]
    nights: list[tuple[Night, Decimal, int, str]]
    unpriced: int
    prices_of: dt.date
    settings_url: str
    nothing_yet: bool
    said: str = ""
    chart_title: str = ""

    @property
    def cached_percent(self) -> int:
        return round(100 * self.cached)


def cost_page(space: Space, *, period: str, now: dt.datetime) -> CostPage:
    period = period if period in PERIODS else USUAL
    today = timezone.localdate(now)
    calls = rows_in(space, LlmCall)
    since = _since(period, today)
    recent = calls.filter(at__gte=day_start(since))
    rows = by_purpose(recent)
    days = by_day(recent, since=since, today=today, monthly=period == "year")
    spent = bool(sum(value for _day, parts in days for _t, value, _s in parts))
    chat = [row for row in rows if row.tone == "d1" and row.cost]
    asked = sum(row.calls for row in chat)
    return CostPage(
        period=period,
        periods=[(key, str(label)) for key, label in PERIODS.items()],
        month=month(calls, today=today),
        reply=sum((row.cost for row in chat), Decimal(0)) / asked if asked else None,
        cached=_share(chat),
        budgets=[_gauge(one) for one in pricing.budgets(space, now=now)],
        after=str(AFTER[space.options.budget_action]),
        rows=rows,
        total=sum((row.cost for row in rows if row.cost), Decimal(0)),
        wide=columns(days, say=money) if spent else None,
        narrow=columns(days[-14:], width=358, height=170, labels=3, say=money) if spent else None,
        legend=[(tone, str(label)) for _key, label, tone in PURPOSES],
        nights=by_night(space, calls),
        unpriced=sum(row.unpriced for row in rows),
        prices_of=dt.date.fromisoformat(pricing.table()[0]),
        settings_url=space_url("settings:index", space),
        nothing_yet=not calls.exists(),
        said=_("Dollars by purpose, %(period)s") % {"period": PERIODS[period]},
        chart_title=_("A month, by purpose") if period == "year" else _("A day, by purpose"),
    )


def by_purpose(calls: QuerySet) -> list[Row]:
    """One line a purpose and model, the dearest first within the order of purposes."""
    found = (
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
    order = {purpose: place for place, (purpose, _label, _tone) in enumerate(PURPOSES)}
    sort = sorted(found, key=lambda one: (order.get(one["purpose"], 9), -(one["cost"] or 0)))
    return [_row(one) for one in sort]


def _row(one: dict) -> Row:
    label, tone = {p: (str(name), tone) for p, name, tone in PURPOSES}[one["purpose"]]
    same = ("calls", "failed", "tokens_in", "tokens_out", "cost", "unpriced")
    return Row(
        label=label,
        tone=tone,
        model=one["model"] or one["provider"],
        cached=one["tokens_cached"] / one["tokens_in"] if one["tokens_in"] else 0,
        seconds=(one["seconds"] or 0) / 1000,
        **{name: one[name] for name in same},
    )


def by_day(calls: QuerySet, *, since: dt.date, today: dt.date, monthly: bool) -> list:
    """(name, [(tone, dollars, words)]) for every day or month, also the empty ones."""
    units = _units(since, today, monthly=monthly)
    sums = defaultdict(dict)
    found = calls.annotate(place=_place("at", units)).order_by().values_list("place", "purpose")
    for place, purpose, cost in found.annotate(Sum("cost")):
        sums[place][purpose] = float(cost or 0)
    names = [dated(day, _("M Y") if monthly else _("j M")) for day in units]
    return [(name, _parts(sums[place], name)) for place, name in enumerate(names, start=1)]


def _place(field: str, units: list[dt.date]) -> Func:
    """Which of them it falls into, from 1: their starts are known, and to cut every time to the
    day on the clock of the space takes Postgres twice as long."""
    starts = Value(
        [day_start(day) for day in units], output_field=ArrayField(models.DateTimeField())
    )
    return Func(field, starts, function="width_bucket", output_field=models.IntegerField())


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
    """The last nights with what each asked of a model."""
    nights = list(rows_in(space, Night).order_by("-local_date")[:NIGHTS])
    asked = calls.filter(night_id__in=[night.pk for night in nights])
    sums = {
        night: (cost or Decimal(0), count)
        for night, cost, count in asked.order_by()
        .values_list("night_id")
        .annotate(Sum("cost"), Count("pk"))
    }
    return [
        (
            night,
            *sums.get(night.pk, (Decimal(0), 0)),
            space_url("nights:detail", space, pk=night.pk),
        )
        for night in nights
    ]


def month(calls: QuerySet, *, today: dt.date) -> Month:
    """Forecast by the mean of the last two weeks; the range is one spread to either side."""
    first = today.replace(day=1)
    spent = calls.filter(at__gte=day_start(first)).aggregate(n=Sum("cost"))["n"] or Decimal(0)
    start = today - dt.timedelta(days=LOOK_BACK)
    found = calls.filter(at__gte=day_start(start), at__lt=day_start(today))
    sums = dict(
        found.annotate(day=TruncDate("at")).order_by().values_list("day").annotate(Sum("cost"))
    )
    days = [float(sums.get(start + dt.timedelta(days=n)) or 0) for n in range(LOOK_BACK)]
    left = calendar.monthrange(today.year, today.month)[1] - today.day
    ahead, spread = mean(days) * left, pstdev(days) * left**0.5
    low = spent + Decimal(str(round(max(0.0, ahead - spread), 6)))
    high = spent + Decimal(str(round(ahead + spread, 6)))
    return Month(spent, spent + Decimal(str(round(ahead, 6))), low, high)


def _gauge(one: pricing.Budget) -> Gauge:
    near = not one.is_spent and one.share >= pricing.WARN_AT
    return Gauge(one.name, one.limit, one.spent, one.is_spent, near)


def _since(period: str, today: dt.date) -> dt.date:
    if period == "year":
        # Twelve whole months, this one the last.
        before = today.year * 12 + today.month - 12
        return dt.date(before // 12, before % 12 + 1, 1)
    return today - dt.timedelta(days=int(period) - 1)


def _share(chat: list[Row]) -> float:
    total = sum(row.tokens_in for row in chat)
    return sum(row.cached * row.tokens_in for row in chat) / total if total else 0.0


@in_space(role="viewer")
def index(request, space):
    page = cost_page(space, period=request.GET.get("period", ""), now=timezone.now())
    return render(request, "costs/index.html", {"page": page})


def prices(space: Space) -> QuerySet[Fact]:
    """The facts that took most room in prompts: what each cost, and how often a reply used it."""
    heard = LlmCall.objects.filter(message=OuterRef("message"), purpose=LlmCall.Purpose.EXTRACT)
    learned = Subquery(heard.order_by().values("message").values_list(Sum("cost")))
    rows = rows_in(space, Fact).filter(recalled__injected=True)
    return rows.annotate(
        prompts=Count("recalled"),
        used=Count("recalled", filter=Q(recalled__mark=RecallItem.Mark.USED)),
        tokens=Sum("recalled__tokens"),
        # Only a model is paid for; its name stands behind that of its provider.
        learned_for=Case(When(mode__contains=":", then=learned)),
    ).order_by("-tokens", "-pk")[:FACTS]


@in_space(role="viewer")
def facts(request, space):
    """What facts cost and how often they paid back, the dearest first."""
    return render(request, "costs/facts.html", {"facts": prices(space)})


@in_space(role="owner")
def calls(request, space):
    """The last calls of models, each with its words where the space keeps them."""
    rows = rows_in(space, LlmCall).order_by("-at", "-pk")[:CALLS]
    found = [(row, NAMES[row.purpose]) for row in rows]
    return render(request, "costs/calls.html", {"calls": found, "days": space.options.call_days})


def belongs_to(call: LlmCall, *, space: Space) -> dict:
    """What the call was made for: a night, or a message with its reply and receipt."""
    said = rows_in(space, Message)
    asked = said.filter(pk=call.message_id).select_related("chat").first()
    reply = receipt = None
    if asked and call.purpose == LlmCall.Purpose.CHAT:
        reply = said.filter(reply_to=asked, role=Message.Role.ASSISTANT).order_by("pk").first()
        receipt = rows_in(space, Recall).filter(message=asked).order_by("-at", "-pk").first()
    night = rows_in(space, Night).filter(pk=call.night_id).first()
    sections = score_rows.sections(receipt.sections if receipt else {})
    return {
        "asked": asked,
        "asked_url": said_at(asked, space),
        "reply": reply,
        "reply_url": said_at(reply, space),
        "receipt": receipt,
        "sections": sections,
        "tokens": sum(count for _name, count in sections),
        "budget": (receipt and receipt.budget) or space.options.token_budget,
        "night": night,
        "calls": calls_of(night) if night else None,
    }


@in_space(role="owner")
def call(request, space, pk):
    """One call: what it was for, what it took, and its words where the space keeps them."""
    row = get_in_space_or_404(space, LlmCall, pk)
    shown = {"call": row, "purpose": NAMES[row.purpose], "days": space.options.call_days}
    return render(request, "costs/call.html", shown | belongs_to(row, space=space))
