"""Is the memory well? Warnings for what grows or rots, errors for what is broken."""

from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory import status, working
from memory.identity import core, rules
from memory.models import Fact, Message, Space

STALE_NOTES = 10
LONG_TERM_KB = 1024
WAITING_MINUTES = 30


@dataclass(frozen=True)
class Health:
    at: datetime
    checks: dict[str, object]
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        return not self.errors

    def as_dict(self) -> dict:
        """The shape of the seeds' health answer."""
        return {
            "status": "healthy" if self.healthy else "unhealthy",
            "timestamp": self.at.isoformat(),
            "checks": self.checks,
            "warnings": self.warnings,
            "errors": self.errors,
        }


def health(space: Space, *, now: datetime | None = None) -> Health:
    """The memory's own checks; a night and a bot add theirs elsewhere."""
    now = now or timezone.now()
    checks = {
        "stale_notes": working.stale(space, now=now).count(),
        "long_term_kb": status.long_term_bytes(space) // 1024,
        "quarantined": Fact.objects.in_space(space).quarantined().count(),
        "waiting_messages": _waiting(space, now),
        "identity": bool(core.read(space) and rules.active(space)),
    }
    return Health(now, checks, _warnings(checks), _errors(checks))


def _warnings(checks: dict) -> list[str]:
    told = []
    if checks["stale_notes"] > STALE_NOTES:
        told.append(_("%(n)s working notes are stale.") % {"n": checks["stale_notes"]})
    if checks["long_term_kb"] > LONG_TERM_KB:
        told.append(_("The live facts hold %(n)s KB of text.") % {"n": checks["long_term_kb"]})
    if checks["quarantined"]:
        told.append(
            ngettext(
                "%(n)s fact waits in quarantine.",
                "%(n)s facts wait in quarantine.",
                checks["quarantined"],
            )
            % {"n": checks["quarantined"]}
        )
    if checks["waiting_messages"]:
        told.append(
            _("%(n)s messages wait to be looked through for facts.")
            % {"n": checks["waiting_messages"]}
        )
    return told


def _errors(checks: dict) -> list[str]:
    return [] if checks["identity"] else [_("The identity is empty.")]


def _waiting(space: Space, now: datetime) -> int:
    old = now - timezone.timedelta(minutes=WAITING_MINUTES)
    answered = Message.objects.filter(space=space, role="user", handled_at__lt=old)
    return answered.filter(ingested_at=None).exclude(trace="import").count()
