"""The job queue: enqueue, retry, rescue from dead workers, give up, try again."""

import math
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Min, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from procrastinate import jobs as procrastinate_jobs
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateEvent, ProcrastinateJob
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.retry import BaseRetryStrategy, RetryDecision

from memory.models import DeadLetter, GoldenQuestion, Space

# A worker that is silent for longer is dead: its jobs go to another.
SILENT_SECONDS = 5
# A job whose workers keep dying is the likely killer.
MAX_DEATHS = 20
# Rescued jobs go before waiting ones, except commands; not for ever: if such a job is what kills
# the workers, nothing else would get its turn.
RESCUED_PRIORITY, RESCUED_PRIORITY_ATTEMPTS = 9, 5
# Prefix of the name of who discarded a dead letter; the name alone says who retried it.
DISCARDED = "discarded:"
# The database went away, is full or is busy: not a fault of the job.
OUTAGE_ERRORS = (
    OperationalError,
    InterfaceError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    ConnectorException,
)
OUTAGE_FIRST_SECONDS = 1
# The row of a worker with its last beat is the lease of its jobs.
STALLED = """
SELECT j.id FROM procrastinate_jobs j
LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
WHERE j.status = 'doing'
AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => %s))
ORDER BY j.id
"""
# The queue that every worker serves.
ANYBODY = "default"
# The events of the owner's executables; see memory/operations/hooks.py.
HOOK, HOOK_PRIORITY = "memory.hook", -10
GOLDEN = "memory.golden"
HOOK_EVENTS = ("message-received", "reply-made", "night-done")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Backoff(BaseRetryStrategy):
    """Wait `first` seconds, then twice as long each time, with jitter; give up after `attempts`.

    An exception may carry `permanent` (give up now) and `retry_after` (seconds, its own wish).
    `only` names what is tried again at all. After an outage of the database the wait is short.
    """

    def __init__(
        self,
        *,
        first: float,
        longest: float,
        attempts: int,
        only: tuple[type[BaseException], ...] = (BaseException,),
    ):
        self.first, self.longest, self.attempts, self.only = first, longest, attempts, only

    def get_retry_decision(
        self, *, exception: BaseException, job: procrastinate_jobs.Job
    ) -> RetryDecision | None:
        seconds = self.wait(exception, attempt=job.attempts, chance=random.random())
        return None if seconds is None else RetryDecision(retry_in={"seconds": seconds})

    def wait(self, exception: BaseException, *, attempt: int, chance: float) -> int | None:
        """Return whole seconds to wait after this attempt (from 0), or None to give up."""
        is_last = getattr(exception, "permanent", False) or attempt + 1 >= self.attempts
        if is_last or not isinstance(exception, self.only):
            return None
        first = self.first
        if isinstance(exception, OUTAGE_ERRORS):
            first = min(first, OUTAGE_FIRST_SECONDS)
        backoff = min(first * 2 ** min(attempt, 30), self.longest) * (0.75 + chance / 2)
        return round(max(backoff, getattr(exception, "retry_after", None) or 0))


# For jobs that come again by themselves or that a person looks at when they fail: retry them only
# after an outage of the database.
AFTER_OUTAGE = Backoff(first=OUTAGE_FIRST_SECONDS, longest=60, attempts=12, only=OUTAGE_ERRORS)


def periodic(name: str, *, cron: str, **options: Any) -> Callable[[Callable], Any]:
    """Make the function a job that comes again by the clock and never waits twice."""
    as_task = app.task(name=name, queueing_lock=name, retry=AFTER_OUTAGE, **options)
    return lambda function: app.periodic(cron=cron)(as_task(function))


def enqueue(
    name: str,
    *,
    lock: str | None = None,
    once: str | None = None,
    at: datetime | None = None,
    priority: int = 0,
    queue: str = ANYBODY,
    **args: Any,
) -> int | None:
    """Add a job by its task's name, inside the caller's transaction.

    Jobs of one `lock` run one after the other. `once` names a job that need not wait twice:
    None is returned when one with that name is already waiting. A job of a `queue` of its own
    waits for a worker that serves it.
    """
    task = app.configure_task(
        name, lock=lock, queueing_lock=once, schedule_at=at, priority=priority, queue=queue
    )
    if once is None:
        return task.defer(**args)
    try:
        # Its own savepoint: a refused duplicate must not break the caller's transaction.
        with transaction.atomic():
            return task.defer(**args)
    except AlreadyEnqueued:
        return None


