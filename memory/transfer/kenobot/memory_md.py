"""MEMORY.md and its relatives: lists of facts under headings, written by bot and people."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memory.transfer.items import FactItem, Left, Place
from memory.transfer.json_reading import a_time
from memory.transfer.kenobot import escapes, front_matter, sections
from memory.transfer.kenobot.placeholders import is_placeholder

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

    def add(self, number: int, words: str, raw: str) -> None:
        self.end = number
        self.words.append(words)
        self.raw.append(raw)


def read(words: str, *, place: Place, kind: str = "fact") -> Iterator[FactItem | Left]:
    lines = words.split("\n")
    start = front_matter.find(lines, 0)
    if start:
        yield place.left("front matter", line=1, end=start)
    section, piece, held = sections.Section(kind), None, []
    for number, line in enumerate(lines[start:], start + 1):
        mark = _HEADING.match(line)
        if mark or not line.strip() or _RULE.match(line) or _COMMENT.match(line):
            if piece:
                held.append(piece)
                piece = None
            if mark:
                yield from _facts(held, section, place=place)
                held, section = [], _section(mark, kind)
            if reason := _ornament(mark, line):
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


def _section(mark: re.Match, kind: str) -> sections.Section:
    # The title of a file says nothing about its facts unless it names somebody.
    if len(mark[1]) == 1 and not (mark[2] or "").lower().startswith(("about ", "sobre ")):
        return sections.Section(kind)
    return sections.read(mark[2] or "", kind=kind)


def _ornament(mark: re.Match | None, line: str) -> str:
    if mark:
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
    """All of a section as one: the steps of a procedure mean nothing apart."""
    raw = [line for piece in pieces for line in piece.raw]
    words = [" ".join(piece.raw) for piece in pieces]
    return _Piece(pieces[0].start, pieces[-1].end, words, raw, is_list=False)


def _fact(piece: _Piece, section: sections.Section, *, place: Place) -> FactItem | Left:
    line = ("; " if piece.is_list else " ").join(each for each in piece.words if each).strip()
    said = escapes.read_item(_BOLD_LABEL.sub(r"\1", line))
    quote = "\n".join(piece.raw)
    if not said or is_placeholder(line):
        return place.left("placeholder", line=piece.start, end=piece.end, text=quote)
    subject = section.subject
    if section.whole:
        subject, said = "", f"{subject}: {said.replace('**', '')}"
    return FactItem(
        **place[piece.start, piece.end],
        chat=place.chat,
        at=a_time(section.day) if section.day else place.modified,
        text=said,
        quote=quote,
        subject=subject,
        fact_kind=section.kind,
        category=section.category,
    )
