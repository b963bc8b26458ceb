"""The shape of the tree: which folder may import which, as floors of a house.

A room is a folder, or a module beside the folders. It may import rooms of the floors below it,
never one of its own floor or above. There is no rule by file name.
"""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APPS = {
    "memory": set(),
    "sleep": {"memory"},
    "bot": {"memory", "sleep"},
    "kenoweb": {"memory", "sleep"},
}
# From the ground up.
FLOORS = {
    "memory": [
        {"options", "text"},
        {"models"},
        {"history", "jobs"},
        {"vectors", "guards"},
        {"logs", "rulings", "notices", "spaces", "calendar"},
        {"people"},
        # The four memories know nothing of each other, nor of identity; recall only reads.
        {"facts", "episodes", "patterns", "working", "identity", "chats", "retrieval"},
        {"extraction", "lineage"},
        {"erasure"},
        {"llm"},
        {"prompt", "operations"},
        {"trust"},
        {"tasks", "transfer"},
        {"management"},
    ],
    "kenoweb": [
        {"environment", "data_dir", "models", "demo"},
        {"auth"},
        {"launcher", "ui"},
        {"settings", "templatetags"},
        {"facts", "episodes", "patterns", "identity", "people", "recall", "transfer", "membership"},
        {"chats", "curation", "nights", "api", "connect"},
        {"operations"},
        {"tasks", "apps"},
        {"urls", "management", "wsgi", "__main__"},
    ],
}
FORBIDDEN_NAMES = {"utils", "common", "core_utils", "helpers", "misc"}
MOST_FLAT, MOST_IN_A_FOLDER = 12, 20
# A reader cannot tell what such a parameter is: it gets a noun (`message`, `rows`, `question`).
NO_NOUNS = set("said found one told known made given kept asked wanted heard spoken meant".split())


def product_files() -> list[Path]:
    found = (file for app in APPS for file in (ROOT / app).rglob("*.py"))
    return sorted(file.relative_to(ROOT) for file in found if "migrations" not in file.parts)


def module_name(path: Path | str) -> str:
    return ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")


@cache
def statements(source: str) -> list[ast.AST]:
    """Return every statement of the source, at any depth; the first is the module itself."""
    found = [ast.parse(source)]
    for node in found:
        inner = ast.iter_child_nodes(node)
        found += [child for child in inner if not isinstance(child, ast.expr)]
    return found


def imported_names(source: str) -> set[str]:
    """Return every dotted name that the source imports; `from a import b` counts as a.b."""
    return _names_of(statements(source))


def _names_of(nodes: list[ast.AST]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def floor_of(app: str, room: str) -> int | None:
    floors = FLOORS.get(app, [])
    return next((n for n, rooms in enumerate(floors) if room in rooms), None)


def violations(path: str, source: str) -> list[str]:
    """Name what the file at this path may not import."""
    app, *rest = module_name(path).split(".")
    room = rest[0] if rest else ""
    problems = []
    for name in sorted(imported_names(source)):
        target_app, *target_rest = name.split(".")
        if target_app not in APPS:
            continue
        if target_app != app:
            if target_app not in APPS[app]:
                problems.append(f"{path} imports {name}: {app}/ may not know {target_app}/")
            continue
        target = target_rest[0] if target_rest else ""
        here, there = floor_of(app, room), floor_of(app, target)
        if room != target and None not in (here, there) and there >= here:
            problems.append(f"{path} imports {name}: {room} is not above {target}")
    return problems


def test_imports_point_down():
    files = product_files()
    assert len(files) > 200
    problems = [line for f in files for line in violations(str(f), (ROOT / f).read_text())]
    assert problems == []


@pytest.mark.parametrize("app", FLOORS)
def test_every_room_has_a_floor(app):
    files = [file for file in product_files() if file.parts[0] == app]
    rooms = {file.with_suffix("").parts[1] for file in files} - {"__init__"}
    listed = set().union(*FLOORS[app])
    assert rooms == listed
    assert len(listed) == sum(map(len, FLOORS[app])), "a room stands on two floors"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("memory/facts/service.py", "import kenoweb.settings"),
        ("memory/facts/bulk.py", "from memory import episodes"),
        ("memory/facts/rows.py", "from memory.episodes.grouping import group"),
        ("memory/episodes/grouping.py", "from memory.patterns import activate"),
        ("memory/working.py", "from memory.identity.rules import violations"),
        ("memory/identity/core.py", "from memory import patterns"),
        ("memory/retrieval/recall.py", "from memory.extraction import ingest"),
        ("memory/prompt/sections.py", "from memory.transfer import archive"),
        ("memory/chats/service.py", "from memory.transfer import archive"),
        ("memory/text/normalise.py", "from memory.models import Fact"),
        ("sleep/cycle.py", "from bot import turn"),
        ("bot/turn.py", "from kenoweb.auth import access"),
        ("kenoweb/auth/access.py", "import bot.turn"),
        ("kenoweb/auth/access.py", "from kenoweb.ui import responses"),
        ("kenoweb/ui/list_page.py", "from kenoweb.templatetags.keno import icon"),
        ("kenoweb/facts/panel.py", "from kenoweb.episodes import panel"),
        ("kenoweb/nights/page.py", "from kenoweb.operations import overview"),
    ],
)
def test_a_planted_violation_is_found(path, source):
    assert violations(path, source)


def test_no_module_imports_itself_in_a_circle():
    modules = {module_name(file): (ROOT / file).read_text() for file in product_files()}
    graph = {name: _modules_of(source, modules) - {name} for name, source in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_planted_circle_is_found():
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()


def _modules_of(source: str, modules: dict[str, str]) -> set[str]:
    """Return the modules whose code the source needs at import time."""
    names = _names_of(statements(source)[0].body)
    return {_longest_prefix(name, modules) for name in names} - {""}


def _longest_prefix(name: str, modules: dict[str, str]) -> str:
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def test_folders_are_neither_crowded_nor_badly_named():
    folders: dict[Path, set[str]] = {}
    for file in product_files():
        assert not FORBIDDEN_NAMES & set(file.with_suffix("").parts), file
        if file.name != "__init__.py":
            folders.setdefault(file.parent, set()).add(file.name)
    most = {Path("memory"): MOST_FLAT, Path("kenoweb"): MOST_FLAT}
    crowded = {
        str(folder): len(names)
        for folder, names in folders.items()
        if len(names) > most.get(folder, MOST_IN_A_FOLDER)
    }
    assert crowded == {}


def parameters(source: str) -> list[tuple[str, str]]:
    """Return (function, parameter) of every function in the source."""
    found = []
    for node in statements(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            spec = node.args
            every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
            found += [(node.name, one.arg) for one in every if one]
    return found


def test_parameters_are_called_by_nouns():
    riddles = [
        f"{file}: {function}({name})"
        for file in product_files()
        for function, name in parameters((ROOT / file).read_text())
        if name.strip("_") in NO_NOUNS
    ]
    assert riddles == []


def test_a_planted_riddle_is_found():
    assert parameters("async def keep(fact, *, told=1, **given): ...")[1:] == [
        ("keep", "told"),
        ("keep", "given"),
    ]
