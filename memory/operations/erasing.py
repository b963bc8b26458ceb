"""Erase a message, a chat, a person, a member, an import or a space: look first, then by a job.

What was done is an Erasure: who, when, how many rows, and keyed digests of where each row stood,
with which a restored backup is made to lose the same again. No word of it is kept.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.apps import apps
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
# What the list of an erasure names.
LISTED: dict[str, Any] = {"messages": Message, "facts": Fact, "chats": Chat, "people": Entity}
EXAMPLES, PROGRESS_SECONDS = 3, 0.5
INCOGNITO_FOR = timedelta(hours=1)
Named = dict[str, Any]
Accounts = Set[tuple[str, str]]


class WrongName(ValueError):
    """What was typed is not what has to be typed."""

    def __str__(self):
        return _("Type it exactly as it is shown. Nothing was erased.")


@dataclass
class Preview:
    """What erasing would do: rows by table, some of the words, and what stays with why."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    # (why, how many, some of them)
    stays: list[tuple[str, int, list[str]]] = field(default_factory=list)
    # Only the rows themselves were counted; the job finds what repeats them.
    is_rough: bool = False


def name_of(row: Any) -> str:
    """What a person types to confirm: the name on the page."""
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
    """Do it, look, and take it back."""
    found = Preview(name_of(row))
    if kind == Kind.SPACE:
        found.counts = _counts_of_space(space)
        found.stays = [(_("The audit keeps that it was erased, by whom and when."), 1, [])]
        return found

    def look(one: Sweep) -> None:
        found.examples = _examples(one)
        found.stays = [line for line in _stays(one) if line[1]]
        found.is_rough = len(one.messages) > erasure.MANY_MESSAGES

    found.counts = erasure.erase(space, by=by, preview=True, note=look, **named(space, kind, row))
    return found


@transaction.atomic
def start(
    space: Space, kind: str, row: Any, *, typed: str, by: str, now: datetime | None = None
) -> Erasure:
    """Ask for it, with the name typed; the job does it."""
    if name_of(row) and typed.strip() != name_of(row).strip():
        raise WrongName
    if isinstance(row, Member):
        spaces.keep_an_owner(row)
    given = {"by": by, "asked_at": now or timezone.now(), "salt": secrets.token_hex(16)}
    asked = Erasure.objects.create(space=space, kind=kind, object_id=row.pk, **given)
    audit.record("erasure.asked", actor=by, space=space, obj=asked, kind=kind)
    jobs.enqueue("memory.erase", lock=f"erase-{space.pk}", erasure_id=asked.pk, space_id=space.pk)
    return asked


def run(asked: Erasure, *, now: datetime | None = None) -> Erasure:
    """Erase it, all in one transaction. Run again after a crash, it begins again; once done, not.

    What is gone already, with its chat or by somebody else, is done.
    """
    if asked.status == Status.DONE or asked.space is None:
        return asked
    row = find(asked.space, asked.kind, asked.object_id)
    with progress.beside(asked, seconds=PROGRESS_SECONDS) as tell, transaction.atomic():
        with connection.cursor() as cursor:  # not of the row: progress is written to it
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('keno.erase'), %s)", [asked.pk])
        asked.refresh_from_db(fields=["status"])
        if asked.status == Status.DONE:
            return asked
        space = asked.space.pk
        asked.status, asked.done_at = Status.DONE, now or timezone.now()
        if row is not None:
            (_erase_space if asked.kind == Kind.SPACE else _erase_rows)(asked, row, tell)
            _list_for_backups(asked, space)
            if asked.kind != Erasure.Kind.SPACE:
                jobs.ask_golden(space, "erasure")
        asked.save(update_fields=["space", "status", "done_at", "counts", "digests"])
        digest = hashlib.sha256("\n".join(asked.digests).encode()).hexdigest()
        told = {"kind": asked.kind, "rows": asked.counts, "digest": digest}
        audit.record("erasure.done", actor=asked.by, space=asked.space, obj=asked, **told)
    return asked


