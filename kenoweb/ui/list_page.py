"""The parts shared by all lists: chips of the filter, views, counts and the day looked back to."""

from dataclasses import dataclass
from datetime import date

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in
from kenoweb.ui.filters import HERE, Filter
from kenoweb.ui.formatting import number
from kenoweb.ui.paging import COUNT_LIMIT
from memory.models import Chat, Space

CHATS = 200


class ListPage:
    """Texts and URLs that every list derives from its filter, its URL and its count."""

    cap: int = COUNT_LIMIT

    @property
    def count(self) -> str:
        return capped_number(self.found, self.cap)

    @property
    def is_past(self) -> bool:
        return self.filter.when is not None

    @property
    def day(self) -> str:
        return format_day(self.filter.day)

    @property
    def here(self) -> str:
        return f"{self.url}?{self.query}" if self.query else self.url

    @property
    def today(self) -> str:
        return filter_url(self.url, self.filter, as_of="")


class ListPageByKind:
    """A list of several kinds of rows: the newest of each, or one kind alone."""

    @property
    def count(self) -> str:
        return capped_number(self.found)

    @property
    def is_cut(self) -> bool:
        """Some of a kind are only on the list of that kind."""
        return not self.filter.kind and len(self.rows) < self.found


@dataclass(frozen=True)
class Chip:
    """One part of the filter, and the URL of the list without it."""

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
    """Return a chip for each value that is not the default, in the order of `labels`."""
    usual = type(wanted)()
    return [
        Chip(
            label,
            shown(wanted, name, chats),
            filter_url(url, wanted, **{name: getattr(usual, name)}),
        )
        for name, label in labels.items()
        if getattr(wanted, name) != getattr(usual, name)
    ]


def shown(wanted: Filter, name: str, chats: list[Chat]) -> str:
    value = getattr(wanted, name)
    if name == "chat":
        return next((text for key, text in chat_choices(chats) if key == value), value)
    if name == "as_of":
        return format_day(wanted.day)
    return str(wanted.CHOICES.get(name, {}).get(value, value))


def selects(wanted: Filter, labels: dict[str, str], *, chats: list[Chat]) -> list[Select]:
    """Return a select for each name that has choices."""
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
    """Return the chats that a filter or a form offers, the most recently used first."""
    known = rows_in(space, Chat).only("title", "key")
    return list(known.order_by("-last_message_at", "-pk")[:CHATS])


def chat_choices(chats: list[Chat]) -> list[tuple[str, str]]:
    return [(HERE, _("The whole space")), *((str(chat.pk), str(chat)) for chat in chats)]


def filter_url(url: str, wanted: Filter, **changes: str) -> str:
    query = wanted.query(**changes)
    return f"{url}?{query}" if query else url


def capped_number(count: int, cap: int = COUNT_LIMIT) -> str:
    """Format a count; "1,000+" when counting stopped at the limit."""
    return f"{number(cap)}+" if count > cap else number(count)


def format_day(day: date | None) -> str:
    return date_format(day, "DATE_FORMAT") if day else ""
