"""What approving a proposal does, one function per kind, and whether its target still stands."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory import identity, lineage, patterns, people, rulings
from memory.calendar import timing
from memory.episodes import grouping
from memory.episodes import service as episodes
from memory.extraction import offers
from memory.facts import bulk as fact_bulk
from memory.facts import service as facts
from memory.models import Chat, Entity, Episode, Fact, Message, Pattern, Preference, Rule, Space
from memory.spaces import service as spaces
from sleep.models import Proposal

NO_SOURCES = gettext_lazy("What it rests on was discarded.")
MODELS = {
    "fact": Fact,
    "episode": Episode,
    "pattern": Pattern,
    "rule": Rule,
    "preference": Preference,
    "entity": Entity,
}
# What a person saw of a target: when one of these differs, the proposal speaks of another row.
WATCHED = {
    "fact": ("text", "subject", "status", "chat_id", "kind", "category"),
    "episode": ("title", "status"),
    "pattern": ("trigger", "response", "status", "chat_id"),
    "rule": ("instruction", "examples", "forbidden", "status"),
    "preference": ("key", "value", "status"),
    "entity": ("name", "kind", "merged_into_id"),
}


class TargetChanged(Exception):
    """What it would change was changed meanwhile. It cannot be applied as shown."""


def _changed() -> str:
    return _("What it would change was changed meanwhile. It cannot be applied as shown.")


def target_of(row: Any) -> dict:
    return {"type": row._meta.model_name, "id": row.pk}


def image(*rows: Any) -> dict:
    """The targets as they are now, for `before`."""
    return {
        f"{row._meta.model_name}:{row.pk}": {
            name: getattr(row, name) for name in WATCHED[row._meta.model_name]
        }
        for row in rows
    }


def check_targets(proposal: Proposal, rows: dict | None = None) -> None:
    """Raise when a target is gone or no longer reads as it did when it was proposed."""
    for row in target_rows(proposal, rows):
        before = proposal.before.get(f"{row._meta.model_name}:{row.pk}", {})
        if any(getattr(row, name) != value for name, value in before.items()):
            raise TargetChanged(_changed())
    if proposal.kind == Proposal.Kind.SETTING:
        _check_setting(proposal)


def rows_of(proposals: Iterable[Proposal]) -> dict[tuple[str, int], Any]:
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


def target_rows(proposal: Proposal, rows: dict | None = None) -> list[Any]:
    """The rows it would change, in its order; raises when one is gone.

    `rows` is what rows_of() read before; without it they are read here.
    """
    rows = rows_of([proposal]) if rows is None else rows
    try:
        return [rows[one["type"], one["id"]] for one in proposal.targets]
    except KeyError:
        raise TargetChanged(_("What it would change is gone.")) from None


def standing_targets(proposal: Proposal, rows: dict | None = None) -> list[Any]:
    """The rows it would change, as they are now; raises when one is gone or in another state."""
    standing = target_rows(proposal, rows)
    for row in standing:
        name = row._meta.model_name
        before = proposal.before.get(f"{name}:{row.pk}", {})
        if "status" in before and before["status"] != row.status:
            told = _("What it would change has another state now: %(state)s.")
            raise TargetChanged(told % {"state": row.get_status_display()})
    if proposal.kind == Proposal.Kind.SETTING:
        _check_setting(proposal)
    return standing


def check_sources(proposal: Proposal) -> None:
    """Raise when everything that it rests on was discarded."""
    if unfounded(proposal.space, [proposal]):
        raise TargetChanged(NO_SOURCES)


def unfounded(space: Space, some: Iterable[Proposal]) -> set[int]:
    """The ids of those of the proposals whose every source was discarded."""
    rests_on = lineage.sources_of(*some)
    fallen = lineage.fallen(space, {node for sources in rests_on.values() for node in sources})
    return {pk for (_kind, pk), sources in rests_on.items() if sources and sources <= fallen}


def _check_setting(proposal: Proposal) -> None:
    now = getattr(proposal.space.options, proposal.after["name"], None)
    if now != proposal.before.get(proposal.after["name"]):
        raise TargetChanged(_changed())


def _chat(proposal: Proposal) -> Chat | None:
    number = proposal.after.get("chat")
    return Chat.objects.get(space=proposal.space_id, pk=number) if number else None


def _fact_fields(proposal: Proposal) -> dict:
    """The fields of a fact that the after-image names."""
    named = ("subject", "kind", "category", "confidence", "quote", "language", "said_by")
    after = {name: proposal.after[name] for name in named if name in proposal.after}
    episodes = [item["episode"] for item in proposal.evidence if item.get("episode")]
    aims = {one["id"] for one in proposal.targets if one["type"] == "fact"}
    return after | {
        "chat": _chat(proposal),
        "source": Fact.Source.NIGHT,
        "mode": proposal.mode,
        # What it takes the place of is not what it rests on.
        "evidence": [item for item in proposal.evidence if item.get("fact") not in aims],
        "episode_id": episodes[0] if episodes else None,
    }


def require_done(done) -> None:
    if not done and done.reason:
        raise ValueError(done.reason)


def add(proposal: Proposal, *, by: str) -> None:
    if "offer" in proposal.after:
        return _save_offer(proposal, by=by)
    if "body" in proposal.after:
        told = proposal.after | {"chat": _chat(proposal)}
        return require_done(episodes.write(proposal.space, by=by, **told))
    require_done(
        facts.remember(proposal.space, text=proposal.after["text"], by=by, **_fact_fields(proposal))
    )


def add_imported(proposal: Proposal, *, by: str) -> None:
    """Remember a fact that was heard in an imported message, with that message as its source."""
    origin = proposal.evidence[0] if proposal.evidence else {}
    message = Message.objects.filter(space=proposal.space_id, pk=origin.get("message")).first()
    given = _fact_fields(proposal) | {"source": Fact.Source.IMPORT, "message": message}
    if message:
        given |= timing.times_of(
            proposal.after["quote"],
            said_at=message.sent_at,
            zone=proposal.space.zone,
            language=proposal.after["language"],
            kind=origin.get("heard_as", ""),
        )
    require_done(facts.remember(proposal.space, text=proposal.after["text"], by=by, **given))


def _save_offer(proposal: Proposal, *, by: str) -> None:
    """Save what a chat offered, in its chat and as its speaker's, in the words that were shown."""
    number, place = proposal.after["offer"]
    message = Message.objects.filter(space=proposal.space_id, pk=number).first()
    if message is None:
        raise TargetChanged(_("The message that offered it is gone."))
    try:
        require_done(offers.save(message, place, by=by, words=proposal.after["text"]))
    except offers.NoOffer as error:
        raise TargetChanged(str(error)) from None


