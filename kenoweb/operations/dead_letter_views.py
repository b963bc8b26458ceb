"""Dead letters: jobs that were given up. A person has them tried again, or lets them be."""

from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.operations.notices import letter_list
from kenoweb.ui.responses import toast, toast_error
from kenoweb.ui.row_actions import refreshed
from memory.history.actors import person
from memory.models import DeadLetter
from memory.queue import jobs


@in_space(role="curator")
@require_safe
def index(request, space):
    found = letter_list(space, after=request.GET.get("after", ""))
    return render(request, "letters/index.html", {"list": found})


@in_space(role="curator")
@require_POST
def retry(request, space, pk):
    if jobs.retry(get_in_space_or_404(space, DeadLetter, pk), by=person(request.user)):
        toast(request, _("It is being tried again."))
    else:
        toast_error(request, _("Someone has already decided that."))
    return _done(request, space)


@in_space(role="curator")
@require_POST
def discard(request, space, pk):
    if jobs.discard(get_in_space_or_404(space, DeadLetter, pk), by=person(request.user)):
        toast(request, _("Discarded."), undo=reverse("letters:restore", args=[space.slug, pk]))
    else:
        toast_error(request, _("Someone has already decided that."))
    return _done(request, space)


@in_space(role="curator")
@require_POST
def restore(request, space, pk):
    if jobs.undiscard(get_in_space_or_404(space, DeadLetter, pk)):
        toast(request, _("It is open again."))
    return _done(request, space)


def _done(request, space):
    return refreshed(request, back=reverse("letters:index", args=[space.slug]))
