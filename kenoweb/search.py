"""Find a page, a fact, an episode or a chat by a few letters: what the palette shows."""

import re
from dataclasses import dataclass

from django.db import connection
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.access import things
from kenoweb.chat_pages import channel
from kenoweb.places import address
from kenoweb.rail import RAIL, SPACE_MENU
from kenoweb.words import letters
from memory import text
from memory.models import Chat, Episode, Fact, Member, Space
from memory.models.unit import anywhere

MOST = 6
MOST_WORDS = 8
LONGEST = 400
# Sorting every match of a common word would cost more than it shows.
ENOUGH = 300
SQL = """
SELECT owner_id FROM (
  SELECT owner_id, at FROM memory_unit
  WHERE scopes @> %s::bigint[] AND kind = %s AND live AND words @@ ({every}) LIMIT %s
) AS found ORDER BY at DESC, owner_id DESC LIMIT %s
"""


@dataclass(frozen=True)
class Hit:
    icon: str
    text: str
    url: str
    note: str = ""
    lang: str = ""


Groups = list[tuple[str, list[Hit]]]


def find(space: Space, said: str, *, member: Member | None = None) -> Groups:
    """Groups of hits, the empty ones left out; without a question, the pages one may open."""
    words = text.clean(said)[:LONGEST].strip()
    groups = [(_("Go to"), _places(space, words, member))]
    if words:
        groups += [
            (_("Facts"), _facts(space, words)),
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
        Hit(place.icon, str(place.label), url, f"g {place.key}")
        for places in (*(some for _title, some in RAIL), SPACE_MENU)
        for place in places
        if (member is None or member.may(place.role))
        and wanted in text.fold(str(place.label))
        and (url := address(place.name, space))
    ]


def _facts(space: Space, words: str) -> list[Hit]:
    return [
        Hit("fact", fact.text, _page("facts", space, fact.pk), fact.subject, fact.language)
        for fact in _found(space, Fact, words)
    ]


def _episodes(space: Space, words: str) -> list[Hit]:
    return [
        Hit("episode", str(episode), _page("episodes", space, episode.pk), lang=episode.language)
        for episode in _found(space, Episode, words)
    ]


def _chats(space: Space, words: str) -> list[Hit]:
    rows = things(space, Chat).filter(letters(words, "title", "key", "context"))
    newest = rows.order_by(F("last_message_at").desc(nulls_last=True), "-pk")[:MOST]
    return [
        Hit("chat", str(chat), _page("chats", space, chat.pk), channel(chat.channel))
        for chat in newest
    ]


def _found(space: Space, model: type[Fact | Episode], words: str) -> list:
    pks = _matches(space, model._meta.model_name, words)
    rows = things(space, model).in_bulk(pks)
    return [rows[pk] for pk in pks if pk in rows]


def _matches(space: Space, kind: str, said: str) -> list[int]:
    """Ids of what holds every word, the last ones perhaps only begun; the newest first."""
    # Letters and digits alone: no sign of the query language can be among them.
    words = re.findall(r"[^\W_]+", text.fold(said))[:MOST_WORDS]
    if not words:
        return []
    every = " && ".join(["(keno_query(%s) || to_tsquery('pg_catalog.simple', %s))"] * len(words))
    values = [form for word in words for form in (word, f"{word}:*")]
    with connection.cursor() as cursor:
        cursor.execute(SQL.format(every=every), [[anywhere(space.pk)], kind, *values, ENOUGH, MOST])
        return [pk for (pk,) in cursor.fetchall()]


def _page(noun: str, space: Space, pk: int) -> str:
    """The page of the thing, or of its list while it has none."""
    return address(f"{noun}:detail", space, pk=pk) or address(f"{noun}:index", space)
