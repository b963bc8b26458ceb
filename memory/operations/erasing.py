"""Erase a message, a chat, a person, a member, an import or a space: preview it, then run a job.

An Erasure records it without a word of what it was: who, when, how many rows, and keyed digests of
where each row stood. With these the same rows are erased again from a restored backup.
"""

import hashlib
import hmac
import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import erasure, jobs, lineage, people
from memory.erasure import Sweep
from memory.history import audit
from memory.history import changes as history
from memory.models import (
    AuditEntry,
    Chat,
    Entity,
    Episode,
    Erasure,
    Fact,
    Member,
    Mention,
    Message,
    OutboxItem,
    Parcel,
    Recall,
    Space,
)
from memory.models.entity import key_of
from memory.operations import progress
from memory.spaces import service as spaces
from memory.spaces.chat_links import WEB
from memory.text.normalise import short

Kind, Status = Erasure.Kind, Erasure.Status
TABLES: dict[str, Any] = {
    Kind.MESSAGE: Message,
    Kind.CHAT: Chat,
    Kind.PERSON: Entity,
    Kind.MEMBER: Member,
    Kind.IMPORT: AuditEntry,
}
ERASURES = "erasures.jsonl"
# The rows of which an erasure keeps digests.
LISTED: dict[str, Any] = {"messages": Message, "facts": Fact, "chats": Chat, "people": Entity}
EXAMPLES, PROGRESS_SECONDS = 3, 0.5
INCOGNITO_FOR = timedelta(hours=1)
Named = dict[str, Any]
Accounts = Set[tuple[str, str]]


class WrongName(ValueError):
    """The name that was typed to confirm is wrong."""

    def __str__(self):
        return _("Type it exactly as it is shown. Nothing was erased.")


