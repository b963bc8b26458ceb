"""The report of an import or dry run, line by line and complete."""

import re
import shutil
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import TextIO

from django.utils.translation import gettext_lazy as _

from memory.guards.screening import redacted
from memory.text import normalise as text

SHOWN = 120
READ = 8 * SHOWN
_LAST_WORD = re.compile(r"[!-~]+\Z")
_EVERY = 0.1


class Verdict:
    TAKEN = "taken"
    # Taken, but set aside until a person has looked at it.
    QUARANTINED = "quarantined"
    KNOWN = "known"
    SKIPPED = "skipped"

    ALL = (TAKEN, QUARANTINED, KNOWN, SKIPPED)


@dataclass(frozen=True)
class Line:
    where: str
    kind: str
    verdict: str
    text: str = ""
    reason: str = ""
    why: str = ""
    count: int = 1


@dataclass
class Report:
    """Every line of an import with its outcome. `change` is the id that undoes it."""

    format: str
    source: str
    space: str
    dry: bool = True
    lines: list[Line] = field(default_factory=list)
    change: str = ""

    def add(
        self, where: str, kind: str, verdict: str, *, text: str = "", reason: str = "", **more
    ) -> None:
        why = more.pop("why", "") or (sentence(reason) if reason else "")
        self.lines.append(Line(where, kind, verdict, _shown(text), reason, why, **more))

    def sort(self, first: int) -> None:
        """Sort the lines from `first` on by their place in the file."""
        self.lines[first:] = sorted(self.lines[first:], key=lambda line: _place(line.where))

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """{kind: {verdict: how many}}"""
        counts: dict[str, Counter] = defaultdict(Counter)
        for line in self.lines:
            counts[line.kind][line.verdict] += line.count
        return {kind: dict(counts[kind]) for kind in sorted(counts)}

    def total(self, verdict: str) -> int:
        return sum(line.count for line in self.lines if line.verdict == verdict)

    @property
    def reasons(self) -> dict[str, int]:
        """{why: how many} of what was not taken, the most frequent first."""
        counts: Counter = Counter()
        for line in self.lines:
            if line.verdict in (Verdict.SKIPPED, Verdict.KNOWN):
                counts[line.why] += line.count
        return dict(counts.most_common())

    def as_dict(self) -> dict:
        names = ("format", "source", "space", "dry", "change")
        return {name: getattr(self, name) for name in names} | {
            "totals": {verdict: self.total(verdict) for verdict in Verdict.ALL},
            "counts": self.counts,
            "reasons": self.reasons,
            "lines": [asdict(line) for line in self.lines],
        }


def _place(where: str) -> tuple[str, int]:
    path, _colon, line = where.rpartition(":")
    return (path, int(line)) if line.isdigit() else (where, 0)


def _shown(value: str) -> str:
    """Return the beginning, as a person may see it."""
    start = value[:READ]
    if len(value) > READ:
        # Half a secret is not recognised as one, so a word that is cut in two goes.
        start = _LAST_WORD.sub("", start)
    return text.short(redacted(start), SHOWN)


