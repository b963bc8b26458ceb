"""Identity: who Keno is in a space. It knows nothing of the memories."""

from memory.identity import core, preferences, rules
from memory.identity.prompt import prompt
from memory.models import Identity, Space

__all__ = ["bootstrapping", "core", "preferences", "prompt", "rules"]


def bootstrapping(space: Space) -> bool:
    """Whether the first conversation, in which Keno gets to know its owner, still goes on."""
    return Identity.objects.filter(space=space).exclude(bootstrap=None).exists()