def call_hooks(event: str, *, object_id: int, space_id: int) -> None:
    """Have the owner's hooks of the event called, where there is a folder of them."""
    if (Path(settings.KENO_HOME) / "hooks").is_dir():
        enqueue(HOOK, priority=HOOK_PRIORITY, event=event, object_id=object_id, space_id=space_id)


def ask_golden(space_id: int, why: str) -> None:
    """Have the golden questions of the space asked again, where there are any."""
    active = GoldenQuestion.objects.filter(space=space_id, status=GoldenQuestion.Status.ACTIVE)
    if active.exists():
        enqueue(GOLDEN, once=f"golden-{space_id}", space_id=space_id, why=why)


def rescue() -> int:
    """Requeue the jobs of workers that died. Any number of processes may do so at once."""
    with connection.cursor() as cursor:
        cursor.execute(STALLED, [SILENT_SECONDS])
        stalled = [row[0] for row in cursor.fetchall()]
    return requeue(stalled)


def strays(worker_id: int, *, busy: set[int]) -> set[int]:
    """Return the jobs that are marked as this worker's but that it is not running."""
    mine = ProcrastinateJob.objects.filter(status="doing", worker_id=worker_id)
    return set(mine.values_list("pk", flat=True)) - busy


def requeue(job_ids: Iterable[int]) -> int:
    """Put running jobs back into the queue; return how many were."""
    return sum(_requeue(job_id) for job_id in job_ids)


@transaction.atomic
def _requeue(job_id: int) -> bool:
    with connection.cursor() as cursor:
        # The status and the skipped lock guard it: of two rescuers one wins.
        cursor.execute(
            """
            SELECT attempts, task_name, queueing_lock IS NOT NULL AND EXISTS (
                SELECT 1 FROM procrastinate_jobs o
                WHERE o.queueing_lock = j.queueing_lock AND o.status = 'todo')
            FROM procrastinate_jobs j
            WHERE id = %s AND status = 'doing' FOR UPDATE SKIP LOCKED
            """,
            [job_id],
        )
        row = cursor.fetchone()
        if row is None:
            return False
        attempts, task, has_twin = row
        # Attempts count failures and deaths alike, so a job that may fail often may die as often.
        strategy = getattr(app.tasks.get(task), "retry_strategy", None)
        is_killer = attempts >= max(MAX_DEATHS, getattr(strategy, "attempts", 0))
        if is_killer:
            job = ProcrastinateJob.objects.get(pk=job_id).procrastinate_job
            record_dead_letter(job, error="Its workers died again and again.")
        # A twin that waits under the same name does the work.
        status = "failed" if is_killer else "aborted" if has_twin else "todo"
        cursor.execute(
            """
            UPDATE procrastinate_jobs SET status = %(status)s::procrastinate_job_status,
                worker_id = NULL, attempts = attempts + 1, scheduled_at = NULL,
                priority = CASE WHEN attempts < %(times)s THEN greatest(priority, %(ahead)s)
                    WHEN priority = %(ahead)s THEN 0 ELSE priority END
            WHERE id = %(job)s
            """,
            {
                "status": status,
                "ahead": RESCUED_PRIORITY,
                "times": RESCUED_PRIORITY_ATTEMPTS,
                "job": job_id,
            },
        )
    return True


def record_dead_letter(job: procrastinate_jobs.Job, *, error: str) -> DeadLetter:
    """Store why the job was given up, for the dashboard."""
    values: dict[str, Any] = {"task": job.task_name, "args": job.task_kwargs, "error": error[:300]}
    values |= {"attempts": job.attempts + 1, "at": timezone.now()}
    values |= {"retried_at": None, "retried_by": ""}
    values["space"] = Space.objects.filter(pk=job.task_kwargs.get("space_id")).first()
    return DeadLetter.objects.update_or_create(job_id=job.id, defaults=values)[0]


def dead_letters(space: Space | None = None):
    """Return the dead letters that nobody retried or discarded, newest first."""
    waiting = DeadLetter.objects.filter(retried_at=None).order_by("-at", "-pk")
    return waiting if space is None else waiting.filter(space=space)