REASONS = {
    # Marks of the format, not memories.
    "heading": _("A heading: it says what the lines below it are about."),
    "rule": _("A line that only separates."),
    "comment": _("A comment of the template."),
    "front matter": _("Data about what follows."),
    "placeholder": _("A placeholder that nobody has filled in."),
    # Files that are not memory.
    "bootstrap": _("Instructions for KenoBot's first conversation; Keno has its own."),
    "bootstrap state": _("KenoBot's place in its first conversation, nothing that was said."),
    "vectors": _("Vectors of another model; Keno computes its own."),
    "settings": _("Settings and keys of KenoBot; they do not belong in a memory."),
    "logs": _("Technical logs, not memories."),
    "scheduler": _("Timers of KenoBot; Keno does not send messages by the clock."),
    "suggestions": _("KenoBot's suggestions about its own settings; read them in the file."),
    "signals": _("Technical signals and task logs, not memories."),
    "process": _("The mark of a running program."),
    "backups": _("A backup. Unpack it and import it by itself if you want it."),
    "thrown away": _("KenoBot had already put this away."),
    "old identity": _("An identity from before the three layers. Copy what you want to keep."),
    "system file": _("A file of the operating system."),
    "unknown": _("Keno does not know this file."),
    "records": _(
        "History, receipts, nights and proposals come back only into an empty space of the Keno "
        "that wrote them."
    ),
    "empty file": _("The file is empty."),
    "older copy": _("Another file of the same chat is newer."),
    "action log": _("The log of what the bot did and what it cost, not a memory."),
    "other table": _("A table that holds no memories."),
    "snapshot": _("A snapshot for people; its facts are in the database."),
    "write-ahead": _("Clanker was running: stop it first, or its newest rows are missing."),
    "media": _("A picture or another attachment; Keno keeps words."),
    "account": _("Data about the account, not a memory."),
    "page": _("The same conversations as a web page."),
    # Things that cannot be read.
    "broken JSON": _("This is not valid JSON."),
    "corrupt line": _("The line is damaged."),
    "line too long": _("The line is too long to be a message."),
    "no list": _("There is no list of patterns in it."),
    "no day": _("The file name is not a date."),
    "not a pattern": _("This is not a pattern."),
    "half a pattern": _("A pattern needs a trigger and a response."),
    "no rules": _("There are no rules in it."),
    "empty rule": _("The rule says nothing."),
    "unknown field": _("Keno does not know this field."),
    "not a message": _("This is not a message."),
    "unknown role": _("Nobody that Keno knows said this (a tool, for example)."),
    "empty message": _("The message has no words."),
    "not a memory": _("There is no text in it."),
    "chat key": _("The name of the chat contains characters that it cannot have."),
    "no guild": _("It belongs to no server."),
    "other guild": _("It belongs to another server; import that into its own space."),
    "other branch": _("An earlier version of a message that was edited or asked again."),
    "in the database": _("The messages of this channel are in the database already."),
    "switched off": _("It was switched off where it comes from."),
    "hidden": _("A hidden message between the parts of the assistant."),
    # Decided by what is in the space already.
    "known": _("Keno knows it already."),
    "put away": _("It was forgotten here. Restore it if you want it back."),
    "superseded": _("A newer fact took its place here."),
    "ruling": _("A ruling says never to remember this."),
    "own identity": _("The space has an identity of its own; it was not replaced."),
    "own rule": _("The space has a rule of that name; it was not replaced."),
    "own preference": _("The space has a preference of that name; it was not replaced."),
    "needs a person": _("Only a person decides who Keno is and which rules it has."),
    "own context": _("The chat has a description of its own; it was not replaced."),
    "newer note": _("The chat has a newer working note."),
    "twice": _("It is in the import twice."),
    "nothing left": _("Nothing is left of it once it is cleaned."),
    # Rows of an archive.
    "bad row": _("The row is damaged."),
    "no chat": _("Its chat is missing from the archive."),
}


def sentence(reason: str) -> str:
    return str(REASONS.get(reason, reason))


class Bar:
    """Call it with (done, total, what); total 0 means unknown."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._is_shown = hasattr(stream, "isatty") and stream.isatty()
        self._last, self._width = 0.0, 0

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if not self._is_shown or (now - self._last < _EVERY and done != total):
            return
        self._last = now
        line = progress_line(done, total, what, width=shutil.get_terminal_size().columns - 1)
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def end(self) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0


def progress_line(done: int, total: int, what: str, *, width: int = 79) -> str:
    """One line of at most `width` characters."""
    if not total:
        return f"{done:,} {what}"[:width]
    share = min(done / total, 1.0)
    bar = "█" * round(share * 24) + "░" * (24 - round(share * 24))
    return f"{bar} {share:4.0%}  {done:,} of {total:,}  {what}"[:width]
