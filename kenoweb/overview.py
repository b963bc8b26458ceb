"""The first page answers: is it well, what waits, what did it learn, what did it cost.

Parts whose tables do not exist yet answer nothing, and the page leaves them out.
"""

import datetime as dt
from dataclasses import dataclass, field
from statistics import median

from django.apps import apps
from django.core.cache import cache
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from kenoweb import demo, trends
from kenoweb.access import things
from kenoweb.places import address
from kenoweb.templatetags.keno import money, number, since
from memory import vitals
from memory.models import Fact, Heartbeat, Message, Notice, Space

DAYS = 14
PHASES = {
    "consolidation": gettext_lazy("consolidation"),
    "errors": gettext_lazy("errors"),
    "pruning": gettext_lazy("pruning"),
    "improvement": gettext_lazy("improvement"),
    "reflection": gettext_lazy("reflection"),
}
CHANNELS = {"http": "HTTP", "web": gettext_lazy("Web"), "console": gettext_lazy("Console")}
STATES = {
    "running": gettext_lazy("running"),
    "stopped": gettext_lazy("stopped"),
    "failed": gettext_lazy("failed"),
}
ICONS = {
    "supersede": "conflict",
    "merge": "merge",
    "add_pattern": "pattern",
    "retire_pattern": "pattern",
    "retire": "archive",
    "rule": "identity",
    "preference": "identity",
    "setting": "settings",
    "release": "shield",
    "imported": "transfer",
}
BEGINNINGS = ("chats", "facts", "transfer", "members")
HOUR = dt.timedelta(hours=1)
# Seconds: some checks read much; nobody reloads faster than this and expects news.
FRESH = 10


@dataclass(frozen=True)
class Figure:
    """One number of the strip, with what it is measured against and its last two weeks."""

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
    level: str = vitals.OK


@dataclass(frozen=True)
class Learned:
    fact: Fact
    change: str = ""


def build(space: Space, *, now: dt.datetime) -> dict:
    """Everything the page shows."""
    today = timezone.localdate(now)
    state, signs = health(space, now=now)
    return {
        "now": now,
        "place": space.timezone.rpartition("/")[2].replace("_", " "),
        "signs": signs,
        "state": state,
        "figures": figures(space, now=now, today=today),
        "waiting": waiting(space),
        "learned": learned(space, now=now),
        "night": last_night(space),
        "growth": trends.growth(space, today=today),
        "activity": trends.activity(space, today=today),
        # Asked only where it is shown: on the page of a space that has nothing yet.
        "demo": demo.state,
        "begin": {noun: address(f"{noun}:index", space) for noun in BEGINNINGS},
    }


def figures(space: Space, *, now: dt.datetime, today: dt.date) -> list[Figure]:
    made = [to_decide(space, now=now), learning(space, now=now, today=today)]
    made += [talking(space, today=today), spending(space, today=today)]
    return [figure for figure in made if figure]


def to_decide(space: Space, *, now: dt.datetime) -> Figure:
    rows = _pending(space)
    found = rows.aggregate(n=Count("pk"), oldest=Min("created_at")) if rows is not None else {}
    count, oldest = found.get("n", 0), found.get("oldest")
    note = _("nothing waits")
    if oldest:
        note = _("oldest %(age)s") % {"age": since(oldest, now=now, long=True)}
    return Figure(
        _("To decide"),
        number(count),
        note,
        address("proposals:index", space),
        steps=range(min(count, 12)),
    )


def learning(space: Space, *, now: dt.datetime, today: dt.date) -> Figure:
    rows = things(space, Fact).exclude(status=Fact.Status.QUARANTINED)
    fresh = rows.filter(created_at__gt=now - 24 * HOUR).aggregate(
        n=Count("pk"), at_night=Count("pk", filter=Q(source=Fact.Source.NIGHT))
    )
    bars = trends.series(
        trends.per_day(rows, "created_at", end=today, days=DAYS), end=today, days=DAYS
    )
    url = address("facts:index", space)
    return Figure(
        _("Learned in 24 hours"),
        number(fresh["n"]),
        _("%(n)s at night") % {"n": number(fresh["at_night"])} if fresh["at_night"] else "",
        f"{url}?since=24h" if url else "",
        bars=bars if any(value for _day, value in bars) else [],
        chart_label=_("Facts learned a day, two weeks"),
    )


def talking(space: Space, *, today: dt.date) -> Figure:
    counts = trends.per_day(things(space, Message), "sent_at", end=today, days=DAYS)
    values = [value for _day, value in trends.series(counts, end=today, days=DAYS)]
    usual = median(values[:-1])
    return Figure(
        _("Messages today"),
        number(values[-1]),
        _("%(n)s is usual") % {"n": number(usual)} if any(values[:-1]) else "",
        address("chats:index", space),
        line=values if any(values) else [],
        chart_label=_("Messages a day, two weeks"),
    )


