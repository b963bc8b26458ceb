"""Episodic memory: what happened, when, and with whom.

Writers behave as facts/service.py describes. A chat has at most one open episode; it gets a title,
a body and tags when it is closed.
"""

from collections.abc import Callable, Sequence, Set
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import rulings
from memory.episodes import grouping
from memory.episodes.grouping import Complete, suspicions_in, unique_lines
from memory.guards.screening import describe_reasons, screen, screen_transcript
from memory.history import actors, rows
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Episode, Message, SilencedMessage, Space
from memory.models.prepared import insert, prepared, prepared_update, save_fields
from memory.spaces.chat_links import WEB
from memory.text import normalise as text
from memory.text import summaries
from memory.text.summaries import boundary, similarity

FEEDBACK = ("", "positive", "negative")
Likeness = Callable[[str, str], float | None]
# How many of the last messages a new one is compared with.
RECENT_MESSAGES = 12
# A day and time, in place of a title that would name what was forgotten.
HIDDEN_TITLE = r"^\d{4}-\d\d-\d\d \d\d:\d\d$"

Status = Episode.Status
Invalid = grouping.Invalid
messages_of, transcript = grouping.messages_of, grouping.transcript
as_markdown, from_markdown = grouping.as_markdown, grouping.from_markdown
summarise, merge, split = grouping.summarise, grouping.merge, grouping.split


@transaction.atomic(savepoint=False)
def follow(message: Message, *, by: str = "bot", likeness: Likeness = similarity) -> Episode:
    """Put the message into its chat's open episode, or begin a new one. Idempotent."""
    # An answer belongs to the episode of its question and never begins a new one.
    is_new_answer = message.role == Message.Role.ASSISTANT and not message.episode_id
    question = message.reply_to if is_new_answer else None
    answered = question.episode if question else None
    if answered and extend(answered, message=message, by=by).outcome != "refused":
        return answered
    if message.episode:
        return message.episode
    episode = find(message, by=by, likeness=likeness)
    save_fields(message, "episode")
    return episode


def find(message: Message, *, by: str, likeness: Likeness = similarity) -> Episode:
    """Set the message's episode, the open one or a new one; the caller saves the message."""
    episode = _open_in(message.chat_id)
    if episode is None or _is_over(episode, message, likeness=likeness):
        # Locked, so that two messages of one chat cannot begin two episodes.
        (chat,) = _locked_chat(chat=message.chat_id)
        before, episode = episode, _open_in(message.chat_id)
        is_same = episode == before
        if episode is None or is_same or _is_over(episode, message, likeness=likeness):
            begun: Episode = _begin(chat, episode, by=by, at=message.sent_at, first=message).row
            message.episode = begun
            return begun
    _go_on(episode, message, by=by)
    return episode


@prepared(chat="bigint")
def _locked_chat(chat):
    return Chat.objects.select_for_update().select_related("space").filter(pk=chat)


def _open_in(chat_id: int) -> Episode | None:
    """Return the open episode of the chat, locked."""
    return next(iter(_open(chat=chat_id)), None)


@prepared(chat="bigint")
def _open(chat):
    rows = Episode.objects.select_for_update().filter(chat=chat, status=Status.OPEN)
    return rows.order_by("pk")[:1]


def go_on_with_reply(episode_id: int, *, at: datetime, by: str = "bot") -> bool:
    """Move the end of the episode to this answer; False when it is over, or deleted."""
    with history.change(by=by, why="an episode goes on"):
        return bool(_extend_end(episode=episode_id, at=at))


@prepared_update(episode="bigint", at="timestamptz")
def _extend_end(episode, at):
    rows = Episode.objects.filter(pk=episode, status=Status.OPEN)
    return rows, {"ended_at": Greatest("ended_at", at), "updated_at": at}


@transaction.atomic(savepoint=False)
def begin(chat: Chat, *, by: str, at: datetime | None = None) -> ChangeResult:
    """Open an episode in the chat; one that is open already is closed first."""
    return _begin(chat, current(chat), by=by, at=at or timezone.now())


def _begin(
    chat: Chat, before: Episode | None, *, by: str, at: datetime, first: Message | None = None
) -> ChangeResult:
    if before:
        close(before, by=by)
    language = chat.language or (first.language if first else "")
    names = grouping.add_author([], first) if first else []
    with history.change(by=by, why="an episode begins") as context:
        values = {"started_at": at, "ended_at": at, "language": language, "participants": names}
        episode = Episode(chat=chat, space=chat.space, **values)
        insert(episode)
    return ChangeResult(episode, context.id, outcome="new")


@transaction.atomic(savepoint=False)
def extend(episode: Episode, *, message: Message, by: str) -> ChangeResult:
    """Add one message to an open episode."""
    rows.lock(episode)
    if episode.status != Status.OPEN:
        return ChangeResult(episode, outcome="refused", reason=_("The episode is over."))
    done = _go_on(episode, message, by=by)
    save_fields(message, "episode")
    return done


