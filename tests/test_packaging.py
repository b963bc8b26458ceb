"""What is installed, and how: Makefile, pins, image and compose file."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import kenoweb
from tests.kenoweb.running import Keno, fetch
from tests.kenoweb.servers import Homes

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {name: (ROOT / name).read_text() for name in ("requirements.lock", "requirements-dev.lock")}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([\w.!+]+)", re.M)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def plain(name: str) -> str:
    return re.sub(r"[_.]", "-", re.split(r"[\[<>=~;! ]", name)[0].lower())


def planned(target: str, folder: Path) -> str:
    """What make would do; also when make itself runs these tests."""
    make = ["make", "--dry-run", "--no-print-directory", target]
    ours = ("MAKE", "ARGS")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(make, cwd=folder, env=env, capture_output=True, text=True).stdout


def test_every_pin_is_exact_has_hashes_and_names_no_index():
    for name, lock in LOCKS.items():
        blocks = re.split(r"\n(?=\S)", lock.strip())
        assert [block for block in blocks if not PIN.match(block)] == [], name
        assert [block for block in blocks if "--hash=sha256:" not in block] == [], name
        assert not re.search(r"https?:|file:|--index|--find-links", lock), name


def test_a_newer_release_of_a_library_does_not_stop_the_installation():
    """The locks name everything, so pip has nothing to look for: it refuses the newest
    psycopg for psycopg[pool], which has no hash, where it resolves requirements itself."""
    installs = [line for line in (MAKEFILE + DOCKERFILE).splitlines() if "--require-hashes" in line]
    assert len(installs) == 3
    assert all("pip install" in line and " --no-deps " in line for line in installs)
    for lock in LOCKS.values():
        pinned = {plain(name) for name, _ in PIN.findall(lock)}
        missing = {
            f"{name} needs {needed}"
            for name in pinned
            for needed in _needs(name)
            if plain(needed) not in pinned
        }
        assert missing == set()


def _needs(name: str) -> list[str]:
    try:
        requirements = metadata.requires(name) or []
    except metadata.PackageNotFoundError:  # for another system
        return []
    return [
        needed.name
        for needed in map(Requirement, requirements)
        if needed.marker is None or needed.marker.evaluate({"extra": ""})
    ]


def test_l9_the_password_of_the_database_is_in_no_environment_of_ours():
    for name in ("web", "worker", "migrate"):
        given = COMPOSE["services"][name]["environment"]
        assert given["POSTGRES_PASSWORD"] == ""
        assert given["DATABASE_PASSWORD_FILE"].startswith("/run/secrets/")
    assert "--require-hashes" in DOCKERFILE
    assert "pip-audit" in (ROOT / ".github/workflows/ci.yml").read_text()


def test_l9_the_images_of_others_are_named_by_their_digest():
    files = [ROOT / "Dockerfile", ROOT / "compose.yaml", *sorted((ROOT / "deploy").glob("*.yaml"))]
    text = "\n".join(file.read_text() for file in files)
    found = set(re.findall(r"^(?:FROM|\s+image:) (\S+)", text, re.M)) - {"keno"}
    assert len(found) == 3
    assert [image for image in found if not re.search(r"@sha256:[0-9a-f]{64}$", image)] == []


def test_every_dependency_is_locked():
    pinned = {name: {plain(pin) for pin, _ in PIN.findall(lock)} for name, lock in LOCKS.items()}
    wanted = {plain(name) for name in PROJECT["dependencies"]}
    assert wanted - pinned["requirements.lock"] == set()
    wanted |= {plain(name) for name in PROJECT["optional-dependencies"]["dev"]}
    assert wanted - pinned["requirements-dev.lock"] == set()


def test_both_locks_agree():
    run, dev = (dict(PIN.findall(lock)) for lock in LOCKS.values())
    assert run.items() <= dev.items()


def test_the_version_is_the_newest_of_the_changelog():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert newest == kenoweb.__version__


@pytest.mark.parametrize("name", ["django-pghistory", "procrastinate"])
def test_a_library_whose_private_parts_are_used_has_an_upper_bound(name):
    (wanted,) = [one for one in PROJECT["dependencies"] if plain(one) == name]
    assert "<" in wanted


def test_the_makefile_is_short_and_has_its_targets():
    text = (ROOT / "Makefile").read_text()
    assert len(text.splitlines()) <= 40
    assert {"run", "test", "test-fast", "lint", "bench", "clean"} <= set(
        re.findall(r"^([\w-]+):", text, re.M)
    )


@pytest.mark.processes
def test_a_second_run_installs_nothing(tmp_path):
    (tmp_path / ".venv").mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    assert "pip install" in planned("run", tmp_path)
    (tmp_path / ".venv" / "ready").touch()
    assert planned("run", tmp_path).strip() == "exec .venv/bin/python manage.py up"


def test_a_python_that_is_too_old_gets_a_sentence():
    rule = re.search(r"^ENOUGH = (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    assert "sys.version_info < (3, 11)" in rule
    assert "Keno needs Python 3.11 or newer" in rule


def test_compose_runs_the_parts_beside_pgvector():
    services = COMPOSE["services"]
    assert set(services) == {"db", "migrate", "web", "worker"}
    assert services["db"]["image"].startswith("pgvector/pgvector:pg")
    assert all("restart" in service for service in services.values())
    assert services["web"]["command"][-1] == "kenoweb.wsgi"
    assert services["worker"]["command"] == ["python", "manage.py", "runbot"]


def test_compose_opens_nothing_but_the_pages_and_those_only_here():
    ports = {name: service.get("ports") for name, service in COMPOSE["services"].items()}
    assert ports.pop("web") == ["127.0.0.1:8000:8000"]
    assert set(ports.values()) == {None}


def test_compose_keeps_no_password_in_itself():
    text = (ROOT / "compose.yaml").read_text()
    assert COMPOSE["secrets"] == {"postgres_password": {"environment": "POSTGRES_PASSWORD"}}
    assert not re.search(r"PASSWORD: [^\s\"]", text)
    declared = set(COMPOSE["volumes"])
    used = {v.split(":")[0] for s in COMPOSE["services"].values() for v in s.get("volumes", [])}
    assert used == declared


def test_the_image_does_not_run_as_root_and_says_how_it_feels():
    last = DOCKERFILE.rsplit("FROM ", 1)[1]
    assert "\nUSER keno\n" in last
    assert "\nHEALTHCHECK " in last
    assert "/readyz" in last


@pytest.mark.parametrize("copied", re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M))
def test_what_the_image_copies_exists(copied):
    assert [name for name in copied.split() if not (ROOT / name).exists()] == []


def test_the_example_environment_names_settings_that_exist_and_no_secret():
    lines = (ROOT / ".env.example").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    known = (ROOT / "docs/settings.md").read_text()
    assert [name for name in given if f"`{name}`" not in known] == ["POSTGRES_PASSWORD"]
    assert set(given.values()) <= {"", "0"}


@pytest.mark.processes
def test_an_installation_has_every_file_and_starts_like_a_checkout(tmp_path):
    """Nothing of the checkout is in reach: what is not in the package is missing."""
    source, there = tmp_path / "source", tmp_path / "there"
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    for name in tracked.splitlines():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", there, source]
    made = subprocess.run([sys.executable, *install], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    homes = Homes()
    keno = Keno(homes.new(), argv=[sys.executable, there / "bin/keno", "up"], PYTHONPATH=str(there))
    try:
        status, page = fetch(keno.greeting())
        assert (status, "<form" in page) == (200, True)
        assert keno.hear("--remove").startswith("keno demo")
        assert set(keno.children()) == {"web", "worker"}
        assert keno.interrupt() == 0
        keno.hear("Stopped.")
        assert "starting it again" not in "".join(keno.heard)
    finally:
        keno.close()
        homes.clear()
