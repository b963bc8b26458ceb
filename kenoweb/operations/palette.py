"""The search palette: find a page, a person, a fact, an episode or a chat by a few letters."""

import re
from dataclasses import dataclass

from django.db.models import F, Q
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

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
    ("chat", _("New chat"), _("talk, a question"), "chats:new", "curator"),
    ("fact", _("Remember something"), _("add"), "facts:new", "curator"),
    ("check", _("Decide proposals"), _("approve"), "proposals:index", "curator"),
    ("play", _("Sleep now"), _("run a night"), "nights:index", "curator"),
    ("download", _("Export"), _("download backup"), "transfer:index", "owner"),
    ("transfer", _("Import"), _("upload"), "transfer:index", "owner"),
    ("members", _("Invite someone"), _("share"), "members:index", "owner"),
    ("key", _("New token"), _("API key"), "tokens:new", "owner"),
    ("plug", _("Connect a model"), _("provider key"), "connect:index", "owner"),
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


def find(space: Space, query: str, *, member: Member | None = None) -> Groups:
    """Return the groups with hits; without a query, the pages that the member may open."""
    words = text.clean(query)[:MAX_QUERY].strip()
    groups = [(_("Go to"), _places(space, words, member))]
    if words:
        facts = [_fact(space, fact) for fact in _rows_with(space, Fact, words)]
        groups += [
            (_("Do"), _actions(space, words, member)),
            (_("People and things"), _people(space, words)),
            (_("Facts"), facts),
            (_("Near in meaning"), [] if facts else _near(space, words)),
            (_("Episodes"), _episodes(space, words)),
            (_("Chats"), _chats(space, words)),
        ]
    return [(title, hits) for title, hits in groups if hits]


def _places(space: Space, words: str, member: Member | None) -> list[Hit]:
    folded = text.fold(words)
    return [
        Hit(place.icon, str(place.label), space_url(place.name, space), keys=f"g {place.key}")
        for places in (*(places for _title, places in NAVIGATION), SPACE_MENU)
        for place in places
        if (member is None or member.may(place.role)) and folded in text.fold(str(place.label))
    ]


def _actions(space: Space, words: str, member: Member | None) -> list[Hit]:
    """Find what can be done on a page, by its name or another word for it."""
    folded = text.fold(words)
    return [
        Hit(icon, str(label), space_url(url, space))
        for icon, label, also, url, role in ACTIONS
        if (member is None or member.may(role)) and folded in text.fold(f"{label} {also}")
    ]


def _near(space: Space, words: str) -> list[Hit]:
    """Find facts that mean what the words say; for when none has them."""
    scores = near_words(space, "fact", words, most=MAX_HITS)
    rows = rows_in(space, Fact).live().filter(pk__in=scores)
    return [_fact(space, row) for row in sorted(rows, key=lambda row: -scores[row.pk])]


def _people(space: Space, words: str) -> list[Hit]:
    people = find_people(space, words).select_related("owner").order_by("name", "pk")
    return [
        Hit(
            "members",
            entity.name,
            space_url("people:detail", space, entity.pk),
            relation_of(entity) or entity.get_kind_display(),
        )
        for entity in people[:MAX_HITS]
    ]


def _fact(space: Space, fact: Fact) -> Hit:
    url = space_url("facts:detail", space, fact.pk)
    subject = "" if fact.subject == Fact.LORE else fact.subject
    return Hit("fact", fact.text, url, subject, fact.language)


def _episodes(space: Space, words: str) -> list[Hit]:
    return [
        Hit("episode", str(row), space_url("episodes:detail", space, row.pk), lang=row.language)
        for row in _rows_with(space, Episode, words)
    ]


def _chats(space: Space, words: str) -> list[Hit]:
    rows = rows_in(space, Chat).filter(substring_filter(words, "title", "key", "context"))
    newest = rows.order_by(F("last_message_at").desc(nulls_last=True), "-pk")[:MAX_HITS]
    urls = [space_url("chats:detail", space, chat.pk) for chat in newest]
    return [
        Hit("chat", str(chat), url, channel_name(chat.channel))
        for chat, url in zip(newest, urls, strict=True)
    ]


def _rows_with(space: Space, model: type[Fact | Episode], words: str) -> list:
    if encryption.has_keys(space.pk):
        fields = ("text", "subject") if model is Fact else ("title", "body")
        live = Q(status=Fact.Status.ACTIVE) if model is Fact else Q(status__in=Episode.REMEMBERED)
        rows = rows_in(space, model).filter(live, substring_filter(words, *fields))
        return list(rows.newest()[:MAX_HITS])
    pks = _matches(space, model._meta.model_name, words)
    rows = rows_in(space, model).in_bulk(pks)
    return [rows[pk] for pk in pks if pk in rows]


def _matches(space: Space, kind: str, words: str) -> list[int]:
    """Return the newest ids with every word, of which the last may be unfinished."""
    # Only letters and digits: no character of the query language can be among them.
    terms = re.findall(r"[^\W_]+", text.fold(words))[:MAX_TERMS]
    if not terms:
        return []
    units = Unit.objects.filter(kind=kind, live=True, scopes__contains=[anywhere(space.pk)])
    rows = units.filter(matches("words", terms)).order_by().values_list("at", "owner_id")
    newest = sorted(rows[:MAX_CANDIDATES], reverse=True)[:MAX_HITS]
    return [pk for _at, pk in newest]


@in_space(role="viewer")
def index(request, space):
    query = request.GET.get("q", "")
    groups = find(space, query, member=request.member)
    count = sum(len(hits) for _title, hits in groups)
    told = ngettext("%(n)s result", "%(n)s results", count) % {"n": count}
    context = {"q": query[:MAX_QUERY], "groups": groups, "told": told}
    return render(request, "search/index.html", context)