def _go_on(episode: Episode, message: Message, *, by: str) -> ChangeResult:
    """Make the message, which the caller saves, part of a locked episode."""
    message.episode = episode
    return rows.change(
        episode,
        by=by,
        why="an episode goes on",
        now=message.sent_at,
        participants=grouping.add_author(episode.participants, message),
        started_at=min(episode.started_at, message.sent_at),
        ended_at=max(episode.ended_at, message.sent_at),
        language=episode.language or message.language,
    )


def close(
    episode: Episode, *, by: str, complete: Complete | None = None, now: datetime | None = None
) -> ChangeResult:
    """Close the episode and give it a title, a body and tags, by a model or without.

    With several topics it becomes several episodes; the row is the first of them.
    """
    # Before the lock: a model takes its time.
    messages = grouping.read_messages(episode)
    parts = [messages] if episode.body or episode.sticky else grouping.by_topic(messages)
    descriptions = [grouping.describe(part, None if episode.body else complete) for part in parts]
    written = {name: old for name in ("title", "body", "tags") if (old := getattr(episode, name))}
    with transaction.atomic(savepoint=False), history.change(by=by, why="an episode ends"):
        rows.lock(episode)
        if episode.status != Status.OPEN:
            return ChangeResult(episode, outcome="unchanged")
        for part, values in zip(parts[1:], descriptions[1:], strict=True):
            grouping.split_off(episode, part, **values)
        values = (
            descriptions[0]
            | written
            | {
                "status": Status.CLOSED,
                "ended_at": max([m.sent_at for m in parts[0]], default=episode.ended_at),
                "flags": sorted({*episode.flags} | suspicions_in(parts[0])),
            }
        )
        if len(parts) == 1:
            values["participants"] = episode.participants
        done = rows.change(episode, by=by, why="an episode ends", now=now, **values)
        if episode.chat and episode.chat.channel == WEB and not episode.flags:
            _name_chat(episode.chat, by=by)
        return done


def _name_chat(chat: Chat, *, by: str) -> None:
    """Name a web chat after its first topic, unless it was renamed before."""
    names = {event.title for event in history.events_of(Chat).filter(pgh_obj=chat)}
    titled = Episode.objects.filter(chat=chat, status=Status.CLOSED).exclude(title="")
    # Read anew: the triggers have taken what was forgotten out of the titles.
    first = titled.exclude(title__regex=HIDDEN_TITLE).order_by("started_at", "pk").first()
    if first and len(names) < 2 and not chat.incognito_since:
        rows.lock(chat)
        rows.change(chat, by=by, why="a chat is named", title=first.title.rstrip(". "))


def close_quiet(
    space: Space, *, before: datetime, by: str, now: datetime | None = None, complete=None
) -> int:
    """Close the open episodes to which nothing was added since then."""
    quiet = Episode.objects.filter(space=space, status=Status.OPEN, ended_at__lt=before)
    closed = [close(episode, by=by, now=now, complete=complete) for episode in quiet.order_by("pk")]
    return sum(done.changed for done in closed)


@transaction.atomic
def write(
    space: Space,
    *,
    body: str,
    by: str,
    chat: Chat | None = None,
    title: str = "",
    tags: list[str] = (),
    participants: list[str] = (),
    started_at: datetime | None = None,
    ended_at: datetime | None = None,
    source: str = "",
    suspicions: Sequence[str] = (),
    ignore: Set[str] = frozenset(),
    **more: Any,
) -> ChangeResult:
    """Write an episode that is already over: from a tag, a person or a stale note.

    Without a chat the whole space shares it. Outcomes: new, again, quarantined (stored, but flagged
    and never consolidated), refused, empty.
    """
    screened = screen_transcript(body, ignore=ignore)
    name = screen(title, single_line=True, ignore=ignore)
    if not screened.text:
        return ChangeResult(None, outcome="empty", reason=_("There is nothing to remember."))
    if (refusal := rulings.refusal(space, screened.text)) is not None:
        return refusal
    started_at = started_at or timezone.now()
    day = timedelta(days=1)
    near = Episode.objects.filter(started_at__range=(started_at - day, started_at + day))
    if twin := near.remembered().filter(space=space, chat=chat, body=screened.text).first():
        return ChangeResult(twin, outcome="again")
    suspicious = list(dict.fromkeys([*suspicions, *screened.reasons, *name.reasons]))
    episode = Episode(
        space=space,
        chat=chat,
        title=text.short(name.text or summaries.title(screened.text), 200),
        body=screened.text,
        tags=unique_lines(tags, 64),
        participants=unique_lines(participants, 120),
        started_at=started_at,
        ended_at=max(started_at, ended_at or started_at),
        source=(source or actors.kind(by))[:16],
        flags=suspicious,
        sticky=actors.is_person(by),
        **{"status": Status.CLOSED, "language": text.detect_language(screened.text)} | more,
    )
    with history.change(by=by, why="an episode is written") as context:
        episode.save(force_insert=True)
    outcome = "quarantined" if suspicious else "new"
    return ChangeResult(episode, context.id, outcome, describe_reasons(suspicious))


