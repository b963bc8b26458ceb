"""What approving a proposal does, one function per kind, and whether its target still stands."""

from collections.abc import Callable, Iterable

from django.db import models

from memory import episode_groups, facts, identity, options, patterns, rulings
from memory.models import Chat, Episode, Fact, Pattern, Preference, Rule
from sleep.models import Proposal

MODELS = {
    "fact": Fact,
    "episode": Episode,
    "pattern": Pattern,
    "rule": Rule,
    "preference": Preference,
}
# What a person saw of a target: when one of these differs, the proposal speaks of another row.
WATCHED = {
    "fact": ("text", "subject", "status", "chat_id", "kind", "category"),
    "episode": ("title", "status"),
    "pattern": ("trigger", "response", "status", "chat_id"),
    "rule": ("instruction", "examples", "forbidden", "status"),
    "preference": ("key", "value", "status"),
}


class TargetChanged(Exception):
    """What it would change was changed meanwhile. It cannot be applied as shown."""


def target(thing: models.Model) -> dict:
    return {"type": thing._meta.model_name, "id": thing.pk}


def image(*things: models.Model) -> dict:
    """The targets as they are now, for `before`."""
    return {
        f"{thing._meta.model_name}:{thing.pk}": {
            name: getattr(thing, name) for name in WATCHED[thing._meta.model_name]
        }
        for thing in things
    }


def check_targets(proposal: Proposal) -> None:
    """Raise when a target is gone or no longer reads as it did when it was proposed."""
    for thing in proposal.targets:
        found = (
            MODELS[thing["type"]].objects.filter(space=proposal.space_id, pk=thing["id"]).first()
        )
        if found is None:
            raise TargetChanged(f"The {thing['type']} it would change is gone.")
        then = proposal.before.get(f"{thing['type']}:{thing['id']}", {})
        differs = [name for name, value in then.items() if getattr(found, name) != value]
        if differs:
            raise TargetChanged(f"{TargetChanged.__doc__} ({', '.join(differs)})")
    if proposal.kind == Proposal.Kind.SETTING:
        _check_setting(proposal)


def rows_of(proposals: Iterable[Proposal]) -> dict[tuple[str, int], models.Model]:
    """The rows these proposals of one space would change; one query a kind of row."""
    wanted: dict[str, set[int]] = {}
    space = None
    for proposal in proposals:
        space = proposal.space_id
        for one in proposal.targets:
            wanted.setdefault(one["type"], set()).add(one["id"])
    return {
        (kind, row.pk): row
        for kind, ids in wanted.items()
        for row in MODELS[kind].objects.filter(space=space, pk__in=ids)
    }


def standing_targets(proposal: Proposal, rows: dict | None = None) -> list:
    """The rows it would change, as they are now; raises when one is gone or in another state."""
    rows = rows_of([proposal]) if rows is None else rows
    found = []
    for one in proposal.targets:
        thing = rows.get((one["type"], one["id"]))
        if thing is None:
            raise TargetChanged(f"The {one['type']} it would change is gone.")
        then = proposal.before.get(f"{one['type']}:{one['id']}", {})
        if then.get("status", thing.status) != thing.status:
            raise TargetChanged(f"The {one['type']} it would change is {thing.status} now.")
        found.append(thing)
    if proposal.kind == Proposal.Kind.SETTING:
        _check_setting(proposal)
    return found


def _check_setting(proposal: Proposal) -> None:
    now = getattr(proposal.space.options, proposal.after["name"], None)
    if now != proposal.before.get(proposal.after["name"]):
        raise TargetChanged(TargetChanged.__doc__)


def _targets(proposal: Proposal) -> list:
    """The rows it would change, in its order."""
    return [
        MODELS[thing["type"]].objects.get(space=proposal.space_id, pk=thing["id"])
        for thing in proposal.targets
    ]


def _chat(proposal: Proposal) -> Chat | None:
    number = proposal.after.get("chat")
    return Chat.objects.get(space=proposal.space_id, pk=number) if number else None


def _believe(proposal: Proposal) -> dict:
    """The fields of a fact that the after-image names."""
    named = ("subject", "kind", "category", "confidence", "quote", "language", "said_by")
    given = {name: proposal.after[name] for name in named if name in proposal.after}
    episodes = [item["episode"] for item in proposal.evidence if item.get("episode")]
    return given | {
        "chat": _chat(proposal),
        "source": Fact.Source.NIGHT,
        "mode": proposal.mode,
        "evidence": proposal.evidence,
        "episode_id": episodes[0] if episodes else None,
    }


