"""Write numbers, money, dates and choices the way a reader of this language expects them."""

import datetime as dt
import re
from collections.abc import Callable
from functools import lru_cache, wraps

from django import forms
from django.db.models import Model
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.text import Truncator
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from memory.models import Fact
from memory.text import normalise as text

CITIES = {"Mexico City": gettext_lazy("Mexico City"), "London": gettext_lazy("London")}
CHANNELS = {
    "http": "HTTP",
    "web": gettext_lazy("Web"),
    "console": gettext_lazy("Console"),
    "telegram": "Telegram",
    "discord": "Discord",
    "chatgpt": "ChatGPT",
    "mem0": "mem0",
    "api": "API",
}
_ITEM = re.compile(r"(:)?\s*\n\s*(?:- )+")
_DASH = re.compile(r"(^|\s+)(?:- )+(?=[^\s:][^:\n]{0,40}: )")


def cached_by_language(function: Callable) -> Callable:
    """Cache results for each language: Django looks a format up anew every time (0.2 ms)."""
    cached = lru_cache(8192)(lambda _language, *args: function(*args))
    return wraps(function)(lambda *args: cached(get_language(), *args))


def truncatechars(text: object, most: int) -> str:
    """Call Django's own, which looks at every character, only when there is something to cut."""
    text = str(text)
    return text if len(text) <= most else Truncator(text).chars(most)


def one_line(text: str) -> str:
    """Write an episode, a list of who said what, in one line without its dashes."""
    text = _ITEM.sub(lambda match: ": " if match[1] else " · ", text)
    return _DASH.sub(lambda match: " · " if match[1] else "", text)


def word(row: Model, name: str) -> str:
    """Return the label of a choice; get_…_display collects all of them anew for every row."""
    return _word(type(row), name, getattr(row, name))


@cached_by_language
def _word(model: type[Model], name: str, value: str) -> str:
    return str(dict(model._meta.get_field(name).flatchoices).get(value, value))


def number(value: float | None, decimals: int = 0) -> str:
    if value is None:
        return "–"
    # number_format cuts digits off; a reader expects them rounded.
    value = value if isinstance(value, str) else round(value, decimals)
    return _formatted(value, decimals)


@cached_by_language
def _formatted(value: float | str, decimals: int) -> str:
    return number_format(value, decimals, use_l10n=True, force_grouping=True)


def share(value: float | None) -> str:
    """Write a number from 0 to 1: .87 in English, 0,87 in Spanish."""
    text = number(value, 2)
    return text.removeprefix("0") if text.startswith("0.") else text


def about(subject: str) -> str:
    return _("Everything else") if subject == Fact.LORE else subject


def model_name(model: str, provider: str = "") -> str:
    """Name a language model; the built-in one is not a model."""
    if model in ("built-in", "offline") or provider == "offline":
        return _("built in, no model")
    return f"{provider} {model}".strip()


def embedder_name(name: str) -> str:
    """Name an embedding model; the shipped one has a description."""
    if name.startswith("minilm-en-es"):
        return _("built in, English and Spanish")
    return name.partition("@")[0]


def city(zone: str) -> str:
    """Return the city of a time zone, translated where it has another name."""
    name = zone.rpartition("/")[2].replace("_", " ")
    return str(CITIES.get(name, name))


def money(value: float | None) -> str:
    """Write dollars with two digits, and more when a small amount would be shown as nothing."""
    if value is None:
        return "–"
    size = abs(value)
    digits = 2 if size >= 0.1 or not size else 3 if size >= 0.01 else 4
    return f"${number(value, digits)}"


dated = cached_by_language(date_format)


def since(when: dt.datetime, *, now: dt.datetime, long: bool = False) -> str:
    """Write "2 d" or, when long, "2 days ago"; the future is "now"."""
    seconds = max(0, int((now - when).total_seconds()))
    for size, short, phrase in _steps():
        if seconds >= size:
            count = seconds // size
            return phrase(count) if long else f"{count} {short}"
    return _("just now") if long else _("now")


@cached_by_language
def _steps() -> list[tuple]:
    return [
        (31_556_952, _("y"), lambda n: ngettext("%d year ago", "%d years ago", n) % n),
        (2_629_746, _("mo"), lambda n: ngettext("%d month ago", "%d months ago", n) % n),
        (86_400, _("d"), lambda n: ngettext("%d day ago", "%d days ago", n) % n),
        (3_600, _("h"), lambda n: ngettext("%d hour ago", "%d hours ago", n) % n),
        (60, _("min"), lambda n: ngettext("%d minute ago", "%d minutes ago", n) % n),
    ]


HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def codepoint(char: str) -> str:
    return f"U+{ord(char):04X}"


class OneLine(forms.CharField):
    """A short name: one line, without characters that cannot be seen or stored."""

    def to_python(self, value):
        return super().to_python(text.one_line(text.clean(value or "")))


class Several(forms.CharField):
    """Several short texts in one field, separated by a comma or by lines."""

    def __init__(self, *args, parted_by: str, **kwargs):
        super().__init__(*args, **kwargs)
        self.parted_by = parted_by

    def to_python(self, value):
        parts = super().to_python(value).split(self.parted_by.strip(" "))
        return [part.strip() for part in parts if part.strip()]

    def prepare_value(self, value):
        return self.parted_by.join(value) if isinstance(value, list) else value


class Day(forms.DateField):
    """A day, as a browser's date field sends it."""

    def __init__(self, **kwargs):
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(**{"widget": widget, "input_formats": ["%Y-%m-%d"]} | kwargs)


def day_start(day: dt.date | None) -> dt.datetime | None:
    return timezone.make_aware(dt.datetime.combine(day, dt.time.min)) if day else None


def day_end(day: dt.date | None) -> dt.datetime | None:
    return timezone.make_aware(dt.datetime.combine(day, dt.time.max)) if day else None


def day_of(when: dt.datetime | None) -> dt.date | None:
    return timezone.localtime(when).date() if when else None


def channel_name(name: str) -> str:
    return str(CHANNELS.get(name, name.title()))
