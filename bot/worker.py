"""One process that runs the channels and the jobs. Any number of them may run at once."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from django.utils import timezone
from procrastinate import PsycopgConnector
from procrastinate.contrib.django import DjangoApp, app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.job_context import JobContext
from procrastinate.worker import Worker

from bot.channels import Channel, SendFailed, open_channels, queue
from bot.channels.base import first_done
from memory import jobs
from memory.llm.request import ProviderError
from memory.models import Heartbeat, Space
from memory.operations import leases, webhooks
from memory.spaces.connections import values as connection_values

# Their message is enough; anything else is a bug and is logged with its traceback.
EXPECTED = (ProviderError, SendFailed, *jobs.OUTAGE_ERRORS)
log = logging.getLogger(__name__)
BEAT_SECONDS = 1
GRACE_SECONDS = 8
# Scheduled jobs are found by looking, not by being told: this is how late a batch may be.
POLL_SECONDS = 0.5
MAX_PAUSE_SECONDS = 15
POOL_SECONDS = 10
TOKENS = ("TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN")


def run_sync_job(call_next, context: JobContext, worker):
    try:
        return call_next()
    except Exception as error:
        _record_failure(context, error)
        raise


async def run_async_job(call_next, context: JobContext, worker):
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


@dataclass
class Running:
    """What this process is doing."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    channels: dict[str, str] = field(default_factory=dict)
    worker: Worker | None = None
    # Jobs that only the database believes to run here; found twice they are put back in the queue.
    doubted: set[int] = field(default_factory=set)
    # The tokens of bots this process began with; None when nobody would start it again.
    tokens: list[str] | None = None
    # The database does not answer: logged once when it goes and once when it is back.
    is_cut_off: bool = False


async def run(
    space: Space | None,
    *,
    channels: Sequence[Channel],
    concurrency: int,
    once: bool = False,
    watched: bool = False,
) -> None:
    """Work until SIGTERM (or until the queue is empty, with `once`); then leave nothing behind.

    A `watched` worker is started again by whoever watches it: it ends when the bot's token was
    changed in the dashboard, and begins with the new one.
    """
    running = Running()
    if watched:
        running.tokens = await sync_to_async(connection_values)(*TOKENS)
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, running.stop.set)
    loops = [_beat(running), *(_run_channel(channel, space, running) for channel in channels)]
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        if once:
            await _work(running, concurrency=concurrency, once=True)
        else:
            await _keep_working(running, concurrency=concurrency)
    finally:
        running.stop.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await sync_to_async(_sign_off)()


async def _keep_working(running: Running, *, concurrency: int) -> None:
    """Start the worker again whenever it failed because the database was gone."""
    pause = 1
    while not running.stop.is_set():
        began = asyncio.get_running_loop().time()
        try:
            await _work(running, concurrency=concurrency)
        except Exception as error:
            if not running.is_cut_off:
                log.error("worker failed", extra={"why": f"{type(error).__name__}: {error}"})
        if asyncio.get_running_loop().time() - began > 60:
            pause = 1
        await first_done(asyncio.sleep(pause), running.stop.wait())
        pause = min(pause * 2, MAX_PAUSE_SECONDS)
        while running.is_cut_off and not running.stop.is_set():
            await asyncio.sleep(BEAT_SECONDS)


async def _work(running: Running, *, concurrency: int, once: bool = False) -> None:
    tasks = _tasks()
    async with tasks.open_async():
        running.worker = tasks._worker(
            concurrency=concurrency,
            queues=_queues(),
            wait=not once,
            install_signal_handlers=False,
            fetch_job_polling_interval=POLL_SECONDS,
            update_heartbeat_interval=BEAT_SECONDS,
            stalled_worker_timeout=jobs.SILENT_SECONDS,
            delete_jobs="successful",
        )
        work = _drain(running.worker) if once else running.worker.run()
        working = asyncio.create_task(work)
        # wait() is cancelled, not the work itself.
        await first_done(asyncio.wait({working}), running.stop.wait())
        running.worker.stop()
        await asyncio.wait({working}, timeout=GRACE_SECONDS)
        if not working.done():
            await _abandon_job(running.worker)
        working.result()


