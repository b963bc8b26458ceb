"""The core: who Keno is. Only a person writes it; the bot, the night and a model never do."""

from datetime import datetime
from functools import cache
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from memory import actors, audit, history, text
from memory.history import Done
from memory.models import Identity, Space

SHIPPED = Path(__file__).parent / "shipped"


def read(space: Space) -> str:
    """The core of the space, or the shipped one in its language."""
    found = Identity.objects.filter(space=space).values_list("core", flat=True).first()
    return (found or "").strip() or shipped(space.language)


@transaction.atomic
def write(space: Space, *, text: str, by: str, now: datetime | None = None) -> Done:
    """Replace the core. Saying nothing returns to the shipped one."""
    actors.require_person(by)
    words = _clean(text)
    identity, _ = Identity.objects.select_for_update().get_or_create(space=space)
    if identity.core == words:
        return Done(identity, outcome="unchanged")
    audit.record("identity.core", actor=by, space=space, thing=identity, before=identity.core)
    with history.change(by=by, why="core identity") as context:
        identity.core = words
        identity.updated_at = now or timezone.now()
        identity.save(update_fields=["core", "updated_at"])
    return Done(identity, context.id)


@cache
def shipped(language: str) -> str:
    name = "es" if language.startswith("es") else "en"
    return (SHIPPED / f"core.{name}.md").read_text(encoding="utf-8").strip()


def _clean(words: str) -> str:
    return text.clean(words).strip()
