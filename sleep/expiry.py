"""Waiting proposals that make no sense any more are closed, each with the reason."""

from collections.abc import Iterable

from memory.models import Space
from sleep.apply import TargetChanged, rows_of, standing_targets
from sleep.models import Proposal


def gone(space: Space) -> int:
    """Retire waiting proposals whose target is gone or no longer believed.

    One whose target only reads differently stays: it is refused until a person has seen it anew.
    """
    count, waiting = 0, Proposal.objects.filter(space=space, status=Proposal.Status.PENDING)
    rows = rows_of(waiting)
    for proposal in waiting:
        try:
            standing_targets(proposal, rows)
        except TargetChanged as error:
            count += Proposal.objects.filter(pk=proposal.pk, status=Proposal.Status.PENDING).update(
                status=Proposal.Status.EXPIRED, reason=str(error)[:300]
            )
    return count


def overtaken(keys: Iterable[str], *, space: Space, reason: str) -> int:
    """Close waiting proposals that have been overtaken."""
    return Proposal.objects.filter(
        space=space, key__in=list(keys), status=Proposal.Status.PENDING
    ).update(status=Proposal.Status.EXPIRED, reason=reason)
