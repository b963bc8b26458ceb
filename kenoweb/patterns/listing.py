"""The list of patterns as a page shows it, and the message somebody tries on them."""

import re
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import rows_in
from kenoweb.ui import charts, history_thread, list_page
from kenoweb.ui.filters import HERE, PatternFilter, in_chat
from kenoweb.ui.history_thread import Step, rows_at
from kenoweb.ui.list_page import Chip, Select
from kenoweb.ui.paging import Order, counted, part
from kenoweb.ui.text_search import substring_filter
from memory import patterns
from memory.history import changes as history
from memory.models import Chat, Member, Pattern, Space
from memory.models.fact import USED_AT
from memory.text.normalise import fold, words

LABELS = {
    "q": gettext_lazy("with"),
    "chat": gettext_lazy("in"),
    "status": gettext_lazy("state is"),
}
FIELDS = {
    "status": gettext_lazy("State"),
    "chat": gettext_lazy("Where"),
    "sort": gettext_lazy("Order"),
}
ORDERS = {
    "": Order("updated_at"),
    "used": Order("used_at"),
    "often": Order("use_count", int),
    "sure": Order("confidence", float),
}
FROM = patterns.INJECTED_FROM
# Beyond this many a tried message says no more.
TRIALS = 8
WIDE = 344


@dataclass(frozen=True)
class PatternList(list_page.ListPage):
    filter: PatternFilter
    rows: list[Pattern]
    url: str
    query: str
    more: str
    found: int
    may: bool
    chips: list[Chip]
    selects: list[Select]
    nothing_yet: bool


@dataclass(frozen=True)
class Trial:
    """How one pattern takes the message: how much of it was heard, times how sure it is."""

    pattern: Pattern
    heard: int
    of: int
    score: float
    words: tuple[str, ...] = ()

    @property
    def fires(self) -> bool:
        return self.score >= FROM

    @property
    def covered(self) -> str:
        return charts.n(WIDE * self.heard / self.of) if self.of else "0"

    @property
    def scored(self) -> str:
        return charts.n(WIDE * self.score)


@dataclass(frozen=True)
class Tried:
    said: str
    trials: list[Trial]
    # The message in pieces, each with whether a pattern heard it.
    pieces: list[tuple[str, bool]]


@dataclass(frozen=True)
class PatternPanel:
    pattern: Pattern
    url: str
    steps: list[Step]


def pattern_list(
    space: Space, wanted: PatternFilter, *, member: Member, now: datetime
) -> PatternList:
    url = reverse("patterns:index", args=[space.slug])
    chats = list_page.chats_of(space)
    found = find(space, wanted)
    order = Order("updated_at", key="pgh_obj_id") if wanted.when else ORDERS[wanted.sort]
    page = part(found.select_related("chat"), order=order, after=wanted.after)
    numbers = counted(found, rows_in(space, Pattern))
    return PatternList(
        filter=wanted,
        rows=rows_at(Pattern, page.rows) if wanted.when else page.rows,
        url=url,
        query=wanted.query(tried=""),
        more=list_page.filter_url(url, wanted, after=page.after, tried="") if page.after else "",
        found=numbers[0],
        may=member.may("curator") and not wanted.when,
        chips=list_page.chips(wanted, url=url, labels=LABELS, chats=chats),
        selects=list_page.selects(wanted, FIELDS, chats=chats),
        nothing_yet=not numbers[1],
    )


def find(space: Space, wanted: PatternFilter) -> QuerySet:
    if wanted.when:
        rows = history.as_of(rows_in(space, Pattern), wanted.when).filter(space=space)
    else:
        rows = rows_in(space, Pattern).annotate(used_at=USED_AT)
    state = Q() if wanted.status == "any" else Q(status=wanted.status)
    rows = rows.filter(state, in_chat(wanted.chat))
    return (
        rows.filter(substring_filter(wanted.q, "trigger", "response", "slug")) if wanted.q else rows
    )


def pattern_panel(pattern: Pattern, *, space: Space, user: User) -> PatternPanel:
    return PatternPanel(
        pattern=pattern,
        url=reverse("patterns:detail", args=[space.slug, pattern.pk]),
        steps=history_thread.thread(pattern, space=space, user=user),
    )


def tried(space: Space, wanted: PatternFilter, *, chosen: Pattern | None = None) -> Tried:
    """Which patterns the message calls up and why; the chosen one also when it stays quiet."""
    chat = rows_in(space, Chat).filter(pk=int(wanted.chat)).first() if _is_chat(wanted) else None
    found = [
        Trial(one.pattern, len(one.words), one.of, one.score, one.words)
        for one in patterns.match(space, text=wanted.tried, chat=chat)[:TRIALS]
    ]
    if wanted.tried and chosen and chosen.pk not in {one.pattern.pk for one in found}:
        heard, of = patterns.coverage(chosen.trigger, _heard(wanted.tried))
        score = len(heard) / of * chosen.confidence if of and chosen.status == "active" else 0.0
        found.append(Trial(chosen, len(heard), of, score, tuple(heard)))
    return Tried(wanted.tried, found, pieces(wanted.tried, [w for one in found for w in one.words]))


def pieces(said: str, heard: list[str]) -> list[tuple[str, bool]]:
    """The message in words and what stands between them; the heard words are marked."""
    known = {piece for word in heard for piece in words(fold(word))}
    return [(part, fold(part) in known) for part in re.findall(r"\w+|\W+", said) if part]


def _is_chat(wanted: PatternFilter) -> bool:
    return bool(wanted.chat) and wanted.chat != HERE


def _heard(said: str) -> str:
    return f" {' '.join(words(fold(said)))} "
