"""The list of episodes as a page shows it: by day, or as a table."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import ClassVar

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb.auth.access import rows_in
from kenoweb.ui import list_page
from kenoweb.ui.filters import EpisodeFilter, in_chat
from kenoweb.ui.formatting import dated, day_start
from kenoweb.ui.history_thread import rows_at
from kenoweb.ui.list_page import Order, Select, counted, part
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import UnindexedText, filter_by_text, substring_filter, words_of
from memory.history import changes as history
from memory.models import Episode, Fact, Member, Message, Space
from memory.text import summaries
from memory.text.normalise import short

Status = Episode.Status
STATES = {
    "": Q(),
    "open": Q(status=Status.OPEN),
    "waiting": Q(status=Status.CLOSED, consolidated_at=None),
    "done": Q(status=Status.CLOSED, consolidated_at__isnull=False),
    "archived": Q(status=Status.ARCHIVED),
    "discarded": Q(status=Status.DISCARDED),
}
# As the index episode_words_away has it: these episodes have no unit.
UNINDEXED = UnindexedText(
    Q(status__in=[Status.ARCHIVED, Status.DISCARDED]) | ~Q(flags=[]),
    words_of("memory_episode.title || ' ' || memory_episode.body"),
    ("title", "body"),
)
LOOKS = {Status.DISCARDED: "thrown", Status.OPEN: "open", Status.ARCHIVED: "done"}
BADGES = {Status.OPEN: gettext_lazy("Open"), Status.ARCHIVED: gettext_lazy("Archived")}
MONTHS = 4
# What a row shows or derives its look from.
ROW_FIELDS = (
    *("title", "body", "language", "tags", "flags", "feedback", "started_at", "status"),
    *("discard_reason", "discarded_at", "consolidated_at", "chat__title", "chat__key"),
)
FIRST_WORDS = 140


def find(space: Space, filters: EpisodeFilter) -> QuerySet:
    """Return the episodes that match. As events when the filter asks for a day."""
    if filters.when:
        rows = history.as_of(rows_in(space, Episode), filters.when)
        # An episode written later about an earlier time was not known then: both must be past.
        rows = rows.filter(space=space, started_at__lte=filters.when)
    else:
        rows = rows_in(space, Episode)
    rows = rows.filter(_conditions(filters))
    if not filters.q:
        return rows
    if filters.when:
        return rows.filter(substring_filter(filters.q, *UNINDEXED.fields))
    # Episodes of any other state may be in quarantine, and then have no unit either.
    live = False if filters.state in {"archived", "discarded"} else None
    return filter_by_text(
        rows, filters.q, space=space, kind="episode", unindexed=UNINDEXED, live=live
    )


def _conditions(filters: EpisodeFilter) -> Q:
    return (
        STATES[filters.state]
        & in_chat(filters.chat)
        & in_month(filters.month)
        & (Q(tags__contains=[filters.tag]) if filters.tag else Q())
        & (Q(participants__contains=[filters.who]) if filters.who else Q())
        & (Q(feedback=filters.feedback) if filters.feedback else Q())
    )


def order(filters: EpisodeFilter) -> Order:
    return Order("started_at", key="pgh_obj_id" if filters.when else "pk")


def in_month(month: str) -> Q:
    """Match what began in that month, by the clock of the space."""
    if not month:
        return Q()
    first = date.fromisoformat(f"{month}-01")
    after = (first + timedelta(days=32)).replace(day=1)
    return Q(started_at__gte=day_start(first), started_at__lt=day_start(after))


def last_months(count: int, *, today: date) -> list[date]:
    """Return the first day of this month and of those before it."""
    months = [today.replace(day=1)]
    while len(months) < count:
        months.append((months[-1] - timedelta(days=1)).replace(day=1))
    return months


def days_left(gone_at: datetime | None, *, keeps: int, now: datetime) -> int:
    """Return the days until the trash deletes it, rounded up; 0 when it is about to."""
    if gone_at is None:
        return keeps
    return max(0, -((now - gone_at - timedelta(days=keeps)) // timedelta(days=1)))


@dataclass(frozen=True)
class Row:
    """An episode with the notes under its title."""

    episode: Episode
    url: str
    look: str
    notes: list[str]
    badge: str = ""
    title: str = ""

    @property
    def pk(self) -> int:
        return self.episode.pk


@dataclass(frozen=True)
class Day:
    name: str
    date: str
    rows: list[Row]


@dataclass(frozen=True, kw_only=True)
class EpisodeList(list_page.ListPage):
    LABELS: ClassVar = {
        "q": gettext_lazy("with"),
        "chat": gettext_lazy("in"),
        "state": gettext_lazy("state is"),
        "tag": gettext_lazy("tagged"),
        "who": gettext_lazy("together with"),
        "feedback": gettext_lazy("feedback was"),
        "month": gettext_lazy("in"),
    }
    FIELDS: ClassVar = {"chat": gettext_lazy("Where"), "state": gettext_lazy("State")}
    MORE_FIELDS: ClassVar = {"feedback": gettext_lazy("Feedback"), "look": gettext_lazy("Look")}

    trashed: int

    @property
    def chats(self) -> int:
        return len(self.of_chats)

    @property
    def more_selects(self) -> list[Select]:
        return self.selects_of(self.MORE_FIELDS)

    @property
    def as_list(self) -> str:
        return list_page.filter_url(self.url, self.filter, look="list")

    @property
    def by_day(self) -> str:
        return list_page.filter_url(self.url, self.filter, look="")

    @property
    def days(self) -> list[Day]:
        return by_day(self.rows, today=timezone.localdate())


def episode_list(
    space: Space, filters: EpisodeFilter, *, member: Member, now: datetime
) -> EpisodeList:
    url = space_url("episodes:index", space)
    matches = find(space, filters).select_related("chat")
    matches = matches if filters.when else matches.only(*ROW_FIELDS)
    page = part(matches, order=order(filters), after=filters.after)
    rows = rows_at(Episode, page.rows) if filters.when else page.rows
    unfiltered = EpisodeFilter(look=filters.look)
    months = [
        (_month_name(month), replace(unfiltered, month=f"{month:%Y-%m}"))
        for month in last_months(MONTHS, today=timezone.localdate(now))
    ]
    every = rows_in(space, Episode)
    remembered = every.remembered()
    of_months = [remembered.filter(in_month(tab.month)) for _name, tab in months]
    is_whole = not (page.after or filters.after)
    # What fits on one page has been counted by reading it.
    queries = [every, every.discarded(), remembered, *of_months]
    if not is_whole:
        queries.append(find(space, filters))
    total, trashed, left, *numbers = counted(*queries, indexed=bool(filters.q))
    tabs = [(_("All"), unfiltered, left)]
    tabs += [(*tab, n) for tab, n in zip(months, numbers, strict=False) if n]
    return EpisodeList(
        filter=filters,
        rows=episode_rows(rows, space=space, query=filters.query(), now=now),
        url=url,
        after=page.after,
        found=left if filters == unfiltered else len(rows) if is_whole else numbers[-1],
        of_chats=list_page.chats_of(space),
        trashed=trashed,
        may=member.may("curator") and not filters.when,
        views=list_page.views_of(filters, url, tabs),
        nothing_yet=not total,
    )


def _month_name(month: date) -> str:
    this_year = month.year == timezone.localdate().year
    return dated(month, "F" if this_year else "YEAR_MONTH_FORMAT").capitalize()


def episode_rows(rows: list[Episode], *, space: Space, query: str, now: datetime) -> list[Row]:
    """Add to each episode what its row shows, in a few queries however many there are."""
    pks = [episode.pk for episode in rows]
    messages = _per_episode(rows_in(space, Message).filter(episode__in=pks))
    facts = _per_episode(rows_in(space, Fact).live().filter(episode__in=pks))
    titles = titles_of([episode.pk for episode in rows if not str(episode)])
    keeps, tail = space.options.trash_days, f"?{query}" if query else ""
    return [
        Row(
            episode=episode,
            url=space_url("episodes:detail", space, pk=episode.pk) + tail,
            look=LOOKS.get(episode.status) or ("done" if episode.consolidated_at else ""),
            notes=_notes(episode, messages[episode.pk], facts[episode.pk], keeps=keeps, now=now),
            badge=str(BADGES.get(episode.status, "")),
            title=str(episode)
            or titles.get(episode.pk)
            or date_format(timezone.localtime(episode.started_at), "SHORT_DATETIME_FORMAT"),
        )
        for episode in rows
    ]


def titles_of(pks: list[int]) -> dict[int, str]:
    """Return titles for episodes that have none yet, from what was said in them.

    Questions and commands count only where nothing else was said, forgotten messages never.
    """
    if not pks:
        return {}
    messages = Message.objects.filter(episode__in=pks, silenced_by=None, role=Message.Role.USER)
    messages = messages.only("space", "episode", "text", "not_recalled").order_by("sent_at", "pk")
    texts: dict[int, list[str]] = defaultdict(list)
    first: dict[int, str] = {}
    for message in messages:
        first.setdefault(message.episode_id, message.text)
        if not message.not_recalled:
            texts[message.episode_id].append(message.text)
    titles = {pk: summaries.title("\n".join(parts)) for pk, parts in texts.items()}
    return {pk: titles.get(pk) or short(text, FIRST_WORDS) for pk, text in first.items()}


def _per_episode(rows) -> Counter:
    return Counter(dict(rows.order_by().values_list("episode").annotate(n=Count("pk"))))


def _notes(episode: Episode, messages: int, facts: int, *, keeps: int, now: datetime) -> list[str]:
    """Return what stands under the title; `messages` and `facts` say how many it has."""
    notes = []
    if messages:
        notes.append(ngettext("%(n)s message", "%(n)s messages", messages) % {"n": messages})
    if episode.status == Episode.Status.DISCARDED:
        days = days_left(episode.discarded_at, keeps=keeps, now=now)
        why = episode.discard_reason
        notes.append(_("Discarded: %(why)s") % {"why": why} if why else _("Discarded"))
        return [*notes, ngettext("%(n)s day left", "%(n)s days left", days) % {"n": days}]
    if facts:
        notes.append(ngettext("%(n)s fact", "%(n)s facts", facts) % {"n": facts})
    elif episode.status == Episode.Status.CLOSED and not episode.consolidated_at:
        notes.append(_("waits for a night"))
    if episode.feedback:
        notes.append(_("was good") if episode.feedback == "positive" else _("was bad"))
    return notes


def by_day(rows: list[Row], *, today: date) -> list[Day]:
    """Group the rows by the day on which they began, by the clock of the space."""
    return [
        Day(
            _day_name(day, today=today),
            dated(day, _("j M") if day.year == today.year else _("j M Y")),
            list(day_rows),
        )
        for day, day_rows in groupby(
            rows, key=lambda row: timezone.localdate(row.episode.started_at)
        )
    ]


def _day_name(day: date, *, today: date) -> str:
    back = (today - day).days
    if back < 2:
        return [_("Today"), _("Yesterday")][max(0, back)]
    return dated(day, "l").capitalize()
