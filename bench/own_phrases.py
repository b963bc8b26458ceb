"""Every sentence Keno can say by itself, in English and Spanish: none may ever look suspicious."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "locale" / "es" / "LC_MESSAGES" / "django.po"
SHIPPED = ROOT / "memory" / "identity" / "shipped"
_ENTRY = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[\d\])?) ((?:".*"\n)+)', re.MULTILINE)
_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[.\d]*[sdgf]|\{\w*\}")


def phrases() -> list[tuple[str, str]]:
    """(phrase, language), each once, with a name in the place of every placeholder."""
    found = [*_catalogue(), *_tables(), *_shipped()]
    filled = ((_PLACEHOLDER.sub("Ana", text).strip(), lang) for text, lang in found)
    return sorted({(text, lang) for text, lang in filled if text})


def _catalogue() -> Iterator[tuple[str, str]]:
    written = CATALOGUE.read_text("utf-8").partition("\n\n")[2]
    for keyword, literals in _ENTRY.findall(written):
        text = "".join(ast.literal_eval(literal) for literal in literals.splitlines())
        yield text, "es" if keyword.startswith("msgstr") else "en"


def _tables() -> Iterator[tuple[str, str]]:
    """The words of the built-in provider and of the first conversation."""
    # Here, because they need Django to be set up.
    from memory.identity import bootstrap
    from memory.llm.providers import offline

    for table in (offline.PHRASES, offline.SMALL_TALK, bootstrap.PHRASES):
        for lang, entries in table.items():
            yield from ((text, lang) for text in _texts(entries))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple | set):
        for inner in value:
            yield from _texts(inner)


def _shipped() -> Iterator[tuple[str, str]]:
    """The identity Keno comes with, line by line, and its rules with their examples."""
    for file in sorted(SHIPPED.iterdir()):
        lang, written = file.name.split(".")[1], file.read_text("utf-8")
        texts = _texts(json.loads(written)) if file.suffix == ".json" else written.splitlines()
        yield from ((text, lang) for text in texts)
