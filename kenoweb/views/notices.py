"""What the owner must see. Looking marks nothing: a press does."""

from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from kenoweb.access import in_space, thing_for
from kenoweb.actions import answer, say
from kenoweb.notice_pages import notice_list
from kenoweb.verbs import refreshed
from memory import notices
from memory.models import Notice


@in_space(role="viewer")
@require_safe
def index(request, space):
    return render(request, "notices/index.html", {"list": notice_list(space, request.GET)})


@in_space(role="curator")
@require_POST
def see(request, space, pk):
    notice = thing_for(space, Notice, pk)
    notices.see(notice)
    say(request, _("Seen."), undo=reverse("notices:unsee", args=[space.slug, pk]))
    return _row(request, space, notice)


@in_space(role="curator")
@require_POST
def unsee(request, space, pk):
    notice = thing_for(space, Notice, pk)
    notices.unsee(notice)
    return _row(request, space, notice)


@in_space(role="curator")
@require_POST
def see_all(request, space):
    count = notices.see_all(space)
    if count:
        said = ngettext("%(n)s notice is seen.", "%(n)s notices are seen.", count)
        say(request, said % {"n": count})
    return refreshed(request, back=reverse("notices:index", args=[space.slug]))


def _row(request, space, notice):
    if request.htmx and request.htmx.target != f"notice-{notice.pk}":
        # From a toast: the list fetches itself.
        return refreshed(request, back="")
    back = reverse("notices:index", args=[space.slug])
    return answer(request, "notices/_row.html", {"notice": notice}, back=back)
