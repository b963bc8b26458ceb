"""Learn from the messages of an import: every fact found becomes a proposal, never a belief."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

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
    messages, change = _messages(space, entry), entry.details.get("change", "")
    total, unread = messages.count(), messages.filter(journal=[]).count()
    steps = AuditEntry.objects.filter(space=space, action__in=(ASKED, UNDONE))
    last = steps.filter(details__change=str(change)).order_by("-pk").first()
    waiting = _proposed(space, entry).filter(status=Status.PENDING).count()
    return Learning(total, total - unread, waiting, bool(last and last.action == ASKED))


@transaction.atomic
def start(space: Space, entry: AuditEntry, *, by: str, speaker: str = "") -> None:
    """Enqueue the job that learns from an import. `speaker` is who wrote what has no author."""
    audit.record(ASKED, actor=by, space=space, change=_change(entry))
    name = f"learn-{entry.pk}"
    jobs.enqueue(
        "sleep.learn_import",
        lock=name,
        once=name,
        space_id=space.pk,
        entry_id=entry.pk,
        speaker=speaker,
        language=translation.get_language(),
    )


def learn(
    space: Space,
    entry: AuditEntry,
    *,
    by: str = "import",
    speaker: str = "",
    now: datetime | None = None,
    progress: Progress = lambda done, total, what: None,
) -> int:
    """Read people's messages that were not read yet; return how many facts are proposed.

    Each batch is one transaction, so that a second run goes on where the first one stopped.
    """
    messages, made = _messages(space, entry), 0
    unread, total = messages.filter(journal=[]), messages.count()
    if not state(space, entry).is_asked:
        audit.record(ASKED, actor=by, space=space, change=_change(entry))
    while batch := list(_with_previous(unread)[:BATCH]):
        with transaction.atomic():
            made += _read(space, entry, batch, speaker=speaker, now=now)
        progress(total - unread.count(), total, entry.details.get("source", ""))
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
    _messages(space, entry).update(journal=[])
    audit.record(UNDONE, actor=by, space=space, change=_change(entry))
    return len(rows)


def _change(entry: AuditEntry) -> str:
    return str(entry.details.get("change", ""))


def _messages(space: Space, entry: AuditEntry) -> QuerySet[Message]:
    """Return people's messages of the import; nothing is learned from an assistant's words."""
    messages = rows_within(Message, space, entry.details.get("messages", []))
    return messages.filter(role=Message.Role.USER).order_by("pk")


def _proposed(space: Space, entry: AuditEntry) -> QuerySet[Proposal]:
    evidence = [{"import": _change(entry)}]
    return Proposal.objects.filter(space=space, kind=Kind.IMPORTED, evidence__contains=evidence)


def _with_previous(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Add what somebody else said just before in the chat: an answer may need it."""
    before = Message.objects.filter(chat=OuterRef("chat"), pk__lt=OuterRef("pk")).order_by("-pk")
    others = before.exclude(role=Message.Role.USER, author=OuterRef("author"))
    return messages.select_related("chat").annotate(previous=Subquery(others.values("text")[:1]))


def _read(space: Space, entry: AuditEntry, batch: list[Message], *, speaker: str, now) -> int:
    options, made = space.options, 0
    pairs = [(message.text, message.previous or "") for message in batch]
    limits = {"believe_at": options.believe_from, "offer_at": options.offer_from}
    heard = hearing.hear_messages(pairs, language=space.language, **limits)
    for message, statements in zip(batch, heard, strict=True):
        candidates = _candidates(message, statements, speaker=speaker)
        rows = [_propose(space, entry, message, fact, now=now) for fact in candidates]
        made += sum(map(bool, rows))
        message.journal = [
            {"outcome": "proposed", "proposal": row.pk} if row else {"outcome": "skipped"}
            for row in rows
        ] or [{"outcome": "skipped", "reason": "no fact in it"}]
    Message.objects.bulk_update(batch, ["journal"])
    return made


def _candidates(message: Message, statements: list, *, speaker: str) -> list[Candidate]:
    """Return what may be proposed: nothing suspicious and nothing with a secret taken out."""
    if still_suspicious(message.flags):
        return []
    candidates = propose(
        message.text,
        author=message.author or speaker,
        language=message.language,
        previous=message.previous or "",
        items=statements,
    )
    return [fact for fact in candidates if REDACTED not in fact.text]


def _propose(
    space: Space, entry: AuditEntry, message: Message, fact: Candidate, *, now
) -> Proposal | None:
    """Propose the fact unless the space knows it, once knew it, or decided about it."""
    if Fact.objects.filter(space=space, said_key=said_key(fact.text)).exists():
        return None
    key = proposals.key("imported", fact.subject.casefold(), said_key(fact.text))
    before = Proposal.objects.filter(space=space, key=key)
    if proposal := before.filter(status__in=(Status.EXPIRED, Status.UNDONE)).first():
        return proposals.wait_again(proposal)
    _expire_older(space, entry, fact)
    names = ("text", "subject", "kind", "category", "confidence", "quote", "language")
    after = {name: getattr(fact, name) for name in names}
    origin = {"chat": str(message.chat), "source": entry.details.get("source", "")}
    evidence = {
        "import": _change(entry),
        "message": message.pk,
        "chat": message.chat_id,
        "quote": fact.quote,
        "by": message.author,
        "at": message.sent_at.isoformat(),
        "language": fact.language,
        "heard_as": fact.heard_as,
    }
    return proposals.propose(
        space,
        Kind.IMPORTED,
        key=key,
        after=after | {"chat": None, "said_by": message.author},
        title=fact.text,
        rationale=_("It was said in “%(chat)s”, which came with %(source)s.") % origin,
        evidence=[evidence],
        confidence=fact.confidence,
        flags=["leaves its chat"],
        mode=fact.mode,
        created_at=now or timezone.now(),
    )


def _expire_older(space: Space, entry: AuditEntry, fact: Candidate) -> None:
    """Expire what waits from before and what the same person said later contradicts."""
    older = _proposed(space, entry).filter(status=Status.PENDING, after__subject=fact.subject)
    for row in older:
        if compare(row.after["text"], fact.text, subject=fact.subject).changes:
            row.status = Status.EXPIRED
            row.save(update_fields=["status"])
