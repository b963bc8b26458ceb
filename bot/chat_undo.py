"""What `/undo` takes back: every reply keeps the changes of memory that came with it."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from memory.facts import service as facts
from memory.history import changes as history
from memory.models import Chat, Fact, Message
from memory.text.normalise import short

# How many replies back something that can be undone is looked for.
MAX_REPLIES_BACK = 50


@transaction.atomic
def undo_last(chat: Chat, *, by: str, now: datetime) -> str:
    """Take back what came with the newest reply that changed something; say what that was."""
    replies = Message.objects.filter(chat=chat, role=Message.Role.ASSISTANT).order_by("-pk")
    for reply in replies[:MAX_REPLIES_BACK]:
        standing = [entry for entry in reply.journal if _is_undoable(entry)]
        if standing:
            return _undo(reply, standing[-1], by=by, now=now)
    return _("There is nothing to take back in this chat.")


def _is_undoable(entry: object) -> bool:
    return isinstance(entry, dict) and bool(entry.get("changes")) and not entry.get("undone")


def _undo(reply: Message, entry: dict, *, by: str, now: datetime) -> str:
    ids = entry["changes"]
    try:
        with transaction.atomic():
            rows = history.undo_contexts(ids, by=by)
    except history.Conflict as conflict:
        rows = _discard_new_facts(ids, by=by, now=now)
        if not rows:
            return str(conflict)
    entry["undone"] = now.isoformat()
    reply.save(update_fields=["journal"])
    names = "\n".join(f"- {name}" for name in dict.fromkeys(map(_name, rows)) if name)
    return _("Undone:\n%(what)s") % {"what": names} if names else _("Undone.")


def _discard_new_facts(ids: Sequence[str], *, by: str, now: datetime) -> list[Fact]:
    """A fact that was said again meanwhile is not as it was; what was new of it still goes."""
    new = [
        step.object_id for step in history.changes_in(*ids) if step.model is Fact and step.is_create
    ]
    gone = []
    for fact in Fact.objects.filter(pk__in=new, status=Fact.Status.ACTIVE):
        gone += [fact] if facts.discard(fact, by=by, why="undo", now=now).changed else []
        for old in Fact.objects.filter(superseded_by=fact, status=Fact.Status.SUPERSEDED):
            facts.restore(old, by=by, now=now)
    return gone


def _name(row: object) -> str:
    words = (getattr(row, name, "") for name in ("text", "title", "trigger", "value", "task"))
    return short(next((word for word in words if word), ""), 120)
