"""What the owner does by hand in the story: decide, discard, pin, rule, teach."""

from collections.abc import Callable
from datetime import datetime

from memory import actors, episodes, facts, patterns, rulings
from memory.identity import preferences
from memory.models import Episode, Fact, Member, Space
from sleep import nights, proposals
from sleep.apply import TargetChanged
from sleep.models import Proposal

# What the owner declines, by words of the title, and why. Everything else is approved.
DECLINED = {
    "odia los cumpleaños": "a joke",
    "AcmeCloud": "not from us",
    "reply builder crashed": "mended since",
    "say what solved a problem": "we do",
    "never used": "rare, but good to have",
}


def decide(space: Space, member: Member) -> int:
    """Go through what waits, the oldest first; how many were decided."""
    waiting = list(
        Proposal.objects.filter(space=space, status=Proposal.Status.PENDING).order_by("pk")
    )
    for proposal in waiting:
        _decide_one(proposal, member)
    return len(waiting)


def _decide_one(proposal: Proposal, member: Member) -> None:
    given = {"member": member, "digest": proposal.digest}
    words = proposal.title.casefold()
    why = next((why for said, why in DECLINED.items() if said.casefold() in words), "")
    try:
        if why:
            proposals.reject(proposal, reason=why, **given)
        else:
            proposals.approve(proposal, reason="we said so", **given)
    except (TargetChanged, ValueError):
        proposals.reject(proposal, reason="no longer fits", **given)


def act(verb: str, said: str, *, space: Space, member: Member | None, at: datetime) -> None:
    words, _bar, more = (part.strip() for part in said.partition("|"))
    by = actors.person(member.user) if member else "person:demo"
    ACTS[verb](space, words, more, member=member, by=by, at=at)


def _fact(space: Space, words: str) -> Fact:
    return Fact.objects.filter(space=space, text__icontains=words).latest("pk")


def _episode(space: Space, words: str) -> Episode:
    return Episode.objects.filter(space=space, messages__text__icontains=words).latest("pk")


def _discard(space: Space, words: str, why: str, *, by: str, at: datetime, **_) -> None:
    episodes.discard(_episode(space, words), by=by, reason=why, now=at)


def _rate(space: Space, words: str, how: str, *, by: str, at: datetime, **_) -> None:
    episodes.rate(_episode(space, words), feedback=how, by=by, now=at)


def _pin(space: Space, words: str, _more: str, *, by: str, **_) -> None:
    facts.pin(_fact(space, words), by=by)


def _keep(space: Space, words: str, why: str, *, by: str, **_) -> None:
    rulings.keep(_fact(space, words), by=by, reason=why)


def _never(space: Space, words: str, why: str, *, by: str, **_) -> None:
    rulings.forbid(space, text=words, by=by, reason=why)


def _trash(space: Space, words: str, _more: str, *, by: str, at: datetime, **_) -> None:
    facts.discard(_fact(space, words), by=by, now=at)


def _forget(space: Space, words: str, _more: str, *, by: str, at: datetime, **_) -> None:
    facts.forget(_fact(space, words), by=by, now=at)


def _know(space: Space, words: str, kind: str, *, by: str, at: datetime, **_) -> None:
    subject, _colon, text = (part.strip() for part in words.partition(":"))
    facts.remember(space, text=text, by=by, subject=subject, kind=kind or "fact", now=at)


def _teach(space: Space, trigger: str, response: str, *, by: str, at: datetime, **_) -> None:
    patterns.learn(space, trigger=trigger, response=response, by=by, now=at)


def _prefer(space: Space, key: str, value: str, *, by: str, at: datetime, **_) -> None:
    preferences.put(space, key=key, value=value, by=by, now=at)


def _undo(space: Space, words: str, _more: str, *, member: Member | None, **_) -> None:
    if member is None:
        return
    done = Proposal.objects.filter(space=space, status=Proposal.Status.APPROVED)
    proposals.undo(done.filter(title__icontains=words).latest("pk"), member=member)


def _undo_night(space: Space, _words: str, _more: str, *, by: str, at: datetime, **_) -> None:
    nights.undo(nights.latest(space), by=by, now=at)


ACTS: dict[str, Callable[..., None]] = {
    "discard": _discard,
    "rate": _rate,
    "pin": _pin,
    "keep": _keep,
    "never": _never,
    "trash": _trash,
    "forget": _forget,
    "know": _know,
    "teach": _teach,
    "prefer": _prefer,
    "undo": _undo,
    "undo_night": _undo_night,
}
