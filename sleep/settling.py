"""What a night does with each verdict: believe, confirm, propose, or leave it be."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from memory import facts
from memory.models import Fact
from sleep import expiry, nights, proposals
from sleep.agreement import Said, Verdict
from sleep.apply import image, target
from sleep.models import Claim, Proposal
from sleep.sleeper import Outcome, Sleeper


def _close(verdict: Verdict, sleeper: Sleeper) -> None:
    Claim.objects.filter(pk__in=[one.claim for one in verdict.said]).update(settled_at=sleeper.now)


def evidence(said: Iterable[Said]) -> list[dict]:
    """Where each word came from: one entry per episode, dated and quoted."""
    return [
        {
            "episode": one.episode,
            "chat": one.chat,
            "quote": one.quote,
            "by": one.by,
            "at": one.at.isoformat(),
            "language": one.language,
        }
        for one in {one.episode: one for one in said}.values()
    ]


def _fact_image(one: Said, *, confidence: float) -> dict:
    return {
        "text": one.text,
        "subject": one.subject,
        "kind": one.kind,
        "category": one.category,
        "chat": one.chat,
        "confidence": confidence,
        "quote": one.quote,
        "language": one.language,
        "said_by": one.by,
    }


def _key(one: Said) -> str:
    return proposals.key("add", one.chat, one.subject.casefold(), one.text.casefold())


def _believe(sleeper: Sleeper, verdict: Verdict, outcome: Outcome) -> None:
    """Three episodes agree, or somebody curated it: applied, logged, reversible."""
    best = verdict.best
    if Proposal.objects.filter(
        space=sleeper.space, key=_key(best), status=Proposal.Status.REJECTED
    ).exists():
        outcome.count("rejected_before")
        return _close(verdict, sleeper)
    if nights.taken_back(sleeper.space, best.text):
        return _propose(
            sleeper, verdict, outcome, why=_("A night believed this and it was taken back.")
        )
    why = "curated" if best.curated else "agreement"
    with sleeper.applies(why, best.text, evidence=evidence(verdict.said), mode=best.mode):
        done = facts.remember(
            sleeper.space,
            text=best.text,
            by="night",
            chat=_chat_of(sleeper, best),
            subject=best.subject,
            quote=best.quote,
            confidence=min(0.95, 0.6 + 0.1 * verdict.episodes),
            why=why,
            now=sleeper.now,
            kind=best.kind,
            category=best.category,
            language=best.language,
            said_by=best.by,
            mode=best.mode,
            episode_id=best.episode,
            evidence=evidence(verdict.said),
        )
    outcome.count("facts_" + done.outcome)
    expiry.overtaken([_key(best)], space=sleeper.space, reason=_("Three episodes agree: applied."))
    return _close(verdict, sleeper)


def _chat_of(sleeper: Sleeper, one: Said):
    return sleeper.space.chats.get(pk=one.chat) if one.chat else None


def _propose(sleeper: Sleeper, verdict: Verdict, outcome: Outcome, *, why: str = "") -> None:
    best = verdict.best
    said = _("%(n)s episodes say it.") % {"n": verdict.episodes}
    made = proposals.propose(
        sleeper.space,
        Proposal.Kind.ADD,
        key=_key(best),
        night=sleeper.night,
        title=best.text,
        after=_fact_image(best, confidence=0.7),
        rationale=f"{said} {why}".strip(),
        evidence=evidence(verdict.said),
        confidence=min(0.95, 0.5 + 0.1 * verdict.episodes),
        mode=best.mode,
    )
    outcome.count("facts_proposed", bool(made))


def _supersede(sleeper: Sleeper, verdict: Verdict, outcome: Outcome) -> None:
    """A contradiction is never settled without a person."""
    best, old = verdict.best, Fact.objects.get(pk=verdict.fact.fact)
    made = proposals.propose(
        sleeper.space,
        Proposal.Kind.SUPERSEDE,
        key=proposals.key("supersede", old.pk, best.text.casefold()),
        night=sleeper.night,
        title=best.text,
        targets=[target(old)],
        before=image(old),
        after=_fact_image(best, confidence=0.7),
        rationale=_("It cannot be true together with what is believed."),
        evidence=[_old_evidence(old), *evidence(verdict.said)],
        confidence=min(0.95, 0.55 + 0.1 * verdict.episodes),
        flags=["contradiction"],
        mode=best.mode,
    )
    outcome.count("contradictions", bool(made))
    _close(verdict, sleeper)


def _old_evidence(old: Fact) -> dict:
    return {
        "fact": old.pk,
        "episode": old.episode_id,
        "quote": old.quote or old.text,
        "by": old.said_by,
        "at": (old.valid_from or old.last_seen_at).isoformat(),
        "language": old.language,
    }


def _contested(sleeper: Sleeper, verdict: Verdict, outcome: Outcome) -> None:
    best = verdict.best
    made = proposals.propose(
        sleeper.space,
        Proposal.Kind.ADD,
        key=_key(best),
        night=sleeper.night,
        title=best.text,
        after=_fact_image(best, confidence=0.6),
        rationale=_("Episodes disagree; this is what was said last."),
        evidence=evidence([*verdict.said, *verdict.against]),
        confidence=0.5,
        flags=["contradiction"],
        mode=best.mode,
    )
    outcome.count("contradictions", bool(made))
    _close(verdict, sleeper)


def _reinforce(sleeper: Sleeper, verdict: Verdict, outcome: Outcome) -> None:
    fact = Fact.objects.get(pk=verdict.fact.fact)
    if nights.taken_back(sleeper.space, fact.text):
        return _known_already(sleeper, verdict, outcome)
    with sleeper.applies("agreement", fact.text, evidence=evidence(verdict.said)):
        facts.remember(
            sleeper.space,
            text=fact.text,
            by="night",
            chat=fact.chat,
            subject=fact.subject,
            confidence=min(0.95, fact.confidence + 0.1),
            why="agreement",
            now=sleeper.now,
        )
    outcome.count("facts_confirmed")
    return _close(verdict, sleeper)


def _known_already(sleeper: Sleeper, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count("known")
    _close(verdict, sleeper)


def _older(sleeper: Sleeper, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count("older")
    _close(verdict, sleeper)


def _wait(sleeper: Sleeper, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count("said_once")


def propose_promotion(sleeper: Sleeper, together: tuple[Said, ...], outcome: Outcome) -> None:
    """Several chats say the same: the whole space may know it, if a person agrees."""
    best = Verdict("propose", together).best
    made = proposals.propose(
        sleeper.space,
        Proposal.Kind.ADD,
        key=proposals.key("share", best.subject.casefold(), best.text.casefold()),
        night=sleeper.night,
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
