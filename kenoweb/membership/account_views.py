from django.contrib import auth
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kenoweb.auth import accounts, sessions
from kenoweb.auth.access import memberships, public, signed_in
from kenoweb.auth.client_ip import client_ip
from kenoweb.auth.throttle import TooManyTries
from kenoweb.membership.forms import PasswordForm, SignInForm, SudoForm
from kenoweb.ui.responses import show_form, toast
from kenoweb.ui.views import wear
from memory.history import audit
from memory.history.actors import person
from memory.spaces import chat_links

# From here on the page says how many tries are left.
RECENT_ENTRIES = 5


@public
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request):
    there = sessions.safe(request, request.GET.get("next", "")) or reverse("home")
    form = SignInForm(request.POST or None)
    if request.user.is_authenticated and request.method != "POST":
        return redirect(there)
    if form.is_valid():
        name, password = form.cleaned_data["name"], form.cleaned_data["password"]
        if user := _checked(request, form, name=name, password=password):
            sessions.begin(request, user, keep=form.cleaned_data["keep"], sudo=True)
            audit.record("account.signed_in", actor=person(user), obj=user, ip=client_ip(request))
            return greet(redirect(there), user)
    return show_form(request, "account/sign_in.html", form)


@signed_in
@require_POST
def sign_out(request):
    audit.record("account.signed_out", actor=person(request.user), ip=client_ip(request))
    auth.logout(request)
    return _farewell()


@signed_in
@require_POST
def sign_out_everywhere(request):
    user = request.user
    sessions.end_everywhere(user)
    audit.record("account.signed_out_everywhere", actor=person(user), ip=client_ip(request))
    auth.logout(request)
    return _farewell()


@signed_in
@require_safe
def index(request):
    mine = memberships(request)
    shown = {"memberships": mine, "links": chat_links.linked(mine)}
    return render(request, "account/index.html", shown)


@signed_in
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def password(request):
    user, form = request.user, PasswordForm(request.POST or None, user=request.user)
    if form.is_valid() and _checked(
        request, form, name=user.username, password=form.cleaned_data["old"], field="old"
    ):
        accounts.change_password(user, password=form.cleaned_data["new"], ip=client_ip(request))
        sessions.begin(request, user, keep=request.session.get("keep", False), sudo=True)
        toast(request, _("Changed the password. Other devices are signed out."))
        return redirect("account:index")
    return show_form(request, "account/password.html", form)


@signed_in
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def sudo(request):
    there = sessions.safe(request, request.GET.get("next", "")) or reverse("home")
    form, name = SudoForm(request.POST or None), request.user.username
    if form.is_valid() and _checked(
        request, form, name=name, password=form.cleaned_data["password"]
    ):
        sessions.confirm(request)
        return redirect(there)
    return show_form(request, "account/sudo.html", form)


def greet(response, user):
    """A browser somebody just signed in with wears their language and theme."""
    account = sessions.account_of(user)
    return wear(response, theme=account.theme, language=account.language)


def _checked(request, form, *, name, password, field=None):
    """The person if the password is right; else the form says what is wrong."""
    try:
        return accounts.check(request, name=name, password=password)
    except TooManyTries as pause:
        form.add_error(field, _pause(pause.minutes))
    except accounts.WrongPassword as wrong:
        form.add_error(field, _mismatch(wrong.left, signed_in=request.user.is_authenticated))
    return None


def _mismatch(left, *, signed_in):
    # The same words whether the name exists or not.
    said = (
        _("That is not your password.") if signed_in else _("That name and password do not match.")
    )
    if left > RECENT_ENTRIES:
        return said
    tries = ngettext("%(n)d try is left for now.", "%(n)d tries are left for now.", left)
    return f"{said} {tries % {'n': left}}"


def _pause(minutes):
    return ngettext(
        "Too many tries. Wait %(minutes)d minute, then try again.",
        "Too many tries. Wait %(minutes)d minutes, then try again.",
        minutes,
    ) % {"minutes": minutes}


def _farewell():
    response = redirect("account:sign_in")
    # The next person at this browser finds no page of memory in its cache.
    response["Clear-Site-Data"] = '"cache", "storage"'
    return response
