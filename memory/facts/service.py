"""Semantic memory: what Keno knows.

All writers of memory, also of episodes, patterns, working notes and identity, behave alike: the
object comes first and the rest by keyword; `by` says who ("person:ana", "tag", "night:…", see
actors); everything happens in one transaction under one history change; the row passed in is
updated. They return a ChangeResult(row, change_id, outcome, reason), which
`history.undo_context(result.change_id, by=…)` undoes. What is not allowed is an outcome ("refused",
"empty", with a sentence in `reason`); what is not possible is an exception with a text to show.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Value
from django.db.models.functions import Extract, Power
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import people, rulings
from memory.facts import rows
from memory.guards.screening import RELEASED, Screened, screen, still_suspicious
from memory.history import actors, audit
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Fact, Ruling, Space
from memory.models.fact import FactQuerySet
from memory.models.prepared import prepared
from memory.text import normalise as text

# Strength halves in this time since it was last said, when a cap decides what is archived.
HALF_LIFE_DAYS = 120
MAX_TAGS = 20
# The flag of a fact that never was true, as a person said.
RULED_OUT = "ruled out"
# Who changes only these has not worded the fact.
WHEN = {"valid_from", "valid_to", "occurs_at", "occurs_until"}

Status = Fact.Status
DuplicateFact = rows.DuplicateFact


class Invalid(ValueError):
    """A value that a fact cannot have."""


def remember(
    space: Space, *, text: str, by: str, why: str = "remember", **fields: Any
) -> ChangeResult:
    """Remember a fact; saying the same again strengthens the existing row.

    It holds from `valid_from` to `valid_to`; a plan or an event happens at `occurs_at`.

    Outcomes: new, again, restored (it had been put away), quarantined, refused, empty.
    `fields` are what rows.draft() takes: chat, subject, quote, confidence, suspicions (the caller's
    own reasons for quarantine), now, and any other field of a fact (kind, message, mode …).
    """
    _check_order(fields.get("valid_from"), fields.get("valid_to"))
    fact = rows.draft(space, text=text, by=by, **fields)
    if isinstance(fact, ChangeResult):
        return fact
    with transaction.atomic(savepoint=False), history.change(by=by, why=why) as context:
        done = rows.insert_or_strengthen(fact, by=by, change_id=context.id)
        if done.outcome in ("new", "restored") and done.row.status == Status.ACTIVE:
            people.link(done.row, is_new=done.outcome == "new")
        return done


def read_tags(written: str) -> list[str]:
    """Return the tags of a line: separated by commas, in lower case, without #, each once."""
    words = (text.one_line(word).strip(" #").casefold()[:40] for word in written.split(","))
    return [word for word in dict.fromkeys(words) if word][:MAX_TAGS]


@transaction.atomic
def revise(
    fact: Fact, *, by: str, text: str | None = None, now: datetime | None = None, **values: Any
) -> ChangeResult:
    """Change the wording or other fields. A person's wording is final."""
    rows.lock(fact)
    if (refusal := rows.protected(fact, by=by)) is not None:
        return refusal
    if text is not None:
        screened = screen(text, single_line=True)
        if (refusal := rows.refusal(fact.space, screened, now=now)) is not None:
            return refusal
        values |= _new_wording(fact, screened, by=by)
    _check(values)
    _check_order(values.get("valid_from", fact.valid_from), values.get("valid_to", fact.valid_to))
    values = {name: value for name, value in values.items() if getattr(fact, name) != value}
    if not values:
        return ChangeResult(fact, outcome="unchanged")
    if actors.is_person(by) and values.keys() - WHEN:
        values["sticky"] = True
    return rows.change(fact, by=by, why="revise", now=now, **values)


@transaction.atomic
def supersede(
    fact: Fact,
    *,
    by: str,
    text: str = "",
    new: Fact | None = None,
    until: datetime | None = None,
    now: datetime | None = None,
    **more: Any,
) -> ChangeResult:
    """Replace it by another fact; the old one keeps its words and ends at `until`, or now.

    ChangeResult.row is the fact that holds now. Pass its text, or the row when it exists.
    """
    now = now or timezone.now()
    rows.lock(fact)
    if (refusal := rows.protected(fact, by=by)) is not None:
        return refusal
    with history.change(by=by, why="supersede") as context:
        if new is None:
            same = {name: getattr(fact, name) for name in ("chat", "subject", "kind", "category")}
            more = same | {"valid_from": now} | more
            result = remember(fact.space, text=text, by=by, now=now, **more)
            if not result.changed or result.row.status != Status.ACTIVE:
                return result
            new = result.row
        if new.pk == fact.pk:
            return ChangeResult(fact, outcome="unchanged")
        ended = {"status": Status.SUPERSEDED, "valid_to": _end(fact, until or now)}
        rows.save(fact, now=now, superseded_by=new, **ended)
        return ChangeResult(new, context.id, outcome="superseded")


