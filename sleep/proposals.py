"""Changes that wait for a person: proposed by a night, decided and undone by members.

The first decision wins, and only what was shown is applied."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, cast

import pgtrigger
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory import jobs, rulings
from memory.chats import service as chats
from memory.facts import service as facts
from memory.guards.screening import ORDERS, redacted, redacted_values, screen
from memory.history import actors, audit
from memory.history import changes as history
from memory.models import ApiToken, Fact, Member, Ruling, Space
from memory.models.prepared import insert, prepared
from memory.text.normalise import clean, short
from memory.trust import replay
from sleep import apply as effects
from sleep.apply import APPLY, TargetChanged
from sleep.models import SENTENCE, Night, Proposal, sentence, shown

# HELD: a program asked for it, and its token holds what it writes.
SUSPICIOUS, HELD = "suspicious", "held"
# GATED: what comes by this channel, or by tags, is held for a person.
GATED, GATE_SOURCE = "gated", "gate:"
# How a contradiction is decided: the old one is right, the new one is, or each in its time.
THIS, THAT, BOTH = "this", "that", "both in their time"
RULINGS = (THIS, THAT, BOTH)
OFFER = "offer"
MAX_CONTRADICTIONS = 200
ADDING = (Proposal.Kind.ADD, Proposal.Kind.SUPERSEDE)
ORDERING = (Proposal.Kind.RULE, Proposal.Kind.PREFERENCE)
DECIDERS = (Member.Role.CURATOR, Member.Role.OWNER)
Status = Proposal.Status


class AlreadyDecided(Exception):
    """Somebody decided this first."""


class NotWhatWasShown(actors.Refusal):
    """The proposal changed after it was shown. Look at it again, then decide."""


class NeedsReason(actors.Refusal, ValueError):
    """This looks like an attack, or was kept out as one: say why you approve it all the same."""


class MayNotDecide(actors.Refusal):
    """Only a curator or an owner of this space may decide a proposal."""


def digest(kind: str, targets: list, after: dict) -> str:
    """Return the SHA-256 of exactly what approving would write."""
    text = json.dumps([kind, targets, after], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def key(*parts: object) -> str:
    """Return a short name for what is proposed, the same in every night."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()


def propose(
    space: Space,
    kind: str,
    *,
    key: str,
    rows: Sequence[Any] = (),
    after: dict | None = None,
    old_keys: Collection[str] | None = None,
    among: list[Ruling] | None = None,
    **fields: Any,
) -> Proposal | None:
    """Ask the people of the space to decide a change; None when it was proposed before or when a
    ruling forbids what it would add.

    `rows` are what it would change, as they are now; without an `after` it only counts them.
    `old_keys` and the rulings `among` are for a caller that proposes many and has loaded them.
    """
    after = {"count": len(rows)} if after is None else after
    # Most of what a night finds it has found before.
    is_old = is_known(space, key) if old_keys is None else key in old_keys
    if is_old or _ruled_out(space, kind, after, among):
        return None
    targets = [{"type": row._meta.model_name, "id": row.pk} for row in rows]
    fields.setdefault("before", effects.image(*rows))
    after = cast(dict, redacted_values(after))
    title = redacted(str(fields.pop("title", "")))
    title = title if title.startswith(SENTENCE) else short(title, 200)
    fields["rationale"] = redacted(str(fields.get("rationale", "")))
    fields["evidence"] = redacted_values(fields.get("evidence", []))
    if _looks_hostile(kind, after):
        fields["flags"] = [*fields.get("flags", []), SUSPICIOUS]
    fields |= {"title": title, "after": after, "targets": targets}
    fields["digest"] = digest(kind, targets, after)
    proposal = Proposal(space=space, kind=kind, key=key, **fields)
    if not insert(proposal, unless_there=True):
        return None
    proposal.title, proposal.rationale = shown(proposal.title), shown(proposal.rationale)
    return proposal


def is_known(space: Space, key: str) -> bool:
    """Whether this was proposed before, whatever became of it."""
    return bool(known_keys(space, [key]))


