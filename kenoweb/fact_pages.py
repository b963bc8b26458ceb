"""The list of facts as a page shows it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb import facts_search, lists
from kenoweb.access import things
from kenoweb.filters import FactFilter
from kenoweb.lists import Chip, Select, View
from kenoweb.paging import CAP, Counting, counted, counting, part
from kenoweb.past import as_they_were
from kenoweb.places import address
from kenoweb.words import Looked
from memory.models import Chat, Fact, Member, Space

NEAR = 6
# No index knows the words of the past: there, counting them stops earlier.
PAST_CAP = 200
# What a chip calls each part of the filter, in this order.
LABELS = {
    "q": gettext_lazy("with"),
    "subject": gettext_lazy("about"),
    "kind": gettext_lazy("kind is"),
    "category": gettext_lazy("category is"),
    "chat": gettext_lazy("in"),
    "status": gettext_lazy("state is"),
    "source": gettext_lazy("source is"),
    "sure": "",
    "since": gettext_lazy("learned"),
    "unused": "",
}
FIELDS = {
    "status": gettext_lazy("State"),
    "kind": gettext_lazy("Kind"),
    "category": gettext_lazy("Category"),
    "chat": gettext_lazy("Where"),
    "source": gettext_lazy("Source"),
    "sure": gettext_lazy("Sure"),
    "since": gettext_lazy("Age"),
    "unused": gettext_lazy("Use"),
    "sort": gettext_lazy("Order"),
}
VIEWS = [
    (gettext_lazy("All"), {}),
    (gettext_lazy("New since yesterday"), {"since": "24h"}),
    (gettext_lazy("Unsure"), {"sure": "low"}),
    (gettext_lazy("Never used"), {"unused": "never"}),
    (gettext_lazy("Forgotten"), {"status": "archived"}),
    (gettext_lazy("Quarantine"), {"status": "quarantined"}),
]
FILTERS = [FactFilter(**values) for _label, values in VIEWS]
# Any time, for questions that are kept: what they say of a time is so long before or after it.
THEN = datetime(2000, 1, 1, tzinfo=UTC)
WORDS = {
    "select": gettext_lazy("Select"),
    "pinned": gettext_lazy("pinned"),
    "everywhere": gettext_lazy("Everywhere"),
    "pin": gettext_lazy("Pin"),
    "unpin": gettext_lazy("Unpin"),
    "edit": gettext_lazy("Edit"),
    "forget": gettext_lazy("Forget"),
    "release": gettext_lazy("Release"),
    "restore": gettext_lazy("Restore"),
}


@dataclass(frozen=True)
class Setting:
    """What every row of a list needs and none has to look up again."""

    url: str
    query: str
    sort: str
    may: bool
    words: dict[str, str]


@dataclass(frozen=True)
class FactList(lists.Listed):
    filter: FactFilter
    rows: list[Fact]
    setting: Setting
    near: list[Fact]
    more: str
    found: int
    views: list[View]
    chips: list[Chip]
    selects: list[Select]
    chats: list[tuple[str, str]]
    nothing_yet: bool
    cap: int = CAP

    @property
    def url(self) -> str:
        return self.setting.url

    @property
    def query(self) -> str:
        return self.setting.query


def setting(space: Space, wanted: FactFilter, *, member: Member) -> Setting:
    return Setting(
        url=address("facts:index", space),
        query=wanted.query(),
        sort=wanted.sort,
        may=member.may("curator") and not wanted.when,
        # Said once a page instead of fifty times.
        words={name: str(word) for name, word in WORDS.items()},
    )


def fact_list(space: Space, wanted: FactFilter, *, member: Member, now: datetime) -> FactList:
    around = setting(space, wanted, member=member)
    url = around.url
    chats = lists.chats_of(space)
    looked: Looked = {}
    found = facts_search.find(space, wanted, now=now, looked=looked)
    found = found.select_related("chat") if wanted.when else facts_search.shown(found)
    page = part(found, order=facts_search.order(wanted), after=wanted.after)
    rows = as_they_were(Fact, page.rows) if wanted.when else page.rows
    # What fits on one page has been counted by reading it.
    every, cap = [], PAST_CAP if wanted.when and wanted.q else CAP
    if page.after or wanted.after:
        every = [counting(facts_search.to_count(space, wanted, now=now, looked=looked), cap)]
    asked = _views_of(space, now=now)[: 1 if wanted.when else None]
    numbers = counted(*asked, *every, indexed=bool(wanted.q))
    of_views = numbers[1 : len(asked)]
    return FactList(
        filter=wanted,
        rows=rows,
        setting=around,
        near=[] if page.after or wanted.after else _near(space, wanted, rows, now=now),
        more=lists.there(url, wanted, after=page.after) if page.after else "",
        found=numbers[-1] if every else len(rows),
        views=[
            View(
                label, lists.there(url, one), lists.about(n), current=one.query() == wanted.query()
            )
            for (label, _values), one, n in zip(VIEWS, FILTERS, of_views, strict=False)
        ],
        chips=lists.chips(wanted, url=url, labels=LABELS, chats=chats),
        selects=lists.selects(wanted, FIELDS, chats=chats),
        chats=lists.chat_choices(chats),
        nothing_yet=not numbers[0],
        cap=cap,
    )


def _views_of(space: Space, *, now: datetime) -> list[Counting]:
    """All facts, and those of each view."""
    return [
        (sql, tuple(one + (now - THEN) if isinstance(one, datetime) else one for one in values))
        for sql, values in _views_then(space.pk)
    ]


@lru_cache(maxsize=512)
def _views_then(space_id: int) -> list[Counting]:
    space = Space(pk=space_id)
    views = (facts_search.find(space, one, now=THEN) for one in FILTERS)
    return [counting(one) for one in (things(space, Fact), *views)]


def _near(space: Space, wanted: FactFilter, rows: list[Fact], *, now: datetime) -> list[Fact]:
    """What only means it, after the last that says it."""
    shown = {fact.pk for fact in rows}
    found = facts_search.near(space, wanted, now=now)
    return [fact for fact in found if fact.pk not in shown][:NEAR]


def as_markdown(rows: list[Fact]) -> str:
    """A list for people and models: one line a fact, with its subject."""
    return "".join(
        f"- {f'{_subject(fact)}: ' if fact.subject else ''}{fact.text}\n" for fact in rows
    )


def _subject(fact: Fact) -> str:
    return _("Lore") if fact.subject == Fact.LORE else fact.subject


def matching(space: Space, wanted: FactFilter, *, now: datetime, most: int = CAP) -> list[Fact]:
    """The first facts of the list in its order."""
    rows = facts_search.find(space, wanted, now=now).order_by(*facts_search.order(wanted).names)
    found = list(rows[:most])
    return as_they_were(Fact, found) if wanted.when else found


def chat_of(space: Space, key: str) -> Chat | None:
    """The chat of a choice; None is the whole space, and what does not exist is not found."""
    return things(space, Chat).get(pk=int(key)) if key.isdigit() else None
