"""The standing decisions of a space as a page shows them."""

from dataclasses import dataclass

from django import forms
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy

from kenoweb import lists
from kenoweb.access import things
from kenoweb.filters import RulingFilter
from kenoweb.forms import OneLine
from kenoweb.lists import View
from kenoweb.paging import Order, counted, part
from kenoweb.words import letters
from memory.models import Member, Ruling, Space

VIEWS = {
    "": (gettext_lazy("In force"), Q(status=Ruling.Status.ACTIVE)),
    "never": (
        gettext_lazy("Never remember"),
        Q(status=Ruling.Status.ACTIVE, kind=Ruling.Kind.NEVER_REMEMBER),
    ),
    "keep": (gettext_lazy("Keep"), Q(status=Ruling.Status.ACTIVE, kind=Ruling.Kind.KEEP)),
    "lifted": (gettext_lazy("Lifted"), Q(status=Ruling.Status.LIFTED)),
}


class RulingForm(forms.Form):
    text = OneLine(
        label=gettext_lazy("Never remember this"),
        max_length=400,
        help_text=gettext_lazy(
            "Also in other words: what shares most of these words falls under it."
        ),
    )
    reason = OneLine(label=gettext_lazy("Why, if you like"), max_length=300, required=False)


@dataclass(frozen=True)
class RulingList:
    filter: RulingFilter
    rows: list[Ruling]
    url: str
    more: str
    found: int
    views: list[View]
    may: bool
    nothing_yet: bool

    @property
    def count(self) -> str:
        return lists.about(self.found)


def ruling_list(space: Space, wanted: RulingFilter, *, member: Member) -> RulingList:
    url, rows = reverse("rulings:index", args=[space.slug]), things(space, Ruling)
    found = rows.filter(VIEWS[wanted.show][1])
    if wanted.q:
        found = found.filter(letters(wanted.q, "text", "reason"))
    page = part(found.select_related("fact"), order=Order("created_at"), after=wanted.after)
    numbers = counted(found, rows, *(rows.filter(where) for _label, where in VIEWS.values()))
    return RulingList(
        filter=wanted,
        rows=page.rows,
        url=url,
        more=lists.there(url, wanted, after=page.after) if page.after else "",
        found=numbers[0],
        views=[
            View(label, lists.there(url, wanted, show=key), lists.about(n), key == wanted.show)
            for (key, (label, _where)), n in zip(VIEWS.items(), numbers[2:], strict=True)
        ],
        may=member.may("curator"),
        nothing_yet=not numbers[1],
    )
