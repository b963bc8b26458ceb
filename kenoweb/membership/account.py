"""Pages of somebody's own account: signing in, two-factor, passkeys and one-time links."""

import time
from functools import wraps

from django.conf import settings
from django.contrib import auth
from django.http import Http404, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from kenoweb.auth import accounts, oidc, passkeys, sessions, throttle, two_factor
from kenoweb.auth.access import for_account, for_anyone, memberships
from kenoweb.auth.throttle import TooManyTries, client_ip, know_device
from kenoweb.membership import forms
from kenoweb.membership.forms import (
    CodeForm,
    NewAccountForm,
    OwnerForm,
    PasswordForm,
    SignInForm,
    SudoForm,
)
from kenoweb.models import OneTimeLink
from kenoweb.ui.responses import show_form, toast, toast_error
from kenoweb.ui.views import set_appearance
from memory.history import audit
from memory.history.actors import person
from memory.spaces import chat_links

# From here on the page says how many tries are left.
RECENT_ENTRIES = 5
# Between the password and the code.
HALF, HALF_SECONDS = "half_signed_in", 5 * 60
Kind = OneTimeLink.Kind


@for_anyone(methods="GET POST")
@never_cache
@sensitive_post_parameters("password")
def sign_in(request):
    there = sessions.safe(request, request.GET.get("next", "")) or reverse("home")
    if "credential" in request.POST:
        return _by_passkey(request, there)
    form = SignInForm(request.POST or None)
    if request.user.is_authenticated and request.method != "POST":
        return redirect(there)
    if form.is_valid():
        name, password = form.cleaned_data["name"], form.cleaned_data["password"]
        if user := _checked(request, form, name=name, password=password):
            return _half_way(request, user, there, keep=form.cleaned_data["keep"])
    return show_form(request, "account/sign_in.html", form, oidc=_oidc_name())


def _half_way(request, user, there, *, keep=False, sudo=True):
    """In, or on to the code where one is asked."""
    if not two_factor.is_on(user):
        return _signed_in(request, user, there, keep=keep, sudo=sudo)
    half = {"user": user.pk, "at": time.time(), "keep": keep, "next": there}
    request.session[HALF] = half
    return redirect("account:second")


def _oidc_name():
    return settings.KENO_OIDC_NAME if oidc.is_on() else ""


@for_anyone()
@never_cache
def oidc_leave(request):
    there = sessions.safe(request, request.GET.get("next", "")) or reverse("home")
    return _to_the_provider(request, back="account:sign_in", why="sign in", there=there)


@for_account(methods="GET POST", sudo=True)
def oidc_link(request):
    """Go and link an account of another site; posted, unlink it."""
    if request.method == "POST":
        oidc.unlink(request.user, ip=client_ip(request))
        toast(request, _("Unlinked."))
        return redirect("account:index")
    return _to_the_provider(request, back="account:index", why="link")


def _to_the_provider(request, *, back, **given):
    if not oidc.is_on():
        raise Http404
    try:
        return oidc.leave(request, **given)
    except oidc.Refused as why:
        toast_error(request, str(why))
        return redirect(back)


@for_anyone()
@never_cache
def oidc_back(request):
    """Where the other site sends people back to. What it says counts as the password alone."""
    if not oidc.is_on():
        raise Http404
    try:
        subject, asked = oidc.come_back(request)
        if asked["why"] == "sign in":
            return _half_way(request, oidc.whose(subject), asked["next"], sudo=False)
        if asked["user"] != request.user.pk or not request.user.is_authenticated:
            raise oidc.Refused(_("That took too long, or was used already. Try again."))
        oidc.link(request.user, subject, ip=client_ip(request))
        toast(request, _("Linked."))
    except oidc.Refused as why:
        toast_error(request, str(why))
    return redirect("account:index" if request.user.is_authenticated else "account:sign_in")


