"""An empty database gets in one step what the migrations would make in many."""

import subprocess
import sys

import pytest

from tests.kenoweb.running import manage
from tests.kenoweb.servers import Homes

pytestmark = pytest.mark.processes
# Of other migrations, then of these, but with a statement that fails.
TRIED = """
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from kenoweb.launcher import schema
head = schema.fingerprint(MigrationLoader(connection))
schema.FILE = schema.FILE.parent / {file!r}
for first in ("-- of another version", head):
    schema.FILE.write_text(first + "\\nCREATE TABLE public.half (id integer); SELECT 1 / 0;")
    print(schema.load(), connection.introspection.table_names())
"""


def test_the_tables_are_those_of_the_migrations():
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.schema"], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr


def test_where_it_does_not_fit_nothing_is_made(tmp_path):
    homes = Homes()
    home = homes.new()
    planned = manage(home, "migrate", "--plan")
    told = manage(home, "shell", "-v", "0", "-c", TRIED.format(file=str(tmp_path / "other.sql")))
    homes.clear()
    assert "memory.0001_initial" in planned.stdout
    assert told.stdout.splitlines() == ["False []", "False []"], told.stderr
