"""The list of episodes as a page shows it: by day, or as a table."""

from collections import Counter, defaultdict
from dataclasses import dataclass
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
MONTHS = 4
# What a row shows or is told by.
SHOWN = (
    *("title", "body", "language", "tags", "flags", "feedback", "started_at", "status"),
    *("discard_reason", "discarded_at", "consolidated_at", "chat__title", "chat__key"),
)
FIRST_WORDS = 140


def find(space: Space, wanted: EpisodeFilter) -> QuerySet:
    """The episodes that the filter describes. As events when it asks for a day."""
    if wanted.when:
        rows = history.as_of(rows_in(space, Episode), wanted.when)
        # What was written later about an earlier time was not known then: both must be past.
        rows = rows.filter(space=space, started_at__lte=wanted.when)
    else:
        rows = rows_in(space, Episode)
    rows = _filtered(rows, wanted)
    if not wanted.q:
        return rows
    if wanted.when:
        return rows.filter(substring_filter(wanted.q, *UNINDEXED.fields))
    # Episodes of any other state may be in quarantine, and then have no unit either.
    live = False if wanted.state in {"archived", "discarded"} else None
    return filter_by_text(
        rows, wanted.q, space=space, kind="episode", unindexed=UNINDEXED, live=live
    )


def _filtered(rows: QuerySet, wanted: EpisodeFilter) -> QuerySet:
    rows = rows.filter(STATES[wanted.state], in_chat(wanted.chat), in_month(wanted.month))
    if wanted.tag:
        rows = rows.filter(tags__contains=[wanted.tag])
    if wanted.who:
        rows = rows.filter(participants__contains=[wanted.who])
    return rows.filter(feedback=wanted.feedback) if wanted.feedback else rows


def order(wanted: EpisodeFilter) -> Order:
    return Order("started_at", key="pgh_obj_id" if wanted.when else "pk")


def in_month(month: str) -> Q:
    """From its first moment to that of the next, on the clock of the space."""
    if not month:
        return Q()
    first = date.fromisoformat(f"{month}-01")
    after = (first + timedelta(days=32)).replace(day=1)
    return Q(started_at__gte=day_start(first), started_at__lt=day_start(after))


def last_months(count: int, *, today: date) -> list[date]:
    """The first days of this month and of those before it."""
    first, found = today.replace(day=1), []
    for _month in range(count):
        found.append(first)
        first = (first - timedelta(days=1)).replace(day=1)
    return found


