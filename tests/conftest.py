"""The database of the tests: DATABASE_URL when it is set, else an embedded server of their own."""

import asyncio
import gc
import os
import re
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from random import Random

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, connections
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.models.signals import post_migrate
from django.test import TransactionTestCase
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from kenoweb.launcher import database, embedded_postgres, startup
from tests import kept
from tests.kenoweb.servers import in_use

# How long an example takes says how busy the machine is, not whether a promise is kept.
hypothesis_settings.register_profile(
    "keno", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("keno")
# Tests may lose their data in a power cut.
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup", "postgres", "live_server"}
AUDIT_TABLES = {"memory_auditentry", "memory_auditseal"}
VECTORS = "memory_embedding"
# Filled by migrations alone.
NEVER_EMPTIED = {"django_migrations", "django_content_type", "auth_permission"}
# A file all of whose tests need more than themselves.
NO_UNITS = re.compile(r"^pytestmark = .*mark\.(?:django_db|processes)\b", re.M)
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@pytest.fixture(scope="session")
def postgres() -> str:
    """The address of a running Postgres."""
    if url := database.address():
        database.check(url)
        yield url
        return
    with embedded_postgres.session(settings.KENO_HOME, options=CARELESS) as url:
        yield url


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres, django_db_modify_db_settings_parallel_suffix):
    """Only a test that asks for the database pays for its start."""


@pytest.fixture(autouse=True)
def nobody_elses_language():
    """A page in Spanish leaves its language in the thread; the next test begins with its own."""
    yield
    translation.deactivate()


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
def no_program_in_a_unit_test(request, monkeypatch):
    if request.node.get_closest_marker("unit"):
        monkeypatch.setattr(subprocess.Popen, "_execute_child", _refuse_to_start)


def _refuse_to_start(*_args, **_given):
    pytest.fail("This test starts a program: mark it with @pytest.mark.processes.")


@pytest.fixture(autouse=True)
def nothing_known_of_an_earlier_test():
    """What a process keeps of the database for some seconds outlives a test that is rolled back."""
    kept.forget()


def pytest_sessionstart(session):
    # The queue's tables are not Django's: a test that commits would leave its jobs to the next.
    post_migrate.connect(_empty_queue, sender=apps.get_app_config("procrastinate"))
    DatabaseOperations.sql_flush = _empty_the_audit_too(DatabaseOperations.sql_flush)
    TransactionTestCase._fixture_teardown = _emptied_quickly(TransactionTestCase._fixture_teardown)
    if not hasattr(session.config, "workerinput"):
        _sweep_what_killed_runs_left()
        startup.compile_all()


def _empty_queue(*, using: str, **_given) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")


def _emptied_quickly(flush):
    """Between tests that commit: delete from the tables with rows, past every trigger.

    Django would empty all tables and make its permissions anew, which takes ten times as long. It
    does where the tests have no superuser.
    """

    def emptying(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('is_superuser')")
            if cursor.fetchone() != ("on",):
                return flush(self)
            cursor.execute(_tables_with_rows())
            tables = [name for (name,) in cursor.fetchall()]
            # Deleted vectors would stay in the way of a search until the next vacuum.
            cleared = ["TRUNCATE" if name == VECTORS else "DELETE FROM" for name in tables]
            deletes = (f'{verb} "{name}"' for verb, name in zip(cleared, tables, strict=True))
            role = "SET session_replication_role"
            cursor.execute("; ".join([f"{role} = replica", *deletes, f"{role} = DEFAULT"]))

    return emptying


@cache
def _tables_with_rows() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        names = {name for (name,) in cursor.fetchall()} - NEVER_EMPTIED
    return " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT FROM \"{name}\")" for name in sorted(names)
    )


def _empty_the_audit_too(sql_flush):
    """Between tests that commit Django empties every table: then alone the audit allows it."""

    def emptying(self, style, tables, **given):
        audit = [name for name in tables if name in AUDIT_TABLES]
        return [
            *(f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in audit),
            *sql_flush(self, style, tables, **given),
            *(f"ALTER TABLE {name} ENABLE TRIGGER USER" for name in audit),
        ]

    return emptying


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput") and not settings.TEST_HOME_IS_KEPT:
        shutil.rmtree(settings.TEST_HOME, ignore_errors=True)


def pytest_collection_finish(session):
    # Thousands of tests and all modules stay: no use in looking through them for garbage.
    gc.collect()
    gc.freeze()


def pytest_addoption(parser):
    parser.addoption("--shuffle", metavar="SEED", help="files and their tests in a random order")


def pytest_ignore_collect(collection_path, config):
    """With `-m unit`: what has none is not even loaded."""
    if config.getoption("markexpr") != "unit":
        return None
    if collection_path.is_dir():
        return collection_path.name == "browser" or None
    return bool(NO_UNITS.search(collection_path.read_text())) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Mark every test by what it needs: unit (nothing), db, processes or browser."""
    for item in items:
        item.add_marker(_needs(item))
    yield
    if seed := config.getoption("--shuffle"):
        order = Random(seed)
        places = {path: order.random() for path in dict.fromkeys(item.path for item in items)}
        order.shuffle(items)
        items.sort(key=lambda item: places[item.path])


def _needs(item: pytest.Item) -> str:
    if item.path.parent.name == "browser":
        return "browser"
    fixtures = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker("django_db") or fixtures & DATABASE_FIXTURES:
        return "db"
    return "processes" if item.get_closest_marker("processes") else "unit"


def _sweep_what_killed_runs_left() -> None:
    for folder in Path(tempfile.gettempdir()).glob("keno-test-*"):
        try:
            found = folder.stat()
        except FileNotFoundError:
            continue  # another run has just ended
        # A run that is just beginning holds no lock yet.
        old = found.st_mtime < time.time() - 600
        if old and found.st_uid == os.geteuid() and (folder / "home").is_dir():
            _sweep(folder)


def _sweep(folder: Path) -> None:
    mine, os.environ["KENO_POSTGRES_DIR"] = os.environ["KENO_POSTGRES_DIR"], str(folder / "pg")
    try:
        if not in_use(folder / "home"):
            embedded_postgres.stop(folder / "home")
            shutil.rmtree(folder, ignore_errors=True)
    except (OSError, embedded_postgres.EmbeddedError):
        pass  # half made
    finally:
        os.environ["KENO_POSTGRES_DIR"] = mine