def _list_for_backups(asked: Erasure, space: int) -> None:
    """Write the receipt beside the backups: what one of them must lose when it is restored."""
    folder = Path(settings.KENO_BACKUPS)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ERASURES).open("a") as file:
        file.write(json.dumps(receipt(asked) | {"space": space}) + "\n")


def asked_by(by: str, pk: int) -> Erasure | None:
    """The erasure that this person asked for."""
    return Erasure.objects.filter(pk=pk, by=by).first()


def failed(asked: Erasure) -> None:
    Erasure.objects.filter(pk=asked.pk).exclude(status=Status.DONE).update(status=Status.FAILED)


def receipt(asked: Erasure) -> dict[str, Any]:
    """The receipt as a file: what, when, by whom, how many, and the digests; no words."""
    return {
        "format": "keno-erasure",
        "version": 1,
        "kind": asked.kind,
        "number": asked.object_id,
        "by": asked.by,
        "asked_at": asked.asked_at.isoformat(),
        "done_at": asked.done_at.isoformat() if asked.done_at else None,
        "rows": asked.counts,
        "salt": asked.salt,
        "digests": asked.digests,
    }


def replay_listed(file: Path, *, since: str) -> int:
    """Erase again what the receipts beside the backups say was erased after that moment."""
    told = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = 0
    for one in told:
        space = Space.objects.filter(pk=one["space"]).first()
        if space and one["done_at"] >= since:
            done += bool(replay(space, by=one["by"], receipts=[one]))
    return done


@transaction.atomic
def replay(
    space: Space, *, by: str, receipts: Iterable[dict[str, Any]] | None = None, **only: Any
) -> dict[str, int]:
    """Erase again what stands in the receipts; without any, in those of the space itself.

    For what a backup or an archive brought back. `only` are the rows that came just now: the
    numbers of an archive are other ones, so there only the digests tell what was erased.
    """
    mine = Erasure.objects.filter(space=space, status=Status.DONE)
    found = [receipt(one) for one in mine] if receipts is None else receipts
    told = [one | {"digests": set(one["digests"])} for one in found]
    if not only and _is_listed(space, told):
        counts = _counts_of_space(space)
        spaces.erase(space, typed=space.name, by=by)
        return counts
    given = _listed_rows(space, told, only) if told else {}
    if not any(given.get(name) for name in ("rows", *LISTED)):
        return {}
    counts = erasure.erase(space, by=by, own=True, **given)
    for one in told:
        _keep_receipt(space, one)
    audit.record("erasure.replayed", actor=by, space=space, **dict[str, Any](counts))
    return counts


def _listed_rows(space: Space, told: list[dict[str, Any]], only: Named) -> Named:
    """The rows of the receipts that are here again, with all that goes with them."""
    given: Named = {"rows": [], "episodes": set(), "accounts": set()}
    for name, model in LISTED.items():
        rows = model._default_manager.filter(space=space)
        rows = rows.exclude(text=erasure.ERASED) if name == "messages" else rows
        rows = rows.filter(pk__in=only[name]) if name in only else rows
        rows = rows.select_related("chat") if name != "chats" else rows
        given[name] = {row.pk for row in rows.iterator() if _is_listed(row, told)}
    for one in () if only else told:
        row = find(space, one["kind"], one["number"])
        if row is not None and _is_listed(row, [one]):
            for name, value in NAMES[one["kind"]](space, row).items():
                given[name] = [*given[name], *value] if name == "rows" else given[name] | value
    given["accounts"] |= _accounts(Entity.objects.filter(pk__in=given["people"]))
    given["messages"] |= _ids(Message.objects.filter(chat__in=given["chats"]))
    return given


def _keep_receipt(space: Space, told: dict[str, Any]) -> None:
    """A database that was put back has lost the receipts that are younger than it."""
    given = {"kind": told["kind"], "object_id": told["number"], "by": told["by"]}
    given |= {"counts": told["rows"], "digests": sorted(told["digests"]), "status": Status.DONE}
    given |= {"asked_at": told["asked_at"], "done_at": told["done_at"]}
    Erasure.objects.get_or_create(space=space, salt=told["salt"], defaults=given)


