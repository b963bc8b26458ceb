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


def kept_by_language(size: int) -> Callable[[Callable], Callable]:
    """Keep what the function gives, for each language: Django looks everything up every time."""

    def decorate(function):
        kept = lru_cache(size)(lambda _language, *given: function(*given))

        @wraps(function)
        def inside(*given):
            return kept(get_language(), *given)

        return inside

    return decorate


def truncatechars(text: object, most: int) -> str:
    """Django's own, which counts every sign, only where there is something to cut off."""
    text = str(text)
    return text if len(text) <= most else Truncator(text).chars(most)


def one_line(said: str) -> str:
    """An episode is a list of who said what; in one line its dashes mean nothing."""
    said = _ITEM.sub(lambda found: ": " if found[1] else " · ", said)
    return _DASH.sub(lambda found: " · " if found[1] else "", said)


def word(row: Model, name: str) -> str:
    """The label of a choice; get_…_display gathers all of them anew for every row."""
    return _word(type(row), name, getattr(row, name))


@kept_by_language(1024)
def _word(model: type[Model], name: str, value: str) -> str:
    return str(dict(model._meta.get_field(name).flatchoices).get(value, value))


def number(value: float | None, decimals: int = 0) -> str:
    if value is None:
        return "–"
    # number_format cuts digits off; a reader expects them rounded.
    value = value if isinstance(value, str) else round(value, decimals)
    return _formatted(value, decimals)


@kept_by_language(4096)
def _formatted(value: float | str, decimals: int) -> str:
    return number_format(value, decimals, use_l10n=True, force_grouping=True)


def share(value: float | None) -> str:
    """A number from 0 to 1 as the pages write it: .87 in English, 0,87 in Spanish."""
    text = number(value, 2)
    return text.removeprefix("0") if text.startswith("0.") else text


def about(subject: str) -> str:
    """Whom or what a fact is about."""
    return _("Everything else") if subject == Fact.LORE else subject


def model_name(model: str, provider: str = "") -> str:
    """A language model as people call it; the built-in one is not a model."""
    if model in ("built-in", "offline") or provider == "offline":
        return _("built in, no model")
    return f"{provider} {model}".strip()


def embedder_name(name: str) -> str:
    """A model of meaning as people call it: the one that comes along, or its name."""
    if name.startswith("minilm-en-es"):
        return _("built in, English and Spanish")
    return name.partition("@")[0]


def city(zone: str) -> str:
    """A time zone as people call it: its city, in their language where it has another name."""
    name = zone.rpartition("/")[2].replace("_", " ")
    return str(CITIES.get(name, name))


def money(value: float | None) -> str:
    """Dollars: two digits, and as many as a small amount needs to be more than nothing."""
    if value is None:
        return "–"
    size = abs(value)
    digits = 2 if size >= 0.1 or not size else 3 if size >= 0.01 else 4
    return f"${number(value, digits)}"


@kept_by_language(8192)
def dated(day: dt.date, shape: str) -> str:
    """date_format for lists and charts."""
    return date_format(day, shape)


def since(when: dt.datetime, *, now: dt.datetime, long: bool = False) -> str:
    """ "2 d" or "2 days ago"; the future is "now"."""
    seconds = max(0, int((now - when).total_seconds()))
    for size, short, phrase in _steps():
        if seconds >= size:
            count = seconds // size
            return phrase(count) if long else f"{count} {short}"
    return _("just now") if long else _("now")


@kept_by_language(8)
def _steps() -> list[tuple]:
    return [
        (31_556_952, _("y"), lambda n: ngettext("%d year ago", "%d years ago", n) % n),
        (2_629_746, _("mo"), lambda n: ngettext("%d month ago", "%d months ago", n) % n),
        (86_400, _("d"), lambda n: ngettext("%d day ago", "%d days ago", n) % n),
        (3_600, _("h"), lambda n: ngettext("%d hour ago", "%d hours ago", n) % n),
        (60, _("min"), lambda n: ngettext("%d minute ago", "%d minutes ago", n) % n),
    ]


HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def code(sign: str) -> str:
    return f"U+{ord(sign):04X}"


class OneLine(forms.CharField):
    """A short name: one line, without what cannot be seen or stored."""

    def to_python(self, value):
        return super().to_python(text.one_line(text.clean(value or "")))


class Several(forms.CharField):
    """Several short texts in one field, parted by a comma or by lines."""

    def __init__(self, *args, parted_by: str, **given):
        super().__init__(*args, **given)
        self.parted_by = parted_by

    def to_python(self, value):
        parts = super().to_python(value).split(self.parted_by.strip(" "))
        return [part.strip() for part in parts if part.strip()]

    def prepare_value(self, value):
        return self.parted_by.join(value) if isinstance(value, list) else value


class Day(forms.DateField):
    """A day, as a browser's date field sends it."""

    def __init__(self, **given):
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(**{"widget": widget, "input_formats": ["%Y-%m-%d"]} | given)


def day_start(day: dt.date | None) -> dt.datetime | None:
    """The first moment of the day by the clock of the space."""
    return timezone.make_aware(dt.datetime.combine(day, dt.time.min)) if day else None


def day_end(day: dt.date | None) -> dt.datetime | None:
    return timezone.make_aware(dt.datetime.combine(day, dt.time.max)) if day else None


def day_of(when: dt.datetime | None) -> dt.date | None:
    return timezone.localtime(when).date() if when else None


def channel_name(name: str) -> str:
    """A way to talk with Keno, as people call it."""
    return str(CHANNELS.get(name, name.title()))
