"""The first conversation: observe, say what was seen, ask for boundaries, keep the answers.

Five messages are only listened to, at the sixth Keno says how it reads the person, at the seventh
it asks for boundaries, and the answer to that ends it. A model's tag ends it too. Asking what
comes next changes nothing; `advance` writes, in the transaction of the reply.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from memory import history
from memory import text as words
from memory.history import Done
from memory.identity import preferences
from memory.identity.bootstrap_words import PHRASES, say
from memory.identity.profile import CHOICES, DEFAULT, UNKNOWN, Profile, infer
from memory.models import Identity, Space

OBSERVED = 5
HEARD_LENGTH = 500
BY = "bot"


@dataclass(frozen=True)
class Step:
    """What this message leads to: the words to say, and where the conversation stands after it."""

    phase: str
    script: str
    state: dict

    @property
    def completes(self) -> bool:
        return self.phase == "complete"


def start(space: Space, *, chat: int | None = None, now: datetime | None = None) -> bool:
    """Begin; False when it goes on already. With a chat, only there."""
    identity, _new = Identity.objects.get_or_create(space=space)
    state = {"count": 0, "heard": [], "chat": chat, "at": (now or timezone.now()).isoformat()}
    return bool(
        Identity.objects.filter(pk=identity.pk, bootstrap__isnull=True).update(bootstrap=state)
    )


def stop(space: Space) -> bool:
    """End it without keeping anything."""
    return bool(
        Identity.objects.filter(space=space).exclude(bootstrap__isnull=True).update(bootstrap=None)
    )


def is_fresh(space: Space) -> bool:
    """Nobody has said yet who Keno is or how it should be, nor begun the conversation."""
    return not Identity.objects.filter(space=space).exists() and not preferences.has_any(space)


def is_active(space: Space, *, chat: int | None = None) -> bool:
    state = _state(space)
    return state is not None and state.get("chat") in (None, chat)


def next_step(
    space: Space, *, said: str, complete: Callable[[str], str] | None = None
) -> Step | None:
    """What this message leads to; None when no first conversation goes on."""
    state = _state(space)
    if state is None:
        return None
    count = int(state.get("count", 0)) + 1
    heard = [*state.get("heard", []), words.short(said, HEARD_LENGTH)][-OBSERVED - 3 :]
    state = state | {"count": count, "heard": heard}
    if count <= OBSERVED:
        return Step("observing", "", state)
    if count == OBSERVED + 1:
        profile = infer(heard, complete=complete)
        state["profile"] = profile.as_dict()
        return Step("checkpoint", say("checkpoint", profile), state)
    profile = profile_of(state)
    if count == OBSERVED + 2:
        return Step("boundaries", say("boundaries", profile), state | {"correction": said})
    return Step("complete", say("complete", profile), state | {"boundaries": said})


def advance(space: Space, step: Step, *, now: datetime | None = None) -> list[Done]:
    """Stand where the step leads; at its end, keep what was found as preferences."""
    if step.completes:
        return finish(space, state=step.state, now=now)
    Identity.objects.filter(space=space).exclude(bootstrap__isnull=True).update(
        bootstrap=step.state
    )
    return []


def finish(space: Space, *, state: dict | None = None, now: datetime | None = None) -> list[Done]:
    """End it and keep what is known by then; nothing when it was over already."""
    state = state or _state(space)
    if state is None or not stop(space):
        return []
    section, values = found(state)
    done = [
        preferences.put(space, section=section, key=key, value=value, by=BY, now=now)
        for key, value in values.items()
        if value
    ]
    return [one for one in done if one.changed]


def end(space: Space, *, by: str, now: datetime | None = None) -> Done:
    """A person ends it here: what is known is kept, as one change."""
    if _state(space) is None:
        return Done(None, outcome="unchanged")
    with history.change(by=by, why="the first conversation ends") as context:
        kept = finish(space, now=now)
    if not kept:
        return Done(None, reason=_("It is over. Nothing was known yet, so nothing was kept."))
    return Done(None, context.id, count=len(kept))


def found(state: dict) -> tuple[str, dict[str, str]]:
    """What would be kept if it ended now: the heading, and a value or nothing for each name."""
    heard = heard_in(state)
    profile = profile_of(state) if "profile" in state else infer(heard)
    phrases = PHRASES[profile.language]
    known = _values(profile, state) if heard or "profile" in state else [""] * len(phrases["keys"])
    return phrases["section"], dict(zip(phrases["keys"], known, strict=True))


def heard_in(state: dict) -> list[str]:
    said = state.get("heard", [])
    return [one for one in said if isinstance(one, str)] if isinstance(said, list) else []


def profile_of(state: dict) -> Profile:
    """The profile in a stored state; the default where it is not one."""
    try:
        profile = Profile(**state["profile"])
    except (KeyError, TypeError):
        return DEFAULT
    known = all(getattr(profile, name) in values for name, values in CHOICES.items())
    return profile if known and isinstance(profile.tech, str) else DEFAULT


def _values(profile: Profile, state: dict) -> list[str]:
    phrases = PHRASES[profile.language]
    return [
        phrases["tone"][profile.tone],
        phrases["verbosity"][profile.verbosity],
        phrases["language"][profile.language],
        phrases["emoji"].get(profile.emoji, ""),
        "" if profile.tech == UNKNOWN else profile.tech,
        _unless(str(state.get("correction", "")), phrases["yes"]),
        _unless(str(state.get("boundaries", "")), phrases["nothing"]),
    ]


def _unless(said: str, empty: set[str]) -> str:
    bare = words.fold(words.normalise(said)) if said.strip() else ""
    return "" if not bare or bare in empty else words.short(said, 300)


def _state(space: Space) -> dict | None:
    found = Identity.objects.filter(space=space).values_list("bootstrap", flat=True).first()
    return found if isinstance(found, dict) else None