def named(space: Space, kind: str, row: Any) -> Named:
    """The rows that go with it, as erase() takes them."""
    return {"own": True} | NAMES[kind](space, row)


@transaction.atomic
def end_incognito(chat: Chat, *, before: Message | None = None) -> int:
    """Delete all that was said in the chat since it went incognito; return how many messages.

    A chat that held nothing else goes too. `before` is the command that ends it, which stays.
    """
    if chat.incognito_since is None:
        return 0
    mine = Q(not_recalled=Message.NotRecalled.INCOGNITO)  # a command has another mark
    rows = Message.objects.filter(mine | Q(received_at__gte=chat.incognito_since), chat=chat)
    said = list(rows.filter(pk__lt=before.pk) if before else rows)
    pks = {message.pk for message in said}
    receipts = Recall.objects.filter(Q(message__in=pks) | Q(reply__in=pks), space=chat.space_id)
    sent = OutboxItem.objects.filter(message__in=pks)
    is_all = not Message.objects.filter(chat=chat).exclude(pk__in=pks).exists()
    whole = {chat.pk} if is_all else set()
    given: Named = {"own": True, "messages": pks, "chats": whole}
    given["rows"] = [*receipts, *sent, *([] if is_all else said)]
    erasure.erase(chat.space, by="system", **given)
    Chat.objects.filter(pk=chat.pk).update(incognito_since=None)
    chat.incognito_since = None
    return len(pks)


def end_quiet_incognito(*, now: datetime) -> int:
    """End what nobody wrote in for an hour."""
    quiet = Chat.objects.filter(incognito_since__lt=now - INCOGNITO_FOR)
    quiet = quiet.exclude(last_message_at__gte=now - INCOGNITO_FOR).select_related("space")
    return sum(end_incognito(chat) for chat in quiet)


def origins(space: Space, kind: str, pk: int) -> set[lineage.Node] | None:
    """The rows from which to follow what came of it; None when there is no such thing here."""
    if kind in ("fact", "episode"):
        model: Any = Fact if kind == "fact" else Episode
        # What was learned from an episode rests on its messages.
        said = Message.objects.filter(space=space, role=Message.Role.USER, episode=pk)
        parts = said.values_list("pk", flat=True) if kind == "episode" else ()
        found = model.objects.filter(space=space, pk=pk).exists()
        return {(kind, pk), *(("message", part) for part in parts)} if found else None
    row = find(space, kind, pk) if kind in TABLES else None
    if row is None:
        return None
    if kind == Kind.MESSAGE:
        return {("message", pk)}
    given = named(space, kind, row)
    names = ("message", "fact", "episode") if kind == Kind.IMPORT else ("message",)
    return {(name, number) for name in names for number in given.get(f"{name}s", ())}


def _of_chats(space: Space, chats: set[int]) -> Named:
    inside = {"space": space, "chat__in": chats}
    return {
        "chats": chats,
        "messages": _ids(Message.objects.filter(**inside)),
        "facts": _ids(Fact.objects.filter(**inside)),
        "episodes": _ids(Episode.objects.filter(**inside)),
    }


def _people(space: Space, ids: set[int], accounts: Accounts = frozenset()) -> Named:
    """Their messages, the facts about them, and the chats in which nobody else spoke."""
    kin = Entity.objects.filter(space=space, owner__in=ids)
    # Whoever is known only as "Ana's sister" is known through Ana.
    ids = ids | {row.pk for row in kin if row.is_unnamed}
    rows = Entity.objects.filter(space=space, pk__in=ids)
    accounts = {*accounts, *_accounts(rows)}
    said = _ids(_said_by(space, accounts, rows))
    mine = _chats_of_nobody_else(space, said)
    given = _of_chats(space, mine)
    given["messages"] |= said
    given["facts"] |= _ids(people.facts_of(ids)) | _unlinked(space, rows)
    return given | {"people": ids, "accounts": accounts}


