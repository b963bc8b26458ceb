"""Who is signed in, for how long, and when to ask for the password again."""

import time
from collections.abc import Callable
from functools import wraps
from urllib.parse import urlsplit, urlunsplit

from asgiref.sync import sync_to_async
from django.contrib import auth
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.middleware import AuthenticationMiddleware, LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.models import Session
from django.db.models import F
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django_htmx.http import HttpResponseClientRedirect

from kenoweb.auth import two_factor
from kenoweb.models import Account

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60
IDLE = 12 * HOUR
ABSOLUTE = 14 * DAY
SUDO = 30 * MINUTE
# What works without a second factor where everybody needs one, beside the account itself.
FREE = {"/theme/", "/language/"}
# Looking at a page writes the session at most this often.
SEEN_EVERY = 5 * MINUTE


class Backend(ModelBackend):
    """Name and password; reads the account in the same query as the person."""

    def get_user(self, user_id):
        user = User.objects.select_related("account").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


def begin(request: HttpRequest, user: User, *, keep: bool = False, sudo: bool = False) -> None:
    """Sign in under a new session key; `keep` lifts the idle limit, not the absolute one."""
    auth.login(request, user, backend="kenoweb.auth.sessions.Backend")
    # Nobody else sweeps what browsers left behind.
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    request.session["keep"] = keep
    if sudo:
        confirm(request)
    request.session.set_expiry(ABSOLUTE if keep else 0)


@receiver(auth.user_logged_in)
def start_clocks(request: HttpRequest, user: User, **signal) -> None:
    now = time.time()
    request.session.update({"began": now, "seen": now, "epoch": account_of(user).epoch})


def end_everywhere(user: User) -> None:
    """Every session of the person is over, this one too."""
    user.account, _new = Account.objects.get_or_create(user=user)
    Account.objects.filter(user=user).update(epoch=F("epoch") + 1)
    user.account.refresh_from_db()


def account_of(user: User) -> Account:
    """The saved account, or a fresh one with the defaults."""
    return getattr(user, "account", None) or Account(user=user)


def confirm(request: HttpRequest) -> None:
    """The password was given just now."""
    request.session["sudo"] = time.time()


def is_confirmed(request: HttpRequest) -> bool:
    return time.time() - request.session.get("sudo", 0) < SUDO


def sudo(view: Callable) -> Callable:
    """Asks for the password again unless it was given within the last half hour.

    Wear it under in_space, so that a stranger learns nothing from being asked.
    """

    @wraps(view)
    def guarded(request, *args, **kwargs):
        if is_confirmed(request):
            return view(request, *args, **kwargs)
        return go(request, f"{reverse('account:sudo')}?{urlencode({'next': page(request)})}")

    guarded.keno_sudo = True
    return guarded


def go(request: HttpRequest, url: str) -> HttpResponse:
    """A redirect that htmx follows with the whole page."""
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)


def page(request: HttpRequest) -> str:
    """The page the person was on: where to come back to after a password."""
    if request.method in {"GET", "HEAD"} and not request.htmx:
        return request.get_full_path()
    address = request.htmx.current_url or request.headers.get("Referer", "")
    parts = urlsplit(safe(request, address))
    return urlunsplit(("", "", parts.path, parts.query, "")) or reverse("home")


def safe(request: HttpRequest, url: str) -> str:
    """The address if it is one of ours, else nothing."""
    ok = url_has_allowed_host_and_scheme(url, {request.get_host()}, request.is_secure())
    # redirect() would take a bare word for the name of a view.
    return url if ok and url.startswith(("/", "http://", "https://")) else ""


class CurrentUser(AuthenticationMiddleware):
    """Django's request.user, but a session past its limits is nobody's."""

    def process_request(self, request):
        super().process_request(request)
        request.user = SimpleLazyObject(lambda: _current(request))
        request.auser = sync_to_async(lambda: _current(request))


class SignInRequired(LoginRequiredMiddleware):
    """Everything needs an account unless the view says otherwise, and a second factor if asked."""

    def process_view(self, request, view_func, view_args, view_kwargs):
        if not getattr(view_func, "login_required", True):
            return None
        free = request.resolver_match.namespace == "account" or request.path in FREE
        if not free and request.user.is_authenticated and two_factor.is_missing(request.user):
            return go(request, reverse("account:two_factor"))
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(self, request, view_func):
        # What was posted, or fetched as a fragment, is no page to come back to.
        if request.htmx or request.method not in {"GET", "HEAD"}:
            return go(request, f"{reverse('account:sign_in')}?{urlencode({'next': page(request)})}")
        return super().handle_no_permission(request, view_func)


def _current(request: HttpRequest) -> User | AnonymousUser:
    user = auth.get_user(request)
    if not user.is_authenticated:
        return user
    now, session = time.time(), request.session
    if _is_over(session, epoch=account_of(user).epoch, now=now):
        session.flush()
        return AnonymousUser()
    if now - session["seen"] > SEEN_EVERY:
        session["seen"] = now
    return user


def _is_over(session, *, epoch: int, now: float) -> bool:
    idle = now - session.get("seen", 0) > IDLE and not session.get("keep")
    too_old = now - session.get("began", 0) > ABSOLUTE
    return idle or too_old or session.get("epoch") != epoch
