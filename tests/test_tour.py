"""The tour leads through files that exist, and no journey is longer than a stranger can follow."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOUR = (ROOT / "docs/tour.md").read_text()
FILE = re.compile(r"`((?:kenoweb|memory|sleep|bot|templates)/[\w/.]+\.(?:py|html))`")
MAX_FILES = 12


def journeys() -> dict[str, list[str]]:
    parts = re.split(r"^## ", TOUR, flags=re.M)[1:]
    return {part.split("\n")[0]: list(dict.fromkeys(FILE.findall(part))) for part in parts}


def test_every_file_of_the_tour_exists():
    named = [file for files in journeys().values() for file in files]
    assert [file for file in named if not (ROOT / file).is_file()] == []


def test_five_journeys_of_at_most_twelve_files():
    lengths = {name: len(files) for name, files in journeys().items()}
    assert len(lengths) == 5
    assert {name: n for name, n in lengths.items() if not 5 <= n <= MAX_FILES} == {}
