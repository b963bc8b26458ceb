"""Write imported facts in batches, drafted by the facts service."""

from django.db import IntegrityError, transaction

from memory import rulings
from memory.facts import rows as fact_rows
from memory.history.changes import ChangeResult
from memory.models import Fact
from memory.text import normalise as text
from memory.transfer.items import FactItem
from memory.transfer.reports import Verdict
from memory.transfer.session import Session
from memory.transfer.writers import messages as write_messages
from memory.transfer.writers.outcomes import KNOWN, TAKEN, Outcome, outcome, quarantined, revived

Key = tuple[int | None, str, str]
_RANKS = list(Fact.Status.values)


def write(session: Session, items: list[FactItem]) -> list[Outcome]:
    """Write the facts; return one outcome for each item, in order."""
    drafts = _drafts(session, items)
    existing = _met(session, drafts)
    found: list[Outcome] = []
    fresh: dict[Key, Fact] = {}
    for draft, item in zip(drafts, items, strict=True):
        if isinstance(draft, ChangeResult):
            found.append(outcome(draft))
        elif _key(draft) in fresh:
            found.append((Verdict.KNOWN, "twice", ""))
        elif row := existing.get(_key(draft)):
            found.append(_meet(session, row, item, draft))
        else:
            fresh[_key(draft)] = draft
            held = draft.status == Fact.Status.QUARANTINED
            found.append(quarantined(draft) if held else TAKEN)
    _insert(session, list(fresh.values()))
    return found


def _drafts(session: Session, items: list[FactItem]) -> list[Fact | ChangeResult]:
    book = rulings.forbidding_rulings(session.space)
    sources = write_messages.find(session, [(item.message_chat, item.message) for item in items])
    return [
        _draft(session, item, source, among=book)
        for item, source in zip(items, sources, strict=True)
    ]


def _draft(session: Session, item: FactItem, source: int | None, *, among) -> Fact | ChangeResult:
    draft = fact_rows.draft(
        session.space,
        text=item.text,
        by=session.writer,
        chat=session.chat(item.chat),
        subject=item.subject,
        quote=item.quote,
        confidence=item.confidence,
        now=item.at,
        among=among,
        kind=item.fact_kind,
        category=item.category,
        said_by=text.one_line(item.said_by),
        message_id=source,
        **({"status": Fact.Status.ARCHIVED} if item.archived else {}),
    )
    if isinstance(draft, Fact) and item.updated_at:
        draft.last_seen_at = max(draft.last_seen_at, item.updated_at)
    return draft


def _met(session: Session, drafts: list[Fact | ChangeResult]) -> dict[Key, Fact]:
    """Return existing rows with the same text, live ones before archived ones."""
    keys = {draft.said_key for draft in drafts if isinstance(draft, Fact)}
    rows = Fact.objects.filter(space=session.space, said_key__in=keys)
    ordered = sorted(rows, key=lambda row: (_RANKS.index(row.status), -row.pk), reverse=True)
    return {_key(row): row for row in ordered}


def _meet(session: Session, existing: Fact, item: FactItem, draft: Fact) -> Outcome:
    if existing.status in (Fact.Status.ACTIVE, Fact.Status.QUARANTINED) or item.archived:
        return KNOWN
    if existing.status == Fact.Status.SUPERSEDED:
        return Verdict.SKIPPED, "superseded", ""
    return revived(session, existing, message_id=draft.message_id)


def _insert(session: Session, fresh: list[Fact]) -> None:
    try:
        with transaction.atomic():
            Fact.objects.bulk_create(fresh)
    except IntegrityError:
        # Somebody said one of these meanwhile: one by one, each meets its like.
        for fact in fresh:
            fact.pk = None
            fact_rows.insert_or_strengthen(fact, by=session.writer, change_id=None)


def _key(fact: Fact) -> Key:
    return fact.chat_id, fact.subject, fact.said_key
