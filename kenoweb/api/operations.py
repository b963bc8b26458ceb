"""What an agent may do: read what the whole space may see, remember, forget, see what waits."""

from collections.abc import Iterable
from datetime import date, datetime, time

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.api import shapes
from kenoweb.auth.access import rows_in
from kenoweb.facts import listing as facts_search
from kenoweb.ui.filters import HERE, FactFilter
from kenoweb.ui.history_thread import rows_at
from kenoweb.ui.list_page import is_place, part
from kenoweb.ui.responses import space_url
from memory.facts import lasting
from memory.facts import service as facts_service
from memory.guards.screening import describe_reasons
from memory.history import audit
from memory.history.changes import ChangeResult
from memory.models import ApiToken, Episode, Fact, Pattern, Space, Unit
from memory.models.unit import shared
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import recall as recall_memory
from memory.spaces import api_tokens
from memory.text import normalise as text
from sleep.models import Proposal
from sleep.proposals import SUSPICIOUS

# Messages belong to their chat.
KINDS = ("fact", "episode")
MAX_TEXT = 4000
ROWS = {"fact": Fact, "episode": Episode, "pattern": Pattern}
NOT_FOR_ALL = {SUSPICIOUS, "leaves its chat"}


class Refused(Exception):
    """Why a call cannot be answered, as a sentence that says what to do."""


def rights(key: str) -> dict[str, ApiToken]:
    """What the key may do now: scope -> its token. Nothing when the key is no good."""
    found = {scope: api_tokens.find(key, scope=scope) for scope in api_tokens.SCOPES} if key else {}
    return {scope: token for scope, token in found.items() if token}


def admit(key: str, *, scope: str) -> ApiToken:
    """The token, looked up anew: it may have been revoked since the last call."""
    if token := api_tokens.find(key, scope=scope):
        return token
    if not rights(key):
        raise Refused(no_good())
    raise Refused(
        _(
            "The API token may not do this: it lacks the right “%(scope)s”, or its person lost it. "
            "Make one that has it on the page “API tokens” of the dashboard."
        )
        % {"scope": scope}
    )


def missing() -> str:
    return _(
        "KENO_TOKEN is not set: make an API token on the page “API tokens” of the dashboard and "
        "give it to this command in the environment variable KENO_TOKEN."
    )


def no_good() -> str:
    return _(
        "The API token in KENO_TOKEN is not valid: it is mistyped, revoked or run out, or its "
        "person left. Make a new one on the page “API tokens” of the dashboard."
    )


def name_of(token: ApiToken) -> str:
    """The `by` of what it does. A program may pass on anybody's words, so the guards look at it."""
    return f"api:{token.name}"


def note(token: ApiToken, tool: str, *, action: str = "memory.read", **details: object) -> None:
    """One line of the audit for every call that was answered."""
    given = {"token": token.name, "tool": f"mcp {tool}", "person": token.user.username} | details
    audit.record(action, actor=name_of(token), space=token.space, obj=token, **given)


def page(name: str, space: Space, **which: int) -> str:
    """The address of a page; the path alone while nobody has said where Keno is reached."""
    return settings.KENO_URL + space_url(name, space, **which)


def recall(token: ApiToken, asked: shapes.Question) -> shapes.Recollection:
    space = token.space
    found = recall_memory(
        space,
        asked.question,
        person=token.user.username,
        limit=asked.limit,
        kinds=KINDS,
        as_of=_moment(asked.as_of, space, time.max),
        valid_at=_moment(asked.valid_at, space, time(12)),
    )
    receipt = found.receipt
    number = receipt.pk if receipt else None
    note(token, "recall", found=len(found.items), receipt=number)
    where = page("recall:receipt", space, pk=number) if receipt else ""
    if found.mode == "none":
        raise Refused(_("The recall failed. Try again; Keno's log says what was wrong."))
    return shapes.Recollection(
        memories=[_memory(one, space) for one in found.items],
        confidence=found.confidence,
        level=found.level,
        receipt=where,
        note=found.error,
    )


