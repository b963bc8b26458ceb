"""Read the public words of Keno from the code, and write them into docs/contract.md.

`python -m tests.contract --write` after a change that is meant; tests/test_contract.py fails until
then, so that no public word changes by accident.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/contract.md"
MARK = "<!-- generated below: python -m tests.contract --write -->\n"
OURS = {"memory", "sleep", "bot", "kenoweb"}


def routes(patterns=None, path: str = "/", namespace: str = "") -> list[tuple[str, str]]:
    """Return (path, name) of every page."""
    from django.urls import get_resolver
    from django.urls.resolvers import URLPattern

    found = []
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        here = path + str(entry.pattern)
        if isinstance(entry, URLPattern):
            found.append((here, f"{namespace}{entry.name or ''}"))
        else:
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            found += routes(entry.url_patterns, here, inner)
    return sorted(found)


def commands() -> list[str]:
    from django.core.management import get_commands

    return sorted(name for name, app in get_commands().items() if app in OURS)


def settings_read() -> list[str]:
    from tests.test_docs import env_names

    return sorted(env_names())


def space_options() -> list[str]:
    from dataclasses import fields

    from memory.options import Options

    return sorted(field.name for field in fields(Options))


def http_fields() -> list[tuple[str, str]]:
    """Return (operation or schema, its fields) of what programs may ask over HTTP."""
    from kenoweb.api.rest import api as rest

    api = rest.get_openapi_schema(path_params={})
    rows = [
        (name, ", ".join(part.get("properties", {})))
        for name, part in api["components"]["schemas"].items()
    ]
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            if method in {"get", "post", "put", "patch", "delete"}:
                rows.append((f"{method.upper()} {path}", ", ".join(_names(operation))))
    return sorted(rows)


def _names(part: object) -> list[str]:
    """Return the names of all properties inside a part of the OpenAPI document."""
    if isinstance(part, dict):
        own = list(part.get("properties", {})) if isinstance(part.get("properties"), dict) else []
        inner = [name for value in part.values() for name in _names(value)]
        return sorted({*own, *inner})
    if isinstance(part, list):
        return sorted({name for item in part for name in _names(item)})
    return []


def mcp_shapes() -> list[tuple[str, str]]:
    from pydantic import BaseModel

    from kenoweb.api import shapes

    models = {
        name: value
        for name, value in vars(shapes).items()
        if isinstance(value, type) and issubclass(value, BaseModel) and value is not BaseModel
    }
    return sorted((name, ", ".join(model.model_fields)) for name, model in models.items())


def archive_files() -> list[tuple[str, str]]:
    from memory.transfer.archive.rows import KINDS

    return [(kind.name, ", ".join(field.name for field in kind.fields)) for kind in KINDS]


def generated() -> str:
    tables = [
        ("Pages", ("path", "name"), routes()),
        ("Commands", ("command",), [(name,) for name in commands()]),
        ("Environment variables", ("name",), [(name,) for name in settings_read()]),
        ("Options of a space", ("name",), [(name,) for name in space_options()]),
        ("HTTP for programs", ("operation", "fields"), http_fields()),
        ("MCP shapes", ("shape", "fields"), mcp_shapes()),
        ("Files of an archive", ("file", "fields"), archive_files()),
    ]
    return "\n".join(_table(*table) for table in tables)


def _table(title: str, heads: tuple[str, ...], rows: list[tuple]) -> str:
    lines = [f"## {title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += ["| " + " | ".join(f"`{cell}`" if cell else "" for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def written() -> str:
    return PAGE.read_text().partition(MARK)[2]


def main() -> None:
    head = PAGE.read_text().partition(MARK)[0]
    PAGE.write_text(head + MARK + generated())


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    if "--write" in sys.argv:
        main()
    else:
        sys.stdout.write(re.sub(r"\n{3,}", "\n\n", generated()))
