"""The embedded Postgres: placeholder address until the supervisor lands."""

from pathlib import Path


def url(home: Path) -> str:
    return "postgresql:///keno?host=/nonexistent"
