"""What a guard set aside: the words with the suspicious part marked, why, and the ways out."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb import lists
from kenoweb.filters import KindFilter
from kenoweb.lists import View
from kenoweb.paging import Order, Part, counted, part
from kenoweb.places import address_of
from memory import suspects
from memory.extraction import guards
from memory.models import Member, Space
from memory.screen import REASONS

# Of each kind on the first look; a kind alone is paged.
FEW = 20
LABELS = {
    "": gettext_lazy("All"),
    "facts": gettext_lazy("Facts"),
    "patterns": gettext_lazy("Patterns"),
    "episodes": gettext_lazy("Episodes"),
}
# Signs of a long text around what was found in it.
AROUND = 160


@dataclass(frozen=True)
class Piece:
    """A part of the text, with why it is suspicious."""

    text: str
    why: str = ""


@dataclass(frozen=True)
class Suspect:
    kind: str
    icon: str
    pk: int
    url: str
    pieces: list[Piece]
    reasons: list[str]
    at: datetime
    where: str
    release: str
    discard: str
    purge: str
    about: str = ""
    lang: str = ""


@dataclass(frozen=True)
class Quarantine(lists.ListedByKind):
    filter: KindFilter
    rows: list[Suspect]
    views: list[View]
    more: str
    may: bool
    found: int


def quarantine(space: Space, wanted: KindFilter, *, member: Member) -> Quarantine:
    url = reverse("quarantine:index", args=[space.slug])
    rows = suspects.waiting(space)
    kinds = [wanted.kind] if wanted.kind else list(rows)
    parts = {kind: _part(rows[kind], wanted) for kind in kinds}
    shown = [_suspect(kind, row, space) for kind in kinds for row in parts[kind].rows]
    numbers = dict(zip(rows, counted(*rows.values()), strict=True))
    after = parts[wanted.kind].after if wanted.kind else ""
    return Quarantine(
        filter=wanted,
        rows=sorted(shown, key=lambda one: one.at, reverse=True),
        views=_views(url, wanted, numbers),
        more=lists.there(url, wanted, after=after) if after else "",
        may=member.may("curator"),
        found=numbers[wanted.kind] if wanted.kind else sum(numbers.values()),
    )


def marked(text: str) -> list[Piece]:
    """The text with the parts the guard points at; what surrounds them is cut when it is long."""
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


def _part(rows: QuerySet, wanted: KindFilter) -> Part:
    if wanted.kind:
        return part(rows.select_related("chat"), order=Order("updated_at"), after=wanted.after)
    return part(rows.select_related("chat"), order=Order("updated_at"), size=FEW)


def _suspect(kind: str, row: Model, space: Space) -> Suspect:
    args = [space.slug, row.pk]
    room = "quarantine:release_episode" if kind == "episodes" else f"{kind}:release"
    return Suspect(
        kind=kind,
        icon={"facts": "fact", "patterns": "pattern", "episodes": "episode"}[kind],
        pk=row.pk,
        url=address_of(f"{kind}:detail", *args),
        pieces=marked(_words(kind, row)),
        reasons=[_(REASONS[flag]) for flag in row.flags if flag in REASONS],
        at=row.updated_at,
        where=str(row.chat) if row.chat_id else _("the whole space"),
        release=address_of(room, *args),
        discard="" if kind == "episodes" else address_of(f"{kind}:discard", *args),
        purge=address_of(f"{kind}:purge", *args),
        about=row.subject if kind == "facts" else "",
        lang=row.language,
    )


def _words(kind: str, row: Model) -> str:
    if kind == "facts":
        # The quote is what was really said; the fact is what was made of it.
        return row.text if row.quote in ("", row.text) else f"{row.text}\n{row.quote}"
    if kind == "patterns":
        return f"{row.trigger} → {row.response}"
    return f"{row.title}\n{row.body}".strip()


def _views(url: str, wanted: KindFilter, numbers: dict[str, int]) -> list[View]:
    return [
        View(
            label,
            lists.there(url, wanted, kind=kind),
            lists.about(numbers[kind] if kind else sum(numbers.values())),
            kind == wanted.kind,
        )
        for kind, label in LABELS.items()
    ]
