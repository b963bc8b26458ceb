"""Keys for programs: shown once, kept as a digest."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.history import audit
from memory.history.actors import person, require_person
from memory.models import ApiCall, ApiToken, Member, Space

# Scanners of public code know a leaked key by these letters.
PREFIX = "keno_"
SCOPES = {
    "read": _("Read the memory and recall from it"),
    "write": _("Remember, revise and forget"),
    "chat": _("Send messages as a chat"),
    "private": _("See what was said in single chats, too"),
}
# What a person must be for their key to carry the scope.
ROLE_FOR_SCOPE = {
    "read": Member.Role.VIEWER,
    "write": Member.Role.CURATOR,
    "chat": Member.Role.CURATOR,
    "private": Member.Role.VIEWER,
}
USED_EVERY = timedelta(minutes=1)
KEEP_CALLS = timedelta(days=1)


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
    token = ApiToken.objects.create(
        space=space,
        user=user,
        name=name,
        prefix=key[:10],
        digest=digest(key),
        scopes=scopes,
        gate=gate,
        expires_at=expires_at,
    )
    by, told = person(user), {"scopes": scopes, "gate": str(gate)}
    audit.record("token.created", actor=by, space=space, obj=token, ip=ip, **dict[str, Any](told))
    return token, key


@transaction.atomic
def revoke(token: ApiToken, *, by: str, ip: str | None = None) -> None:
    """Revoke the key at once and for good."""
    won = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    token.refresh_from_db()
    if won:
        audit.record("token.revoked", actor=by, space=token.space, obj=token, ip=ip)


@transaction.atomic
def set_gate(token: ApiToken, *, gate: str, by: str, ip: str | None = None) -> None:
    """Change what becomes of what the token's program writes. Only a person may."""
    require_person(by)
    was, token.gate = token.gate, ApiToken.Gate(gate)
    token.save(update_fields=["gate"])
    told = {"was": was, "gate": str(token.gate), "ip": ip}
    audit.record("token.gate", actor=by, space=token.space, obj=token, **told)


def find(key: str, *, scope: str, now: datetime | None = None) -> ApiToken | None:
    """Return the live token of this key, if its owner may still do what the scope allows."""
    now = now or timezone.now()
    # Looked up by digest: there is no secret in the database to compare byte by byte.
    live = ApiToken.objects.filter(digest=digest(key), revoked_at=None, user__is_active=True)
    token = (
        live.filter(Q(expires_at=None) | Q(expires_at__gt=now))
        .select_related("space", "user")
        .first()
    )
    if token is None or scope not in token.scopes:
        return None
    token.member = Member.objects.filter(space=token.space_id, user=token.user_id).first()
    if token.member is None or not token.member.may(ROLE_FOR_SCOPE[scope]):
        return None
    _touch(token, now)
    return token


def expire_calls(*, now: datetime) -> int:
    """Drop the answers kept for idempotency keys after a day."""
    return ApiCall.objects.filter(at__lt=now - KEEP_CALLS).delete()[0]


def digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _touch(token: ApiToken, now: datetime) -> None:
    # Once a minute is enough to see that a key is in use, and spares a write per call.
    if token.last_used_at is None or now - token.last_used_at >= USED_EVERY:
        token.last_used_at = now
        token.save(update_fields=["last_used_at"])
