"""Rows of an archive that somebody else made pass the same guards as everything else."""

from django.db import models

from memory import notices
from memory.models import Space
from memory.screen import ORDERS, screen

# Columns of words, and whether each is a single line.
_WORDS = {
    "chats": {"title": True, "context": False},
    "episodes": {"title": True, "body": False},
    "messages": {"text": False},
    "facts": {"text": True, "quote": False},
    "patterns": {"trigger": True, "response": False},
    "working_notes": {"task": True, "notes": False},
    "identity": {"core": False},
    "rules": {"instruction": False},
    "preferences": {"value": False},
    "rulings": {},
}
# Lists of words that prompts carry as well.
_LISTS = {"working_notes": ("context", "pending"), "rules": ("examples", "forbidden")}
# Where an instruction is what the place is for.
_ORDERLY = {"patterns", "working_notes", "identity", "rules", "preferences"}
# Suspicious rows of these wait in a quarantine of their own.
HELD = {"facts", "patterns"}
# These are in every prompt and have no quarantine: the owner gets the words instead.
IN_PROMPTS = {"chats", "working_notes", "identity", "rules", "preferences"}


def check(name: str, row: models.Model) -> list[str]:
    """Take out secrets, hold back what is suspicious; why it is."""
    but = ORDERS if name in _ORDERLY else frozenset()
    said = {
        column: screen(getattr(row, column), line=line, but=but)
        for column, line in _WORDS[name].items()
    }
    for column, found in said.items():
        setattr(row, column, found.text[: row._meta.get_field(column).max_length])
    reasons = list(dict.fromkeys(reason for found in said.values() for reason in found.reasons))
    for column in _LISTS.get(name, ()):
        reasons += screen(str(getattr(row, column)), but=but).reasons
    flags = [flag for found in said.values() for flag in found.flags]
    if flags and hasattr(row, "flags"):
        row.flags = list(dict.fromkeys([*row.flags, *flags]))
    if reasons and name in HELD and row.status == "active":
        row.status = "quarantined"
    return reasons


def hold(name: str, row: models.Model, reasons: list[str], *, space: Space) -> bool:
    """Whether the owner got the words instead of the space."""
    if not reasons or name not in IN_PROMPTS:
        return False
    what = str(row._meta.verbose_name)
    notices.set_aside(space, what=what, text=str(row), reasons=reasons)
    return True