@for_anyone(methods="GET POST")
@never_cache
@sensitive_post_parameters("code")
def second(request):
    """The code after the password. Whoever takes longer than five minutes begins again."""
    half = request.session.get(HALF, {})
    if time.time() - half.get("at", 0) > HALF_SECONDS:
        return redirect("account:sign_in")
    user, form = two_factor.whose(half["user"]), CodeForm(request.POST or None)
    if user is None:
        return redirect("account:sign_in")
    if "credential" in request.POST:
        return _by_passkey(request, half["next"], user=user)
    if form.is_valid() and _code_is_good(request, form, user):
        del request.session[HALF]
        return _signed_in(request, user, half["next"], keep=half["keep"])
    return show_form(request, "account/second.html", form)


def _by_passkey(request, there, *, user=None):
    """In by a passkey, which is both factors; else the page says why not."""
    if found := _checked_passkey(request, user=user):
        half = request.session.pop(HALF, {})
        return _signed_in(request, found, there, keep=half.get("keep", False))
    return redirect(request.get_full_path())


def _checked_passkey(request, *, user=None):
    ip = client_ip(request)
    name = f"passkey {ip}"
    try:
        throttle.spend(name, ip)
        found = passkeys.check(request, request.POST["credential"], user=user, now=timezone.now())
    except TooManyTries as pause:
        toast_error(request, _pause(pause.minutes))
        return None
    except passkeys.Refused as why:
        audit.record("account.refused", actor="anonymous", ip=ip, account=str(user or ""))
        toast_error(request, str(why))
        return None
    throttle.refund(name, ip)
    return found


@for_anyone(methods="POST")
@never_cache
def passkey_options(request):
    """What a browser needs for the next question about a passkey, as JSON."""
    if request.user.is_authenticated:
        return JsonResponse(passkeys.ask(request, request.user))
    half = request.session.get(HALF, {})
    is_half = time.time() - half.get("at", 0) <= HALF_SECONDS
    return JsonResponse(passkeys.ask(request, two_factor.whose(half["user"]) if is_half else None))


@for_account(methods="POST", sudo=True)
def new_passkey_options(request):
    return JsonResponse(passkeys.ask_to_add(request, request.user))


@for_account(methods="POST", sudo=True)
def add_passkey(request):
    given = {"name": request.POST.get("name", ""), "ip": client_ip(request)}
    try:
        made, codes = passkeys.add(
            request, request.user, request.POST.get("credential", ""), **given
        )
    except passkeys.Refused as why:
        toast_error(request, str(why))
        return redirect("account:two_factor")
    if codes:
        return render(request, "account/two_factor.html", {"codes": codes, "is_on": True})
    toast(request, _("“%(name)s” opens Keno from now on.") % {"name": made.name})
    return redirect("account:two_factor")


@for_account(methods="POST", sudo=True)
def remove_passkey(request, pk):
    passkey = passkeys.find(request.user, pk)
    if passkey is None:
        raise Http404
    passkeys.remove(passkey, ip=client_ip(request))
    toast(request, _("Removed “%(name)s”.") % {"name": passkey.name})
    return redirect("account:two_factor")


def _code_is_good(request, form, user):
    name, ip = f"second factor {user.pk}", client_ip(request)
    try:
        throttle.spend(name, ip)
    except TooManyTries as pause:
        form.add_error("code", _pause(pause.minutes))
        return False
    if two_factor.check(user, form.cleaned_data["code"], now=timezone.now()):
        throttle.refund(name, ip)
        return True
    audit.record("account.refused", actor="anonymous", ip=ip, account=user.username)
    form.add_error("code", _("This code is not good, or it was used already."))
    return False


def _signed_in(request, user, there, *, keep, sudo=True):
    sessions.begin(request, user, keep=keep, sudo=sudo)
    audit.record("account.signed_in", actor=person(user), obj=user, ip=client_ip(request))
    response = greet(redirect(there), user)
    know_device(response, user.username)
    return response


