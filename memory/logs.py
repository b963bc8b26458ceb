"""Logs as JSON lines: a trace id through everything one turn does, and no secret in them."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_trace: ContextVar[str] = ContextVar("trace", default="")
# What the logging module itself puts on a record; the rest is what the caller added.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
MAX_LENGTH = 2000


@contextmanager
def trace(name: str) -> Iterator[str]:
    """Add this trace id to everything logged inside."""
    token = _trace.set(name)
    try:
        yield name
    finally:
        _trace.reset(token)


def current_trace() -> str:
    return _trace.get()


class JsonFormatter(logging.Formatter):
    """One line of JSON per record. Line breaks and secrets cannot get out."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "subsystem": record.name,
            "event": _safe(record.getMessage()),
        }
        if name := current_trace():
            line["trace"] = name
        if data := {k: _plain(v) for k, v in vars(record).items() if k not in _STANDARD}:
            line["data"] = data
        if record.exc_info:
            line["error"] = _safe(self.formatException(record.exc_info)[-MAX_LENGTH:])
        return json.dumps(line, ensure_ascii=False)


class PlainFormatter(JsonFormatter):
    """One readable line per record, for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        line = json.loads(super().format(record))
        data = " ".join(f"{key}={value}" for key, value in line.get("data", {}).items())
        parts = [line["level"], line.get("trace", ""), line["event"], data]
        return " ".join(part for part in parts if part) + (
            "\n" + line["error"] if "error" in line else ""
        )


def _plain(value: object) -> object:
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner) for inner in value]
    return _safe(str(value))


def _safe(text: str) -> str:
    # Imported late: logging is set up before Django's apps are.
    from memory.guards.inspect import redact
    from memory.text.normalise import clean

    return redact(clean(text[:MAX_LENGTH]))[0]
