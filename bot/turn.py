"""Answer messages, exactly once in effect, even if the process dies at any moment.

The language model is asked outside any transaction. Everything that follows from its answer is
one transaction, guarded by the messages still being unanswered: a job that ran before, twice or
after a rescue finds them answered and changes nothing.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import OperationalError, transaction
from django.db.models import Exists, OuterRef
from django.utils import translation
from django.utils.translation import gettext as _
from psycopg.errors import DeadlockDetected

from bot import commands, feedback, outbox, replies
from bot.commands import still_true
from memory import jobs, logs, notices
from memory.chats import inbox
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.extraction import ingest
from memory.extraction.apply import Applied
from memory.llm import choose as breaker
from memory.llm.choose import Choice, choose
from memory.llm.request import BudgetSpent, ProviderError
from memory.models import Chat, Fact, Message, Notice, OutboxItem
from memory.models.prepared import prepared, prepared_update
from memory.models.space import clear_turn_cache, one_turn, store_for_turn

UNANSWERED = "unanswered"
log = logging.getLogger(__name__)
# Learning from messages can wait; people who wrote cannot.
INGEST_PRIORITY = -5
MAX_COMMIT_ATTEMPTS = 3


@transaction.atomic
def send_outage_reply(
    chat: Chat, group: Sequence[Message], error: ProviderError, *, now: datetime
) -> None:
    """Say once per outage and chat that there is no answer; mark the messages until there is."""
    choice = choose("chat", space=chat.space)
    outage = _outage_key(choice, group, error, now=now)
    # Not again while a marked message waits, even if the outage has another name meanwhile.
    if not inbox.unanswered(chat.pk).filter(flags__contains=[UNANSWERED]).exists():
        key, kind = f"sorry-{outage}", OutboxItem.Kind.NOTICE
        outbox.put(chat, text=_sentence(error), key=key, kind=kind, now=now)
    for message in Message.objects.select_for_update().filter(pk__in=[m.pk for m in group]):
        if UNANSWERED not in message.flags:
            message.flags = [*message.flags, UNANSWERED]
            message.save(update_fields=["flags"])
    if not isinstance(error, BudgetSpent):
        _tell_owner(chat, choice.provider, outage, error)


def _outage_key(
    choice: Choice, group: Sequence[Message], error: ProviderError, *, now: datetime
) -> str:
    """A name that stays the same until the provider has answered again."""
    if isinstance(error, BudgetSpent):
        return f"budget-{now:%Y-%m-%d}"
    since = breaker.failing_since(choice.provider, choice.model)
    return f"{choice.provider}-{since:%Y%m%dT%H%M%S}" if since else f"message-{group[0].pk}"


def _sentence(error: ProviderError) -> str:
    if isinstance(error, BudgetSpent):
        return _(
            "I have reached the spending limit I was given. Your message is kept,"
            " and I will answer when I may spend again."
        )
    if error.permanent:
        return _("I cannot answer right now, and my owner has been told. Your message is kept.")
    return _(
        "I cannot think clearly right now: my language model does not answer."
        " Your message is kept, and I will answer as soon as I can."
    )


def _tell_owner(chat: Chat, provider: str, outage: str, error: ProviderError) -> None:
    notices.tell(
        chat.space,
        kind="provider",
        key=f"provider-{outage}",
        level=Notice.Level.ERROR if error.permanent else Notice.Level.WARNING,
        text=lambda: (
            _("The provider %(provider)s does not answer: %(error)s")
            % {"provider": provider, "error": error}
        ),
    )


def groups(
    waiting: Sequence[Message], *, message_id: int, size: int, longest: float, now: datetime
) -> list[list[Message]]:
    """Return what the job of this message must answer now, in order; empty: not yet, or done.

    `waiting` is oldest first; each group is one turn; a command is always a turn of its own.
    """
    place = next((n for n, message in enumerate(waiting) if message.pk == message_id), None)
    if place is None:
        return []
    if inbox.is_urgent(waiting[place].text):
        # What was said before a command belongs before it.
        return _split(waiting[: place + 1], size=size)
    has_waited = now - waiting[0].received_at >= timedelta(seconds=longest)
    if place == len(waiting) - 1 or len(waiting) >= size or has_waited:
        return _split(waiting[: max(place + 1, size)], size=size)
    return []


def _split(messages: Sequence[Message], *, size: int) -> list[list[Message]]:
    runs = groupby(messages, key=lambda message: inbox.is_urgent(message.text))
    return [
        run[start : start + step]
        for is_urgent, rows in runs
        for run, step in [(list(rows), 1 if is_urgent else size)]
        for start in range(0, len(run), step)
    ]


def answer(message_id: int, *, now: datetime) -> None:
    """Answer the message, with whatever else waits in its chat; or leave it to a later job."""
    waiting = _waiting(message=message_id)
    message = next((row for row in waiting if row.pk == message_id), None)
    if message is None:
        return
    chat, options = message.chat, message.chat.space.options
    for row in waiting:
        row.chat, row.space = chat, chat.space
    limits = {"size": options.batch_size, "longest": options.batch_wait}
    # Whether something that was answered before was not read yet; then its facts come first.
    has_unread = message.has_unread
    for group in groups(waiting, message_id=message.pk, now=now, **limits):
        with logs.trace(f"m{group[-1].pk}"), translation.override(language(chat, group)):
            commanded = [
                row
                for row in group
                if commands.is_command(row.text) or still_true.question_before(row, now=now)
            ]
            for row in commanded:
                _run_command(chat, row, now=now)
            rest = [row for row in group if row not in commanded]
            try:
                if rest:
                    _reply(chat, rest, has_unread=has_unread, now=now)
            except ProviderError:
                # The command still works; the messages before it have jobs of their own.
                if not inbox.is_command(message.text):
                    raise
            has_unread = True


@prepared(message="bigint")
def _waiting(message):
    """Return what is unanswered in the chat of this message, with what a turn needs of it."""
    here = Message.objects.filter(pk=message).values("chat")
    rows = Message.objects.filter(chat__in=here, role=Message.Role.USER, handled_at=None)
    unread = ingest.waiting(OuterRef("space"), chat=OuterRef("chat")).exclude(handled_at=None)
    rows = rows.annotate(has_unread=Exists(unread.order_by()))
    return rows.select_related("chat__space", "chat__working_note", "chat__summary").order_by("pk")


def language(chat: Chat, group: Sequence[Message]) -> str:
    """Return the language of the last message with one, else of the chat, else of the space."""
    languages = [message.language for message in group if message.language]
    return (languages and languages[-1]) or chat.language or chat.space.language


@transaction.atomic
def _run_command(chat: Chat, message: Message, *, now: datetime) -> None:
    if not _claim([message], now=now):
        return
    with translation.override(commands.language(message)):
        result = commands.run(message, now=now)
    own, kind = Message.NotRecalled.COMMAND, OutboxItem.Kind.COMMAND
    fields: dict[str, Any] = {"kind": kind, "not_recalled": own, "changes": result.changes}
    reply = _send_reply(chat, [message], result.text, now=now, **fields)
    if result.asks:
        still_true.note_question(reply, result.asks)
    # A command is obeyed, not learned from: "/forget that I live in Rome" says nothing new.
    Message.objects.filter(pk=message.pk).update(ingested_at=now, not_recalled=own)


@one_turn()
def _reply(chat: Chat, group: list[Message], *, has_unread: bool, now: datetime) -> None:
    for name, row in (("note", "working_note"), ("summary", "summary")):
        store_for_turn((name, chat.pk), getattr(chat, row, None))
    try:
        replies.read_now(chat, group, has_unread=has_unread, now=now)
        thought = replies.think(chat, group, now=now)
    except ProviderError as error:
        send_outage_reply(chat, group, error, now=now)
        raise
    for attempt in range(1, MAX_COMMIT_ATTEMPTS + 1):
        try:
            return _commit(chat, group, thought, now=now)
        except OperationalError as error:
            # Two replies that touch the same facts can cross; asking the model again helps nobody.
            if attempt == MAX_COMMIT_ATTEMPTS or not isinstance(error.__cause__, DeadlockDetected):
                raise
            log.warning("crossed with another reply")
            clear_turn_cache()


@transaction.atomic
def _commit(chat: Chat, group: list[Message], thought: replies.Thought, *, now: datetime) -> None:
    """Write everything that follows from the answer, or nothing."""
    if not _claim(group, now=now):
        log.info("answered by another worker")
        return
    # Incognito nothing is learned, by tag or by reading.
    learned = [] if chat.incognito_since else replies.learn(chat, group, thought, now=now)
    text = replies.visible_text(thought, group, learned)
    built_in = thought.completion.provider == "offline"
    not_recalled = ingest.not_recalled_reply(text, to=group[-1], built_in=built_in)
    forget = thought.box.asks if thought.box and not chat.incognito_since else None
    changes = [change for line in ingest.learned_from(group) for change in line["changes"]]
    changes += [tag.done.change_id for tag in learned if tag.done]
    changes += still_true.take_more_than_yes(group, now=now)
    # The answer continues the episode of a message that was read before it.
    episode = group[-1].episode_id
    goes_on = episode and episodes.go_on_with_reply(episode, at=now)
    reply = _send_reply(
        chat, group, text, learned=learned, not_recalled=not_recalled, forget=forget, now=now,
        changes=changes, episode_id=episode if goes_on else None,
    )  # fmt: skip
    check = replies.keep_receipt(thought, reply, now=now)
    if chat.incognito_since:
        return
    jobs.enqueue(
        "memory.ingest",
        lock=f"ingest-{chat.pk}",
        priority=INGEST_PRIORITY,
        message_ids=[message.pk for message in group],
        reply_id=reply.pk,
        space_id=chat.space_id,
    )
    jobs.call_hooks("reply-made", object_id=reply.pk, space_id=chat.space_id)
    _report(thought, group, learned, quality=check.quality)


def _report(thought: replies.Thought, group: list[Message], learned: list, *, quality: str) -> None:
    outcomes = [f"{tag.tag}: {tag.done.outcome if tag.done else tag.error}" for tag in learned]
    log.info(
        "turn answered",
        extra={
            "chat": group[0].chat_id,
            "messages": len(group),
            "provider": thought.completion.provider,
            "ms": thought.completion.ms,
            "learned": outcomes,
            "quality": quality,
        },
    )


def _claim(group: Sequence[Message], *, now: datetime) -> bool:
    """Mark the messages as answered; False, and nothing is changed, when one of them was before."""
    is_free = _handle(messages=[message.pk for message in group], now=now) == len(group)
    transaction.set_rollback(not is_free)
    return is_free


@prepared_update(messages="bigint[]", now="timestamptz")
def _handle(messages, now):
    return Message.objects.filter(pk__any_of=messages, handled_at=None), {"handled_at": now}


def _send_reply(
    chat: Chat,
    group: Sequence[Message],
    text: str,
    *,
    kind: str = OutboxItem.Kind.REPLY,
    learned: Sequence[Applied] = (),
    forget: Fact | None = None,
    changes: Sequence[UUID | str | None] = (),
    now: datetime,
    **fields: Any,
) -> Message:
    last = group[-1]
    # One question a reply: a yes answers the one that was asked.
    may_ask = kind == OutboxItem.Kind.REPLY and forget is None
    asks = still_true.question_below(chat, last, now=now) if may_ask else None
    text = f"{text}\n\n{still_true.words_of(asks, last)}" if asks else text
    text = f"{text}\n\n{still_true.forget_words(forget)}" if forget else text
    reply = chats.reply(chat, text=text, to=last, now=now, changes=changes, **fields)
    if asks:
        still_true.note_question(reply, asks.pk)
    if forget:
        still_true.note_question(reply, forget.pk, kind=still_true.FORGET)
    text = reply.text
    if chat.space.options.learning_feedback:
        text = f"{text}\n\n{feedback.lines_below(text, group, learned)}"
    outbox.put(chat, text=text.strip(), key=f"reply-{last.pk}", kind=kind, message=reply, now=now)
    for message in group:
        if UNANSWERED in message.flags:
            message.flags = [flag for flag in message.flags if flag != UNANSWERED]
            message.save(update_fields=["flags"])
    return reply
