from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb.auth import links
from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.auth.client_ip import client_ip
from kenoweb.auth.sessions import go
from kenoweb.membership.forms import InviteForm, RoleForm
from kenoweb.models import OneTimeLink
from kenoweb.ui.responses import fragment_or_redirect, show_form, toast, toast_error
from memory.history.actors import person
from memory.models import AuditEntry, Member
from memory.spaces import members

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
    link = get_in_space_or_404(space, OneTimeLink, pk, kind=OneTimeLink.Kind.INVITE)
    if links.withdraw(link, by=person(request.user), ip=client_ip(request)):
        toast(request, _("Withdrew the invitation."))
    return redirect("members:index", space.slug)


@in_space(role="owner")
@require_POST
def change_role(request, space, pk):
    member, form = get_in_space_or_404(space, Member, pk), RoleForm(request.POST)
    if form.is_valid():
        role = form.cleaned_data["role"]
        said = _("%(name)s has another role now.") % {"name": member.user}
        _attempt(request, members.change_role, member, said=said, role=role)
    back = reverse("members:index", args=[space.slug])
    row = rows_in(space, Member).select_related("user").get(pk=pk)
    return fragment_or_redirect(
        request, "members/_row.html", {"row": row, "roles": ROLES}, back=back
    )


@in_space(role="owner")
@require_POST
def remove(request, space, pk):
    member = get_in_space_or_404(space, Member, pk)
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
    entry = get_in_space_or_404(space, AuditEntry, pk, action__in=members.UNDOABLE)
    _attempt(request, members.undo, entry, said=_("Undone."), undoable=False)
    # Sent from a toast: the list around it must change too.
    return go(request, reverse("members:index", args=[space.slug]))


def _attempt(request, verb, thing, *, said, undoable=True, **changes):
    """Do it and say so, with Undo where there is one; or say why not."""
    try:
        entry = verb(thing, by=person(request.user), ip=client_ip(request), **changes)
    except members.Refused as reason:
        toast_error(request, str(reason))
        return False
    if entry:
        undo = reverse("members:undo", args=[request.space.slug, entry.pk]) if undoable else ""
        toast(request, said, undo=undo)
    return True


def _page(request, space, *, form, link=""):
    context = {
        "members": rows_in(space, Member).select_related("user").order_by("user__username"),
        "waiting": links.waiting(space) if request.member.may("owner") else [],
        "roles": ROLES,
        "link": link,
    }
    return show_form(request, "members/index.html", form, **context)
