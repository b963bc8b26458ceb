"""Rulings: what a person decided once and every writer obeys from then on."""

from collections.abc import Callable
from datetime import datetime

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from memory import actors, history, meaning, text
from memory.history import Done
from memory.models import Fact, Ruling, Space

# Share of stems at which two sayings are about the same thing.
NEAR = 0.7
# A saying that contains the whole ruling is under it too, unless the ruling is only a word or two.
WHOLE = 3


@transaction.atomic
def forbid(space: Space, *, text: str, by: str, reason: str = "", fact: Fact | None = None) -> Done:
    """Never remember this again. What is already remembered is left to the caller."""
    return _rule(space, Ruling.Kind.NEVER_REMEMBER, text, by=by, reason=reason, fact=fact)


@transaction.atomic
def keep(fact: Fact, *, by: str, reason: str = "") -> Done:
    """Keep exactly this: no night, cap, extraction or import may touch the fact."""
    return _rule(fact.space, Ruling.Kind.KEEP, fact.text, by=by, reason=reason, fact=fact)


@transaction.atomic
def lift(ruling: Ruling, *, by: str) -> Done:
    actors.require_person(by)
    with history.change(by=by, why="lift a ruling") as context:
        won = Ruling.objects.filter(pk=ruling.pk, status=Ruling.Status.ACTIVE).update(
            status=Ruling.Status.LIFTED
        )
    ruling.refresh_from_db()
    return Done(ruling, context.id) if won else Done(ruling, outcome="unchanged")


def forbidding(space: Space) -> list[Ruling]:
    """The rulings forbidden() looks through, for callers that ask about several texts."""
    return list(_in_force(space, Ruling.Kind.NEVER_REMEMBER))


def forbidden(
    space: Space,
    *,
    said: str,
    near: Callable[[str, str], bool] | None = meaning.same,
    among: list[Ruling] | None = None,
) -> Ruling | None:
    """The ruling that forbids to remember this, if there is one.

    `near` is asked when words do not decide: (ruling's text, text) -> do they mean the same?
    """
    rulings = forbidding(space) if among is None else among
    if not rulings or not said:
        return None
    key, mine = text.said_key(said), text.stems(said)
    by_words = (r for r in rulings if r.said_key == key or is_near(text.stems(r.text), mine))
    by_meaning = (r for r in rulings if near and near(r.text, said))
    return next(by_words, None) or next(by_meaning, None)


def is_near(ruled: set[str], said: set[str]) -> bool:
    """Whether a saying with these stems falls under a ruling with those."""
    if len(ruled) >= WHOLE and ruled <= said:
        return True
    return text.jaccard(ruled, said) >= NEAR


def kept(fact: Fact) -> Ruling | None:
    """The ruling that protects this fact, if there is one."""
    return _in_force(fact.space, Ruling.Kind.KEEP).filter(fact=fact).first()


def kept_facts(space: Space) -> models.QuerySet:
    """Ids of the facts that no cap and no night may touch."""
    rulings = _in_force(space, Ruling.Kind.KEEP).exclude(fact=None)
    return rulings.order_by().values("fact_id")


def obeyed(ruling: Ruling, *, now: datetime | None = None) -> None:
    """Count that a writer was turned away."""
    Ruling.objects.filter(pk=ruling.pk).update(
        times_obeyed=models.F("times_obeyed") + 1, last_obeyed_at=now or timezone.now()
    )


def _in_force(space: Space, kind: str) -> models.QuerySet:
    return Ruling.objects.filter(space=space, kind=kind, status=Ruling.Status.ACTIVE).order_by("pk")


def _rule(space, kind, said, *, by: str, reason: str, fact: Fact | None) -> Done:
    actors.require_person(by)
    said = text.one_line(text.clean(said))
    if not said:
        return Done(None, outcome="empty", reason="A ruling needs words.")
    values = {"kind": kind, "said_key": text.said_key(said)}
    if kind == Ruling.Kind.KEEP:
        values["fact"] = fact
    standing = Ruling.objects.filter(space=space, status=Ruling.Status.ACTIVE, **values)
    if found := standing.first():
        return Done(found, outcome="unchanged")
    values["fact"] = fact
    with history.change(by=by, why=f"ruling: {kind}") as context:
        try:
            with transaction.atomic():
                made = Ruling.objects.create(
                    space=space,
                    text=said,
                    by=by[:160],
                    reason=text.short(text.clean(reason), 300),
                    **values,
                )
        except IntegrityError:
            return Done(standing.first(), outcome="unchanged")
    return Done(made, context.id, outcome="new")
