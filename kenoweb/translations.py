"""Catalogues (.po) made ready for Python's gettext (.mo), without any program beside Python."""

import ast
import re
import struct
from contextlib import suppress
from pathlib import Path

LOCALE = Path(__file__).resolve().parent.parent / "locale"
KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d)\])?\s+(".*")')


def compile_all(folder: Path = LOCALE) -> list[Path]:
    """Compile every catalogue whose source is newer; returns the files written."""
    stale = [po for po in sorted(folder.glob("*/LC_MESSAGES/*.po")) if _is_stale(po)]
    written = []
    for po in stale:
        with suppress(PermissionError):  # somebody else's checkout: English has to do
            mo, part = po.with_suffix(".mo"), po.with_suffix(".mo.part")
            part.write_bytes(compiled(po.read_text("utf-8")))
            part.replace(mo)
            written.append(mo)
    return written


def compiled(po: str) -> bytes:
    """The binary catalogue of a .po text."""
    pairs = sorted(messages(po).items())
    ids, texts = zip(*pairs, strict=True) if pairs else ((), ())
    at = 7 * 4
    tables, body = [], b""
    start = at + 16 * len(pairs)
    for words in (ids, texts):
        for word in words:
            tables.append(struct.pack("<II", len(word), start + len(body)))
            body += word + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), at, at + 8 * len(pairs), 0, start)
    return head + b"".join(tables) + body


def messages(po: str) -> dict[bytes, bytes]:
    """Original -> translation, as gettext stores them; fuzzy, obsolete and empty ones left out."""
    found = {}
    for block in re.split(r"\n\s*\n", po):
        entry = _entry(block)
        texts = [entry[key] for key in sorted(entry) if key.startswith("msgstr")]
        if not texts or not all(texts) or re.search(r"^#,.*\bfuzzy\b", block, re.M):
            continue
        original = entry.get("msgid", "")
        if "msgid_plural" in entry:
            original += "\0" + entry["msgid_plural"]
        if "msgctxt" in entry:
            original = entry["msgctxt"] + "\4" + original
        found[original.encode()] = "\0".join(texts).encode()
    return found


def _entry(block: str) -> dict[str, str]:
    entry, key = {}, ""
    for line in block.splitlines():
        if match := KEYWORD.match(line):
            key = match[1] + (match[2] or "")
            entry[key] = ast.literal_eval(match[3])
        elif line.startswith('"') and key:
            entry[key] += ast.literal_eval(line)
    return entry


def _is_stale(po: Path) -> bool:
    mo = po.with_suffix(".mo")
    return not mo.exists() or mo.stat().st_mtime < po.stat().st_mtime
