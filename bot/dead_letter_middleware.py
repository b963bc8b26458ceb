"""Around every job: when it is given up, the reason is kept where the dashboard can see it."""

import logging

from asgiref.sync import sync_to_async
from procrastinate.job_context import JobContext

from bot.channels import SendFailed
from memory.llm.request import ProviderError
from memory.queue import jobs

log = logging.getLogger(__name__)

# These say it all; anything else is a bug and shows where.
EXPECTED = (ProviderError, SendFailed, *jobs.OUTAGE_ERRORS)


def sync_job(call_next, context: JobContext, worker):
    try:
        return call_next()
    except Exception as error:
        _record_failure(context, error)
        raise


async def async_job(call_next, context: JobContext, worker):
    try:
        return await call_next()
    except Exception as error:
        await sync_to_async(_record_failure)(context, error)
        raise


def _record_failure(context: JobContext, error: Exception) -> None:
    job, task = context.job, context.app.tasks.get(context.job.task_name)
    again = task is not None and task.get_retry_exception(exception=error, job=job)
    log.log(
        logging.WARNING if again else logging.ERROR,
        "job failed" if again else "job given up",
        exc_info=None if isinstance(error, EXPECTED) else error,
        extra={"task": job.task_name, "job": job.id, "attempt": job.attempts, "why": str(error)},
    )
    if not again:
        jobs.record_dead_letter(job, error=f"{type(error).__name__}: {error}")
