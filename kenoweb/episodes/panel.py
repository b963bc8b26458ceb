"""One episode with what it left behind, why a night chose it, and what was said in it."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in
from kenoweb.episodes import listing
from kenoweb.ui import history_thread
from kenoweb.ui.responses import space_url
from memory.episodes import service as episodes
from memory.models import Episode, Fact, Pattern, Space
from sleep.models import Proposal

MAX_MESSAGES = 60
MAX_LEFT = 30


def episode_panel(episode: Episode, *, space: Space, user: User, now: datetime) -> dict:
    messages = episodes.messages_of(episode)
    first = list(messages[:MAX_MESSAGES])
    left = what_it_left(episode, space=space)
    # Ids of the past: one may be purged since, none may be of another space.
    parts = rows_in(space, Episode).filter(pk__in=episode.summary_of).order_by("started_at", "pk")
    wholes = rows_in(space, Episode).filter(summary_of__contains=[episode.pk])
    wholes = wholes.exclude(status=Episode.Status.DISCARDED).exclude(source="split")
    keeps = space.options.trash_days
    return {
        "episode": episode,
        "url": space_url("episodes:detail", space, pk=episode.pk),
        "chat_url": space_url("chats:detail", space, episode.chat_id) if episode.chat_id else "",
        "when": span(episode),
        "left": left,
        "messages": first,
        "said": messages.count() if len(first) == MAX_MESSAGES else len(first),
        "parts": list(parts),
        # Not first(): it orders by id, and for that Postgres would read every episode.
        "whole": next(iter(wholes.order_by("pk")), None),
        "steps": history_thread.thread(episode, space=space, user=user),
        "days_left": listing.days_left(episode.discarded_at, keeps=keeps, now=now),
        "facts_left": sum(row["icon"] != "proposal" and not row["gone"] for row in left),
    }


def derived_facts(episode: Episode, *, space: Space):
    """Return the facts that rest on it: as their source, or among their evidence."""
    rests = Q(evidence__contains=[{"episode": episode.pk}]) & ~Q(evidence=[])
    return rows_in(space, Fact).filter(Q(episode=episode) | rests)


def what_it_left(episode: Episode, *, space: Space) -> list[dict]:
    """Return the memories that came out of the episode, and the proposals that wait."""
    rests = {"evidence__contains": [{"episode": episode.pk}]}
    facts = derived_facts(episode, space=space).only(
        "text", "language", "kind", "confidence", "status"
    )
    patterns = rows_in(space, Pattern).filter(**rests).order_by("-confidence", "-pk")
    waiting = rows_in(space, Proposal).filter(status=Proposal.Status.PENDING, **rests)
    return [
        *(_memory(fact, space) for fact in facts.order_by("-confidence", "-pk")[:MAX_LEFT]),
        *(_memory(pattern, space) for pattern in patterns[:MAX_LEFT]),
        *(_proposal(proposal, space) for proposal in waiting.only("title")[:MAX_LEFT]),
    ]


def _memory(row: Fact | Pattern, space: Space) -> dict:
    name = row._meta.model_name
    is_lesson = name == "fact" and row.kind == Fact.Kind.LESSON
    return {
        "icon": "spark" if is_lesson else name,
        "text": row.text if name == "fact" else f"{row.trigger} → {row.response}",
        "url": space_url(f"{name}s:detail", space, pk=row.pk),
        "alike": row.confidence,
        "gone": row.status != row.Status.ACTIVE,
        "lang": row.language,
    }


def _proposal(proposal: Proposal, space: Space) -> dict:
    url = space_url("proposals:detail", space, pk=proposal.pk)
    return {"icon": "proposal", "text": proposal.title, "url": url, "note": _("waiting")}


def span(episode: Episode) -> str:
    """Friday 13 February, 14:30 to 15:12"""
    start, end = localtime(episode.started_at), localtime(episode.ended_at)
    day = _("%(weekday)s %(date)s") % {
        "weekday": date_format(start, "l").capitalize(),
        "date": date_format(start, "DATE_FORMAT"),
    }
    first = date_format(start, "H:i")
    if episode.status == Episode.Status.OPEN:
        return _("%(day)s, since %(start)s") % {"day": day, "start": first}
    last = date_format(end, "H:i" if end.date() == start.date() else "SHORT_DATETIME_FORMAT")
    return _("%(day)s, %(start)s to %(end)s") % {"day": day, "start": first, "end": last}
