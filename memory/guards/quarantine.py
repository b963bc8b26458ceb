"""What a guard set aside and no person has judged yet, of every kind of memory."""

from django.db.models import Q, QuerySet

from memory.guards.screening import REASONS
from memory.models import Episode, Fact, Pattern, Space


def pending(space: Space) -> dict[str, QuerySet]:
    """The rows by kind. An episode has no state for it: its flags say so."""
    flagged = Q()
    for reason in REASONS:
        flagged |= Q(flags__contains=[reason])
    episodes = Episode.objects.remembered().filter(space=space).exclude(flags=[])
    return {
        "facts": Fact.objects.quarantined().filter(space=space),
        "patterns": Pattern.objects.filter(space=space, status=Pattern.Status.QUARANTINED),
        "episodes": episodes.filter(flagged),
    }
