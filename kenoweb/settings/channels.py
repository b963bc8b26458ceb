"""What the channels read from the environment, checked at start."""

import re

from django.core.exceptions import ImproperlyConfigured

from kenoweb.environment import envbool, envint, envlist, envsecret, envstr

_TOKEN = re.compile(r"\d{5,20}:[A-Za-z0-9_-]{30,64}")
# What Telegram takes as a secret token.
_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")
_LEAST = 16


def _numbers(name: str) -> list[str]:
    values = envlist(name)
    for value in values:
        if not re.fullmatch(r"-?\d{1,20}", value):
            raise ImproperlyConfigured(f"{name} must hold numbers with commas, not {value!r}.")
    return values


def _url(name: str) -> str:
    value = envstr(name)
    if value and not value.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{name} must begin with http:// or https://, not {value!r}.")
    return value.rstrip("/")


# So long a reply waits for what its messages teach; what takes longer is learned behind it.
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
    if not _TOKEN.fullmatch(TELEGRAM_BOT_TOKEN):
        raise ImproperlyConfigured(
            "TELEGRAM_BOT_TOKEN does not look like a token. @BotFather gives one: 123456789:ABC…"
        )
    if not (TELEGRAM_ALLOWED_USERS or TELEGRAM_ALLOWED_CHAT_IDS):
        raise ImproperlyConfigured(
            "Nobody may talk to the Telegram bot yet. Set TELEGRAM_ALLOWED_USERS (your number;"
            " @userinfobot tells it) or TELEGRAM_ALLOWED_CHAT_IDS."
        )
    if TELEGRAM_WEBHOOK_URL and not _SECRET.fullmatch(TELEGRAM_WEBHOOK_SECRET):
        raise ImproperlyConfigured(
            "TELEGRAM_WEBHOOK_URL needs TELEGRAM_WEBHOOK_SECRET, 16 to 256 letters, digits, _ or"
            " -: without it anybody could pretend to be Telegram. openssl rand -hex 24 makes one."
        )

HTTP_ENABLED = envbool("HTTP_ENABLED")
HTTP_HOST = envstr("HTTP_HOST", "127.0.0.1") or "127.0.0.1"
HTTP_PORT = envint("HTTP_PORT", 3000, low=1, high=65535)
HTTP_TIMEOUT = envint("HTTP_TIMEOUT", 60000, low=100, high=600000) / 1000
API_RATE_LIMIT = envint("API_RATE_LIMIT", 60, low=1, high=600)
HTTP_CALLBACK_PRIVATE = envbool("HTTP_CALLBACK_PRIVATE")
WEBHOOK_SECRET = envsecret("WEBHOOK_SECRET")
if HTTP_ENABLED and len(WEBHOOK_SECRET) < _LEAST:
    raise ImproperlyConfigured(
        f"HTTP_ENABLED needs WEBHOOK_SECRET, at least {_LEAST} characters:"
        " every request must be signed with it. openssl rand -hex 24 makes one."
    )
