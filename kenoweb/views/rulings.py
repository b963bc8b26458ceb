"""Rulings: what a person decided once and every writer obeys."""

from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb.access import in_space, thing_for
from kenoweb.actions import answer, show_form
from kenoweb.filters import RulingFilter
from kenoweb.ruling_pages import RulingForm, ruling_list
from kenoweb.verbs import attempt
from memory import rulings
from memory.actors import person
from memory.models import Ruling


@in_space(role="viewer")
@require_safe
def index(request, space):
    return _page(request, space, RulingForm())


@in_space(role="curator")
@require_POST
def add(request, space):
    form = RulingForm(request.POST)
    if not form.is_valid():
        return _page(request, space, form)
    by = person(request.user)
    said = _("Keno will never remember this.")
    done = attempt(request, said, lambda: rulings.forbid(space, by=by, **form.cleaned_data))
    return redirect("rulings:index", space.slug) if done else _page(request, space, form)


@in_space(role="curator")
@require_POST
def lift(request, space, pk):
    ruling, by = thing_for(space, Ruling, pk), person(request.user)
    attempt(request, _("Lifted the ruling."), lambda: rulings.lift(ruling, by=by))
    back = reverse("rulings:index", args=[space.slug])
    return answer(request, "rulings/_row.html", {"ruling": ruling, "may": True}, back=back)


def _page(request, space, form):
    wanted = RulingFilter.read(request.GET)
    found = ruling_list(space, wanted, member=request.member)
    return show_form(request, "rulings/index.html", form, list=found)
