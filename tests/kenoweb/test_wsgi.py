import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes
ROOT = Path(__file__).resolve().parents[2]
GARBAGE = "import gc, kenoweb.wsgi; print(gc.get_freeze_count(), gc.get_threshold()[2])"
LIMIT = """
import kenoweb.wsgi
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SHOW statement_timeout")
    print(cursor.fetchone()[0])
"""


def told(code: str, **known: str) -> list[str]:
    """What a process that serves pages prints."""
    known |= {"KENO_SECRET_KEY": "a" * 50, "DJANGO_SETTINGS_MODULE": "kenoweb.settings"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | known,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


def test_what_was_loaded_to_serve_is_not_looked_through_for_garbage():
    kept, often = map(int, told(GARBAGE))
    assert kept > 50_000
    assert often == 100


def test_a_statement_of_a_page_ends_after_a_minute(postgres):
    assert told(LIMIT, DATABASE_URL=postgres) == ["1min"]
