"""The options of a space: typed, with defaults, ranges and help texts."""

import re
from dataclasses import Field, dataclass, field, fields
from functools import cache

from django.conf import settings
from django.utils.translation import gettext_lazy as _


def _number(default, low, high, help_text):
    return field(default=default, metadata={"low": low, "high": high, "help": help_text})


def _switch(default, help_text):
    return field(default=default, metadata={"help": help_text})


def _choice(default, choices, help_text):
    return field(default=default, metadata={"choices": choices, "help": help_text})


def _gate(help_text):
    return _choice("believe", ("believe", "hold", "read_only"), help_text)


def _text(default, help_text):
    return field(default=default, metadata={"pattern": r"[\w.:/@+-]{0,120}", "help": help_text})


# Stored by older versions under another word.
RENAMED_VALUES = {"recall_profile": {"seed004": "classic"}}
PROVIDERS = ("auto", "anthropic", "openai", "claude-cli", "offline")
BELIEVE, HOLD, READ_ONLY = GATES = ("believe", "hold", "read_only")


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
    use_retrieval: bool = _switch(
        True, _("Recall what fits the message. When off, replies see the newest notes.")
    )
    recall_profile: str = _text("keno", _("How recall ranks: keno, classic or a profile of yours."))
    recall_strict: bool = _switch(
        False, _("Recall only what surely fits. When off, recall the best there is.")
    )
    shared_with: str = _choice(
        "everybody",
        ("everybody", "members"),
        _("Who hears what the whole space knows: everybody allowed in a chat, or linked members."),
    )
    private_chats: bool = _switch(
        False, _("New chats in the browser are private to whoever begins them.")
    )
    judge_ms: int = _number(
        80, 0, 2000, _("Milliseconds in which the judge may read the best memories; 0 means never.")
    )
    receipt_days: int = _number(90, 1, 3650, _("Days that receipts of recalls are kept."))
    log_days: int = _number(
        400, 7, 3650, _("Days that model calls, seen notices and sent messages are kept.")
    )
    call_days: int = _number(
        0,
        0,
        14,
        _("Days that the words of model calls can be read, without secrets; 0 means never."),
    )
    expand_search: bool = _switch(False, _("Let the small model add words to search by."))
    memory_days: int = _number(3, 0, 30, _("Days of notes a reply sees when recall is off."))
    chat_provider: str = _choice("auto", PROVIDERS, _("The provider that answers in chats."))
    chat_model: str = _text(
        "", _("The model that answers in chats. Leave empty for the provider's default.")
    )
    fast_provider: str = _choice(
        "auto", PROVIDERS, _("The provider that finds facts and search words.")
    )
    fast_model: str = _text("", _("The small model for facts, search words and summaries."))
    sleep_provider: str = _choice("auto", PROVIDERS, _("The provider of the night."))
    sleep_model: str = _text("", _("The model of the night."))
    budget_day: float = _number(1, 0, 100000, _("US dollars a day; 0 means no limit."))
    budget_month: float = _number(30, 0, 1000000, _("US dollars a month; 0 means no limit."))
    budget_night: float = _number(
        0.5, 0, 100000, _("US dollars a night may spend on its model; 0 means no limit.")
    )
    night_questions: int = _number(200, 0, 100000, _("Questions a night may ask its model."))
    budget_action: str = _choice(
        "cheap",
        ("warn", "cheap", "pause"),
        _("What happens when the budget is spent."),
    )
    batch_silence: float = _number(2, 0, 30, _("Seconds of silence before Keno answers."))
    batch_size: int = _number(5, 1, 50, _("Messages after which Keno answers at once."))
    batch_wait: float = _number(10, 0, 60, _("Seconds a message waits at most."))
    mirror: bool = _switch(
        False, _("Keep a folder of Markdown files in step; changes in it become proposals.")
    )
    first_conversation: bool = _switch(
        False, _("Begin a new space by getting to know each other; memory is not read meanwhile.")
    )
    learning_feedback: bool = _switch(True, _("Show under a reply what was learned from it."))
    believe_from: float = _number(
        0.8,
        0,
        1,
        _("How sure Keno must be to believe what it hears. At 1 it never does so by itself."),
    )
    offer_from: float = _number(
        0.5,
        0,
        1,
        _("How sure Keno must be to offer what it does not believe. Below this it offers nothing."),
    )
    gate_telegram: str = _gate(_("What becomes of what people say in Telegram."))
    gate_discord: str = _gate(_("What becomes of what people say in Discord."))
    gate_http: str = _gate(_("What becomes of what comes by the HTTP channel."))
    gate_web: str = _gate(_("What becomes of what people say in the chats of the dashboard."))
    gate_tags: str = _gate(_("What becomes of what a model notes in the tags of its replies."))
    gate_imports: str = _gate(_("What becomes of facts that a file brings."))
    check_home_days: int = _number(
        365, 0, 3650, _("Days until home and work are asked about again; 0 means never.")
    )
    check_taste_days: int = _number(
        730, 0, 3650, _("Days until likes and dislikes are asked about again; 0 means never.")
    )
    check_health_days: int = _number(
        182, 0, 3650, _("Days until health is asked about again; 0 means never.")
    )
    check_plan_days: int = _number(
        1, 0, 365, _("Days after a plan until Keno asks whether it happened; 0 means never.")
    )
    checks_a_day: int = _number(5, 0, 50, _("Facts that are asked about a day."))
    check_in_chat: bool = _switch(
        False, _("Ask in the chat, too, where a person talks to Keno alone; once a day.")
    )


def gate(options: Options, *paths: str) -> str:
    """Return the strictest gate of these ways into memory; one that has none is believed."""
    gates = [getattr(options, f"gate_{path}", BELIEVE) for path in paths]
    return max(gates, key=GATES.index)


def read(stored: dict) -> Options:
    """Return stored values where they are valid, defaults elsewhere; never fails on odd data."""
    options, values = _options_by_name(), {}
    for source in (settings.OPTION_DEFAULTS, stored):
        # Only a few are stored, and a turn reads them often.
        values |= {
            name: RENAMED_VALUES.get(name, {}).get(value, value)
            for name, value in source.items()
            if name in options and _fits(options[name], source)
        }
    return Options(**values)


@cache
def _options_by_name() -> dict[str, Field]:
    return {option.name: option for option in fields(Options)}


def validation_error(name: str, value: object) -> str:
    """Return why the value cannot be stored under this name; empty when it can."""
    options = _options_by_name()
    if name not in options:
        return f"There is no setting called {name}."
    allowed = {model.partition("/")[0] for model in settings.KENO_MODELS}
    if name.endswith("_provider") and allowed and value not in {"auto", "offline", *allowed}:
        return f"{name} must be one that this installation allows (KENO_MODELS)."
    if _fits(options[name], {name: value}):
        return ""
    meta = options[name].metadata
    if "choices" in meta:
        return f"{name} must be one of {', '.join(meta['choices'])}."
    if "pattern" in meta:
        return f"{name} must be the name of a model, without spaces."
    if isinstance(options[name].default, bool):
        return f"{name} must be on or off."
    return f"{name} must be a number from {meta['low']} to {meta['high']}."


def _fits(option: Field, stored: dict) -> bool:
    if option.name not in stored:
        return False
    value, meta = stored[option.name], option.metadata
    if "choices" in meta:
        return value in meta["choices"]
    if "pattern" in meta:
        return isinstance(value, str) and bool(re.fullmatch(meta["pattern"], value))
    if isinstance(option.default, bool):
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return meta["low"] <= value <= meta["high"]
