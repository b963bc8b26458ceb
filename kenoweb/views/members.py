from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb import links
from kenoweb.access import in_space, thing_for, things
from kenoweb.actions import answer, say, show_form, warn
from kenoweb.address import client_ip
from kenoweb.forms import InviteForm, RoleForm
from kenoweb.models import OneTimeLink
from kenoweb.sessions import go
from memory import members
from memory.actors import person
from memory.models import AuditEntry, Member

ROLES = Member.Role.choices


@in_space(role="viewer")
@require_safe
def index(request, space):
    return _page(request, space, form=InviteForm())


@in_space(role="owner")
@require_POST
def invite(request, space):
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, space, form=form)
    path = links.invite(space, by=request.user, ip=client_ip(request), **form.cleaned_data)
    # No redirect: the link exists in this one answer and nowhere else.
    return _page(request, space, form=InviteForm(), link=request.build_absolute_uri(path))


@in_space(role="owner")
@require_POST
def withdraw(request, space, pk):
    link = thing_for(space, OneTimeLink, pk, kind=OneTimeLink.Kind.INVITE)
    if links.withdraw(link, by=person(request.user), ip=client_ip(request)):
        say(request, _("Withdrew the invitation."))
    return redirect("members:index", space.slug)


@in_space(role="owner")
@require_POST
def change_role(request, space, pk):
    member, form = thing_for(space, Member, pk), RoleForm(request.POST)
    if form.is_valid():
        role = form.cleaned_data["role"]
        said = _("%(name)s has another role now.") % {"name": member.user}
        _attempt(request, members.change_role, member, said=said, role=role)
    back = reverse("members:index", args=[space.slug])
    row = things(space, Member).select_related("user").get(pk=pk)
    return answer(request, "members/_row.html", {"row": row, "roles": ROLES}, back=back)


@in_space(role="owner")
@require_POST
def remove(request, space, pk):
    member = thing_for(space, Member, pk)
    _attempt(request, members.remove, member, said=_("Removed %(name)s.") % {"name": member.user})
    return redirect("members:index", space.slug)


@in_space(role="viewer")
@require_POST
def leave(request, space):
    said = _("You left %(space)s.") % {"space": space}
    if _attempt(request, members.remove, request.member, said=said, undoable=False):
        return redirect("home")
    return redirect("members:index", space.slug)


@in_space(role="owner")
@require_POST
def undo(request, space, pk):
    entry = thing_for(space, AuditEntry, pk, action__in=members.UNDOABLE)
    _attempt(request, members.undo, entry, said=_("Undone."), undoable=False)
    # Sent from a toast: the list around it must change too.
    return go(request, reverse("members:index", args=[space.slug]))


def _attempt(request, verb, thing, *, said, undoable=True, **changes):
    """Do it and say so, with Undo where there is one; or say why not."""
    try:
        entry = verb(thing, by=person(request.user), ip=client_ip(request), **changes)
    except members.Refused as reason:
        warn(request, str(reason))
        return False
    if entry:
        undo = reverse("members:undo", args=[request.space.slug, entry.pk]) if undoable else ""
        say(request, said, undo=undo)
    return True


def _page(request, space, *, form, link=""):
    context = {
        "members": things(space, Member).select_related("user").order_by("user__username"),
        "waiting": links.waiting(space) if request.member.may("owner") else [],
        "roles": ROLES,
        "link": link,
    }
    return show_form(request, "members/index.html", form, **context)
