"""How a fact gets its row: one live row for one saying, also when two writers say it at once."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import actors, history, rulings, text
from memory.history import Done
from memory.models import Chat, Fact, Ruling, Space
from memory.screen import Screened, in_words, screen

CONFIDENCE = {"person": 0.9, "tag": 0.8, "command": 0.9, "extraction": 0.6, "night": 0.6}
TRUST = {"person": 0.9, "command": 0.7, "tag": 0.6, "extraction": 0.6}
SOURCE = {"person": "person", "night": "night", "import": "import", "api": "import"}
EVIDENCE_KEPT = 20

Status = Fact.Status


class SaidAlready(Exception):
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
    **more: object,
) -> Fact | Done:
    """The row this saying would be, screened and not yet saved; a Done when it may not be one.

    `among` are the rulings to obey, for a caller that drafts many.
    """
    said, evidence = screen(text, line=True), screen(quote)
    book = rulings.forbidding(space) if among is None else among
    if (refused := refusal(space, said, now=now, among=book)) is not None:
        return refused
    fact = Fact(space=space, chat=chat, text=said.text, **origin(by, **more))
    describe(fact, by=by, subject=subject, quote=evidence.text, confidence=confidence)
    if rulings.forbidden(space, said=fact.quote, among=book):
        fact.quote = ""  # the sentence also held something that is never to be remembered
    fact.flags = list(dict.fromkeys([*fact.flags, *suspicions, *said.flags, *evidence.flags]))
    fact.created_at = fact.updated_at = fact.last_seen_at = now or timezone.now()
    if (suspicions or said.reasons or evidence.reasons) and not actors.is_person(by):
        fact.status = Status.QUARANTINED
    return fact


def refusal(space: Space, said: Screened, *, now: datetime | None, among=None) -> Done | None:
    if not said.text:
        return Done(None, outcome="empty", reason=_("There is nothing to remember."))
    ruling = rulings.forbidden(space, said=said.text, among=among)
    if not ruling:
        return None
    rulings.obeyed(ruling, now=now)
    reason = _("A ruling says never to remember this: “%(text)s”. Lift it first.")
    return Done(None, outcome="refused", reason=reason % {"text": text.short(ruling.text, 80)})


def describe(fact: Fact, *, by: str, subject: str, quote: str, confidence: float | None) -> None:
    """Fill in what follows from the text and from who says it."""
    kind = actors.kind(by)
    fact.subject = text.one_line(subject)[:120].strip()
    fact.quote, fact.said_key = quote, text.said_key(fact.text)
    fact.language = fact.language or text.detect_language(fact.quote or fact.text)
    fact.confidence = clamp(CONFIDENCE.get(kind, 0.5) if confidence is None else confidence)
    fact.written_by, fact.sticky = kind, fact.sticky or actors.is_person(by)


def origin(by: str, **given: object) -> dict:
    """The given fields, with source and trust from who writes unless they are given."""
    kind = actors.kind(by)
    source = SOURCE.get(kind) or ("message" if given.get("message") else "episode")
    if source == "episode" and not given.get("episode"):
        source = "message"
    given["said_by"] = text.clean(str(given.get("said_by") or ""))[:120]
    return {"source": source, "trust": TRUST.get(kind, 0.5)} | given


def clamp(confidence: object) -> float:
    """0..1; what is no number counts as a half, as a model's answer may hold anything."""
    try:
        value = float(confidence)
    except (TypeError, ValueError):
        return 0.5
    return min(1.0, max(0.0, value)) if value == value else 0.5


def insert_or_meet(fact: Fact, *, by: str, change_id: UUID) -> Done:
    """Save the new row, or strengthen the one that says the same."""
    while True:
        if met := _same(fact):
            return _meet(met, fact, by=by, change_id=change_id)
        try:
            with transaction.atomic():
                fact.save(force_insert=True)
        except IntegrityError as error:
            # Another writer said it between our look and our insert: look again.
            if _constraint(error) != "fact_said_once":
                raise
            continue
        if fact.status == Status.QUARANTINED:
            return Done(fact, change_id, "quarantined", in_words(fact.flags))
        return Done(fact, change_id, outcome="new")


