"""The audit log: who did what. The database refuses to change or delete an entry."""

import hashlib
import hmac
import json
from typing import Any

from django.conf import settings
from django.db import models

from memory.models import AuditEntry, Space


def record(
    action: str,
    *,
    actor: str,
    space: Space | None = None,
    obj: models.Model | None = None,
    before: dict | str | None = None,
    after: dict | str | None = None,
    ip: str | None = None,
    **details: Any,
) -> AuditEntry:
    """Write an entry with digests of before and after; their words are not stored.

    The digests are made with the key of the space, so that nobody finds the words by guessing.
    """
    key = space.audit_key if space else settings.SECRET_KEY
    return AuditEntry.objects.create(
        action=action,
        actor=actor[:160],
        space=space,
        object_type=(obj._meta.model_name or "") if obj else "",
        object_id=str(obj.pk) if obj else "",
        before_digest=digest(before, key=key),
        after_digest=digest(after, key=key),
        ip=ip or None,
        details=details,
    )


def digest(value: dict | str | None, *, key: str) -> str:
    """Return the keyed SHA-256 of a text, or of a dict in canonical form; empty for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    words = value.encode("utf-8", "surrogatepass")
    return hmac.new(key.encode(), words, hashlib.sha256).hexdigest()
