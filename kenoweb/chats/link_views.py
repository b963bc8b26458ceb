from django.http import Http404
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from kenoweb.auth.access import memberships, signed_in
from kenoweb.ui.responses import toast
from memory.history.actors import person
from memory.spaces import chat_links


@signed_in
@never_cache
@require_POST
def offer(request):
    wanted = request.POST.get("space", "")
    member = next((one for one in memberships(request) if one.space.slug == wanted), None)
    if member is None:
        raise Http404
    # No redirect: the code exists in this one answer and nowhere else.
    shown = {"code": chat_links.offer(member), "minutes": chat_links.CODE_MINUTES, "member": member}
    return render(request, "chat_links/made.html", shown)


@signed_in
@require_POST
def unlink(request, pk):
    mine = chat_links.linked(memberships(request))
    link = next((one for one in mine if one.pk == pk), None)
    if link is None:
        raise Http404
    chat_links.unlink(link, by=person(request.user))
    toast(request, _("Unlinked. Keno no longer takes that person for you."))
    return redirect("account:index")
