"""Keys for programs: shown once, kept as a digest."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken, clear_expired

from memory.history import audit
from memory.history.actors import person, require_person
from memory.models import ApiCall, ApiToken, Member, Space

# Scanners of public code recognise a leaked key by these letters.
PREFIX = "keno_"
SCOPES = {
    "read": _("Read the memory and recall from it"),
    "write": _("Remember, revise and forget"),
    "chat": _("Send messages as a chat"),
    "private": _("See what was said in single chats, too"),
}
# The role that the owner of the key needs for the scope.
ROLE_FOR_SCOPE = {
    "read": Member.Role.VIEWER,
    "write": Member.Role.CURATOR,
    "chat": Member.Role.CURATOR,
    "private": Member.Role.VIEWER,
}
USED_EVERY = timedelta(minutes=1)
KEEP_CALLS = KEEP_STRANGERS = timedelta(days=1)
OAUTH = "oauth"


@transaction.atomic
def create(
    space: Space,
    *,
    user: User,
    name: str,
    scopes: list[str],
    gate: str = ApiToken.Gate.HOLD,
    expires_at: datetime | None = None,
    ip: str | None = None,
) -> tuple[ApiToken, str]:
    """Create a token; return the row and the key, which cannot be read again."""
    key = PREFIX + secrets.token_urlsafe(32)
    values: dict[str, Any] = {"name": name, "scopes": scopes, "gate": gate}
    values |= {"prefix": key[:10], "digest": digest(key), "expires_at": expires_at}
    token = ApiToken.objects.create(space=space, user=user, **values)
    details: dict[str, Any] = {"scopes": scopes, "gate": str(gate), "ip": ip}
    audit.record("token.created", actor=person(user), space=space, obj=token, **details)
    return token, key


@transaction.atomic
def connect(
    space: Space,
    *,
    user: User,
    client: Application,
    scopes: list[str],
    gate: str = ApiToken.Gate.HOLD,
    ip: str | None = None,
) -> ApiToken:
    """Connect a program by OAuth, to one space at a time: an older token is revoked.

    The row says what it may do; its keys are those of OAuth, which change every hour.
    """
    for before in ApiToken.objects.filter(user=user, client=client.client_id, revoked_at=None):
        revoke(before, by=person(user), ip=ip)
    name = (client.name or client.client_id)[:80]
    token, _unused = create(space, user=user, name=name, scopes=scopes, gate=gate, ip=ip)
    token.client, token.prefix = client.client_id, OAUTH
    token.save(update_fields=["client", "prefix"])
    return token


@transaction.atomic
def revoke(token: ApiToken, *, by: str, ip: str | None = None) -> None:
    """Revoke the key at once and for good; of a program connected by OAuth, all its keys."""
    live = ApiToken.objects.filter(pk=token.pk, revoked_at=None)
    is_first = live.update(revoked_at=timezone.now())
    token.refresh_from_db()
    if token.client:
        for kind in (RefreshToken, AccessToken, Grant):
            kind.objects.filter(user=token.user, application__client_id=token.client).delete()
    if is_first:
        audit.record("token.revoked", actor=by, space=token.space, obj=token, ip=ip)


@transaction.atomic
def set_gate(token: ApiToken, *, gate: str, by: str, ip: str | None = None) -> None:
    """Change the write gate of the token. Only a person may."""
    require_person(by)
    was, token.gate = token.gate, ApiToken.Gate(gate)
    token.save(update_fields=["gate"])
    details = {"was": was, "gate": str(token.gate), "ip": ip}
    audit.record("token.gate", actor=by, space=token.space, obj=token, **details)


def find(key: str, *, scope: str, now: datetime | None = None) -> ApiToken | None:
    """Return the live token of this key, if its owner may still do what the scope allows."""
    now = now or timezone.now()
    # By digest: the database has no secret to compare byte by byte.
    live = ApiToken.objects.filter(revoked_at=None, user__is_active=True)
    live = live.filter(Q(expires_at=None) | Q(expires_at__gt=now)).select_related("space", "user")
    token = live.filter(digest=digest(key)).first() or _connected(live, key, now)
    if token is None or scope not in token.scopes:
        return None
    token.member = Member.objects.filter(space=token.space_id, user=token.user_id).first()
    if token.member is None or not token.member.may(ROLE_FOR_SCOPE[scope]):
        return None
    # Once a minute is enough to see that a key is in use, and saves a write per call.
    if token.last_used_at is None or now - token.last_used_at >= USED_EVERY:
        token.last_used_at = now
        token.save(update_fields=["last_used_at"])
    return token


def _connected(live: QuerySet[ApiToken], key: str, now: datetime) -> ApiToken | None:
    """Return the token of the program with this OAuth key, with the scopes of the key."""
    keys = AccessToken.objects.filter(token_checksum=digest(key), expires__gt=now)
    access = keys.exclude(user=None).select_related("application").first()
    token = access and live.filter(user=access.user_id, client=access.application.client_id).first()
    if token:
        token.scopes = [scope for scope in token.scopes if scope in access.scope.split()]
    return token


def expire_clients(*, now: datetime) -> int:
    """Delete expired keys, and programs that registered and were never connected."""
    clear_expired()
    connected = ApiToken.objects.filter(revoked_at=None).exclude(client="").values("client")
    old = Application.objects.filter(created__lt=now - KEEP_STRANGERS)
    return old.exclude(client_id__in=connected).delete()[0]


def expire_calls(*, now: datetime) -> int:
    """Delete the answers stored for idempotency keys after a day."""
    return ApiCall.objects.filter(at__lt=now - KEEP_CALLS).delete()[0]


def digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