@for_account(methods="GET POST", sudo=True)
@sensitive_post_parameters()
def set_second(request):
    """Switch the second factor on or off, or make new recovery codes."""
    user, ip, wanted = request.user, client_ip(request), request.POST.get("do", "")
    if wanted == "renew" and two_factor.is_on(user):
        codes = two_factor.renew_recovery(user, ip=ip)
        return render(request, "account/two_factor.html", {"codes": codes})
    if two_factor.has_app(user):
        if wanted == "off":
            two_factor.switch_off(user, ip=ip)
            toast(request, _("The second factor is off."))
            return redirect("account:index")
        return render(request, "account/two_factor.html", {"is_on": True})
    token = request.POST.get("offer", "") or two_factor.offer(user)
    secret = two_factor.offered(user, token) or two_factor.offered(user, two_factor.offer(user))
    form = CodeForm(request.POST if wanted == "on" else None)
    if form.is_valid():
        step = two_factor.matching_step(secret, form.cleaned_data["code"], now=timezone.now())
        if step:
            codes = two_factor.switch_on(user, secret, step=step, ip=ip)
            return render(request, "account/two_factor.html", {"codes": codes, "is_on": True})
        form.add_error("code", _("This is not the code that the app shows now."))
    context = {
        "offer": token,
        "secret": " ".join(secret[n : n + 4] for n in range(0, len(secret), 4)),
        "address": two_factor.address(user, secret),
    }
    return show_form(request, "account/two_factor.html", form, **context)


@for_account(methods="POST")
def sign_out(request):
    audit.record("account.signed_out", actor=person(request.user), ip=client_ip(request))
    auth.logout(request)
    return _farewell()


@for_account(methods="POST")
def sign_out_everywhere(request):
    user = request.user
    sessions.end_everywhere(user)
    audit.record("account.signed_out_everywhere", actor=person(user), ip=client_ip(request))
    auth.logout(request)
    return _farewell()


@for_account()
def index(request):
    mine = memberships(request)
    shown = {"memberships": mine, "links": chat_links.linked(mine), "oidc": _oidc_name()}
    return render(request, "account/index.html", shown)


@for_account(methods="GET POST")
@sensitive_post_parameters()
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


@for_account(methods="GET POST")
@sensitive_post_parameters()
def sudo(request):
    there = sessions.safe(request, request.GET.get("next", "")) or reverse("home")
    if "credential" in request.POST:
        if not _checked_passkey(request, user=request.user):
            return redirect(request.get_full_path())
        sessions.confirm(request)
        return redirect(there)
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
    return set_appearance(response, theme=account.theme, language=account.language)


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


def opens(kind):
    """The view gets the link itself; a spent one gets a page that says so.

    A look never uses a link up: chat programs and mail scanners follow every link they see.
    """

    def decorate(view):
        @for_anyone(methods="GET POST")
        @never_cache
        @sensitive_post_parameters()
        @wraps(view)
        def inside(request, token):
            link = accounts.find(token, kind=kind)
            if link is None or (kind == Kind.SETUP and not accounts.is_first_run()):
                raise Http404
            try:
                accounts.check_link(link)
                return view(request, link)
            except accounts.AlreadySetUp:
                raise Http404 from None
            except accounts.Spent:
                return render(request, "links/spent.html", {"link": link}, status=410)

        return inside

    return decorate


@opens(Kind.SETUP)
def setup(request, link):
    initial = {"space": _("Home"), "timezone": forms.guess()}
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
    try:
        if form.is_bound:  # whoever holds one invitation does not learn who else is here
            throttle.spend(f"join {link.pk}", client_ip(request))
    except TooManyTries as pause:
        form.add_error(None, _pause(pause.minutes))
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


@for_account(methods="GET POST", sudo=True)
def delete_account(request):
    """Delete the account, with or without what the person said, after the name was typed."""
    held = accounts.held_spaces(request.user)
    if request.method != "POST" or held:
        return render(request, "account/delete.html", {"held": held})
    if request.POST.get("typed", "").strip() != request.user.get_username():
        toast_error(request, _("Type your name to close the account. Nothing was changed."))
        return redirect("account:delete")
    accounts.delete(request.user, words="words" in request.POST, ip=client_ip(request))
    auth.logout(request)
    return _farewell()
