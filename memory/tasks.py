"""Memory's jobs."""

from django.utils import timezone
from procrastinate import builtin_tasks
from procrastinate.contrib.django import app

from memory import embeddings
from memory import watch as watchdog
from memory.jobs import Backoff
from memory.models import Space

MONTH_HOURS = 30 * 24


@app.task(name="memory.ingest", retry=Backoff(first=5, longest=600, attempts=8))
def ingest(message_ids: list[int], reply_id: int, space_id: int) -> None:
    """Find facts in what was said, with guards, and embed them."""


@app.periodic(cron="*/5 * * * *")
@app.task(name="memory.embed_missing", queueing_lock="memory.embed_missing", pass_context=False)
def embed_missing(timestamp: int) -> None:
    """Embed what a failing provider, an import or raw SQL left without a vector."""
    embeddings.backfill(limit=2000)


@app.periodic(cron="* * * * *")
@app.task(name="memory.watch", queueing_lock="memory.watch")
def watch(timestamp: int) -> None:
    now = timezone.now()
    watchdog.sweep(now=now)
    for space in Space.objects.all():
        watchdog.watch(space, now=now)


@app.periodic(cron="17 3 * * *")
@app.task(name="memory.sweep_jobs", queueing_lock="memory.sweep_jobs", pass_context=True)
async def sweep_jobs(context, timestamp: int) -> None:
    """Jobs that were given up a month ago; their dead letters stay."""
    await builtin_tasks.remove_old_jobs(context, max_hours=MONTH_HOURS, remove_failed=True)