def forget(
    fact: Fact, *, by: str, why: str = "forget", now: datetime | None = None
) -> ChangeResult:
    """Archive the fact and silence the messages it rests on; restore brings all of it back."""
    gone = {"status": Status.ARCHIVED, "forgotten": True}
    return rows.set_fields(fact, by=by, why=why, now=now, **gone)


def discard(
    fact: Fact, *, by: str, why: str = "discard", now: datetime | None = None
) -> ChangeResult:
    """Put the fact in the trash, which is emptied after some days; its messages are silent."""
    now = now or timezone.now()
    gone = {"status": Status.TRASHED, "trashed_at": now, "forgotten": True}
    return rows.set_fields(fact, by=by, why=why, now=now, **gone)


@transaction.atomic
def restore(fact: Fact, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Make it active again; a fact that waited for a person goes back to quarantine."""
    rows.lock(fact)
    if fact.status == Status.ACTIVE:
        return ChangeResult(fact, outcome="unchanged")
    waits = still_suspicious(fact.flags) and not fact.sticky
    values: dict[str, Any] = {
        "status": Status.QUARANTINED if waits else Status.ACTIVE,
        "trashed_at": None,
        "forgotten": False,
    }
    if fact.status == Status.SUPERSEDED or "deprecated" in fact.flags:
        flags = [flag for flag in fact.flags if flag != "deprecated"]
        values |= {"valid_to": None, "superseded_by": None, "flags": flags}
    return rows.change(fact, by=by, why="restore", now=now, **values)


def pin(fact: Fact, *, by: str) -> ChangeResult:
    """Always offer it to recall, and keep it out of caps and nights."""
    return rows.set_fields(fact, by=by, why="pin", pinned=True)


def unpin(fact: Fact, *, by: str) -> ChangeResult:
    return rows.set_fields(fact, by=by, why="unpin", pinned=False)


@transaction.atomic
def deprecate(fact: Fact, *, by: str, now: datetime | None = None) -> ChangeResult:
    """End and archive a fact that was right once and no longer is."""
    now = now or timezone.now()
    flags = list(dict.fromkeys([*fact.flags, "deprecated"]))
    values = {"status": Status.ARCHIVED, "valid_to": _end(fact, now), "flags": flags}
    return rows.set_fields(fact, by=by, why="deprecate", now=now, **values)


def rule_out(fact: Fact, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Mark a replaced fact as never true, so that it is not shown for the time before either."""
    flags = list(dict.fromkeys([*fact.flags, RULED_OUT]))
    return rows.change(fact, by=by, why="rule out", now=now, flags=flags)


@transaction.atomic
def confirm(fact: Fact, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Note that it is still so, or that what was planned has happened."""
    now = now or timezone.now()
    rows.lock(fact)
    if fact.status != Status.ACTIVE:
        reason = _("It is not believed any more. Restore it first.")
        return ChangeResult(fact, outcome="refused", reason=reason)
    values: dict[str, Any] = {"confirmed_at": now}
    if fact.lasts == Fact.Lasts.PLAN and fact.category == Fact.Category.PROJECT:
        values["category"] = Fact.Category.OTHER
    if fact.valid_to and fact.valid_to <= now:
        values["valid_to"] = None
    return rows.change(fact, by=by, why="confirm", now=now, **values)


@transaction.atomic
def promote(fact: Fact, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Share a chat's fact with the whole space. Only a person may."""
    actors.require_person(by)
    rows.lock(fact)
    if fact.chat_id is None:
        return ChangeResult(fact, outcome="unchanged")
    if twin := rows.same_live_fact(fact, chat=None):
        return supersede(fact, by=by, new=twin, now=now)
    return rows.change(fact, by=by, why="promote", now=now, chat=None)


def quarantine(fact: Fact, *, by: str, reason: str, now: datetime | None = None) -> ChangeResult:
    """Quarantine the fact with the reason, until a person has looked at it."""
    flags = list(dict.fromkeys([*fact.flags, text.short(text.clean(reason), 120)]))
    values = {"status": Status.QUARANTINED, "flags": flags}
    return rows.set_fields(fact, by=by, why="quarantine", now=now, **values)


@transaction.atomic
def release(fact: Fact, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Release it from quarantine. Only a person may."""
    actors.require_person(by)
    rows.lock(fact)
    if fact.status != Status.QUARANTINED:
        return ChangeResult(fact, outcome="unchanged")
    flags = [*fact.flags, RELEASED]
    return rows.change(fact, by=by, why="release", now=now, status=Status.ACTIVE, flags=flags)


@transaction.atomic
def never_again(
    fact: Fact, *, by: str, reason: str = "", now: datetime | None = None
) -> ChangeResult:
    """Put the fact in the trash and rule that it is never remembered again."""
    with history.change(by=by, why="never remember this") as context:
        rulings.forbid(fact.space, text=fact.text, by=by, reason=reason, fact=fact)
        discard(fact, by=by, now=now)
    return ChangeResult(fact, context.id)


def trim(
    space: Space, *, subject: str, by: str, keep: int | None = None, now: datetime | None = None
) -> ChangeResult:
    """Archive the weakest facts about a subject beyond its cap; an empty subject has none."""
    now = now or timezone.now()
    options = space.options
    cap = options.lore_cap if subject == Fact.LORE else options.facts_per_subject
    keep = cap if keep is None else keep
    # Counted first: few subjects are over their cap, and only these need an order by strength.
    if not subject or len(_live_about(space=space.pk, subject=subject, most=keep + 1)) <= keep:
        return ChangeResult(None, outcome="unchanged")
    over = _trimmable(space, now).about(subject).values_list("pk", flat=True)
    weakest = list(over[keep:])
    with transaction.atomic(), history.change(by=by, why="over the cap") as context:
        count = Fact.objects.filter(pk__in=weakest, status=Status.ACTIVE).update(
            status=Status.ARCHIVED, updated_at=now
        )
    return ChangeResult(None, context.id if count else None, outcome="archived", count=count)


@prepared(space="bigint", subject="varchar")
def _live_about(space, subject, most):
    return Fact.objects.filter(space=space).live().about(subject).values_list("pk")[:most]


@transaction.atomic
def purge(fact: Fact, *, by: str) -> None:
    """Delete the fact for good, with its history; the messages it rests on stay, silent.

    erasure.purge() takes the words out of them, too. The caller has asked first.
    """
    audit.record("fact.purged", actor=by, space=fact.space, obj=fact)
    Ruling.objects.filter(fact=fact, kind=Ruling.Kind.KEEP).delete()
    spoken_of = list(fact.mentions.exclude(entity=None).values_list("entity", flat=True))
    history.erase(fact)
    fact.delete()
    people.forget_unseen(spoken_of)


def expired(space: Space, *, now: datetime | None = None) -> FactQuerySet:
    """Return what has been in the trash for more than its days."""
    ripe = (now or timezone.now()) - timedelta(days=space.options.trash_days)
    return Fact.objects.in_space(space).in_trash().filter(trashed_at__lte=ripe)


def _trimmable(space: Space, now: datetime) -> FactQuerySet:
    """Order by strength: confidence, halved every HALF_LIFE_DAYS since it was last said."""
    age = ExpressionWrapper(Value(now) - F("last_seen_at"), output_field=DurationField())
    days = Extract(age, "epoch") / 86400.0
    return (
        Fact.objects.in_space(space)
        .live()
        .filter(pinned=False, sticky=False)
        .exclude(pk__in=rulings.kept_facts(space))
        # Reminders that are still to come.
        .exclude(reminder__next_at__isnull=False)
        .annotate(strength=F("confidence") * Power(0.5, days / HALF_LIFE_DAYS))
        .order_by("-strength", "-last_seen_at", "-pk")
    )


def _end(fact: Fact, now: datetime) -> datetime:
    return max(now, fact.valid_from) if fact.valid_from else now


def _new_wording(fact: Fact, screened: Screened, *, by: str) -> dict:
    values: dict[str, Any] = {"text": screened.text, "said_key": text.said_key(screened.text)}
    if screened.text != fact.text:
        values["language"] = text.detect_language(screened.text) or fact.language
        # The trust is that of who worded it; a confidence that was set with it stays.
        if actors.is_person(by):
            values["trust"] = max(fact.trust, rows.TRUST["person"])
    if screened.reasons and not actors.is_person(by):
        values["status"] = Status.QUARANTINED
    if screened.flags:
        values["flags"] = list(dict.fromkeys([*fact.flags, *screened.flags]))
    return values


def _check_order(valid_from: datetime | None, valid_to: datetime | None) -> None:
    if valid_from and valid_to and valid_to < valid_from:
        raise Invalid(_("It cannot end before it begins."))


def _check(values: dict) -> None:
    confidence = values.get("confidence", 0)
    if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise Invalid(_("Confidence must be a number from 0 to 1."))
    for name, choices in (("kind", Fact.Kind), ("category", Fact.Category)):
        if name in values and values[name] not in choices.values:
            text = _("“%(value)s” is not a valid %(name)s.")
            raise Invalid(text % {"value": values[name], "name": name})
