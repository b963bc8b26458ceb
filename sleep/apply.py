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
CHANGED = gettext_lazy("What it would change was changed meanwhile. It cannot be applied as shown.")
MODELS: dict[str, Any] = {
    model._meta.model_name: model for model in (Fact, Episode, Pattern, Rule, Preference, Entity)
}
# What a person saw of a target: when one of these differs, the proposal is about another state.
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


def _key(row: Any) -> str:
    return f"{row._meta.model_name}:{row.pk}"


def image(*rows: Any) -> dict:
    """Return the targets as they are now, for `before`."""
    return {
        _key(row): {name: getattr(row, name) for name in WATCHED[row._meta.model_name]}
        for row in rows
    }


def check_targets(proposal: Proposal, rows: dict | None = None) -> None:
    """Raise when a target is gone or no longer reads as it did when it was proposed."""
    for row in target_rows(proposal, rows):
        before = proposal.before.get(_key(row), {})
        if any(getattr(row, name) != value for name, value in before.items()):
            raise TargetChanged(CHANGED)
    _check_setting(proposal)


def rows_of(proposals: Iterable[Proposal]) -> dict[tuple[str, int], Any]:
    """Load the rows that these proposals of one space would change; one query for each model."""
    ids: dict[str, set[int]] = {}
    space = None
    for proposal in proposals:
        space = proposal.space_id
        for target in proposal.targets:
            ids.setdefault(target["type"], set()).add(target["id"])
    return {
        (kind, row.pk): row
        for kind, pks in ids.items()
        for row in MODELS[kind].objects.filter(space=space, pk__in=pks)
    }


def target_rows(proposal: Proposal, rows: dict | None = None) -> list[Any]:
    """Return the rows it would change, in its order; raise when one is gone.

    `rows` is what rows_of() read before; without it they are read here.
    """
    rows = rows_of([proposal]) if rows is None else rows
    try:
        return [rows[target["type"], target["id"]] for target in proposal.targets]
    except KeyError:
        raise TargetChanged(_("What it would change is gone.")) from None


def standing_targets(proposal: Proposal, rows: dict | None = None) -> list[Any]:
    """Return the rows it would change; raise when one is gone or in another state."""
    standing = target_rows(proposal, rows)
    for row in standing:
        before = proposal.before.get(_key(row), {})
        if "status" in before and before["status"] != row.status:
            reason = _("What it would change has another state now: %(state)s.")
            raise TargetChanged(reason % {"state": row.get_status_display()})
    _check_setting(proposal)
    return standing


def without_sources(space: Space, proposals: Iterable[Proposal]) -> set[int]:
    """Return the ids of the proposals whose every source was discarded."""
    rests_on = lineage.sources_of(*proposals)
    fallen = lineage.fallen(space, {node for sources in rests_on.values() for node in sources})
    return {pk for (_kind, pk), sources in rests_on.items() if sources and sources <= fallen}


def _check_setting(proposal: Proposal) -> None:
    if proposal.kind == Proposal.Kind.SETTING:
        name = proposal.after["name"]
        if getattr(proposal.space.options, name, None) != proposal.before.get(name):
            raise TargetChanged(CHANGED)


def _chat(proposal: Proposal) -> Chat | None:
    number = proposal.after.get("chat")
    return Chat.objects.get(space=proposal.space_id, pk=number) if number else None


def _fact_fields(proposal: Proposal) -> dict:
    names = ("text", "subject", "kind", "category", "confidence", "quote", "language", "said_by")
    after = {name: proposal.after[name] for name in names if name in proposal.after}
    episodes = [item["episode"] for item in proposal.evidence if item.get("episode")]
    targets = {target["id"] for target in proposal.targets if target["type"] == "fact"}
    return after | {
        "chat": _chat(proposal),
        "source": Fact.Source.NIGHT,
        "mode": proposal.mode,
        # What it takes the place of is not what it rests on.
        "evidence": [item for item in proposal.evidence if item.get("fact") not in targets],
        "episode_id": episodes[0] if episodes else None,
    }


def require_done(done) -> None:
    if not done and done.reason:
        raise ValueError(done.reason)


def add(proposal: Proposal, *, by: str) -> None:
    if "offer" in proposal.after:
        return _save_offer(proposal, by=by)
    if "body" in proposal.after:
        fields = proposal.after | {"chat": _chat(proposal)}
        return require_done(episodes.write(proposal.space, by=by, **fields))
    require_done(facts.remember(proposal.space, by=by, **_fact_fields(proposal)))


