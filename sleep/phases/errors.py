"""Errors: classify technical trouble and propose what our own teaches. Lessons never feed back."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Prefetch

from memory.models import Episode, Fact, LlmCall, Message
from memory.text.normalise import said_key
from sleep import budgeted_model, claims, error_patterns, nights, proposals
from sleep.budgeted_model import HEURISTICS
from sleep.models import Night, PhaseRun
from sleep.phase import Outcome, Phase, PhaseContext

BATCH = 200


def plan(night: Night, now: datetime) -> list:
    """List the episodes this night has read, and the failed calls since the last night."""
    run = PhaseRun.objects.filter(night=night, run=night.run, phase="consolidation").first()
    read = [pk for item in (run.plan if run else []) for pk in item.get("read", [])]
    last = nights.last_slept(night.space, "ended_at")
    size = BATCH if night.mode == HEURISTICS else 1
    return [
        *({"episodes": read[i : i + size]} for i in range(0, len(read), size)),
        {"calls_since": last.isoformat() if last else ""},
    ]


def work(context: PhaseContext, item: dict) -> Outcome:
    if "episodes" in item:
        return _from_episodes(context, item["episodes"])
    return _from_calls(context, item["calls_since"])


def think(context: PhaseContext, item: dict) -> None:
    for _episode, text in _troubled(context, item.get("episodes", [])):
        budgeted_model.ask_error(text, ask=context.complete)


def _troubled(context: PhaseContext, ids: list[int]) -> Iterator[tuple[Episode, str]]:
    """Yield the episodes that speak of an error, each with its words."""
    unsure = [pk for pk in ids if pk not in context.untroubled]
    episodes = Episode.objects.filter(pk__in=unsure).exclude(status=Episode.Status.DISCARDED)
    messages = Message.objects.only("space", "episode", "role", "flags", "text")
    episodes = episodes.only("space", "chat", "body", "language").order_by("pk")
    for episode in episodes.prefetch_related(Prefetch("messages", messages)):
        text = claims.unsuspected(episode, episode.messages.all())
        if error_patterns.is_error(text):
            yield episode, text


def _from_episodes(context: PhaseContext, ids: list[int]) -> Outcome:
    outcome = Outcome()
    for episode, text in _troubled(context, ids):
        answer = budgeted_model.ask_error(text, ask=context.complete) if context.complete else None
        category, rule = answer or (error_patterns.classify(error_patterns.error_line(text)), "")
        outcome.count("errors")
        outcome.count(category)
        if lesson := error_patterns.lesson(text, category=category if answer else "", rule=rule):
            mode = context.complete.model if answer else HEURISTICS
            outcome.count("lessons", _propose_lesson(context, episode, lesson, mode))
    return outcome


def _from_calls(context: PhaseContext, since: str) -> Outcome:
    """Count the failed calls of a model by category; the outage itself was announced already."""
    outcome = Outcome()
    calls = LlmCall.objects.filter(space=context.space, ok=False, at__lte=context.now)
    if since:
        calls = calls.filter(at__gt=datetime.fromisoformat(since))
    for error in calls.values_list("error", flat=True):
        outcome.count("failed_calls")
        outcome.count(f"calls_{error_patterns.classify(error)}")
    return outcome


def _propose_lesson(
    context: PhaseContext, episode: Episode, lesson: error_patterns.Lesson, mode: str
) -> bool:
    return context.propose_learned(
        Fact.Kind.LESSON,
        lesson.text,
        episode=episode,
        key=proposals.key("lesson", episode.chat_id, said_key(lesson.title)),
        title=lesson.title,
        quote=lesson.error,
        rationale=lesson.lines,
        evidence=[{"episode": episode.pk, "chat": episode.chat_id, "quote": lesson.error}],
        confidence=0.6,
        mode=mode,
    )


PHASE = Phase("errors", plan, work, think)
