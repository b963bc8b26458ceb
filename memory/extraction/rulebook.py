"""Patterns kept as data: files of named pieces and of rules made from them."""

import re
from pathlib import Path

import re2

_ENTRY = re.compile(r"([A-Z]+|[a-z_]+(?:/[a-z0-9.]+)*)(?: =|:) (.*)", re.DOTALL)
_PIECE = re.compile(r"\{([A-Z]+)\}")


def read(file: Path) -> list[tuple[str, str]]:
    """The rules of the file, (name, pattern), with {PIECE} put in; an indented line goes on."""
    lines = [n for n in file.read_text("utf-8").splitlines() if n and not n.startswith("#")]
    pieces, rules = {}, []
    for entry in "\n".join(lines).replace("\n    ", "").splitlines():
        name, pattern = _ENTRY.fullmatch(entry).groups()
        pattern = _PIECE.sub(lambda m: pieces[m.group(1)], pattern)
        if name.isupper():
            pieces[name] = pattern
        else:
            rules.append((name, pattern))
    return rules


def linear(pattern: str) -> object:
    """Compiled for hostile text: matches UTF-8 bytes in time linear to their number."""
    options = re2.Options()
    # Bytes make smaller automata than signs, and the texts are nearly all ASCII.
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 32 << 20  # the alternations are long; below this a slower engine takes over
    options.log_errors = False
    return re2.compile(f"(?m){pattern}".encode(), options)