def add_imported(proposal: Proposal, *, by: str) -> None:
    """Remember a fact that was heard in an imported message, with that message as its source."""
    origin = proposal.evidence[0] if proposal.evidence else {}
    message = Message.objects.filter(space=proposal.space_id, pk=origin.get("message")).first()
    fields = _fact_fields(proposal) | {"source": Fact.Source.IMPORT, "message": message}
    if message:
        fields |= timing.times_of(
            proposal.after["quote"],
            said_at=message.sent_at,
            zone=proposal.space.zone,
            language=proposal.after["language"],
            kind=origin.get("heard_as", ""),
        )
    require_done(facts.remember(proposal.space, by=by, **fields))


def _save_offer(proposal: Proposal, *, by: str) -> None:
    """Save what a chat offered, in its chat and in its speaker's name, as it was shown."""
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
    fields = _fact_fields(proposal) | {"chat": old.chat}
    require_done(facts.supersede(old, by=by, **fields))


def keep_both(proposal: Proposal, *, by: str) -> None:
    """Add the new fact beside the old one, which is ruled to stay."""
    (old,) = target_rows(proposal)
    rulings.keep(old, by=by, reason="both are true")
    fields = _fact_fields(proposal) | {"chat": old.chat}
    require_done(facts.remember(proposal.space, by=by, **fields))


def rule_out(proposal: Proposal, *, by: str) -> None:
    """Supersede the old fact as one that never was true: no day shows it."""
    (old,) = target_rows(proposal)
    supersede(proposal, by=by)
    old.refresh_from_db()
    facts.rule_out(old, by=by)


def both_in_their_time(proposal: Proposal, *, by: str, day: datetime) -> None:
    """Let the old fact hold until that day and the new one since."""
    (old,) = target_rows(proposal)
    fields = _fact_fields(proposal) | {"chat": old.chat, "valid_from": day, "until": day}
    done = facts.supersede(old, by=by, **fields)
    require_done(done)
    facts.revise(done.row, by=by, valid_from=day)


def merge(proposal: Proposal, *, by: str) -> None:
    """Keep one fact, in the words that were shown; the others point to it."""
    rows = {fact.pk: fact for fact in target_rows(proposal)}
    kept = rows.pop(proposal.after["keep"])
    for fact in rows.values():
        require_done(facts.supersede(fact, by=by, new=kept))
    wording = {} if proposal.after["text"] == kept.text else {"text": proposal.after["text"]}
    values = fact_bulk.merged_values(kept, list(rows.values())) | wording
    require_done(facts.revise(kept, by=by, **values))


def retire(proposal: Proposal, *, by: str) -> None:
    rows = target_rows(proposal)
    if ids := [row.pk for row in rows if isinstance(row, Fact)]:
        silence = proposal.after.get("forget", False)
        fact_bulk.forget(proposal.space, ids, by=by, silence=silence)
    by_chat: dict[int | None, list[Episode]] = {}
    for episode in (row for row in rows if isinstance(row, Episode)):
        if proposal.after.get("discard"):
            require_done(episodes.discard(episode, by=by))
        else:
            by_chat.setdefault(episode.chat_id, []).append(episode)
    for group in by_chat.values():
        require_done(grouping.summarise(group, by=by))


def promote(proposal: Proposal, *, by: str) -> None:
    for row in target_rows(proposal):
        module = facts if isinstance(row, Fact) else patterns
        require_done(module.promote(row, by=by))


def add_pattern(proposal: Proposal, *, by: str) -> None:
    names = ("trigger", "response", "confidence", "slug", "learned_from")
    fields = {"slug": "", "learned_from": "night"} | {
        name: proposal.after[name] for name in names if name in proposal.after
    }
    fields |= {"chat": _chat(proposal), "evidence": proposal.evidence, "mode": proposal.mode}
    require_done(patterns.learn(proposal.space, by=by, **fields))


def retire_pattern(proposal: Proposal, *, by: str) -> None:
    patterns.unlearn_many(proposal.space, [row.pk for row in target_rows(proposal)], by=by)


def rule(proposal: Proposal, *, by: str) -> None:
    if "offer" in proposal.after:
        return _save_offer(proposal, by=by)
    if proposal.after.get("retire"):
        slug = proposal.after["slug"]
        return require_done(identity.rules.retire(proposal.space, slug=slug, by=by))
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
    """Merge two names of one person; each keeps what is known under it."""
    first, second = target_rows(proposal)
    try:
        people.merge(second, into=first, by=by)
    except people.CannotMerge as error:
        raise TargetChanged(str(error)) from None


def advice(proposal: Proposal, *, by: str) -> None:
    """Write nothing: approving advice says that it was read and agreed with."""


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
