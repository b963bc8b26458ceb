"""Preferences: how the owner likes Keno to be, as observed, said or ruled out."""

import re
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import actors, history, notices, rulings, text
from memory.history import Done
from memory.models import Preference, Space
from memory.screen import ORDERS, screen

HEADING = "# User Preferences"
LEARNED = "learned"
# "Timezone: America/Mexico_City", but not "Note to self: …a whole sentence: with colons".
KEYED = re.compile(r"([^\W_][\w /-]{0,39}):\s+(\S.*)", re.DOTALL)
PLACEHOLDER = re.compile(
    r"\((?:pending|to be learned|pendiente|por aprender)[^)]*\)", re.IGNORECASE
)


def active(space: Space) -> list[Preference]:
    return list(Preference.objects.filter(space=space, status=Preference.Status.ACTIVE))


def has_any(space: Space) -> bool:
    return bool(active(space))


def learn(space: Space, *, said: str, by: str, now: datetime | None = None) -> Done:
    """Take in one line: "Key: value" words that preference anew, anything else is added."""
    match = KEYED.fullmatch(said.strip())
    if match and len(match[1].split()) <= 4:
        return put(space, key=match[1], value=match[2], by=by, now=now)
    return put(space, key=LEARNED, value=said, by=by, now=now)


@transaction.atomic
def put(
    space: Space, *, key: str, value: str, by: str, section: str = "", now: datetime | None = None
) -> Done:
    """Say how it should be. A person's word stands against every machine's."""
    key, section = text.short(text.one_line(key), 80), text.short(text.one_line(section), 80)
    said = screen(value, line=True, but=ORDERS)
    if not said.text or not key:
        return Done(None, outcome="empty", reason=_("A preference needs a name and a value."))
    if ruling := rulings.forbidden(space, said=said.text):
        rulings.obeyed(ruling, now=now)
        return Done(None, outcome="refused", reason=_("A ruling says never to remember this."))
    if said.reasons and not actors.is_person(by):
        return notices.set_aside(space, what="preference", text=said.text, reasons=said.reasons)
    # One writer at a time, so that one name keeps one value.
    Space.objects.select_for_update().get(pk=space.pk)
    return _save(space, section=section, key=key, value=said.text, by=by, now=now)


@transaction.atomic
def reword(
    space: Space, old: Preference | None, *, by: str, now: datetime | None = None, **said: str
) -> Done:
    """A person's new wording (key, value, section) takes the place of an old preference."""
    actors.require_person(by)
    with history.change(by=by, why="a preference") as context:
        done = put(space, by=by, now=now, **said)
        if old and done.row and done.row.pk != old.pk:
            drop(old, by=by, now=now)
    return Done(done.row, context.id) if done.changed else done


@transaction.atomic
def drop(preference: Preference, *, by: str, now: datetime | None = None) -> Done:
    """Take it out of force; undo brings it back."""
    with history.change(by=by, why="drop a preference") as context:
        won = Preference.objects.filter(pk=preference.pk, status=Preference.Status.ACTIVE).update(
            status=Preference.Status.ARCHIVED, updated_at=now or timezone.now()
        )
    preference.refresh_from_db()
    return Done(preference, context.id) if won else Done(preference, outcome="unchanged")


def as_markdown(preferences: list[Preference]) -> str:
    """The file of the seeds: a list, and a heading for each section."""
    parts = []
    for section in dict.fromkeys(one.section for one in preferences):
        lines = [f"- {one.key}: {one.value}" for one in preferences if one.section == section]
        parts.append("\n".join([f"## {section}", *lines] if section else lines))
    return "\n\n".join([HEADING, *parts]) if parts else ""


def from_markdown(written: str) -> list[dict]:
    """Every line of a preferences file, as keywords of put(); placeholders are left out."""
    found, section = [], ""
    for line in text.clean(written, limit=None).splitlines():
        bare = line.strip()
        if bare.startswith("#"):
            section = "" if bare.startswith("# ") else bare.lstrip("# ")
        elif (item := bare.lstrip("-*• ").strip()) and not PLACEHOLDER.search(item):
            match = KEYED.fullmatch(item.replace("**", ""))
            key, value = (match[1], match[2]) if match else (LEARNED, item)
            found.append({"section": section[:80], "key": key.strip()[:80], "value": value})
    return found


def _save(space: Space, *, section: str, key: str, value: str, by: str, now) -> Done:
    others = [one for one in active(space) if text.fold(one.key) == text.fold(key)]
    # What was learned is a list; everything else has one value per section.
    lists = text.fold(key) == LEARNED
    same = [one for one in others if _same(one, section, value, lists)]
    if same and same[0].value == value:
        return Done(same[0], outcome="unchanged")
    if same and same[0].sticky and not actors.is_person(by):
        reason = _("A person worded this; only a person may change it.")
        return Done(same[0], outcome="refused", reason=reason)
    last = Preference.objects.filter(space=space).aggregate(last=Max("position"))["last"] or 0
    row = same[0] if same else Preference(space=space, section=section, key=key, position=last + 1)
    row.value, row.source, row.updated_at = value, actors.kind(by), now or timezone.now()
    row.sticky = actors.is_person(by)
    with history.change(by=by, why="a preference") as context:
        row.save()
    return Done(row, context.id, outcome="done" if same else "new")


def _same(one: Preference, section: str, value: str, lists: bool) -> bool:
    if lists:
        return text.said_key(one.value) == text.said_key(value)
    return not section or one.section == section
