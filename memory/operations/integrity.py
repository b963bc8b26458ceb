"""Integrity checks: faults that the database cannot refuse, or that are older than its refusal."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.db import connection, models
from django.db.models import F, Q, Value
from django.utils import timezone

from memory.history import changes as history
from memory.models import (
    Chat,
    Episode,
    Fact,
    Mention,
    Message,
    Pattern,
    RecallItem,
    Ruling,
    SilencedMessage,
    Space,
    SpaceEncryption,
)
from memory.models.content import content_fields, content_models, way_to_space
from memory.models.encryption import PREFIX, Unreadable
from memory.text import normalise as text

# An episode that is open this long was never closed by anybody.
LONG_OPEN = timedelta(days=3)


@dataclass(frozen=True)
class Fault:
    """One row that is not as it should be."""

    check: str
    model: str
    pk: int | str
    says: str

    def __str__(self):
        return f"{self.check}: {self.model} {self.pk}: {self.says}"


# The model of a row, its id, and what is wrong with it.
Found = tuple[str, int | str, str]
Check = Callable[[datetime], Iterator[Found]]
CHECKS: dict[str, Check] = {}


def check(function: Check) -> Check:
    """Register a check under its name; other apps add theirs."""
    CHECKS[function.__name__] = function
    return function


def run(*, now: datetime | None = None, only: list[str] = ()) -> Iterator[Fault]:
    """Run the checks and yield every fault."""
    for name, function in CHECKS.items():
        if not only or name in only:
            for fault in function(now or timezone.now()):
                yield Fault(name, *fault)


def _faults(rows: models.QuerySet, problem: str) -> Iterator[Found]:
    for pk in rows.order_by("pk").values_list("pk", flat=True).iterator():
        yield str(rows.model._meta.verbose_name), pk, problem


@check
def walls(now: datetime) -> Iterator[Found]:
    """Nothing may point from one space into another."""
    # These have no space of their own, and so no foreign key that would hold it.
    links: list[tuple[Any, str, list[str]]] = [
        (RecallItem, "recall__space", ["fact", "message", "episode", "pattern"]),
        (Mention, "fact__space", ["entity"]),
        (SilencedMessage, "fact__space", ["message"]),
    ]
    in_spaces: list[Any] = [
        model
        for model in apps.get_models()
        if any(f.name == "space" and f.related_model is Space for f in model._meta.fields)
    ]
    for model in in_spaces:
        columns = [f for f in model._meta.concrete_fields if f.related_model in in_spaces]
        links.append((model, "space", [f.name for f in columns if f.db_constraint]))
    for model, space, names in links:
        for name in names:
            rows = model._base_manager.exclude(**{name: None})
            wrong = rows.exclude(**{f"{name}__space": F(space)})
            yield from _faults(wrong, f"its {name} is in another space")


@check
def chats_apart(now: datetime) -> Iterator[Found]:
    """What one chat said may not be kept in another."""
    for model, names in ((Message, ["episode"]), (Fact, ["message", "episode"])):
        for name in names:
            owner_chat = f"{name}__chat"
            wrong = model.objects.exclude(chat=None).exclude(**{owner_chat: None})
            wrong = wrong.exclude(**{owner_chat: F("chat")})
            yield from _faults(wrong, f"its {name} came from another chat")


@check
def keys(now: datetime) -> Iterator[Found]:
    """A fact is found again by the key of its words."""
    for row in Fact.objects.only("text", "said_key").order_by("pk").iterator(2000):
        if not isinstance(row.text, Unreadable) and row.said_key != text.said_key(row.text):
            yield "fact", row.pk, "its key does not belong to its text"


@check
def encrypted(now: datetime) -> Iterator[Found]:
    """In an encrypted space no words are plain, nor under the key of another space."""
    for space in SpaceEncryption.objects.filter(status=SpaceEncryption.Status.ON):
        mark = Value(f"{PREFIX}{space.space_id}.")
        for model in content_models():
            rows = model._base_manager.filter(**{way_to_space(model): space.space_id})
            for field in content_fields(model):
                if isinstance(field, models.TextField):
                    own = models.Func(field.name, mark, function="starts_with")
                    own.output_field = models.BooleanField()
                    others = rows.annotate(is_own=own).filter(is_own=False)
                    problem = f"its {field.name} is not under the key of its space"
                    yield from _faults(others.exclude(**{field.name: ""}), problem)


@check
def successors(now: datetime) -> Iterator[Found]:
    """Superseded means: by another fact, and not in a circle."""
    facts, gone = Fact.objects.all(), Fact.Status.SUPERSEDED
    yield from _faults(facts.filter(status=gone, superseded_by=None), "superseded by nothing")
    live = facts.live().exclude(superseded_by=None)
    yield from _faults(live, "active, though another took its place")
    links = dict(facts.exclude(superseded_by=None).values_list("pk", "superseded_by"))
    for pk in sorted(_circular(links)):
        yield "fact", pk, "supersedes itself in a circle"


def _circular(links: dict[int, int]) -> set[int]:
    circles: set[int] = set()
    done: set[int] = set()
    for start in links:
        path, at = [], start
        while at in links and at not in done and at not in path:
            path.append(at)
            at = links[at]
        if at in path:
            circles.update(path[path.index(at) :])
        done.update(path)
    return circles


@check
def evidence(now: datetime) -> Iterator[Found]:
    """What a fact or habit rests on must still be there."""
    for model in (Fact, Pattern):
        rows = model.objects.exclude(evidence=[]).only("evidence", "space_id").order_by("pk")
        last = 0
        while batch := list(rows.filter(pk__gt=last)[:500]):
            for name, kind in (("message", Message), ("episode", Episode), ("fact", Fact)):
                yield from _missing(model, name, kind, batch)
            last = batch[-1].pk


def _missing(model: type, name: str, kind: type, rows: list) -> Iterator[Found]:
    named = {pk for row in rows for pk in _ids(row.evidence, name)}
    existing = set(kind.objects.filter(pk__in=named).values_list("pk", "space"))
    for row in rows:
        for pk in sorted(_ids(row.evidence, name)):
            if (pk, row.space_id) not in existing:
                yield model._meta.verbose_name, row.pk, f"rests on {name} {pk}, which is not there"


def _ids(items: object, name: str) -> set[int]:
    entries = items if isinstance(items, list) else ()
    ids = (entry.get(name) for entry in entries if isinstance(entry, dict))
    return {pk for pk in ids if isinstance(pk, int)}


@check
def quotes(now: datetime) -> Iterator[Found]:
    """A quote is verbatim: its message contains it."""
    rows = Fact.objects.exclude(message=None).exclude(quote="").select_related("message")
    for row in rows.only("quote", "message__text").order_by("pk").iterator(1000):
        quote, whole = (" ".join(value.split()) for value in (row.quote, row.message.text))
        if quote not in whole:
            yield "fact", row.pk, "its quote is not in its message"


@check
def trash(now: datetime) -> Iterator[Found]:
    """Only what has a date leaves the trash."""
    undated = "in the trash without a date: it would lie there for ever"
    for model in (Fact, Pattern):
        yield from _faults(model.objects.filter(status="trashed", trashed_at=None), undated)
    lost = Episode.objects.filter(status="discarded", discarded_at=None)
    yield from _faults(lost, undated)
    alive = Episode.objects.exclude(status="discarded").exclude(discarded_at=None)
    yield from _faults(alive, "has a trash date but is not in the trash")


@check
def open_episodes(now: datetime) -> Iterator[Found]:
    """An open episode is young, in a chat, and not yet consolidated."""
    opened = Episode.objects.filter(status="open")
    yield from _faults(opened.filter(ended_at__lt=now - LONG_OPEN), "open for days")
    odd = opened.filter(Q(chat=None) | ~Q(consolidated_at=None))
    yield from _faults(odd, "open without a chat, or already consolidated")


@check
def summaries(now: datetime) -> Iterator[Found]:
    """A summary knows what it sums up, unless that was purged with everything else."""
    rows = Episode.objects.exclude(summary_of=[]).only("summary_of", "space_id", "chat_id")
    for row in rows.order_by("pk").iterator(1000):
        members = Episode.objects.filter(pk__in=row.summary_of)
        if members.exclude(space=row.space_id, chat=row.chat_id).exists():
            yield "episode", row.pk, "sums up what another chat said"


@check
def rulings_in_force(now: datetime) -> Iterator[Found]:
    """A ruling to keep a fact needs the fact."""
    keeping = Ruling.objects.filter(kind="keep", status="active")
    yield from _faults(keeping.filter(fact=None), "keeps a fact that is gone")
    lost = keeping.filter(fact__status__in=["trashed", "archived"])
    yield from _faults(lost, "keeps a fact that was put away")


@check
def spaces(now: datetime) -> Iterator[Found]:
    """Settings and clocks that cannot be read fall back to defaults, silently otherwise."""
    for space in Space.objects.order_by("pk"):
        if space.zone.key != space.timezone:
            yield "space", space.pk, f"no clock is called {space.timezone}"


@check
def keys_of_chats(now: datetime) -> Iterator[Found]:
    """A chat's key is its channel and its id."""
    key = models.functions.Concat("channel", Value("-"), "external_id")
    yield from _faults(Chat.objects.exclude(key=key), "its key does not name its channel and id")


