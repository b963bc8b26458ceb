"""The docs are promises too: what exists is documented, what is documented exists."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.urls import get_resolver
from django.urls.resolvers import URLPattern

ROOT = Path(__file__).resolve().parent.parent
OURS = {"memory", "sleep", "bot", "kenoweb"}
DOCS = "\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))


def env_names() -> set[str]:
    """Every environment variable the code reads through kenoweb/env.py."""
    names = set()
    for file in [*(ROOT / "kenoweb").rglob("*.py"), *(ROOT / "memory").rglob("*.py")]:
        names |= set(
            re.findall(
                r'\benv(?:str|bool|int|float|list|choice|secret)\(\s*"([A-Z_]+)"', file.read_text()
            )
        )
    return names


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


@pytest.mark.parametrize("name", sorted(env_names()))
def test_every_setting_is_documented(name):
    assert f"`{name}`" in (ROOT / "docs/settings.md").read_text()


@pytest.mark.parametrize("name", sorted(our_commands()))
def test_every_command_is_documented(name):
    assert f"manage.py {name}" in (ROOT / "docs/commands.md").read_text()


@pytest.mark.parametrize("name", sorted(url_names()))
def test_every_page_is_documented(name):
    assert f"`{name}`" in DOCS


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), target


def test_every_dependency_has_a_decision():
    names = re.findall(r'^  "([A-Za-z0-9_-]+)', (ROOT / "pyproject.toml").read_text(), re.M)
    notes = "\n".join(page.read_text().lower() for page in (ROOT / "docs/decisions").glob("*.md"))
    assert [name for name in names if name.lower() not in notes] == []