def _tasks() -> DjangoApp:
    """Return the same tasks over a connection pool of their own.

    The tasks themselves enqueue on Django's connection: a job and its rows are one transaction."""
    tasks = DjangoApp(
        # A pool tries less and less often to reach a database that is gone; then it is made anew.
        connector=PsycopgConnector(kwargs=connector_params(), timeout=POOL_SECONDS),
        worker_defaults={"task_middleware": [run_sync_job, run_async_job]},
    )
    app.perform_import_paths()
    tasks.tasks, tasks.periodic_registry = app.tasks, app.periodic_registry
    return tasks


def _queues() -> list[str]:
    return [jobs.ANYBODY, *(queue(channel.name) for channel in open_channels())]


async def _drain(worker: Worker) -> None:
    """Work until nothing is due; what the last jobs enqueued is due too."""
    while True:
        await worker.run()
        if not await sync_to_async(jobs.due)(_queues()):
            return


async def _run_channel(channel: Channel, space: Space | None, running: Running) -> None:
    """Run one channel; when it falls over, start it again a little later."""
    wait = 1
    while not running.stop.is_set():
        running.channels[channel.name] = "running"
        try:
            await channel.run(space, running.stop)
            running.channels[channel.name] = "stopped"
            return
        except Exception as error:
            if not isinstance(error, DatabaseError):
                log.exception("channel failed", extra={"channel": channel.name})
            running.channels[channel.name] = "failing"
        await first_done(asyncio.sleep(wait), running.stop.wait())
        wait = min(wait * 2, 60)


async def _beat(running: Running) -> None:
    """Write the heartbeat, and take over the jobs of processes that have died."""
    while True:
        try:
            await sync_to_async(_beat_once)(running)
            if running.is_cut_off:
                log.warning("the database is back")
            running.is_cut_off = False
            if running.tokens not in (None, await sync_to_async(connection_values)(*TOKENS)):
                log.warning("a bot has another token: starting anew")
                running.stop.set()
        except (DatabaseError, psycopg.Error) as error:
            if not running.is_cut_off:
                why = str(error).partition("\n")[0]
                log.error("the database does not answer; trying until it does", extra={"why": why})
            running.is_cut_off = True
            await sync_to_async(connections.close_all)()
        await asyncio.sleep(BEAT_SECONDS)


def _beat_once(running: Running) -> None:
    close_old_connections()
    now = timezone.now()
    seen = {"beat_at": now, "channels": running.channels, "version": settings.VERSION}
    Heartbeat.objects.update_or_create(
        name=_name(), defaults=seen, create_defaults=seen | {"started_at": now}
    )
    worker = running.worker
    leases.renew()
    webhooks.collect(now=now)
    rescued = jobs.rescue()
    if worker and worker.worker_id:
        # A job whose end could not be written stays "doing" for ever and blocks its chat.
        busy = {context.job.id for context in list(worker._running_jobs.values())}
        strays = jobs.strays(worker.worker_id, busy=busy)
        rescued += jobs.requeue(strays & running.doubted)
        running.doubted = strays
    if rescued:
        log.warning("jobs rescued", extra={"count": rescued})


async def _abandon_job(worker: Worker) -> None:
    """Put the running jobs back in the queue and end the process: a thread cannot be stopped.

    Should one still finish in between, the guarded commit of the turn makes the second run idle.
    """
    own = await sync_to_async(jobs.strays)(worker.worker_id, busy=set())
    returned = await sync_to_async(jobs.requeue)(own)
    await sync_to_async(_sign_off)()
    log.warning("stopped with jobs running", extra={"returned": returned})
    logging.shutdown()
    os._exit(0)


def _sign_off() -> None:
    Heartbeat.objects.filter(name=_name()).delete()


def _name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
