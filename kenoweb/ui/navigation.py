"""The links of the navigation, as data."""

from collections.abc import Callable
from dataclasses import dataclass, field

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from memory import working
from memory.guards import quarantine
from memory.models import Space


@dataclass(frozen=True)
class Place:
    """A page: its URL name, its letter after g, and what its count counts."""

    name: str
    label: str
    icon: str
    key: str
    model: str = ""
    where: dict = field(default_factory=dict)
    # For a count over several models: the rows of each.
    rows: Callable[[Space], dict[str, QuerySet]] | None = None
    due: bool = False
    role: str = "viewer"


NAVIGATION = [
    (
        _("Now"),
        [
            Place("overview:index", _("Overview"), "overview", "o"),
            Place("chats:index", _("Chats"), "chat", "c", "memory.Chat"),
            Place(
                "working:index",
                _("Working notes"),
                "note",
                "w",
                rows=lambda space: {"notes": working.written(space)},
            ),
            Place(
                "notices:index",
                _("Notices"),
                "bell",
                "a",
                "memory.Notice",
                {"seen_at": None},
                due=True,
            ),
        ],
    ),
    (
        _("Memory"),
        [
            Place("facts:index", _("Facts"), "fact", "f", "memory.Fact", {"status": "active"}),
            Place(
                "episodes:index",
                _("Episodes"),
                "episode",
                "e",
                "memory.Episode",
                {"status__in": ["open", "closed", "archived"]},
            ),
            Place(
                "patterns:index",
                _("Patterns"),
                "pattern",
                "t",
                "memory.Pattern",
                {"status": "active"},
            ),
            Place("identity:index", _("Identity"), "identity", "i"),
            Place("map:index", _("Map"), "map", "u"),
        ],
    ),
    (
        _("Night"),
        [
            Place(
                "proposals:index",
                _("Proposals"),
                "proposal",
                "p",
                "sleep.Proposal",
                {"status": "pending"},
                due=True,
            ),
            Place("nights:index", _("Nights"), "night", "n"),
            Place("rulings:index", _("Rulings"), "ruling", "r"),
        ],
    ),
    (
        _("Care"),
        [
            Place("recall:lab", _("Recall lab"), "recall", "l"),
            Place("recall:receipts", _("Receipts"), "receipt", "k"),
            Place(
                "quarantine:index",
                _("Quarantine"),
                "shield",
                "q",
                rows=quarantine.pending,
                due=True,
            ),
            Place("trash:index", _("Trash"), "trash", "b"),
            Place("audit:index", _("Audit"), "history", "h", role="curator"),
            Place("costs:index", _("Costs"), "cost", "m"),
            Place("health:index", _("Health"), "health", "d"),
            Place("transfer:index", _("Import and export"), "transfer", "x", role="owner"),
        ],
    ),
]
SPACE_MENU = [
    Place("members:index", _("Members"), "members", "y"),
    Place("tokens:index", _("API tokens"), "key", "v", role="owner"),
    Place("spaces:edit", _("Settings"), "settings", "s", role="owner"),
    Place("settings:index", _("Memory settings"), "filter", "z", role="owner"),
]
TABS = ["overview:index", "facts:index", "proposals:index", "chats:index"]
