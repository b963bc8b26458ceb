"""The settings of a space: typed, with defaults, ranges and a word of explanation each."""

from dataclasses import Field, dataclass, field, fields

from django.utils.translation import gettext_lazy as _


def _number(default, low, high, help_text):
    return field(default=default, metadata={"low": low, "high": high, "help": help_text})


def _choice(default, choices, help_text):
    return field(default=default, metadata={"choices": choices, "help": help_text})


@dataclass(frozen=True)
class Options:
    token_budget: int = _number(2000, 200, 32000, _("Tokens of memory a reply may carry."))
    history_messages: int = _number(20, 1, 120, _("Messages of the chat a reply may see."))
    history_minutes: int = _number(15, 1, 1440, _("How far back the short-term window reaches."))
    working_stale_days: int = _number(7, 1, 30, _("Days until a working note is stale."))
    trash_days: int = _number(7, 1, 90, _("Days the trash keeps what was discarded."))
    retention_days: int = _number(30, 1, 3650, _("Days until an episode is summarised."))
    facts_per_subject: int = _number(80, 5, 5000, _("Facts kept active about one subject."))
    lore_cap: int = _number(120, 5, 5000, _("Lore lines kept active."))
    sleep_hour: int = _number(4, 0, 23, _("Local hour after which the night may begin."))
    sleep_minute: int = _number(0, 0, 59, _("Minute of that hour."))
    episodes_per_night: int = _number(20, 1, 100000, _("Episodes a night reads, by salience."))


def read(stored: dict) -> Options:
    """Stored values where they are valid, defaults elsewhere; never fails on old or odd data."""
    return Options(**{f.name: stored[f.name] for f in fields(Options) if _fits(f, stored)})


def problem(name: str, value: object) -> str:
    """Why the value cannot be stored under this name; empty when it can."""
    known = {f.name: f for f in fields(Options)}
    if name not in known:
        return f"There is no setting called {name}."
    if _fits(known[name], {name: value}):
        return ""
    meta = known[name].metadata
    if "choices" in meta:
        return f"{name} must be one of {', '.join(meta['choices'])}."
    return f"{name} must be a number from {meta['low']} to {meta['high']}."


def _fits(option: Field, stored: dict) -> bool:
    if option.name not in stored:
        return False
    value, meta = stored[option.name], option.metadata
    if "choices" in meta:
        return value in meta["choices"]
    if isinstance(option.default, bool):
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return meta["low"] <= value <= meta["high"]
