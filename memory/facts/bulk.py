"""Change many facts at once, as one change in history, so that one undo reverts all of them.

Only people may. A fact that would duplicate another live one is left as it is and counted.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import jobs
from memory.facts import service as facts
from memory.facts.rows import DuplicateFact
from memory.history import actors
from memory.history import changes as history
from memory.models import Chat, Fact, Space

# Every row gets its history event: more would take longer than a page may.
MAX_FACTS = 5000
# Every write checks every ruling.
MAX_RULINGS = 100
# More than this are never duplicates of each other.
MAX_MERGED = 20

Status = Fact.Status


class TooMany(Exception):
    """More than can be done at once."""

    def __init__(self, most: int):
        super().__init__(_("At most %(n)s facts at once. Narrow it down.") % {"n": most})


@dataclass(frozen=True)
class BulkResult:
    """How many were changed, how many were left as duplicates, and the change to undo."""

    count: int = 0
    duplicates: int = 0
    change_id: UUID | None = None

    @property
    def changed(self) -> bool:
        return self.change_id is not None


def forget(space: Space, pks: list[int], *, by: str, silence: bool = True) -> BulkResult:
    """Archive them; with `silence` the messages they rest on are not recalled either."""
    live: list[str] = [Status.ACTIVE, Status.QUARANTINED, Status.SUPERSEDED]
    values = {"status": Status.ARCHIVED, "forgotten": silence}
    return _set(space, pks, by=by, why="forget", of=live, **values)


def restore(space: Space, pks: list[int], *, by: str) -> BulkResult:
    away: list[str] = [Status.ARCHIVED, Status.TRASHED]
    values: dict[str, Any] = {"status": Status.ACTIVE, "trashed_at": None, "forgotten": False}
    return _set(space, pks, by=by, why="restore", of=away, **values)


def pin(space: Space, pks: list[int], *, by: str, pinned: bool = True) -> BulkResult:
    return _set(space, pks, by=by, why="pin" if pinned else "unpin", pinned=pinned)


def recategorise(space: Space, pks: list[int], *, by: str, category: str) -> BulkResult:
    if category not in Fact.Category.values:
        raise facts.Invalid(_("Choose a category."))
    return _set(space, pks, by=by, why="revise", category=category, sticky=True)


def retag(space: Space, pks: list[int], *, by: str, subject: str) -> BulkResult:
    """Give them another subject."""
    return _set(space, pks, by=by, why="revise", subject=subject[:120], sticky=True)


@transaction.atomic
def tag(space: Space, pks: list[int], *, by: str, tags: str, off: bool = False) -> BulkResult:
    """Put these tags, separated by commas, on each of them, or take them off."""
    _check(pks, MAX_FACTS, by=by)
    named = facts.read_tags(tags)
    if not named:
        raise facts.Invalid(_("Write the tags, separated by commas."))
    rows = list(Fact.objects.filter(space=space, pk__in=pks).order_by("pk").select_for_update())
    changed = []
    for fact in rows:
        others = [tag for tag in fact.tags if tag not in named]
        new_tags = others if off else list(dict.fromkeys([*fact.tags, *named]))
        if new_tags != fact.tags:
            fact.tags, fact.updated_at = new_tags[: facts.MAX_TAGS], timezone.now()
            changed.append(fact)
    with history.change(by=by, why="tag") as context:
        Fact.objects.bulk_update(changed, ["tags", "updated_at"], batch_size=500)
    return BulkResult(len(changed), change_id=context.id if changed else None)


def move(space: Space, pks: list[int], *, by: str, chat: Chat | None) -> BulkResult:
    """Move them to one chat or, with None, to the whole space."""
    if chat and chat.space_id != space.pk:
        raise facts.Invalid(_("The chat belongs to another space."))
    return _set(space, pks, by=by, why="move", chat=chat)


@transaction.atomic
def never_again(space: Space, pks: list[int], *, by: str) -> BulkResult:
    """Put each in the trash, with a ruling never to remember it again."""
    _check(pks, MAX_RULINGS, by=by)
    rows = Fact.objects.filter(space=space, pk__in=pks).exclude(status=Status.TRASHED)
    with history.change(by=by, why="never remember this") as context:
        count = sum(facts.never_again(fact, by=by).changed for fact in list(rows))
    return BulkResult(count, change_id=context.id if count else None)


@transaction.atomic
def merge(space: Space, pks: list[int], *, by: str, keep: int | None = None) -> BulkResult:
    """Keep one, with the confidence and counts of all; the others are superseded by it."""
    _check(pks, MAX_MERGED, by=by)
    rows = Fact.objects.live().filter(space=space, pk__in=pks)
    chosen = list(rows.order_by("pk").select_for_update(of=("self",)))
    if len(chosen) < 2 or (keep and keep not in {fact.pk for fact in chosen}):
        raise facts.Invalid(_("Choose at least two facts that Keno believes now."))
    if len({fact.chat_id for fact in chosen}) > 1:
        # What rests on it goes along: the words of one chat must not be read in another.
        raise facts.Invalid(_("Facts of different chats cannot be merged. Move them first."))
    # What a person worded or pinned, then the most confident, then the newest.
    best = max(chosen, key=attrgetter("sticky", "pinned", "confidence", "last_seen_at"))
    survivor = next((fact for fact in chosen if fact.pk == keep), best)
    others = [fact for fact in chosen if fact.pk != survivor.pk]
    with history.change(by=by, why="merge") as context:
        for fact in others:
            facts.supersede(fact, by=by, new=survivor)
        facts.revise(survivor, by=by, **merged_values(survivor, others))
    jobs.ask_golden(space.pk, "merge")
    return BulkResult(len(chosen), change_id=context.id)


def merged_values(survivor: Fact, others: list[Fact]) -> dict:
    facts_merged = [survivor, *others]
    names = {"fact": "pk", "message": "message_id", "episode": "episode_id"}
    sources = [
        {name: getattr(fact, field) for name, field in names.items()}
        | {"quote": fact.quote or fact.text}
        for fact in others
    ]
    return {
        "confidence": max(fact.confidence for fact in facts_merged),
        "times_seen": sum(fact.times_seen for fact in facts_merged),
        "pinned": any(fact.pinned for fact in facts_merged),
        "evidence": [*(entry for fact in facts_merged for entry in fact.evidence), *sources],
    }


@transaction.atomic
def _set(
    space: Space,
    pks: list[int],
    *,
    by: str,
    why: str,
    of: list[str] | None = None,
    **values: Any,
) -> BulkResult:
    _check(pks, MAX_FACTS, by=by)
    rows = Fact.objects.filter(space=space, pk__in=pks)
    rows = rows.filter(status__in=of) if of else rows
    # In one order, so that two people who pick the same rows wait for each other.
    same = {name: value for name, value in values.items() if name not in ("sticky", "trashed_at")}
    chosen = list(rows.exclude(**same).order_by("pk").select_for_update(of=("self",)))
    duplicates = _duplicates(space, chosen, values)
    writable = [fact.pk for fact in chosen if fact.pk not in duplicates]
    try:
        with history.change(by=by, why=why) as context, transaction.atomic():
            rows = Fact.objects.filter(pk__in=writable)
            count = rows.update(**values, updated_at=timezone.now())
    except IntegrityError as error:  # one of them was remembered just now
        raise DuplicateFact(None) from error
    return BulkResult(count, len(duplicates), context.id if count else None)


def _check(pks: list[int], most: int, *, by: str) -> None:
    actors.require_person(by)
    if len(pks) > most:
        raise TooMany(most)


def _duplicates(space: Space, rows: list[Fact], values: dict) -> set[int]:
    """Return the ids that after the change would say the same as another live fact."""
    if not {"status", "subject", "chat"} & values.keys():
        return set()
    if values.get("status", Status.ACTIVE) != Status.ACTIVE:
        return set()
    live = [row for row in rows if "status" in values or row.status == Status.ACTIVE]
    others = Fact.objects.live().filter(space=space, said_key__in={row.said_key for row in live})
    others = others.exclude(pk__in=[row.pk for row in live])
    taken = set(others.values_list("chat_id", "subject", "said_key"))
    duplicates = set()
    for row in live:
        chat = getattr(values["chat"], "pk", None) if "chat" in values else row.chat_id
        key = (chat, values.get("subject", row.subject), row.said_key)
        if key in taken:
            duplicates.add(row.pk)
        taken.add(key)
    return duplicates
