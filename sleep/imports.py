"""Learn from the messages of an import: every fact heard becomes a proposal, never a belief."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from memory import jobs
from memory.extraction import hearing
from memory.extraction.frames.compare import compare
from memory.extraction.propose import Candidate, propose
from memory.guards.screening import still_suspicious
from memory.history import audit
from memory.history import changes as history
from memory.models import AuditEntry, Fact, Message, Space
from memory.operations.erasing import rows_within
from memory.text.normalise import said_key
from sleep import proposals
from sleep.models import Proposal

BATCH = 100
ASKED, UNDONE = "import.learned", "import.unlearned"
REDACTED = "[redacted:"
Progress = Callable[[int, int, str], None]
Kind, Status = Proposal.Kind, Proposal.Status


@dataclass(frozen=True)
class Learning:
    """How far Keno is with the messages of one import; `waiting` proposals are undecided."""

    messages: int
    read: int
    waiting: int
    is_asked: bool

    @property
    def unread(self) -> int:
        return self.messages - self.read

    @property
    def is_running(self) -> bool:
        return self.is_asked and self.unread > 0

    @property
    def percent(self) -> int:
        return 100 * self.read // self.messages if self.messages else 100


def state(space: Space, entry: AuditEntry) -> Learning:
    """Return how many of the import's messages were read, and what waits of it."""
    said = _said(space, entry)
    unread, asked = said.filter(journal=[]).count(), (ASKED, UNDONE)
    steps = AuditEntry.objects.filter(space=space, action__in=asked, details__change=_change(entry))
    last = steps.order_by("-pk").first()
    total = said.count()
    waiting = _proposed(space, entry).filter(status=Status.PENDING).count()
    return Learning(total, total - unread, waiting, bool(last and last.action == ASKED))


@transaction.atomic
def start(space: Space, entry: AuditEntry, *, by: str, speaker: str = "") -> None:
    """Ask for it and enqueue the job. `speaker` is who wrote what has no author."""
    audit.record(ASKED, actor=by, space=space, change=_change(entry))
    language = translation.get_language()
    given: dict[str, Any] = {"entry_id": entry.pk, "speaker": speaker, "language": language}
    once = f"learn-{entry.pk}"
    jobs.enqueue("sleep.learn_import", lock=once, once=once, space_id=space.pk, **given)


def learn(
    space: Space,
    entry: AuditEntry,
    *,
    by: str = "import",
    speaker: str = "",
    now: datetime | None = None,
    progress: Progress = lambda done, total, what: None,
) -> int:
    """Read the people's messages that were not read yet; return how many facts are proposed.

    Each batch is one transaction: whoever runs this again goes on where it stopped.
    """
    said, made = _said(space, entry), 0
    total = said.count()
    if not state(space, entry).is_asked:
        audit.record(ASKED, actor=by, space=space, change=_change(entry))
    while batch := list(_with_previous(said.filter(journal=[]))[:BATCH]):
        with transaction.atomic():
            made += _read(space, entry, batch, speaker=speaker, now=now)
        progress(total - said.filter(journal=[]).count(), total, entry.details.get("source", ""))
    return made


@transaction.atomic
def undo(space: Space, entry: AuditEntry, *, by: str) -> int:
    """Take back all that was learned from the import; its messages can be read again.

    Raise history.Conflict, and take nothing back, when an approved fact was changed since.
    """
    rows = list(_proposed(space, entry).filter(status__in=(Status.PENDING, Status.APPROVED)))
    with history.change(by=by, why="undo"):
        for row in rows:
            if row.applied_as:
                history.undo_context(row.applied_as, by=by)
            row.status = Status.UNDONE if row.applied_as else Status.EXPIRED
            row.save(update_fields=["status"])
    _said(space, entry).update(journal=[])
    audit.record(UNDONE, actor=by, space=space, change=_change(entry))
    return len(rows)


def _change(entry: AuditEntry) -> str:
    return str(entry.details.get("change", ""))