@transaction.atomic
def retry(letter: DeadLetter, *, by: str, now: datetime | None = None) -> bool:
    """Try the job again. False when someone decided before."""
    if not _settle(letter, by=by, now=now):
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE procrastinate_jobs SET status = 'todo', attempts = 0, scheduled_at = NULL"
            " WHERE id = %s AND status = 'failed'",
            [letter.job_id],
        )
        if not cursor.rowcount:
            # Old jobs are swept away; what they were to do is still on the letter.
            enqueue(letter.task, **letter.args)
    letter.refresh_from_db()
    return True


def discard(letter: DeadLetter, *, by: str, now: datetime | None = None) -> bool:
    """Mark the letter as settled without a retry. False when someone decided before."""
    won = _settle(letter, by=f"{DISCARDED}{by}", now=now)
    letter.refresh_from_db()
    return won


def _settle(letter: DeadLetter, *, by: str, now: datetime | None) -> bool:
    waiting = DeadLetter.objects.filter(pk=letter.pk, retried_at=None)
    return bool(waiting.update(retried_at=now or timezone.now(), retried_by=by[:160]))


def undiscard(letter: DeadLetter) -> bool:
    """Undo a discard. False when the job was tried again meanwhile."""
    gone = DeadLetter.objects.filter(pk=letter.pk, retried_by__startswith=DISCARDED)
    won = gone.update(retried_at=None, retried_by="")
    letter.refresh_from_db()
    return bool(won)


def counts() -> dict[str, int]:
    """Count the jobs that are waiting, scheduled for later, running and given up."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*) FILTER (WHERE status = 'todo'),
                   count(*) FILTER (WHERE status = 'todo' AND scheduled_at > now()),
                   count(*) FILTER (WHERE status = 'doing'),
                   (SELECT count(*) FROM memory_deadletter WHERE retried_at IS NULL)
            FROM procrastinate_jobs WHERE status IN ('todo', 'doing')
            """
        )
        todo, later, running, dead = cursor.fetchone()
    return {"waiting": todo - later, "later": later, "running": running, "dead": dead}


def due(queues: Iterable[str]) -> bool:
    """Tell whether a job of these queues could run now."""
    waiting = ProcrastinateJob.objects.filter(status="todo", queue_name__in=list(queues))
    return waiting.filter(Q(scheduled_at=None) | Q(scheduled_at__lte=timezone.now())).exists()


def oldest_waiting(*, now: datetime) -> timedelta:
    """Return how long the oldest job that could run has been waiting."""
    since = waiting_since(now=now).aggregate(oldest=Min("since"))["oldest"]
    return now - since if since else timedelta(0)


def waiting_since(*, now: datetime) -> QuerySet:
    """Return since when each job that could run has been waiting."""
    since = Coalesce("job__scheduled_at", "at")
    waiting = ProcrastinateEvent.objects.filter(type="deferred", job__status="todo")
    # A queue of its own waits for whoever serves it, which may be a terminal that is closed.
    waiting = waiting.filter(job__queue_name=ANYBODY)
    return waiting.annotate(since=since).filter(since__lte=now).values("since")


@dataclass
class RateLimit:
    """At most so many calls per person in any minute and any hour; 0 means no limit."""

    per_minute: int = 0
    per_hour: int = 0
    _passed: dict[str, deque] = field(default_factory=lambda: defaultdict(deque))

    def allow(self, person: object, *, now: datetime) -> bool:
        """Count one more call and return True, or return False when it is over a limit."""
        if not (self.per_minute or self.per_hour):
            return True
        times = self._passed[str(person)]
        while times and times[0] <= now - HOUR:
            times.popleft()
        minute = sum(at > now - MINUTE for at in times)
        if (self.per_minute and minute >= self.per_minute) or 0 < self.per_hour <= len(times):
            return False
        times.append(now)
        return True

    def wait(self, person: object, *, now: datetime) -> int:
        """Return the whole seconds until this person may call again."""
        times = self._passed[str(person)]
        full = [timedelta(0)]
        for limit, span in ((self.per_minute, MINUTE), (self.per_hour, HOUR)):
            if limit and len(times) >= limit:
                full.append(times[-limit] + span - now)
        return max(0, math.ceil(max(full).total_seconds()))
