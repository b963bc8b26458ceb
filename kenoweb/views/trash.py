"""The trash: what was thrown away, how long it stays, and emptying it now."""

from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from kenoweb import trash_pages
from kenoweb.access import in_space
from kenoweb.actions import say, warn
from kenoweb.filters import KindFilter
from memory.actors import person

EMPTY = "empty"


@in_space(role="viewer")
@require_safe
def index(request, space):
    wanted = KindFilter.read(request.GET)
    found = trash_pages.trash(space, wanted, member=request.member, now=timezone.now())
    return render(request, "trash/index.html", {"list": found})


@in_space(role="curator")
@require_POST
def empty(request, space):
    if request.POST.get("typed") != EMPTY:
        warn(request, _("Type the word to empty the trash. Nothing was deleted."))
        return redirect("trash:index", space.slug)
    count, left = trash_pages.empty(space, by=person(request.user))
    said = ngettext("Deleted %(n)s thing for good.", "Deleted %(n)s things for good.", count)
    more = [_("There is more: do it again.")] if left else []
    say(request, " ".join([said % {"n": count}, *more]))
    return redirect("trash:index", space.slug)
