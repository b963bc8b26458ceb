"""The book of who did what. The database refuses to change or delete a line of it."""

import hashlib
import json

from django.db import models

from memory.models import AuditEntry, Space


def record(
    action: str,
    *,
    actor: str,
    space: Space | None = None,
    thing: models.Model | None = None,
    before: dict | str | None = None,
    after: dict | str | None = None,
    ip: str | None = None,
    **details: object,
) -> AuditEntry:
    """Write one line: the words of before and after stay out, their digests go in."""
    return AuditEntry.objects.create(
        action=action,
        actor=actor[:160],
        space=space,
        object_type=thing._meta.model_name if thing else "",
        object_id=str(thing.pk) if thing else "",
        before_digest=digest(before),
        after_digest=digest(after),
        ip=ip or None,
        details=details,
    )


def digest(value: dict | str | None) -> str:
    """SHA-256 of a text or of a dict in canonical form; nothing of nothing."""
    if value is None:
        return ""
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