def known_keys(space: Space, keys: Iterable[str]) -> dict[str, str]:
    """Return which of these were proposed before, each with what became of it."""
    return dict(_existing_keys(space=space.pk, keys=list(keys)))


@prepared(space="bigint", keys="varchar[]")
def _existing_keys(space, keys):
    rows = Proposal.objects.filter(space=space, key__any_of=keys).order_by()
    return rows.values_list("key", "status")


def hold(
    token: ApiToken,
    kind: str,
    what: str,
    *,
    after: dict,
    row: Any = None,
    now: datetime | None = None,
) -> Proposal | None:
    """Ask a person about what a program wants; None if it was proposed before or is ruled out."""
    source = f"api:{token.name}"[:64]
    standing = standings(token.space, source).get(source, Standing())
    said_at = (now or timezone.now()).isoformat()
    return propose(
        token.space,
        kind,
        confidence=standing.trust,
        key=key("api", kind, row.pk if row else "", sorted(after.items())),
        title=what,
        after=after,
        rows=[row] if row else [],
        rationale=sentence(N_("“%(token)s” asks for this."), {"token": token.name}),
        evidence=[{"quote": what, "by": token.name, "at": said_at}],
        flags=[HELD],
        mode=source,
    )


@dataclass(frozen=True)
class Standing:
    """What people made of what one source proposed."""

    waiting: int = 0
    approved: int = 0
    rejected: int = 0

    @property
    def trust(self) -> float:
        """From 0 to 1; a half while nobody has decided anything."""
        return (self.approved + 1) / (self.approved + self.rejected + 2)


def standings(space: Space, prefix: str = "api:") -> dict[str, Standing]:
    """Count what people decided about each source whose name begins with the prefix."""
    rows = Proposal.objects.filter(space=space, mode__startswith=prefix).order_by().values("mode")
    statuses = ("pending", "approved", "rejected")
    counts = {status: Count("pk", filter=Q(status=status)) for status in statuses}
    counted = rows.annotate(**counts).values_list("mode", *statuses)
    return {mode: Standing(*numbers) for mode, *numbers in counted}


def ask_about_change(
    old: Fact, new: Fact, why: str, *, night: Night | None = None
) -> Proposal | None:
    """Ask about a change of mind that nothing but a person may settle."""
    leaves = [] if new.chat_id in (None, old.chat_id) else ["leaves its chat"]
    names = ("text", "subject", "kind", "category", "confidence", "quote", "language", "said_by")
    return propose(
        old.space,
        Proposal.Kind.SUPERSEDE,
        key=key("supersede", old.pk, new.text.casefold()),
        night=night,
        title=new.text,
        rows=[old],
        after={name: getattr(new, name) for name in names} | {"chat": old.chat_id},
        rationale=sentence(N_("This contradicts what Keno believes.")),
        evidence=[evidence_of(old), evidence_of(new)],
        confidence=new.confidence,
        flags=["contradiction", *leaves],
        mode=new.mode,
    )


