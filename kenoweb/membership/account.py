"""Pages of one's own account: signing in, second factor, passkeys and one-time links."""

import time
from functools import wraps

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import User
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
from kenoweb.models import OneTimeLink
from kenoweb.ui.responses import show_form, toast, toast_error
from kenoweb.ui.views import set_appearance
from memory.history import audit
from memory.history.actors import person
from memory.spaces import chat_links

# With so few tries left, the page says how many.
FEW_TRIES = 5
# The session's note of a right password whose code is still to come, and how long it counts.
HALF_KEY = "half_signed_in"
HALF_SECONDS = 5 * 60
Kind = OneTimeLink.Kind


@for_anyone(methods="GET POST")
@never_cache
@sensitive_post_parameters("password")
def sign_in(request):
    target = _next(request)
    if "credential" in request.POST:
        return _enter_by_passkey(request, target)
    form = forms.SignInForm(request.POST or None)
    if request.user.is_authenticated and request.method != "POST":
        return redirect(target)
    if form.is_valid():
        name, password = form.cleaned_data["name"], form.cleaned_data["password"]
        if user := _check_password(request, form, name=name, password=password):
            return _go_on(request, user, target, keep=form.cleaned_data["keep"])
    return show_form(request, "account/sign_in.html", form, oidc=_oidc_name())


def _next(request):
    return sessions.safe(request, request.GET.get("next", "")) or reverse("home")


def _go_on(request, user, target, *, keep=False, sudo=True):
    """Sign in, or go on to the code where one is needed."""
    if not two_factor.is_on(user):
        return _enter(request, user, target, keep=keep, sudo=sudo)
    half = {"user": user.pk, "at": time.time(), "keep": keep, "next": target}
    request.session[HALF_KEY] = half
    return redirect("account:second")


def _half_signed_in(request):
    """Return the note of a right password and its user; neither when it is too old."""
    half = request.session.get(HALF_KEY, {})
    if time.time() - half.get("at", 0) > HALF_SECONDS:
        return {}, None
    return half, User.objects.filter(pk=half["user"], is_active=True).first()


def _oidc_name():
    return settings.KENO_OIDC_NAME if oidc.is_on() else ""


@for_anyone()
@never_cache
def oidc_leave(request):
    return _to_provider(request, back="account:sign_in", why="sign in", there=_next(request))


@for_account(methods="GET POST", sudo=True)
def oidc_link(request):
    """Go and link an account of another site; unlink it on POST."""
    if request.method == "POST":
        oidc.unlink(request.user, ip=client_ip(request))
        toast(request, _("Unlinked."))
        return redirect("account:index")
    return _to_provider(request, back="account:index", why="link")


def _to_provider(request, *, back, **reason):
    if not oidc.is_on():
        raise Http404
    try:
        return oidc.leave(request, **reason)
    except oidc.Refused as refusal:
        toast_error(request, str(refusal))
        return redirect(back)


@for_anyone()
@never_cache
def oidc_back(request):
    """Receive people from the other site. What it says counts as the password alone."""
    if not oidc.is_on():
        raise Http404
    try:
        subject, reason = oidc.come_back(request)
        if reason["why"] == "sign in":
            return _go_on(request, oidc.linked_user(subject), reason["next"], sudo=False)
        if reason["user"] != request.user.pk or not request.user.is_authenticated:
            raise oidc.Refused(_("That took too long, or was used already. Try again."))
        oidc.link(request.user, subject, ip=client_ip(request))
        toast(request, _("Linked."))
    except oidc.Refused as refusal:
        toast_error(request, str(refusal))
    return redirect("account:index" if request.user.is_authenticated else "account:sign_in")


@for_anyone(methods="GET POST")
@never_cache
@sensitive_post_parameters("code")
def second(request):
    """Ask for the code after the password, for five minutes; then sign-in begins again."""
    half, user = _half_signed_in(request)
    if user is None:
        return redirect("account:sign_in")
    if "credential" in request.POST:
        return _enter_by_passkey(request, half["next"], user=user)
    form = forms.CodeForm(request.POST or None)
    if form.is_valid() and _check_code(request, form, user):
        del request.session[HALF_KEY]
        return _enter(request, user, half["next"], keep=half["keep"])
    return show_form(request, "account/second.html", form)


