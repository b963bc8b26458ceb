"""Episodic memory: what happened, when, and with whom.

Writers behave as facts.py describes. A chat has at most one open episode; its words are those of
its messages until it is closed and gets a title, a body and tags.
"""

from collections.abc import Callable, Sequence, Set
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import actors, episode_groups, episode_words, history, rows, rulings, summaries, text
from memory.boundaries import boundary, similarity
from memory.episode_words import HARMLESS, Complete, shortened, suspicions_in, tidy, transcript
from memory.history import Done
from memory.models import Chat, Episode, Message, Space
from memory.screen import in_words, screen

FEEDBACK = ("", "positive", "negative")
# What the likeness of a new message is measured against: the last things said.
RECENT = 12

Status = Episode.Status
Invalid = episode_words.Invalid
messages_of = episode_words.messages_of
as_markdown, from_markdown = episode_words.as_markdown, episode_words.from_markdown
summarise, merge, split = episode_groups.summarise, episode_groups.merge, episode_groups.split


@transaction.atomic
def follow(
    message: Message,
    *,
    by: str = "bot",
    likeness: Callable[[str, str], float | None] = similarity,
) -> Episode:
    """Put the message into its chat's open episode, or begin the next one. Twice is once."""
    told = _answered(message)
    # An answer belongs to what it answers and never begins something new.
    if told and extend(told, message=message, by=by).outcome != "refused":
        return told
    # Held so that two messages of one chat cannot begin two episodes.
    chat = Chat.objects.select_for_update().select_related("space").get(pk=message.chat_id)
    if message.episode_id:
        return message.episode
    episode = current(chat)
    ends = episode and _ends(episode, message, zone=chat.space.zone, likeness=likeness)
    if not episode or ends or extend(episode, message=message, by=by).outcome == "refused":
        episode = _begin(chat, episode, by=by, at=message.sent_at, first=message).row
    return episode


@transaction.atomic(savepoint=False)
def begin(chat: Chat, *, by: str, at: datetime | None = None) -> Done:
    """Open an episode in the chat; one that is open already is closed first."""
    return _begin(chat, current(chat), by=by, at=at or timezone.now())


def _begin(
    chat: Chat, before: Episode | None, *, by: str, at: datetime, first: Message | None = None
) -> Done:
    if before:
        close(before, by=by)
    language = chat.language or (first.language if first else "")
    names = episode_words.with_author([], first) if first else []
    with history.change(by=by, why="an episode begins") as context:
        episode = Episode.objects.create(
            chat=chat, space=chat.space, started_at=at, ended_at=at, language=language,
            participants=names,
        )  # fmt: skip
    if first:
        first.episode = episode
        first.save(update_fields=["episode"])
    return Done(episode, context.id, outcome="new")


@transaction.atomic(savepoint=False)
def extend(episode: Episode, *, message: Message, by: str) -> Done:
    """Add one message to an open episode."""
    rows.lock(episode)
    if episode.status != Status.OPEN:
        return Done(episode, outcome="refused", reason=_("The episode is over."))
    message.episode = episode
    message.save(update_fields=["episode"])
    return rows.change(
        episode,
        by=by,
        why="an episode goes on",
        now=message.sent_at,
        participants=episode_words.with_author(episode.participants, message),
        started_at=min(episode.started_at, message.sent_at),
        ended_at=max(episode.ended_at, message.sent_at),
        language=episode.language or message.language,
    )


def close(
    episode: Episode, *, by: str, complete: Complete | None = None, now: datetime | None = None
) -> Done:
    """End it: from here on it has a title, a body and tags, by a model or without."""
    # Before the lock: a model takes its time.
    messages = list(messages_of(episode))
    said = transcript(episode, messages)
    body = episode.body or shortened([said], complete)
    values = {
        "status": Status.CLOSED,
        "body": body,
        "title": episode.title or summaries.title(said or body)[:200],
        "tags": episode.tags or summaries.tags(said or body),
        "flags": sorted({*episode.flags, *suspicions_in(messages)}),
    }
    over = lambda row: None if row.status == Status.OPEN else Done(row, outcome="unchanged")  # noqa: E731
    return rows.guarded(episode, by=by, why="an episode ends", now=now, may=over, **values)


def close_quiet(
    space: Space, *, before: datetime, by: str, now: datetime | None = None, complete=None
) -> int:
    """Close what nobody has added to since then."""
    quiet = Episode.objects.filter(space=space, status=Status.OPEN, ended_at__lt=before)
    closed = [close(one, by=by, now=now, complete=complete) for one in quiet.order_by("pk")]
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
    but: Set[str] = frozenset(),
    **more: object,
) -> Done:
    """Keep an episode that is already over: a tag's line, a person's note, a stale note.

    Without a chat the whole space shares it. Outcomes: new, again, quarantined (kept, but flagged
    and never consolidated), refused, empty.
    """
    said, name = screen(body, but=but), screen(title, line=True, but=but)
    if not said.text:
        return Done(None, outcome="empty", reason=_("There is nothing to remember."))
    if ruling := rulings.forbidden(space, said=said.text):
        rulings.obeyed(ruling)
        return Done(None, outcome="refused", reason=_("A ruling says never to remember this."))
    started_at = started_at or timezone.now()
    source = source or actors.kind(by)
    if twin := episode_words.twin(space, chat, said.text, started_at):
        return Done(twin, outcome="again")
    suspicious = list(dict.fromkeys([*suspicions, *said.reasons, *name.reasons]))
    episode = Episode(
        space=space,
        chat=chat,
        title=text.short(name.text or summaries.title(said.text), 200),
        body=said.text,
        tags=tidy(tags, 64),
        participants=tidy(participants, 120),
        started_at=started_at,
        ended_at=max(started_at, ended_at or started_at),
        source=source[:16],
        flags=suspicious,
        sticky=actors.is_person(by),
        **{"status": Status.CLOSED, "language": text.detect_language(said.text)} | more,
    )
    with history.change(by=by, why="an episode is written") as context:
        episode.save(force_insert=True)
    return Done(episode, context.id, "quarantined" if suspicious else "new", in_words(suspicious))


