"""Where logs go: one line of JSON each, to the standard error output."""

from kenoweb.environment import envchoice

LOG_LEVEL = envchoice("LOG_LEVEL", "info", choices=("debug", "info", "warning", "warn", "error"))
LOG_FORMAT = envchoice("LOG_FORMAT", "json", choices=("json", "plain"))
_LEVEL = {"warn": "WARNING"}.get(LOG_LEVEL, LOG_LEVEL.upper())
# A line for every job and every SQL statement helps nobody.
_QUIET = "INFO" if LOG_LEVEL == "debug" else "WARNING"
_SILENT = "INFO" if LOG_LEVEL == "debug" else "CRITICAL"
_OURS_TO_TELL = ("procrastinate.worker", "procrastinate.utils", "psycopg.pool")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "memory.logs.JsonFormatter"},
        "plain": {"()": "memory.logs.PlainFormatter"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        **{app: {"level": _LEVEL} for app in ("memory", "sleep", "bot", "kenoweb")},
        **{name: {"level": _QUIET} for name in ("procrastinate", "httpx2", "psycopg")},
        # bot.dead_letter_middleware reports failed jobs and bot.worker a lost database.
        **{name: {"level": _SILENT} for name in _OURS_TO_TELL},
        # Without handlers of its own everything is printed once, by ours.
        **{name: {"level": _QUIET, "handlers": []} for name in ("django", "django.server")},
    },
}
