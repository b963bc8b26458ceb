"""How much is remembered, in numbers."""

from datetime import datetime

from django.db.models import Count, Func, IntegerField, Q, QuerySet, Sum

from memory import working
from memory.models import Chat, Episode, Fact, Message, Notice, Pattern, Ruling, Space, WorkingNote


def status(space: Space, *, chat: Chat | None = None, now: datetime | None = None) -> dict:
    """Counts for `/memory-status`, the command and the pages; with a chat, what that chat has."""
    facts = Fact.objects.in_scope(chat) if chat else Fact.objects.in_space(space)
    episodes = Episode.objects.filter(space=space, **({"chat": chat} if chat else {}))
    messages = Message.objects.filter(space=space, **({"chat": chat} if chat else {}))
    return {
        "facts": _by(facts, "status") | {"pinned": facts.live().filter(pinned=True).count()},
        "kinds": _by(facts.live(), "kind"),
        "episodes": _by(episodes, "status"),
        "patterns": _by(Pattern.objects.filter(space=space), "status"),
        "working": _working(space, now=now),
        "chats": Chat.objects.filter(space=space).count(),
        "messages": messages.aggregate(
            all=Count("pk"), waiting=Count("pk", filter=Q(role="user", ingested_at=None))
        ),
        "rulings": _by(Ruling.objects.filter(space=space, status="active"), "kind"),
        "notices": Notice.objects.filter(space=space, seen_at=None).count(),
    }


def long_term_bytes(space: Space) -> int:
    """How large the long-term memory has grown: the text of live facts."""
    live = Fact.objects.in_space(space).live()
    # Postgres keeps the number of bytes beside a text; signs it has to count.
    size = Func("text", function="octet_length", output_field=IntegerField())
    return live.aggregate(size=Sum(size))["size"] or 0


def _by(rows: QuerySet, field: str) -> dict[str, int]:
    """How many of each value, the model's choices in their order, zeros left out."""
    counts = dict(rows.order_by().values_list(field).annotate(n=Count("pk")))
    choices = [value for value, _ in rows.model._meta.get_field(field).choices]
    return {value: counts[value] for value in choices if counts.get(value)}


def _working(space: Space, *, now: datetime | None) -> dict[str, int]:
    notes = WorkingNote.objects.filter(space=space).exclude(**working.EMPTY).count()
    stale = working.stale(space, now=now).count()
    return {"active": notes - stale, "stale": stale}
