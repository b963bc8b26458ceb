"""The overview: is everything well, what waits, what was learned, what did it cost."""

import datetime as dt
import json
from dataclasses import dataclass, field
from statistics import median

from django.apps import apps
from django.core.cache import cache
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum, TextField
from django.db.models.functions import Cast
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from kenoweb import demo
from kenoweb.auth.access import in_space, rows_in
from kenoweb.nights import page as night_progress
from kenoweb.nights.page import PHASES, duration
from kenoweb.nights.review_queue import ICONS
from kenoweb.people import page as people
from kenoweb.ui import charts
from kenoweb.ui.formatting import channel_name, city, day_start, money, number, since
from kenoweb.ui.responses import OPENED_RECEIPT, space_url
from memory.models import (
    Fact,
    GoldenQuestion,
    Heartbeat,
    LlmCall,
    Message,
    Notice,
    RecallItem,
    Space,
)
from memory.operations import health as health_checks
from memory.operations.health import totals
from sleep.models import Night, Proposal

DAYS = 14
STATES = {
    "running": gettext_lazy("running"),
    "stopped": gettext_lazy("stopped"),
    "failed": gettext_lazy("failed"),
}
# Older spaces are not shown the first steps.
FIRST_STEPS_FOR = dt.timedelta(days=30)
BEGINNINGS = ("chats", "facts", "transfer", "members")
LEARNED_WITHIN = dt.timedelta(days=1)
# Some checks read much; nobody reloads faster than this and expects news.
HEALTH_CACHE_SECONDS = 10


@dataclass(frozen=True)
class Figure:
    """One number of the strip, with a note and its last two weeks."""

    label: str
    value: str
    note: str = ""
    url: str = ""
    bars: list[tuple[str, float]] = field(default_factory=list)
    line: list[float] = field(default_factory=list)
    steps: range = range(0)
    chart_label: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Sign:
    """One word of the health line, or a whole sentence when something is wrong."""

    name: str
    value: str
    level: str = health_checks.OK


def build(space: Space, *, now: dt.datetime) -> dict:
    today = timezone.localdate(now)
    measured = measure(space, now=now, today=today)
    state, signs = health(space, now=now, measured=measured)
    return {
        "measured": measured,
        "now": now,
        "place": city(space.timezone),
        "signs": signs,
        "state": state,
        "figures": figures(space, now=now, today=today, measured=measured),
        "waiting": waiting(space),
        "learned": learned(space, now=now),
        "night": last_night(space),
        # The graph is loaded later; this keeps its room.
        "graph_room": people.graph_height(measured["people"]),
        "golden": measured["golden"],
        "growth": charts.memory_growth(space, today=today),
        "activity": charts.activity(space, today=today),
        # Called only where it is shown: on the page of a space that has nothing yet.
        "demo": demo.state,
        "begin": {noun: space_url(f"{noun}:index", space) for noun in BEGINNINGS},
    }


def measure(space: Space, *, now: dt.datetime, today: dt.date) -> dict:
    """Return the numbers of the page, read in one statement."""
    pending, fresh = _pending(space), _learned_since(space, now - LEARNED_WITHIN)
    calls = rows_in(space, LlmCall).filter(at__gte=day_start(today.replace(day=1)))
    unseen, levels = rows_in(space, Notice).filter(seen_at=None), Notice.Level
    loud = unseen.filter(level__in=[levels.WARNING, levels.ERROR])
    newest = Heartbeat.objects.order_by("-beat_at").values("pk")[:1]
    beat = Heartbeat.objects.filter(pk=Subquery(newest))
    return totals(
        beat_at=("max", beat.values("beat_at")),
        channels=("max", beat.values_list(Cast("channels", TextField()))),
        pending=("count", pending.values("pk")),
        oldest_pending=("min", pending.values("created_at")),
        learned=("count", fresh.values("pk")),
        learned_at_night=("count", fresh.filter(source=Fact.Source.NIGHT).values("pk")),
        # What is built in costs nothing and is no model that anybody chose.
        calls=("count", calls.exclude(provider="offline").values("pk")),
        cost=("sum", calls.values("cost")),
        people=("count", people.in_graph(space)),
        golden=("count", rows_in(space, GoldenQuestion).filter(status="active").values("pk")),
        notices=("count", loud.values("pk")),
        last_message=("max", rows_in(space, Message).values("sent_at")),
        **_firsts(space, now=now),
    )


