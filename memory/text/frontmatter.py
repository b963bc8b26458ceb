"""The block of `key: value` lines above a Markdown text, as the seeds' episode files have it.

A small format of our own reading: no YAML, so no anchors, no types, no bombs.
"""

import json
import re

DELIMITER = "---"
# A block longer than this is text that happens to begin with a rule.
MAX_LINES, MAX_LINE_LENGTH = 60, 4000
KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,39}):(?:[ \t]+(.*)|[ \t]*)$")
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
            fields = _fields(block)
            if not fields and any(block):
                return {}, text  # words between two rules, not fields
            return fields, "\n".join(lines[len(block) + 2 :]).removeprefix("\n")
        block.append(line[:MAX_LINE_LENGTH].rstrip("\r"))
    return {}, text


def render(fields: dict[str, Value], body: str) -> str:
    """Return the text with a block of its fields above; empty fields are left out."""
    lines = [f"{key}: {_written(value)}" for key, value in fields.items() if value]
    return "\n".join([DELIMITER, *lines, DELIMITER, "", body])


def _fields(block: list[str]) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    key = ""
    for line in block:
        item = line.strip()
        if item.startswith("- ") and key and isinstance(fields[key], list):
            fields[key].append(_scalar(item[2:]))
        elif match := KEY.match(line.strip()):
            key, value = match[1], (match[2] or "").strip()
            fields[key] = _value(value) if value else []
    return {key: value if value != [] else "" for key, value in fields.items()}


def _value(written: str) -> Value:
    if written.startswith("[") and written.endswith("]"):
        return [item for part in _parts(written[1:-1]) if (item := _scalar(part))]
    return _scalar(written)


def _parts(inside: str) -> list[str]:
    """Split at commas that are not inside double quotes."""
    return re.findall(r'(?:"(?:\\.|[^"\\])*"|[^,"]|")+', inside)


def _scalar(written: str) -> str:
    bare = written.strip()
    if len(bare) > 1 and bare[0] == bare[-1] == '"':
        try:
            value = json.loads(bare)
        except ValueError:
            return bare[1:-1]
        return value if isinstance(value, str) else bare
    if len(bare) > 1 and bare[0] == bare[-1] == "'":
        return bare[1:-1].replace("''", "'")
    return bare


def _written(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return f"[{', '.join(map(_quoted, value))}]"


def _quoted(value: str) -> str:
    return value if PLAIN.match(value) else json.dumps(value, ensure_ascii=True)