def decline_offer(space: Space, number: int, place: int, *, by: str) -> None:
    """Say no under the message, too; what was decided there stays."""
    message = Message.objects.filter(space=space, pk=number).first()
    with suppress(offers.NoOffer):
        if message:
            offers.decline(message, place, by=by)


def revise(proposal: Proposal, *, by: str) -> None:
    (row,) = target_rows(proposal)
    service = {Episode: episodes, Entity: people}.get(type(row), facts)
    require_done(service.revise(row, by=by, **proposal.after))


def supersede(proposal: Proposal, *, by: str) -> None:
    (old,) = target_rows(proposal)
    given = _fact_fields(proposal) | {"chat": old.chat}
    require_done(facts.supersede(old, by=by, text=proposal.after["text"], **given))


def keep_both(proposal: Proposal, *, by: str) -> None:
    """Neither side gives way: the new one is added and the old one is ruled to stay."""
    (old,) = target_rows(proposal)
    rulings.keep(old, by=by, reason="both are true")
    given = _fact_fields(proposal) | {"chat": old.chat}
    require_done(facts.remember(proposal.space, text=proposal.after["text"], by=by, **given))


def rule_out(proposal: Proposal, *, by: str) -> None:
    """The old one never was true: the new one takes its place, and no day shows the old one."""
    (old,) = target_rows(proposal)
    supersede(proposal, by=by)
    old.refresh_from_db()
    facts.rule_out(old, by=by)