def _firsts(space: Space, *, now: dt.datetime) -> dict:
    """Read whether the first steps were done; not in the demo or an old space."""
    if now - space.created_at > FIRST_STEPS_FOR or demo.is_demo(space):
        return {}
    rows = {
        "said": rows_in(space, Fact),
        "recalled": RecallItem.objects.filter(recall__space=space, mark=RecallItem.Mark.USED),
        "slept": rows_in(space, Night),
        "asked_model": rows_in(space, LlmCall).exclude(provider="offline"),
    }
    return {name: ("max", queryset.values("pk")) for name, queryset in rows.items()}


def first_steps(space: Space, measured: dict, *, opened: bool) -> list[dict]:
    """Return what to try first; empty when all of it was done."""
    if "said" not in measured:
        return []
    measured = measured | {"opened": opened}
    steps = [
        ("said", _("Say a fact"), _("Such as: “I am allergic to peanuts”."), "chats:index"),
        ("recalled", _("Ask for it"), _("“What am I allergic to?”"), "chats:index"),
        ("opened", _("Open the receipt"), _("It shows why Keno said that."), "recall:receipts"),
        ("slept", _("Let it sleep"), _("It sorts the day and asks you."), "nights:index"),
        ("asked_model", _("Connect a model"), _("Then it talks, too."), "connect:index"),
    ]
    if all(measured[name] for name, *_rest in steps):
        return []
    return [
        {"name": label, "hint": hint, "url": space_url(url, space), "done": bool(measured[name])}
        for name, label, hint, url in steps
    ]


def figures(space: Space, *, now: dt.datetime, today: dt.date, measured: dict) -> list[Figure]:
    facts = rows_in(space, Fact).exclude(status=Fact.Status.QUARANTINED)
    kinds = {
        "facts": (facts, "created_at", Count("pk")),
        "messages": (rows_in(space, Message), "sent_at", Count("pk")),
        "costs": (rows_in(space, LlmCall), "at", Sum("cost", default=0)),
    }
    counts = charts.per_day_each(kinds, end=today, days=DAYS)
    days = {name: charts.series(counts[name], end=today, days=DAYS) for name in kinds}
    return [
        to_decide(space, measured, now=now),
        learning(space, measured, days["facts"]),
        talking(space, days["messages"]),
        spending(space, measured, days["costs"]),
    ]


def to_decide(space: Space, measured: dict, *, now: dt.datetime) -> Figure:
    count, oldest = measured["pending"], measured["oldest_pending"]
    note = _("nothing waits")
    if oldest:
        note = _("oldest %(age)s") % {"age": since(oldest, now=now, long=True)}
    return Figure(
        _("To decide"),
        number(count),
        note,
        space_url("proposals:index", space),
        steps=range(min(count, 12)),
    )


def learning(space: Space, measured: dict, days: list[tuple[str, float]]) -> Figure:
    at_night = measured["learned_at_night"]
    return Figure(
        _("Learned in 24 hours"),
        number(measured["learned"]),
        _("%(n)s at night") % {"n": number(at_night)} if at_night else "",
        f"{space_url('facts:index', space)}?since=24h",
        bars=_unless_empty(days),
        chart_label=_("Facts learned a day, two weeks"),
    )


def talking(space: Space, days: list[tuple[str, float]]) -> Figure:
    values = [value for _day, value in days]
    usual = median(values[:-1])
    return Figure(
        _("Messages today"),
        number(values[-1]),
        _("%(n)s is usual") % {"n": number(usual)} if any(values[:-1]) else "",
        space_url("chats:index", space),
        line=values if any(values) else [],
        chart_label=_("Messages a day, two weeks"),
    )


def spending(space: Space, measured: dict, days: list[tuple[str, float]]) -> Figure:
    count = measured["calls"]
    calls = ngettext("%(n)s call", "%(n)s calls", count) % {"n": number(count)}
    return Figure(
        _("Cost this month"),
        money(float(measured["cost"] or 0)),
        calls if count else _("no model was called"),
        space_url("costs:index", space),
        bars=_unless_empty(days),
        chart_label=_("Dollars a day, two weeks"),
        wide=True,
    )


