"""Error analysis: whose error it was, and what an own one teaches. Lessons never feed back."""

from collections.abc import Iterator
from datetime import datetime

from memory.extraction import guards
from memory.models import Episode, LlmCall
from memory.text import said_key
from sleep import mishaps, proposals, thinking
from sleep.models import Night, PhaseRun, Proposal
from sleep.sleeper import Outcome, Phase, Sleeper
from sleep.voice import HEURISTICS

BATCH = 200


def plan(night: Night, now: datetime) -> list:
    """The episodes this night has read, and the failed calls since the last one."""
    read, last = _read_tonight(night), _last_success(night)
    size = BATCH if night.mode == HEURISTICS else 1
    return [
        *({"episodes": read[i : i + size]} for i in range(0, len(read), size)),
        {"calls_since": last.isoformat() if last else ""},
    ]


def work(sleeper: Sleeper, item: dict) -> Outcome:
    if "episodes" in item:
        return _from_episodes(sleeper, item["episodes"])
    return _from_calls(sleeper, item["calls_since"])


def _read_tonight(night: Night) -> list[int]:
    run = PhaseRun.objects.filter(night=night, run=night.run, phase="consolidation").first()
    return [pk for item in (run.plan if run else []) for pk in item.get("read", [])]


def _last_success(night: Night) -> datetime | None:
    earlier = Night.objects.filter(space=night.space, status=Night.Status.SUCCESS)
    return earlier.order_by("-ended_at").values_list("ended_at", flat=True).first()


def think(sleeper: Sleeper, item: dict) -> None:
    for _episode, text in _troubled(item.get("episodes", [])):
        thinking.mishap(text, ask=sleeper.complete)


def _troubled(ids: list[int]) -> Iterator[tuple[Episode, str]]:
    """Episodes that speak of an error, each with its words."""
    episodes = Episode.objects.filter(pk__in=ids).exclude(status=Episode.Status.DISCARDED)
    for episode in episodes.order_by("pk").prefetch_related("messages"):
        text = "\n".join(message.text for message in episode.messages.all() if not message.flags)
        text = text or episode.body
        if mishaps.is_error(text) and not guards.is_suspicious(text):
            yield episode, text


def _from_episodes(sleeper: Sleeper, ids: list[int]) -> Outcome:
    outcome = Outcome()
    for episode, text in _troubled(ids):
        told = thinking.mishap(text, ask=sleeper.complete) if sleeper.complete else None
        category, rule = told or (mishaps.classify(mishaps.error_line(text)), "")
        outcome.count("errors")
        outcome.count(category)
        if found := mishaps.lesson(text, category=category if told else "", rule=rule):
            mode = sleeper.complete.model if told else HEURISTICS
            outcome.count("lessons", _propose_lesson(sleeper, episode, found, mode))
    return outcome


def _from_calls(sleeper: Sleeper, since: str) -> Outcome:
    """Calls of a model that failed: counted by category; the outage itself was told already."""
    outcome = Outcome()
    calls = LlmCall.objects.filter(space=sleeper.space, ok=False, at__lte=sleeper.now)
    if since:
        calls = calls.filter(at__gt=datetime.fromisoformat(since))
    for error in calls.values_list("error", flat=True):
        outcome.count("failed_calls")
        outcome.count(f"calls_{mishaps.classify(error)}")
    return outcome


def _propose_lesson(sleeper: Sleeper, episode: Episode, found: mishaps.Lesson, mode: str) -> bool:
    made = proposals.propose(
        sleeper.space,
        Proposal.Kind.ADD,
        key=proposals.key("lesson", episode.chat_id, said_key(found.text)),
        night=sleeper.night,
        title=found.text,
        after={
            "text": found.text,
            "subject": "lessons",
            "kind": "lesson",
            "category": "other",
            "chat": episode.chat_id,
            "confidence": 0.6,
            "quote": found.error,
            "language": episode.language,
        },
        rationale=found.told,
        evidence=[{"episode": episode.pk, "chat": episode.chat_id, "quote": found.error}],
        confidence=0.6,
        mode=mode,
    )
    return bool(made)


PHASE = Phase("errors", plan, work, think)
