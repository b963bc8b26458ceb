"""MEMORY.md and its relatives: lists of facts under headings, written by bot and people."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memory.transfer.items import FactItem, Left, Place
from memory.transfer.kenobot import escapes
from memory.transfer.kenobot.escapes import is_placeholder
from memory.transfer.readers.json_values import parse_time

LORE = "__lore__"
HEADINGS = {
    "Facts": ("fact", "other"),
    "Preferences": ("fact", "preference"),
    "Profile": ("fact", "profile"),
    "Relationships": ("fact", "relationship"),
    "Projects": ("fact", "project"),
    "Concepts": ("concept", "other"),
    "Procedures": ("procedure", "other"),
    "Lessons": ("lesson", "other"),
    "Lore": ("lore", "other"),
    "Goals": ("goal", "other"),
    "Notes": ("note", "other"),
}
# Headings of KenoBot's templates and documents, and their Spanish sisters.
_ALSO_CALLED = {
    "Facts": ("facts", "important facts", "compacted memories", "memory", "hechos", "datos"),
    "Preferences": ("preferences", "user preferences", "learned preferences", "preferencias"),
    "Profile": ("profile", "user profile", "perfil"),
    "Relationships": ("relationships", "relaciones"),
    "Projects": ("projects", "active projects", "project context", "proyectos"),
    "Concepts": ("concepts", "conceptos"),
    "Procedures": ("procedures", "procedimientos"),
    "Lessons": ("lessons", "lessons learned", "errors and lessons", "errors", "lecciones"),
    "Lore": ("lore", "ongoing lore"),
    "Goals": ("goals", "metas"),
    "Notes": ("notes", "notas"),
}
_KNOWN_HEADINGS = {called: name for name, several in _ALSO_CALLED.items() for called in several}
_ABOUT = re.compile(r"(?:about|sobre|acerca de)\s+(\S.*)$", re.I)
_PART = re.compile(r"(.+?)\s+—\s+(.+)$")
_STAMPED = re.compile(r"(?:consolidated|compacted)\b.*?(\d{4}-\d{2}-\d{2})?\s*$", re.I)
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})\s*[:—–-]\s*(.+)$")
_LEADING_SYMBOLS = re.compile(r"^[^\w(]+", re.U)


@dataclass(frozen=True)
class Section:
    """Where a fact stands: what kind of fact it is and what about."""

    kind: str = "fact"
    category: str = "other"
    subject: str = ""
    day: str = ""
    # Everything below the heading is one thing: steps, or the fields of one error.
    whole: bool = False


def parse_heading(heading: str, *, kind: str = "fact") -> Section:
    """Parse a heading; `kind` is that of the file (procedures.md holds procedures)."""
    name = _LEADING_SYMBOLS.sub("", heading).strip()
    if about := _ABOUT.match(name):
        return Section(kind, "other", about[1].strip())
    if stamped := _STAMPED.match(name):
        return Section(kind, day=stamped[1] or "")
    part = _PART.match(name)
    if part and (known := _KNOWN_HEADINGS.get(part[1].lower())):
        return Section(*HEADINGS[known], subject=part[2].strip())
    if known := known_heading(name):
        found, category = HEADINGS[known]
        subject = LORE if found == "lore" else ""
        return Section(kind if kind != "fact" else found, category, subject)
    dated = _DATED.match(name)
    day, name = (dated[1], dated[2]) if dated else ("", name)
    return Section(kind, subject=name, day=day, whole=kind in ("procedure", "lesson"))


def known_heading(heading: str) -> str:
    """Return our own name of a heading in either language; empty when it is not one of ours."""
    return _KNOWN_HEADINGS.get(_LEADING_SYMBOLS.sub("", heading).strip().rstrip(":").lower(), "")


def heading_for(kind: str, category: str, subject: str) -> str:
    name = next((n for n, pair in HEADINGS.items() if pair == (kind, category)), "")
    name = name or next(n for n, pair in HEADINGS.items() if pair[0] == kind)
    if not subject or subject == LORE:
        return name
    return f"About {subject}" if name == "Facts" else f"{name} — {subject}"


_HEADING = re.compile(r"(#{1,6})(?:\s+(.*))?$")
_ITEM = re.compile(r"(\s*)(?:[-*+•]|\d{1,9}[.)])(?:\s+(.*))?$")
_RULE = re.compile(r"\s*(?:-\s*){3,}$|\s*(?:\*\s*){3,}$|\s*(?:_\s*){3,}$|\s*={3,}\s*$")
_COMMENT = re.compile(r"\s*<!--.*-->\s*$")
_BOLD_LABEL = re.compile(r"^(?:\*\*|__)(.{1,80}?)(?:\*\*|__)")


@dataclass
class _Piece:
    """Lines that make one fact."""

    start: int
    end: int
    words: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    is_list: bool = True

    def add(self, number: int, content: str, raw: str) -> None:
        self.end = number
        self.words.append(content)
        self.raw.append(raw)


def read(content: str, *, place: Place, kind: str = "fact") -> Iterator[FactItem | Left]:
    lines = content.split("\n")
    start = escapes.find_end(lines, 0)
    if start:
        yield place.left("front matter", line=1, end=start)
    section, piece, held = Section(kind), None, []
    for number, line in enumerate(lines[start:], start + 1):
        heading = _HEADING.match(line)
        if heading or not line.strip() or _RULE.match(line) or _COMMENT.match(line):
            if piece:
                held.append(piece)
                piece = None
            if heading:
                yield from _facts(held, section, place=place)
                held, section = [], _section(heading, kind)
            if reason := _ornament(heading, line):
                yield place.left(reason, line=number, text=line.strip())
            continue
        item = _ITEM.match(line)
        starts = item is not None and len(item[1].expandtabs(4)) < 2
        if piece is None or starts or (item is not None and not piece.is_list):
            if piece:
                held.append(piece)
            piece = _Piece(number, number, is_list=item is not None)
        piece.add(number, (item[2] or "") if item else line.strip(), line.strip())
    yield from _facts([*held, piece] if piece else held, section, place=place)


def _section(heading: re.Match, kind: str) -> Section:
    # The title of a file says nothing about its facts unless it names somebody.
    if len(heading[1]) == 1 and not (heading[2] or "").lower().startswith(("about ", "sobre ")):
        return Section(kind)
    return parse_heading(heading[2] or "", kind=kind)


def _ornament(heading: re.Match | None, line: str) -> str:
    if heading:
        return "heading"
    if not line.strip():
        return ""
    return "rule" if _RULE.match(line) else "comment"


def _facts(pieces: list[_Piece], section, *, place: Place) -> Iterator[FactItem | Left]:
    if section.whole and len(pieces) > 1:
        pieces = [_joined(pieces)]
    for piece in pieces:
        yield _fact(piece, section, place=place)


def _joined(pieces: list[_Piece]) -> _Piece:
    """Join a section into one piece: steps of a procedure belong together."""
    raw = [line for piece in pieces for line in piece.raw]
    content = [" ".join(piece.raw) for piece in pieces]
    return _Piece(pieces[0].start, pieces[-1].end, content, raw, is_list=False)


def _fact(piece: _Piece, section: Section, *, place: Place) -> FactItem | Left:
    line = ("; " if piece.is_list else " ").join(each for each in piece.words if each).strip()
    said = escapes.unescape_item(_BOLD_LABEL.sub(r"\1", line))
    quote = "\n".join(piece.raw)
    if not said or is_placeholder(line):
        return place.left("placeholder", line=piece.start, end=piece.end, text=quote)
    subject = section.subject
    if section.whole:
        subject, said = "", f"{subject}: {said.replace('**', '')}"
    return FactItem(
        **place[piece.start, piece.end],
        chat=place.chat,
        at=parse_time(section.day) if section.day else place.modified,
        text=said,
        quote=quote,
        subject=subject,
        fact_kind=section.kind,
        category=section.category,
    )