@check
def keepers(now: datetime) -> Iterator[Found]:
    """History is kept by triggers: every tracked table must have its two, switched on."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgrelid::regclass::text, count(*) FROM pg_trigger WHERE NOT tgisinternal"
            " AND tgenabled <> 'D' AND (tgname LIKE 'pgtrigger_insert_insert_%'"
            " OR tgname LIKE 'pgtrigger_update_update_%') GROUP BY 1"
        )
        triggers = dict(cursor.fetchall())
    for model in history.tracked_models():
        table = model._meta.db_table
        if triggers.get(table, 0) < 2:
            yield "table", table, "its history is not kept: a trigger is missing or switched off"


UNITS = {
    "not searchable": "SELECT '{kind}', o.id FROM memory_{kind} o WHERE NOT EXISTS"
    " (SELECT FROM memory_unit u WHERE u.kind = '{kind}' AND u.owner_id = o.id)",
    "searchable, though it is gone": "SELECT '{kind} unit', u.id FROM memory_unit u WHERE"
    " u.kind = '{kind}' AND NOT EXISTS (SELECT FROM memory_{kind} o WHERE o.id = u.owner_id)",
    "searchable in another space or chat": "SELECT '{kind}', o.id FROM memory_{kind} o JOIN"
    " memory_unit u ON u.kind = '{kind}' AND u.owner_id = o.id WHERE (u.space_id, u.chat_id)"
    " IS DISTINCT FROM (o.space_id, o.chat_id)",
}
VECTORS = {
    "a vector of nothing": "SELECT 'embedding', e.id FROM memory_embedding e WHERE NOT EXISTS"
    " (SELECT FROM memory_unit u WHERE u.id = e.unit_id)",
    "a vector of the wrong length": "SELECT 'embedding', e.id FROM memory_embedding e LEFT JOIN"
    " memory_embeddingmodel m ON m.name = e.model WHERE e.dims <> vector_dims(e.vector)"
    " OR e.dims <> m.dims",
    "a vector that may be found in another space or chat": "SELECT 'embedding', e.id FROM"
    " memory_embedding e JOIN memory_unit u ON u.id = e.unit_id WHERE (e.space_id, e.scope)"
    " IS DISTINCT FROM (u.space_id, u.scope)",
}


@check
def units(now: datetime) -> Iterator[Found]:
    """Every memory is found as what it is and where it is."""
    for kind in ("fact", "episode", "message"):
        for problem, sql in UNITS.items():
            yield from _faults_by_sql(sql.format(kind=kind), problem)


@check
def vectors(now: datetime) -> Iterator[Found]:
    """Every vector belongs to something and has its model's length."""
    for problem, sql in VECTORS.items():
        yield from _faults_by_sql(sql, problem)


def _faults_by_sql(sql: str, problem: str) -> Iterator[Found]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        for model, pk in cursor.fetchall():
            yield model, pk, problem
