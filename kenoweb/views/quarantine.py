"""Quarantine: what a guard set aside until a person has looked."""

from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from kenoweb.access import episode_for, in_space
from kenoweb.filters import KindFilter
from kenoweb.quarantine_pages import quarantine
from kenoweb.verbs import refreshed, verb
from memory import episodes


@in_space(role="viewer")
@require_safe
def index(request, space):
    found = quarantine(space, KindFilter.read(request.GET), member=request.member)
    return render(request, "quarantine/index.html", {"list": found})


def _again(request, _episode):
    return refreshed(request, back=reverse("quarantine:index", args=[request.space.slug]))


release_episode = verb(
    episodes.release, gettext_lazy("Released “%(text)s”."), fetch=episode_for, respond=_again
)
