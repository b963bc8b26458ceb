"""What a guard set aside: the words with the suspicious part marked, why, and the ways out."""

from dataclasses import dataclass
from operator import itemgetter

from django.db.models import Model
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import episode_for, in_space
from kenoweb.ui import list_page
from kenoweb.ui.filters import KindFilter
from kenoweb.ui.list_page import Order, counted
from kenoweb.ui.responses import refreshed, row_action_view, space_url
from memory.episodes import service as episodes
from memory.guards import inspect as guards
from memory.guards import screening
from memory.models import Member, Space

LABELS = {
    "": gettext_lazy("All"),
    "facts": gettext_lazy("Facts"),
    "patterns": gettext_lazy("Patterns"),
    "episodes": gettext_lazy("Episodes"),
}
# Characters of a long text around what the guard points at.
AROUND = 160


@dataclass(frozen=True)
class Piece:
    """A part of the text, with why it is suspicious."""

    text: str
    why: str = ""


def quarantine(space: Space, filters: KindFilter, *, member: Member) -> list_page.ListPageByKind:
    url, pending = reverse("quarantine:index", args=[space.slug]), screening.pending(space)
    querysets = {kind: rows.select_related("chat") for kind, rows in pending.items()}
    parts = list_page.newest_of_each(querysets, filters, lambda kind: Order("updated_at"))
    shown = [_suspect(kind, row, space) for kind, page in parts.items() for row in page.rows]
    numbers = dict(zip(pending, counted(*pending.values()), strict=True))
    numbers[""] = sum(numbers.values())
    of_views = [numbers[kind] for kind in LABELS]
    return list_page.ListPageByKind(
        filter=filters,
        url=url,
        rows=sorted(shown, key=itemgetter("at"), reverse=True),
        views=list_page.views_by("kind", LABELS, of_views, filters, url),
        after=parts[filters.kind].after if filters.kind else "",
        may=member.may("curator"),
        found=numbers[filters.kind],
    )


def marked(text: str) -> list[Piece]:
    """Split the text around the parts the guard points at; what surrounds them is shortened."""
    spans = sorted((flag.start, flag.end, flag.reason) for flag in guards.inspect(text).flags)
    pieces, at = [], 0
    for start, end, reason in spans:
        if start < at:
            continue
        pieces += [Piece(_cut(text[at:start], first=at == 0)), Piece(text[start:end], _(reason))]
        at = end
    pieces.append(Piece(_cut(text[at:], last=True, first=at == 0)))
    return [piece for piece in pieces if piece.text]


def _cut(text: str, *, first: bool = False, last: bool = False) -> str:
    if len(text) <= 2 * AROUND:
        return text
    head, tail = ("" if first and not last else text[:AROUND]), ("" if last else text[-AROUND:])
    return f"{head} … {tail}".strip() if not (first and last) else f"{text[: 2 * AROUND]} …"


def _suspect(kind: str, row: Model, space: Space) -> dict:
    view = "quarantine:release_episode" if kind == "episodes" else f"{kind}:release"
    return {
        "kind": kind,
        "icon": kind.removesuffix("s"),
        "pk": row.pk,
        "url": space_url(f"{kind}:detail", space, row.pk),
        "pieces": marked(_words(kind, row)),
        "reasons": [_(screening.REASONS[flag]) for flag in row.flags if flag in screening.REASONS],
        "at": row.updated_at,
        "where": str(row.chat) if row.chat_id else _("the whole space"),
        "release": space_url(view, space, row.pk),
        "discard": "" if kind == "episodes" else space_url(f"{kind}:discard", space, row.pk),
        "purge": space_url(f"{kind}:purge", space, row.pk),
        "about": row.subject if kind == "facts" else "",
        "lang": row.language,
    }


def _words(kind: str, row: Model) -> str:
    if kind == "facts":
        # The quote is what was really said; the fact is derived from it.
        return row.text if row.quote in ("", row.text) else f"{row.text}\n{row.quote}"
    if kind == "patterns":
        return f"{row.trigger} → {row.response}"
    # A title often repeats the first words of the body.
    body = "\n".join(line.removeprefix("- ") for line in row.body.splitlines())
    is_repeated = row.title.rstrip("… ") in body
    return (body if is_repeated else f"{row.title}\n{body}").strip()


@in_space(role="viewer")
def index(request, space):
    page = quarantine(space, KindFilter.read(request.GET), member=request.member)
    return render(request, "quarantine/index.html", {"list": page})


def _refresh(request, _episode):
    return refreshed(request, back=reverse("quarantine:index", args=[request.space.slug]))


release_episode = row_action_view(
    episodes.release, gettext_lazy("Released “%(text)s”."), fetch=episode_for, respond=_refresh
)
