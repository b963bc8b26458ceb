"""What a night does with each verdict: believe, confirm, propose, or leave it be."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from memory.facts import service as facts
from memory.models import Fact
from sleep import nights, proposals, reminders
from sleep.agreement import ClaimView, Verdict
from sleep.apply import image, target_of
from sleep.models import Claim, Proposal
from sleep.phase import Outcome, PhaseContext


def _close(verdict: Verdict, context: PhaseContext) -> None:
    Claim.objects.filter(pk__in=[one.claim for one in verdict.said]).update(settled_at=context.now)


def evidence(claims: Iterable[ClaimView]) -> list[dict]:
    """Where each word came from: one entry per episode, dated and quoted."""
    return [
        {
            "episode": claim.episode,
            "chat": claim.chat,
            "quote": claim.quote,
            "by": claim.by,
            "at": claim.at.isoformat(),
            "language": claim.language,
        }
        for claim in {claim.episode: claim for claim in claims}.values()
    ]


def _fact_image(claim: ClaimView, *, confidence: float) -> dict:
    return {
        "text": claim.text,
        "subject": claim.subject,
        "kind": claim.kind,
        "category": claim.category,
        "chat": claim.chat,
        "confidence": confidence,
        "quote": claim.quote,
        "language": claim.language,
        "said_by": claim.by,
    }


def _key(claim: ClaimView) -> str:
    return proposals.key("add", claim.chat, claim.subject.casefold(), claim.text.casefold())


def _believe(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    """Three episodes agree, or somebody curated it: applied, logged, reversible."""
    best = verdict.best
    if Proposal.objects.filter(
        space=context.space, key=_key(best), status=Proposal.Status.REJECTED
    ).exists():
        outcome.count("rejected_before")
        return _close(verdict, context)
    if nights.was_undone(context.space, best.text):
        return _propose(
            context, verdict, outcome, why=_("A night believed this and it was undone.")
        )
    why = "curated" if best.curated else "agreement"
    with context.record_change(why, best.text, evidence=evidence(verdict.said), mode=best.mode):
        done = facts.remember(
            context.space,
            text=best.text,
            by="night",
            chat=_chat_of(context, best),
            subject=best.subject,
            quote=best.quote,
            confidence=min(0.95, 0.6 + 0.1 * verdict.episodes),
            why=why,
            now=context.now,
            kind=best.kind,
            category=best.category,
            language=best.language,
            said_by=best.by,
            mode=best.mode,
            episode_id=best.episode,
            evidence=evidence(verdict.said),
        )
    outcome.count("facts_" + done.outcome)
    reminders.expire_overtaken(
        [_key(best)], space=context.space, reason=_("Three episodes agree: applied.")
    )
    return _close(verdict, context)


def _chat_of(context: PhaseContext, claim: ClaimView):
    return context.space.chats.get(pk=claim.chat) if claim.chat else None


def _propose(context: PhaseContext, verdict: Verdict, outcome: Outcome, *, why: str = "") -> None:
    best = verdict.best
    said = _("%(n)s episodes say it.") % {"n": verdict.episodes}
    made = proposals.propose(
        context.space,
        Proposal.Kind.ADD,
        key=_key(best),
        night=context.night,
        title=best.text,
        after=_fact_image(best, confidence=0.7),
        rationale=f"{said} {why}".strip(),
        evidence=evidence(verdict.said),
        confidence=min(0.95, 0.5 + 0.1 * verdict.episodes),
        mode=best.mode,
    )
    outcome.count("facts_proposed", bool(made))


def _supersede(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    """A contradiction is never settled without a person."""
    best, old = verdict.best, Fact.objects.get(pk=verdict.fact.fact)
    made = proposals.propose(
        context.space,
        Proposal.Kind.SUPERSEDE,
        key=proposals.key("supersede", old.pk, best.text.casefold()),
        night=context.night,
        title=best.text,
        targets=[target_of(old)],
        before=image(old),
        after=_fact_image(best, confidence=0.7),
        rationale=_("This contradicts what Keno believes."),
        evidence=[proposals.evidence_of(old), *evidence(verdict.said)],
        confidence=min(0.95, 0.55 + 0.1 * verdict.episodes),
        flags=["contradiction"],
        mode=best.mode,
    )
    outcome.count("contradictions", bool(made))
    _close(verdict, context)


def _contested(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    best = verdict.best
    made = proposals.propose(
        context.space,
        Proposal.Kind.ADD,
        key=_key(best),
        night=context.night,
        title=best.text,
        after=_fact_image(best, confidence=0.6),
        rationale=_("Episodes disagree; this is what was said last."),
        evidence=evidence([*verdict.said, *verdict.against]),
        confidence=0.5,
        flags=["contradiction"],
        mode=best.mode,
    )
    outcome.count("contradictions", bool(made))
    _close(verdict, context)


def _reinforce(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    fact = Fact.objects.get(pk=verdict.fact.fact)
    if nights.was_undone(context.space, fact.text):
        return _known_already(context, verdict, outcome)
    with context.record_change("agreement", fact.text, evidence=evidence(verdict.said)):
        facts.remember(
            context.space,
            text=fact.text,
            by="night",
            chat=fact.chat,
            subject=fact.subject,
            confidence=min(0.95, fact.confidence + 0.1),
            why="agreement",
            now=context.now,
        )
    outcome.count("facts_confirmed")
    return _close(verdict, context)


def _known_already(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count("known")
    _close(verdict, context)


def _older(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count("older")
    _close(verdict, context)


def _wait(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count("said_once")


def propose_promotion(
    context: PhaseContext, together: tuple[ClaimView, ...], outcome: Outcome
) -> None:
    """Several chats say the same: the whole space may know it, if a person agrees."""
    best = Verdict("propose", together).best
    made = proposals.propose(
        context.space,
        Proposal.Kind.ADD,
        key=proposals.key("share", best.subject.casefold(), best.text.casefold()),
        night=context.night,
        title=best.text,
        after=_fact_image(best, confidence=0.7) | {"chat": None},
        rationale=_("Several chats say it; approving lets the whole space know."),
        evidence=evidence(together),
        confidence=0.6,
        flags=["leaves its chat"],
        mode=best.mode,
    )
    outcome.count("promotions_proposed", bool(made))


HANDLE = {
    "believe": _believe,
    "propose": _propose,
    "supersede": _supersede,
    "contested": _contested,
    "reinforce": _reinforce,
    "known": _known_already,
    "older": _older,
    "wait": _wait,
}
