"""Around every job: when it is given up, the reason is kept where the dashboard can see it."""

from asgiref.sync import sync_to_async
from procrastinate.job_context import JobContext

from memory import jobs


def sync_job(call_next, context: JobContext, worker):
    try:
        return call_next()
    except Exception as error:
        _keep(context, error)
        raise


async def async_job(call_next, context: JobContext, worker):
    try:
        return await call_next()
    except Exception as error:
        await sync_to_async(_keep)(context, error)
        raise


def _keep(context: JobContext, error: Exception) -> None:
    task = context.app.tasks.get(context.job.task_name)
    if task is None or task.get_retry_exception(exception=error, job=context.job) is None:
        jobs.bury(context.job, error=f"{type(error).__name__}: {error}")