def _said(space: Space, entry: AuditEntry) -> QuerySet[Message]:
    """Return what people said in it; nothing is learned from an assistant's words."""
    brought = rows_within(Message, space, entry.details.get("messages", []))
    return brought.filter(role=Message.Role.USER).order_by("pk")


def _proposed(space: Space, entry: AuditEntry) -> QuerySet[Proposal]:
    mark = [{"import": _change(entry)}]
    return Proposal.objects.filter(space=space, kind=Kind.IMPORTED, evidence__contains=mark)


def _with_previous(said: QuerySet[Message]) -> QuerySet[Message]:
    """Add what somebody else said just before in the chat: an answer may need it."""
    before = Message.objects.filter(chat=OuterRef("chat"), pk__lt=OuterRef("pk")).order_by("-pk")
    others = before.exclude(role=Message.Role.USER, author=OuterRef("author"))
    return said.select_related("chat").annotate(previous=Subquery(others.values("text")[:1]))


def _read(space: Space, entry: AuditEntry, batch: list[Message], *, speaker: str, now) -> int:
    options, made = space.options, 0
    pairs = [(message.text, message.previous or "") for message in batch]
    given = {"believe_at": options.believe_from, "offer_at": options.offer_from}
    heard = hearing.hear_messages(pairs, language=space.language, **given)
    for message, several in zip(batch, heard, strict=True):
        outcomes = [
            _put(space, entry, message, one, now=now)
            for one in _stated(message, several, speaker=speaker)
        ]
        made += sum(map(bool, outcomes))
        message.journal = [
            {"outcome": "proposed", "proposal": row.pk} if row else {"outcome": "skipped"}
            for row in outcomes
        ] or [{"outcome": "skipped", "reason": "no fact in it"}]
    Message.objects.bulk_update(batch, ["journal"])
    return made


def _stated(message: Message, heard: list[hearing.Heard], *, speaker: str) -> Iterator[Candidate]:
    """Yield what may be proposed: not from words that look like an attack, not a secret's place."""
    if still_suspicious(message.flags):
        return
    found = propose(
        message.text,
        author=message.author or speaker,
        language=message.language,
        previous=message.previous or "",
        items=heard,
    )
    yield from (one for one in found if REDACTED not in one.text)


def _put(
    space: Space, entry: AuditEntry, message: Message, one: Candidate, *, now
) -> Proposal | None:
    """Propose it unless the space knows it, once knew it, or decided about it."""
    if Fact.objects.filter(space=space, said_key=said_key(one.text)).exists():
        return None
    key = proposals.key("imported", one.subject.casefold(), said_key(one.text))
    again = Proposal.objects.filter(
        space=space, key=key, status__in=(Status.EXPIRED, Status.UNDONE)
    )
    if before := again.first():
        return proposals.wait_again(before)
    _outdate(space, entry, one)
    names = ("text", "subject", "kind", "category", "confidence", "quote", "language")
    after = {name: getattr(one, name) for name in names} | {"chat": None, "said_by": message.author}
    told = {"chat": str(message.chat), "source": entry.details.get("source", "")}
    return proposals.propose(
        space,
        Kind.IMPORTED,
        key=key,
        after=after,
        title=one.text,
        rationale=_("It was said in “%(chat)s”, which came with %(source)s.") % told,
        evidence=[_evidence(entry, message, one)],
        confidence=one.confidence,
        flags=["leaves its chat"],
        mode=one.mode,
        created_at=now or timezone.now(),
    )


def _evidence(entry: AuditEntry, message: Message, one: Candidate) -> dict:
    return {
        "import": _change(entry),
        "message": message.pk,
        "chat": message.chat_id,
        "quote": one.quote,
        "by": message.author,
        "at": message.sent_at.isoformat(),
        "language": one.language,
        "heard_as": one.heard_as,
    }


def _outdate(space: Space, entry: AuditEntry, one: Candidate) -> None:
    """Let what the same person said later take the place of what still waits from before."""
    older = _proposed(space, entry).filter(status=Status.PENDING, after__subject=one.subject)
    for row in older:
        if compare(row.after["text"], one.text, subject=one.subject).changes:
            row.status = Status.EXPIRED
            row.save(update_fields=["status"])
