"""What stands around every page: the places of the rail, their numbers, the spaces."""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from django.apps import apps
from django.core.cache import cache
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.functional import SimpleLazyObject

from kenoweb.access import LAST_SPACE, memberships
from kenoweb.places import address
from kenoweb.rail import RAIL, SPACE_MENU, TABS, Place
from memory.models import Member, Space

THEMES = ("light", "auto", "dark")
THEME_COOKIE = "keno_theme"
# Counting stops here: the rail must not cost more when there is more to remember.
CAP = 10_000
# From here on nobody sees the difference of one more, and counting takes its time.
MANY, KEEP = 2_000, 60
NAMED = {place.name for _title, places in RAIL for place in places}


@dataclass(frozen=True)
class Link:
    label: str
    url: str
    icon: str
    key: str
    count: str = ""
    due: bool = False
    current: bool = False


@dataclass(frozen=True)
class Shell:
    space: Space | None = None
    role: str = ""
    spaces: list[Link] = field(default_factory=list)
    groups: list[tuple[str, list[Link]]] = field(default_factory=list)
    menu: list[Link] = field(default_factory=list)
    tabs: list[Link] = field(default_factory=list)
    search: str = ""


def shell(request: HttpRequest) -> dict:
    """Context processor; nothing is read from the database unless a template asks."""
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {
        "shell": SimpleLazyObject(lambda: build(request)),
        "theme": theme if theme in THEMES else "auto",
        "on_screen": on_screen(request),
    }


def on_screen(request: HttpRequest) -> str:
    """The page that a form comes back to; after an act it is not the address of the act."""
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    htmx = getattr(request, "htmx", None)
    return (htmx and htmx.current_url_abs_path) or ""


def build(request: HttpRequest) -> Shell:
    members = memberships(request) if hasattr(request, "user") else []
    here = _current(request, members)
    if here is None:
        return Shell()
    view = request.resolver_match.view_name if request.resolver_match else ""
    counts = count_all(here.space)
    by_name = {}
    groups = []
    for title, places in RAIL:
        links = {
            place.name: link(place, here.space, view, counts)
            for place in places
            if here.may(place.role)
        }
        by_name |= links
        if shown := [one for one in links.values() if one]:
            groups.append((title, shown))
    menu = [link(place, here.space, view, counts) for place in SPACE_MENU if here.may(place.role)]
    return Shell(
        space=here.space,
        role=here.role,
        spaces=[_space_link(member.space, here.space) for member in members],
        groups=groups,
        menu=[one for one in menu if one],
        tabs=[by_name[name] for name in TABS if by_name.get(name)],
        search=address("search:index", here.space),
    )


def _space_link(space: Space, here: Space) -> Link:
    url = address("overview:index", space)
    return Link(space.name, url, "check", "", current=space == here)


def _current(request: HttpRequest, members: list[Member]) -> Member | None:
    """The space of the address, else the one visited last, else the first."""
    kwargs = request.resolver_match.kwargs if request.resolver_match else {}
    wanted = [kwargs.get("space"), request.COOKIES.get(LAST_SPACE)]
    by_slug = {member.space.slug: member for member in members}
    found = (by_slug[slug] for slug in wanted if slug in by_slug)
    return next(found, members[0] if members else None)


def link(place: Place, space: Space, view: str, counts: dict[str, int]) -> Link | None:
    url = address(place.name, space)
    if not url:
        return None
    count = counts.get(place.name, 0)
    return Link(
        label=str(place.label),
        url=url,
        icon=place.icon,
        key=place.key,
        count=_short(count),
        due=place.due,
        current=is_current(place.name, view),
    )


def is_current(name: str, view: str) -> bool:
    """A detail page lights up its list; the lab and the receipts share a namespace."""
    if view == name:
        return True
    room, here = name.split(":")[0], view.split(":")[0]
    return room == here and view not in NAMED and not name.endswith(":lab")


def count_all(space: Space) -> dict[str, int]:
    """The numbers of the rail in one round trip. Large ones are good for a while."""
    prefix = f"rail/{space.pk}/"
    kept = cache.get_many([f"{prefix}{name}" for name in NAMED])
    counts = Counter({key.removeprefix(prefix): number for key, number in kept.items()})
    for name, number in _counted([part for part in _parts(space.pk) if part[0] not in counts]):
        counts[name] += number
        if counts[name] >= MANY:
            cache.set(f"{prefix}{name}", counts[name], KEEP)
    return counts


def _counted(parts: list[tuple[str, str, tuple]]) -> list[tuple[str, int]]:
    sql = ", ".join(f"(SELECT count(*) FROM ({part}) AS counted)" for _name, part, _values in parts)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", [one for _name, _part, values in parts for one in values])
        return [(part[0], number) for part, number in zip(parts, cursor.fetchone(), strict=True)]


@lru_cache(maxsize=512)
def _parts(space_id: int) -> list[tuple[str, str, tuple]]:
    """(place, SQL, its values) of what is counted; putting it together takes longer than asking."""
    space = Space(pk=space_id)
    return [
        (place.name, *rows.order_by().values("pk")[:CAP].query.sql_with_params())
        for _title, places in RAIL
        for place in places
        for rows in _querysets(place, space)
    ]


def _querysets(place: Place, space: Space) -> list[QuerySet]:
    if place.rows:
        return list(place.rows(space).values())
    try:
        model = apps.get_model(place.model) if place.model else None
    except LookupError:
        return []
    return [model.objects.filter(space=space, **place.where)] if model else []


def _short(count: int) -> str:
    if count >= CAP:
        return f"{CAP // 1000}k+"
    return number_format(count, use_l10n=True, force_grouping=True) if count else ""
