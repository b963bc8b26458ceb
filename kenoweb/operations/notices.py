"""The notices of a space as a list, and the dead letters beside them."""

from urllib.parse import urlencode

from django.http import QueryDict
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.ui.list_page import Order, View, capped_number, counted, part
from kenoweb.ui.responses import fragment_or_redirect, refreshed, space_url, toast
from memory import jobs, notices
from memory.models import DeadLetter, Notice, Space

MAX_SETTLED = 20
TASKS = {
    "bot.answer": _("Answer a message"),
    "bot.deliver": _("Deliver a reply"),
    "kenoweb.demo": _("Create the demo"),
    "memory.ingest": _("Look through messages for facts"),
    "sleep.night": _("Sleep"),
    "transfer.work": _("Import or export a file"),
}


def notice_list(space: Space, params: QueryDict) -> dict:
    """Return the notices that nobody has seen yet, or all of them."""
    rows = rows_in(space, Notice)
    unseen = rows.filter(seen_at=None)
    unseen_count, count = counted(unseen, rows)
    show = {"show": "all"} if params.get("show") == "all" else {}
    page = part(rows if show else unseen, order=Order("created_at"), after=params.get("after", ""))
    url = space_url("notices:index", space)
    return {
        "rows": page.rows,
        "views": [
            View(_("Unread"), url, capped_number(unseen_count) if unseen_count else "", not show),
            View(_("All"), f"{url}?show=all", capped_number(count), bool(show)),
        ],
        "here": f"{url}?show=all" if show else url,
        "more": f"{url}?{urlencode(show | {'after': page.after})}" if page.after else "",
        "unseen": unseen_count,
        **show,
    }


def _letter(row: DeadLetter) -> dict:
    discarded = row.retried_by.startswith(jobs.DISCARDED)
    return {"row": row, "task": TASKS.get(row.task, row.task), "discarded": discarded}


def letter_list(space: Space, *, after: str = "") -> dict:
    """Return the jobs that were given up, and those that people decided about lately."""
    url = space_url("dead_letters:index", space)
    rows = rows_in(space, DeadLetter)
    waiting = rows.filter(retried_at=None)
    page = part(waiting, order=Order("at"), after=after)
    settled = rows.exclude(retried_at=None).order_by("-retried_at", "-pk")[:MAX_SETTLED]
    return {
        "waiting": [_letter(row) for row in page.rows],
        "settled": [_letter(row) for row in settled] if not after else [],
        "more": f"{url}?{urlencode({'after': page.after})}" if page.after else "",
        "count": capped_number(counted(waiting)[0]),
        "here": url,
    }


@in_space(role="viewer")
def index(request, space):
    return render(request, "notices/index.html", {"list": notice_list(space, request.GET)})


@in_space(role="curator", methods="POST")
def see(request, space, pk):
    notice = get_in_space_or_404(space, Notice, pk)
    notices.see(notice)
    toast(request, _("Seen."), undo=space_url("notices:unsee", space, pk))
    return _row(request, space, notice)


@in_space(role="curator", methods="POST")
def unsee(request, space, pk):
    notice = get_in_space_or_404(space, Notice, pk)
    notices.unsee(notice)
    return _row(request, space, notice)


@in_space(role="curator", methods="POST")
def see_all(request, space):
    if count := notices.see_all(space):
        text = ngettext("%(n)s notice is seen.", "%(n)s notices are seen.", count)
        toast(request, text % {"n": count})
    return refreshed(request, back=space_url("notices:index", space))


def _row(request, space, notice):
    if request.htmx and request.htmx.target != f"notice-{notice.pk}":
        # From a toast: the list fetches itself.
        return refreshed(request, back="")
    back = space_url("notices:index", space)
    return fragment_or_redirect(request, "notices/_row.html", {"notice": notice}, back=back)
