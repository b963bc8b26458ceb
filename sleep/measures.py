"""What can be measured about Keno's own behaviour, read from the database."""

from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from memory import identity
from memory.models import Fact, Message, Pattern, Space
from sleep.models import Night, PhaseRun

WEEK, MONTH, UNUSED = timedelta(days=7), timedelta(days=30), timedelta(days=90)
REMOVED_STATUSES = (Fact.Status.ARCHIVED, Fact.Status.TRASHED)


def night_totals(night: Night) -> dict[str, float]:
    """The counts of tonight's phases, added up by name."""
    totals: dict[str, float] = {}
    for run in PhaseRun.objects.filter(night=night, run=night.run):
        for name, n in run.counts.items():
            totals[name] = totals.get(name, 0) + n
    return totals


def day_counts(night: Night, *, now: datetime) -> dict[str, float]:
    """What was learned in talk since the night before."""
    earlier = Night.objects.filter(space=night.space, local_date__lt=night.local_date)
    last = earlier.order_by("-local_date").values_list("started_at", flat=True).first()
    facts = Fact.objects.filter(
        space=night.space, created_at__gt=last or now - WEEK, created_at__lte=now
    )
    put_away = Fact.Status.QUARANTINED, *REMOVED_STATUSES
    by_day = facts.exclude(source=Fact.Source.NIGHT).exclude(written_by="night")
    return {"facts_by_day": by_day.exclude(status__in=put_away).count()}


def reply_measures(space: Space, *, now: datetime) -> tuple[dict[str, float], list[str]]:
    """How Keno talked in the last week, and the replies themselves."""
    rows = Message.objects.filter(
        space=space, role=Message.Role.ASSISTANT, sent_at__gt=now - WEEK, sent_at__lte=now
    )
    told = list(rows.order_by("-sent_at").values_list("text", "flags")[:2000])
    if not told:
        return {"replies": 0}, []
    replies = [text for text, _flags in told]
    held = identity.rules.violations_of(space, replies)
    hedged = sum("hedging" in flags for _text, flags in told)
    return {
        "replies": len(replies),
        "filler_rate": round(sum(map(bool, held)) / len(replies), 4),
        "hedging_rate": round(hedged / len(replies), 4),
        "reply_length": round(sum(map(len, replies)) / len(replies), 1),
    }, replies


def unused_facts(space: Space, *, now: datetime) -> QuerySet[Fact]:
    """Old facts that no reply has needed for three months: possibly obsolete, the oldest first."""
    idle = Q(last_used_at=None) | Q(last_used_at__lt=now - UNUSED)
    old = Fact.objects.filter(space=space, status=Fact.Status.ACTIVE, pinned=False)
    return old.filter(idle, created_at__lt=now - UNUSED).order_by("created_at", "pk")


def memory_measures(space: Space, *, now: datetime) -> dict[str, float]:
    """What extraction left behind, and what nobody needs."""
    extracted = Fact.objects.filter(
        space=space, written_by="extraction", created_at__gt=now - MONTH, created_at__lte=now
    )
    junk = Count("pk", filter=Q(status__in=REMOVED_STATUSES))
    total, junk = extracted.aggregate(total=Count("pk"), junk=junk).values()
    return {
        "extracted": total,
        "junk_rate": round(junk / total, 4) if total else 0,
        "unused_facts": unused_facts(space, now=now).count(),
        "unused_patterns": unused_patterns(space, now=now).count(),
    }


def unused_patterns(space: Space, *, now: datetime) -> QuerySet[Pattern]:
    """Patterns a month old that nothing has called for."""
    live = Pattern.objects.filter(space=space, status=Pattern.Status.ACTIVE)
    return live.filter(use_count=0, created_at__lt=now - MONTH)


def error_repeat_rate(totals: dict[str, float]) -> float:
    """The share of a night's errors that taught nothing new; others' outages do not count."""
    errors = totals.get("errors", 0)
    repeated = max(0, errors - totals.get("lessons", 0) - totals.get("external", 0))
    return round(min(1.0, repeated / errors), 4) if errors else 0.0
