"""Send notices about proposals: what a night asks, and what has waited for a week."""

from collections import Counter
from datetime import datetime, timedelta
from functools import partial

from django.db.models import QuerySet
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory import notices
from memory.models import Notice, Space
from sleep.models import Night, Proposal

WEEK = timedelta(days=7)
NEW_PROPOSALS, WAITING_PROPOSALS = "proposals_new", "proposals_wait"
# Relative to the pages of the space.
LINK = "proposals/"


def announce(night: Night) -> Notice | None:
    waiting = list(night.proposals.filter(status=Proposal.Status.PENDING))
    if not waiting:
        return None
    key = f"proposals-{night.pk}-{night.run}"
    text = partial(_announcement, night, waiting)
    return notices.tell(night.space, kind=NEW_PROPOSALS, key=key, text=text, link=LINK)


def _announcement(night: Night, waiting: list[Proposal]) -> str:
    kinds = sorted(Counter(row.get_kind_display() for row in waiting).items())
    names = (f"{kind.lower()} ({n})" if n > 1 else kind.lower() for kind, n in kinds)
    date = date_format(night.local_date, "MONTH_DAY_FORMAT")
    return ngettext(
        "The night of %(date)s has %(n)s proposal for you: %(kinds)s.",
        "The night of %(date)s has %(n)s proposals for you: %(kinds)s.",
        len(waiting),
    ) % {"date": date, "n": len(waiting), "kinds": ", ".join(names)}


def spaces_to_remind(spaces: QuerySet[Space], *, now: datetime) -> QuerySet[Space]:
    waiting = Proposal.objects.filter(status=Proposal.Status.PENDING, created_at__lte=now - WEEK)
    return spaces.filter(pk__in=waiting.values("space"))


def remind(space: Space, *, now: datetime) -> Notice | None:
    """Remind once a week, as long as something has waited for a week or more."""
    waiting = Proposal.objects.filter(space=space, status=Proposal.Status.PENDING)
    oldest = waiting.order_by("created_at").values_list("created_at", flat=True).first()
    recent = Notice.objects.filter(space=space, kind=WAITING_PROPOSALS, created_at__gt=now - WEEK)
    if oldest is None or now - oldest < WEEK or recent.exists():
        return None
    text = partial(_reminder, waiting.count(), (now - oldest).days)
    key = f"proposals-wait-{space.local_date(now)}"
    notice = notices.tell(space, kind=WAITING_PROPOSALS, key=key, text=text, link=LINK)
    if notice:
        Notice.objects.filter(pk=notice.pk).update(created_at=now)
    return notice


def _reminder(n: int, days: int) -> str:
    counted = ngettext("%(n)s proposal waits", "%(n)s proposals wait", n) % {"n": n}
    age = ngettext("%(n)s day", "%(n)s days", days) % {"n": days}
    values = {"waiting": counted, "age": age}
    return _("%(waiting)s for a decision, the oldest for %(age)s.") % values
