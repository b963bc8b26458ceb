"""Run one night: its phases in order, resumable at the item where it stopped."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, time, timedelta, tzinfo
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory import jobs, notices
from memory.history.actors import Refusal
from memory.models import Space
from memory.models.prepared import insert, save_fields
from memory.operations import leases
from memory.trust import golden
from sleep import budgeted_model, nights, reminding
from sleep.models import Night, PhaseRun, sentence
from sleep.phase import Phase, PhaseContext
from sleep.phases import PHASES

logger = logging.getLogger(__name__)
STOPPED = N_("Somebody stopped the night here. What was left waits for the next one.")
MIN_BETWEEN_NIGHTS = timedelta(hours=20)


class AlreadyAsleep(Refusal):
    """This space is asleep already; its night goes on in another process."""


class NotDue(Refusal):
    """Another process has slept for this space meanwhile."""


def is_due(space: Space, *, now: datetime) -> bool:
    """Whether the night of this space should begin, or go on where it stopped."""
    return bool(due_spaces(Space.objects.filter(pk=space.pk), now=now))


def due_spaces(spaces: QuerySet[Space], *, now: datetime) -> list[Space]:
    """Return the spaces whose night is due or stopped half way, longest waiting first.

    It is one query, however many spaces there are.
    """
    nights_of_space = Night.objects.filter(space=OuterRef("pk"))
    slept = nights_of_space.filter(status=Night.Status.SUCCESS).order_by("-ended_at")
    spaces = spaces.annotate(
        slept_at=Subquery(slept.values("ended_at")[:1]),
        slept_on=ArraySubquery(slept.order_by("-local_date").values("local_date")[:9]),
        has_stopped=Exists(nights_of_space.exclude(status=Night.Status.SUCCESS)),
    )
    return [
        space
        for space in spaces.order_by(F("slept_at").asc(nulls_first=True), "pk")
        if space.has_stopped
        or is_past_hour(
            now,
            zone=space.zone,
            hour=space.options.sleep_hour,
            minute=space.options.sleep_minute,
            last_success=space.slept_at,
            slept=space.local_date(now) in space.slept_on,
        )
    ]


def sleep(space: Space, *, now: datetime, if_due: bool = False, **options: Any) -> Night:
    """Sleep now: begin tonight's night, or go on with it where it stopped.

    With `if_due`, a night that another process slept while this one waited is not slept again.
    `options` are what _sleep() takes.
    """
    with sleep_lease(space) as lease:
        if if_due and not is_due(space, now=now):
            raise NotDue
        return _sleep(space, lease, now=now, **options)


def _sleep(
    space: Space,
    lease: leases.Held,
    *,
    now: datetime,
    phases: tuple[Phase, ...] = PHASES,
    complete: Callable[[str], str] | None = None,
    mode: str = budgeted_model.HEURISTICS,
    asked_by: str = "",
    may_ask: bool = True,
) -> Night:
    """Without `may_ask` the cost of asking the model is estimated and nothing is asked."""
    with translation.override(space.language):
        night = _begin(space, now=now, mode=mode, asked_by=asked_by)
        model = budgeted_model.model_for_night(complete, night=night)
        try:
            context = PhaseContext(night, "", night.started_at, model)
            runs = {run.phase: run for run in night.phases.filter(run=night.run)}
            for position, phase in enumerate(phases):
                run = _open_phase(night, phase, position, runs.get(phase.name))
                here = replace(context, phase=phase.name)
                _run_phase(run, phase, here, lease=lease, may_ask=may_ask)
                if phase is not phases[-1] and nights.is_stopped(night):
                    run.lines.insert(0, sentence(STOPPED))
                    run.save(update_fields=["lines"])
                    break
        except leases.Taken:
            raise
        except Exception as error:
            _fail(night, error)
            raise
        _succeed(night)
    return night


def has_stopped_night(space: Space) -> bool:
    return Night.objects.filter(space=space).exclude(status=Night.Status.SUCCESS).exists()


class RollBackRehearsal(Exception):
    """Ends a rehearsal: everything it did is rolled back."""


def rehearse(space: Space, *, now: datetime, **options: Any) -> Night:
    """Sleep on heuristics and roll it back, to see what a night would do.

    The night that is returned has its phases as `told`, and what asking would have cost.
    """
    try:
        # The lease stands outside the transaction: others are refused at once, not at its end.
        with sleep_lease(space) as lease, transaction.atomic():
            night = _sleep(space, lease, now=now, asked_by="rehearsal", may_ask=False, **options)
            night.told = list(night.phases.filter(run=night.run))
            raise RollBackRehearsal
    except RollBackRehearsal:
        return night


@contextmanager
def sleep_lease(space: Space) -> Iterator[leases.Held]:
    """Hold the night of this space; another process takes over soon after this one has died."""
    try:
        with leases.hold(f"night-{space.pk}") as lease:
            yield lease
    except leases.Taken:
        raise AlreadyAsleep from None


def is_asleep(space: Space) -> bool:
    return leases.is_held(f"night-{space.pk}")


@transaction.atomic
def _begin(space: Space, *, now: datetime, mode: str, asked_by: str) -> Night:
    held = golden.red(space)
    unfinished = Night.objects.filter(space=space).exclude(status=Night.Status.SUCCESS)
    if night := unfinished.order_by("local_date").first():
        night.attempts += 1
    else:
        night, created = Night.objects.get_or_create(
            space=space,
            local_date=space.local_date(now),
            defaults={"started_at": now, "mode": mode, "asked_by": asked_by, "held": held},
        )
        if created:
            return night
        night.run += 1
        night.started_at, night.undone_at, night.asked_by = now, None, asked_by
    night.status, night.error, night.ended_at = Night.Status.RUNNING, "", None
    night.mode, night.held = mode, held
    night.save()
    return night


def _run_phase(
    run: PhaseRun, phase: Phase, context: PhaseContext, *, lease: leases.Held, may_ask: bool
) -> None:
    if run.status == PhaseRun.Status.SUCCESS:
        return
    thinks = context.complete and phase.think
    try:
        if thinks and "questions" not in run.counts:
            _estimate(run, phase, context)
        while run.cursor < len(run.plan):
            if thinks and may_ask:
                leases.confirm(lease)
                _think(run, phase, context)
            _do_item(run, phase, context, lease)
    except leases.Taken:
        raise
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
        plan = phase.plan(night, night.started_at)
        where = {"night": night, "run": night.run, "phase": phase.name, "position": position}
        run = PhaseRun(plan=plan, **where)
        insert(run)
    elif run.status == PhaseRun.Status.FAILED:
        run.status, run.error, run.ended_at = PhaseRun.Status.RUNNING, "", None
        run.save(update_fields=["status", "error", "ended_at"])
    night.phase = phase.name
    save_fields(night, "phase")
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
        spent = N_("The night has spent what it may; heuristics go on from here.")
        run.lines.append(sentence(spent))


@transaction.atomic
def _do_item(run: PhaseRun, phase: Phase, context: PhaseContext, lease: leases.Held) -> None:
    outcome = phase.work(context, run.plan[run.cursor])
    run.cursor += 1
    for name, n in outcome.counts.items():
        run.counts[name] = round(run.counts.get(name, 0) + n, 6)
    run.lines += outcome.lines
    fields = ["cursor", "counts", "lines"]
    if run.cursor == len(run.plan):
        run.status, run.ended_at = PhaseRun.Status.SUCCESS, timezone.now()
        fields += ["status", "ended_at"]
    save_fields(run, *fields)
    # Last, so that the row is held for a moment only; a process that lost the lease keeps nothing.
    leases.confirm(lease)


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
            _("The night of %(date)s failed and will be tried again.")
            % {"date": date_format(night.local_date, "MONTH_DAY_FORMAT")}
        ),
        link=f"nights/{night.pk}/",
    )


def _succeed(night: Night) -> None:
    night.status, night.phase, night.ended_at = Night.Status.SUCCESS, "", timezone.now()
    night.cost = budgeted_model.night_spending(night)[0]
    night.save(update_fields=["status", "phase", "ended_at", "cost"])
    by_model = night.proposals.exclude(mode=budgeted_model.HEURISTICS)
    if night.cost and (count := by_model.count()):
        # What a model proposed shares what asking it cost.
        by_model.update(cost=night.cost / count)
    reminding.announce(night)
    jobs.ask_golden(night.space_id, "night")
    jobs.call_hooks("night-done", object_id=night.pk, space_id=night.space_id)


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
    """Whether the hour has passed on a date not slept yet, long enough after the last night.

    A wall clock that skips 02:30 is past it at 03:00; one that shows it twice has slept by then.
    A last night in the future (the clock was set back) counts as far away, not as just now.
    """
    if slept or now.astimezone(zone).time() < time(hour, minute):
        return False
    return last_success is None or abs(now - last_success) >= between
