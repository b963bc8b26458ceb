"""Chat messages in which someone marked what is worth remembering, read from files.

A line is language, previous message and message, with a tab between; a mark is
{kind:exact words of the message}. LoCoMo has no marks, only the turns that an observation names.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

_MARK = re.compile(r"\{(\w+):([^{}]*)\}")
_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Mark:
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Line:
    language: str
    previous: str
    message: str
    marks: tuple[Mark, ...]
    # Whether the message is worth remembering, where nobody marked the words.
    is_marked: bool


def read(file: Path) -> list[Line]:
    """Return the lines of a file of marked messages; ValueError names a line that is not one."""
    lines = []
    for number, raw in enumerate(file.read_text("utf-8").splitlines(), start=1):
        fields = raw.split("\t")
        if len(fields) != 3:
            raise ValueError(f"{file}, line {number}: not three fields with tabs between them.")
        message, marks = _unmarked(fields[2])
        lines.append(Line(fields[0], fields[1], message, marks, bool(marks)))
    return lines


def locomo(file: Path) -> list[Line]:
    """Return every turn; marked are those that an observation rests on."""
    lines = []
    for talk in json.loads(file.read_text("utf-8")):
        evidence = set(_TURN.findall(json.dumps(talk["observation"])))
        for session in talk["conversation"].values():
            previous = ""
            for turn in session if isinstance(session, list) else ():
                marked = turn["dia_id"] in evidence
                lines.append(Line("en", previous, turn["text"], (), marked))
                previous = turn["text"]
    return lines


def _unmarked(raw: str) -> tuple[str, tuple[Mark, ...]]:
    message, marks, copied = "", [], 0
    for match in _MARK.finditer(raw):
        message += raw[copied : match.start()]
        marks.append(Mark(len(message), len(message) + len(match[2]), match[1]))
        message += match[2]
        copied = match.end()
    return message + raw[copied:], tuple(marks)
