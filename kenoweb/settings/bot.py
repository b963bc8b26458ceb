"""What the bot, its channels and its models read from the environment, checked at start."""

import json
import re
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured

from kenoweb.environment import envbool, envchoice, envint, envlist, envnumber, envsecret, envstr

# Other names for the providers.
_SAME = {"claude-api": "anthropic", "claude": "anthropic", "ollama": "openai", "mock": "offline"}
_NAMES = ("auto", "anthropic", "openai", "claude-cli", "offline", *_SAME)
_MIN_SECRET = 16


def _provider(name: str) -> str:
    value = envchoice(name, "auto", choices=_NAMES)
    return _SAME.get(value, value)


def _url(name: str) -> str:
    value = envstr(name)
    if value and not value.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{name} must begin with http:// or https://, not {value!r}.")
    return value.rstrip("/")


def _numbers(name: str) -> list[str]:
    values = envlist(name)
    for value in values:
        if not re.fullmatch(r"-?\d{1,20}", value):
            raise ImproperlyConfigured(f"{name} must hold numbers with commas, not {value!r}.")
    return values


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


ANTHROPIC_API_KEY = envsecret("ANTHROPIC_API_KEY")
ANTHROPIC_BASE_URL = _url("ANTHROPIC_BASE_URL")
OPENAI_API_KEY = envsecret("OPENAI_API_KEY")
OPENAI_BASE_URL = _url("OPENAI_BASE_URL")
CLAUDE_COMMAND = envstr("CLAUDE_COMMAND", "claude") or "claude"

PROVIDER = _provider("PROVIDER")
MODEL = envstr("MODEL")
# What owners of spaces may choose among, and what all spaces together may spend.
KENO_MODELS = envlist("KENO_MODELS")
KENO_BUDGET_MONTH = envnumber("KENO_BUDGET_MONTH", 0, low=0, high=1000000)
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

# Where people reach the dashboard, for links in messages; without it, links are only paths.
KENO_URL = _url("KENO_URL")

TIMEZONE = _zone("TIMEZONE")
# What a space has that says nothing else.
OPTION_DEFAULTS = {
    "history_messages": envint("SESSION_HISTORY_LIMIT", 20, low=1, high=120),
    "working_stale_days": envint("WORKING_MEMORY_STALE_DAYS", 7, low=1, high=30),
    "retention_days": envint("MEMORY_RETENTION_DAYS", 30, low=1, high=365),
    "memory_days": envint("MEMORY_DAYS", 3, low=0, high=30),
    "use_retrieval": envbool("USE_RETRIEVAL", True),
    "budget_day": envnumber("BUDGET_DAY", 1, low=0, high=100000),
    "budget_month": envnumber("BUDGET_MONTH", 30, low=0, high=1000000),
}

# How long a reply waits for what its messages teach; what takes longer is learned afterwards.
READ_SECONDS = 0.3
LIMIT_PER_MINUTE = envint("LIMIT_PER_MINUTE", 30, low=0, high=10000)
LIMIT_PER_HOUR = envint("LIMIT_PER_HOUR", 300, low=0, high=100000)

TELEGRAM_BOT_TOKEN = envsecret("TELEGRAM_BOT_TOKEN")
TELEGRAM_ALLOWED_USERS = _numbers("TELEGRAM_ALLOWED_USERS")
TELEGRAM_ALLOWED_CHAT_IDS = _numbers("TELEGRAM_ALLOWED_CHAT_IDS")
TELEGRAM_DEBOUNCE_MS = envint("TELEGRAM_DEBOUNCE_MS", -1, low=-1, high=30000)
TELEGRAM_BASE_URL = _url("TELEGRAM_BASE_URL") or "https://api.telegram.org"
TELEGRAM_WEBHOOK_URL = _url("TELEGRAM_WEBHOOK_URL")
TELEGRAM_WEBHOOK_SECRET = envsecret("TELEGRAM_WEBHOOK_SECRET")
TELEGRAM_WEBHOOK_HOST = envstr("TELEGRAM_WEBHOOK_HOST", "127.0.0.1") or "127.0.0.1"
TELEGRAM_WEBHOOK_PORT = envint("TELEGRAM_WEBHOOK_PORT", 8443, low=1, high=65535)
if TELEGRAM_BOT_TOKEN:
    if not re.fullmatch(r"\d{5,20}:[A-Za-z0-9_-]{30,64}", TELEGRAM_BOT_TOKEN):
        raise ImproperlyConfigured(
            "TELEGRAM_BOT_TOKEN does not look like a token. @BotFather gives one: 123456789:ABC…"
        )
    is_secret = re.fullmatch(r"[A-Za-z0-9_-]{16,256}", TELEGRAM_WEBHOOK_SECRET)
    if TELEGRAM_WEBHOOK_URL and not is_secret:
        raise ImproperlyConfigured(
            "TELEGRAM_WEBHOOK_URL needs TELEGRAM_WEBHOOK_SECRET, 16 to 256 letters, digits, _ or"
            " -: without it anybody could pretend to be Telegram. openssl rand -hex 24 makes one."
        )

DISCORD_BOT_TOKEN = envsecret("DISCORD_BOT_TOKEN")
DISCORD_ALLOWED_USERS = _numbers("DISCORD_ALLOWED_USERS")
DISCORD_ALLOWED_CHANNELS = _numbers("DISCORD_ALLOWED_CHANNELS")
DISCORD_BASE_URL = _url("DISCORD_BASE_URL") or "https://discord.com"

HTTP_ENABLED = envbool("HTTP_ENABLED")
HTTP_HOST = envstr("HTTP_HOST", "127.0.0.1") or "127.0.0.1"
HTTP_PORT = envint("HTTP_PORT", 3000, low=1, high=65535)
HTTP_TIMEOUT = envint("HTTP_TIMEOUT", 60000, low=100, high=600000) / 1000
API_RATE_LIMIT = envint("API_RATE_LIMIT", 60, low=1, high=600)
HTTP_CALLBACK_PRIVATE = envbool("HTTP_CALLBACK_PRIVATE")
WEBHOOK_SECRET = envsecret("WEBHOOK_SECRET")
if HTTP_ENABLED and len(WEBHOOK_SECRET) < _MIN_SECRET:
    raise ImproperlyConfigured(
        f"HTTP_ENABLED needs WEBHOOK_SECRET, at least {_MIN_SECRET} characters:"
        " every request must be signed with it. openssl rand -hex 24 makes one."
    )