def facts(token: ApiToken, asked: shapes.Search) -> shapes.Facts:
    days = {"as_of": asked.as_of, "valid_at": asked.valid_at}
    given = {name: day.isoformat() for name, day in days.items() if day}
    if asked.as_of and asked.as_of > token.space.local_date(timezone.now()):
        raise Refused(_("“as_of” lies ahead: nothing was believed then yet."))
    wanted = FactFilter(
        q=text.clean(asked.words), subject=text.one_line(asked.subject), chat=HERE, **given
    )
    order = facts_search.order(wanted)
    if asked.after and not is_place(asked.after, order):
        raise Refused(_("“after” must be what the answer before gave as “next”, or be left out."))
    rows = facts_search.find(token.space, wanted, now=timezone.now())
    found = part(rows, order=order, after=asked.after, size=asked.limit)
    note(token, "facts", found=len(found.rows))
    known = rows_at(Fact, found.rows) if wanted.when else found.rows
    return shapes.Facts(facts=[_fact(row, token.space) for row in known], next=found.after)


def episodes(token: ApiToken, asked: shapes.Recent) -> shapes.Episodes:
    # What recall may find: nothing that was discarded, and nothing that a guard holds back.
    live = Unit.objects.filter(kind="episode", scope=shared(token.space_id), live=True)
    rows = rows_in(token.space, Episode).filter(chat=None, pk__in=live.values("owner_id"))
    found = list(rows.newest()[: asked.limit])
    note(token, "episodes", found=len(found))
    return shapes.Episodes(episodes=[_episode(row, token.space) for row in found])


def _memory(one: Scored, space: Space) -> shapes.Memory:
    unit = one.unit
    return shapes.Memory(
        kind=unit.kind,
        id=unit.owner_id,
        text=_cut(unit.text),
        # An episode has none of these.
        quote=_cut(unit.quote or ""),
        subject=unit.subject or "",
        said_by=unit.said_by or "",
        at=unit.at.astimezone(space.zone),
        score=round(one.score, 4),
        address=page(f"{unit.kind}s:detail", space, pk=unit.owner_id),
    )


def _fact(row: Fact, space: Space) -> shapes.Fact:
    same = ("text", "quote", "subject", "kind", "category", "confidence", "pinned", "said_by")
    return shapes.Fact(
        id=row.pk,
        at=row.last_seen_at.astimezone(space.zone),
        true_from=row.valid_from and row.valid_from.astimezone(space.zone),
        true_until=row.valid_to and row.valid_to.astimezone(space.zone),
        checked=row.checked_at.astimezone(space.zone),
        due=lasting.due_at(row, space),
        address=page("facts:detail", space, pk=row.pk),
        **{name: getattr(row, name) for name in same},
    )


def _moment(day: date | None, space: Space, clock: time) -> datetime | None:
    return datetime.combine(day, clock, space.zone) if day else None


def _episode(row: Episode, space: Space) -> shapes.Episode:
    return shapes.Episode(
        id=row.pk,
        title=row.title,
        text=_cut(row.body),
        tags=row.tags,
        participants=row.participants,
        started_at=row.started_at.astimezone(space.zone),
        ended_at=row.ended_at.astimezone(space.zone),
        address=page("episodes:detail", space, pk=row.pk),
    )


def _cut(said: str) -> str:
    return said if len(said) <= MAX_TEXT else f"{said[: MAX_TEXT - 1]}…"


@transaction.atomic
def remember(token: ApiToken, asked: shapes.Saying) -> shapes.Kept:
    said = {"text": asked.text, "quote": asked.text, "subject": asked.subject}
    times = {
        "valid_from": _moment(asked.true_from, token.space, time.min),
        "valid_to": _moment(asked.true_until, token.space, time.max),
    }
    try:
        done = facts_service.remember(token.space, by=name_of(token), **said, **times)
    except facts_service.Invalid as error:
        raise Refused(str(error)) from None
    if done.outcome == "empty":
        raise Refused(_("There is nothing to remember in it: say it in words."))
    row = done.row
    note(token, "remember", action="memory.written", outcome=done.outcome, fact=row and row.pk)
    if row is None:
        return shapes.Kept(outcome=done.outcome, said=done.reason)
    held = row.status == Fact.Status.QUARANTINED
    where = page("quarantine:index", token.space) if held else ""
    return shapes.Kept(
        outcome=done.outcome,
        said=_what_happened(done),
        id=row.pk,
        text=row.text,
        address=where or page("facts:detail", token.space, pk=row.pk),
    )


