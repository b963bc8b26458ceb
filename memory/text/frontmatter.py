"""The block of `key: value` lines above a Markdown text, as the seeds' episode files have it.

A small format of our own reading: no YAML, so no anchors, no types, no bombs.
"""

import json
import re
from collections.abc import Iterable

DELIMITER = "---"
# A block longer than this is text that happens to begin with a rule.
MAX_LINES, MAX_LINE_LENGTH = 60, 4000
FIELD = re.compile(r"([A-Za-z_][\w-]{0,40})\s*:(?:\s+(.*)|\s*)$")
ITEM = re.compile(r"\s*-\s+(.*)$")
_QUOTED = re.compile(r"'((?:''|[^'])*)'?")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
# What can stand without quotes and come back the same.
PLAIN = re.compile(r"[^\W_](?:[^\x00-\x1f\[\]{}\"',#\x7f-\x9f\u2028\u2029]*[^\s\[\]{}\"',#:])?\Z")

Value = str | list[str]


def parse(text: str) -> tuple[dict[str, Value], str]:
    """Return the fields and the text below them; no fields without a complete block."""
    lines = text.lstrip("\ufeff").split("\n")
    if lines[0].rstrip() != DELIMITER:
        return {}, text
    block = []
    for line in lines[1 : MAX_LINES + 2]:
        if line.rstrip() == DELIMITER:
            fields = read_fields(block)
            if not fields and any(block):
                return {}, text  # words between two rules, not fields
            return fields, "\n".join(lines[len(block) + 2 :]).removeprefix("\n")
        block.append(line[:MAX_LINE_LENGTH].rstrip("\r"))
    return {}, text


def render(fields: dict[str, Value], body: str) -> str:
    """Return the text with a block of its fields above; empty fields are left out."""
    lines = [f"{key}: {_written(value)}" for key, value in fields.items() if value]
    return "\n".join([DELIMITER, *lines, DELIMITER, "", body])


def read_fields(block: Iterable[str]) -> dict[str, Value]:
    """Return the fields of these lines: lists as lists, everything else as text."""
    fields: dict[str, Value] = {}
    key = ""
    for line in block:
        if field := FIELD.match(line.strip()):
            key = field[1]
            fields[key] = _value(field[2] or "")
        elif (item := ITEM.match(line)) and key:
            before = fields[key]
            known = before if isinstance(before, list) else [before] if before else []
            fields[key] = [*known, _scalar(item[1])]
    return fields


def _value(written: str) -> Value:
    bare = written.strip()
    if not bare.startswith("["):
        return _scalar(bare)
    inside = bare[1:].rpartition("]")[0] if "]" in bare else bare[1:]
    # Commas inside double quotes do not separate.
    parts = re.findall(r'(?:"(?:\\.|[^"\\])*"|[^,"]|")+', inside)
    return [item for part in parts if (item := _scalar(part))]


def _scalar(written: str) -> str:
    bare = written.strip()
    if bare.startswith('"'):
        try:
            return str(json.JSONDecoder().raw_decode(bare)[0])
        except ValueError:
            return bare.strip('"')
    if quoted := _QUOTED.match(bare):
        return quoted[1].replace("''", "'")
    return _COMMENT.sub("", bare).strip()


def _written(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return f"[{', '.join(map(_quoted, value))}]"


def _quoted(value: str) -> str:
    return value if PLAIN.match(value) else json.dumps(value, ensure_ascii=True)