@transaction.atomic
def revise(
    episode: Episode, *, by: str, now: datetime | None = None, **values: Any
) -> ChangeResult:
    """Correct title, body, tags, participants or times. A person's wording is final."""
    rows.lock(episode)
    reason = _("A person wrote this; only a person may change it.")
    if (refusal := rows.refusal_if_sticky(episode, by=by, reason=reason)) is not None:
        return refusal
    for name, line in (("title", True), ("body", False)):
        if name in values:
            values[name] = screen(values[name], single_line=line).text
    if "title" in values:
        values["title"] = text.short(values["title"], 200)
    for name, length in (("tags", 64), ("participants", 120)):
        if name in values:
            values[name] = unique_lines(values[name], length)
    if actors.is_person(by):
        values["sticky"] = True
    return rows.change(episode, by=by, why="revise", now=now, **values)


def rate(episode: Episode, *, feedback: str, by: str, now: datetime | None = None) -> ChangeResult:
    """Store whether the episode was good or bad; nights use it."""
    if feedback not in FEEDBACK:
        raise Invalid(_("Feedback is positive, negative or nothing."))
    return rows.change_unless_refused(episode, by=by, why="feedback", now=now, feedback=feedback)


def discard(
    episode: Episode, *, by: str, reason: str = "", now: datetime | None = None
) -> ChangeResult:
    """Put it in the trash: never recalled or consolidated, restorable for some days."""
    now = now or timezone.now()

    def refuse(row: Any) -> ChangeResult | None:
        is_done = row.status == Status.DISCARDED
        return ChangeResult(row, outcome="unchanged") if is_done else None

    values = {"status": Status.DISCARDED, "discard_reason": text.short(text.clean(reason), 200)}
    return rows.change_unless_refused(
        episode, by=by, why="discard", now=now, refuse=refuse, discarded_at=now, **values
    )


@transaction.atomic
def restore(episode: Episode, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Bring it back from the trash, as long as it is there."""
    now = now or timezone.now()
    rows.lock(episode)
    if episode.status != Status.DISCARDED:
        return ChangeResult(episode, outcome="unchanged")
    if episode.discarded_at and episode.discarded_at <= _trash_deadline(episode.space, now):
        reason = _("It was in the trash for too long and is about to be deleted.")
        return ChangeResult(episode, outcome="refused", reason=reason)
    values = {"status": _before_discard(episode), "discard_reason": "", "discarded_at": None}
    return rows.change(episode, by=by, why="restore", now=now, **values)


def release(episode: Episode, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Release it from quarantine, so that recall and nights may use it. Only a person may."""
    actors.require_person(by)
    return rows.change_unless_refused(episode, by=by, why="release", now=now, flags=[])


def purge(episode: Episode, *, by: str) -> None:
    """Delete the episode for good, with its history. Its messages stay in the chat, silent."""
    with transaction.atomic():
        if episode.status == Status.DISCARDED:
            silent = [SilencedMessage(message=message) for message in episode.messages.all()]
            SilencedMessage.objects.bulk_create(silent)
        if heir := Episode.objects.filter(space=episode.space, summary_of__contains=[episode.pk]):
            Message.objects.filter(episode=episode).update(episode=heir.first())
        rows.purge(episode, by=by)


def purge_discarded(space: Space, *, by: str, chat: Chat | None = None) -> int:
    """Empty the trash of one chat or of the whole space. The caller has asked first."""
    trash = Episode.objects.filter(space=space, status=Status.DISCARDED)
    discarded = list((trash.filter(chat=chat) if chat else trash).select_related("space"))
    for episode in discarded:
        purge(episode, by=by)
    return len(discarded)


def expired(space: Space, *, now: datetime | None = None) -> QuerySet[Episode]:
    """Return what has been in the trash for more than its days."""
    ripe = _trash_deadline(space, now or timezone.now())
    discarded = Episode.objects.filter(space=space, status=Status.DISCARDED)
    return discarded.filter(discarded_at__lte=ripe)


def current(chat: Chat) -> Episode | None:
    return Episode.objects.filter(chat=chat, status=Status.OPEN).first()


def _is_over(episode: Episode, message: Message, *, likeness: Likeness) -> bool:
    """Tell whether the message begins another topic than that of this episode."""

    def alike() -> float | None:
        texts = grouping.messages_of(episode).reverse().values_list("text", flat=True)
        return likeness(message.text, "\n".join(texts[:RECENT_MESSAGES]))

    times: dict[str, Any] = {
        "at": message.sent_at,
        "last_at": episode.ended_at,
        "zone": message.chat.space.zone,
    }
    return bool(boundary(message.text, similarity=alike, **times))


def _before_discard(episode: Episode) -> str:
    for step in history.history(episode):
        was, became = step.fields.get("status", ("", ""))
        if became == Status.DISCARDED:
            return Status.CLOSED if was == Status.OPEN else was
    return Status.CLOSED


def _trash_deadline(space: Space, now: datetime) -> datetime:
    return now - timedelta(days=space.options.trash_days)
