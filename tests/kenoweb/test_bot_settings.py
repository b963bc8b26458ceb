import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHOW = "from kenoweb.settings import bot as s; print({})"


def read(expression, **environment):
    """What a fresh process makes of the environment."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW.format(expression)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("MEMORY_DAYS", "31", "MEMORY_DAYS must be a whole number from 0 to 30, not '31'."),
        ("WORKING_MEMORY_STALE_DAYS", "soon", "must be a whole number from 1 to 30"),
        ("MEMORY_DAYS", "--3", "MEMORY_DAYS must be a whole number"),
        ("MEMORY_DAYS", "²", "MEMORY_DAYS must be a whole number"),
        ("BUDGET_DAY", "a little", "BUDGET_DAY must be a number from 0 to 100000"),
        ("BUDGET_DAY", "nan", "BUDGET_DAY must be a number from 0 to 100000"),
        ("USE_RETRIEVAL", "maybe", "USE_RETRIEVAL must be true or false, not 'maybe'."),
        ("PROVIDER", "skynet", "PROVIDER must be one of"),
        ("OPENAI_BASE_URL", "localhost:11434", "must begin with http:// or https://"),
        ("TIMEZONE", "Mars/Olympus", "must be a timezone such as Europe/Madrid"),
        ("MODEL_PRICES", '{"m": [1]}', "MODEL_PRICES must look like"),
        ("MODEL_PRICES", "{", "MODEL_PRICES must look like"),
    ],
)
def test_a_wrong_value_stops_the_start_with_a_sentence(variable, value, says):
    assert says in read("1", **{variable: value})


def test_the_seeds_names_are_understood():
    assert read("s.PROVIDER", PROVIDER="claude-api") == "anthropic"
    assert read("s.OPTION_DEFAULTS['history_messages']", SESSION_HISTORY_LIMIT="35") == "35"


def test_a_budget_may_be_less_than_a_dollar():
    assert read("s.OPTION_DEFAULTS['budget_day']", BUDGET_DAY="0.5") == "0.5"


def test_milliseconds_become_seconds():
    assert read("s.CIRCUIT_BREAKER_COOLDOWN", CIRCUIT_BREAKER_COOLDOWN="30000") == "30.0"
