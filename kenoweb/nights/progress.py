"""How far a night has come, while it runs."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy
from procrastinate.contrib.django.models import ProcrastinateJob

from kenoweb.auth.access import rows_in
from memory.models import Space
from sleep import cycle
from sleep.models import Night, PhaseRun

PHASES = {
    "consolidation": gettext_lazy("consolidation"),
    "errors": gettext_lazy("errors"),
    "pruning": gettext_lazy("pruning"),
    "improvement": gettext_lazy("improvement"),
    "reflection": gettext_lazy("reflection"),
}


@dataclass(frozen=True)
class Step:
    """One phase of a night under way."""

    name: str
    state: str  # "done", "now" or "to come"
    done: int = 0
    of: int = 0


def progress(space: Space, *, asked: bool = False) -> dict:
    """Whether the space is asleep, and how far its night has come; `asked`: it soon will be."""
    night = rows_in(space, Night).order_by("-local_date").first()
    found = progress_of(night, space)
    return found | {"asked": not found["asleep"] and asked and _is_queued(space)}


def progress_of(night: Night | None, space: Space, runs: list[PhaseRun] | None = None) -> dict:
    """The same of a night, and phases, that were read already."""
    running, found = cycle.is_asleep(space), []
    if running and night:
        found = steps(list(night.phases.filter(run=night.run)) if runs is None else runs)
    return {"asleep": running, "asked": False, "night": night, "steps": found}


def steps(runs: list[PhaseRun]) -> list[Step]:
    by_name = {run.phase: run for run in runs}
    return [_step(name, by_name.get(name)) for name in PHASES]


def _step(name: str, run: PhaseRun | None) -> Step:
    title = str(PHASES[name]).capitalize()
    if run is None:
        return Step(title, "to come")
    state = "done" if run.status == PhaseRun.Status.SUCCESS else "now"
    return Step(title, state, run.cursor, len(run.plan))


def _is_queued(space: Space) -> bool:
    return ProcrastinateJob.objects.filter(
        task_name="sleep.night", status__in=["todo", "doing"], args__space_id=space.pk
    ).exists()
