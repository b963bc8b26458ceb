"""Reading the environment: typed, and with a sentence when a value is wrong."""

import os
import re
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def read_file(path: Path) -> None:
    """Set the variables of the lines NAME=value of the file; those that are set already stay."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        name, is_one, value = line.strip().removeprefix("export ").partition("=")
        if is_one and re.fullmatch(r"[A-Z][A-Z0-9_]*", name.strip()):
            value = value.strip()
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            os.environ.setdefault(name.strip(), value[1:-1] if is_quoted else value)


def envstr(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def envbool(name: str, default: bool = False) -> bool:
    value = envstr(name).lower()
    values = dict.fromkeys(("1", "true", "yes", "on"), True) | {"": default}
    values |= dict.fromkeys(("0", "false", "no", "off"), False)
    if value not in values:
        raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")
    return values[value]


def envint(name: str, default: int, *, low: int, high: int) -> int:
    value = envstr(name)
    if not value:
        return default
    if not re.fullmatch(r"-?[0-9]{1,18}", value) or not low <= int(value) <= high:
        words = f"a whole number from {low} to {high}"
        raise ImproperlyConfigured(f"{name} must be {words}, not {value!r}.")
    return int(value)


def envnumber(name: str, default: float, *, low: float, high: float) -> float:
    value = envstr(name)
    if not value:
        return default
    if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,18})?", value) or not low <= float(value) <= high:
        raise ImproperlyConfigured(f"{name} must be a number from {low} to {high}, not {value!r}.")
    return float(value)


def envchoice(name: str, default: str, *, choices: tuple[str, ...]) -> str:
    value = envstr(name, default).lower() or default
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    return value


def envlist(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in envstr(name, default).split(",") if part.strip()]


def envsecret(name: str) -> str:
    """Return the value, or the text of the file that NAME_FILE points to."""
    if value := envstr(name):
        return value
    path = envstr(f"{name}_FILE")
    if not path:
        return ""
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}.") from error
