"""Permissions: the only place where a view learns who asks, and for which space.

Every view wears one of `for_anyone`, `for_account`, `with_token`, `protocol` or `in_space(role=…)`;
tests/kenoweb/test_every_url.py walks all addresses and fails on a view that wears none.
What belongs to another space is not found (404); what needs more rights is refused (403).
"""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied
from django.db.models import Model, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from kenoweb.auth import sessions
from memory.history import changes as history
from memory.models import Chat, Episode, Fact, Member, Message, Pattern, Space
from memory.operations import replica

Role = Member.Role
LAST_SPACE = "keno_space"
# Which private chats of others this session has opened, and until when: chats.views.open_private.
OPENED, OPENED_SECONDS = "opened_chats", 30 * 60
# Where the log of the database ended after the last write of this session.
WROTE = "wrote"
# Lists, searches and exports that a replica may answer.
FROM_REPLICA = {
    *("facts:index", "facts:markdown_list", "episodes:index", "patterns:index", "people:index"),
    *("people:export", "chats:index", "nights:index", "recall:receipts", "search:index"),
    *("audit:index", "costs:index", "costs:facts", "costs:calls", "trash:index"),
    *("map:index", "map:points"),
}
HIDDEN_FROM_VIEWERS = {Fact: {"forgotten": True}, Episode: {"status": Episode.Status.DISCARDED}}


def _without_sign_in(role: str) -> Callable:
    def mark(view: Callable) -> Callable:
        view.keno_role = role
        return login_not_required(view)

    return mark


# Anyone may open the view, signed in or not.
public = _without_sign_in("public")
# For programs: the view itself asks for a token and answers 401 without one.
with_token = _without_sign_in("token")
# For programs that ask for access: the protocol of OAuth itself says who may do what.
protocol = _without_sign_in("protocol")


def signed_in(view: Callable) -> Callable:
    """Mark a view for any account; the page is about that account or chooses a space."""
    view.keno_role = "signed-in"
    return never_cache(view)


def for_anyone(*, methods: str = "GET") -> Callable:
    """Decorate a page that anyone may open; `methods` as in in_space."""
    return lambda view: public(_guarded(view, methods))


def for_account(*, methods: str = "GET", sudo: bool = False) -> Callable:
    """Decorate a page for any account; `methods` and `sudo` as in in_space."""
    return lambda view: signed_in(_guarded(view, methods, sudo=sudo))


def _guarded(view: Callable, methods: str, *, sudo: bool = False) -> Callable:
    allowed = [*methods.split(), *(["HEAD"] if "GET" in methods else [])]
    return require_http_methods(allowed)(sessions.sudo(view) if sudo else view)


def in_space(*, role: str, methods: str = "GET", sudo: bool = False) -> Callable:
    """Decorate a page of one space: its slug becomes the Space, for members of that role.

    Sets request.space and request.member, and shows times in the clock of the space. `methods` is
    "GET", "POST" or both; with `sudo` the password must have been given within half an hour.
    """

    def decorate(view):
        view = _guarded(view, methods, sudo=sudo)

        @wraps(view)
        def inside(request, space, *args, **kwargs):
            request.space = space_for(request, space, role=role)
            with timezone.override(request.space.zone):
                response = _answer(request, lambda: view(request, request.space, *args, **kwargs))
            return _remember(request, response)

        inside.keno_role = str(role)
        return never_cache(inside)

    return decorate


def _answer(request: HttpRequest, view: Callable[[], HttpResponse]) -> HttpResponse:
    """Call the view, on the replica if it only reads and the replica has the person's writes."""
    if not replica.is_there():
        return view()
    if request.method not in {"GET", "HEAD"}:
        response = view()
        request.session[WROTE] = replica.position()
        return response
    page = request.resolver_match.view_name if request.resolver_match else ""
    if page in FROM_REPLICA and replica.has_replayed(request.session.get(WROTE, "")):
        with suppress(*replica.REFUSALS), replica.reading():
            return view()
    return view()


