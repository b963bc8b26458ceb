"""What a space spends, what it may spend, and what happens when it is spent."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Q, Sum
from django.utils.translation import gettext as _

from memory import notices
from memory.models import LlmCall, Notice, Space

WARN_AT = Decimal("0.8")


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
    limits = [Decimal(str(space.options.budget_day)), Decimal(str(space.options.budget_month))]
    spent = _spent(space, day=day, month=month) if any(limits) else {"day": 0, "month": 0}
    return [
        Budget("day", f"{day:%Y-%m-%d}", limits[0], spent["day"] if limits[0] else Decimal(0)),
        Budget("month", f"{month:%Y-%m}", limits[1], spent["month"] if limits[1] else Decimal(0)),
    ]


def _spent(space: Space, *, day: datetime, month: datetime) -> dict[str, Decimal]:
    return LlmCall.objects.filter(space=space, at__gte=month).aggregate(
        day=Sum("cost", filter=Q(at__gte=day), default=Decimal(0)),
        month=Sum("cost", default=Decimal(0)),
    )


def action(space: Space, *, now: datetime) -> str:
    """Return what a spent budget demands of the next call: "", warn, cheap or pause."""
    if any(budget.is_spent for budget in budgets(space, now=now)):
        return space.options.budget_action
    return ""


def warn(space: Space, *, now: datetime) -> None:
    """Write a notice at 80 % and one at 100 % of each day's and month's budget."""
    for budget in budgets(space, now=now):
        if budget.is_spent:
            _tell(space, budget, at=100, level=Notice.Level.ERROR)
        elif budget.share >= WARN_AT:
            _tell(space, budget, at=80, level=Notice.Level.WARNING)


def _tell(space: Space, budget: Budget, *, at: int, level: str) -> None:
    what = _("today's") if budget.name == "day" else _("this month's")
    text = _("%(spent)s of %(what)s budget of %(limit)s US dollars is spent.") % {
        "spent": f"{budget.spent:.2f}",
        "what": what,
        "limit": f"{budget.limit:.2f}",
    }
    if at == 100:
        text += " " + _after(space.options.budget_action)
    key = f"budget-{budget.name}-{budget.period}-{at}"
    notices.tell(space, kind="budget", text=text, key=key, level=level)


def _after(action: str) -> str:
    return {
        "warn": _("Keno goes on as before."),
        "cheap": _("Keno goes on with the small model."),
        "pause": _("Keno waits until the next period or a higher budget."),
    }[action]
