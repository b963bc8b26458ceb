"""Pages of members, spaces and tokens."""

import json

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from kenoweb import demo
from kenoweb.auth import accounts
from kenoweb.auth.access import for_account, get_in_space_or_404, in_space, memberships, rows_in
from kenoweb.auth.sessions import go
from kenoweb.auth.throttle import client_ip
from kenoweb.membership import forms
from kenoweb.membership.forms import InviteForm, NewSpaceForm, RoleForm, SpaceForm, TokenForm
from kenoweb.models import OneTimeLink
from kenoweb.ui.responses import fragment_or_redirect, show_form, toast, toast_error, undo_url
from memory import jobs
from memory.history.actors import person
from memory.models import ApiToken, AuditEntry, Member
from memory.spaces import api_tokens
from memory.spaces import service as spaces
from sleep import proposals

ROLES = Member.Role.choices
LIVE_FIRST = F("revoked_at").asc(nulls_first=True)


@in_space(role="viewer")
def member_list(request, space):
    return _page(request, space, form=InviteForm())


@in_space(role="owner", methods="POST", sudo=True)
def invite(request, space):
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, space, form=form)
    path = accounts.invite(space, by=request.user, ip=client_ip(request), **form.cleaned_data)
    # No redirect: the link exists in this one answer and nowhere else.
    return _page(request, space, form=InviteForm(), link=request.build_absolute_uri(path))


@in_space(role="owner", methods="POST")
def withdraw(request, space, pk):
    link = get_in_space_or_404(space, OneTimeLink, pk, kind=OneTimeLink.Kind.INVITE)
    if accounts.withdraw(link, by=person(request.user), ip=client_ip(request)):
        toast(request, _("Withdrew the invitation."))
    return redirect("members:index", space.slug)


@in_space(role="owner", methods="POST", sudo=True)
def change_role(request, space, pk):
    member, form = get_in_space_or_404(space, Member, pk), RoleForm(request.POST)
    if form.is_valid():
        message = _("%(name)s has another role now.") % {"name": member.user}
        _attempt(request, spaces.change_role, member, message=message, **form.cleaned_data)
    back = reverse("members:index", args=[space.slug])
    row = rows_in(space, Member).select_related("user").get(pk=pk)
    context = {"row": row, "roles": ROLES}
    return fragment_or_redirect(request, "members/_row.html", context, back=back)


@in_space(role="owner", methods="POST", sudo=True)
def remove(request, space, pk):
    member = get_in_space_or_404(space, Member, pk)
    message = _("Removed %(name)s.") % {"name": member.user}
    _attempt(request, spaces.remove, member, message=message)
    return redirect("members:index", space.slug)


@in_space(role="viewer", methods="POST")
def leave(request, space):
    message = _("You left %(space)s.") % {"space": space}
    if _attempt(request, spaces.remove, request.member, message=message, undoable=False):
        return redirect("home")
    return redirect("members:index", space.slug)


@in_space(role="owner", methods="POST")
def undo(request, space, pk):
    entry = get_in_space_or_404(space, AuditEntry, pk, action__in=spaces.UNDOABLE)
    _attempt(request, spaces.undo, entry, message=_("Undone."), undoable=False)
    # The button is in a toast: the list around it must change too.
    return go(request, reverse("members:index", args=[space.slug]))


def _attempt(request, action, row, *, message, undoable=True, **changes):
    """Call the service and show the message, with Undo where there is one; or say why not."""
    try:
        entry = action(row, by=person(request.user), ip=client_ip(request), **changes)
    except spaces.Refused as refusal:
        toast_error(request, str(refusal))
        return False
    if entry:
        undo = reverse("members:undo", args=[request.space.slug, entry.pk]) if undoable else ""
        toast(request, message, undo=undo)
    return True


def _page(request, space, *, form, link=""):
    members = list(rows_in(space, Member).select_related("user").order_by("user__username"))
    context = {
        "members": members,
        "is_last_owner": [row for row in members if row.role == "owner"] == [request.member],
        "waiting": accounts.waiting(space) if request.member.may("owner") else [],
        "roles": ROLES,
        "link": link,
    }
    return show_form(request, "members/index.html", form, **context)


@for_account()
def space_list(request):
    context = {
        "memberships": memberships(request),
        "may_create": _may_create(request),
        "demo": demo.state(),
        "demo_percent": demo.far,
    }
    return render(request, "spaces/index.html", context)


