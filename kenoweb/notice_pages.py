"""The notices of a space as a list, and the dead letters beside them."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.access import things
from kenoweb.lists import View, about
from kenoweb.paging import Order, counted, part
from kenoweb.places import address
from memory import jobs
from memory.models import DeadLetter, Notice, Space

SETTLED = 20
TASKS = {
    "bot.answer": gettext_lazy("Answer a message"),
    "bot.deliver": gettext_lazy("Deliver a reply"),
    "kenoweb.demo": gettext_lazy("Make the demo"),
    "memory.ingest": gettext_lazy("Look through messages for facts"),
    "sleep.night": gettext_lazy("Sleep"),
    "transfer.work": gettext_lazy("Import or export a file"),
}


@dataclass(frozen=True)
class NoticeList:
    rows: list[Notice]
    views: list[View]
    here: str
    more: str
    unseen: int
    show: str


def notice_list(space: Space, asked: QueryDict) -> NoticeList:
    """What nobody has seen yet, or everything."""
    rows = things(space, Notice)
    unseen, everything = counted(rows.filter(seen_at=None), rows)
    show = "all" if asked.get("show") == "all" else ""
    found = part(
        rows if show else rows.filter(seen_at=None),
        order=Order("created_at"),
        after=asked.get("after", ""),
    )
    url = address("notices:index", space)
    here = f"{url}?show=all" if show else url
    query = {"show": show, "after": found.after} if show else {"after": found.after}
    return NoticeList(
        rows=found.rows,
        views=[
            View(_("Not seen yet"), url, about(unseen) if unseen else "", not show),
            View(_("All"), f"{url}?show=all", about(everything), bool(show)),
        ],
        here=here,
        more=f"{url}?{urlencode(query)}" if found.after else "",
        unseen=unseen,
        show=show,
    )


@dataclass(frozen=True)
class Letter:
    row: DeadLetter
    task: str
    discarded: bool


@dataclass(frozen=True)
class LetterList:
    waiting: list[Letter]
    settled: list[Letter]
    more: str
    count: str
    here: str


def letter_list(space: Space, *, after: str = "") -> LetterList:
    """Jobs that were given up, and what people decided about others lately."""
    url = address("letters:index", space)
    rows = things(space, DeadLetter)
    waiting = rows.filter(retried_at=None)
    found = part(waiting, order=Order("at"), after=after)
    settled = rows.exclude(retried_at=None).order_by("-retried_at", "-pk")[:SETTLED]
    return LetterList(
        waiting=[letter(row) for row in found.rows],
        settled=[letter(row) for row in settled] if not after else [],
        more=f"{url}?{urlencode({'after': found.after})}" if found.after else "",
        count=about(counted(waiting)[0]),
        here=url,
    )


def letter(row: DeadLetter) -> Letter:
    task = str(TASKS.get(row.task, row.task))
    return Letter(row, task, row.retried_by.startswith(jobs.DISCARDED))
