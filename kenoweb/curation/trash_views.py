"""The trash: what was thrown away, how long it stays, and emptying it now."""

from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from kenoweb.auth.access import in_space
from kenoweb.curation import trash
from kenoweb.ui.filters import KindFilter
from kenoweb.ui.responses import toast, toast_error
from kenoweb.ui.row_actions import typed
from memory.history.actors import person

EMPTY = "empty"


@in_space(role="viewer")
@require_safe
def index(request, space):
    wanted = KindFilter.read(request.GET)
    found = trash.trash(space, wanted, member=request.member, now=timezone.now())
    return render(request, "trash/index.html", {"list": found})


@in_space(role="curator")
@require_POST
def empty(request, space):
    if not typed(request, EMPTY):
        toast_error(request, _("Type the word to empty the trash. Nothing was deleted."))
        return redirect("trash:index", space.slug)
    count, left = trash.empty(space, by=person(request.user))
    said = ngettext("Deleted %(n)s thing for good.", "Deleted %(n)s things for good.", count)
    more = [_("There is more: do it again.")] if left else []
    toast(request, " ".join([said % {"n": count}, *more]))
    return redirect("trash:index", space.slug)
