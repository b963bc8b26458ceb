"""Taking a change back: one address for every toast and every line with Undo."""

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from kenoweb.access import change_for, in_space
from kenoweb.actions import next_url, say, warn
from memory import history
from memory.actors import person
from memory.models import Identity, Space

# What a curator may not change, a curator may not change back.
OWNERS_ONLY = {Space, Identity}


@in_space(role="curator")
@require_POST
def undo(request, space, change):
    steps = change_for(space, change)
    if any(step.model in OWNERS_ONLY for step in steps) and not request.member.may("owner"):
        raise PermissionDenied
    try:
        with history.change(by=person(request.user), why="undo", undoes_context=str(change)) as now:
            history.undo_context(change, by=person(request.user))
        say(request, _("Taken back."), undo=reverse("history:undo", args=[space.slug, now.id]))
    except history.Conflict as conflict:
        warn(request, str(conflict))
    if request.htmx:
        # The toast that asked goes; lists that show the row listen and fetch themselves.
        return HttpResponse(headers={"HX-Trigger": "memory-changed, rows-changed"})
    return redirect(next_url(request) or reverse("overview:index", args=[space.slug]))
