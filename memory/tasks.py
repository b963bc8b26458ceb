"""Memory's jobs."""

from django.db.models import Q
from django.utils import timezone
from procrastinate import builtin_tasks
from procrastinate.contrib.django import app

from memory import embeddings, episodes, meaning
from memory import watch as watchdog
from memory.extraction import ingest as extraction
from memory.jobs import AFTER_OUTAGE, Backoff
from memory.llm.complete import asker
from memory.models import Fact, Message, Space

MONTH_HOURS = 30 * 24


@app.task(name="memory.ingest", retry=Backoff(first=5, longest=600, attempts=8))
def ingest(message_ids: list[int], reply_id: int, space_id: int) -> None:
    """Put what was said into its episode, find the facts in it, and embed what is new."""
    ids = [*message_ids, reply_id]
    said = list(Message.objects.filter(pk__in=ids).select_related("chat__space").order_by("pk"))
    known = {message.pk: message for message in said}
    for message in said:
        if message.reply_to_id in known:
            message.reply_to = known[message.reply_to_id]
        episodes.follow(message, likeness=meaning.topic)
    for chat in {message.chat for message in said}:
        complete = asker("extract", space=chat.space, chat=chat)
        # All that waits in the chat, so that order is kept whichever job comes first.
        until = max(message_ids, default=None)
        extraction.ingest_waiting(chat.space, chat=chat, complete=complete, until=until)
    learned = Fact.objects.filter(message__in=message_ids).values("pk")
    new = Q(kind="message", owner_id__in=ids) | Q(kind="fact", owner_id__in=learned)
    # A recall may have been faster and embedded some of it already.
    if embedder := embeddings.active():
        bare = embeddings.missing(embedder.name).filter(new)
        embeddings.put(list(bare.values_list("pk", flat=True)), by=embedder)


@app.periodic(cron="*/5 * * * *")
@app.task(
    name="memory.embed_missing",
    queueing_lock="memory.embed_missing",
    pass_context=False,
    retry=AFTER_OUTAGE,
)
def embed_missing(timestamp: int) -> None:
    """Embed what a failing provider, an import or raw SQL left without a vector."""
    embeddings.backfill(limit=2000)


@app.periodic(cron="* * * * *")
@app.task(name="memory.watch", queueing_lock="memory.watch", retry=AFTER_OUTAGE)
def watch(timestamp: int) -> None:
    now = timezone.now()
    watchdog.sweep(now=now)
    for space in Space.objects.all():
        watchdog.watch(space, now=now)


@app.periodic(cron="17 3 * * *")
@app.task(
    name="memory.sweep_jobs",
    queueing_lock="memory.sweep_jobs",
    pass_context=True,
    retry=AFTER_OUTAGE,
)
async def sweep_jobs(context, timestamp: int) -> None:
    """Jobs that were given up a month ago; their dead letters stay."""
    await builtin_tasks.remove_old_jobs(context, max_hours=MONTH_HOURS, remove_failed=True)
