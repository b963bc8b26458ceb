"""Notices: what the owner must see, told once."""

from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.guards.screening import describe_reasons, redacted
from memory.history.changes import ChangeResult
from memory.models import Notice, Space
from memory.text import normalise as words


def tell(
    space: Space, *, kind: str, key: str, text: str, level: str = "info", link: str = ""
) -> Notice | None:
    """Write a notice; None when one with this key exists."""
    notice, is_new = Notice.objects.get_or_create(
        space=space,
        key=key[:120],
        defaults={
            "kind": kind[:48],
            "text": redacted(text),
            "level": level,
            "link": link[:300],
        },
    )
    return notice if is_new else None


def set_aside(space: Space, *, what: str, text: str, reasons: list[str]) -> ChangeResult:
    """Tell the owner about suspicious words for a place that has no quarantine."""
    reason = describe_reasons(reasons)
    tell(
        space,
        kind="set_aside",
        key=f"set_aside:{what}:{words.said_key(text)[:24]}",
        level=Notice.Level.WARNING,
        text=_("A suspicious %(what)s was not used (%(reason)s): %(text)s")
        % {"what": what, "reason": reason, "text": text},
    )
    return ChangeResult(None, outcome="quarantined", reason=reason)


def unseen(space: Space) -> QuerySet:
    return Notice.objects.filter(space=space, seen_at=None).order_by("-created_at", "-pk")


def see(notice: Notice, *, now: datetime | None = None) -> None:
    Notice.objects.filter(pk=notice.pk, seen_at=None).update(seen_at=now or timezone.now())
    notice.refresh_from_db()


def unsee(notice: Notice) -> None:
    """Mark the notice as unseen."""
    Notice.objects.filter(pk=notice.pk).update(seen_at=None)
    notice.refresh_from_db()


def see_all(space: Space, *, now: datetime | None = None) -> int:
    return unseen(space).update(seen_at=now or timezone.now())
