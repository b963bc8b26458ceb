"""The notices of a space as a list, and the dead letters beside them."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.ui.list_page import Order, View, capped_number, counted, part
from kenoweb.ui.responses import fragment_or_redirect, refreshed, space_url, toast
from memory import jobs, notices
from memory.models import DeadLetter, Notice, Space

SETTLED = 20
TASKS = {
    "bot.answer": gettext_lazy("Answer a message"),
    "bot.deliver": gettext_lazy("Deliver a reply"),
    "kenoweb.demo": gettext_lazy("Create the demo"),
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
    rows = rows_in(space, Notice)
    unseen, everything = counted(rows.filter(seen_at=None), rows)
    show = "all" if asked.get("show") == "all" else ""
    found = part(
        rows if show else rows.filter(seen_at=None),
        order=Order("created_at"),
        after=asked.get("after", ""),
    )
    url = space_url("notices:index", space)
    here = f"{url}?show=all" if show else url
    query = {"show": show, "after": found.after} if show else {"after": found.after}
    return NoticeList(
        rows=found.rows,
        views=[
            View(_("Unread"), url, capped_number(unseen) if unseen else "", not show),
            View(_("All"), f"{url}?show=all", capped_number(everything), bool(show)),
        ],
        here=here,
        more=f"{url}?{urlencode(query)}" if found.after else "",
        unseen=unseen,
        show=show,
    )


@dataclass(frozen=True)
class Letter:
    row: DeadLetter

    @property
    def task(self) -> str:
        return str(TASKS.get(self.row.task, self.row.task))

    @property
    def discarded(self) -> bool:
        return self.row.retried_by.startswith(jobs.DISCARDED)


@dataclass(frozen=True)
class LetterList:
    waiting: list[Letter]
    settled: list[Letter]
    more: str
    count: str
    here: str


def letter_list(space: Space, *, after: str = "") -> LetterList:
    """Jobs that were given up, and what people decided about others lately."""
    url = space_url("dead_letters:index", space)
    rows = rows_in(space, DeadLetter)
    waiting = rows.filter(retried_at=None)
    found = part(waiting, order=Order("at"), after=after)
    settled = rows.exclude(retried_at=None).order_by("-retried_at", "-pk")[:SETTLED]
    return LetterList(
        waiting=[Letter(row) for row in found.rows],
        settled=[Letter(row) for row in settled] if not after else [],
        more=f"{url}?{urlencode({'after': found.after})}" if found.after else "",
        count=capped_number(counted(waiting)[0]),
        here=url,
    )


@in_space(role="viewer")
def index(request, space):
    return render(request, "notices/index.html", {"list": notice_list(space, request.GET)})


@in_space(role="curator", methods="POST")
def see(request, space, pk):
    notice = get_in_space_or_404(space, Notice, pk)
    notices.see(notice)
    toast(request, _("Seen."), undo=reverse("notices:unsee", args=[space.slug, pk]))
    return _row(request, space, notice)


@in_space(role="curator", methods="POST")
def unsee(request, space, pk):
    notice = get_in_space_or_404(space, Notice, pk)
    notices.unsee(notice)
    return _row(request, space, notice)


@in_space(role="curator", methods="POST")
def see_all(request, space):
    count = notices.see_all(space)
    if count:
        said = ngettext("%(n)s notice is seen.", "%(n)s notices are seen.", count)
        toast(request, said % {"n": count})
    return refreshed(request, back=reverse("notices:index", args=[space.slug]))


def _row(request, space, notice):
    if request.htmx and request.htmx.target != f"notice-{notice.pk}":
        # From a toast: the list fetches itself.
        return refreshed(request, back="")
    back = reverse("notices:index", args=[space.slug])
    return fragment_or_redirect(request, "notices/_row.html", {"notice": notice}, back=back)
