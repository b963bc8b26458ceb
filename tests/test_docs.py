"""The docs are promises too: what exists is documented, what is documented exists."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

from django.core.management import get_commands
from django.urls import get_resolver
from django.urls.resolvers import URLPattern

ROOT = Path(__file__).resolve().parent.parent
# Not settings of Keno's: the language of a terminal.
EVERYWHERE = {"LANG", "LC_ALL", "LC_MESSAGES"}
OURS = {"memory", "sleep", "bot", "kenoweb"}
THREATS = ROOT / "docs/threats.md"
DOCS = "\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))


def called(node: ast.AST) -> str:
    """Return the name of the function that is called: `envint`, or `environ.get`."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    owner = getattr(node.func, "value", None)
    environment = isinstance(owner, ast.Attribute) and owner.attr == "environ"
    return "environ.get" if environment and node.func.attr == "get" else ""


def readers(calls: dict[str, list[ast.Call]]) -> set[str]:
    """Return the functions that read a variable whose name they are given."""
    found = {"environ.get", *(name for name in calls if name.startswith("env"))}
    while more := {
        name
        for name, inside in calls.items()
        if name not in found
        and any(called(one) in found and isinstance(one.args[0], ast.Name) for one in inside)
    }:
        found |= more
    return found


def variables_in(source: str) -> set[str]:
    """Return the environment variables that a module reads, by itself or through its helpers."""
    tree = ast.parse(source)
    every_call = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = {name: [] for name in map(called, every_call) if name.startswith("env")}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            inside = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            calls[function.name] = [one for one in inside if one.args]
    known = readers(calls)
    given = [
        value
        for one in every_call
        if called(one) in known
        for value in (*one.args[:1], *(keyword.value for keyword in one.keywords))
    ]
    texts = [node.value for value in given for node in ast.walk(value) if _is_text(node)]
    return {text for text in texts if re.fullmatch(r"[A-Z][A-Z0-9_]+", text)}


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@cache
def env_names() -> frozenset[str]:
    sources = [file.read_text() for app in OURS for file in (ROOT / app).rglob("*.py")]
    reading = [variables_in(source) for source in sources if "env" in source]
    return frozenset().union(*reading) - EVERYWHERE


def documented_settings() -> set[str]:
    """Return the names in the first column of every table of docs/settings.md."""
    rows = re.findall(r"^\| (`[A-Z].*?`) \|", (ROOT / "docs/settings.md").read_text(), re.M)
    return set(re.findall(r"`([A-Z0-9_]+)`", " ".join(rows)))


def our_commands() -> set[str]:
    return {name for name, app in get_commands().items() if app in OURS}


def url_names(patterns=None, prefix="") -> set[str]:
    found = set()
    for entry in patterns if patterns is not None else get_resolver().url_patterns:
        if isinstance(entry, URLPattern):
            found |= {prefix + entry.name} if entry.name else set()
        else:
            inner = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            found |= url_names(entry.url_patterns, inner)
    return found


def test_every_setting_is_documented():
    assert env_names() - documented_settings() == set()


def test_every_documented_setting_exists():
    assert documented_settings() - env_names() == set()


def test_a_setting_is_found_however_it_is_read():
    source = """
PLAIN = envint("PLAIN", 1, low=0, high=2)
EITHER = envsecret("ONE_KEY" if PLAIN else "OTHER_KEY")
HOME = os.environ.get("HOME_DIR", "NOT_A_NAME")
def _url(name): return envstr(name, "DEFAULT")
def _twice(name): return _url(name)
def _table(**rows): return {key: envint(name, 1) for key, (name, low) in rows.items()}
FAR = _twice("THROUGH_HELPERS")
ROWS = _table(days=("IN_A_TABLE", 3))
"""
    names = {"PLAIN", "ONE_KEY", "OTHER_KEY", "HOME_DIR", "THROUGH_HELPERS", "IN_A_TABLE"}
    assert variables_in(source) == names


def test_every_command_is_documented():
    page = (ROOT / "docs/commands.md").read_text()
    assert [name for name in sorted(our_commands()) if f"manage.py {name}" not in page] == []


def test_every_page_is_documented():
    assert [name for name in sorted(url_names()) if f"`{name}`" not in DOCS] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_links_between_pages_lead_somewhere():
    pages = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
    lost = [(page.name, target) for page in pages for target in broken_links(page)]
    assert lost == []


def broken_links(page: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    ours = [t for t in targets if "://" not in t and not t.startswith("mailto:")]
    return [target for target in ours if not (page.parent / target).exists()]


def test_every_dependency_has_a_decision():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = [re.match(r"[A-Za-z0-9_-]+", one).group() for one in wanted]
    notes = "\n".join(page.read_text().lower() for page in (ROOT / "docs/decisions").glob("*.md"))
    assert [name for name in names if name.lower() not in notes] == []


def test_every_threat_fault_and_finding_has_a_row_with_tests_and_what_is_seen():
    rows = re.findall(r"^\| ([TRCHML]-?\d+) .+$", THREATS.read_text(), re.M)
    most = {"T-": 26, "R-": 17, "C": 1, "H": 4, "M": 12, "L": 11}
    wanted = [
        f"{kind}{n:02}" if "-" in kind else f"{kind}{n}"
        for kind, last in most.items()
        for n in range(1, last + 1)
    ]
    assert rows == wanted
    for line in re.findall(r"^\| [TRCHML]-?\d+ .+$", THREATS.read_text(), re.M):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == 4, line
        assert re.search(r"`tests/[\w/]+\.py::\w+", cells[2]), line
        assert re.match(r"(held|held in part|open)\b", cells[3]), line


def test_every_test_that_threats_names_exists():
    named = re.findall(r"`(tests/[\w/.]+)::([\w:]+)`", THREATS.read_text())
    assert [f"{path}::{name}" for path, name in named if not is_there(path, name)] == []


def is_there(path: str, name: str) -> bool:
    """Whether the file has this test, in this class where one is named."""
    file = ROOT / path
    found = ast.parse(file.read_text()).body if file.exists() else []
    for part in name.split("::"):
        inside = [node for node in found if getattr(node, "name", "") == part]
        if not inside:
            return False
        found = getattr(inside[0], "body", [])
    return part.startswith("test_")
