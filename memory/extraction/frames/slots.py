"""What a clause fills: a slot with its value, as a rule found it."""

from dataclasses import dataclass, replace
from typing import Any

from memory.extraction.frames.phrases import phrase
from memory.extraction.frames.vocabulary import terms

NOBODY = ""
# The sorts of a value that say when.
WHEN = frozenset({"time", "day", "month"})


@dataclass(frozen=True)
class Slot:
    """What one clause fills: `whose` are the words before the verb, still to be understood."""

    # "home", "favourite:editor", "likes:cat".
    key: str
    value: str
    terms: frozenset[str]
    whose: str = NOBODY
    sign: int = 1
    ended: bool = False
    exclusive: bool = True
    # One value at a time only where a change is told or a mistake is corrected.
    weak: bool = False
    changed: bool = False
    replaced: frozenset[str] = frozenset()
    # Where in the clause the value begins.
    start: int = 0
    # What sort of value it is, where only values of one sort exclude each other.
    sort: str = ""


@dataclass(frozen=True)
class Match:
    """A rule that fits a clause: its flags and its groups."""

    flags: frozenset[str]
    groups: dict[str, str | None]
    # The clause has no capitals: its names cannot be told by them.
    lower: bool
    start: int = 0

    def __getitem__(self, name: str) -> str:
        return (self.groups.get(name) or "").strip()

    @property
    def value(self) -> str:
        return phrase("about").sub("", trim(self["v"]))

    @property
    def replaced(self) -> frozenset[str]:
        return terms(self["o"]) if self["o"] else frozenset()

    def slot(self, key: str, value: str | None = None, **more: Any) -> Slot:
        """Make the slot, with what the flags of the rule say about it."""
        value = self.value if value is None else value
        told = Slot(
            key,
            value,
            terms(value) if value else frozenset(),
            whose=self["s"],
            sign=-1 if "not" in self.flags else 1,
            ended="past" in self.flags,
            changed="change" in self.flags,
            replaced=self.replaced,
            start=self.start,
        )
        return replace(told, **more) if more else told


def trim(value: str) -> str:
    """Cut off what only says since when, why or with whom."""
    return phrase("tail").sub("", f" {value.strip()}").strip(" .!…:'\"-")
