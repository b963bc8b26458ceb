"""Export MEMORY.md: what Keno believes, for people. No prompt ever reads it."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import BinaryIO

from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from memory.models import Episode, Fact, Pattern, Space
from memory.text import normalise as text
from memory.transfer.kenobot import escapes

RECENT = 24
CHUNK = 1000
_LIVELY = re.compile(r"([`\[\]<*_])")


def write(space: Space, file: BinaryIO, *, progress=lambda done, total, what: None) -> dict:
    """Write the snapshot in the language of the space; return counts by kind."""
    counts = {"facts": 0, "patterns": 0, "episodes": 0}
    with translation.override(space.language):
        for line, kind in _lines(space):
            file.write((line + "\n").encode("utf-8", "replace"))
            if kind:
                counts[kind] += 1
                progress(sum(counts.values()), 0, kind)
    return counts


def plain(content: str, *, limit: int = 0) -> str:
    """Escape text so that it cannot become a link, picture, heading or tag."""
    line = " ".join(content.split())
    line = text.short(line, limit) if limit else line
    return _LIVELY.sub(r"\\\1", escapes.escape_item(line))


def _lines(space: Space) -> Iterator[tuple[str, str]]:
    title = _("Memory of %s") % plain(space.name)
    yield f"# {title}", ""
    yield "", ""
    now = date_format(timezone.now(), "DATETIME_FORMAT")
    yield "> " + _("Written for people on %s. Keno never reads this file.") % now, ""
    yield "> " + _("To change something, do it in the dashboard or import it."), ""
    live = Fact.objects.live().filter(space=space, chat=None)
    yield from _facts(live.exclude(subject=Fact.LORE), _("What Keno knows"))
    yield from _facts(live.filter(subject=Fact.LORE), _("Lore"), named=False)
    yield from _patterns(space)
    yield from _episodes(space)


def _facts(rows, heading: str, *, named: bool = True) -> Iterator[tuple[str, str]]:
    yield from _heading(heading)
    found = rows.order_by("subject", "-pinned", "category", "-confidence", "pk")
    empty = True
    for subject, facts in groupby(found.iterator(chunk_size=CHUNK), key=lambda row: row.subject):
        empty = False
        if named:
            yield "", ""
            title = plain(subject) or _("In general")
            yield f"### {title}", ""
        for fact in facts:
            label = "" if fact.category == "other" else f"{fact.get_category_display()}: "
            yield f"- {label}{plain(fact.text)}", "facts"
    if empty:
        yield _("Nothing yet."), ""


def _patterns(space: Space) -> Iterator[tuple[str, str]]:
    yield from _heading(_("What Keno has learned to do"))
    rows = Pattern.objects.filter(space=space, chat=None, status=Pattern.Status.ACTIVE)
    for row in rows.order_by("-use_count", "pk"):
        yield f"- {plain(row.trigger)} → {plain(row.response, limit=200)}", "patterns"
    if not rows.exists():
        yield _("Nothing yet."), ""


def _episodes(space: Space) -> Iterator[tuple[str, str]]:
    """Yield shared episodes only: a chat's own episodes stay in that chat."""
    yield from _heading(_("What happened lately"))
    rows = Episode.objects.filter(space=space, chat=None, status=Episode.Status.CLOSED)
    recent = list(rows.order_by("-started_at", "-pk")[:RECENT])
    for row in recent:
        day = date_format(timezone.localtime(row.started_at), "SHORT_DATE_FORMAT")
        yield f"- {day}: {plain(row.title or row.body, limit=160)}", "episodes"
    if not recent:
        yield _("Nothing yet."), ""


def _heading(content: str) -> Iterator[tuple[str, str]]:
    yield "", ""
    yield f"## {content}", ""
    yield "", ""
