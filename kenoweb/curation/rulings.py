"""The standing decisions of a space as a page shows them."""

from django import forms
from django.db.models import Q
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.ui import list_page
from kenoweb.ui.filters import RulingFilter
from kenoweb.ui.formatting import OneLine
from kenoweb.ui.list_page import Order, counted, part
from kenoweb.ui.responses import fragment_or_redirect, run_and_toast, show_form
from kenoweb.ui.text_search import substring_filter
from memory import rulings
from memory.models import Member, Ruling, Space

IN_FORCE = Q(status=Ruling.Status.ACTIVE)
VIEWS = {
    "": (gettext_lazy("In force"), IN_FORCE),
    "never": (gettext_lazy("Never remember"), IN_FORCE & Q(kind=Ruling.Kind.NEVER_REMEMBER)),
    "keep": (gettext_lazy("Keep"), IN_FORCE & Q(kind=Ruling.Kind.KEEP)),
    "quiet": (gettext_lazy("Don't mention"), IN_FORCE & Q(kind=Ruling.Kind.DONT_MENTION)),
    "lifted": (gettext_lazy("Removed"), Q(status=Ruling.Status.LIFTED)),
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


def ruling_list(space: Space, filters: RulingFilter, *, member: Member) -> list_page.ListPage:
    url, every = reverse("rulings:index", args=[space.slug]), rows_in(space, Ruling)
    rows = every.filter(VIEWS[filters.show][1])
    if filters.q:
        rows = rows.filter(substring_filter(filters.q, "text", "reason"))
    page = part(rows.select_related("fact"), order=Order("created_at"), after=filters.after)
    of_views = (every.filter(condition) for _label, condition in VIEWS.values())
    found, total, *numbers = counted(rows, every, *of_views)
    labels = {key: label for key, (label, _condition) in VIEWS.items()}
    return list_page.ListPage(
        filter=filters,
        rows=page.rows,
        url=url,
        after=page.after,
        found=found,
        views=list_page.views_by("show", labels, numbers, filters, url),
        may=member.may("curator"),
        nothing_yet=not total,
    )


@in_space(role="viewer")
def index(request, space):
    return _page(request, space, RulingForm())


@in_space(role="curator", methods="POST")
def add(request, space):
    form = RulingForm(request.POST)
    if not form.is_valid():
        return _page(request, space, form)
    message = _("Keno will never remember this.")
    result = run_and_toast(request, message, rulings.forbid, space, **form.cleaned_data)
    return redirect("rulings:index", space.slug) if result else _page(request, space, form)


@in_space(role="curator", methods="POST")
def lift(request, space, pk):
    ruling = get_in_space_or_404(space, Ruling, pk)
    run_and_toast(request, _("Removed the ruling."), rulings.lift, ruling)
    back = reverse("rulings:index", args=[space.slug])
    return fragment_or_redirect(
        request, "rulings/_row.html", {"ruling": ruling, "may": True}, back=back
    )


def _page(request, space, form):
    page = ruling_list(space, RulingFilter.read(request.GET), member=request.member)
    return show_form(request, "rulings/index.html", form, list=page)
