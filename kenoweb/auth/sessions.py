"""Who is signed in, for how long, and when to ask for the password again."""

import time
from collections.abc import Callable
from functools import wraps
from urllib.parse import urlsplit, urlunsplit

from asgiref.sync import sync_to_async
from django.conf import settings
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

# All in seconds.
IDLE = 12 * 60 * 60
ABSOLUTE = 14 * 24 * 60 * 60
SUDO = 30 * 60
# Looking at a page writes the session at most this often.
SEEN_EVERY = 5 * 60
# Where everybody needs a second factor, these work without one, as the pages of the account do.
NEEDS_NO_FACTOR = {"/theme/", "/language/"}


class Backend(ModelBackend):
    """Name and password; reads the account in the same query as the person."""

    def get_user(self, user_id):
        user = User.objects.select_related("account").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


def begin(request: HttpRequest, user: User, *, keep: bool = False, sudo: bool = False) -> None:
    """Sign in under a new session key; `keep` lifts the idle limit, not the absolute one."""
    auth.login(request, user, backend="kenoweb.auth.sessions.Backend")
    # No other code deletes expired sessions.
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
    """End every session of the person, this one too."""
    user.account, _new = Account.objects.get_or_create(user=user)
    Account.objects.filter(user=user).update(epoch=F("epoch") + 1)
    user.account.refresh_from_db()


def account_of(user: User) -> Account:
    return getattr(user, "account", None) or Account(user=user)


def confirm(request: HttpRequest) -> None:
    request.session["sudo"] = time.time()


def is_confirmed(request: HttpRequest) -> bool:
    return time.time() - request.session.get("sudo", 0) < SUDO


def sudo(view: Callable) -> Callable:
    """Ask for the password again unless it was given within the last half hour.

    Put it under in_space, so that a stranger learns nothing from being asked.
    """

    @wraps(view)
    def guarded(request, *args, **kwargs):
        if is_confirmed(request):
            return view(request, *args, **kwargs)
        return _ask_first(request, "account:sudo")

    guarded.keno_sudo = True
    return guarded


def _ask_first(request: HttpRequest, name: str) -> HttpResponse:
    """Go to this page of the account, which leads back to where the person was."""
    return go(request, f"{reverse(name)}?{urlencode({'next': page(request)})}")


def go(request: HttpRequest, url: str) -> HttpResponse:
    """Redirect; htmx follows with the whole page."""
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)


def page(request: HttpRequest) -> str:
    """Return the page the person was on: where to come back to after a password."""
    if request.method in {"GET", "HEAD"} and not request.htmx:
        return request.get_full_path()
    address = request.htmx.current_url or request.headers.get("Referer", "")
    parts = urlsplit(safe(request, address))
    return urlunsplit(("", "", parts.path, parts.query, "")) or reverse("home")


def safe(request: HttpRequest, url: str) -> str:
    """Return the address if it is one of ours, else nothing."""
    ok = url_has_allowed_host_and_scheme(url, {request.get_host()}, request.is_secure())
    # redirect() would take a bare word for the name of a view.
    return url if ok and url.startswith(("/", "http://", "https://")) else ""


class CurrentUser(AuthenticationMiddleware):
    """Set request.user as Django does, but end a session that is past its limits."""

    def process_request(self, request):
        super().process_request(request)
        request.user = SimpleLazyObject(lambda: _current(request))
        request.auser = sync_to_async(lambda: _current(request))


class SignInRequired(LoginRequiredMiddleware):
    """Require an account unless the view says otherwise, and a second factor where it is set."""

    def process_view(self, request, view_func, view_args, view_kwargs):
        if not getattr(view_func, "login_required", True):
            return None
        is_free = request.resolver_match.namespace == "account" or request.path in NEEDS_NO_FACTOR
        is_asked = settings.KENO_TWO_FACTOR and not is_free and request.user.is_authenticated
        if is_asked and not two_factor.is_on(request.user):
            return go(request, reverse("account:two_factor"))
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(self, request, view_func):
        # The address of a post or of a fragment is not a page to come back to.
        if request.htmx or request.method not in {"GET", "HEAD"}:
            return _ask_first(request, "account:sign_in")
        return super().handle_no_permission(request, view_func)


def _current(request: HttpRequest) -> User | AnonymousUser:
    user = auth.get_user(request)
    if not user.is_authenticated:
        return user
    now, session = time.time(), request.session
    is_idle = now - session.get("seen", 0) > IDLE and not session.get("keep")
    is_too_old = now - session.get("began", 0) > ABSOLUTE
    if is_idle or is_too_old or session.get("epoch") != account_of(user).epoch:
        session.flush()
        return AnonymousUser()
    if now - session["seen"] > SEEN_EVERY:
        session["seen"] = now
    return user