def _member(space: Space, row: Member) -> Named:
    accounts = {(WEB, str(row.user_id))}
    links = row.chat_links.filter(linked_at__isnull=False)
    accounts |= set(links.values_list("channel", "author_id"))
    marks = [f"{channel}:{number}" for channel, number in accounts]
    known = Entity.objects.filter(space=space, accounts__overlap=marks)
    ids = {pk for one in known for pk in people.group(one)}
    tokens = row.user.tokens.filter(space=space)
    return _people(space, ids, accounts) | {"rows": [*tokens, row]}


def _import(space: Space, row: AuditEntry) -> Named:
    """What the import made: rows of its change, its messages, and chats that it alone filled."""
    made = [step for step in history.changes_in(row.details.get("change", "")) if step.is_create]
    by_model: dict[Any, set[int]] = {}
    for step in made:
        by_model.setdefault(step.model, set()).add(step.object_id)
    said = _ids(rows_within(Message, space, row.details.get("messages", [])))
    chats = rows_within(Chat, space, row.details.get("chats", []))
    brought = Chat.objects.filter(pk__in=_ids(chats))
    brought = brought.exclude(messages__in=Message.objects.exclude(pk__in=said))
    facts, episodes = by_model.pop(Fact, set()), by_model.pop(Episode, set())
    others = [one for m, pks in by_model.items() if m is not Space
              for one in m._default_manager.filter(space=space, pk__in=pks)]  # fmt: skip
    files = Parcel.objects.filter(space=space, change=row.details.get("change", "-"))
    return {
        "messages": said, "facts": facts, "episodes": episodes, "chats": _ids(brought),
        "rows": [*(one for one in others if not isinstance(one, Chat)), *files],
    }  # fmt: skip


NAMES: dict[str, Callable[[Space, Any], Named]] = {
    Kind.MESSAGE: lambda space, row: {"messages": {row.pk}},
    Kind.CHAT: lambda space, row: _of_chats(space, {row.pk}),
    Kind.PERSON: lambda space, row: _people(space, set(people.group(row))),
    Kind.MEMBER: _member,
    Kind.IMPORT: _import,
}


def _erase_rows(asked: Erasure, row: Any, tell: erasure.Progress) -> None:
    assert asked.space

    def note(one: Sweep) -> None:
        places = {*_places(one), _place(row)}
        asked.digests = sorted(_digest(asked.salt, place) for place in places)

    given = named(asked.space, asked.kind, row)
    asked.counts = erasure.erase(asked.space, by=asked.by, note=note, tell=tell, **given)


def _erase_space(asked: Erasure, row: Space, tell: erasure.Progress) -> None:
    asked.counts = _counts_of_space(row)
    tell(1, 2)
    asked.digests = [_digest(asked.salt, _place(row))]
    spaces.erase(row, typed=row.name, by=asked.by)
    asked.space = None


def _counts_of_space(space: Space) -> dict[str, int]:
    tables = [apps.get_model(place.model) for place in erasure.PLACES if place.space == "space"]
    counts = {
        table._meta.label: table._base_manager.filter(space=space).count() for table in tables
    }
    return {label: count for label, count in counts.items() if count}


def _places(one: Sweep) -> Iterator[str]:
    """Where each row stood, in words that the same row has in any copy of the space."""
    for name, model in LISTED.items():
        rows = model._default_manager.filter(space=one.space, pk__in=getattr(one, name))
        rows = rows.select_related("chat") if name != "chats" else rows
        yield from (_place(row) for row in rows)


def _place(row: Any) -> str:
    if isinstance(row, Message):
        return f"message {row.chat.channel} {row.chat.external_id} {row.external_id}"
    if isinstance(row, Chat):
        return f"chat {row.channel} {row.external_id}"
    if isinstance(row, Space | Member | AuditEntry):
        named = {Space: "slug", Member: "user_id", AuditEntry: "at"}[type(row)]
        return f"{row._meta.model_name} {getattr(row, named)}"
    where = row.chat.key if row.chat else ""
    if isinstance(row, Fact):
        return f"fact {where} {row.subject.casefold()} {row.said_key}"
    return f"person {where} {key_of(row.name)} {' '.join(sorted(row.accounts))}"


