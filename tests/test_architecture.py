"""The shape of the tree, kept by a test instead of by memory."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "memory": set(),
    "sleep": {"memory"},
    "bot": {"memory", "sleep"},
    "kenoweb": {"memory", "sleep"},
}
FOUR_MEMORIES = {"facts", "episodes", "patterns", "working"}
# room of memory/ -> rooms it may not enter
MAY_NOT_ENTER = {
    **{
        room: (FOUR_MEMORIES - {room}) | {"identity", "retrieval", "context"}
        for room in FOUR_MEMORIES
    },
    "identity": FOUR_MEMORIES | {"retrieval", "context", "chats"},
    "retrieval": {"extraction", "context", "identity"},
}
ONLY_TRANSFER = "transfer"
FORBIDDEN_NAMES = {"utils", "common", "core_utils", "helpers", "misc"}

FILES = sorted(
    file
    for app in MAY_IMPORT
    for file in (ROOT / app).rglob("*.py")
    if "migrations" not in file.parts
)


def imports(source: str) -> set[str]:
    """Every dotted name the source imports; `from a import b` counts as a.b."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def violations(path: str, source: str) -> list[str]:
    """What the file at this path may not import, in words."""
    parts = path.removesuffix(".py").split("/")
    app, room = parts[0], parts[1] if len(parts) > 1 else ""
    found = []
    for name in sorted(imports(source)):
        there = name.split(".")
        if there[0] in MAY_IMPORT and there[0] not in MAY_IMPORT[app] | {app}:
            found.append(f"{path} imports {name}: {app}/ may not know {there[0]}/")
        if app != "memory" or there[0] != "memory" or len(there) < 2:
            continue
        if there[1] in MAY_NOT_ENTER.get(room, set()):
            found.append(f"{path} imports {name}: memory/{room} may not enter memory/{there[1]}")
        if there[1] == ONLY_TRANSFER and room not in {ONLY_TRANSFER, "management"}:
            found.append(f"{path} imports {name}: nothing imports transfer")
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_point_down(file):
    assert violations(str(file.relative_to(ROOT)), file.read_text()) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("memory/facts.py", "import kenoweb.settings"),
        ("memory/facts.py", "from memory import episodes"),
        ("memory/working.py", "from memory.identity.rules import violations"),
        ("memory/identity/core.py", "from memory import patterns"),
        ("memory/retrieval/recall.py", "from memory.extraction import ingest"),
        ("memory/chats.py", "from memory.transfer import archive"),
        ("sleep/cycle.py", "from bot import turn"),
        ("bot/turn.py", "from kenoweb import access"),
        ("kenoweb/access.py", "import bot.turn"),
    ],
)
def test_a_planted_violation_is_found(path, source):
    assert violations(path, source)


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_files_stay_small_and_have_honest_names(file):
    assert len(file.read_text().splitlines()) <= 300
    assert not FORBIDDEN_NAMES & set(file.relative_to(ROOT).with_suffix("").parts)
