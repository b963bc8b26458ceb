"""Preferences: how the owner likes Keno to be, as observed, said or ruled out."""

import re
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import notices, rulings
from memory.guards.screening import ORDERS, screen
from memory.history import actors, rows
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Preference, Space
from memory.models.space import get_or_load
from memory.text import normalise as text

HEADING = "# User Preferences"
LEARNED = "learned"
WHOM = ("channel", "author_id", "person")
# "Timezone: America/Mexico_City", but not "Note to self: …a whole sentence: with colons".
KEYED = re.compile(r"([^\W_][\w /-]{0,39}):\s+(\S.*)", re.DOTALL)


def active(space: Space, *, pairs: Collection[tuple[str, str]] | None = None) -> list[Preference]:
    """Return those in force; with `pairs` those of a person with these (channel, author id)."""
    rows = get_or_load(space, "preferences", lambda: _stored(space))
    return [row for row in rows if pairs is None or row.holds_for(pairs)]


def _stored(space: Space) -> list[Preference]:
    return list(Preference.objects.filter(space=space, status=Preference.Status.ACTIVE))


def is_worded(preference: Preference) -> bool:
    """Tell whether a person worded or imported it: only that may speak in the system role."""
    return preference.sticky or preference.source == "import"


def learn(
    space: Space,
    *,
    sentence: str,
    by: str,
    section: str = "",
    now: datetime | None = None,
    **whom: str,
) -> ChangeResult:
    """Store one line: "Key: value" replaces that preference, anything else is added."""
    match = KEYED.fullmatch(sentence.strip())
    keyed = match is not None and len(match[1].split()) <= 4
    key, value = (match[1], match[2]) if keyed else (LEARNED, sentence)
    return put(space, key=key, value=value, section=section, by=by, now=now, **whom)


@transaction.atomic
def put(
    space: Space,
    *,
    key: str,
    value: str,
    by: str,
    section: str = "",
    now: datetime | None = None,
    **whom: str,
) -> ChangeResult:
    """Store a preference. No machine overwrites what a person worded.

    `whom` (channel, author_id, person) limits it to one person; else it holds for everybody.
    """
    key, section = text.short(text.one_line(key), 80), text.short(text.one_line(section), 80)
    # An order in the words of a person is what this is for; from anything else it is suspicious.
    ignore = ORDERS if actors.is_person(by) else frozenset()
    screened = screen(value, single_line=True, ignore=ignore)
    if not screened.text or not key:
        reason = _("A preference needs a name and a value.")
        return ChangeResult(None, outcome="empty", reason=reason)
    if (refusal := rulings.refusal(space, screened.text, now=now)) is not None:
        return refusal
    if screened.reasons and not actors.is_person(by):
        reasons = screened.reasons
        return notices.set_aside(space, what="preference", text=screened.text, reasons=reasons)
    # One writer at a time, so that one name keeps one value.
    Space.objects.select_for_update().get(pk=space.pk)
    wording = {"section": section, "key": key, "value": screened.text}
    return _save(space, whom=whom, by=by, now=now, **wording)


@transaction.atomic
def reword(
    space: Space, old: Preference | None, *, by: str, now: datetime | None = None, **wording: str
) -> ChangeResult:
    """Replace an old preference, of the same person, by new wording (key, value, section)."""
    actors.require_person(by)
    whom = {name: getattr(old, name) for name in WHOM} if old else {}
    with history.change(by=by, why="a preference") as context:
        done = put(space, by=by, now=now, **whom | wording)
        if old and done.row and done.row.pk != old.pk:
            drop(old, by=by, now=now)
    return ChangeResult(done.row, context.id) if done.changed else done


def drop(preference: Preference, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Archive the preference; undo brings it back."""
    gone, why = Preference.Status.ARCHIVED, "drop a preference"
    return rows.change_unless_refused(preference, by=by, why=why, now=now, status=gone)


def as_markdown(preferences: list[Preference]) -> str:
    """Return the preferences as a Markdown file: a list with a heading for each section."""
    parts = []
    for section in dict.fromkeys(preference.section for preference in preferences):
        rows = (preference for preference in preferences if preference.section == section)
        lines = [f"- {row.key}: {row.value}" for row in rows]
        parts.append("\n".join([f"## {section}", *lines] if section else lines))
    return "\n\n".join([HEADING, *parts]) if parts else ""


def _save(
    space: Space, *, section: str, key: str, value: str, whom: dict, by: str, now
) -> ChangeResult:
    mine = (whom.get("channel", ""), whom.get("author_id", ""))
    same = [
        preference
        for preference in active(space)
        if text.fold(preference.key) == text.fold(key)
        and (preference.channel, preference.author_id) == mine
        and _same(preference, section, value)
    ]
    if same and same[0].value == value:
        return ChangeResult(same[0], outcome="unchanged")
    if same and same[0].sticky and not actors.is_person(by):
        reason = _("A person wrote this; only a person may change it.")
        return ChangeResult(same[0], outcome="refused", reason=reason)
    last = Preference.objects.filter(space=space).aggregate(last=Max("position"))["last"] or 0
    new = {"section": section, "key": key, "position": last + 1} | whom
    row = same[0] if same else Preference(space=space, **new)
    row.value, row.source, row.updated_at = value, actors.kind(by), now or timezone.now()
    row.sticky = actors.is_person(by)
    with history.change(by=by, why="a preference") as context:
        row.save()
    return ChangeResult(row, context.id, outcome="done" if same else "new")


def _same(preference: Preference, section: str, value: str) -> bool:
    # What was learned is a list; everything else has one value per section.
    if text.fold(preference.key) == LEARNED:
        return text.said_key(preference.value) == text.said_key(value)
    return not section or preference.section == section