@transaction.atomic
def revise(episode: Episode, *, by: str, now: datetime | None = None, **values: object) -> Done:
    """Correct title, body, tags, participants or times. A person's wording is final."""
    rows.lock(episode)
    reason = _("A person worded this; only a person may change it.")
    if (refusal := rows.worded_by(episode, by=by, reason=reason)) is not None:
        return refusal
    for name, line in (("title", True), ("body", False)):
        if name in values:
            values[name] = screen(values[name], line=line).text
    if "title" in values:
        values["title"] = text.short(values["title"], 200)
    for name, length in (("tags", 64), ("participants", 120)):
        if name in values:
            values[name] = tidy(values[name], length)
    if actors.is_person(by):
        values["sticky"] = True
    return rows.change(episode, by=by, why="revise", now=now, **values)


def rate(episode: Episode, *, feedback: str, by: str, now: datetime | None = None) -> Done:
    """Was it good or bad? The night listens to that."""
    if feedback not in FEEDBACK:
        raise Invalid(_("Feedback is positive, negative or nothing."))
    return rows.guarded(episode, by=by, why="feedback", now=now, feedback=feedback)


def discard(episode: Episode, *, by: str, reason: str = "", now: datetime | None = None) -> Done:
    """To the trash: never recalled, never consolidated, restorable for some days."""
    now = now or timezone.now()
    return rows.guarded(
        episode,
        by=by,
        why="discard",
        now=now,
        may=lambda row: Done(row, outcome="unchanged") if row.status == Status.DISCARDED else None,
        status=Status.DISCARDED,
        discard_reason=text.short(text.clean(reason), 200),
        discarded_at=now,
    )


@transaction.atomic
def restore(episode: Episode, *, by: str, now: datetime | None = None) -> Done:
    """Back from the trash, as long as it lies there."""
    now = now or timezone.now()
    rows.lock(episode)
    if episode.status != Status.DISCARDED:
        return Done(episode, outcome="unchanged")
    if episode.discarded_at and episode.discarded_at <= _ripe(episode.space, now):
        reason = _("It was in the trash for too long and is about to be deleted.")
        return Done(episode, outcome="refused", reason=reason)
    values = {"status": _before_discard(episode), "discard_reason": "", "discarded_at": None}
    return rows.change(episode, by=by, why="restore", now=now, **values)


def release(episode: Episode, *, by: str, now: datetime | None = None) -> Done:
    """A person looked and found it harmless: recall and nights may have it again."""
    actors.require_person(by)
    kept = [flag for flag in episode.flags if flag.startswith(HARMLESS)]
    return rows.guarded(episode, by=by, why="release", now=now, flags=kept)


def purge(episode: Episode, *, by: str) -> None:
    """Delete it for good, with its history. Its messages stay in the chat."""
    with transaction.atomic():
        if heir := Episode.objects.filter(space=episode.space, summary_of__contains=[episode.pk]):
            Message.objects.filter(episode=episode).update(episode=heir.first())
        rows.purge(episode, by=by, words=f"{episode.title}\n{episode.body}")


def purge_discarded(space: Space, *, by: str, chat: Chat | None = None) -> int:
    """Empty the trash now, of one chat or of the whole space. The caller has asked first."""
    trash = Episode.objects.filter(space=space, status=Status.DISCARDED)
    return _purge_all(trash.filter(chat=chat) if chat else trash, by=by)


def expire(space: Space, *, by: str = "system", now: datetime | None = None) -> int:
    """Delete what has lain in the trash long enough."""
    ripe = Q(status=Status.DISCARDED, discarded_at__lte=_ripe(space, now or timezone.now()))
    return _purge_all(Episode.objects.filter(ripe, space=space), by=by)


def current(chat: Chat) -> Episode | None:
    return Episode.objects.filter(chat=chat, status=Status.OPEN).first()


def _answered(message: Message) -> Episode | None:
    if message.episode_id or message.role != Message.Role.ASSISTANT or not message.reply_to_id:
        return None
    return message.reply_to.episode


def _ends(episode: Episode, message: Message, *, zone, likeness) -> str:
    recent = [m.text for m in episode_words.messages_of(episode).reverse()[:RECENT]]
    return boundary(
        message.text,
        at=message.sent_at,
        last_at=episode.ended_at,
        zone=zone,
        similarity=likeness(message.text, "\n".join(recent)),
    )


def _before_discard(episode: Episode) -> str:
    for step in history.history(episode):
        was, became = step.fields.get("status", ("", ""))
        if became == Status.DISCARDED:
            return Status.CLOSED if was == Status.OPEN else was
    return Status.CLOSED


def _ripe(space: Space, now: datetime) -> datetime:
    return now - timedelta(days=space.options.trash_days)


def _purge_all(trash: QuerySet, *, by: str) -> int:
    old = list(trash.select_related("space"))
    for episode in old:
        purge(episode, by=by)
    return len(old)
