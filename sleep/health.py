"""Whether the nights are slept."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from memory.models import Space
from memory.operations.health import ERROR, WARNING, Finding
from sleep.models import Night

# A day and the hour in which the next night is looked for, and one to spare.
OVERDUE_AFTER = timedelta(hours=26)


def night(space: Space, now: datetime) -> Finding:
    """A night that failed is an error; one that is late, or never came, a warning."""
    last = Night.objects.filter(space=space).order_by("-local_date").first()
    if last and last.status == Night.Status.FAILED:
        text = _("The last night failed: %(error)s") % {"error": last.error[:200]}
        return Finding("night", ERROR, text)
    since = last.started_at if last else space.created_at
    if now - since <= OVERDUE_AFTER:
        return Finding("night")
    return Finding("night", WARNING, _late(now - since) if last else _("No night was slept yet."))


def _late(age: timedelta) -> str:
    if age.days < 2:
        return _("The last night was %(n)s hours ago.") % {"n": int(age.total_seconds() // 3600)}
    return _("The last night was %(n)s days ago.") % {"n": age.days}
