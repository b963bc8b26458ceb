"""Write the rows of facts: one live row per statement, also when two writers save it at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import people, rulings
from memory.facts import lasting
from memory.guards.screening import Screened, describe_reasons, screen
from memory.history import actors
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Episode, Fact, Ruling, Space, encryption
from memory.models.prepared import insert, prepared
from memory.text import normalise as text

CONFIDENCE = {"person": 0.9, "tag": 0.8, "command": 0.9, "extraction": 0.6, "night": 0.6}
TRUST = {"person": 0.9, "command": 0.7, "tag": 0.6, "extraction": 0.6}
SOURCE = {"person": "person", "night": "night", "import": "import", "api": "import"}
MAX_EVIDENCE = 20
# The fields that decide which entities a fact mentions.
MENTION_FIELDS = {"text", "subject", "chat"}

Status = Fact.Status


class DuplicateFact(Exception):
    """Another live fact says the same."""

    def __init__(self, other: Fact | None):
        self.other = other
        super().__init__(self.__doc__)


def draft(
    space: Space,
    *,
    text: str,
    by: str,
    chat: Chat | None = None,
    subject: str = "",
    quote: str = "",
    confidence: float | None = None,
    suspicions: Sequence[str] = (),
    now: datetime | None = None,
    among: list[Ruling] | None = None,
    **more: Any,
) -> Fact | ChangeResult:
    """Build the screened, unsaved row of a fact; a ChangeResult when it may not become one.

    `among` are the rulings to obey, for a caller that drafts many.
    """
    screened, evidence = screen(text, single_line=True), screen(quote)
    book = rulings.forbidding_rulings(space) if among is None else among
    if (refused := refusal(space, screened, now=now, among=book)) is not None:
        return refused
    fact = Fact(space=space, chat=chat, text=screened.text, **origin(by, **more))
    describe(fact, by=by, subject=subject, quote=evidence.text, confidence=confidence)
    if rulings.forbidden(space, statement=fact.quote, among=book):
        fact.quote = ""  # the sentence also held something that is never to be remembered
    fact.flags = list(dict.fromkeys([*fact.flags, *suspicions, *screened.flags, *evidence.flags]))
    if fact.evidence:
        fact.trust = least_trust(fact.evidence, usual=fact.trust)
    fact.created_at = fact.updated_at = fact.last_seen_at = now or timezone.now()
    if (suspicions or screened.reasons or evidence.reasons) and not actors.is_person(by):
        fact.status = Status.QUARANTINED
    return fact


def refusal(
    space: Space, screened: Screened, *, now: datetime | None, among: list[Ruling] | None = None
) -> ChangeResult | None:
    if not screened.text:
        return ChangeResult(None, outcome="empty", reason=_("There is nothing to remember."))
    ruling = rulings.forbidden(space, statement=screened.text, among=among)
    if not ruling:
        return None
    rulings.count_obeyed(ruling, now=now)
    reason = _("A ruling says never to remember this: “%(text)s”. Remove it first.")
    return ChangeResult(
        None, outcome="refused", reason=reason % {"text": text.short(ruling.text, 80)}
    )


def describe(fact: Fact, *, by: str, subject: str, quote: str, confidence: float | None) -> None:
    """Fill in the fields that follow from the text and from who writes it."""
    kind = actors.kind(by)
    fact.subject = text.one_line(subject)[:120].strip()
    fact.quote, fact.said_key = quote, text.said_key(fact.text)
    fact.language = fact.language or text.detect_language(fact.quote or fact.text)
    fact.confidence = clamp(CONFIDENCE.get(kind, 0.5) if confidence is None else confidence)
    fact.lasts = lasting.kind_of(fact)
    fact.written_by, fact.sticky = kind, fact.sticky or actors.is_person(by)


def origin(by: str, **fields: Any) -> dict:
    """Return the fields with source and trust added, by who writes, where they are missing."""
    kind = actors.kind(by)
    source = SOURCE.get(kind) or ("message" if fields.get("message") else "episode")
    if source == "episode" and not fields.get("episode"):
        source = "message"
    fields["said_by"] = text.clean(str(fields.get("said_by") or ""))[:120]
    return {"source": source, "trust": TRUST.get(kind, 0.5)} | fields


def least_trust(evidence: list[dict], *, usual: float) -> float:
    """Return the least trust among the evidence, and never more than the usual of the writer."""
    values = [usual]
    for name, model in (("fact", Fact), ("episode", Episode)):
        pks = [entry[name] for entry in evidence if isinstance(entry.get(name), int)]
        values += model.objects.filter(pk__in=pks).values_list("trust", flat=True)
    return min(values)


def clamp(confidence: Any) -> float:
    """Return 0..1; a half for what is not a number, as a model's answer may hold anything."""
    try:
        value = float(confidence)
    except (TypeError, ValueError):
        return 0.5
    return min(1.0, max(0.0, value)) if value == value else 0.5


def insert_or_strengthen(fact: Fact, *, by: str, change_id: UUID) -> ChangeResult:
    """Save the new row, or strengthen the row that says the same."""
    while True:
        if existing := _find_existing(fact):
            return _strengthen_existing(existing, fact, by=by, change_id=change_id)
        if not insert(fact, unless_there=True):
            continue  # another writer saved it between our query and our insert: query again
        if fact.status == Status.QUARANTINED:
            return ChangeResult(fact, change_id, "quarantined", describe_reasons(fact.flags))
        return ChangeResult(fact, change_id, outcome="new")


