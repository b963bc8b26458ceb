import os
import re
import runpy
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured

from kenoweb.settings import bot


def read(**environment):
    """What a start in this environment makes of the settings."""
    with patch.dict(os.environ, environment, clear=True):
        return runpy.run_path(bot.__file__)


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
    with pytest.raises(ImproperlyConfigured, match=re.escape(says)):
        read(**{variable: value})


def test_the_seeds_names_are_understood():
    assert read(PROVIDER="claude-api")["PROVIDER"] == "anthropic"
    assert read(SESSION_HISTORY_LIMIT="35")["OPTION_DEFAULTS"]["history_messages"] == 35


def test_a_budget_may_be_less_than_a_dollar():
    assert read(BUDGET_DAY="0.5")["OPTION_DEFAULTS"]["budget_day"] == 0.5


def test_milliseconds_become_seconds():
    assert read(CIRCUIT_BREAKER_COOLDOWN="30000")["CIRCUIT_BREAKER_COOLDOWN"] == 30.0
