"""What the bot and its language models read from the environment, checked at start."""

import json
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured

from kenoweb.environment import envbool, envchoice, envint, envnumber, envsecret, envstr

# The seeds' own names are understood too.
_SAME = {"claude-api": "anthropic", "claude": "anthropic", "ollama": "openai", "mock": "offline"}
_NAMES = ("auto", "anthropic", "openai", "claude-cli", "offline", *_SAME)


def _provider(name: str) -> str:
    value = envchoice(name, "auto", choices=_NAMES)
    return _SAME.get(value, value)


def _url(name: str) -> str:
    value = envstr(name)
    if value and not value.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{name} must begin with http:// or https://, not {value!r}.")
    return value


def _zone(name: str) -> str:
    value = envstr(name, "UTC") or "UTC"
    try:
        return ZoneInfo(value).key
    except (ValueError, OSError, LookupError) as error:
        raise ImproperlyConfigured(
            f"{name} must be a timezone such as Europe/Madrid, not {value!r}."
        ) from error


def _prices(name: str) -> dict[str, list[Decimal]]:
    """{"my-model": [in, out]} or [in, out, cached], US dollars for a million tokens."""
    try:
        table = json.loads(envstr(name) or "{}")
        prices = {model: [Decimal(str(price)) for price in row] for model, row in table.items()}
    except (ValueError, TypeError, AttributeError, InvalidOperation):
        prices = {"": []}
    if any(len(row) not in (2, 3) or min(row) < 0 for row in prices.values()):
        raise ImproperlyConfigured(
            f'{name} must look like {{"my-model": [3, 15]}}: dollars per million tokens in, out.'
        )
    return prices


def _defaults(**variables: tuple[str, int, int, int]) -> dict[str, int]:
    """Options of a space that a variable sets for every space that says nothing else."""
    return {
        option: envint(variable, default, low=low, high=high)
        for option, (variable, default, low, high) in variables.items()
    }


ANTHROPIC_API_KEY = envsecret("ANTHROPIC_API_KEY")
ANTHROPIC_BASE_URL = _url("ANTHROPIC_BASE_URL")
OPENAI_API_KEY = envsecret("OPENAI_API_KEY")
OPENAI_BASE_URL = _url("OPENAI_BASE_URL")
CLAUDE_COMMAND = envstr("CLAUDE_COMMAND", "claude") or "claude"

PROVIDER = _provider("PROVIDER")
MODEL = envstr("MODEL")
LLM_TIMEOUT = envint("LLM_TIMEOUT", 60000, low=1000, high=600000) / 1000
CONSCIOUSNESS_ENABLED = envbool("CONSCIOUSNESS_ENABLED", True)
CONSCIOUSNESS_PROVIDER = _provider("CONSCIOUSNESS_PROVIDER")
CONSCIOUSNESS_MODEL = envstr("CONSCIOUSNESS_MODEL")
CONSCIOUSNESS_TIMEOUT = envint("CONSCIOUSNESS_TIMEOUT", 30000, low=5000, high=120000) / 1000
CONSOLIDATION_PROVIDER = _provider("CONSOLIDATION_PROVIDER")
CONSOLIDATION_MODEL = envstr("CONSOLIDATION_MODEL")
CONSOLIDATION_TIMEOUT = envint("CONSOLIDATION_TIMEOUT", 60000, low=5000, high=300000) / 1000
CIRCUIT_BREAKER_THRESHOLD = envint("CIRCUIT_BREAKER_THRESHOLD", 5, low=1, high=100)
CIRCUIT_BREAKER_COOLDOWN = envint("CIRCUIT_BREAKER_COOLDOWN", 60000, low=1000, high=3600000) / 1000
MODEL_PRICES = _prices("MODEL_PRICES")
METRICS_TOKEN = envsecret("METRICS_TOKEN")

# Where people reach the dashboard: for links in messages. Not told, they are given the path alone.
KENO_URL = _url("KENO_URL").rstrip("/")

TIMEZONE = _zone("TIMEZONE")
OPTION_DEFAULTS = _defaults(
    history_messages=("SESSION_HISTORY_LIMIT", 20, 1, 120),
    working_stale_days=("WORKING_MEMORY_STALE_DAYS", 7, 1, 30),
    retention_days=("MEMORY_RETENTION_DAYS", 30, 1, 365),
    memory_days=("MEMORY_DAYS", 3, 0, 30),
) | {
    "use_retrieval": envbool("USE_RETRIEVAL", True),
    "budget_day": envnumber("BUDGET_DAY", 1, low=0, high=100000),
    "budget_month": envnumber("BUDGET_MONTH", 30, low=0, high=1000000),
}