def _enter_by_passkey(request, target, *, user=None):
    """Sign in by a passkey, which is both factors; else the page says why not."""
    if owner := _check_passkey(request, user=user):
        half = request.session.pop(HALF_KEY, {})
        return _enter(request, owner, target, keep=half.get("keep", False))
    return redirect(request.get_full_path())


def _check_passkey(request, *, user=None):
    ip = client_ip(request)
    name = f"passkey {ip}"
    try:
        throttle.spend(name, ip)
        owner = passkeys.check(request, request.POST["credential"], user=user, now=timezone.now())
    except TooManyTries as pause:
        toast_error(request, _pause(pause.minutes))
    except passkeys.Refused as refusal:
        audit.record("account.refused", actor="anonymous", ip=ip, account=str(user or ""))
        toast_error(request, str(refusal))
    else:
        throttle.refund(name, ip)
        return owner
    return None


@for_anyone(methods="POST")
@never_cache
def passkey_options(request):
    """Return what a browser needs to ask for a passkey, as JSON."""
    if request.user.is_authenticated:
        return JsonResponse(passkeys.ask(request, request.user))
    _half, user = _half_signed_in(request)
    return JsonResponse(passkeys.ask(request, user))


@for_account(methods="POST", sudo=True)
def new_passkey_options(request):
    return JsonResponse(passkeys.ask_to_add(request, request.user))


@for_account(methods="POST", sudo=True)
def add_passkey(request):
    name, credential = request.POST.get("name", ""), request.POST.get("credential", "")
    ip = client_ip(request)
    try:
        passkey, codes = passkeys.add(request, request.user, credential, name=name, ip=ip)
    except passkeys.Refused as refusal:
        toast_error(request, str(refusal))
        return redirect("account:two_factor")
    if codes:
        return render(request, "account/two_factor.html", {"codes": codes, "is_on": True})
    toast(request, _("“%(name)s” opens Keno from now on.") % {"name": passkey.name})
    return redirect("account:two_factor")


@for_account(methods="POST", sudo=True)
def remove_passkey(request, pk):
    passkey = request.user.passkeys.filter(pk=pk).first()
    if passkey is None:
        raise Http404
    passkeys.remove(passkey, ip=client_ip(request))
    toast(request, _("Removed “%(name)s”.") % {"name": passkey.name})
    return redirect("account:two_factor")


def _check_code(request, form, user):
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


def _enter(request, user, target, *, keep, sudo=True):
    sessions.begin(request, user, keep=keep, sudo=sudo)
    audit.record("account.signed_in", actor=person(user), obj=user, ip=client_ip(request))
    response = greet(redirect(target), user)
    know_device(response, user.username)
    return response


@for_account(methods="GET POST", sudo=True)
@sensitive_post_parameters()
def set_second(request):
    """Switch the second factor on or off, or make new recovery codes."""
    user, ip, action = request.user, client_ip(request), request.POST.get("do", "")
    if action == "renew" and two_factor.is_on(user):
        codes = two_factor.renew_recovery(user, ip=ip)
        return render(request, "account/two_factor.html", {"codes": codes})
    if two_factor.has_app(user):
        if action == "off":
            two_factor.switch_off(user, ip=ip)
            toast(request, _("The second factor is off."))
            return redirect("account:index")
        return render(request, "account/two_factor.html", {"is_on": True})
    token = request.POST.get("offer", "")
    secret = two_factor.offered(user, token)
    form = forms.CodeForm(request.POST if action == "on" else None)
    if not secret:
        token = two_factor.offer(user)
        secret = two_factor.offered(user, token)
        if form.is_bound:
            form.add_error("code", _("That secret is too old. Add the new one to your app."))
    elif form.is_valid():
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
    return _farewell(request, "account.signed_out")


@for_account(methods="POST")
def sign_out_everywhere(request):
    sessions.end_everywhere(request.user)
    return _farewell(request, "account.signed_out_everywhere")


