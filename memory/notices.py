"""Notices: what the owner must see, written once."""

from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from memory.guards.screening import describe_reasons, redacted
from memory.history.changes import ChangeResult
from memory.models import Notice, Space
from memory.text import normalise as words


def tell(
    space: Space,
    *,
    kind: str,
    key: str,
    text: Callable[[], str],
    level: str = "info",
    link: str = "",
) -> Notice | None:
    """Write a notice in every language of its readers; None when one with this key exists."""
    known = {"space": space, "key": key[:120]}
    if Notice.objects.filter(**known).exists():
        return None
    words = {}
    for language, _name in settings.LANGUAGES:
        with override(language):
            words[language] = redacted(text())
    values = {"kind": kind[:48], "level": level, "link": link[:300], "words": words}
    values["text"] = words.get(space.language) or next(iter(words.values()))
    notice, is_new = Notice.objects.get_or_create(**known, defaults=values)
    return notice if is_new else None


def set_aside(space: Space, *, what: str, text: str, reasons: list[str]) -> ChangeResult:
    """Tell the owner about suspicious words for a place that has no quarantine."""
    tell(
        space,
        kind="set_aside",
        key=f"set_aside:{what}:{words.said_key(text)[:24]}",
        level=Notice.Level.WARNING,
        text=lambda: (
            _("A suspicious %(what)s was not used (%(reason)s): %(text)s")
            % {"what": what, "reason": describe_reasons(reasons), "text": text}
        ),
    )
    return ChangeResult(None, outcome="quarantined", reason=describe_reasons(reasons))


def unseen(space: Space) -> QuerySet:
    return Notice.objects.filter(space=space, seen_at=None).order_by("-created_at", "-pk")


def see(notice: Notice, *, now: datetime | None = None) -> None:
    Notice.objects.filter(pk=notice.pk, seen_at=None).update(seen_at=now or timezone.now())
    notice.refresh_from_db()


def unsee(notice: Notice) -> None:
    Notice.objects.filter(pk=notice.pk).update(seen_at=None)
    notice.refresh_from_db()


def see_all(space: Space, *, now: datetime | None = None) -> int:
    return unseen(space).update(seen_at=now or timezone.now())
