"""Summarise, merge and split episodes; each is one change that can be undone."""

from datetime import datetime

import pgtrigger
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.episodes.wording import (
    Complete,
    Invalid,
    describe,
    make_summary,
    messages_of,
    suspicions_in,
    transcript,
    unique_lines,
)
from memory.history import changes as history
from memory.history import rows
from memory.history.changes import ChangeResult
from memory.models import Episode, Fact, Message
from memory.text import summaries

Status = Episode.Status


def summarise(
    episodes: list[Episode],
    *,
    by: str,
    into: Episode | None = None,
    complete: Complete | None = None,
    now: datetime | None = None,
) -> ChangeResult:
    """Write one new episode that sums these up; they are archived.

    With `into`, an existing summary is extended by them instead.
    """
    now = now or timezone.now()
    earlier = Episode.objects.filter(pk__in=into.summary_of if into else [], status=Status.ARCHIVED)
    # Before the locks: a model takes its time.
    texts = [
        episode.body or transcript(episode) for episode in sorted([*earlier, *episodes], key=_age)
    ]
    body = make_summary(texts, complete)
    with transaction.atomic(), history.change(by=by, why="summarise") as context:
        members = _lock_members([*episodes, into] if into else episodes)
        into = next((episode for episode in members if episode == into), None)
        members = [episode for episode in members if episode != into]
        values = _joined_values(sorted([*earlier, *members], key=_age), body=body)
        if into:
            rows.change(into, by=by, why="summarise", now=now, **values)
        else:
            into = Episode.objects.create(source="summary", consolidated_at=now, **values)
        _archive(members, now=now)
    return ChangeResult(into, context.id, outcome="new", count=len(members))


@transaction.atomic
def merge(episodes: list[Episode], *, by: str, now: datetime | None = None) -> ChangeResult:
    """Replace these by one new episode with all their words, each line once; they are archived."""
    members = _lock_members(episodes)
    now = now or timezone.now()
    lines = [line for one in members if one.body for line in [*one.body.splitlines(), ""]]
    seen = set()
    lines = [line for line in lines if not line or not (line in seen or seen.add(line))]
    body = "\n".join(lines).strip("\n")
    done = all(episode.consolidated_at for episode in members)
    with history.change(by=by, why="merge") as context:
        read = now if done else None
        values = _joined_values(members, body=body)
        merged = Episode.objects.create(source="merge", consolidated_at=read, **values)
        _archive(members, now=now)
    return ChangeResult(merged, context.id, outcome="new", count=len(members))


@transaction.atomic
def split(episode: Episode, *, at: datetime, by: str, now: datetime | None = None) -> ChangeResult:
    """Move what was said from that time on to a new episode, which is ChangeResult.row."""
    rows.lock(episode)
    later = messages_of(episode).filter(sent_at__gte=at)
    earlier = messages_of(episode).filter(sent_at__lt=at).last()
    if episode.status == Status.OPEN or not earlier or not later.exists():
        raise Invalid(_("Choose a time between two messages of a closed episode."))
    with history.change(by=by, why="split") as context:
        later, whole = list(later), list(messages_of(episode))
        new = split_off(episode, later, **describe(later))
        left = {"ended_at": max(episode.started_at, earlier.sent_at)}
        if not episode.sticky:
            kept = whole[: len(whole) - len(later)]
            left["body"] = describe(kept)["body"]
        rows.change(episode, by=by, why="split", now=now, **left)
    return ChangeResult(new, context.id, outcome="new")


def split_off(episode: Episode, messages: list[Message], **values: object) -> Episode:
    """Create an episode of these messages, which are no longer the other's."""
    part = Episode.objects.create(
        space=episode.space,
        chat=episode.chat,
        language=episode.language,
        started_at=messages[0].sent_at,
        ended_at=max(message.sent_at for message in messages),
        status=Status.CLOSED if episode.status == Status.OPEN else episode.status,
        flags=sorted(suspicions_in(messages)),
        source="split",
        summary_of=[episode.pk],
        **values,
    )
    ids = [message.pk for message in messages]
    Message.objects.filter(pk__in=ids).update(episode=part)
    # Where a fact was said is not a change of what is believed.
    with pgtrigger.ignore():
        Fact.objects.filter(message__in=ids).update(episode=part)
    return part


def _lock_members(episodes: list[Episode]) -> list[Episode]:
    """Lock the rows, oldest first, and check that they may be joined."""
    held = Episode.objects.select_for_update().filter(pk__in=[episode.pk for episode in episodes])
    members = sorted(held.order_by("pk"), key=_age)
    if not members:
        raise Invalid(_("Choose at least one episode."))
    # What one chat said must never be read in another.
    if len({(episode.space_id, episode.chat_id) for episode in members}) > 1:
        raise Invalid(_("Only episodes of the same chat can be merged."))
    if any(episode.status in (Status.OPEN, Status.DISCARDED) for episode in members):
        raise Invalid(_("Open and discarded episodes cannot be merged."))
    return members


def _archive(members: list[Episode], *, now: datetime) -> None:
    Episode.objects.filter(pk__in=[episode.pk for episode in members]).update(
        status=Status.ARCHIVED, updated_at=now
    )


def _age(episode: Episode) -> tuple:
    return episode.started_at, episode.pk


def _joined_values(members: list[Episode], *, body: str) -> dict:
    """Return the fields of an episode that replaces these."""
    first = members[0]
    whole = "\n".join(f"{episode.title}. {episode.body}" for episode in members)
    titles = unique_lines((episode.title for episode in members), 90)
    tags = unique_lines((tag for episode in members for tag in episode.tags), 64)[:12]
    return {
        "space": first.space,
        "chat": first.chat,
        "body": body,
        "title": " · ".join(titles)[:200] if len(titles) < 3 else summaries.title(whole)[:200],
        "tags": tags or summaries.tags(whole),
        "participants": unique_lines(
            (name for episode in members for name in episode.participants), 120
        ),
        "language": first.language,
        "started_at": first.started_at,
        "ended_at": max(episode.ended_at for episode in members),
        "trust": min(episode.trust for episode in members),
        "flags": sorted({flag for episode in members for flag in episode.flags}),
        "status": Status.CLOSED,
        "summary_of": [episode.pk for episode in members],
    }
