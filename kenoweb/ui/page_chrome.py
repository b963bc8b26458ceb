"""The navigation around every page: its links with counts, and the spaces."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from django.apps import apps
from django.core.cache import cache
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from kenoweb import demo
from kenoweb.auth.access import LAST_SPACE, memberships, rows_in
from kenoweb.ui.list_page import counted
from kenoweb.ui.responses import space_url
from memory import working
from memory.guards import screening
from memory.models import Member, Space

THEMES = ("light", "auto", "dark")
THEME_COOKIE = "keno_theme"
# Counting stops here, so that the navigation costs the same in a large memory.
COUNT_LIMIT = 10_000
# Larger counts are cached: one more makes no visible difference, and counting is slow.
CACHED_FROM = 2_000
CACHE_SECONDS = 60


@dataclass(frozen=True)
class Place:
    """A page: its URL name, its icon and its letter after g."""

    name: str
    label: str
    icon: str
    key: str
    role: str = "viewer"


NAVIGATION = [
    (
        _("Now"),
        [
            Place("overview:index", _("Overview"), "overview", "o"),
            Place("chats:index", _("Chats"), "chat", "c"),
            Place("working:index", _("Working notes"), "note", "w"),
            Place("notices:index", _("Notices"), "bell", "a"),
        ],
    ),
    (
        _("Memory"),
        [
            Place("facts:index", _("Facts"), "fact", "f"),
            Place("people:index", _("People and things"), "members", "j"),
            Place("episodes:index", _("Episodes"), "episode", "e"),
            Place("patterns:index", _("Patterns"), "pattern", "t"),
            Place("identity:index", _("Identity"), "identity", "i"),
            Place("map:index", _("Map"), "map", "u"),
        ],
    ),
    (
        _("Night"),
        [
            Place("proposals:index", _("Proposals"), "proposal", "p"),
            Place("nights:index", _("Nights"), "night", "n"),
            Place("rulings:index", _("Rulings"), "ruling", "r"),
        ],
    ),
    (
        _("Care"),
        [
            Place("recall:lab", _("Recall lab"), "recall", "l"),
            Place("recall:receipts", _("Receipts"), "receipt", "k"),
            Place("golden:index", _("Golden questions"), "check", "2"),
            Place("quarantine:index", _("Quarantine"), "shield", "q"),
            Place("trash:index", _("Trash"), "trash", "b"),
            Place("audit:index", _("Audit"), "history", "h", role="curator"),
            Place("costs:index", _("Costs"), "cost", "m"),
            Place("health:index", _("Health"), "health", "d"),
            Place("transfer:index", _("Import and export"), "transfer", "x", role="owner"),
            Place("connect:index", _("Connect"), "plug", "1", role="owner"),
            Place("settings:index", _("Settings"), "settings", "s", role="owner"),
        ],
    ),
]


def _of(model: str, **where: object) -> Callable[[Space], list[QuerySet]]:
    return lambda space: [rows_in(space, apps.get_model(model)).filter(**where)]


# What the numbers count; the pages of DUE wait for a person.
COUNTED = {
    "chats:index": _of("memory.Chat"),
    "working:index": lambda space: [working.written(space)],
    "notices:index": _of("memory.Notice", seen_at=None),
    "facts:index": _of("memory.Fact", status="active"),
    "episodes:index": _of("memory.Episode", status__in=["open", "closed", "archived"]),
    "patterns:index": _of("memory.Pattern", status="active"),
    "proposals:index": _of("sleep.Proposal", status="pending"),
    "quarantine:index": lambda space: list(screening.pending(space).values()),
}
DUE = {"notices:index", "proposals:index", "quarantine:index"}
SPACE_MENU = [
    Place("members:index", _("Members"), "members", "y"),
    Place("tokens:index", _("API tokens"), "key", "v", role="owner"),
    Place("spaces:edit", _("This space"), "edit", "z", role="owner"),
]
TABS = ["overview:index", "facts:index", "proposals:index", "chats:index"]
# Rooms and pages that are shown as a part of another room.
PART_OF = {
    "still_true": "proposals",
    "members": "settings",
    "tokens": "settings",
    "spaces:edit": "settings",
    "dead_letters": "health",
}
NAMED = {place.name for _title, places in NAVIGATION for place in places}


@dataclass(frozen=True)
class Link:
    label: str
    url: str
    icon: str
    key: str = ""
    count: str = ""
    due: bool = False
    current: bool = False
    name: str = ""


@dataclass(frozen=True)
class PageChrome:
    space: Space | None = None
    role: str = ""
    spaces: list[Link] = field(default_factory=list)
    groups: list[tuple[str, list[Link]]] = field(default_factory=list)
    menu: list[Link] = field(default_factory=list)
    tabs: list[Link] = field(default_factory=list)
    search: str = ""
    events: str = ""

    @property
    def demo_percent(self) -> int | None:
        """How far the demo is while it is made; None for other spaces."""
        return demo.percent(self.space) if self.space else None


def page_chrome(request: HttpRequest) -> dict:
    """Context processor; nothing is read from the database unless a template asks."""
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {
        "chrome": SimpleLazyObject(lambda: build(request)),
        "theme": theme if theme in THEMES else "auto",
        "on_screen": on_screen(request),
    }


def on_screen(request: HttpRequest) -> str:
    """Return the URL of the page that a form comes back to; never the URL that was posted to."""
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    htmx = getattr(request, "htmx", None)
    return (htmx and htmx.current_url_abs_path) or ""


def build(request: HttpRequest) -> PageChrome:
    members = memberships(request) if hasattr(request, "user") else []
    here = _current(request, members)
    if here is None:
        return PageChrome()
    view = request.resolver_match.view_name if request.resolver_match else ""
    counts = count_all(here.space)

    def links(places: list[Place]) -> list[Link]:
        return [link(place, here.space, view, counts) for place in places if here.may(place.role)]

    groups = [(title, links(places)) for title, places in NAVIGATION]
    by_name = {link.name: link for _title, group in groups for link in group}
    spaces = [member.space for member in members if member == here or not member.space.archived_at]
    return PageChrome(
        space=here.space,
        role=here.role,
        spaces=[_space_link(space, here.space) for space in spaces],
        groups=groups,
        menu=links(SPACE_MENU),
        tabs=[by_name[name] for name in TABS],
        search=space_url("search:index", here.space),
        events=space_url("events:index", here.space),
    )


def _space_link(space: Space, here: Space) -> Link:
    return Link(space.name, space_url("overview:index", space), "check", current=space == here)


def _current(request: HttpRequest, members: list[Member]) -> Member | None:
    """Return the membership of the URL's space, else of the last visited one, else the first."""
    kwargs = request.resolver_match.kwargs if request.resolver_match else {}
    by_slug = {member.space.slug: member for member in members}
    here = by_slug.get(kwargs.get("space")) or by_slug.get(request.COOKIES.get(LAST_SPACE))
    return here or (members[0] if members else None)


