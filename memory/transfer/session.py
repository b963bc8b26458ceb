"""A running import: its space, actor, chats and report, and the state an undo must find."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import BinaryIO

from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from memory.chats import service as chats
from memory.models import Chat, Episode, Fact, Pattern, Space
from memory.options import HOLD, gate
from memory.text import normalise as text
from memory.transfer import items
from memory.transfer.kenobot import escapes
from memory.transfer.reports import Report

Progress = Callable[[int, int, str], None]
RECENT = 24
CHUNK = 1000
_LIVELY = re.compile(r"([`\[\]<*_])")


@dataclass
class Session:
    space: Space
    by: str
    report: Report
    progress: Progress = lambda done, total, what: None
    # Rows without a history of their own, so that undo can find them.
    made_messages: list[int] = field(default_factory=list)
    made_chats: list[int] = field(default_factory=list)
    # By the name of their table.
    made_records: dict[str, list[int]] = field(default_factory=dict)
    _chats: dict[str, Chat] = field(default_factory=dict)

    @property
    def writer(self) -> str:
        """Return the author of imported rows: the machine, so guards and rulings apply."""
        return f"import:{self.report.format}"

    @property
    def is_held(self) -> bool:
        """Whether its facts wait for a person, as the space has set for imports."""
        return gate(self.space.options, "imports") == HOLD

    def chat(self, key: str) -> Chat | None:
        """Return the chat of this key, created if missing; None for the whole space."""
        if not key:
            return None
        if key not in self._chats:
            self._chats[key] = chats.by_key(self.space, key) or self._open(key)
        return self._chats[key]

    def _open(self, key: str) -> Chat:
        channel, external_id = items.parts(key)
        before = Chat.objects.filter(
            space=self.space, channel=channel, external_id=external_id
        ).first()
        if before:
            return before
        made = chats.find_or_open(self.space, channel=channel, external_id=external_id)
        self.made_chats.append(made.pk)
        return made


def ranges(numbers: list[int]) -> list[list[int]]:
    """Return [1, 2, 3, 7] as [[1, 3], [7, 7]], to store thousands of ids in a few numbers."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


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
