"""The short form of `python -m bench.chaos`: killed at known points, nothing lost or doubled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection, connections

from tests.database_url import url_of

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.django_db(transaction=True)
def test_r01_r03_kill_9_loses_doubles_and_disorders_nothing(tmp_path):
    out = tmp_path / "chaos.json"
    values = connection.settings_dict
    command = [sys.executable, "-m", "bench.chaos", "--json", str(out)]
    # A copy of the tables is quicker than making them; nobody may be connected to the original.
    command += ["--template", values["NAME"]]
    connections.close_all()
    run = subprocess.run(
        [*command, "--messages", "24", "--chats", "4", "--kills", "3"],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "kenoweb.settings",
            "DATABASE_URL": url_of(values | {"NAME": "postgres"}),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert out.exists(), run.stderr[-4000:]
    found = json.loads(out.read_text())
    assert found["kills"] == 3
    assert found["finished"]
    wrong = ("lost", "undelivered", "doubled_replies", "doubled_facts", "out_of_order")
    assert {name: found[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert found["facts"] == 24
    assert found["duplicate_deliveries"] <= 3
