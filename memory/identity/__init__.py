"""Identity: who Keno is in a space. It knows nothing of the memories."""

from memory.identity import bootstrap, core, preferences, rules
from memory.identity.prompt import prompt
from memory.models import Space

__all__ = ["bootstrap", "bootstrapping", "core", "preferences", "prompt", "rules"]


def bootstrapping(space: Space, *, chat: int | None = None) -> bool:
    """Tell whether the first conversation, in which Keno gets to know its owner, goes on."""
    return bootstrap.is_active(space, chat=chat)