def _unless_empty(days: list[tuple[str, float]]) -> list[tuple[str, float]]:
    return days if any(value for _day, value in days) else []


def waiting(space: Space, *, most: int = 4) -> list[tuple]:
    """Return the oldest of the queue: (proposal, icon, text before, text after)."""
    oldest = _pending(space).order_by("created_at", "pk")[:most]
    return [(row, ICONS.get(row.kind, "fact"), *_wordings(row)) for row in oldest]


def _wordings(proposal: Proposal) -> tuple[str, str]:
    """Return the text before and after, where one wording replaces another."""
    if proposal.kind not in ("revise", "supersede") or not proposal.targets:
        return "", ""
    first = proposal.targets[0]
    then = proposal.before.get(f"{first['type']}:{first['id']}", {})
    return then.get("text", ""), str(proposal.after.get("text", ""))


def learned(space: Space, *, now: dt.datetime, most: int = 5) -> list[dict]:
    """Return the newest facts with the change that made each, so that it can be undone."""
    events = apps.get_model("memory", "FactEvent").objects.filter(pgh_obj_id=OuterRef("pk"))
    made_by = events.order_by("pgh_id").values("pgh_context_id")[:1]
    facts = _learned_since(space, now - LEARNED_WITHIN).select_related("chat")
    facts = facts.annotate(made_by=Subquery(made_by)).order_by("-created_at", "-pk")[:most]
    return [{"fact": fact, "change": str(fact.made_by or "")} for fact in facts]


def _learned_since(space: Space, when: dt.datetime) -> QuerySet[Fact]:
    facts = rows_in(space, Fact).filter(created_at__gt=when)
    return facts.exclude(status=Fact.Status.QUARANTINED)


def last_night(space: Space) -> dict | None:
    """Return the latest night with its phases as (name, seconds)."""
    night = rows_in(space, Night).order_by("-local_date").first()
    if night is None:
        return None
    phases = list(night.phases.filter(run=night.run))
    parts = [(PHASES.get(run.phase, run.phase), max(0.05, run.seconds)) for run in phases]
    seconds = duration(phases)
    counts = totals(
        changes=("count", night.changes.values("pk")),
        proposed=("count", night.proposals.values("pk")),
    )
    return {
        "night": night,
        "parts": parts,
        "seconds": number(seconds, 0 if seconds >= 10 else 1),
        "phases": phases,
        **counts,
        "url": space_url("nights:detail", space, pk=night.pk),
    }


def health(space: Space, *, now: dt.datetime, measured: dict) -> tuple[str, list[Sign]]:
    """Return the state in one word, and signs for it: first what is wrong, then what runs."""
    key = f"vitals:{space.pk}:{get_language()}"
    findings = cache.get_or_set(
        key, lambda: health_checks.check(space, now=now), HEALTH_CACHE_SECONDS
    )
    unwell = [Sign("", finding.text, level=finding.level) for finding in findings if finding.text]
    if count := measured["notices"]:
        unwell.append(Sign(_("Notices"), number(count), level=health_checks.WARNING))
    runs = _workers(measured["beat_at"], measured["channels"], now=now)
    if last := measured["last_message"]:
        runs.append(Sign(_("Last message"), since(last, now=now, long=True)))
    return health_checks.overall_state(findings), [*unwell, *runs]


def _workers(beat_at: dt.datetime | None, channels: str, *, now: dt.datetime) -> list[Sign]:
    if beat_at is None:
        return []
    signs = [Sign(_("Worker"), _("seen %(age)s") % {"age": since(beat_at, now=now, long=True)})]
    return signs + [
        Sign(channel_name(name), STATES.get(state, state))
        for name, state in json.loads(channels).items()
    ]


def _pending(space: Space) -> QuerySet[Proposal]:
    return rows_in(space, Proposal).filter(status=Proposal.Status.PENDING)


@in_space(role="viewer")
def index(request, space):
    context = build(space, now=timezone.now())
    last = context["night"] or {"night": None, "phases": []}
    progress = night_progress.progress_of(last["night"], space, last["phases"])
    opened = OPENED_RECEIPT in request.COOKIES
    steps = first_steps(space, context["measured"], opened=opened)
    context |= {"space": space, "progress": progress, "first_steps": steps}
    return render(request, "overview/index.html", context)
