"""One episode with what it left behind, why a night chose it, and what was said in it."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in
from kenoweb.episodes import listing as episodes_search
from kenoweb.ui import history_thread
from kenoweb.ui.history_thread import Step
from kenoweb.ui.responses import space_url
from memory.episodes import service as episodes
from memory.models import Episode, Fact, Message, Pattern, Space
from sleep.models import Proposal

SHOWN = 60
LEFT = 30


@dataclass(frozen=True)
class Left:
    """A memory that came out of the episode."""

    icon: str
    text: str
    url: str
    alike: float | None = None
    gone: bool = False
    lang: str = ""
    note: str = ""


@dataclass(frozen=True)
class EpisodePanel:
    episode: Episode
    url: str
    chat_url: str
    when: str
    left: list[Left]
    messages: list[Message]
    said: int
    parts: list[Episode]
    whole: Episode | None
    steps: list[Step]
    days_left: int
    facts_left: int


def episode_panel(episode: Episode, *, space: Space, user: User, now: datetime) -> EpisodePanel:
    messages = episodes.messages_of(episode)
    first = list(messages[:SHOWN])
    left = what_it_left(episode, space=space)
    chat = space_url("chats:detail", space, pk=episode.chat_id) if episode.chat_id else ""
    # Ids of the past: one may be purged since, none may be of another space.
    parts = rows_in(space, Episode).filter(pk__in=episode.summary_of).order_by("started_at", "pk")
    wholes = rows_in(space, Episode).filter(summary_of__contains=[episode.pk])
    wholes = wholes.exclude(status=Episode.Status.DISCARDED).exclude(source="split")
    return EpisodePanel(
        episode=episode,
        url=space_url("episodes:detail", space, pk=episode.pk),
        chat_url=chat,
        when=span(episode),
        left=left,
        messages=first,
        said=messages.count() if len(first) == SHOWN else len(first),
        parts=list(parts),
        # Not first(): for one in the order of ids, Postgres would read every episode.
        whole=next(iter(wholes.order_by("pk")), None),
        steps=history_thread.thread(episode, space=space, user=user),
        days_left=episodes_search.days_left(
            episode.discarded_at, keeps=space.options.trash_days, now=now
        ),
        facts_left=sum(one.icon != "proposal" and not one.gone for one in left),
    )


def derived_facts(episode: Episode, *, space: Space):
    """The facts that rest on it: as their source, or among their evidence."""
    rests = Q(evidence__contains=[{"episode": episode.pk}]) & ~Q(evidence=[])
    return rows_in(space, Fact).filter(Q(episode=episode) | rests)


def what_it_left(episode: Episode, *, space: Space) -> list[Left]:
    rests = {"evidence__contains": [{"episode": episode.pk}]}
    facts = derived_facts(episode, space=space).only(
        "text", "language", "kind", "confidence", "status"
    )
    patterns = rows_in(space, Pattern).filter(**rests).order_by("-confidence", "-pk")[:LEFT]
    waiting = rows_in(space, Proposal).filter(status=Proposal.Status.PENDING, **rests)
    return [
        *(_fact(fact, space) for fact in facts.order_by("-confidence", "-pk")[:LEFT]),
        *(_pattern(pattern, space) for pattern in patterns),
        *(_proposal(proposal, space) for proposal in waiting.only("title")[:LEFT]),
    ]


def _fact(fact: Fact, space: Space) -> Left:
    symbol = "spark" if fact.kind == Fact.Kind.LESSON else "fact"
    url = space_url("facts:detail", space, pk=fact.pk)
    gone = fact.status != Fact.Status.ACTIVE
    return Left(symbol, fact.text, url, fact.confidence, gone, fact.language)


def _pattern(pattern: Pattern, space: Space) -> Left:
    url = space_url("patterns:detail", space, pk=pattern.pk)
    gone = pattern.status != Pattern.Status.ACTIVE
    text = f"{pattern.trigger} → {pattern.response}"
    return Left("pattern", text, url, pattern.confidence, gone, pattern.language)


def _proposal(proposal: Proposal, space: Space) -> Left:
    url = space_url("proposals:detail", space, pk=proposal.pk)
    return Left("proposal", proposal.title, url, note=_("waiting"))


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
