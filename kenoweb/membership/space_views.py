from django.core.exceptions import PermissionDenied
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kenoweb import demo
from kenoweb.auth.access import in_space, memberships, signed_in
from kenoweb.auth.client_ip import client_ip
from kenoweb.membership import timezones
from kenoweb.membership.forms import SpaceForm
from kenoweb.ui.responses import show_form, toast, toast_error, undo_url
from memory.history.actors import person
from memory.models import Member
from memory.queue import jobs
from memory.spaces import service as spaces


@signed_in
@require_safe
def index(request):
    context = {
        "memberships": memberships(request),
        "may_create": _may_create(request),
        "demo": demo.state(),
    }
    return render(request, "spaces/index.html", context)


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def new(request):
    if not _may_create(request):
        raise PermissionDenied
    initial = {"language": get_language(), "timezone": timezones.guess()}
    form = SpaceForm(request.POST or None, initial=initial)
    if form.is_valid():
        space = spaces.create(owner=request.user, ip=client_ip(request), **form.cleaned_data)
        toast(request, _("Created the space “%(name)s”.") % {"name": space.name})
        return redirect("overview:index", space.slug)
    return show_form(request, "spaces/new.html", form)


@in_space(role="owner")
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request, space):
    initial = {"name": space.name, "language": space.language, "timezone": space.timezone}
    form = SpaceForm(request.POST or None, initial=initial)
    if form.is_valid():
        ip = client_ip(request)
        done = spaces.revise(space, by=person(request.user), ip=ip, **form.cleaned_data)
        toast(request, _("Saved."), undo=undo_url(space, done))
        return redirect("spaces:edit", space.slug)
    return show_form(request, "spaces/edit.html", form)


@signed_in
@require_POST
def make_demo(request):
    """A separate space to look around in; the worker makes it in half a minute."""
    if not _may_create(request):
        raise PermissionDenied
    if demo.taken():
        toast_error(request, str(demo.NotTheDemo()))
    elif not demo.state():
        jobs.enqueue(demo.TASK, once="demo", user_id=request.user.pk)
        toast(request, _("The demo is being created. It takes about half a minute."))
    return redirect("spaces:index")


def _may_create(request):
    # Somebody who was only invited to look does not open rooms of their own in another's house.
    return any(member.role == Member.Role.OWNER for member in memberships(request))