def memberships(request: HttpRequest) -> list[Member]:
    """Return the memberships of the user, by name of the space; read once per request."""
    if not request.user.is_authenticated:
        return []
    if not hasattr(request, "_memberships"):
        closed = Chat.objects.filter(space=OuterRef("space"), is_private=True)
        closed = closed.exclude(owner=OuterRef("pk")).values("pk")
        mine = Member.objects.filter(user=request.user).select_related("space")
        mine = mine.annotate(hidden_chats=ArraySubquery(closed))
        request._memberships = list(mine.order_by("space__name", "space__pk"))
    return request._memberships


def space_for(request: HttpRequest, slug: str, *, role: str = Role.VIEWER) -> Space:
    """Return the space if the user is a member, else raise 404; 403 when the role is too low."""
    for member in memberships(request):
        if member.space.slug == slug:
            request.member = member
            if not member.may(role):
                raise PermissionDenied
            member.space.hides_forgotten = not member.may(Role.CURATOR)
            opened = request.session.get(OPENED, {}) if member.hidden_chats else {}
            member.space.hidden_chats = [
                pk for pk in member.hidden_chats if opened.get(str(pk), 0) < time.time()
            ]
            return member.space
    raise Http404


def rows_in(space: Space, model: type[Model]) -> QuerySet:
    """Return all rows of a model that belong to the space.

    Viewers do not see what was forgotten or discarded. Nobody sees the private chats of others,
    or what was learned for those chats alone.
    """
    rows = without_private(model._default_manager.filter(space=space), space)
    if model in HIDDEN_FROM_VIEWERS and getattr(space, "hides_forgotten", False):
        return rows.exclude(**HIDDEN_FROM_VIEWERS[model])
    return rows


def without_private(rows: QuerySet, space: Space) -> QuerySet:
    """Leave out rows of the private chats that the member who asks does not see."""
    hidden = getattr(space, "hidden_chats", ())
    has_chat = any(field.name == "chat" for field in rows.model._meta.fields)
    field = "pk" if rows.model is Chat else "chat" if has_chat else ""
    return rows.exclude(**{f"{field}__in": hidden}) if hidden and field else rows


def get_in_space_or_404(space: Space, model: type[Model], pk: int, **also) -> Model:
    """Return one row of the space or raise 404; `also` are more filters, such as chat=chat."""
    return get_object_or_404(rows_in(space, model), pk=pk, **also)


def _getter(model: type[Model]) -> Callable:
    return lambda space, pk, **also: get_in_space_or_404(space, model, pk, **also)


chat_for, message_for = _getter(Chat), _getter(Message)
fact_for, episode_for, pattern_for = _getter(Fact), _getter(Episode), _getter(Pattern)


def change_for(space: Space, change: UUID) -> list[history.Change]:
    """Return the steps of a change, or raise 404 when it touched a row of another space."""
    steps = history.changes_in(change)
    if not steps or _spaces_of(steps) != {space.pk}:
        raise Http404
    return steps


def _spaces_of(steps: list[history.Change]) -> set[int | None]:
    """Return the spaces of the changed rows, with one query a model; None is a row that is gone."""
    changed: dict[type[Model], set[int]] = {}
    for step in steps:
        changed.setdefault(step.model, set()).add(step.object_id)
    spaces: set[int | None] = set(changed.pop(Space, ()))
    for model, pks in changed.items():
        space_of = dict(model._default_manager.filter(pk__in=pks).values_list("pk", "space"))
        spaces |= {space_of.get(pk) for pk in pks}
    return spaces


def _remember(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    # In a cookie, so that looking at a page writes nothing to the database.
    slug = request.space.slug
    if request.COOKIES.get(LAST_SPACE) != slug:
        secure = settings.SESSION_COOKIE_SECURE
        response.set_cookie(LAST_SPACE, slug, httponly=True, samesite="Lax", secure=secure)
    return response
