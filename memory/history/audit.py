"""The audit log: who did what. The database refuses to change or delete an entry."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction

from memory.models import AuditEntry, AuditSeal, Space

BATCH = 1000
BEGIN = "0" * 64


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


@transaction.atomic
def seal(*, limit: int = 100_000) -> int:
    """Add the entries without a seal to the end of the chain; return how many."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('keno.audit.seal'))")
    last = AuditSeal.objects.order_by("-pk").first()
    before = last.digest if last else BEGIN
    seals = []
    for entry in AuditEntry.objects.filter(seal=None).order_by("pk")[:limit].iterator(BATCH):
        salt = secrets.token_hex(16)
        details = digest(entry.details, key=salt)
        before = _chain_digest(before, entry, details)
        seals.append(AuditSeal(entry=entry, salt=salt, details_digest=details, digest=before))
    AuditSeal.objects.bulk_create(seals, batch_size=BATCH)
    return len(seals)


def verify(anchors: Path | None = None) -> list[str]:
    """Return sentences about entries and seals that were changed or deleted."""
    problems, before, heads = [], BEGIN, {}
    for number, (row, entry) in enumerate(_chain(), 1):
        if entry is None:
            problems.append(f"Entry {row.entry_id} is gone.")
        elif _chain_digest(before, entry, row.details_digest) != row.digest:
            problems.append(f"Entry {entry.pk} or its seal was changed, or one before is gone.")
        elif row.salt and digest(entry.details, key=row.salt) != row.details_digest:
            problems.append(f"The details of entry {entry.pk} were changed.")
        before = heads[number] = row.digest
    for number, head, at in _anchored(anchors):
        if heads.get(number) != head:
            problems.append(f"The chain is not the one whose head number {number} was kept {at}.")
    return problems


def head() -> tuple[int, str]:
    """Return how many entries are sealed, and the digest that stands for all of them."""
    last = AuditSeal.objects.order_by("-pk").values_list("digest", flat=True).first()
    return AuditSeal.objects.count(), last or BEGIN


def erased_details() -> int:
    """Return how many entries lost words to an erasure, so that nobody can check their details."""
    return AuditSeal.objects.filter(salt="").count()


def anchor(path: Path, *, now: datetime) -> str:
    """Add the head to a file outside the database, unless it is there; return the line."""
    number, digest = head()
    line = f"{number} {digest} {now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if not any((n, d) == (number, digest) for n, d, _at in _anchored(path)):
        with path.open("a") as file:
            file.write(line + "\n")
    return line


def _anchored(path: Path | None) -> list[tuple[int, str, str]]:
    lines = path.read_text().splitlines() if path and path.exists() else []
    parts = [line.split() for line in lines if line.strip()]
    return [(int(number), digest, at) for number, digest, at in parts]


def _chain() -> Iterator[tuple[AuditSeal, AuditEntry | None]]:
    """Return the seals in order, each with its entry, or None where that is gone."""
    last = 0
    while seals := list(AuditSeal.objects.filter(pk__gt=last).order_by("pk")[:BATCH]):
        entries = AuditEntry.objects.in_bulk([seal.entry_id for seal in seals])
        yield from ((seal, entries.get(seal.entry_id)) for seal in seals)
        last = seals[-1].pk


def _chain_digest(before: str, entry: AuditEntry, details: str) -> str:
    names = "actor action object_type object_id before_digest after_digest ip".split()
    values = [entry.pk, entry.space_id, entry.at.astimezone(UTC).isoformat()]
    values += [*(getattr(entry, name) for name in names), details]
    words = json.dumps([before, *values], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest()
