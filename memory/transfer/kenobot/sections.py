"""What a heading of MEMORY.md says about the facts below it, both ways."""

import re
from dataclasses import dataclass

LORE = "__lore__"
NAMES = {
    "Facts": ("fact", "other"),
    "Preferences": ("fact", "preference"),
    "Profile": ("fact", "profile"),
    "Relationships": ("fact", "relationship"),
    "Projects": ("fact", "project"),
    "Concepts": ("concept", "other"),
    "Procedures": ("procedure", "other"),
    "Lessons": ("lesson", "other"),
    "Lore": ("lore", "other"),
}
# Headings of KenoBot's templates and documents, and their Spanish sisters.
_KNOWN = {
    "facts": "Facts",
    "important facts": "Facts",
    "compacted memories": "Facts",
    "memory": "Facts",
    "hechos": "Facts",
    "datos": "Facts",
    "preferences": "Preferences",
    "user preferences": "Preferences",
    "learned preferences": "Preferences",
    "preferencias": "Preferences",
    "profile": "Profile",
    "user profile": "Profile",
    "perfil": "Profile",
    "relationships": "Relationships",
    "relaciones": "Relationships",
    "projects": "Projects",
    "active projects": "Projects",
    "project context": "Projects",
    "proyectos": "Projects",
    "concepts": "Concepts",
    "conceptos": "Concepts",
    "procedures": "Procedures",
    "procedimientos": "Procedures",
    "lessons": "Lessons",
    "lessons learned": "Lessons",
    "errors and lessons": "Lessons",
    "errors": "Lessons",
    "lecciones": "Lessons",
    "lore": "Lore",
    "ongoing lore": "Lore",
}
_ABOUT = re.compile(r"(?:about|sobre|acerca de)\s+(\S.*)$", re.I)
_PART = re.compile(r"(.+?)\s+—\s+(.+)$")
_STAMPED = re.compile(r"(?:consolidated|compacted)\b.*?(\d{4}-\d{2}-\d{2})?\s*$", re.I)
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})\s*[:—–-]\s*(.+)$")
_ORNAMENT = re.compile(r"^[^\w(]+", re.U)


@dataclass(frozen=True)
class Section:
    """Where a fact stands: what kind of fact it is and what about."""

    kind: str = "fact"
    category: str = "other"
    subject: str = ""
    day: str = ""
    # Everything below the heading is one thing: steps, or the fields of one error.
    whole: bool = False


def read(heading: str, *, kind: str = "fact") -> Section:
    """`kind` is that of the file: everything in procedures.md is a procedure."""
    name = _ORNAMENT.sub("", heading).strip()
    if about := _ABOUT.match(name):
        return Section(kind, "other", about[1].strip())
    if stamped := _STAMPED.match(name):
        return Section(kind, day=stamped[1] or "")
    part = _PART.match(name)
    if part and (known := _KNOWN.get(part[1].lower())):
        return Section(*NAMES[known], subject=part[2].strip())
    if known := _KNOWN.get(name.rstrip(":").lower()):
        found, category = NAMES[known]
        subject = LORE if found == "lore" else ""
        return Section(kind if kind != "fact" else found, category, subject)
    dated = _DATED.match(name)
    day, name = (dated[1], dated[2]) if dated else ("", name)
    return Section(kind, subject=name, day=day, whole=kind in ("procedure", "lesson"))


def write(kind: str, category: str, subject: str) -> str:
    name = next((n for n, pair in NAMES.items() if pair == (kind, category)), "")
    name = name or next(n for n, pair in NAMES.items() if pair[0] == kind)
    if not subject or subject == LORE:
        return name
    return f"About {subject}" if name == "Facts" else f"{name} — {subject}"
