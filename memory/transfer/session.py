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


def quiet(done: int, total: int, what: str) -> None:
    """Show no progress."""


@dataclass
class Session:
    space: Space
    by: str
    report: Report
    progress: Progress = quiet
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
        """Tell whether its facts wait for a person, as the space has set for imports."""
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
        same = Chat.objects.filter(space=self.space, channel=channel, external_id=external_id)
        if existing := same.first():
            return existing
        chat = chats.find_or_open(self.space, channel=channel, external_id=external_id)
        self.made_chats.append(chat.pk)
        return chat


def ranges(numbers: list[int]) -> list[list[int]]:
    """Return [1, 2, 3, 7] as [[1, 3], [7, 7]], to store thousands of ids in a few numbers."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans


def write(space: Space, file: BinaryIO, *, progress: Progress = quiet) -> dict:
    """Write the snapshot in the language of the space; return counts by kind."""
    counts = {"facts": 0, "patterns": 0, "episodes": 0}

    def put(*lines: str) -> None:
        file.writelines(f"{line}\n".encode("utf-8", "replace") for line in lines)

    with translation.override(space.language):
        put("# " + _("Memory of %s") % plain(space.name), "")
        now = date_format(timezone.now(), "DATETIME_FORMAT")
        put("> " + _("Written for people on %s. Keno never reads this file.") % now)
        put("> " + _("To change something, do it in the dashboard or import it."))
        for heading, kind, lines in _sections(space):
            put("", f"## {heading}", "")
            before = counts[kind]
            for line in lines:
                put(line)
                if line.startswith("- "):
                    counts[kind] += 1
                    progress(sum(counts.values()), 0, kind)
            if counts[kind] == before:
                put(_("Nothing yet."))
    return counts


def plain(content: str, *, limit: int = 0) -> str:
    """Escape text so that it cannot become a link, picture, heading or tag."""
    line = " ".join(content.split())
    line = text.short(line, limit) if limit else line
    return _LIVELY.sub(r"\\\1", escapes.escape_item(line))


def _sections(space: Space) -> Iterator[tuple[str, str, Iterator[str]]]:
    """Yield heading, kind and lines; a chat's own memories stay in that chat."""
    everybodys = {"space": space, "chat": None}
    live = Fact.objects.live().filter(**everybodys)
    yield _("What Keno knows"), "facts", _facts(live.exclude(subject=Fact.LORE))
    yield _("Lore"), "facts", _facts(live.filter(subject=Fact.LORE), named=False)
    habits = Pattern.objects.live().filter(**everybodys).order_by("-use_count", "pk")
    yield _("What Keno has learned to do"), "patterns", map(_habit, habits)
    episodes = Episode.objects.filter(**everybodys, status=Episode.Status.CLOSED)
    recent = episodes.order_by("-started_at", "-pk")[:RECENT]
    yield _("What happened lately"), "episodes", map(_episode, recent)


def _facts(rows, *, named: bool = True) -> Iterator[str]:
    ordered = rows.order_by("subject", "-pinned", "category", "-confidence", "pk")
    for subject, facts in groupby(ordered.iterator(chunk_size=CHUNK), key=lambda row: row.subject):
        if named:
            yield ""
            yield f"### {plain(subject) or _('In general')}"
        for fact in facts:
            label = "" if fact.category == "other" else f"{fact.get_category_display()}: "
            yield f"- {label}{plain(fact.text)}"


def _habit(row: Pattern) -> str:
    return f"- {plain(row.trigger)} → {plain(row.response, limit=200)}"


def _episode(row: Episode) -> str:
    day = date_format(timezone.localtime(row.started_at), "SHORT_DATE_FORMAT")
    return f"- {day}: {plain(row.title or row.body, limit=160)}"
