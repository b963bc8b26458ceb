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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import rows_in
from kenoweb.ui.formatting import share
from memory.history import actors
from memory.history import changes as history
from memory.models import Space

MAX_STEPS = 40
# The sentence for each reason of a change; `who` is the person, or the part of Keno, that did it.
SENTENCES = {
    "remember": gettext_lazy("%(who)s remembered it"),
    "revise": gettext_lazy("%(who)s revised it"),
    "forget": gettext_lazy("%(who)s forgot it"),
    "restore": gettext_lazy("%(who)s restored it"),
    "discard": gettext_lazy("%(who)s put it in the trash"),
    "pin": gettext_lazy("%(who)s pinned it"),
    "unpin": gettext_lazy("%(who)s unpinned it"),
    "deprecate": gettext_lazy("%(who)s ended it: no longer true"),
    "confirm": gettext_lazy("%(who)s said that it is still so"),
    "rule out": gettext_lazy("%(who)s ruled that it never was so"),
    "promote": gettext_lazy("%(who)s shared it with the whole space"),
    "move": gettext_lazy("%(who)s moved it"),
    "quarantine": gettext_lazy("%(who)s moved it to quarantine"),
    "release": gettext_lazy("%(who)s released it"),
    "supersede": gettext_lazy("%(who)s put another in its place"),
    "over the cap": gettext_lazy("%(who)s archived it: too many facts"),
    "never remember this": gettext_lazy("%(who)s ruled never to remember it"),
    "undo": gettext_lazy("%(who)s undid a change"),
    "redo": gettext_lazy("%(who)s redid a change"),
    "learn": gettext_lazy("%(who)s learned it"),
    "unlearn": gettext_lazy("%(who)s archived it"),
    "feedback": gettext_lazy("%(who)s gave feedback"),
    "merge": gettext_lazy("%(who)s merged it"),
    "merged": gettext_lazy("%(who)s merged it into another"),
    "merge people": gettext_lazy("%(who)s merged it into another"),
    "part people": gettext_lazy("%(who)s split it"),
    "name people": gettext_lazy("%(who)s revised it"),
    "split": gettext_lazy("%(who)s split it"),
    "summarised": gettext_lazy("%(who)s summarised it"),
    "an episode begins": gettext_lazy("Started"),
    "an episode goes on": gettext_lazy("Message added"),
    "an episode ends": gettext_lazy("Closed"),
    "an episode is written": gettext_lazy("%(who)s wrote it"),
    "working note": gettext_lazy("%(who)s wrote it"),
    "clear the working note": gettext_lazy("%(who)s cleared it"),
    "import": gettext_lazy("%(who)s imported it"),
    "core identity": gettext_lazy("%(who)s edited the core"),
    "a rule": gettext_lazy("%(who)s wrote a rule"),
    "retire a rule": gettext_lazy("%(who)s retired a rule"),
    "a preference": gettext_lazy("%(who)s noted a preference"),
    "drop a preference": gettext_lazy("%(who)s dropped a preference"),
    "chat context": gettext_lazy("%(who)s said what kind of chat it is"),
    "take back": gettext_lazy("%(who)s took it back"),
    "agreement": gettext_lazy("%(who)s found that episodes agree"),
    "curated": gettext_lazy("%(who)s kept what was written down on purpose"),
    "stale note": gettext_lazy("%(who)s archived an old working note"),
    "weak pattern": gettext_lazy("%(who)s archived a weak pattern"),
    "old episodes": gettext_lazy("%(who)s summarised old episodes"),
    "duplicate episodes": gettext_lazy("%(who)s merged duplicate episodes"),
}
MACHINES = {
    "tag": gettext_lazy("Keno, in a reply,"),
    "extraction": gettext_lazy("Keno, from a message,"),
    "command": gettext_lazy("A command"),
    "night": gettext_lazy("A night"),
    "import": gettext_lazy("An import"),
    "bot": gettext_lazy("Keno"),
    "api": gettext_lazy("A program"),
    "system": gettext_lazy("Keno"),
    "": gettext_lazy("Somebody"),
}
# These are shown as before and after, texts as a diff; other fields are bookkeeping.
FIELDS = {
    "subject": gettext_lazy("about"),
    "kind": gettext_lazy("kind"),
    "category": gettext_lazy("category"),
    "confidence": gettext_lazy("sure"),
    "status": gettext_lazy("state"),
    "feedback": gettext_lazy("feedback"),
    "discard_reason": gettext_lazy("reason"),
    "tags": gettext_lazy("tags"),
    "participants": gettext_lazy("with"),
    "valid_from": gettext_lazy("true from"),
    "valid_to": gettext_lazy("true until"),
    "occurs_at": gettext_lazy("happens"),
    "confirmed_at": gettext_lazy("checked"),
    "task": gettext_lazy("task"),
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
        return _("You")
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
    """Say who did it and what."""
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
