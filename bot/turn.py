"""A turn: what was said, thought about and answered. Exactly once in effect, whatever dies when.

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
    """Once per outage and chat. The messages are marked until they are answered."""
    choice = choose("chat", space=chat.space)
    outage = _outage_key(choice, group, error, now=now)
    # Whoever waits has been told, whatever name the outage has meanwhile.
    if not inbox.unanswered(chat.pk).filter(flags__contains=[UNANSWERED]).exists():
        outbox.put(
            chat,
            text=_sentence(error),
            key=f"sorry-{outage}",
            kind=OutboxItem.Kind.NOTICE,
            now=now,
        )
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
    waiting: Sequence[Message], *, asked: int, size: int, longest: float, now: datetime
) -> list[list[Message]]:
    """What the job of the message `asked` must answer now, in order; empty: not yet, or done.

    `waiting` is oldest first; each group is one turn; a command is always a turn of its own.
    """
    place = next((n for n, message in enumerate(waiting) if message.pk == asked), None)
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
        for is_urgent, some in runs
        for run, step in [(list(some), 1 if is_urgent else size)]
        for start in range(0, len(run), step)
    ]


def answer(message_id: int, *, now: datetime) -> None:
    """Answer the message, with whatever else waits in its chat; or leave it to a later job."""
    waiting = _waiting(message=message_id)
    message = next((one for one in waiting if one.pk == message_id), None)
    if message is None:
        return
    asked_by_command = inbox.is_command(message.text)
    for group in _groups(message, waiting, now=now):
        with logs.trace(f"m{group[-1].pk}"), translation.override(language(message.chat, group)):
            for one in (orders := [one for one in group if _is_order(one, now=now)]):
                _run_command(message.chat, one, now=now)
            rest = [one for one in group if one not in orders]
            try:
                if rest:
                    _reply(message.chat, rest, now=now)
            except ProviderError:
                # The command still works; the words before it have jobs of their own.
                if not asked_by_command:
                    raise


@prepared(message="bigint")
def _waiting(message):
    """What nobody has answered in the chat of this message, with what a turn needs of the chat."""
    here = Message.objects.filter(pk=message).values("chat")
    found = Message.objects.filter(chat__in=here, role=Message.Role.USER, handled_at=None)
    return found.select_related("chat__space", "chat__working_note", "chat__summary").order_by("pk")


def _is_order(message: Message, *, now: datetime) -> bool:
    """A command, or the yes or no to a question of Keno's."""
    return commands.is_command(message.text) or bool(still_true.asked_before(message, now=now))


def language(chat: Chat, group: Sequence[Message]) -> str:
    """The language of the last message that has one, else of the chat, else of the space."""
    spoken = [message.language for message in group if message.language]
    return (spoken and spoken[-1]) or chat.language or chat.space.language


def _groups(
    message: Message, unanswered: Sequence[Message], *, now: datetime
) -> list[list[Message]]:
    for one in unanswered:
        one.chat, one.space = message.chat, message.chat.space
    options = message.chat.space.options
    size, longest = options.batch_size, options.batch_wait
    return groups(unanswered, asked=message.pk, size=size, longest=longest, now=now)


@transaction.atomic
def _run_command(chat: Chat, message: Message, *, now: datetime) -> None:
    if not _claim([message], now=now):
        return
    with translation.override(commands.language(message)):
        said = commands.run(message, now=now)
    own = Message.NotRecalled.COMMAND
    kind = OutboxItem.Kind.COMMAND
    reply = _send_reply(
        chat, [message], said.text, kind=kind, not_recalled=own, changes=said.changes, now=now
    )
    if said.asks:
        still_true.note_question(reply, said.asks)
    # A command is obeyed, not learned from: "/forget that I live in Rome" says nothing new.
    Message.objects.filter(pk=message.pk).update(ingested_at=now, not_recalled=own)


@one_turn()
def _reply(chat: Chat, group: list[Message], *, now: datetime) -> None:
    for name, row in (("note", "working_note"), ("summary", "summary")):
        store_for_turn((name, chat.pk), getattr(chat, row, None))
    try:
        replies.read_now(chat, group, now=now)
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
    said = replies.visible_text(thought, group, learned)
    built_in = thought.completion.provider == "offline"
    own = ingest.not_recalled_reply(said, to=group[-1], built_in=built_in)
    forget = thought.box.asks if thought.box and not chat.incognito_since else None
    changes = [change for line in ingest.learned_from(group) for change in line["changes"]]
    changes += [one.done.change_id for one in learned if one.done]
    changes += still_true.take_more_than_yes(group, now=now)
    reply = _send_reply(
        chat, group, said, learned=learned, not_recalled=own, forget=forget, now=now,
        changes=changes, episode_id=_episode_of(group[-1], now=now),
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


def _episode_of(message: Message, *, now: datetime) -> int | None:
    """The episode that the answer goes on with, where the message was read before it."""
    goes_on = message.episode_id and episodes.go_on_with_reply(message.episode_id, at=now)
    return message.episode_id if goes_on else None


def _report(thought: replies.Thought, group: list[Message], learned: list, *, quality: str) -> None:
    outcomes = [f"{one.tag}: {one.done.outcome if one.done else one.error}" for one in learned]
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
    noted = (
        feedback.lines_below(reply.text, group, learned)
        if chat.space.options.learning_feedback
        else ""
    )
    sent = f"{reply.text}\n\n{noted}".strip()
    outbox.put(chat, text=sent, key=f"reply-{last.pk}", kind=kind, message=reply, now=now)
    for message in group:
        if UNANSWERED in message.flags:
            message.flags = [flag for flag in message.flags if flag != UNANSWERED]
            message.save(update_fields=["flags"])
    return reply
