"""One process that runs the channels and the jobs. Any number of them may run at once."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from django.utils import timezone
from procrastinate.contrib.django import DjangoApp, app
from procrastinate.worker import Worker

from bot import bury
from bot.channels import Channel
from memory import jobs
from memory.models import Heartbeat, Space

log = logging.getLogger(__name__)

BEAT_SECONDS = 2
GRACE_SECONDS = 8
# Scheduled jobs are found by looking, not by being told: this is how late a batch may be.
POLL_SECONDS = 0.5


@dataclass
class Running:
    """What this process is doing."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    channels: dict[str, str] = field(default_factory=dict)


async def run(
    space: Space | None, *, channels: Sequence[Channel], concurrency: int, once: bool = False
) -> None:
    """Work until SIGTERM (or until the queue is empty, with `once`); then leave nothing behind."""
    running = Running()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, running.stop.set)
    queue = _queue()
    async with queue.open_async():
        worker = _worker(queue, concurrency=concurrency, once=once)
        work = _drain(worker) if once else worker.run()
        working = asyncio.create_task(work, name="worker")
        beating = asyncio.create_task(_beat(running), name="heartbeat")
        talking = [
            asyncio.create_task(_talk(channel, space, running), name=channel.name)
            for channel in channels
        ]
        await _first(working, asyncio.create_task(running.stop.wait()))
        running.stop.set()
        await _wind_down(worker, working, [beating, *talking])


def _queue() -> DjangoApp:
    """The same tasks over a pool of its own; the tasks themselves enqueue by Django's connection,
    so that a job and the rows it speaks of are one transaction."""
    queue = DjangoApp(
        connector=app.connector.get_worker_connector(),
        worker_defaults={"task_middleware": [bury.sync_job, bury.async_job]},
    )
    app.perform_import_paths()
    queue.tasks, queue.periodic_registry = app.tasks, app.periodic_registry
    return queue


def _worker(queue: DjangoApp, *, concurrency: int, once: bool) -> Worker:
    return queue._worker(
        concurrency=concurrency,
        wait=not once,
        install_signal_handlers=False,
        fetch_job_polling_interval=POLL_SECONDS,
        update_heartbeat_interval=BEAT_SECONDS,
        stalled_worker_timeout=jobs.SILENT_SECONDS,
        delete_jobs="successful",
    )


async def _drain(worker: Worker) -> None:
    """Work until nothing is due; what the last jobs enqueued is due too."""
    while True:
        await worker.run()
        if not (await sync_to_async(jobs.counts)())["waiting"]:
            return


async def _talk(channel: Channel, space: Space | None, running: Running) -> None:
    """Run one channel; when it falls over, start it again a little later."""
    wait = 1
    while not running.stop.is_set():
        running.channels[channel.name] = "running"
        try:
            await channel.run(space, running.stop)
            running.channels[channel.name] = "stopped"
            return
        except Exception:
            log.exception("channel failed", extra={"channel": channel.name})
            running.channels[channel.name] = "failing"
        await _first(asyncio.sleep(wait), running.stop.wait())
        wait = min(wait * 2, 60)


async def _beat(running: Running) -> None:
    """Say that we live, and look after the jobs of those that do not any more."""
    name = f"{socket.gethostname()}:{os.getpid()}"
    while True:
        try:
            await sync_to_async(_beat_once)(name, running.channels)
        except DatabaseError:
            log.exception("heartbeat failed")
            await sync_to_async(connections.close_all)()
        await asyncio.sleep(BEAT_SECONDS)


def _beat_once(name: str, channels: dict[str, str]) -> None:
    close_old_connections()
    now = timezone.now()
    Heartbeat.objects.update_or_create(
        name=name,
        defaults={"beat_at": now, "channels": channels, "version": settings.VERSION},
        create_defaults={
            "started_at": now,
            "beat_at": now,
            "channels": channels,
            "version": settings.VERSION,
        },
    )
    if rescued := jobs.rescue():
        log.warning("jobs rescued", extra={"count": rescued})


async def _wind_down(worker: Worker, working: asyncio.Task, others: Sequence[asyncio.Task]) -> None:
    worker.stop()
    await asyncio.wait({working}, timeout=GRACE_SECONDS)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await sync_to_async(_sign_off)()
    if working.done():
        working.result()
        return
    # A thread cannot be stopped: its job goes back to the queue and the process ends at once.
    # Should it still finish in between, the guarded commit of the turn makes the second run idle.
    returned = await sync_to_async(jobs.give_back)(worker.worker_id)
    log.warning("stopped with jobs running", extra={"returned": returned})
    logging.shutdown()
    os._exit(0)


def _sign_off() -> None:
    Heartbeat.objects.filter(name=f"{socket.gethostname()}:{os.getpid()}").delete()


async def _first(*waits) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    _, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        if task.get_name() != "worker":
            task.cancel()
