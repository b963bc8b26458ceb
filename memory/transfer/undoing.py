"""Undo a whole import: memories through their history, messages by their ids."""

from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from memory.history import audit
from memory.history import changes as history
from memory.models import AuditEntry, Chat, Fact, Message, Space


class UnknownImport(Exception):
    """There is no such import in this space."""

    def __str__(self):
        return _("There is no such import in this space.")


def imports(space: Space) -> list[AuditEntry]:
    """Return the imports of a space, newest first, with format, source, counts and change."""
    return list(AuditEntry.objects.filter(space=space, action="import").order_by("-at", "-pk"))


@transaction.atomic
def undo(space: Space, change: UUID | str, *, by: str) -> AuditEntry:
    """Memories go to the trash; the messages and chats that only this import made are removed.

    history.Conflict when something it brought was changed since: then nothing is taken back.
    """
    entry = next((e for e in imports(space) if e.details.get("change") == str(change)), None)
    if entry is None:
        raise UnknownImport
    with history.change(by=by, why="undo", undoes_context=str(change)):
        history.undo_context(change, by=by)
        messages, chats = _remove(space, entry.details)
    told = {"change": str(change), "messages": messages, "chats": chats}
    return audit.record("import.undone", actor=by, space=space, **told)


def _remove(space: Space, details: dict) -> tuple[int, int]:
    # What was learned from a message since then keeps its source.
    used = Fact.objects.filter(space=space).exclude(status=Fact.Status.TRASHED)
    sources = used.exclude(message=None).values("message_id")
    messages = rows_within(Message, space, details.get("messages", [])).exclude(pk__in=sources)
    removed = messages.delete()[1].get("memory.Message", 0)
    lonely = {"messages": None, "facts": None, "episodes": None, "patterns": None}
    chats = rows_within(Chat, space, details.get("chats", [])).filter(working_note=None, **lonely)
    return removed, chats.delete()[1].get("memory.Chat", 0)


def rows_within(table, space: Space, spans: list[list[int]]) -> QuerySet:
    """Return the rows of a space whose ids are in the spans that an import noted."""
    wanted = Q(pk__in=[])
    for first, last in spans:
        wanted |= Q(pk__gte=first, pk__lte=last)
    return table.objects.filter(wanted, space=space)