@for_account(methods="GET POST")
def new(request):
    if not _may_create(request):
        raise PermissionDenied
    initial = {"language": get_language(), "timezone": forms.guess()}
    form = NewSpaceForm(request.POST or None, initial=initial)
    if form.is_valid():
        space = spaces.create(owner=request.user, ip=client_ip(request), **form.cleaned_data)
        toast(request, _("Created the space “%(name)s”.") % {"name": space.name})
        return redirect("overview:index", space.slug)
    return show_form(request, "spaces/new.html", form)


@in_space(role="owner", methods="GET POST")
def edit(request, space):
    initial = {"name": space.name, "language": space.language, "timezone": space.timezone}
    form = SpaceForm(request.POST or None, initial=initial)
    if form.is_valid():
        ip = client_ip(request)
        result = spaces.revise(space, by=person(request.user), ip=ip, **form.cleaned_data)
        toast(request, _("Saved."), undo=undo_url(space, result))
        return redirect("spaces:edit", space.slug)
    return show_form(request, "spaces/edit.html", form)


@in_space(role="owner", methods="POST")
def archive(request, space):
    archived, ip = request.POST.get("archived") == "yes", client_ip(request)
    result = spaces.archive(space, by=person(request.user), archived=archived, ip=ip)
    message = _("Archived the space.") if archived else _("The space is back.")
    toast(request, message, undo=undo_url(space, result))
    return redirect("spaces:edit", space.slug)


@for_account(methods="POST")
def make_demo(request):
    if not _may_create(request):
        raise PermissionDenied
    if demo.taken():
        toast_error(request, str(demo.NotTheDemo()))
    elif not demo.state():
        jobs.enqueue(demo.TASK, once="demo", user_id=request.user.pk)
        toast(request, _("The demo is being created. It takes about a minute."))
    return redirect("spaces:index")


def _may_create(request):
    # A guest who may only look opens no spaces of their own on somebody else's Keno.
    return any(member.role == Member.Role.OWNER for member in memberships(request))


@in_space(role="owner")
def token_list(request, space):
    rows = rows_in(space, ApiToken).select_related("user").order_by(LIVE_FIRST, "-created_at")
    standings = proposals.standings(space)
    for token in rows:
        token.source = f"api:{token.name}"[:64]
        token.standing = standings.get(token.source)
    context = {"tokens": rows, "now": timezone.now(), "gates": ApiToken.Gate.choices}
    return render(request, "tokens/index.html", context)


@in_space(role="owner", methods="GET POST", sudo=True)
def new_token(request, space):
    form = TokenForm(request.POST or None)
    home = settings.KENO_URL or request.build_absolute_uri("/").rstrip("/")
    if not form.is_valid():
        return show_form(request, "tokens/new.html", form, home=home)
    values = {name: form.cleaned_data[name] for name in ("name", "scopes", "gate")}
    values |= {"expires_at": form.expires_at(), "ip": client_ip(request)}
    token, key = api_tokens.create(space, user=request.user, **values)
    # No redirect: the key exists in this one answer and nowhere else.
    context = {"token": token, "key": key, "home": home, **_ready_to_paste(key, home)}
    return render(request, "tokens/made.html", context)


def _ready_to_paste(key: str, home: str) -> dict[str, str]:
    """Return a line for a terminal and the settings of an agent, with the token filled in."""
    headers = {"Authorization": f"Bearer {key}"}
    server = {"type": "http", "url": f"{home}/mcp", "headers": headers}
    curl = (
        f'curl -H "Authorization: Bearer {key}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        """  -d '{"query": "Who keeps bees?"}' """
        f"{home}/api/v1/recall"
    )
    return {"curl": curl, "mcp": json.dumps({"mcpServers": {"keno": server}}, indent=2)}


@in_space(role="owner", methods="POST")
def revoke(request, space, pk):
    token = get_in_space_or_404(space, ApiToken, pk)
    api_tokens.revoke(token, by=person(request.user), ip=client_ip(request))
    toast(request, _("Revoked “%(name)s”.") % {"name": token.name})
    return redirect("tokens:index", space.slug)


@in_space(role="owner", methods="POST", sudo=True)
def set_gate(request, space, pk):
    """Choose what becomes of what a token writes; only here, and only by an owner."""
    token, gate = get_in_space_or_404(space, ApiToken, pk), request.POST.get("gate", "")
    if gate in ApiToken.Gate.values:
        api_tokens.set_gate(token, gate=gate, by=person(request.user), ip=client_ip(request))
        values = {"name": token.name, "gate": token.get_gate_display()}
        toast(request, _("“%(name)s”: %(gate)s.") % values)
    return redirect("tokens:index", space.slug)
