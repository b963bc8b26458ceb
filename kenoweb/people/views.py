"""People and things: the list, one of them, and what a person says about who is who."""

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.people import page as pages
from kenoweb.ui.filters import number_in
from kenoweb.ui.formatting import OneLine
from kenoweb.ui.responses import MARKDOWN, run_and_toast, toast_error
from memory import people
from memory.models import Entity


class NameForm(forms.Form):
    name = OneLine(label=_("Name"), max_length=120)
    aliases = OneLine(
        label=_("Other names"),
        required=False,
        max_length=1000,
        help_text=_("Separated by commas: k8s, mi suegra"),
    )
    kind = forms.ChoiceField(label=_("Kind"), choices=Entity.Kind.choices)


@in_space(role="viewer")
def index(request, space):
    query = {name: request.GET.get(name, "")[:200] for name in ("q", "kind", "after")}
    graph = None if any(query.values()) else pages.graph(space)
    context = {"list": pages.people_list(space, **query), "graph": graph}
    return render(request, "people/index.html", context)


@in_space(role="viewer")
def graph(request, space):
    """Render the graph alone, for the overview; without script the list has it."""
    if not request.htmx:
        return redirect("people:index", space.slug)
    context = {"graph": pages.graph(space)}
    return render(request, "overview/_people.html", context) if context["graph"] else HttpResponse()


@in_space(role="viewer")
def detail(request, space, pk):
    entity = _entity(space, pk)
    if entity.merged_into_id:
        return redirect("people:detail", space.slug, entity.merged_into_id)
    return _page(request, space, entity)


@in_space(role="viewer", sudo=True)
def export(request, space, pk):
    """Send everything known about one of them as a file."""
    entity = people.root(_entity(space, pk))
    page = pages.person_page(entity, space=space, now=timezone.now(), may=False)
    response = HttpResponse(pages.as_markdown(page), content_type=MARKDOWN)
    response["Content-Disposition"] = f'attachment; filename="person-{entity.pk}.md"'
    return response


@in_space(role="curator", methods="POST")
def revise(request, space, pk):
    entity, form = people.root(_entity(space, pk)), NameForm(request.POST)
    if not form.is_valid():
        return _page(request, space, entity, form=form, status=422)
    values = form.cleaned_data | {"aliases": form.cleaned_data["aliases"].split(",")}
    run_and_toast(request, _("Named “%(text)s”."), people.revise, entity, **values)
    return _back(space, entity)


@in_space(role="curator", methods="POST")
def merge(request, space, pk):
    """Merge another entity into this one."""
    entity, other = people.root(_entity(space, pk)), request.POST.get("other", "")
    if not number_in(other):
        toast_error(request, str(people.CannotMerge()))
        return _back(space, entity)
    row = _entity(space, int(other))
    run_and_toast(request, _("Both are “%(text)s” now."), people.merge, row, into=entity)
    return _back(space, entity)


@in_space(role="curator", methods="POST")
def part(request, space, pk):
    entity = _entity(space, pk)
    run_and_toast(request, _("“%(text)s” is somebody else again."), people.part, entity)
    return _back(space, entity)


def _entity(space, pk) -> Entity:
    return get_in_space_or_404(space, Entity, pk)


def _back(space, entity):
    return redirect("people:detail", space.slug, entity.pk)


def _page(request, space, entity, *, form=None, status=200):
    may = request.member.may("curator")
    page = pages.person_page(entity, space=space, now=timezone.now(), may=may)
    initial = {"name": entity.name, "aliases": ", ".join(entity.aliases), "kind": entity.kind}
    context = {
        "page": page,
        "entity": entity,
        "colour": pages.colour(entity),
        "relation": pages.relation_of(entity),
        "form": (form or NameForm(initial=initial)) if may else None,
    }
    return render(request, "people/detail.html", context, status=status)
