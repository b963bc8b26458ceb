"""The trash: what waits to be deleted, the days it has left, and emptying it now."""

from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from django.db.models import Model, QuerySet
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb.auth.access import in_space, rows_in
from kenoweb.episodes.listing import days_left, titles_of
from kenoweb.ui import list_page
from kenoweb.ui.filters import KindFilter
from kenoweb.ui.list_page import Order, counted
from kenoweb.ui.responses import space_url, toast, toast_error, typed
from memory import patterns
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.history.actors import person
from memory.models import Episode, Fact, Member, Pattern, Space

# Each is deleted with its history and noted in the audit: more takes longer than a page may.
AT_ONCE = 1000
LABELS = {
    "": gettext_lazy("All"),
    "facts": gettext_lazy("Facts"),
    "episodes": gettext_lazy("Episodes"),
    "patterns": gettext_lazy("Patterns"),
}
SINCE = {"facts": "trashed_at", "episodes": "discarded_at", "patterns": "trashed_at"}
PURGE = {"facts": facts.purge, "episodes": episodes.purge, "patterns": patterns.purge}
EMPTY = "empty"


@dataclass(frozen=True, kw_only=True)
class Trash(list_page.ListPageByKind):
    keeps: int


def trash(space: Space, filters: KindFilter, *, member: Member, now: datetime) -> Trash:
    url, querysets = reverse("trash:index", args=[space.slug]), trashed(space)
    parts = list_page.newest_of_each(querysets, filters, lambda kind: Order(SINCE[kind]))
    keeps = space.options.trash_days
    rows = [(kind, row) for kind, page in parts.items() for row in page.rows]
    titles = titles_of([row.pk for kind, row in rows if kind == "episodes" and not str(row)])
    shown = [_entry(kind, row, space, titles, keeps=keeps, now=now) for kind, row in rows]
    numbers = dict(zip(querysets, counted(*querysets.values()), strict=True))
    numbers[""] = sum(numbers.values())
    of_views = [numbers[kind] for kind in LABELS]
    return Trash(
        filter=filters,
        url=url,
        rows=sorted(shown, key=itemgetter("since"), reverse=True),
        views=list_page.views_by("kind", LABELS, of_views, filters, url),
        after=parts[filters.kind].after if filters.kind else "",
        may=member.may("curator"),
        found=numbers[filters.kind],
        keeps=keeps,
    )


def trashed(space: Space) -> dict[str, QuerySet]:
    # A row without a date, of an old import, would stay in the list for ever: it is left out.
    return {
        "facts": rows_in(space, Fact).in_trash().exclude(trashed_at=None),
        "episodes": rows_in(space, Episode).discarded().exclude(discarded_at=None),
        "patterns": rows_in(space, Pattern)
        .filter(status=Pattern.Status.TRASHED)
        .exclude(trashed_at=None),
    }


def _entry(
    kind: str, row: Model, space: Space, titles: dict[int, str], *, keeps: int, now: datetime
) -> dict:
    since = getattr(row, SINCE[kind])
    text = f"{row.trigger} → {row.response}" if kind == "patterns" else str(row)
    return {
        "kind": kind,
        "icon": kind.removesuffix("s"),
        "pk": row.pk,
        "text": text or titles.get(row.pk, "…"),
        "url": space_url(f"{kind}:detail", space, row.pk),
        "restore": space_url(f"{kind}:restore", space, row.pk),
        "purge": space_url(f"{kind}:purge", space, row.pk),
        "since": since,
        "left": days_left(since, keeps=keeps, now=now),
        "why": row.discard_reason if kind == "episodes" else "",
        "lang": row.language,
    }


@in_space(role="viewer")
def index(request, space):
    filters = KindFilter.read(request.GET)
    page = trash(space, filters, member=request.member, now=timezone.now())
    return render(request, "trash/index.html", {"list": page})


@in_space(role="curator", methods="POST", sudo=True)
def empty_trash(request, space):
    if not typed(request, EMPTY):
        toast_error(request, _("Type the word to empty the trash. Nothing was deleted."))
        return redirect("trash:index", space.slug)
    by, count = person(request.user), 0
    for kind, rows in trashed(space).items():
        for row in rows.select_related("space").order_by(SINCE[kind])[: AT_ONCE - count]:
            PURGE[kind](row, by=by)
            count += 1
    text = ngettext("Deleted %(n)s thing for good.", "Deleted %(n)s things for good.", count)
    more = [_("There is more: do it again.")] if count >= AT_ONCE else []
    toast(request, " ".join([text % {"n": count}, *more]))
    return redirect("trash:index", space.slug)
