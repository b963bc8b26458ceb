"""The database of the tests: DATABASE_URL when it is set, else an embedded server of their own."""

import asyncio
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connections
from django.db.models.signals import post_migrate

from kenoweb import database, embedded, translations
from memory import embeddings
from memory.llm import tokens
from memory.retrieval import statistics

# Tests may lose their data in a power cut.
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@pytest.fixture(scope="session")
def postgres() -> str:
    """The address of a running Postgres."""
    if url := database.address():
        database.check(url)
        yield url
        return
    with embedded.session(settings.KENO_HOME, options=CARELESS) as url:
        yield url


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres, django_db_modify_db_settings_parallel_suffix):
    """Only a test that asks for the database pays for its start."""


@pytest.fixture(autouse=True, scope="module")
def nobody_elses_loop(request):
    """Playwright leaves its event loop running in this thread: only a browser test may see it.

    Around the whole module, so that the database is set up without it as well: with a loop, Django
    has another connection, and what a test does on its own is never rolled back.
    """
    if request.path.parent.name == "browser":
        yield
        return
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


@pytest.fixture(autouse=True)
def nothing_known_of_an_earlier_test():
    """What a process keeps of the database for some seconds outlives a test that is rolled back."""
    for known in (embeddings._known, statistics._known, tokens._known):
        known.clear()


def pytest_sessionstart(session):
    # The queue's tables are not Django's: a test that commits would leave its jobs to the next.
    post_migrate.connect(_empty_queue, sender=apps.get_app_config("procrastinate"))
    if not hasattr(session.config, "workerinput"):
        _sweep_what_killed_runs_left()
        translations.compile_all()


def _empty_queue(*, using: str, **_given) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(settings.TEST_HOME, ignore_errors=True)


def _sweep_what_killed_runs_left() -> None:
    for folder in Path(tempfile.gettempdir()).glob("keno-test-*"):
        found = folder.stat()
        # A run that is just beginning holds no lock yet.
        old = found.st_mtime < time.time() - 600
        if old and found.st_uid == os.geteuid() and (folder / "home").is_dir():
            _sweep(folder)


def _sweep(folder: Path) -> None:
    mine, os.environ["KENO_POSTGRES_DIR"] = os.environ["KENO_POSTGRES_DIR"], str(folder / "pg")
    try:
        if not embedded.in_use(folder / "home"):
            embedded.stop(folder / "home")
            shutil.rmtree(folder, ignore_errors=True)
    except (OSError, embedded.EmbeddedError):
        pass  # half made
    finally:
        os.environ["KENO_POSTGRES_DIR"] = mine