def link(place: Place, space: Space, view: str, counts: dict[str, int]) -> Link:
    return Link(
        label=str(place.label),
        url=space_url(place.name, space),
        icon=place.icon,
        key=place.key,
        count=_short(counts.get(place.name, 0)),
        due=place.name in DUE,
        current=is_current(place.name, view),
        name=place.name,
    )


def is_current(name: str, view: str) -> bool:
    """Tell whether the link is marked as current: on its page and on the details of its list."""
    if view == name:
        return True
    room, here = name.split(":")[0], view.split(":")[0]
    here = PART_OF.get(view, PART_OF.get(here, here))
    return room == here and view not in NAMED and not name.endswith(":lab")


def count_all(space: Space) -> dict[str, int]:
    """Count all rows of the navigation in one query; large counts are cached for a minute."""
    unseen = (getattr(space, "hides_forgotten", False), *getattr(space, "hidden_chats", ()))
    prefix = f"rail/{space.pk}/{hash(unseen)}/"
    cached = cache.get_many([f"{prefix}{name}" for name in NAMED])
    counts = Counter({key.removeprefix(prefix): number for key, number in cached.items()})
    missing = [
        (name, rows)
        for name, rows_of in COUNTED.items()
        if name not in counts
        for rows in rows_of(space)
    ]
    numbers = counted(*(rows for _name, rows in missing), cap=COUNT_LIMIT - 1) if missing else []
    for (name, _rows), number in zip(missing, numbers, strict=True):
        counts[name] += number
    cache.set_many(
        {f"{prefix}{name}": counts[name] for name, _rows in missing if counts[name] >= CACHED_FROM},
        CACHE_SECONDS,
    )
    return counts


def counts_for(space: Space) -> dict[str, str]:
    """Return the numbers of the navigation as they are written there, by the name of the page."""
    counts = count_all(space)
    return {name: _short(counts.get(name, 0)) for name in sorted(NAMED)}


def _short(count: int) -> str:
    if count >= COUNT_LIMIT:
        return f"{COUNT_LIMIT // 1000}k+"
    return number_format(count, use_l10n=True, force_grouping=True) if count else ""