def both_in_their_time(proposal: Proposal, *, by: str, day: datetime) -> None:
    """The old one held until that day, the new one holds since."""
    (old,) = target_rows(proposal)
    given = _fact_fields(proposal) | {"chat": old.chat, "valid_from": day, "until": day}
    done = facts.supersede(old, by=by, text=proposal.after["text"], **given)
    require_done(done)
    facts.revise(done.row, by=by, valid_from=day)


def merge(proposal: Proposal, *, by: str) -> None:
    """One stays, in the words that were shown; the others point to it."""
    rows = {fact.pk: fact for fact in target_rows(proposal)}
    kept = rows.pop(proposal.after["keep"])
    for fact in rows.values():
        require_done(facts.supersede(fact, by=by, new=kept))
    worded = {} if proposal.after["text"] == kept.text else {"text": proposal.after["text"]}
    given = fact_bulk.merged_values(kept, list(rows.values())) | worded
    require_done(facts.revise(kept, by=by, **given))


def retire(proposal: Proposal, *, by: str) -> None:
    rows = target_rows(proposal)
    if gone := [one.pk for one in rows if isinstance(one, Fact)]:
        silence = proposal.after.get("forget", False)
        fact_bulk.forget(proposal.space, gone, by=by, silence=silence)
    by_chat: dict[int | None, list[Episode]] = {}
    for episode in (one for one in rows if isinstance(one, Episode)):
        if proposal.after.get("discard"):
            require_done(episodes.discard(episode, by=by))
            continue
        by_chat.setdefault(episode.chat_id, []).append(episode)
    for some in by_chat.values():
        require_done(grouping.summarise(some, by=by))


def promote(proposal: Proposal, *, by: str) -> None:
    for thing in target_rows(proposal):
        module = facts if isinstance(thing, Fact) else patterns
        require_done(module.promote(thing, by=by))


def add_pattern(proposal: Proposal, *, by: str) -> None:
    given = {name: proposal.after[name] for name in ("trigger", "response", "confidence")}
    require_done(
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
    patterns.unlearn_many(proposal.space, [row.pk for row in target_rows(proposal)], by=by)


def rule(proposal: Proposal, *, by: str) -> None:
    if "offer" in proposal.after:
        return _save_offer(proposal, by=by)
    if proposal.after.get("retire"):
        return require_done(
            identity.rules.retire(proposal.space, slug=proposal.after["slug"], by=by)
        )
    require_done(identity.rules.put(proposal.space, by=by, **proposal.after))


def preference(proposal: Proposal, *, by: str) -> None:
    if "offer" in proposal.after:
        return _save_offer(proposal, by=by)
    require_done(identity.preferences.put(proposal.space, by=by, **proposal.after))


def setting(proposal: Proposal, *, by: str) -> None:
    values = {proposal.after["name"]: proposal.after["value"]}
    spaces.configure(proposal.space, by=by, values=values)


def release(proposal: Proposal, *, by: str) -> None:
    for fact in target_rows(proposal):
        require_done(facts.release(fact, by=by))


def same(proposal: Proposal, *, by: str) -> None:
    """Two names are one person; each keeps what is known under it."""
    one, other = target_rows(proposal)
    try:
        people.merge(other, into=one, by=by)
    except people.CannotMerge as error:
        raise TargetChanged(str(error)) from None


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
    Kind.IMPORTED: add_imported,
    Kind.SAME: same,
    Kind.ADVICE: advice,
}
