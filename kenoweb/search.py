"""Find a page, a fact or an episode by a few letters: what the jump sheet shows."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext as _

from kenoweb.access import things
from kenoweb.rail import RAIL
from kenoweb.shell import address
from memory.models import Episode, Fact, Space
from memory.text import clean

MOST = 6
LONGEST = 400


@dataclass(frozen=True)
class Hit:
    icon: str
    text: str
    url: str
    note: str = ""
    lang: str = ""


def find(space: Space, said: str) -> list[tuple[str, list[Hit]]]:
    """Groups of hits, the empty ones left out; without a question, the pages."""
    words = clean(said)[:LONGEST].strip()
    groups = [(_("Go to"), _places(space, words))]
    if words:
        groups += [(_("Facts"), _facts(space, words)), (_("Episodes"), _episodes(space, words))]
    return [(title, hits) for title, hits in groups if hits]


def _places(space: Space, words: str) -> list[Hit]:
    return [
        Hit(place.icon, str(place.label), url, f"g {place.key}")
        for _title, places in RAIL
        for place in places
        if words.casefold() in str(place.label).casefold() and (url := address(place.name, space))
    ]


def _facts(space: Space, words: str) -> list[Hit]:
    found = things(space, Fact).filter(
        Q(text__icontains=words) | Q(subject__icontains=words), status=Fact.Status.ACTIVE
    )
    return [
        Hit("fact", fact.text, _page("facts", space, fact.pk), fact.subject, fact.language)
        for fact in found.order_by("-updated_at", "-pk")[:MOST]
    ]


def _episodes(space: Space, words: str) -> list[Hit]:
    found = things(space, Episode).filter(
        Q(title__icontains=words) | Q(body__icontains=words), status__in=Episode.REMEMBERED
    )
    return [
        Hit("episode", str(episode), _page("episodes", space, episode.pk), lang=episode.language)
        for episode in found.order_by("-started_at", "-pk")[:MOST]
    ]


def _page(noun: str, space: Space, pk: int) -> str:
    """The page of the thing, or of its list while it has none."""
    return address(f"{noun}:detail", space, pk=pk) or address(f"{noun}:index", space)
