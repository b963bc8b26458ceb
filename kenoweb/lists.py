"""What stands around every list of memory: chips, views, numbers and the day it looks back to."""

from dataclasses import dataclass
from datetime import date

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from kenoweb.access import things
from kenoweb.filters import HERE, Filter
from kenoweb.paging import CAP
from kenoweb.templatetags.keno import number
from memory.models import Chat, Space

CHATS = 200


class Listed:
    """What every list of memory says of itself, from its filter, its address and its number."""

    cap: int = CAP

    @property
    def count(self) -> str:
        return about(self.found, self.cap)

    @property
    def is_past(self) -> bool:
        return self.filter.when is not None

    @property
    def day(self) -> str:
        return said_day(self.filter.day)

    @property
    def here(self) -> str:
        return f"{self.url}?{self.query}" if self.query else self.url

    @property
    def today(self) -> str:
        return there(self.url, self.filter, as_of="")


class ListedByKind:
    """A list of several kinds of rows: the newest of each, or one kind alone."""

    @property
    def count(self) -> str:
        return about(self.found)

    @property
    def is_cut(self) -> bool:
        """Some of a kind are only on the list of that kind."""
        return not self.filter.kind and len(self.rows) < self.found


@dataclass(frozen=True)
class Chip:
    """One thing the filter says, and the address that no longer says it."""

    label: str
    value: str
    url: str


@dataclass(frozen=True)
class View:
    """A filter with a name, as a tab."""

    label: str
    url: str
    count: str = ""
    current: bool = False


@dataclass(frozen=True)
class Select:
    """A field of the filter form with its choices."""

    name: str
    label: str
    choices: list[tuple[str, str]]
    value: str


def chips(wanted: Filter, *, url: str, labels: dict[str, str], chats: list[Chat]) -> list[Chip]:
    """What differs from the usual, in the order of `labels`."""
    usual = type(wanted)()
    return [
        Chip(label, shown(wanted, name, chats), there(url, wanted, **{name: getattr(usual, name)}))
        for name, label in labels.items()
        if getattr(wanted, name) != getattr(usual, name)
    ]


def shown(wanted: Filter, name: str, chats: list[Chat]) -> str:
    value = getattr(wanted, name)
    if name == "chat":
        return next((text for key, text in chat_choices(chats) if key == value), value)
    if name == "as_of":
        return said_day(wanted.day)
    return str(wanted.CHOICES.get(name, {}).get(value, value))


def selects(wanted: Filter, labels: dict[str, str], *, chats: list[Chat]) -> list[Select]:
    """A field for each name that has choices."""
    known = {name: list(choices.items()) for name, choices in wanted.CHOICES.items()}
    known |= {
        "chat": [("", _("Everywhere")), *chat_choices(chats)],
        "sort": [*wanted.SORTS.items()],
    }
    return [
        Select(name, label, known[name], getattr(wanted, name))
        for name, label in labels.items()
        if name in known
    ]


def chats_of(space: Space) -> list[Chat]:
    """The chats a filter or a form offers, the busiest lately first."""
    known = things(space, Chat).only("title", "key")
    return list(known.order_by("-last_message_at", "-pk")[:CHATS])


def chat_choices(chats: list[Chat]) -> list[tuple[str, str]]:
    return [(HERE, _("The whole space")), *((str(chat.pk), str(chat)) for chat in chats)]


def there(url: str, wanted: Filter, **changes: str) -> str:
    query = wanted.query(**changes)
    return f"{url}?{query}" if query else url


def about(count: int, cap: int = CAP) -> str:
    """A number that stopped counting says so."""
    return f"{number(cap)}+" if count > cap else number(count)


def said_day(day: date | None) -> str:
    return date_format(day, "DATE_FORMAT") if day else ""
