"""One night: its phases in order, one at a time, resumable at the item where it stopped."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, time, timedelta, tzinfo

from django.db import connection, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory import jobs, notices
from memory.models import Space
from memory.trust import golden
from sleep import budgeted_model, proposals
from sleep.models import Night, PhaseRun, sentence
from sleep.phase import Phase, PhaseContext
from sleep.phases import PHASES

logger = logging.getLogger(__name__)
# Says "a night" among advisory locks; the second number is the space.
LOCK = 0x4B4E


class AlreadyAsleep(Exception):
    """This space is asleep already; its night goes on in another process."""

    def __str__(self):
        return self.__doc__


class NotDue(Exception):
    """Another process has slept for this space meanwhile."""

    def __str__(self):
        return self.__doc__


def is_due(space: Space, *, now: datetime) -> bool:
    nights = Night.objects.filter(space=space, status=Night.Status.SUCCESS)
    last = nights.order_by("-ended_at").values_list("ended_at", flat=True).first()
    return is_past_hour(
        now,
        zone=space.zone,
        hour=space.options.sleep_hour,
        minute=space.options.sleep_minute,
        last_success=last,
        slept=nights.filter(local_date=space.local_date(now)).exists(),
    )


def sleep(
    space: Space,
    *,
    now: datetime,
    phases: tuple[Phase, ...] = PHASES,
    complete: Callable[[str], str] | None = None,
    mode: str = budgeted_model.HEURISTICS,
    asked_by: str = "",
    may_ask: bool = True,
    if_due: bool = False,
) -> Night:
    """Sleep now: begin tonight's night, or go on with it where it stopped.

    With `may_ask` off, what would be asked of the model is reckoned and nothing is asked. With
    `if_due`, a night that another process slept while this one waited is not slept again.
    """
    with sleep_lock(space), translation.override(space.language):
        if if_due and not (has_stopped_night(space) or is_due(space, now=now)):
            raise NotDue
        night = _begin(space, now=now, mode=mode, asked_by=asked_by)
        speaker = budgeted_model.model_for_night(complete, night=night)
        try:
            runs = {run.phase: run for run in night.phases.filter(run=night.run)}
            for position, phase in enumerate(phases):
                run = _open_phase(night, phase, position, runs.get(phase.name))
                _run_phase(night, phase, run, speaker, may_ask=may_ask)
        except Exception as error:
            _fail(night, error)
            raise
        _succeed(night)
    return night


def has_stopped_night(space: Space) -> bool:
    """Whether a night of this space ended half way."""
    return Night.objects.filter(space=space).exclude(status=Night.Status.SUCCESS).exists()


class RollBackRehearsal(Exception):
    """Ends a rehearsal: everything it did is rolled back."""


def rehearse(
    space: Space,
    *,
    now: datetime,
    phases: tuple[Phase, ...] = PHASES,
    complete: Callable[[str], str] | None = None,
) -> Night:
    """Sleep and forget it: what a night would do, on heuristics, with nothing kept.

    The night that comes back has its phases as `told`, and what asking would have cost.
    """
    try:
        with transaction.atomic():
            given = {"phases": phases, "complete": complete, "may_ask": False}
            night = sleep(space, now=now, asked_by="rehearsal", **given)
            night.told = list(night.phases.filter(run=night.run))
            raise RollBackRehearsal
    except RollBackRehearsal:
        return night


@contextmanager
def sleep_lock(space: Space) -> Iterator[None]:
    """Hold this space's lock; a process that dies gives it back by dying."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, space.pk])
        if not cursor.fetchone()[0]:
            raise AlreadyAsleep
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK, space.pk])


