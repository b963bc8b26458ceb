"""Find a page, a person, a fact, an episode or a chat by a few letters: what the palette shows."""

import re
from dataclasses import dataclass

from django.db.models import F, Q
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb.auth.access import in_space, rows_in
from kenoweb.people.page import find as find_people
from kenoweb.people.page import relation_of
from kenoweb.ui.formatting import channel_name
from kenoweb.ui.page_chrome import NAVIGATION, SPACE_MENU
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import matches, near_words, substring_filter
from memory.models import Chat, Episode, Fact, Member, Space, Unit, encryption
from memory.models.unit import anywhere
from memory.text import normalise as text

MAX_HITS = 6
MAX_TERMS = 8
MAX_QUERY = 400
# Sorting every match of a common word would cost more than it shows.
MAX_CANDIDATES = 300
# Icon, name, other words for it, page, and who may.
ACTIONS = [
    ("chat", gettext_lazy("New chat"), gettext_lazy("talk, a question"), "chats:new", "curator"),
    ("fact", gettext_lazy("Remember something"), gettext_lazy("add"), "facts:new", "curator"),
    (
        "check",
        gettext_lazy("Decide proposals"),
        gettext_lazy("approve"),
        "proposals:index",
        "curator",
    ),
    ("play", gettext_lazy("Sleep now"), gettext_lazy("run a night"), "nights:index", "curator"),
    (
        "download",
        gettext_lazy("Export"),
        gettext_lazy("download backup"),
        "transfer:index",
        "owner",
    ),
    ("transfer", gettext_lazy("Import"), gettext_lazy("upload"), "transfer:index", "owner"),
    ("members", gettext_lazy("Invite someone"), gettext_lazy("share"), "members:index", "owner"),
    ("key", gettext_lazy("New token"), gettext_lazy("API key"), "tokens:new", "owner"),
    (
        "plug",
        gettext_lazy("Connect a model"),
        gettext_lazy("provider key"),
        "connect:index",
        "owner",
    ),
]


@dataclass(frozen=True)
class Hit:
    icon: str
    text: str
    url: str
    note: str = ""
    lang: str = ""
    keys: str = ""


Groups = list[tuple[str, list[Hit]]]


def find(space: Space, said: str, *, member: Member | None = None) -> Groups:
    """Groups of hits, the empty ones left out; without a question, the pages one may open."""
    words = text.clean(said)[:MAX_QUERY].strip()
    groups = [(_("Go to"), _places(space, words, member))]
    if words:
        facts = [_fact(space, fact) for fact in _found(space, Fact, words)]
        groups += [
            (_("Do"), _actions(space, words, member)),
            (_("People and things"), _people(space, words)),
            (_("Facts"), facts),
            (_("Near in meaning"), [] if facts else _near(space, words)),
            (_("Episodes"), _episodes(space, words)),
            (_("Chats"), _chats(space, words)),
        ]
    return [(title, hits) for title, hits in groups if hits]


def told(groups: Groups) -> str:
    """How much there is, for those who hear the page."""
    count = sum(len(hits) for _title, hits in groups)
    return ngettext("%(n)s result", "%(n)s results", count) % {"n": count}


def _places(space: Space, words: str, member: Member | None) -> list[Hit]:
    wanted = text.fold(words)
    return [
        Hit(place.icon, str(place.label), space_url(place.name, space), keys=f"g {place.key}")
        for places in (*(some for _title, some in NAVIGATION), SPACE_MENU)
        for place in places
        if (member is None or member.may(place.role)) and wanted in text.fold(str(place.label))
    ]


def _actions(space: Space, words: str, member: Member | None) -> list[Hit]:
    """What can be done on some page, by its name or a word that people have for it."""
    wanted = text.fold(words)
    return [
        Hit(icon, str(label), space_url(url, space))
        for icon, label, also, url, role in ACTIONS
        if (member is None or member.may(role)) and wanted in text.fold(f"{label} {also}")
    ]


def _near(space: Space, words: str) -> list[Hit]:
    """Facts that mean what the words say, where none has them."""
    scores = near_words(space, "fact", words, most=MAX_HITS)
    rows = rows_in(space, Fact).live().filter(pk__in=scores)
    return [_fact(space, row) for row in sorted(rows, key=lambda row: -scores[row.pk])]


def _people(space: Space, words: str) -> list[Hit]:
    found = find_people(space, words).select_related("owner").order_by("name", "pk")
    return [
        Hit(
            "members",
            entity.name,
            space_url("people:detail", space, entity.pk),
            relation_of(entity) or entity.get_kind_display(),
        )
        for entity in found[:MAX_HITS]
    ]


def _fact(space: Space, fact: Fact) -> Hit:
    url = space_url("facts:detail", space, fact.pk)
    subject = "" if fact.subject == Fact.LORE else fact.subject
    return Hit("fact", fact.text, url, subject, fact.language)


def _episodes(space: Space, words: str) -> list[Hit]:
    return [
        Hit(
            "episode",
            str(episode),
            space_url("episodes:detail", space, episode.pk),
            lang=episode.language,
        )
        for episode in _found(space, Episode, words)
    ]


def _chats(space: Space, words: str) -> list[Hit]:
    rows = rows_in(space, Chat).filter(substring_filter(words, "title", "key", "context"))
    newest = rows.order_by(F("last_message_at").desc(nulls_last=True), "-pk")[:MAX_HITS]
    return [
        Hit(
            "chat", str(chat), space_url("chats:detail", space, chat.pk), channel_name(chat.channel)
        )
        for chat in newest
    ]


def _found(space: Space, model: type[Fact | Episode], words: str) -> list:
    if encryption.has_keys(space.pk):
        fields = ("text", "subject") if model is Fact else ("title", "body")
        live = Q(status=Fact.Status.ACTIVE) if model is Fact else Q(status__in=Episode.REMEMBERED)
        holding = rows_in(space, model).filter(live, substring_filter(words, *fields))
        return list(holding.newest()[:MAX_HITS])
    pks = _matches(space, model._meta.model_name, words)
    rows = rows_in(space, model).in_bulk(pks)
    return [rows[pk] for pk in pks if pk in rows]


def _matches(space: Space, kind: str, said: str) -> list[int]:
    """Ids of what holds every word, the last ones perhaps only begun; the newest first."""
    # Letters and digits alone: no sign of the query language can be among them.
    words = re.findall(r"[^\W_]+", text.fold(said))[:MAX_TERMS]
    if not words:
        return []
    units = Unit.objects.filter(kind=kind, live=True, scopes__contains=[anywhere(space.pk)])
    found = units.filter(matches("words", words)).order_by().values_list("at", "owner_id")
    newest = sorted(found[:MAX_CANDIDATES], reverse=True)[:MAX_HITS]
    return [pk for _at, pk in newest]


@in_space(role="viewer")
def index(request, space):
    said = request.GET.get("q", "")
    groups = find(space, said, member=request.member)
    shown = {"q": said[:MAX_QUERY], "groups": groups, "told": told(groups)}
    return render(request, "search/index.html", shown)
