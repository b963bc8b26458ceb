"""MEMORY.md and its relatives: lists of facts under headings, written by bot and people."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memory.transfer.items import FactItem, Left, Place
from memory.transfer.kenobot import escapes
from memory.transfer.kenobot.escapes import is_placeholder
from memory.transfer.readers.json_values import parse_time

LORE = "__lore__"
# Our headings: kind and category of their facts, and what KenoBot's templates and documents call
# them in English and Spanish.
_SECTIONS = {
    "Facts": (
        "fact",
        "other",
        "facts, important facts, compacted memories, memory, hechos, datos",
    ),
    "Preferences": (
        "fact",
        "preference",
        "preferences, user preferences, learned preferences, preferencias",
    ),
    "Profile": ("fact", "profile", "profile, user profile, perfil"),
    "Relationships": ("fact", "relationship", "relationships, relaciones"),
    "Projects": ("fact", "project", "projects, active projects, project context, proyectos"),
    "Concepts": ("concept", "other", "concepts, conceptos"),
    "Procedures": ("procedure", "other", "procedures, procedimientos"),
    "Lessons": (
        "lesson",
        "other",
        "lessons, lessons learned, errors and lessons, errors, lecciones",
    ),
    "Lore": ("lore", "other", "lore, ongoing lore"),
    "Goals": ("goal", "other", "goals, metas"),
    "Notes": ("note", "other", "notes, notas"),
}
HEADINGS = {name: (kind, category) for name, (kind, category, _names) in _SECTIONS.items()}
_KNOWN_HEADINGS = {
    heading: name for name, section in _SECTIONS.items() for heading in section[2].split(", ")
}
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
    section, pieces, is_open = Section(kind), [], False
    for number, line in enumerate(lines[start:], start + 1):
        heading, is_rule = _HEADING.match(line), _RULE.match(line)
        if heading or not line.strip() or is_rule or _COMMENT.match(line):
            is_open = False
            if heading:
                yield from _facts(pieces, section, place=place)
                pieces, section = [], _section(heading, kind)
            if line.strip():
                reason = "heading" if heading else "rule" if is_rule else "comment"
                yield place.left(reason, line=number, text=line.strip())
            continue
        item = _ITEM.match(line)
        starts = item is not None and len(item[1].expandtabs(4)) < 2
        if not is_open or starts or (item is not None and not pieces[-1].is_list):
            pieces.append(_Piece(number, number, is_list=item is not None))
            is_open = True
        pieces[-1].add(number, (item[2] or "") if item else line.strip(), line.strip())
    yield from _facts(pieces, section, place=place)


def _section(heading: re.Match, kind: str) -> Section:
    # The title of a file says nothing about its facts unless it names a person.
    if len(heading[1]) == 1 and not (heading[2] or "").lower().startswith(("about ", "sobre ")):
        return Section(kind)
    return parse_heading(heading[2] or "", kind=kind)


def _facts(pieces: list[_Piece], section, *, place: Place) -> Iterator[FactItem | Left]:
    if section.whole and len(pieces) > 1:
        # The steps of a procedure belong together.
        raw = [line for piece in pieces for line in piece.raw]
        content = [" ".join(piece.raw) for piece in pieces]
        pieces = [_Piece(pieces[0].start, pieces[-1].end, content, raw, is_list=False)]
    for piece in pieces:
        yield _fact(piece, section, place=place)


def _fact(piece: _Piece, section: Section, *, place: Place) -> FactItem | Left:
    line = ("; " if piece.is_list else " ").join(each for each in piece.words if each).strip()
    fact = escapes.unescape_item(_BOLD_LABEL.sub(r"\1", line))
    quote = "\n".join(piece.raw)
    if not fact or is_placeholder(line):
        return place.left("placeholder", line=piece.start, end=piece.end, text=quote)
    subject = section.subject
    if section.whole:
        subject, fact = "", f"{subject}: {fact.replace('**', '')}"
    return FactItem(
        **place[piece.start, piece.end],
        chat=place.chat,
        at=parse_time(section.day) if section.day else place.modified,
        text=fact,
        quote=quote,
        subject=subject,
        fact_kind=section.kind,
        category=section.category,
    )
