"""Files of named lists of words; a line that begins with a space goes on."""

from pathlib import Path


def read(file: Path) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    name = ""
    for line in file.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, _, line = line.partition(":")
            lists[name] = []
        lists[name] += line.split()
    return lists
