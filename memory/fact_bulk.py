"""Many facts at once: one change in history, so that one undo takes all of it back.

Only people do this; the pages pick the rows. What would say the same as another live fact is
left as it is and counted.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import actors, facts, history
from memory.fact_rows import SaidAlready
from memory.models import Chat, Fact, Space

# Each row is kept and can be undone one by one: more takes longer than a page may.
MOST = 5000
# Every write asks every ruling.
MOST_RULINGS = 100
# More than this never say the same.
MOST_MERGED = 20

Status = Fact.Status


class TooMany(Exception):
    """More than can be done at once."""

    def __init__(self, most: int):
        super().__init__(_("At most %(n)s facts at once. Narrow it down.") % {"n": most})


@dataclass(frozen=True)
class Many:
    """How many were changed, how many would have said the same as another, and the way back."""

    count: int = 0
    doubles: int = 0
    change_id: UUID | None = None

    @property
    def changed(self) -> bool:
        return self.change_id is not None


def forget(space: Space, pks: list[int], *, by: str, now: datetime | None = None) -> Many:
    live = [Status.ACTIVE, Status.QUARANTINED, Status.SUPERSEDED]
    return _set(space, pks, by=by, why="forget", now=now, of=live, status=Status.ARCHIVED)


def restore(space: Space, pks: list[int], *, by: str, now: datetime | None = None) -> Many:
    away = [Status.ARCHIVED, Status.TRASHED]
    values = {"status": Status.ACTIVE, "trashed_at": None}
    return _set(space, pks, by=by, why="restore", now=now, of=away, **values)


def pin(
    space: Space, pks: list[int], *, by: str, pinned: bool = True, now: datetime | None = None
) -> Many:
    why = "pin" if pinned else "unpin"
    return _set(space, pks, by=by, why=why, now=now, pinned=pinned)


def recategorise(
    space: Space, pks: list[int], *, by: str, category: str, now: datetime | None = None
) -> Many:
    if category not in Fact.Category.values:
        raise facts.Invalid(_("Choose a category."))
    return _set(space, pks, by=by, why="revise", now=now, category=category, sticky=True)


def retag(
    space: Space, pks: list[int], *, by: str, subject: str, now: datetime | None = None
) -> Many:
    """Say that they are about somebody or something else."""
    return _set(space, pks, by=by, why="revise", now=now, subject=subject[:120], sticky=True)


def move(
    space: Space, pks: list[int], *, by: str, chat: Chat | None, now: datetime | None = None
) -> Many:
    """To one chat, or (None) to the whole space."""
    if chat and chat.space_id != space.pk:
        raise facts.Invalid(_("The chat belongs to another space."))
    return _set(space, pks, by=by, why="move", now=now, chat=chat)


@transaction.atomic
def never_again(space: Space, pks: list[int], *, by: str, now: datetime | None = None) -> Many:
    """To the trash, and a ruling for each."""
    actors.require_person(by)
    if len(pks) > MOST_RULINGS:
        raise TooMany(MOST_RULINGS)
    rows = Fact.objects.filter(space=space, pk__in=pks).exclude(status=Status.TRASHED)
    with history.change(by=by, why="never remember this") as context:
        count = sum(facts.never_again(fact, by=by, now=now).changed for fact in list(rows))
    return Many(count, change_id=context.id if count else None)


@transaction.atomic
def merge(
    space: Space,
    pks: list[int],
    *,
    by: str,
    keep: int | None = None,
    now: datetime | None = None,
) -> Many:
    """One stays and is as sure and as often heard as all of them; the others point to it."""
    actors.require_person(by)
    if len(pks) > MOST_MERGED:
        raise TooMany(MOST_MERGED)
    found = Fact.objects.live().filter(space=space, pk__in=pks)
    found = list(found.order_by("pk").select_for_update(of=("self",)))
    if len(found) < 2 or (keep and keep not in {fact.pk for fact in found}):
        raise facts.Invalid(_("Choose at least two facts that Keno believes now."))
    if len({fact.chat_id for fact in found}) > 1:
        # What rests on it goes along: the words of one chat must not be read in another.
        raise facts.Invalid(_("Facts of different chats cannot become one. Move them first."))
    kept = next((fact for fact in found if fact.pk == keep), None) or max(found, key=_standing)
    others = [fact for fact in found if fact.pk != kept.pk]
    with history.change(by=by, why="merge") as context:
        for fact in others:
            facts.supersede(fact, by=by, new=kept, now=now)
        facts.revise(kept, by=by, now=now, **_together(kept, others))
    return Many(len(found), change_id=context.id)


def _standing(fact: Fact) -> tuple:
    """What a person worded or pinned stays, then the surest, then the one heard last."""
    return fact.sticky, fact.pinned, fact.confidence, fact.last_seen_at


def _together(kept: Fact, others: list[Fact]) -> dict:
    rests_on = [
        {"message": fact.message_id, "episode": fact.episode_id, "quote": fact.quote or fact.text}
        for fact in others
    ]
    return {
        "confidence": max(fact.confidence for fact in (kept, *others)),
        "times_seen": sum(fact.times_seen for fact in (kept, *others)),
        "pinned": any(fact.pinned for fact in (kept, *others)),
        "evidence": [*kept.evidence, *(e for fact in others for e in fact.evidence), *rests_on],
    }


@transaction.atomic
def _set(
    space: Space,
    pks: list[int],
    *,
    by: str,
    why: str,
    now: datetime | None,
    of: list[str] | None = None,
    **values: object,
) -> Many:
    actors.require_person(by)
    if len(pks) > MOST:
        raise TooMany(MOST)
    rows = Fact.objects.filter(space=space, pk__in=pks)
    rows = rows.filter(status__in=of) if of else rows
    # In one order, so that two people who pick the same rows wait for each other.
    found = list(rows.exclude(**_so_already(values)).order_by("pk").select_for_update(of=("self",)))
    doubles = _doubles(space, found, values)
    wanted = Fact.objects.filter(pk__in=[fact.pk for fact in found if fact.pk not in doubles])
    with history.change(by=by, why=why) as context:
        count = _write(wanted, values | {"updated_at": now or timezone.now()})
    return Many(count, len(doubles), context.id if count else None)


def _so_already(values: dict) -> dict:
    """Rows that say it already need no change; that a person touched them is not enough."""
    return {name: value for name, value in values.items() if name not in ("sticky", "trashed_at")}


def _write(rows: QuerySet, values: dict) -> int:
    try:
        with transaction.atomic():
            return rows.update(**values)
    except IntegrityError as error:  # somebody said one of them just now
        raise SaidAlready(None) from error


def _doubles(space: Space, rows: list[Fact], values: dict) -> set[int]:
    """The rows that after the change would say what another live row says."""
    if not {"status", "subject", "chat"} & values.keys():
        return set()
    away = values.get("status", Status.ACTIVE) != Status.ACTIVE
    staying = [row for row in rows if "status" in values or row.status == Status.ACTIVE]
    if away or not staying:
        return set()
    others = Fact.objects.live().filter(space=space, said_key__in={row.said_key for row in staying})
    taken = set(
        others.exclude(pk__in=[row.pk for row in staying]).values_list(
            "chat_id", "subject", "said_key"
        )
    )
    doubles = set()
    for row in staying:
        chat = getattr(values["chat"], "pk", None) if "chat" in values else row.chat_id
        key = (chat, values.get("subject", row.subject), row.said_key)
        if key in taken:
            doubles.add(row.pk)
        taken.add(key)
    return doubles
