"""How far a night has come, while it runs."""

from dataclasses import dataclass

from procrastinate.contrib.django.models import ProcrastinateJob

from kenoweb.access import things
from kenoweb.overview import PHASES
from memory.models import Space
from sleep import cycle
from sleep.models import Night, PhaseRun


@dataclass(frozen=True)
class Step:
    """One phase of a night under way."""

    name: str
    state: str  # "done", "now" or "to come"
    done: int = 0
    of: int = 0


def progress(space: Space, *, asked: bool = False) -> dict:
    """Whether the space is asleep, and how far its night has come; `asked`: it soon will be."""
    night = things(space, Night).order_by("-local_date").first()
    running = cycle.asleep(space)
    waits = not running and asked and _is_queued(space)
    found = {"asleep": running, "asked": waits, "night": night, "steps": []}
    return found | (
        {"steps": steps(list(night.phases.filter(run=night.run)))} if running and night else {}
    )


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
