"""Reflection: how the night went, kept as numbers so that nights can be compared."""

from datetime import datetime

from django.utils.translation import gettext as _

from sleep import measures
from sleep.models import Night, Reflection
from sleep.phase import Outcome, Phase, PhaseContext


def plan(night: Night, now: datetime) -> list:
    return ["reflect"]


def work(context: PhaseContext, item: str) -> Outcome:
    talk, _replies = measures.reply_measures(context.space, now=context.now)
    totals = measures.night_totals(context.night) | measures.day_counts(
        context.night, now=context.now
    )
    numbers = reflect(totals, talk | measures.memory_measures(context.space, now=context.now))
    insights = insights_of(totals, numbers)
    Reflection.objects.update_or_create(
        night=context.night,
        defaults={
            "space": context.space,
            "numbers": numbers,
            "insights": insights,
            "at": context.now,
        },
    )
    return Outcome({"insights": len(insights)}, insights)


def reflect(totals: dict, measured: dict) -> dict[str, float]:
    """The success metrics of a night, each 0..1 or a count."""
    episodes = totals.get("episodes", 0)
    at_night = sum(totals.get(name, 0) for name in ("facts_new", "facts_restored"))
    learned = at_night + totals.get("facts_by_day", 0)
    found = at_night + totals.get("patterns_proposed", 0) + totals.get("facts_proposed", 0)
    return measured | {
        "learned": learned,
        "learning_rate": _share(learned, episodes),
        "consolidation_yield": _share(found, episodes),
        "error_repeat_rate": measures.error_repeat_rate(totals),
        "filler_rate": measured.get("filler_rate", 0),
        "voice_consistency": round(1 - min(1.0, 2 * measured.get("filler_rate", 0)), 4),
    }


def insights_of(totals: dict, numbers: dict) -> list[str]:
    """What is worth a sentence; strict thresholds, as the documents have them."""
    found = []
    episodes = totals.get("episodes", 0)
    if numbers["learned"] > 5:
        found.append(
            _("High learning rate: %(facts)d new facts from %(episodes)d episodes.")
            % {"facts": numbers["learned"], "episodes": episodes}
        )
    if totals.get("errors", 0) and not totals.get("lessons", 0):
        found.append(_("%(n)d errors taught nothing new.") % {"n": totals["errors"]})
    if episodes and numbers["consolidation_yield"] < 0.1:
        found.append(_("Little was learned: few episodes say anything that lasts."))
    if totals.get("patterns", 0) > totals.get("patterns_proposed", 0):
        found.append(_("More patterns were archived than found."))
    return found


def _share(part: float, whole: float) -> float:
    return round(min(1.0, part / whole), 4) if whole else 0.0


PHASE = Phase("reflection", plan, work)
