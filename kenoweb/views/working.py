"""Working notes: what Keno is in the middle of, and how a person corrects or clears it."""

from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb.access import in_space, thing_for
from kenoweb.filters import WorkingFilter
from kenoweb.verbs import attempt, refreshed, settled
from kenoweb.working_forms import NoteForm
from kenoweb.working_pages import note_list, note_panel
from memory import working
from memory.actors import person
from memory.models import WorkingNote


@in_space(role="viewer")
@require_safe
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
@require_safe
def detail(request, space, pk):
    note, context = thing_for(space, WorkingNote, pk), {}
    if request.GET.get("edit") and request.member.may("curator"):
        context["form"] = NoteForm(initial={name: getattr(note, name) for name in working.EMPTY})
    return _page(request, space, note=note, **context)


@in_space(role="curator")
@require_POST
def revise(request, space, pk):
    note, form = thing_for(space, WorkingNote, pk), NoteForm(request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, note=note, form=form)
    by = person(request.user)
    done = attempt(
        request,
        _("Wrote the note anew."),
        lambda: working.replace(note.chat, by=by, **form.cleaned_data),
    )
    if done is None or not done.changed:
        return _page(request, space, status=422, note=note, form=form)
    return settled(request, reverse("working:detail", args=[space.slug, pk]))


@in_space(role="curator")
@require_POST
def clear(request, space, pk):
    note, by = thing_for(space, WorkingNote, pk), person(request.user)
    attempt(request, _("Cleared the note."), lambda: working.clear(note.chat, by=by))
    return refreshed(request, back=reverse("working:index", args=[space.slug]))


def _page(request, space, *, status=200, note=None, **context):
    wanted, now = WorkingFilter.read(request.GET), timezone.now()
    context["list"] = note_list(space, wanted, member=request.member, now=now)
    if note:
        context["panel"] = note_panel(note, space=space, user=request.user, now=now)
    return render(request, "working/index.html", context, status=status)