@for_account()
def index(request):
    members = memberships(request)
    context = {"memberships": members, "links": chat_links.linked(members), "oidc": _oidc_name()}
    return render(request, "account/index.html", context)


@for_account(methods="GET POST")
@sensitive_post_parameters()
def password(request):
    user, form = request.user, forms.PasswordForm(request.POST or None, user=request.user)
    if form.is_valid() and _check_own_password(request, form, "old", error_field="old"):
        accounts.change_password(user, password=form.cleaned_data["new"], ip=client_ip(request))
        sessions.begin(request, user, keep=request.session.get("keep", False), sudo=True)
        toast(request, _("Changed the password. Other devices are signed out."))
        return redirect("account:index")
    return show_form(request, "account/password.html", form)


@for_account(methods="GET POST")
@sensitive_post_parameters()
def sudo(request):
    target = _next(request)
    if "credential" in request.POST:
        if not _check_passkey(request, user=request.user):
            return redirect(request.get_full_path())
        sessions.confirm(request)
        return redirect(target)
    form = forms.SudoForm(request.POST or None)
    if form.is_valid() and _check_own_password(request, form, "password", error_field=None):
        sessions.confirm(request)
        return redirect(target)
    return show_form(request, "account/sudo.html", form)


def greet(response, user):
    """Set the language and theme of the person who has just signed in with this browser."""
    account = sessions.account_of(user)
    return set_appearance(response, theme=account.theme, language=account.language)


def _check_password(request, form, *, name, password, error_field=None):
    """Return the person if the password is right; else the form says what is wrong."""
    try:
        return accounts.check(request, name=name, password=password)
    except TooManyTries as pause:
        form.add_error(error_field, _pause(pause.minutes))
    except accounts.WrongPassword as wrong:
        form.add_error(error_field, _mismatch(wrong.left, signed_in=request.user.is_authenticated))
    return None


def _check_own_password(request, form, field, error_field):
    password = form.cleaned_data[field]
    name = request.user.username
    return _check_password(request, form, name=name, password=password, error_field=error_field)


def _mismatch(left, *, signed_in):
    # The same words whether the name exists or not.
    wrong = _("That is not your password.")
    wrong = wrong if signed_in else _("That name and password do not match.")
    if left > FEW_TRIES:
        return wrong
    tries = ngettext("%(n)d try is left for now.", "%(n)d tries are left for now.", left)
    return f"{wrong} {tries % {'n': left}}"


def _pause(minutes):
    return ngettext(
        "Too many tries. Wait %(minutes)d minute, then try again.",
        "Too many tries. Wait %(minutes)d minutes, then try again.",
        minutes,
    ) % {"minutes": minutes}


def _farewell(request, action=""):
    if action:
        audit.record(action, actor=person(request.user), ip=client_ip(request))
    auth.logout(request)
    response = redirect("account:sign_in")
    # The next person at this browser must not find pages of memory in its cache.
    response["Clear-Site-Data"] = '"cache", "storage"'
    return response


def opens(kind):
    """Pass the one-time link to the view; a spent one gets a page that says so.

    GET never uses a link up: chat programs and mail scanners follow every link they see.
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
    form = forms.OwnerForm(request.POST or None, initial=initial)
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
    form = forms.NewAccountForm(request.POST or None)
    try:
        if form.is_bound:  # nobody who holds one invitation can try out which names exist
            throttle.spend(f"join {link.pk}", client_ip(request))
    except TooManyTries as pause:
        form.add_error(None, _pause(pause.minutes))
    if form.is_valid() and (user := _account(request, form, accounts.create_member, link)):
        sessions.begin(request, user, sudo=True)
        return greet(redirect("overview:index", link.space.slug), user)
    return show_form(request, "links/join.html", form, link=link)


def _join_as_me(request, link):
    is_member = link.space_id in {member.space_id for member in memberships(request)}
    if request.method != "POST" and not is_member:
        return render(request, "links/join.html", {"link": link})
    if not is_member:
        accounts.accept(link, user=request.user, ip=client_ip(request))
    return redirect("overview:index", link.space.slug)


def _account(request, form, create, link):
    """Return the new person, or None when somebody took the name a moment ago."""
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
    return _farewell(request)