def is_asleep(space: Space) -> bool:
    """Whether a process is sleeping for this space right now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND classid = %s AND objid = %s AND objsubid = 2)",
            [LOCK, space.pk],
        )
        return cursor.fetchone()[0]


@transaction.atomic
def _begin(space: Space, *, now: datetime, mode: str, asked_by: str) -> Night:
    held = golden.red(space)
    unfinished = Night.objects.filter(space=space).exclude(status=Night.Status.SUCCESS)
    night = unfinished.order_by("local_date").first()
    if night:
        night.attempts += 1
    else:
        night, made = Night.objects.get_or_create(
            space=space,
            local_date=space.local_date(now),
            defaults={"started_at": now, "mode": mode, "asked_by": asked_by, "held": held},
        )
        if made:
            return night
        night.run += 1
        night.started_at, night.undone_at = now, None
        night.asked_by = asked_by
    night.status, night.error, night.ended_at = Night.Status.RUNNING, "", None
    night.mode, night.held = mode, held
    night.save()
    return night


def _run_phase(
    night: Night,
    phase: Phase,
    run: PhaseRun,
    model: budgeted_model.BudgetedModel | None,
    *,
    may_ask: bool,
) -> None:
    if run.status == PhaseRun.Status.SUCCESS:
        return
    context = PhaseContext(night, phase.name, night.started_at, model)
    try:
        if model and phase.think and "questions" not in run.counts:
            _estimate(run, phase, context)
        while run.cursor < len(run.plan):
            if model and phase.think and may_ask:
                _think(run, phase, context)
            _do_item(run, phase, context)
    except Exception as error:
        PhaseRun.objects.filter(pk=run.pk).update(
            status=PhaseRun.Status.FAILED, error=str(error)[:2000], ended_at=timezone.now()
        )
        raise
    if run.status != PhaseRun.Status.SUCCESS:
        # It had nothing to do, or died between its last item and here.
        run.status, run.ended_at = PhaseRun.Status.SUCCESS, timezone.now()
        run.save(update_fields=["status", "ended_at"])


@transaction.atomic
def _open_phase(night: Night, phase: Phase, position: int, run: PhaseRun | None) -> PhaseRun:
    if run is None:
        run = PhaseRun.objects.create(
            night=night,
            run=night.run,
            phase=phase.name,
            position=position,
            plan=phase.plan(night, night.started_at),
        )
    elif run.status == PhaseRun.Status.FAILED:
        run.status, run.error, run.ended_at = PhaseRun.Status.RUNNING, "", None
        run.save(update_fields=["status", "error", "ended_at"])
    Night.objects.filter(pk=night.pk).update(phase=phase.name)
    return run


@transaction.atomic
def _estimate(run: PhaseRun, phase: Phase, context: PhaseContext) -> None:
    """Say what this phase will ask and what that costs, before it asks anything."""
    with context.complete.counting() as lengths:
        for item in run.plan[run.cursor :]:
            phase.think(context, item)
    night, cost = context.night, budgeted_model.estimate_cost(lengths, space=context.space)
    night.cost_estimate += cost or 0
    night.save(update_fields=["cost_estimate"])
    run.counts["questions"] = len(lengths)
    run.save(update_fields=["counts"])


def _think(run: PhaseRun, phase: Phase, context: PhaseContext) -> None:
    had_spent = context.complete.spent
    with context.complete.asking():
        phase.think(context, run.plan[run.cursor])
    if context.complete.spent and not had_spent:
        run.lines.append(
            sentence(N_("The night has spent what it may; heuristics go on from here."))
        )


@transaction.atomic
def _do_item(run: PhaseRun, phase: Phase, context: PhaseContext) -> None:
    outcome = phase.work(context, run.plan[run.cursor])
    run.cursor += 1
    for name, n in outcome.counts.items():
        run.counts[name] = round(run.counts.get(name, 0) + n, 6)
    run.lines += outcome.lines
    written = ["cursor", "counts", "lines"]
    if run.cursor == len(run.plan):
        run.status, run.ended_at = PhaseRun.Status.SUCCESS, timezone.now()
        written += ["status", "ended_at"]
    run.save(update_fields=written)


def _fail(night: Night, error: Exception) -> None:
    logger.exception("night failed", extra={"night": night.pk, "space": night.space_id})
    Night.objects.filter(pk=night.pk).update(
        status=Night.Status.FAILED,
        error=str(error)[:2000],
        ended_at=timezone.now(),
        cost=budgeted_model.night_spending(night)[0],
    )
    notices.tell(
        night.space,
        kind="night_failed",
        key=f"night-failed-{night.pk}-{night.run}",
        level="error",
        text=lambda: (
            _("The night of %(date)s failed and will be tried again.") % {"date": night.local_date}
        ),
        link=f"nights/{night.pk}/",
    )


def _succeed(night: Night) -> None:
    night.status, night.phase, night.ended_at = Night.Status.SUCCESS, "", timezone.now()
    night.cost = budgeted_model.night_spending(night)[0]
    night.save(update_fields=["status", "phase", "ended_at", "cost"])
    thought = night.proposals.exclude(mode=budgeted_model.HEURISTICS)
    if night.cost and (count := thought.count()):
        # What asking cost is borne by what a model proposed.
        thought.update(cost=night.cost / count)
    proposals.announce(night)
    jobs.ask_golden(night.space_id, "night")
    jobs.call_hooks("night-done", object_id=night.pk, space_id=night.space_id)


MIN_BETWEEN_NIGHTS = timedelta(hours=20)


def is_past_hour(
    now: datetime,
    *,
    zone: tzinfo,
    hour: int,
    minute: int = 0,
    last_success: datetime | None,
    slept: bool,
    between: timedelta = MIN_BETWEEN_NIGHTS,
) -> bool:
    """Past the hour on a local date that has not slept, and long enough after the last night.

    A wall clock that skips 02:30 is past it at 03:00; one that shows it twice has slept by then.
    A last night in the future (the clock was set back) counts as far away, not as just now.
    """
    if slept or now.astimezone(zone).time() < time(hour, minute):
        return False
    return last_success is None or abs(now - last_success) >= between
