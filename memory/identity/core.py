"""The core: who Keno is. Only a person writes it; the bot, the night and a model never do."""

from datetime import datetime
from functools import cache
from pathlib import Path

from django.db import transaction

from memory.guards.screening import redacted
from memory.history import actors, audit, rows
from memory.history.changes import ChangeResult
from memory.models import Identity, Space
from memory.models.space import get_or_load

SHIPPED = Path(__file__).parent / "shipped"


def read(space: Space) -> str:
    """Return the core of the space, or the shipped one in its language."""
    own = get_or_load(space, "core", lambda: _own(space))
    return (own or "").strip() or shipped(space.language)


def _own(space: Space) -> str | None:
    return Identity.objects.filter(space=space).values_list("core", flat=True).first()


@transaction.atomic
def write(space: Space, *, text: str, by: str, now: datetime | None = None) -> ChangeResult:
    """Replace the core. An empty text returns to the shipped one."""
    actors.require_person(by)
    words = redacted(text)
    identity, _ = Identity.objects.select_for_update().get_or_create(space=space)
    if identity.core != words:
        audit.record("identity.core", actor=by, space=space, obj=identity, before=identity.core)
    return rows.change(identity, by=by, why="core identity", now=now, core=words)


@cache
def shipped(language: str) -> str:
    name = "es" if language.startswith("es") else "en"
    return (SHIPPED / f"core.{name}.md").read_text(encoding="utf-8").strip()
