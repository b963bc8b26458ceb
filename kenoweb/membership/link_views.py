from functools import wraps

from django.http import Http404
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kenoweb.auth import accounts, links, sessions
from kenoweb.auth.access import memberships, public
from kenoweb.auth.client_ip import client_ip
from kenoweb.membership import timezones
from kenoweb.membership.account_views import greet
from kenoweb.membership.forms import NewAccountForm, OwnerForm
from kenoweb.models import OneTimeLink
from kenoweb.ui.responses import show_form

Kind = OneTimeLink.Kind


def opens(kind):
    """The view gets the link itself; a spent one gets a page that says so.

    A look never uses a link up: chat programs and mail scanners follow every link they see.
    """

    def decorate(view):
        @public
        @never_cache
        @sensitive_post_parameters()
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def inside(request, token):
            link = links.find(token, kind=kind)
            if link is None or (kind == Kind.SETUP and not links.is_first_run()):
                raise Http404
            try:
                links.check(link)
                return view(request, link)
            except accounts.AlreadySetUp:
                raise Http404 from None
            except links.Spent:
                return render(request, "links/spent.html", {"link": link}, status=410)

        return inside

    return decorate


@opens(Kind.SETUP)
def setup(request, link):
    initial = {"space": _("Home"), "timezone": timezones.guess()}
    form = OwnerForm(request.POST or None, initial=initial)
    if form.is_valid() and (user := _account(request, form, accounts.create_owner, link)):
        sessions.begin(request, user, sudo=True)
        return greet(redirect("home"), user)
    return show_form(request, "links/setup.html", form)


@opens(Kind.SIGN_IN)
def enter(request, link):
    if request.method != "POST":
        return render(request, "links/enter.html", {"link": link})
    user = accounts.enter(link, ip=client_ip(request))
    sessions.begin(request, user)
    return greet(redirect("home"), user)


@opens(Kind.INVITE)
def join(request, link):
    if request.user.is_authenticated:
        return _join_as_me(request, link)
    form = NewAccountForm(request.POST or None)
    if form.is_valid() and (user := _account(request, form, accounts.create_member, link)):
        sessions.begin(request, user, sudo=True)
        return greet(redirect("overview:index", link.space.slug), user)
    return show_form(request, "links/join.html", form, link=link)


def _join_as_me(request, link):
    here = link.space_id in {member.space_id for member in memberships(request)}
    if request.method != "POST" and not here:
        return render(request, "links/join.html", {"link": link})
    if not here:
        accounts.accept(link, user=request.user, ip=client_ip(request))
    return redirect("overview:index", link.space.slug)


def _account(request, form, create, link):
    """The new person, or none when somebody took the name a moment ago."""
    try:
        return create(link, **form.account(), language=get_language(), ip=client_ip(request))
    except accounts.NameTaken:
        form.add_error("name", _("This name is taken. Choose another."))
    return None