def spending(space: Space, *, today: dt.date) -> Figure | None:
    model = _model("memory.LlmCall")
    if model is None:
        return None
    calls = things(space, model)
    month = calls.filter(at__gte=trends.day_start(today.replace(day=1)))
    spent = month.aggregate(sum=Sum("cost", default=0), n=Count("pk"))
    days = trends.per_day(calls, "at", end=today, days=DAYS, total="cost")
    bars = [(day, float(value)) for day, value in trends.series(days, end=today, days=DAYS)]
    calls_said = ngettext("%(n)s call", "%(n)s calls", spent["n"]) % {"n": number(spent["n"])}
    return Figure(
        _("Cost this month"),
        money(float(spent["sum"])),
        calls_said if spent["n"] else _("no model was called"),
        address("costs:index", space),
        bars=bars if any(value for _day, value in bars) else [],
        chart_label=_("Dollars a day, two weeks"),
        wide=True,
    )


def waiting(space: Space, *, most: int = 4) -> list[tuple]:
    """The first of the queue, the oldest at the top: (proposal, icon, before, after)."""
    rows = _pending(space)
    if rows is None:
        return []
    first = rows.order_by("created_at", "pk")[:most]
    return [(one, ICONS.get(one.kind, "fact"), *change(one)) for one in first]


def change(proposal) -> tuple[str, str]:
    """The words before and after, for the kinds where one wording takes the place of another."""
    if proposal.kind not in ("revise", "supersede") or not proposal.targets:
        return "", ""
    first = proposal.targets[0]
    then = proposal.before.get(f"{first['type']}:{first['id']}", {})
    return then.get("text", ""), str(proposal.after.get("text", ""))


def learned(space: Space, *, now: dt.datetime, most: int = 5) -> list[Learned]:
    """The newest beliefs with the change that made each, so that it can be taken back."""
    facts = (
        things(space, Fact)
        .filter(created_at__gt=now - 24 * HOUR)
        .exclude(status=Fact.Status.QUARANTINED)
        .select_related("chat")
        .order_by("-created_at", "-pk")[:most]
    )
    changes = _first_changes([fact.pk for fact in facts])
    return [Learned(fact, changes.get(fact.pk, "")) for fact in facts]


def _first_changes(pks: list[int]) -> dict[int, str]:
    events = apps.get_model("memory", "FactEvent").objects.filter(pgh_obj_id__in=pks)
    firsts = events.order_by("pgh_obj_id", "pgh_id").distinct("pgh_obj_id")
    return {
        pk: str(context)
        for pk, context in firsts.values_list("pgh_obj_id", "pgh_context_id")
        if context
    }


def last_night(space: Space) -> dict | None:
    """The latest night with its phases as (name, seconds)."""
    model = _model("sleep.Night")
    night = things(space, model).order_by("-local_date").first() if model else None
    if night is None:
        return None
    phases = list(night.phases.filter(run=night.run))
    parts = [(PHASES.get(one.phase, one.phase), max(0.05, one.seconds)) for one in phases]
    took = sum(seconds for _name, seconds in parts)
    return {
        "night": night,
        "parts": parts,
        "seconds": number(took, 0 if took >= 10 else 1),
        "changes": night.changes.count(),
        "proposed": night.proposals.count(),
        "url": address("nights:detail", space, pk=night.pk) or address("nights:index", space),
    }


def health(space: Space, *, now: dt.datetime) -> tuple[str, list[Sign]]:
    """The state in one word and what it rests on: first what is wrong, then what runs."""
    key = f"vitals:{space.pk}:{get_language()}"
    found = cache.get_or_set(key, lambda: vitals.check(space, now=now), FRESH)
    unwell = [Sign("", one.text, level=one.level) for one in found if one.text]
    seen = [_notices(space), *_workers(now=now), _last_message(space, now=now)]
    return vitals.state(found), [*unwell, *(sign for sign in seen if sign)]


def _notices(space: Space) -> Sign | None:
    loud = [Notice.Level.WARNING, Notice.Level.ERROR]
    count = things(space, Notice).filter(seen_at=None, level__in=loud).count()
    return Sign(_("Notices"), number(count), level=vitals.WARNING) if count else None


def _workers(*, now: dt.datetime) -> list[Sign]:
    beat = Heartbeat.objects.order_by("-beat_at").first()
    if beat is None:
        return []
    signs = [
        Sign(_("Worker"), _("seen %(age)s") % {"age": since(beat.beat_at, now=now, long=True)})
    ]
    return signs + [
        Sign(CHANNELS.get(name, name.title()), STATES.get(state, state))
        for name, state in beat.channels.items()
    ]


def _last_message(space: Space, *, now: dt.datetime) -> Sign | None:
    last = things(space, Message).aggregate(at=Max("sent_at"))["at"]
    return Sign(_("Last message"), since(last, now=now, long=True)) if last else None


def _pending(space: Space) -> QuerySet | None:
    model = _model("sleep.Proposal")
    return things(space, model).filter(status="pending") if model else None


def _model(label: str):
    try:
        return apps.get_model(label)
    except LookupError:
        return None