def days_left(gone_at: datetime | None, *, keeps: int, now: datetime) -> int:
    """Days until the trash lets go of it, each begun one counted; 0 when it is about to."""
    if gone_at is None:
        return keeps
    return max(0, -((now - gone_at - timedelta(days=keeps)) // timedelta(days=1)))


@dataclass(frozen=True)
class Row:
    """An episode with what stands under its title."""

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
    space: Space, wanted: EpisodeFilter, *, member: Member, now: datetime
) -> EpisodeList:
    url = space_url("episodes:index", space)
    found = find(space, wanted).select_related("chat")
    page = part(
        found if wanted.when else found.only(*SHOWN), order=order(wanted), after=wanted.after
    )
    rows = rows_at(Episode, page.rows) if wanted.when else page.rows
    months = last_months(MONTHS, today=timezone.localdate(now))
    # What fits on one page has been counted by reading it.
    every = [find(space, wanted)] if page.after or wanted.after else []
    numbers = counted(*_months_of(space, months), *every, indexed=bool(wanted.q))
    unfiltered = EpisodeFilter(look=wanted.look)
    return EpisodeList(
        filter=wanted,
        rows=described(rows, space=space, query=wanted.query(), now=now),
        url=url,
        after=page.after,
        found=numbers[2] if wanted == unfiltered else numbers[-1] if every else len(rows),
        of_chats=list_page.chats_of(space),
        trashed=numbers[1],
        may=member.may("curator") and not wanted.when,
        views=list_page.views_of(wanted, url, _tabs(wanted, months, numbers[2:])),
        nothing_yet=not numbers[0],
    )


def _months_of(space: Space, months: list[date]) -> list[QuerySet]:
    """All episodes, those in the trash, and those of all months and of each without the trash."""
    every = rows_in(space, Episode)
    some = (every.remembered().filter(in_month(f"{one:%Y-%m}")) for one in months)
    return [every, every.discarded(), every.remembered(), *some]


def _tabs(wanted: EpisodeFilter, months: list[date], numbers: list[int]) -> list[tuple]:
    """All episodes, and those of each of the months that has some."""
    of_months = [
        (_month_name(month), EpisodeFilter(look=wanted.look, month=f"{month:%Y-%m}"), n)
        for month, n in zip(months, numbers[1:], strict=False)
        if n
    ]
    return [(_("All"), EpisodeFilter(look=wanted.look), numbers[0]), *of_months]


def _month_name(month: date) -> str:
    this_year = month.year == timezone.localdate().year
    return dated(month, "F" if this_year else "YEAR_MONTH_FORMAT").capitalize()


def described(rows: list[Episode], *, space: Space, query: str, now: datetime) -> list[Row]:
    """What the rows need beside themselves, in a few queries however many there are."""
    pks = [episode.pk for episode in rows]
    said = _per_episode(rows_in(space, Message).filter(episode__in=pks))
    left = _per_episode(rows_in(space, Fact).live().filter(episode__in=pks))
    first = begun([episode.pk for episode in rows if not str(episode)])
    keeps, tail = space.options.trash_days, f"?{query}" if query else ""
    return [
        Row(
            episode=episode,
            url=space_url("episodes:detail", space, pk=episode.pk) + tail,
            look=_look(episode),
            notes=_notes(episode, said[episode.pk], left[episode.pk], keeps=keeps, now=now),
            badge=_badge(episode),
            title=str(episode) or first.get(episode.pk) or _when(episode),
        )
        for episode in rows
    ]


def _when(episode: Episode) -> str:
    return date_format(timezone.localtime(episode.started_at), "SHORT_DATETIME_FORMAT")


def begun(pks: list[int]) -> dict[int, str]:
    """What those are about that have no words of their own yet: they are still open.

    A question or a command tells it only where nothing else was said; what was forgotten never.
    """
    if not pks:
        return {}
    said = Message.objects.filter(episode__in=pks, silenced_by=None, role=Message.Role.USER)
    told: dict[int, list[str]] = defaultdict(list)
    asked: dict[int, str] = {}
    for message in said.only("space", "episode", "text", "not_recalled").order_by("sent_at", "pk"):
        asked.setdefault(message.episode_id, message.text)
        if not message.not_recalled:
            told[message.episode_id].append(message.text)
    titles = {pk: summaries.title("\n".join(texts)) for pk, texts in told.items()}
    return {pk: titles.get(pk) or short(text, FIRST_WORDS) for pk, text in asked.items()}


def _per_episode(rows) -> Counter:
    return Counter(dict(rows.order_by().values_list("episode").annotate(n=Count("pk"))))


def _look(episode: Episode) -> str:
    if episode.status == Episode.Status.DISCARDED:
        return "thrown"
    if episode.status == Episode.Status.OPEN:
        return "open"
    return "done" if episode.consolidated_at or episode.status == "archived" else ""


def _badge(episode: Episode) -> str:
    if episode.status == Episode.Status.OPEN:
        return _("Open")
    return _("Archived") if episode.status == Episode.Status.ARCHIVED else ""


def _notes(episode: Episode, said: int, left: int, *, keeps: int, now: datetime) -> list[str]:
    notes = [ngettext("%(n)s message", "%(n)s messages", said) % {"n": said}] if said else []
    if episode.status == Episode.Status.DISCARDED:
        days = days_left(episode.discarded_at, keeps=keeps, now=now)
        why = episode.discard_reason
        notes.append(_("Discarded: %(why)s") % {"why": why} if why else _("Discarded"))
        return [*notes, ngettext("%(n)s day left", "%(n)s days left", days) % {"n": days}]
    if left:
        notes.append(ngettext("%(n)s fact", "%(n)s facts", left) % {"n": left})
    elif episode.status == Episode.Status.CLOSED and not episode.consolidated_at:
        notes.append(_("waits for a night"))
    if episode.feedback:
        notes.append(_("was good") if episode.feedback == "positive" else _("was bad"))
    return notes


def by_day(rows: list[Row], *, today: date) -> list[Day]:
    """The rows under the days on which they began, in the clock of the space."""
    return [
        Day(
            _day_name(day, today=today),
            dated(day, _("j M") if day.year == today.year else _("j M Y")),
            list(some),
        )
        for day, some in groupby(rows, key=lambda row: timezone.localdate(row.episode.started_at))
    ]


def _day_name(day: date, *, today: date) -> str:
    back = (today - day).days
    if back < 2:
        return [_("Today"), _("Yesterday")][max(0, back)]
    return dated(day, "l").capitalize()