@dataclass
class Preview:
    """The effect of an erasure: rows by table, some of the words, and what stays and why."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    # (why, how many, some of them)
    stays: list[tuple[str, int, list[str]]] = field(default_factory=list)
    # Only the rows themselves were counted; the job also finds what repeats them.
    is_rough: bool = False


def name_of(row: Any) -> str:
    """Return what a person types to confirm: the name on the page."""
    if isinstance(row, Member):
        return str(row.user)
    if isinstance(row, AuditEntry):
        return str(row.details.get("source", "")) or str(row.pk)
    return "" if isinstance(row, Message) else str(row)


def find(space: Space, kind: str, pk: int) -> Any:
    """Return the row of this space that is to be erased; None when there is none."""
    if kind == Kind.SPACE:
        return space if space.pk == pk else None
    rows = TABLES[kind]._default_manager.filter(space=space, pk=pk)
    return (rows.filter(action="import") if kind == Kind.IMPORT else rows).first()


def preview(space: Space, kind: str, row: Any, *, by: str) -> Preview:
    """Erase it, describe what went, and roll that back."""
    result = Preview(name_of(row))
    if kind == Kind.SPACE:
        result.counts = _counts_of_space(space)
        result.stays = [(_("The audit keeps that it was erased, by whom and when."), 1, [])]
        return result

    def look(sweep: Sweep) -> None:
        result.examples = _examples(sweep)
        result.stays = [line for line in _stays(sweep) if line[1]]
        result.is_rough = len(sweep.messages) > erasure.MANY_MESSAGES

    rows = NAMES[kind](space, row)
    result.counts = erasure.erase(space, by=by, preview=True, note=look, own=True, **rows)
    return result


@transaction.atomic
def start(
    space: Space, kind: str, row: Any, *, typed: str, by: str, now: datetime | None = None
) -> Erasure:
    """Request the erasure, confirmed by the typed name; a job runs it."""
    if name_of(row) and typed.strip() != name_of(row).strip():
        raise WrongName
    if isinstance(row, Member):
        spaces.keep_an_owner(row)
    values = {"by": by, "asked_at": now or timezone.now(), "salt": secrets.token_hex(16)}
    record = Erasure.objects.create(space=space, kind=kind, object_id=row.pk, **values)
    audit.record("erasure.asked", actor=by, space=space, obj=record, kind=kind)
    jobs.enqueue("memory.erase", lock=f"erase-{space.pk}", erasure_id=record.pk, space_id=space.pk)
    return record


def run(record: Erasure, *, now: datetime | None = None) -> Erasure:
    """Erase it in one transaction; a second run after a crash begins again, once done it stops.

    A row that is gone already, with its chat or by someone else, counts as erased.
    """
    if record.status == Status.DONE or record.space is None:
        return record
    row = find(record.space, record.kind, record.object_id)
    with progress.beside(record, seconds=PROGRESS_SECONDS) as tell, transaction.atomic():
        with connection.cursor() as cursor:  # no lock of the row: progress is written to it
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('keno.erase'), %s)", [record.pk])
        record.refresh_from_db(fields=["status"])
        if record.status == Status.DONE:
            return record
        space = record.space.pk
        record.status, record.done_at = Status.DONE, now or timezone.now()
        if row is not None:
            (_erase_space if record.kind == Kind.SPACE else _erase_rows)(record, row, tell)
            _list_for_backups(record, space)
            if record.kind != Erasure.Kind.SPACE:
                jobs.ask_golden(space, "erasure")
        record.save(update_fields=["space", "status", "done_at", "counts", "digests"])
        digest = hashlib.sha256("\n".join(record.digests).encode()).hexdigest()
        details = {"kind": record.kind, "rows": record.counts, "digest": digest}
        audit.record("erasure.done", actor=record.by, space=record.space, obj=record, **details)
    return record


def _list_for_backups(record: Erasure, space: int) -> None:
    """Write the receipt beside the backups, for when one of them is restored."""
    folder = Path(settings.KENO_BACKUPS)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ERASURES).open("a") as file:
        file.write(json.dumps(receipt(record) | {"space": space}) + "\n")


def asked_by(by: str, pk: int) -> Erasure | None:
    return Erasure.objects.filter(pk=pk, by=by).first()


def receipt(record: Erasure) -> dict[str, Any]:
    """Return the receipt as JSON: what, when, by whom, how many, and the digests; no words."""
    return {
        "format": "keno-erasure",
        "version": 1,
        "kind": record.kind,
        "number": record.object_id,
        "by": record.by,
        "asked_at": record.asked_at.isoformat(),
        "done_at": record.done_at.isoformat() if record.done_at else None,
        "rows": record.counts,
        "salt": record.salt,
        "digests": record.digests,
    }


def replay_listed(file: Path, *, since: str) -> int:
    """Erase again what the receipts beside the backups say was erased after that moment."""
    lines = file.read_text().splitlines() if file.exists() else []
    # All are parsed first: of a file that cannot be read nothing is erased.
    entries = [json.loads(line) for line in lines]
    replayed = 0
    for entry in entries:
        space = Space.objects.filter(pk=entry["space"]).first()
        if space and entry["done_at"] >= since:
            replayed += bool(replay(space, by=entry["by"], receipts=[entry]))
    return replayed


@transaction.atomic
def replay(
    space: Space, *, by: str, receipts: Iterable[dict[str, Any]] | None = None, **only: Any
) -> dict[str, int]:
    """Erase again what a backup or an archive brought back, by its receipts or the space's own.

    `only` are the rows that have just arrived: an archive has other row numbers, so only the
    digests say what was erased.
    """
    if receipts is None:
        receipts = map(receipt, Erasure.objects.filter(space=space, status=Status.DONE))
    entries = [entry | {"digests": set(entry["digests"])} for entry in receipts]
    if not only and _is_listed(space, entries):
        counts = _counts_of_space(space)
        spaces.erase(space, typed=space.name, by=by)
        return counts
    rows = _listed_rows(space, entries, only) if entries else {}
    if not any(rows.get(name) for name in ("rows", *LISTED)):
        return {}
    counts = erasure.erase(space, by=by, own=True, **rows)
    for entry in entries:
        # A database that was put back has lost the receipts that are younger than it.
        values = {"object_id": entry["number"], "counts": entry["rows"], "status": Status.DONE}
        values |= {name: entry[name] for name in ("kind", "by", "asked_at", "done_at")}
        values["digests"] = sorted(entry["digests"])
        Erasure.objects.get_or_create(space=space, salt=entry["salt"], defaults=values)
    audit.record("erasure.replayed", actor=by, space=space, **dict[str, Any](counts))
    return counts


def _listed_rows(space: Space, entries: list[dict[str, Any]], only: Named) -> Named:
    """Return the rows of the receipts that are here again, with all that goes with them."""
    named: Named = {"rows": [], "episodes": set(), "accounts": set()}
    for name, model in LISTED.items():
        rows = model._default_manager.filter(space=space)
        rows = rows.exclude(text=erasure.ERASED) if name == "messages" else rows
        rows = rows.filter(pk__in=only[name]) if name in only else rows
        rows = rows.select_related("chat") if name != "chats" else rows
        named[name] = {row.pk for row in rows.iterator() if _is_listed(row, entries)}
    for entry in () if only else entries:
        row = find(space, entry["kind"], entry["number"])
        if row is not None and _is_listed(row, [entry]):
            for name, value in NAMES[entry["kind"]](space, row).items():
                named[name] = [*named[name], *value] if name == "rows" else named[name] | value
    named["accounts"] |= _accounts(Entity.objects.filter(pk__in=named["people"]))
    named["messages"] |= _ids(Message.objects.filter(chat__in=named["chats"]))
    return named


@transaction.atomic
def end_incognito(chat: Chat, *, before: Message | None = None) -> int:
    """Delete all that was said in the chat since it went incognito; return the number of messages.

    A chat that held nothing else goes too. `before` is the command that ends it, which stays.
    """
    if chat.incognito_since is None:
        return 0
    mine = Q(not_recalled=Message.NotRecalled.INCOGNITO)  # a command has another mark
    rows = Message.objects.filter(mine | Q(received_at__gte=chat.incognito_since), chat=chat)
    messages = list(rows.filter(pk__lt=before.pk) if before else rows)
    pks = {message.pk for message in messages}
    receipts = Recall.objects.filter(Q(message__in=pks) | Q(reply__in=pks), space=chat.space_id)
    sent = OutboxItem.objects.filter(message__in=pks)
    is_all = not Message.objects.filter(chat=chat).exclude(pk__in=pks).exists()
    named: Named = {"messages": pks, "chats": {chat.pk} if is_all else set()}
    named["rows"] = [*receipts, *sent, *([] if is_all else messages)]
    erasure.erase(chat.space, by="system", own=True, **named)
    Chat.objects.filter(pk=chat.pk).update(incognito_since=None)
    chat.incognito_since = None
    return len(pks)


def end_quiet_incognito(*, now: datetime) -> int:
    """End the incognito of chats in which nobody wrote for an hour."""
    quiet = Chat.objects.filter(incognito_since__lt=now - INCOGNITO_FOR)
    quiet = quiet.exclude(last_message_at__gte=now - INCOGNITO_FOR).select_related("space")
    return sum(end_incognito(chat) for chat in quiet)


def origins(space: Space, kind: str, pk: int) -> set[lineage.Node] | None:
    """Return the rows from which lineage follows a row; None when it is not in this space."""
    if kind in ("fact", "episode"):
        model: Any = Fact if kind == "fact" else Episode
        if not model.objects.filter(space=space, pk=pk).exists():
            return None
        # What was learned from an episode rests on its messages.
        parts = Message.objects.filter(space=space, role=Message.Role.USER, episode=pk)
        ids = _ids(parts) if kind == "episode" else ()
        return {(kind, pk), *(("message", part) for part in ids)}
    row = find(space, kind, pk) if kind in TABLES else None
    if row is None:
        return None
    if kind == Kind.MESSAGE:
        return {("message", pk)}
    rows = NAMES[kind](space, row)
    names = ("message", "fact", "episode") if kind == Kind.IMPORT else ("message",)
    return {(name, number) for name in names for number in rows.get(f"{name}s", ())}


def _of_chats(space: Space, chats: set[int]) -> Named:
    inside = {"space": space, "chat__in": chats}
    return {
        "chats": chats,
        "messages": _ids(Message.objects.filter(**inside)),
        "facts": _ids(Fact.objects.filter(**inside)),
        "episodes": _ids(Episode.objects.filter(**inside)),
    }


def _people(space: Space, ids: set[int], accounts: Accounts = frozenset()) -> Named:
    """Return their messages, the facts about them, and the chats in which nobody else spoke."""
    kin = Entity.objects.filter(space=space, owner__in=ids)
    # Someone known only as "Ana's sister" is known through Ana.
    ids = ids | {row.pk for row in kin if row.is_unnamed}
    rows = Entity.objects.filter(space=space, pk__in=ids)
    accounts = {*accounts, *_accounts(rows)}
    messages = _ids(_said_by(space, accounts, rows))
    # Chats in which nobody else spoke.
    chats = Chat.objects.filter(space=space, messages__in=messages).values_list("pk", flat=True)
    theirs = Count("messages", filter=Q(messages__role="user") & ~Q(messages__in=messages))
    mine = Chat.objects.filter(pk__in=set(chats)).annotate(theirs=theirs).filter(theirs=0)
    named = _of_chats(space, _ids(mine))
    named["messages"] |= messages
    named["facts"] |= _ids(people.facts_of(ids)) | _unlinked(space, rows)
    return named | {"people": ids, "accounts": accounts}


def _member(space: Space, row: Member) -> Named:
    accounts = {(WEB, str(row.user_id))}
    links = row.chat_links.filter(linked_at__isnull=False)
    accounts |= set(links.values_list("channel", "author_id"))
    marks = [f"{channel}:{number}" for channel, number in accounts]
    known = Entity.objects.filter(space=space, accounts__overlap=marks)
    ids = {pk for entity in known for pk in people.group(entity)}
    tokens = row.user.tokens.filter(space=space)
    return _people(space, ids, accounts) | {"rows": [*tokens, row]}


def _import(space: Space, row: AuditEntry) -> Named:
    """Return what the import made: rows of its change, messages, and chats that it alone filled."""
    created: dict[Any, set[int]] = defaultdict(set)
    for step in history.changes_in(row.details.get("change", "")):
        if step.is_create:
            created[step.model].add(step.object_id)
    messages = _ids(rows_within(Message, space, row.details.get("messages", [])))
    chats = rows_within(Chat, space, row.details.get("chats", []))
    chats = Chat.objects.filter(pk__in=_ids(chats))
    named = {"messages": messages, "facts": created[Fact], "episodes": created[Episode]}
    named["chats"] = _ids(chats.exclude(messages__in=Message.objects.exclude(pk__in=messages)))
    others = (model for model in created if model not in (Space, Chat, Fact, Episode))
    rows = (model._default_manager.filter(space=space, pk__in=created[model]) for model in others)
    files = Parcel.objects.filter(space=space, change=row.details.get("change", "-"))
    return named | {"rows": [*chain.from_iterable(rows), *files]}


NAMES: dict[str, Callable[[Space, Any], Named]] = {
    Kind.MESSAGE: lambda space, row: {"messages": {row.pk}},
    Kind.CHAT: lambda space, row: _of_chats(space, {row.pk}),
    Kind.PERSON: lambda space, row: _people(space, set(people.group(row))),
    Kind.MEMBER: _member,
    Kind.IMPORT: _import,
}


def _erase_rows(record: Erasure, row: Any, tell: erasure.Progress) -> None:
    assert record.space

    def note(sweep: Sweep) -> None:
        places = {*_places(sweep), _place(row)}
        record.digests = sorted(_digest(record.salt, place) for place in places)

    rows = NAMES[record.kind](record.space, row)
    how: dict[str, Any] = {"by": record.by, "own": True, "note": note, "tell": tell}
    record.counts = erasure.erase(record.space, **how, **rows)


def _erase_space(record: Erasure, row: Space, tell: erasure.Progress) -> None:
    record.counts = _counts_of_space(row)
    tell(1, 2)
    record.digests = [_digest(record.salt, _place(row))]
    spaces.erase(row, typed=row.name, by=record.by)
    record.space = None


def _counts_of_space(space: Space) -> dict[str, int]:
    tables = (place.table for place in erasure.PLACES if place.space == "space")
    counts = ((t._meta.label, t._base_manager.filter(space=space).count()) for t in tables)
    return {label: count for label, count in counts if count}


def _places(sweep: Sweep) -> Iterator[str]:
    """Yield where each row stood, in words that the same row has in any copy of the space."""
    for name, model in LISTED.items():
        rows = model._default_manager.filter(space=sweep.space, pk__in=getattr(sweep, name))
        rows = rows.select_related("chat") if name != "chats" else rows
        yield from (_place(row) for row in rows)


def _place(row: Any) -> str:
    if isinstance(row, Message):
        return f"message {row.chat.channel} {row.chat.external_id} {row.external_id}"
    if isinstance(row, Chat):
        return f"chat {row.channel} {row.external_id}"
    if isinstance(row, Space | Member | AuditEntry):
        name = {Space: "slug", Member: "user_id", AuditEntry: "at"}[type(row)]
        return f"{row._meta.model_name} {getattr(row, name)}"
    where = row.chat.key if row.chat else ""
    if isinstance(row, Fact):
        return f"fact {where} {row.subject.casefold()} {row.said_key}"
    return f"person {where} {key_of(row.name)} {' '.join(sorted(row.accounts))}"


def _digest(salt: str, place: str) -> str:
    return hmac.new(salt.encode(), place.encode(), hashlib.sha256).hexdigest()[:32]


def _is_listed(row: Any, entries: Iterable[dict[str, Any]]) -> bool:
    place = _place(row)
    return any(_digest(entry["salt"], place) in entry["digests"] for entry in entries)


def _ids(rows: QuerySet) -> set[int]:
    return set(rows.values_list("pk", flat=True))


def rows_within(model: Any, space: Space, spans: list[list[int]]) -> QuerySet:
    """Return the rows of a space whose ids are in the spans that an import noted."""
    within = Q(pk__in=[])
    for first, last in spans:
        within |= Q(pk__gte=first, pk__lte=last)
    return model.objects.filter(within, space=space)


def _accounts(rows: Iterable[Entity]) -> set[tuple[str, str]]:
    pairs = (mark.partition(":") for row in rows for mark in row.accounts)
    return {(channel, number) for channel, _colon, number in pairs}


def _said_by(space: Space, accounts: Accounts, rows: Iterable[Entity]) -> QuerySet:
    """Return their messages: by account, or by name where the channel has no accounts."""
    authors = Q(pk__in=[])
    for channel, author_id in accounts:
        authors |= Q(chat__channel=channel, author_id=author_id)
    for row in rows:
        if row.chat_id:
            names = [row.name, *row.aliases]
            authors |= Q(chat=row.chat_id, author_id="", author__in=names)
    return Message.objects.filter(authors, space=space, role=Message.Role.USER)


def _unlinked(space: Space, rows: Iterable[Entity]) -> set[int]:
    """Return the facts about them that are not linked, as in quarantine or in the trash."""
    keys = {(row.chat_id, key) for row in rows for key in row.keys}
    facts = Fact.objects.filter(space=space).exclude(mentions__role=Mention.Role.ABOUT)
    subjects = facts.exclude(subject="").values_list("pk", "chat", "subject")
    return {pk for pk, chat, subject in subjects if (chat, key_of(subject)) in keys}


def _examples(sweep: Sweep) -> list[str]:
    facts = Fact.objects.filter(pk__in=sweep.facts).order_by("-pk")[:EXAMPLES]
    messages = Message.objects.filter(pk__in=sweep.messages, role="user").order_by("-pk")
    rows: tuple[Any, ...] = (*facts, *messages[:EXAMPLES])
    return [short(row.text, 120) for row in rows]


def _stays(sweep: Sweep) -> list[tuple[str, int, list[str]]]:
    """Return what stays: why, how many rows, and some of them."""
    facts = Fact.objects.filter(space=sweep.space).exclude(pk__in=sweep.facts)
    named = facts.filter(mentions__entity__in=sweep.people).exclude(pk__in=sweep.shared).distinct()
    others = Message.objects.filter(silenced_by__fact__in=sweep.facts, role="user")
    reasons: list[tuple[str, QuerySet]] = [
        (
            _("Facts that rest on other words too, or are about somebody else: the quote goes."),
            facts.filter(pk__in=sweep.shared),
        ),
        (_("Facts about others that name them: the name is taken out."), named),
        (
            _("What other people said is theirs: it stays in the chat and is not recalled."),
            others.exclude(pk__in=sweep.messages).distinct(),
        ),
        (
            _("Episodes in which others spoke too: described again from what is left."),
            Episode.objects.filter(pk__in=sweep.around - sweep.episodes),
        ),
    ]
    return [
        (why, rows.count(), [short(row.text, 120) for row in rows[:EXAMPLES] if type(row) is Fact])
        for why, rows in reasons
    ]