def save(fact: Fact, *, now: datetime | None = None, **values: object) -> None:
    """Write these fields of a locked row."""
    values["updated_at"] = now or timezone.now()
    before = {name: getattr(fact, name) for name in values}
    for name, value in values.items():
        setattr(fact, name, value)
    try:
        with transaction.atomic():
            fact.save(update_fields=list(values))
    except IntegrityError as error:
        twin = twin_of(fact, chat=fact.chat) if _constraint(error) == "fact_said_once" else None
        for name, value in before.items():
            setattr(fact, name, value)
        if twin is None:
            raise
        raise SaidAlready(twin) from error


def protected(fact: Fact, *, by: str) -> Done | None:
    """Why a machine may not touch this row."""
    if actors.is_person(by):
        return None
    if fact.sticky or fact.pinned or rulings.kept(fact):
        reason = _("A person worded, pinned or ruled to keep this; only a person may change it.")
        return Done(fact, outcome="refused", reason=reason)
    return None


@transaction.atomic
def set_fields(fact: Fact, *, by: str, why: str, now: datetime | None = None, **values) -> Done:
    """Change the fields unless they are so already or a person protects the row."""
    lock(fact)
    watched = "status" if "status" in values else "pinned"
    if getattr(fact, watched) == values[watched]:
        return Done(fact, outcome="unchanged")
    refusal = protected(fact, by=by)
    return change(fact, by=by, why=why, now=now, **values) if refusal is None else refusal


def change(fact: Fact, *, by: str, why: str, now: datetime | None, **values) -> Done:
    with history.change(by=by, why=why) as context:
        save(fact, now=now, **values)
    return Done(fact, context.id)


def lock(fact: Fact) -> None:
    fact.refresh_from_db(from_queryset=Fact.objects.select_for_update())


def twin_of(fact: Fact, *, chat: Chat | None) -> Fact | None:
    """The live row that says the same in that scope."""
    same = Fact.objects.live().filter(
        space=fact.space_id, chat=chat, subject=fact.subject, said_key=fact.said_key
    )
    return same.exclude(pk=fact.pk).first()


def _same(fact: Fact) -> Fact | None:
    """The row that this saying belongs to, locked. A superseded one stays as it was: its time."""
    rows = Fact.objects.select_for_update().filter(
        space=fact.space_id, chat=fact.chat_id, subject=fact.subject, said_key=fact.said_key
    )
    ranks = [Status.ACTIVE, Status.QUARANTINED, Status.ARCHIVED, Status.TRASHED]
    found = [row for row in rows.order_by("-updated_at", "-pk") if row.status in ranks]
    return min(found, key=lambda row: ranks.index(row.status), default=None)


def _meet(met: Fact, fact: Fact, *, by: str, change_id: UUID) -> Done:
    values = {
        "times_seen": met.times_seen + 1,
        "last_seen_at": max(met.last_seen_at, fact.last_seen_at),
    }
    outcome = "quarantined" if met.status == Status.QUARANTINED else "again"
    if met.status in (Status.ARCHIVED, Status.TRASHED):
        derived = fact.source in ("night", "import") and not actors.is_person(by)
        if derived and _put_away_by_person(met):
            return Done(met, outcome="refused", reason=_("A person put this away."))
        outcome = "restored" if fact.status == Status.ACTIVE else "quarantined"
        values |= {"status": fact.status, "trashed_at": None, "flags": fact.flags}
        values["valid_to"] = fact.valid_to
    elif outcome == "quarantined" and actors.is_person(by):
        outcome = "restored"
        values["status"] = Status.ACTIVE
    if not met.sticky:
        values |= _strengthen(met, fact)
    save(met, now=fact.updated_at, **values)
    return Done(met, change_id, outcome=outcome)


def _strengthen(met: Fact, fact: Fact) -> dict:
    """A saying adds its evidence; it never takes away."""
    values = {
        "confidence": max(met.confidence, fact.confidence),
        "trust": max(met.trust, fact.trust),
        "sticky": fact.sticky,
        "pinned": met.pinned or fact.pinned,
    }
    if fact.message_id and fact.message_id != met.message_id:
        known = {item.get("message") for item in met.evidence}
        if fact.message_id not in known and len(met.evidence) < EVIDENCE_KEPT:
            values["evidence"] = [*met.evidence, {"message": fact.message_id, "quote": fact.quote}]
    return values


def _put_away_by_person(fact: Fact) -> bool:
    latest = history.history(fact)[:1]
    return bool(latest) and actors.is_person(latest[0].by)


def _constraint(error: IntegrityError) -> str:
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", "") or ""
