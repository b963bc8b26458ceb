"""Memory's jobs."""

from django.conf import settings
from django.utils import timezone
from procrastinate import builtin_tasks
from procrastinate.contrib.django import app

from memory import jobs, people
from memory.chats import service as chats
from memory.chats import summary
from memory.episodes import service as episodes
from memory.extraction import ingest as extraction
from memory.history import audit
from memory.jobs import AFTER_OUTAGE, GOLDEN, HOOK, OUTAGE_ERRORS, Backoff, periodic
from memory.llm.complete import asker, forget_words
from memory.models import Chat, Erasure, Message, Space
from memory.models.prepared import prepared
from memory.operations import backup, erasing, health, hooks, webhooks
from memory.options import HOLD, gate
from memory.spaces import api_tokens, encryption
from memory.trust import canaries, golden
from memory.vectors import likeness
from memory.vectors import store as embeddings

MONTH_HOURS = 30 * 24


@app.task(name="memory.ingest", retry=Backoff(first=5, longest=600, attempts=8))
def ingest(message_ids: list[int], reply_id: int, space_id: int) -> None:
    """Find the facts in what was said, put the reply beside it, and embed what is new."""
    reply = next(iter(_reply(reply=reply_id)), None)
    if reply is None:
        return
    chat = reply.chat
    reply.space = space = chat.space
    complete = asker("extract", space=space, chat=chat)
    # All that waits in the chat, so that order is kept whichever job comes first.
    waiting = extraction.waiting_in(chat, until=max(message_ids, default=reply_id))
    extraction.read(waiting, complete=complete)
    last = reply.reply_to
    # What was read before the reply is recorded on it already.
    if last is None or not last.ingested_at or last.ingested_at > reply.sent_at:
        lines = extraction.learned_from(Message.objects.filter(pk__in=message_ids).order_by("pk"))
        chats.record_changes(reply, [change for line in lines for change in line["changes"]])
    if not reply.episode_id:
        if last and not last.episode_id:
            last.refresh_from_db(fields=["episode"])
        episodes.follow(reply, likeness=likeness.topic)
    if HOLD in (gate(space.options, chat.channel), gate(space.options, "tags")):
        jobs.enqueue("sleep.propose_held", space_id=space_id, message_ids=message_ids)
    _summarise(chat)
    embeddings.put_new([*message_ids, reply_id])


@prepared(reply="bigint")
def _reply(reply):
    return Message.objects.select_related("chat__space", "reply_to").filter(pk=reply)


@app.task(name=HOOK, retry=AFTER_OUTAGE)
def hook(event: str, object_id: int, space_id: int) -> None:
    """Call the owner's hooks; the words are read now, so that nothing erased is passed on."""
    space, details = Space.objects.get(pk=space_id), dict[str, object](id=object_id)
    if event != "night-done":
        message = Message.objects.select_related("chat").filter(pk=object_id).first()
        if message is None or message.chat.incognito_since:
            return
        details = hooks.message_details(message)
    hooks.call(event, space=space, now=timezone.now(), **details)


@app.task(name=GOLDEN, retry=AFTER_OUTAGE)
def ask_golden(space_id: int, why: str) -> None:
    """Ask the golden questions of the space after something that may have made answers worse."""
    golden.run(Space.objects.get(pk=space_id), why=why)


@app.task(name=encryption.JOB, retry=Backoff(first=10, longest=600, attempts=12))
def encrypt(space_id: int) -> None:
    """Bring the words of a space into the form that was chosen for it."""
    encryption.work(space_id, now=timezone.now())


@periodic("memory.try_walls", cron="53 4 * * *")
def try_walls(timestamp: int) -> None:
    for space in Space.objects.filter(archived_at=None).order_by("pk"):
        canaries.try_walls(space)


@periodic("memory.summaries", cron="*/10 * * * *")
def summaries(timestamp: int) -> None:
    """Make summaries again that rest on something that was forgotten or discarded since."""
    for row in summary.unfit():
        _summarise(row.chat)


def _summarise(chat: Chat) -> None:
    ask = asker("summarise", space=chat.space, chat=chat, system=summary.SYSTEM)
    summary.compact(chat, complete=ask)


@periodic("memory.decide_recall", cron="*/5 * * * *")
def decide_recall(timestamp: int) -> None:
    """Decide whether older, imported and restored messages are memory."""
    extraction.decide_recall()


@periodic("memory.embed_missing", cron="*/5 * * * *")
def embed_missing(timestamp: int) -> None:
    """Embed what a failing provider, an import or raw SQL left without a vector."""
    embeddings.backfill(limit=2000)


@periodic("memory.find_people", cron="*/5 * * * *")
def find_people(timestamp: int) -> None:
    """Find the people of facts from before an upgrade, of an import or after an undo."""
    for space in people.unfilled():
        people.fill(space)


@periodic("memory.watch", cron="* * * * *")
def watch(timestamp: int) -> None:
    now = timezone.now()
    health.forget_dead_workers(now=now)
    api_tokens.expire_calls(now=now)
    for space in health.to_watch(now=now):
        health.watch(space, now=now)


@periodic("memory.sweep_clients", cron="11 3 * * *")
def sweep_clients(timestamp: int) -> None:
    api_tokens.expire_clients(now=timezone.now())
    webhooks.sweep(now=timezone.now())
    forget_words(now=timezone.now())


@periodic("memory.seal_audit", cron="* * * * *")
def seal_audit(timestamp: int) -> None:
    audit.seal()


@periodic("memory.anchor_audit", cron="37 2 * * *")
def anchor_audit(timestamp: int) -> None:
    """Keep the head of the audit outside the database, so that a chain cut short is found."""
    audit.anchor(settings.KENO_HOME / "audit-heads", now=timezone.now())


@periodic("memory.back_up", cron="41 2 * * *")
def back_up(timestamp: int) -> None:
    backup.run_scheduled(now=timezone.now())


@periodic("memory.sweep_jobs", cron="17 3 * * *", pass_context=True)
async def sweep_jobs(context, timestamp: int) -> None:
    """Delete jobs that were given up a month ago; their dead letters stay."""
    await builtin_tasks.remove_old_jobs(context, max_hours=MONTH_HOURS, remove_failed=True)


@app.task(name="memory.erase", retry=AFTER_OUTAGE)
def erase(erasure_id: int, space_id: int) -> None:
    """Run a requested erasure; a second run finds it done."""
    records = Erasure.objects.select_related("space").filter(pk=erasure_id)
    if (record := records.first()) is None:
        return
    try:
        erasing.run(record)
    except OUTAGE_ERRORS:
        raise
    except Exception:
        records.exclude(status=Erasure.Status.DONE).update(status=Erasure.Status.FAILED)
        raise


@periodic("memory.incognito", cron="*/10 * * * *")
def end_incognito(timestamp: int) -> None:
    erasing.end_quiet_incognito(now=timezone.now())
