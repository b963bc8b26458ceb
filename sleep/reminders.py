"""What waits for a decision is told: new proposals after a night, old ones once a week."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from memory import notices
from memory.models import Notice, Space
from sleep.apply import TargetChanged, rows_of, standing_targets
from sleep.models import Night, Proposal

WEEK = timedelta(days=7)
NEW_PROPOSALS, WAITING_PROPOSALS = "proposals_new", "proposals_wait"
# Relative to the pages of the space.
LINK = "proposals/"


def announce(night: Night) -> Notice | None:
    """Say what the night asks, by kind; nothing when it asks nothing."""
    waiting = night.proposals.filter(status=Proposal.Status.PENDING)
    kinds = Counter(one.get_kind_display() for one in waiting)
    n = sum(kinds.values())
    if not n:
        return None
    told = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    text = ngettext(
        "The night of %(date)s proposes %(n)s item: %(kinds)s.",
        "The night of %(date)s proposes %(n)s items: %(kinds)s.",
        n,
    ) % {"date": night.local_date, "n": n, "kinds": told}
    key = f"proposals-{night.pk}-{night.run}"
    return notices.tell(night.space, kind=NEW_PROPOSALS, key=key, text=text, link=LINK)


def remind(space: Space, *, now: datetime) -> Notice | None:
    """Once a week, as long as something has waited for a week or more."""
    waiting = Proposal.objects.filter(space=space, status=Proposal.Status.PENDING)
    oldest = waiting.order_by("created_at").values_list("created_at", flat=True).first()
    told = Notice.objects.filter(space=space, kind=WAITING_PROPOSALS, created_at__gt=now - WEEK)
    if oldest is None or now - oldest < WEEK or told.exists():
        return None
    with override(space.language):
        text = _reminder(waiting.count(), (now - oldest).days)
    day = space.local_date(now)
    notice = notices.tell(
        space, kind=WAITING_PROPOSALS, key=f"proposals-wait-{day}", text=text, link=LINK
    )
    Notice.objects.filter(pk=notice.pk if notice else None).update(created_at=now)
    return notice


def _reminder(n: int, days: int) -> str:
    counted = ngettext("%(n)s proposal waits", "%(n)s proposals wait", n) % {"n": n}
    age = ngettext("%(n)s day", "%(n)s days", days) % {"n": days}
    return _("%(waiting)s for a decision, the oldest for %(age)s.") % {
        "waiting": counted,
        "age": age,
    }


def expire_gone(space: Space) -> int:
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


def expire_overtaken(keys: Iterable[str], *, space: Space, reason: str) -> int:
    """Close waiting proposals that have been overtaken."""
    return Proposal.objects.filter(
        space=space, key__in=list(keys), status=Proposal.Status.PENDING
    ).update(status=Proposal.Status.EXPIRED, reason=reason)