def _digest(salt: str, place: str) -> str:
    return hmac.new(salt.encode(), place.encode(), hashlib.sha256).hexdigest()[:32]


def _is_listed(row: Any, told: Iterable[dict[str, Any]]) -> bool:
    place = _place(row)
    return any(_digest(one["salt"], place) in one["digests"] for one in told)


def _ids(rows: QuerySet) -> set[int]:
    return set(rows.values_list("pk", flat=True))


def rows_within(model: Any, space: Space, spans: list[list[int]]) -> QuerySet:
    """Return the rows of a space whose ids are in the spans that an import noted."""
    wanted = Q(pk__in=[])
    for first, last in spans:
        wanted |= Q(pk__gte=first, pk__lte=last)
    return model.objects.filter(wanted, space=space)


def _accounts(rows: Iterable[Entity]) -> set[tuple[str, str]]:
    pairs = (mark.partition(":") for row in rows for mark in row.accounts)
    return {(channel, number) for channel, _colon, number in pairs}


def _said_by(space: Space, accounts: Accounts, rows: Iterable[Entity]) -> QuerySet:
    """What they wrote: by account, and by name in a chat whose channel knows no accounts."""
    wanted = Q(pk__in=[])
    for channel, author_id in accounts:
        wanted |= Q(chat__channel=channel, author_id=author_id)
    for row in rows:
        if row.chat_id:
            names = [row.name, *row.aliases]
            wanted |= Q(chat=row.chat_id, author_id="", author__in=names)
    return Message.objects.filter(wanted, space=space, role=Message.Role.USER)


def _chats_of_nobody_else(space: Space, said: set[int]) -> set[int]:
    theirs = Count("messages", filter=Q(messages__role="user") & ~Q(messages__in=said))
    chats = Chat.objects.filter(space=space, messages__in=said).values_list("pk", flat=True)
    return _ids(Chat.objects.filter(pk__in=set(chats)).annotate(theirs=theirs).filter(theirs=0))


def _unlinked(space: Space, rows: Iterable[Entity]) -> set[int]:
    """Facts about them that nothing linked: in quarantine, in the trash."""
    keys = {(row.chat_id, key) for row in rows for key in row.keys}
    facts = Fact.objects.filter(space=space).exclude(mentions__role=Mention.Role.ABOUT)
    some = facts.exclude(subject="").values_list("pk", "chat", "subject")
    return {pk for pk, chat, subject in some if (chat, key_of(subject)) in keys}


def _examples(one: Sweep) -> list[str]:
    facts = Fact.objects.filter(pk__in=one.facts).order_by("-pk")[:EXAMPLES]
    said = Message.objects.filter(pk__in=one.messages, role="user").order_by("-pk")[:EXAMPLES]
    return [short(words, 120) for words in (*(f.text for f in facts), *(m.text for m in said))]


def _stays(one: Sweep) -> list[tuple[str, int, list[str]]]:
    """What is left, why, how much of it, and some of it."""
    facts = Fact.objects.filter(space=one.space).exclude(pk__in=one.facts)
    named = facts.filter(mentions__entity__in=one.people).exclude(pk__in=one.shared).distinct()
    others = Message.objects.filter(silenced_by__fact__in=one.facts, role="user")
    kept: list[tuple[str, QuerySet]] = [
        (
            _("Facts that rest on other words too, or are about somebody else: the quote goes."),
            facts.filter(pk__in=one.shared),
        ),
        (_("Facts about others that name them: the name is taken out."), named),
        (
            _("What other people said is theirs: it stays in the chat and is not recalled."),
            others.exclude(pk__in=one.messages).distinct(),
        ),
        (
            _("Episodes in which others spoke too: described again from what is left."),
            Episode.objects.filter(pk__in=one.around - one.episodes),
        ),
    ]
    return [
        (
            why,
            rows.count(),
            [short(row.text, 120) for row in rows[:EXAMPLES] if row.__class__ is Fact],
        )
        for why, rows in kept
    ]
