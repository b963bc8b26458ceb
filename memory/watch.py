"""The watchdog: tells the owner when the state of health changes, and only then."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from memory import notices, vitals
from memory.models import Heartbeat, Notice, Space

LEVELS = {
    "HEALTHY": Notice.Level.INFO,
    "DEGRADED": Notice.Level.WARNING,
    "UNHEALTHY": Notice.Level.ERROR,
}
FORGOTTEN = timedelta(days=1)


def watch(space: Space, *, now: datetime) -> Notice | None:
    """The notice of a change, or None when all is as it was."""
    findings = vitals.check(space, now=now)
    state = vitals.state(findings)
    if state == last_state(space):
        return None
    sentences = [found.text for found in findings if found.text]
    return notices.tell(
        space,
        kind="health",
        key=f"health-{state}-{now:%Y%m%dT%H%M%S}",
        level=LEVELS[state],
        text=" ".join(sentences) or _("All is well again."),
    )


def last_state(space: Space) -> str:
    last = Notice.objects.filter(space=space, kind="health").order_by("-created_at", "-pk").first()
    if last is None:
        return "HEALTHY"
    return next(state for state, level in LEVELS.items() if level == last.level)


def sweep(*, now: datetime) -> int:
    """Forget workers that died long ago."""
    return Heartbeat.objects.filter(beat_at__lt=now - FORGOTTEN).delete()[0]