@transaction.atomic
def set_times(token: ApiToken, asked: shapes.Times) -> shapes.Fact:
    """Say since when or until when a fact of the whole space holds."""
    space = token.space
    fact = rows_in(space, Fact).live().filter(chat=None, pk=asked.id).first()
    if fact is None:
        words = _("There is no fact %(id)s. Look for its id with “facts” or “recall”.")
        raise Refused(words % {"id": asked.id})
    given = {
        "valid_from": _moment(asked.true_from, space, time.min),
        "valid_to": _moment(asked.true_until, space, time.max),
    }
    try:
        times = {name: value for name, value in given.items() if value}
        done = facts_service.revise(fact, by=name_of(token), **times)
    except facts_service.Invalid as error:
        raise Refused(str(error)) from None
    if done.outcome == "refused":
        raise Refused(done.reason)
    note(token, "set_times", action="memory.written", outcome=done.outcome, fact=fact.pk)
    return _fact(fact, space)


@transaction.atomic
def forget(token: ApiToken, asked: shapes.Which) -> shapes.Forgotten:
    mine = rows_in(token.space, Fact).filter(chat=None, pk=asked.id)
    fact = mine.filter(status__in=(Fact.Status.ACTIVE, Fact.Status.ARCHIVED)).first()
    if fact is None:
        raise Refused(
            _("There is no fact %(id)s to forget. Look for its id with “facts” or “recall”.")
            % {"id": asked.id}
        )
    done = facts_service.forget(fact, by=name_of(token))
    outcome = "forgotten" if done else done.outcome
    note(token, "forget", action="memory.written", outcome=outcome, fact=fact.pk)
    where = page("facts:detail", token.space, pk=fact.pk)
    return shapes.Forgotten(
        outcome=outcome, said=_what_is_left(outcome, done, where), id=fact.pk, address=where
    )


def _what_is_left(outcome: str, done: ChangeResult, where: str) -> str:
    if outcome == "forgotten":
        said = _("Forgotten: nothing recalls it any more. A person can undo it at %(page)s.")
    elif outcome == "unchanged":
        said = _("It was forgotten before. A person can undo that at %(page)s.")
    else:
        return done.reason
    return said % {"page": where}


def _what_happened(done: ChangeResult) -> str:
    if done.outcome == "new":
        return _("Remembered.")
    if done.outcome == "restored":
        return _("It had been put away and is believed again.")
    if done.outcome == "again":
        times = done.row.times_seen
        return ngettext(
            "Known already: said %(n)s time now, and believed the more.",
            "Known already: said %(n)s times now, and believed the more.",
            times,
        ) % {"n": times}
    if done.outcome == "quarantined":
        return _("Held back until a person has looked at it: %(why)s.") % {
            "why": done.reason or describe_reasons(done.row.flags)
        }
    return done.reason


def waiting(token: ApiToken, asked: shapes.Recent) -> shapes.Waiting:
    space = token.space
    rows = rows_in(space, Proposal).filter(status=Proposal.Status.PENDING)
    count, found = rows.count(), list(rows.order_by("created_at", "pk")[: asked.limit])
    known = _shared(space, (one for row in found for one in _speaks_of(row)))
    note(token, "waiting", found=count)
    return shapes.Waiting(
        count=count,
        proposals=[
            shapes.Proposal(
                kind=row.kind,
                title=row.title if _for_all(row, known) else None,
                since=row.created_at.astimezone(space.zone),
                address=page("proposals:detail", space, pk=row.pk),
            )
            for row in found
        ],
        address=page("proposals:index", space),
    )


def _for_all(row: Proposal, known: set[tuple[str, int]]) -> bool:
    """Whether its title comes only from what the whole space may see, and from no attack."""
    if NOT_FOR_ALL.intersection(row.flags) or row.after.get("chat"):
        return False
    if any(one.get("chat") or one.get("message") for one in row.evidence):
        return False
    return set(_speaks_of(row)) <= known


def _speaks_of(row: Proposal) -> list[tuple[str, int]]:
    aims = [(one["type"], one["id"]) for one in row.targets if one["type"] in ROWS]
    return aims + [(kind, one[kind]) for one in row.evidence for kind in ROWS if one.get(kind)]


def _shared(space: Space, named: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Those of the rows that the whole space may see; one query a kind."""
    wanted: dict[str, set[int]] = {}
    for kind, pk in named:
        wanted.setdefault(kind, set()).add(pk)
    return {
        (kind, pk)
        for kind, pks in wanted.items()
        for pk in rows_in(space, ROWS[kind])
        .filter(chat=None, pk__in=pks)
        .values_list("pk", flat=True)
    }
