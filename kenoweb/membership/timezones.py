"""Time zones: the list to choose from, and a guess for the first run."""

import os
from functools import cache
from itertools import groupby
from pathlib import Path
from zoneinfo import available_timezones

# Places people know, not the aliases and fixed offsets of the database.
REGIONS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
}


@cache
def names() -> frozenset[str]:
    return frozenset({"UTC"} | {n for n in available_timezones() if n.split("/")[0] in REGIONS})


@cache
def choices() -> list[tuple]:
    """UTC, then the cities of each region."""
    grouped = groupby(sorted(names() - {"UTC"}), key=lambda name: name.split("/")[0])
    regions = [(region, [(name, _city(name)) for name in found]) for region, found in grouped]
    return [("UTC", "UTC"), *regions]


def guess(localtime: Path = Path("/etc/localtime")) -> str:
    """The zone of this computer, which on a first run is most likely the person's own."""
    name = os.path.realpath(localtime).partition("zoneinfo/")[2]
    return name if name in names() else "UTC"


def _city(name: str) -> str:
    return name.partition("/")[2].replace("_", " ").replace("/", ", ")
