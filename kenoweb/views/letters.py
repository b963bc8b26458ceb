"""Dead letters: jobs that were given up. A person has them tried again, or lets them be."""

from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb.access import in_space, thing_for
from kenoweb.actions import say, warn
from kenoweb.notice_pages import letter_list
from kenoweb.verbs import refreshed
from memory import jobs
from memory.actors import person
from memory.models import DeadLetter


@in_space(role="curator")
@require_safe
def index(request, space):
    found = letter_list(space, after=request.GET.get("after", ""))
    return render(request, "letters/index.html", {"list": found})


@in_space(role="curator")
@require_POST
def retry(request, space, pk):
    if jobs.retry(thing_for(space, DeadLetter, pk), by=person(request.user)):
        say(request, _("It is being tried again."))
    else:
        warn(request, _("Somebody decided that already."))
    return _done(request, space)


@in_space(role="curator")
@require_POST
def discard(request, space, pk):
    if jobs.discard(thing_for(space, DeadLetter, pk), by=person(request.user)):
        say(request, _("Discarded."), undo=reverse("letters:restore", args=[space.slug, pk]))
    else:
        warn(request, _("Somebody decided that already."))
    return _done(request, space)


@in_space(role="curator")
@require_POST
def restore(request, space, pk):
    if jobs.bring_back(thing_for(space, DeadLetter, pk)):
        say(request, _("It waits again."))
    return _done(request, space)


def _done(request, space):
    return refreshed(request, back=reverse("letters:index", args=[space.slug]))
