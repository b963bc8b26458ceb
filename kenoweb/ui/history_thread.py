"""The history of one row as a thread that people can read: who changed what, with undo."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from itertools import groupby

from django.contrib.auth.models import User
from django.db.models import Model
from django.http import Http404
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import rows_in
from kenoweb.ui.formatting import share
from memory.history import actors
from memory.history import changes as history
from memory.models import Space

MAX_STEPS = 40
# The sentence for each reason of a change; `who` is the person, or the part of Keno, that did it.
SENTENCES = {
    "remember": _("%(who)s remembered it"),
    "revise": _("%(who)s revised it"),
    "forget": _("%(who)s forgot it"),
    "restore": _("%(who)s restored it"),
    "discard": _("%(who)s put it in the trash"),
    "pin": _("%(who)s pinned it"),
    "unpin": _("%(who)s unpinned it"),
    "deprecate": _("%(who)s ended it: no longer true"),
    "confirm": _("%(who)s said that it is still so"),
    "rule out": _("%(who)s ruled that it never was so"),
    "promote": _("%(who)s shared it with the whole space"),
    "move": _("%(who)s moved it"),
    "quarantine": _("%(who)s moved it to quarantine"),
    "release": _("%(who)s released it"),
    "supersede": _("%(who)s put another in its place"),
    "over the cap": _("%(who)s archived it: too many facts"),
    "never remember this": _("%(who)s ruled never to remember it"),
    "undo": _("%(who)s undid a change"),
    "redo": _("%(who)s redid a change"),
    "learn": _("%(who)s learned it"),
    "unlearn": _("%(who)s archived it"),
    "feedback": _("%(who)s gave feedback"),
    "merge": _("%(who)s merged it"),
    "merged": _("%(who)s merged it into another"),
    "merge people": _("%(who)s merged it into another"),
    "part people": _("%(who)s split it"),
    "name people": _("%(who)s revised it"),
    "split": _("%(who)s split it"),
    "summarised": _("%(who)s summarised it"),
    "an episode begins": _("Started"),
    "an episode goes on": _("Message added"),
    "an episode ends": _("Closed"),
    "an episode is written": _("%(who)s wrote it"),
    "working note": _("%(who)s wrote it"),
    "clear the working note": _("%(who)s cleared it"),
    "import": _("%(who)s imported it"),
    "core identity": _("%(who)s edited the core"),
    "a rule": _("%(who)s wrote a rule"),
    "retire a rule": _("%(who)s retired a rule"),
    "a preference": _("%(who)s noted a preference"),
    "drop a preference": _("%(who)s dropped a preference"),
    "chat context": _("%(who)s said what kind of chat it is"),
    "take back": _("%(who)s took it back"),
    "agreement": _("%(who)s found that episodes agree"),
    "curated": _("%(who)s kept what was written down on purpose"),
    "stale note": _("%(who)s archived an old working note"),
    "weak pattern": _("%(who)s archived a weak pattern"),
    "old episodes": _("%(who)s summarised old episodes"),
    "duplicate episodes": _("%(who)s merged duplicate episodes"),
}
MACHINES = {
    "tag": _("Keno, in a reply,"),
    "extraction": _("Keno, from a message,"),
    "command": _("A command"),
    "night": _("A night"),
    "import": _("An import"),
    "bot": _("Keno"),
    "api": _("A program"),
    "system": _("Keno"),
    "": _("Somebody"),
}
# These are shown as before and after, texts as a diff; other fields are bookkeeping.
FIELDS = {
    "subject": _("about"),
    "kind": _("kind"),
    "category": _("category"),
    "confidence": _("sure"),
    "status": _("state"),
    "feedback": _("feedback"),
    "discard_reason": _("reason"),
    "tags": _("tags"),
    "participants": _("with"),
    "valid_from": _("true from"),
    "valid_to": _("true until"),
    "occurs_at": _("happens"),
    "confirmed_at": _("checked"),
    "task": _("task"),
}
TEXTS = ("text", "title", "body", "trigger", "response", "notes", "context", "pending")
TEXTS += ("core", "instruction", "forbidden", "examples", "value")
# Comparing is quadratic; beyond this many words a diff is not readable anyway.
MAX_WORDS = 1200


@dataclass(frozen=True)
class Step:
    sentence: str
    at: datetime
    undo: str = ""
    diffs: list[tuple[str, str]] = field(default_factory=list)
    fields: list[tuple[str, str, str]] = field(default_factory=list)


def thread(row: Model, *, space: Space, user: User, most: int = MAX_STEPS) -> list[Step]:
    """Return the steps, newest first, without those that would show nothing."""
    steps = (step(change, space, user) for change in history.history(row, limit=most))
    return list(filter(None, steps))


def who(by: str, user: User) -> str:
    if by == actors.person(user):
        return gettext("You")
    if actors.is_person(by):
        return actors.name(by)
    return str(MACHINES.get(actors.kind(by), actors.kind(by)) if by else MACHINES[""])


def step(change: history.Change, space: Space, user: User) -> Step | None:
    changed = change.fields
    diffs = [tuple(map(_joined, changed[name])) for name in TEXTS if name in changed]
    fields = [
        (str(label), *(_field_text(change, name, value) for value in changed[name]))
        for name, label in FIELDS.items()
        if name in changed
    ]
    if not (change.is_create or diffs or fields or (changed and change.why)):
        return None
    context = change.context_id
    undo = reverse("history:undo", args=[space.slug, context]) if context else ""
    return Step(sentence(change, user), change.at, undo, diffs, fields)


def sentence(change: history.Change, user: User) -> str:
    name = who(change.by, user)
    if text := SENTENCES.get(change.why, SENTENCES["remember"] if change.is_create else ""):
        return str(text) % {"who": name}
    # A night and an import name their change themselves.
    return f"{name}: {change.why}" if change.why else name


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(_joined, value))
    if isinstance(value, dict):
        return " / ".join(str(part) for part in value.values() if part and part is not True)
    return str(value or "")


def _field_text(change: history.Change, name: str, value: object) -> str:
    if isinstance(value, float):
        return share(value)
    if isinstance(value, datetime):
        return date_format(localtime(value), "DATE_FORMAT")
    choices = change.model._meta.get_field(name).choices
    return str(dict(choices).get(value, value)) if choices else _joined(value)


def rows_at(model: type[Model], events: Iterable) -> list[Model]:
    return [_copy(model, event) for event in events]


def row_at(space: Space, model: type[Model], pk: int, when: datetime) -> Model:
    """Return the row as it was then; 404 when it was not there yet."""
    event = history.as_of(rows_in(space, model).filter(pk=pk), when).first()
    if event is None:
        raise Http404
    return _copy(model, event)


def _copy(model: type[Model], event: object) -> Model:
    names = [field.attname for field in model._meta.fields if hasattr(event, field.attname)]
    row = model(**{name: getattr(event, name) for name in names} | {"id": event.pgh_obj_id})
    if event.chat_id:
        row.chat = event.chat
    return row


@dataclass(frozen=True)
class Piece:
    kind: str  # "same", "del" or "ins"
    text: str


def words(before: str, after: str) -> list[Piece]:
    """Return the pieces in reading order; joining "same" and "ins" gives the text after."""
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    if len(old) + len(new) > MAX_WORDS * 2:
        whole = [Piece("del", before), Piece("ins", after)] if before != after else []
        return [piece for piece in whole if piece.text] or [Piece("same", after)]
    pieces = []
    for op, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if op == "equal":
            pieces.append(Piece("same", "".join(new[c:d])))
        else:
            pieces += [Piece("del", "".join(old[a:b])), Piece("ins", "".join(new[c:d]))]
    return _merge_changes(_bridge_gaps(pieces))


def _bridge_gaps(pieces: list[Piece]) -> Iterator[Piece]:
    """Delete and insert again what is only a space or a comma between two changes.

    One change reads better than five.
    """
    for index, piece in enumerate(pieces):
        is_between = piece.kind == "same" and 0 < index < len(pieces) - 1
        if is_between and not re.search(r"\w", piece.text):
            yield from (Piece("del", piece.text), Piece("ins", piece.text))
        else:
            yield piece


def _merge_changes(pieces: Iterable[Piece]) -> list[Piece]:
    merged: list[Piece] = []
    for is_same, group in groupby(pieces, key=lambda piece: piece.kind == "same"):
        group = list(group)
        if is_same:
            merged += group
            continue
        for kind in ("del", "ins"):
            text = "".join(piece.text for piece in group if piece.kind == kind)
            merged += [Piece(kind, text)] if text.strip() else []
    return merged
