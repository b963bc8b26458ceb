"""Reflection: the night in numbers, and a sentence when there is something new to say."""

from datetime import datetime, timedelta

from django.utils.translation import gettext_noop as N_

from memory.models.prepared import insert
from sleep import advice
from sleep.models import Night, Reflection, sentence
from sleep.phase import Outcome, Phase, PhaseContext


def plan(night: Night, now: datetime) -> list:
    return ["reflect"]


def work(context: PhaseContext, item: str) -> Outcome:
    talk, _replies = advice.reply_measures(context.space, now=context.now)
    totals = advice.night_totals(context.night) | advice.day_counts(context.night, now=context.now)
    numbers = reflect(totals, talk | advice.memory_measures(context.space, now=context.now))
    insights = _news(context, insights_of(totals, numbers))
    measured = {"numbers": numbers, "insights": insights, "at": context.now}
    # Only this phase writes it, under the lease of the night.
    if not Reflection.objects.filter(night=context.night).update(**measured):
        insert(Reflection(space=context.space, night=context.night, **measured))
    return Outcome({"insights": len(insights)}, insights)


def reflect(totals: dict, measured: dict) -> dict[str, float]:
    episodes = totals.get("episodes", 0)
    at_night = sum(totals.get(name, 0) for name in ("facts_new", "facts_restored"))
    learned = at_night + totals.get("facts_by_day", 0)
    proposed = totals.get("patterns_proposed", 0) + totals.get("facts_proposed", 0)
    return measured | {
        "learned": learned,
        "learning_rate": _share(learned, episodes),
        "consolidation_yield": _share(at_night + proposed, episodes),
        "error_repeat_rate": advice.error_repeat_rate(totals),
        "filler_rate": measured.get("filler_rate", 0),
        "voice_consistency": round(1 - min(1.0, 2 * measured.get("filler_rate", 0)), 4),
    }


def insights_of(totals: dict, numbers: dict) -> list[str]:
    insights = []
    if numbers["learned"] > 5:
        values = {"facts": numbers["learned"], "episodes": totals.get("episodes", 0)}
        text = N_("High learning rate: %(facts)d new facts from %(episodes)d episodes.")
        insights.append(sentence(text, values))
    counted = {
        "contradictions": N_("Contradictions found: %(n)d."),
        "procedures": N_("Solutions that helped again: %(n)d."),
    }
    insights += [sentence(counted[k], {"n": totals[k]}) for k in counted if totals.get(k, 0)]
    return insights


def _news(context: PhaseContext, insights: list[str]) -> list[str]:
    """Leave out what an earlier night of this week has said, with whatever numbers."""
    week = context.now - timedelta(days=7)
    earlier = Reflection.objects.filter(space=context.space, at__gt=week, at__lt=context.now)
    lines = (line for lines in earlier.values_list("insights", flat=True) for line in lines)
    known = {line.partition(", ")[0] for line in lines}
    return [line for line in insights if line.partition(", ")[0] not in known]


def _share(part: float, whole: float) -> float:
    return round(min(1.0, part / whole), 4) if whole else 0.0


PHASE = Phase("reflection", plan, work)