def save(fact: Fact, *, now: datetime | None = None, **values: Any) -> None:
    """Write these fields of a locked row."""
    values["updated_at"] = now or timezone.now()
    if lasting.DECIDING_FIELDS & values.keys():
        values["lasts"] = lasting.kind_of(fact, **values)
    before = {name: getattr(fact, name) for name in values}
    for name, value in values.items():
        setattr(fact, name, value)
    try:
        with transaction.atomic():
            fact.save(update_fields=list(values))
    except IntegrityError as error:
        constraint = getattr(getattr(error.__cause__, "diag", None), "constraint_name", "")
        is_duplicate = constraint == "fact_said_once"
        twin = same_live_fact(fact, chat=fact.chat) if is_duplicate else None
        for name, value in before.items():
            setattr(fact, name, value)
        if twin is None:
            raise
        raise DuplicateFact(twin) from error
    if MENTION_FIELDS & values.keys() and fact.status == Status.ACTIVE:
        people.link(fact)


def protected(fact: Fact, *, by: str) -> ChangeResult | None:
    """Return a refusal when a machine may not change this row."""
    if actors.is_person(by):
        return None
    if fact.sticky or fact.pinned or rulings.keep_ruling(fact):
        reason = _("A person wrote, pinned or ruled to keep this; only a person may change it.")
        return ChangeResult(fact, outcome="refused", reason=reason)
    return None


@transaction.atomic
def set_fields(
    fact: Fact, *, by: str, why: str, now: datetime | None = None, **values: Any
) -> ChangeResult:
    """Change the fields, unless they have these values already or a person protects the row."""
    lock(fact)
    watched = "status" if "status" in values else "pinned"
    if getattr(fact, watched) == values[watched]:
        return ChangeResult(fact, outcome="unchanged")
    refusal = protected(fact, by=by)
    return change(fact, by=by, why=why, now=now, **values) if refusal is None else refusal


def change(fact: Fact, *, by: str, why: str, now: datetime | None, **values: Any) -> ChangeResult:
    with history.change(by=by, why=why) as context:
        save(fact, now=now, **values)
    return ChangeResult(fact, context.id)


def lock(fact: Fact) -> None:
    fact.refresh_from_db(from_queryset=Fact.objects.select_for_update())


def same_live_fact(fact: Fact, *, chat: Chat | None) -> Fact | None:
    """Return another live fact that says the same in that chat, or in the whole space."""
    same = Fact.objects.live().filter(
        space=fact.space_id, chat=chat, subject=fact.subject, said_key=fact.said_key
    )
    return same.exclude(pk=fact.pk).first()


def _find_existing(fact: Fact) -> Fact | None:
    """Return the locked row that says the same. A superseded one does not count."""
    names = {"space": fact.space_id, "chat": fact.chat_id, "subject": fact.subject}
    same = _same_words(**names, said_keys=encryption.stored_forms(fact.said_key))
    ranks: list[str] = [Status.ACTIVE, Status.QUARANTINED, Status.ARCHIVED, Status.TRASHED]
    candidates = [row for row in same if row.status in ranks]
    return min(candidates, key=lambda row: ranks.index(row.status), default=None)


@prepared(space="bigint", chat="bigint", subject="varchar", said_keys="text[]")
def _same_words(space, chat, subject, said_keys):
    rows = Fact.objects.select_for_update().filter(
        space=space, chat=chat, subject=subject, said_key__any_of=said_keys
    )
    return rows.order_by("-updated_at", "-pk")


def _strengthen_existing(existing: Fact, fact: Fact, *, by: str, change_id: UUID) -> ChangeResult:
    values = {
        "times_seen": existing.times_seen + 1,
        "last_seen_at": max(existing.last_seen_at, fact.last_seen_at),
    }
    outcome = "quarantined" if existing.status == Status.QUARANTINED else "again"
    if existing.status in (Status.ARCHIVED, Status.TRASHED):
        derived = fact.source in ("night", "import") and not actors.is_person(by)
        if derived and _put_away_by_person(existing):
            reason = _("A person removed this before.")
            return ChangeResult(existing, outcome="refused", reason=reason)
        outcome = "restored" if fact.status == Status.ACTIVE else "quarantined"
        values |= {"status": fact.status, "trashed_at": None, "flags": fact.flags}
        values["forgotten"] = False
        values |= {"valid_to": fact.valid_to, "occurs_at": fact.occurs_at}
    if existing.valid_to and existing.valid_to <= fact.last_seen_at:
        values["valid_to"] = fact.valid_to  # said again, it holds again
    elif outcome == "quarantined" and actors.is_person(by):
        outcome = "restored"
        values["status"] = Status.ACTIVE
    if not existing.sticky:
        values |= _strengthen(existing, fact)
    save(existing, now=fact.updated_at, **values)
    return ChangeResult(existing, change_id, outcome=outcome)


def _strengthen(existing: Fact, fact: Fact) -> dict:
    """Return the values that the new evidence adds; it never lowers any."""
    values: dict[str, Any] = {
        "confidence": max(existing.confidence, fact.confidence),
        "trust": max(existing.trust, fact.trust),
        "sticky": fact.sticky,
        "pinned": existing.pinned or fact.pinned,
        # Said again, "on Friday" is another Friday.
        "occurs_at": fact.occurs_at or existing.occurs_at,
        "occurs_until": fact.occurs_until if fact.occurs_at else existing.occurs_until,
    }
    if fact.message_id and fact.message_id != existing.message_id:
        message_ids = {item.get("message") for item in existing.evidence}
        if fact.message_id not in message_ids and len(existing.evidence) < MAX_EVIDENCE:
            entry = {"message": fact.message_id, "quote": fact.quote}
            values["evidence"] = [*existing.evidence, entry]
    return values


def _put_away_by_person(fact: Fact) -> bool:
    latest = history.history(fact)[:1]
    return bool(latest) and actors.is_person(latest[0].by)
