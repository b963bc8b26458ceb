"""Time zones: the list to choose from, and a guess for the first run."""

import os
from functools import cache
from pathlib import Path
from zoneinfo import available_timezones


@cache
def choices() -> list[tuple[str, str]]:
    """Places people know, not the aliases and fixed offsets of the database."""
    names = (name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))
    return [("UTC", "UTC"), *((name, name.replace("_", " ")) for name in sorted(names))]


def guess(localtime: Path = Path("/etc/localtime")) -> str:
    """The zone of this computer, which on a first run is most likely the person's own."""
    try:
        target = os.path.realpath(localtime)
    except OSError:
        return "UTC"
    name = target.partition("zoneinfo/")[2]
    return name if name in dict(choices()) else "UTC"