def open_contradictions(space: Space, pks: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of facts, with one of these, between which a person must decide."""
    rows = _contradictions(space=space.pk)
    pairs = (tuple(item["fact"] for item in items if item.get("fact")) for (items,) in rows)
    return [pair for pair in pairs if len(pair) == 2 and not set(pks).isdisjoint(pair)]


@prepared(space="bigint")
def _contradictions(space):
    waiting = Proposal.objects.filter(
        space=space, kind=Proposal.Kind.SUPERSEDE, status=Proposal.Status.PENDING
    )
    return waiting.order_by("pk").values_list("evidence")[:MAX_CONTRADICTIONS]


def evidence_of(fact: Fact) -> dict:
    return {
        "fact": fact.pk,
        "episode": fact.episode_id,
        "quote": fact.quote or fact.text,
        "by": fact.said_by,
        "at": (fact.valid_from or fact.last_seen_at).isoformat(),
        "language": fact.language,
    }


@transaction.atomic
def rule(
    proposal: Proposal,
    *,
    member: Member,
    digest: str,
    ruling: str,
    day: datetime | None = None,
    reason: str = "",
) -> Proposal:
    """Decide a contradiction: this (the old one), that (the new one), or both in their time.

    For both, the old one held until `day` and the new one holds since; without a day they hold
    together and no night asks again.
    """
    if proposal.kind != Proposal.Kind.SUPERSEDE or ruling not in RULINGS:
        raise ValueError(_("Choose one of the three rulings."))
    options: dict[str, Any] = {"member": member, "digest": digest, "reason": reason}
    if ruling == THIS:
        decided = reject(proposal, **options)
        if rival := rival_of(decided):
            by = _decider(proposal, member)
            with history.change(by=by, why="rule out", proposal=decided.pk) as context:
                effects.require_done(facts.forget(rival, by=by, why="rule out"))
            decided.applied_as = context.id
    else:
        action = effects.keep_both if day is None else partial(effects.both_in_their_time, day=day)
        decided = approve(
            proposal, action=effects.rule_out if ruling == THAT else action, **options
        )
    decided.flags = [*[flag for flag in decided.flags if flag not in RULINGS], ruling]
    decided.save(update_fields=["flags", "applied_as"])
    return decided


def rival_of(proposal: Proposal) -> Fact | None:
    """Return the new side of a contradiction when it is a fact that is believed already."""
    number = proposal.evidence[1].get("fact") if len(proposal.evidence) > 1 else None
    targets = [target["id"] for target in proposal.targets]
    live = Fact.objects.live().filter(space=proposal.space_id, pk=number or 0)
    return live.exclude(pk__in=targets).first()


@transaction.atomic
def approve(
    proposal: Proposal,
    *,
    member: Member,
    digest: str,
    reason: str = "",
    action: Callable[..., None] | None = None,
) -> Proposal:
    """Apply exactly what was shown. Raises, and changes nothing, when that is not possible.

    `action` replaces what its kind does: another ruling on a contradiction.
    """
    by = _decider(proposal, member)
    if is_risky(proposal) and not reason.strip():
        raise NeedsReason
    locked = _decide(proposal, Status.APPROVED, member=member, digest=digest, reason=reason)
    if _digest(locked) != digest:
        raise NotWhatWasShown
    effects.check_targets(locked)
    if effects.without_sources(locked.space, [locked]):
        raise TargetChanged(effects.NO_SOURCES)
    with history.change(by=by, why=f"approve {locked.kind}", proposal=locked.pk) as context:
        (action or APPLY[locked.kind])(locked, by=by)
    locked.applied_as = context.id
    locked.save(update_fields=["applied_as"])
    jobs.ask_golden(locked.space_id, "decision")
    _audit(locked, "approve", by)
    return locked


def impact(proposal: Proposal, *, now: datetime | None = None) -> replay.Impact:
    """Find which of the last answers would change by approving it; the trial is rolled back."""

    def apply() -> None:
        Proposal.objects.filter(pk=proposal.pk).update(status=Status.APPROVED)
        effects.check_targets(proposal)
        APPLY[proposal.kind](proposal, by="person:preview")

    return replay.impact(proposal.space, apply, now=now or timezone.now())


@transaction.atomic
def reject(
    proposal: Proposal, *, member: Member, digest: str, reason: str = "", never: bool = False
) -> Proposal:
    """Say no. With `never`, what it would have remembered is ruled out for good.

    The messages that a new fact would have rested on are not recalled any more.
    """
    by = _decider(proposal, member)
    locked = _decide(proposal, Status.REJECTED, member=member, digest=digest, reason=reason)
    if never and (text := locked.after.get("text")):
        with history.change(by=by, why="reject", proposal=locked.pk) as context:
            rulings.forbid(locked.space, text=text, by=by, reason=reason or "rejected proposal")
        locked.applied_as = context.id
        locked.save(update_fields=["applied_as"])
    if offer := locked.after.get("offer"):
        effects.decline_offer(locked.space, *offer, by=by)
    chats.silence(locked.space, _rests_on(locked))
    _audit(locked, "reject", by)
    return locked


def _rests_on(proposal: Proposal) -> list[int]:
    """Return the messages in which a fact was heard that would be new."""
    if proposal.kind not in (Proposal.Kind.ADD, Proposal.Kind.IMPORTED):
        return []
    return [number for item in proposal.evidence if (number := item.get("message"))]


@transaction.atomic
def edit(proposal: Proposal, *, member: Member, digest: str, changes: dict[str, Any]) -> Proposal:
    """Change what approving would write. The new digest is what must be approved."""
    by = _decider(proposal, member)
    row = _lock_waiting(proposal)
    if row.digest != digest:
        raise NotWhatWasShown
    unknown = set(changes) - set(row.after)
    if unknown:
        raise ValueError(f"This proposal has no {', '.join(sorted(unknown))}.")
    row.after = row.after | redacted_values(changes)
    row.digest = _digest(row)
    row.flags = [*[flag for flag in row.flags if flag != "edited"], "edited"]
    row.save(update_fields=["after", "digest", "flags"])
    _audit(row, "edit", by)
    return row


@transaction.atomic
def undo(proposal: Proposal, *, member: Member) -> Proposal:
    """Take a decision back: what approving wrote is reverted, and it waits again.

    Refused with what differs (history.Conflict) when that was changed since.
    """
    by = _decider(proposal, member)
    row = _lock(proposal)
    before = row.status
    if before not in (Status.APPROVED, Status.REJECTED):
        return row
    if row.applied_as:
        history.undo_context(row.applied_as, by=by)
    if before == Status.APPROVED:
        row.status = Status.UNDONE
        row.save(update_fields=["status"])
    else:
        wait_again(row)
        chats.silence(row.space, _rests_on(row), silent=False)
    _audit(row, f"undo {before}", by)
    return row


@transaction.atomic
def reopen(proposal: Proposal, *, member: Member) -> Proposal:
    by = _decider(proposal, member)
    row = _lock(proposal)
    if row.status == Status.UNDONE:
        wait_again(row)
        _audit(row, "reopen", by)
    return row


@transaction.atomic
def rebase(proposal: Proposal, *, member: Member) -> Proposal:
    """Propose it again, against its targets as they are now. The digest is a new one.

    Raise TargetChanged when one of them is gone or no longer believed.
    """
    by = _decider(proposal, member)
    row = _lock_waiting(proposal)
    row.before = row.before | effects.image(*effects.standing_targets(row))
    # A form that showed the old state carries the old digest, and is refused.
    row.targets = [target | {"seen": target.get("seen", 0) + 1} for target in row.targets]
    row.digest = _digest(row)
    row.save(update_fields=["before", "targets", "digest"])
    _audit(row, "rebase", by)
    return row


def approve_all(
    waiting: QuerySet[Proposal], *, member: Member, shown: set[str]
) -> tuple[list[Proposal], list[str]]:
    """Approve those that were shown, one by one; those that cannot be applied stay, with why."""
    done, refused = [], []
    for proposal in _as_shown(waiting, shown):
        try:
            done.append(approve(proposal, member=member, digest=proposal.digest))
        except (AlreadyDecided, NotWhatWasShown, TargetChanged, ValueError) as error:
            refused.append(f"{proposal.title}: {error}")
    return done, refused


def reject_all(
    waiting: QuerySet[Proposal], *, member: Member, shown: set[str], reason: str = ""
) -> list[Proposal]:
    done = []
    for proposal in _as_shown(waiting, shown):
        with suppress(AlreadyDecided, NotWhatWasShown):
            done.append(reject(proposal, member=member, digest=proposal.digest, reason=reason))
    return done


def _as_shown(waiting: QuerySet[Proposal], shown: set[str]) -> list[Proposal]:
    """Leave out contradictions, and what came or was changed after the page was fetched."""
    rows = waiting.exclude(kind=Proposal.Kind.SUPERSEDE).order_by("pk")
    return [proposal for proposal in rows if proposal.seen_as in shown]


def expire_gone(space: Space) -> int:
    """Expire waiting proposals whose target is gone or no longer believed; return how many.

    One whose target only reads differently stays: it is refused until a person has seen it anew.
    """
    waiting = Proposal.objects.filter(space=space, status=Status.PENDING)
    rows = effects.rows_of(waiting)
    reasons = dict.fromkeys(effects.without_sources(space, waiting), str(effects.NO_SOURCES))
    for proposal in waiting:
        try:
            effects.standing_targets(proposal, rows)
        except TargetChanged as error:
            reasons[proposal.pk] = str(error)
    return sum(_expire(space, reason, pk=pk) for pk, reason in reasons.items())


def expire_overtaken(keys: Iterable[str], *, space: Space, reason: str) -> int:
    return _expire(space, reason, key__in=list(keys))


def _expire(space: Space, reason: str, **filters: Any) -> int:
    waiting = Proposal.objects.filter(space=space, status=Status.PENDING, **filters)
    return waiting.update(status=Status.EXPIRED, reason=reason[:300])


def is_risky(proposal: Proposal) -> bool:
    """Whether approving takes a typed reason, because of what the guards say about it."""
    return SUSPICIOUS in proposal.flags or proposal.kind == Proposal.Kind.RELEASE


def _ruled_out(space: Space, kind: str, after: dict, among: list[Ruling] | None) -> bool:
    statement = str(after.get("text", ""))
    ruling = kind in ADDING and rulings.forbidden(space, statement=statement, among=among)
    if ruling:
        rulings.count_obeyed(ruling)
    return bool(ruling)


def _looks_hostile(kind: str, after: dict) -> bool:
    text = "\n".join(value for value in after.values() if isinstance(value, str))
    # A rule, a lesson or a procedure is an order by its nature; that alone makes none suspicious.
    orders = kind in ORDERING or after.get("kind") in (Fact.Kind.LESSON, Fact.Kind.PROCEDURE)
    return bool(screen(text, ignore=ORDERS if orders else frozenset()).reasons)


def _digest(row: Proposal) -> str:
    return digest(row.kind, row.targets, row.after)


def recompute_digests(space: Space) -> None:
    """Compute digests again for proposals from an archive: their rows have other ids here."""
    rows = list(Proposal.objects.filter(space=space))
    for row in rows:
        row.digest = _digest(row)
    with pgtrigger.ignore():
        Proposal.objects.bulk_update(rows, ["digest"], batch_size=500)


def wait_again(row: Proposal) -> Proposal:
    undecided = {"decided_by": None, "decided_name": "", "decided_at": None}
    fields = undecided | {"status": Status.PENDING, "applied_as": None, "reason": ""}
    for name, value in fields.items():
        setattr(row, name, value)
    row.save(update_fields=fields)
    return row


def _decider(proposal: Proposal, member: Member) -> str:
    if member.space_id != proposal.space_id or member.role not in DECIDERS:
        raise MayNotDecide
    return actors.person(member.user)


def _lock(proposal: Proposal) -> Proposal:
    return Proposal.objects.select_for_update().get(pk=proposal.pk)


def _lock_waiting(proposal: Proposal) -> Proposal:
    row = _lock(proposal)
    if row.status != Status.PENDING:
        raise AlreadyDecided(f"Already {row.status} by {row.decided_name or 'the night'}.")
    return row


def _decide(
    proposal: Proposal, status: str, *, member: Member, digest: str, reason: str
) -> Proposal:
    # One UPDATE guarded by the old status and by what was shown: two browsers cannot both win.
    waiting = Proposal.objects.filter(pk=proposal.pk, status=Status.PENDING, digest=clean(digest))
    won = waiting.update(
        status=status,
        decided_by=member,
        decided_name=member.user.get_username(),
        decided_at=timezone.now(),
        reason=redacted(reason)[:300],
    )
    if not won:
        _lock_waiting(proposal)
        raise NotWhatWasShown
    proposal.refresh_from_db()
    return proposal


def _audit(proposal: Proposal, action: str, by: str) -> None:
    after, space = {"digest": proposal.digest}, proposal.space
    audit.record(f"proposal.{action}", actor=by, space=space, obj=proposal, after=after)
