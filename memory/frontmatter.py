"""The block of `key: value` lines above a Markdown text, as the seeds' episode files have it.

A small format of our own reading: no YAML, so no anchors, no types, no bombs.
"""

import json
import re

MARK = "---"
# A block longer than this is text that happens to begin with a rule.
MOST_LINES, LONGEST_LINE = 60, 4000
KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,39}):(?:[ \t]+(.*)|[ \t]*)$")
# What can stand without quotes and come back the same.
PLAIN = re.compile(r"[^\W_](?:[^\x00-\x1f\[\]{}\"',#\x7f-\x9f\u2028\u2029]*[^\s\[\]{}\"',#:])?\Z")

Value = str | list[str]


def parse(text: str) -> tuple[dict[str, Value], str]:
    """The fields and the text below them; no fields when there is no whole block."""
    lines = text.lstrip("\ufeff").split("\n")
    if lines[0].rstrip() != MARK:
        return {}, text
    block = []
    for line in lines[1 : MOST_LINES + 2]:
        if line.rstrip() == MARK:
            fields = _fields(block)
            if not fields and any(block):
                return {}, text  # words between two rules, not fields
            return fields, "\n".join(lines[len(block) + 2 :]).removeprefix("\n")
        block.append(line[:LONGEST_LINE].rstrip("\r"))
    return {}, text


def render(fields: dict[str, Value], body: str) -> str:
    """Fields that are empty are left out."""
    lines = [f"{key}: {_written(value)}" for key, value in fields.items() if value]
    return "\n".join([MARK, *lines, MARK, "", body])


def _fields(block: list[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    key = ""
    for line in block:
        item = line.strip()
        if item.startswith("- ") and key and isinstance(found[key], list):
            found[key].append(_scalar(item[2:]))
        elif match := KEY.match(line.strip()):
            key, value = match[1], (match[2] or "").strip()
            found[key] = _value(value) if value else []
    return {key: value if value != [] else "" for key, value in found.items()}


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