def _done(done) -> None:
    if not done and done.reason:
        raise ValueError(done.reason)


def add(proposal: Proposal, *, by: str) -> None:
    _done(facts.remember(proposal.space, text=proposal.after["text"], by=by, **_believe(proposal)))


def revise(proposal: Proposal, *, by: str) -> None:
    (fact,) = _targets(proposal)
    _done(facts.revise(fact, by=by, **proposal.after))


def supersede(proposal: Proposal, *, by: str) -> None:
    (old,) = _targets(proposal)
    given = _believe(proposal) | {"chat": old.chat}
    _done(facts.supersede(old, by=by, text=proposal.after["text"], **given))


def keep_both(proposal: Proposal, *, by: str) -> None:
    """Neither side gives way: the new one is added and the old one is ruled to stay."""
    (old,) = _targets(proposal)
    rulings.keep(old, by=by, reason="both are true")
    given = _believe(proposal) | {"chat": old.chat}
    _done(facts.remember(proposal.space, text=proposal.after["text"], by=by, **given))


def merge(proposal: Proposal, *, by: str) -> None:
    """One stays, in the words that were shown; the others point to it."""
    rows = {fact.pk: fact for fact in _targets(proposal)}
    kept = rows.pop(proposal.after["keep"])
    for fact in rows.values():
        _done(facts.supersede(fact, by=by, new=kept))
    if proposal.after["text"] != kept.text:
        _done(facts.revise(kept, by=by, text=proposal.after["text"]))


def retire(proposal: Proposal, *, by: str) -> None:
    rows = _targets(proposal)
    for fact in (one for one in rows if isinstance(one, Fact)):
        _done(facts.forget(fact, by=by, why="retire"))
    by_chat: dict[int | None, list[Episode]] = {}
    for episode in (one for one in rows if isinstance(one, Episode)):
        by_chat.setdefault(episode.chat_id, []).append(episode)
    for some in by_chat.values():
        _done(episode_groups.summarise(some, by=by))


def promote(proposal: Proposal, *, by: str) -> None:
    for thing in _targets(proposal):
        module = facts if isinstance(thing, Fact) else patterns
        _done(module.promote(thing, by=by))


def add_pattern(proposal: Proposal, *, by: str) -> None:
    given = {name: proposal.after[name] for name in ("trigger", "response", "confidence")}
    _done(
        patterns.learn(
            proposal.space,
            by=by,
            chat=_chat(proposal),
            slug=proposal.after.get("slug", ""),
            learned_from=proposal.after.get("learned_from", "night"),
            evidence=proposal.evidence,
            mode=proposal.mode,
            **given,
        )
    )


def retire_pattern(proposal: Proposal, *, by: str) -> None:
    for pattern in _targets(proposal):
        _done(patterns.unlearn(pattern, by=by))


def rule(proposal: Proposal, *, by: str) -> None:
    _done(identity.rules.put(proposal.space, by=by, **proposal.after))


def preference(proposal: Proposal, *, by: str) -> None:
    _done(identity.preferences.put(proposal.space, by=by, **proposal.after))


def setting(proposal: Proposal, *, by: str) -> None:
    name, value = proposal.after["name"], proposal.after["value"]
    if wrong := options.problem(name, value):
        raise ValueError(wrong)
    space = type(proposal.space).objects.select_for_update().get(pk=proposal.space_id)
    space.settings = space.settings | {name: value}
    space.save(update_fields=["settings"])


def release(proposal: Proposal, *, by: str) -> None:
    for fact in _targets(proposal):
        _done(facts.release(fact, by=by))


def advice(proposal: Proposal, *, by: str) -> None:
    """Nothing to write: approving advice says that it was read and agreed with."""


Kind = Proposal.Kind
APPLY: dict[str, Callable[..., None]] = {
    Kind.ADD: add,
    Kind.REVISE: revise,
    Kind.SUPERSEDE: supersede,
    Kind.MERGE: merge,
    Kind.RETIRE: retire,
    Kind.PROMOTE: promote,
    Kind.ADD_PATTERN: add_pattern,
    Kind.RETIRE_PATTERN: retire_pattern,
    Kind.RULE: rule,
    Kind.PREFERENCE: preference,
    Kind.SETTING: setting,
    Kind.RELEASE: release,
    Kind.IMPORTED: add,
    Kind.ADVICE: advice,
}
