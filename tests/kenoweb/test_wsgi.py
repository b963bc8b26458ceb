import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from kenoweb.launcher import database

ROOT = Path(__file__).resolve().parents[2]
ASK = "import gc, kenoweb.wsgi; print(gc.get_freeze_count(), gc.get_threshold()[2])"


def test_what_was_loaded_to_serve_is_not_looked_through_for_garbage():
    known = {"KENO_SECRET_KEY": "a" * 50, "DJANGO_SETTINGS_MODULE": "kenoweb.settings"}
    ran = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env=os.environ | known,
        capture_output=True,
        text=True,
        check=True,
    )
    kept, often = map(int, ran.stdout.split())
    assert kept > 50_000
    assert often == 100


@pytest.mark.django_db
def test_a_statement_of_a_page_ends_after_a_minute():
    with connection.cursor() as cursor:
        database.limit_statements(connection)
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("1min",)
        cursor.execute("RESET statement_timeout")
