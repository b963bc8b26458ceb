from django.http import Http404
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from kenoweb.access import in_space, memberships, thing_for
from kenoweb.actions import say
from memory import chat_links
from memory.actors import person
from memory.models import ChatLink


@in_space(role="viewer")
@never_cache
@require_POST
def offer(request, space):
    member = next(one for one in memberships(request) if one.space_id == space.pk)
    # No redirect: the code exists in this one answer and nowhere else.
    code = chat_links.offer(member)
    return render(request, "chat_links/made.html", {"code": code, "minutes": chat_links.MINUTES})


@in_space(role="viewer")
@require_POST
def unlink(request, space, pk):
    link = thing_for(space, ChatLink, pk)
    if link.member.user_id != request.user.pk:
        raise Http404
    chat_links.unlink(link, by=person(request.user))
    say(request, _("Unlinked. Keno no longer takes that person for you."))
    return redirect("account:index")
