"""Several episodes become one, or one becomes two. All soft, all undone as one change."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import history, rows, summaries
from memory.episode_words import Complete, Invalid, messages_of, shortened, tidy, transcript
from memory.history import Done
from memory.models import Episode, Message

Status = Episode.Status


def summarise(
    episodes: list[Episode],
    *,
    by: str,
    into: Episode | None = None,
    complete: Complete | None = None,
    now: datetime | None = None,
) -> Done:
    """One new episode says in short what these said; they are archived and stay where they are.

    With `into`, a summary that is there already says it too, beside what it said before.
    """
    now = now or timezone.now()
    earlier = Episode.objects.filter(pk__in=into.summary_of if into else [], status=Status.ARCHIVED)
    # Before the locks: a model takes its time.
    said = [one.body or transcript(one) for one in sorted([*earlier, *episodes], key=_age)]
    body = shortened(said, complete)
    with transaction.atomic(), history.change(by=by, why="summarise") as context:
        members = _together([*episodes, into] if into else episodes)
        into = next((one for one in members if one == into), None)
        members = [one for one in members if one != into]
        values = _joined(sorted([*earlier, *members], key=_age), body=body)
        if into:
            rows.change(into, by=by, why="summarise", now=now, **values)
        else:
            into = Episode.objects.create(source="summary", consolidated_at=now, **values)
        _archive(members, now=now)
    return Done(into, context.id, outcome="new", count=len(members))


@transaction.atomic
def merge(episodes: list[Episode], *, by: str, now: datetime | None = None) -> Done:
    """One new episode takes the place of these, with all their words; they are archived."""
    members = _together(episodes)
    now = now or timezone.now()
    body = "\n\n".join(one.body for one in members if one.body)
    done = all(one.consolidated_at for one in members)
    with history.change(by=by, why="merge") as context:
        read = now if done else None
        values = _joined(members, body=body)
        made = Episode.objects.create(source="merge", consolidated_at=read, **values)
        _archive(members, now=now)
    return Done(made, context.id, outcome="new", count=len(members))


@transaction.atomic
def split(episode: Episode, *, at: datetime, by: str, now: datetime | None = None) -> Done:
    """What was said from that time on becomes an episode of its own, which is Done.row."""
    rows.lock(episode)
    later = messages_of(episode).filter(sent_at__gte=at)
    earlier = messages_of(episode).filter(sent_at__lt=at).last()
    if episode.status == Status.OPEN or not earlier or not later.exists():
        raise Invalid(_("Choose a time between two messages of a closed episode."))
    with history.change(by=by, why="split") as context:
        said = "\n".join(f"{m.author or m.get_role_display()}: {m.text}" for m in later)
        made = Episode.objects.create(
            space=episode.space,
            chat=episode.chat,
            title=summaries.title(said)[:200],
            body=shortened([said]),
            tags=summaries.tags(said),
            participants=tidy((m.author for m in later if m.role == Message.Role.USER), 120),
            language=episode.language,
            started_at=later.first().sent_at,
            ended_at=later.last().sent_at,
            status=episode.status,
            flags=episode.flags,
            source="split",
            summary_of=[episode.pk],
        )
        Message.objects.filter(pk__in=later.values("pk")).update(episode=made)
        left = {"ended_at": max(episode.started_at, earlier.sent_at)}
        if not episode.sticky:
            left["body"] = shortened([transcript(episode)])
        rows.change(episode, by=by, why="split", now=now, **left)
    return Done(made, context.id, outcome="new")


def _together(episodes: list[Episode]) -> list[Episode]:
    """The rows, locked, oldest first; they must belong together."""
    held = Episode.objects.select_for_update().filter(pk__in=[one.pk for one in episodes])
    members = sorted(held.order_by("pk"), key=_age)
    if not members:
        raise Invalid(_("Choose at least one episode."))
    # What one chat said must never be read in another.
    if len({(one.space_id, one.chat_id) for one in members}) > 1:
        raise Invalid(_("Only episodes of one chat can become one."))
    if any(one.status in (Status.OPEN, Status.DISCARDED) for one in members):
        raise Invalid(_("Open and discarded episodes cannot be joined."))
    return members


def _archive(members: list[Episode], *, now: datetime) -> None:
    Episode.objects.filter(pk__in=[one.pk for one in members]).update(
        status=Status.ARCHIVED, updated_at=now
    )


def _age(episode: Episode) -> tuple:
    return episode.started_at, episode.pk


def _joined(members: list[Episode], *, body: str) -> dict:
    """The fields of an episode that stands for these."""
    first = members[0]
    whole = "\n".join(f"{one.title}. {one.body}" for one in members)
    titles = tidy((one.title for one in members), 90)
    tags = tidy((tag for one in members for tag in one.tags), 64)[:12]
    return {
        "space": first.space,
        "chat": first.chat,
        "body": body,
        "title": " · ".join(titles)[:200] if len(titles) < 3 else summaries.title(whole)[:200],
        "tags": tags or summaries.tags(whole),
        "participants": tidy((name for one in members for name in one.participants), 120),
        "language": first.language,
        "started_at": first.started_at,
        "ended_at": max(one.ended_at for one in members),
        "trust": min(one.trust for one in members),
        "flags": sorted({flag for one in members for flag in one.flags}),
        "status": Status.CLOSED,
        "summary_of": [one.pk for one in members],
    }
