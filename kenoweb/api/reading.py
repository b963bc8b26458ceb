"""What a token may read. Each function takes the token and what was asked, and gives a shape."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import date, datetime, time
from typing import Any

from django.conf import settings
from django.db.models import Count, Model, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.api import shapes
from kenoweb.api.calls import (
    Refused,
    cut_page,
    find,
    is_private,
    mentionable,
    note,
    page,
    visible,
)
from kenoweb.auth.access import rows_in
from kenoweb.facts import listing as facts_search
from kenoweb.people import page as people_page
from kenoweb.ui.filters import HERE, FactFilter
from kenoweb.ui.history_thread import rows_at
from kenoweb.ui.list_page import Order
from kenoweb.ui.text_search import substring_filter
from memory.facts import lasting
from memory.guards import screening
from memory.history import changes as history
from memory.history.actors import name as actor_name
from memory.models import (
    ApiToken,
    Chat,
    Entity,
    Episode,
    Fact,
    LlmCall,
    Message,
    Pattern,
    Recall,
    Ruling,
    Space,
    Unit,
    WorkingNote,
)
from memory.operations import health as health_checks
from memory.people import facts_of, group
from memory.prompt import sections
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import recall as recall_memory
from memory.text import normalise as text
from sleep.models import Night, Proposal
from sleep.proposals import SUSPICIOUS

MAX_TEXT = 4000
HISTORY = 50
ROWS = {"fact": Fact, "episode": Episode, "pattern": Pattern}
NOT_FOR_ALL = {SUSPICIOUS, "leaves its chat"}
# What a change of a fact may tell a program.
TOLD = {"text", "subject", "status", "kind", "category", "confidence", "pinned", "valid_to"}


def me(token: ApiToken, asked: shapes.Nothing) -> shapes.Token:
    return shapes.Token(
        name=token.name,
        person=token.user.username,
        space=token.space.slug,
        scopes=token.scopes,
        gate=token.gate,
        version=settings.VERSION,
    )


def recall(token: ApiToken, asked: shapes.Question) -> shapes.Recollection:
    space, private = token.space, is_private(token)
    kinds = ("fact", "episode", "message") if private else ("fact", "episode")
    found = recall_memory(
        space,
        asked.query,
        person=token.user.username,
        limit=asked.limit,
        budget=asked.budget,
        as_of=moment(asked.as_of, space, time.max),
        valid_at=moment(asked.valid_at, space, time(12)),
        everywhere=private,
        kinds=kinds,
        prompt=asked.context,
    )
    number = found.receipt.pk if found.receipt else None
    note(token, "recall", found=len(found.items), receipt=number)
    if found.mode == "none":
        raise Refused(_("The recall failed. Try again; Keno's log says what was wrong."), 503)
    return shapes.Recollection(
        memories=[_memory(one, space) for one in found.items],
        confidence=found.confidence,
        level=found.level,
        receipt=number,
        url=page("recall:receipt", space, pk=number) if number else "",
        context=context_block(found.items, space) if asked.context else "",
        note=found.error,
    )


def moment(day: date | None, space: Space, clock: time) -> datetime | None:
    return datetime.combine(day, clock, space.zone) if day else None


def context_block(items: list[Scored], space: Space) -> str:
    """The memories as data between marks that nobody can guess; nothing when there are none."""
    lines = [sections.RENDER[one.unit.kind](one.unit, space.zone) for one in items]
    return sections.fence("\n".join(lines)) if lines else ""


def _memory(one: Scored, space: Space) -> shapes.Memory:
    unit = one.unit
    owner = "chats:index" if unit.kind == "message" else f"{unit.kind}s:detail"
    which = {} if unit.kind == "message" else {"pk": unit.owner_id}
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
        confidence=round(one.confidence, 4),
        url=page(owner, space, **which),
    )


def search(token: ApiToken, asked: shapes.Search) -> shapes.Hits:
    """The same words in facts, episodes, people and, for who may, messages."""
    found = [
        shapes.Hit(kind=kind, id=row.pk, text=_cut(words(row)), url=KINDS[kind].url(row))
        for kind, words in SEARCHED.items()
        if kind != "messages" or is_private(token)
        for row in KINDS[kind].rows(token, asked)[: asked.limit]
    ]
    note(token, "search", found=len(found))
    return shapes.Hits(items=found[: asked.limit])


def version_of(row: Model) -> str:
    return f"{row.pk}-{row.updated_at.timestamp():.6f}"


def _shape(shape: type[shapes.Row], place: str, row: Model, **other: Any) -> Any:
    """The row for programs: what it calls the same, and what is given beside that."""
    names = [name for name, field in shape.model_fields.items() if field.is_required()]
    given = other if "url" in other else {"url": page(place, row.space, pk=row.pk)} | other
    return shape(**{name: getattr(row, name) for name in names if name not in given}, **given)


def fact_shape(row: Fact) -> shapes.Fact:
    times = {"true_from": row.valid_from, "true_until": row.valid_to, "at": row.last_seen_at}
    checks = {"checked": row.checked_at, "due": lasting.due_at(row, row.space)}
    known = times | checks | {"version": version_of(row)}
    return _shape(shapes.Fact, "facts:detail", row, **known)


def _episode(row: Episode) -> shapes.Episode:
    told = {"text": _cut(row.body), "ended_at": row.ended_at or row.started_at}
    return _shape(shapes.Episode, "episodes:detail", row, **told)


def _pattern(row: Pattern) -> shapes.Pattern:
    return _shape(shapes.Pattern, "patterns:detail", row, times_used=row.use_count)


def _person(row: Entity) -> shapes.Person:
    return _shape(shapes.Person, "people:detail", row)


def _note_shape(row: WorkingNote) -> shapes.Note:
    return _shape(shapes.Note, "working:detail", row, chat=row.chat.key)


def _chat(row: Chat) -> shapes.Chat:
    return _shape(shapes.Chat, "chats:detail", row, name=row.key)


def _message(row: Message) -> shapes.Said:
    url = page("chats:detail", row.space, pk=row.chat_id)
    return _shape(shapes.Said, "", row, chat=row.chat_id, url=url)


def _night(row: Night) -> shapes.Night:
    counts = {"changes": row.changed, "proposals": row.proposed, "cost": float(row.cost)}
    return _shape(shapes.Night, "nights:detail", row, date=row.local_date, **counts)


def _ruling(row: Ruling) -> shapes.Ruling:
    url = page("rulings:index", row.space)
    return _shape(shapes.Ruling, "", row, since=row.created_at, url=url)


def _receipt(row: Recall) -> shapes.Receipt:
    return _shape(shapes.Receipt, "recall:receipt", row)


def _cut(said: str) -> str:
    return said if len(said) <= MAX_TEXT else f"{said[: MAX_TEXT - 1]}…"


def facts(token: ApiToken, asked: shapes.FactSearch) -> shapes.Facts:
    """The facts as they are, or as they were believed on a day."""
    if asked.as_of and asked.as_of > token.space.local_date(timezone.now()):
        raise Refused(_("“as_of” lies ahead: nothing was believed then yet."))
    wanted = _wanted(token, asked)
    rows, after = cut_page(_facts(token, asked), facts_search.order(wanted), asked)
    note(token, "facts", found=len(rows))
    known = rows_at(Fact, rows) if wanted.when else rows
    return shapes.Facts(items=[fact_shape(row) for row in known], next=after)


def _wanted(token: ApiToken, asked) -> FactFilter:
    words = text.clean(getattr(asked, "words", ""))
    private, chat = is_private(token), getattr(asked, "chat", None)
    days = {name: getattr(asked, name, None) for name in ("as_of", "valid_at")}
    return FactFilter(
        q=words,
        subject=text.one_line(getattr(asked, "subject", "")),
        kind=getattr(asked, "kind", ""),
        status=getattr(asked, "status", Fact.Status.ACTIVE),
        chat=(str(chat) if chat else "") if private else HERE,
        **{name: day.isoformat() for name, day in days.items() if day},
    )


def _facts(token: ApiToken, asked) -> QuerySet:
    wanted = _wanted(token, asked)
    rows = facts_search.find(token.space, wanted, now=timezone.now()).select_related("space")
    rows = mentionable(token, rows)
    since = getattr(asked, "since", None)
    return rows.filter(last_seen_at__gt=since) if since else rows


def _episodes(token: ApiToken, asked) -> QuerySet:
    # What recall may find: nothing that was discarded, and nothing that a guard holds back.
    live = Unit.objects.filter(space=token.space, kind="episode", live=True).values("owner_id")
    rows = visible(token, Episode).filter(pk__in=live)
    return _with_words(rows, asked, "title", "body")


def _people(token: ApiToken, asked) -> QuerySet:
    rows = people_page.find(token.space, getattr(asked, "words", ""))
    return rows if is_private(token) else rows.filter(chat=None)


def _with_words(rows: QuerySet, asked, *fields: str) -> QuerySet:
    said = text.clean(getattr(asked, "words", ""))
    return rows.filter(substring_filter(said, *fields)) if said else rows


def _proposals(token: ApiToken, asked) -> QuerySet:
    rows = rows_in(token.space, Proposal)
    status = getattr(asked, "status", None)
    return rows.filter(status=status) if status else rows


def _nights(token: ApiToken, asked) -> QuerySet:
    """The nights with their counts: asked for in one query, however many there are."""
    return rows_in(token.space, Night).annotate(
        changed=Count("changes", distinct=True), proposed=Count("proposals", distinct=True)
    )


def _rulings(token: ApiToken, asked) -> QuerySet:
    """Those in force; what is not to be mentioned is told to nobody who sees only the space."""
    rows = rows_in(token.space, Ruling).filter(status="active")
    return rows if is_private(token) else rows.exclude(kind=Ruling.Kind.DONT_MENTION)


@dataclass(frozen=True)
class Kind:
    """One kind of row that programs list and get."""

    what: str
    rows: Callable[[ApiToken, object], QuerySet]
    show: Callable[[Model], shapes.Row]
    order: Order
    gives: type

    def url(self, row: Model) -> str:
        return self.show(row).url


def _messages(token: ApiToken, asked) -> QuerySet:
    rows = _with_words(rows_in(token.space, Message), asked, "text")
    chat = getattr(asked, "chat", None)
    return rows.filter(chat=chat) if chat else rows


def _live_patterns(token: ApiToken, asked) -> QuerySet:
    return visible(token, Pattern).filter(status="active")


def _all(model: type[Model], *also: str) -> Callable[[ApiToken, object], QuerySet]:
    return lambda token, asked: rows_in(token.space, model).select_related("space", *also)


def _receipts(token: ApiToken, asked) -> QuerySet:
    return visible(token, Recall)


CHANGED, CREATED, BY_NAME = Order("updated_at"), Order("created_at"), Order("name", str, down=False)
STARTED = Order("started_at")
KINDS = {
    "facts": Kind("fact", _facts, fact_shape, CHANGED, shapes.Facts),
    "episodes": Kind("episode", _episodes, _episode, STARTED, shapes.Episodes),
    "patterns": Kind("pattern", _live_patterns, _pattern, CHANGED, shapes.Patterns),
    "people": Kind("person", _people, _person, BY_NAME, shapes.People),
    "notes": Kind("working note", _all(WorkingNote, "chat"), _note_shape, CHANGED, shapes.Notes),
    "chats": Kind("chat", _all(Chat), _chat, CREATED, shapes.Chats),
    "messages": Kind("message", _messages, _message, Order("sent_at"), shapes.Messages),
    "nights": Kind("night", _nights, _night, STARTED, shapes.Nights),
    "rulings": Kind("ruling", _rulings, _ruling, CREATED, shapes.Rulings),
    "receipts": Kind("receipt", _receipts, _receipt, Order("at"), shapes.Receipts),
}
SEARCHED = {
    "facts": lambda row: row.text,
    "episodes": lambda row: row.title or row.body,
    "people": lambda row: row.name,
    "messages": lambda row: row.text,
}


def lister(name: str) -> Callable:
    """The function that lists this kind, page by page."""
    kind = KINDS[name]

    def list_rows(token: ApiToken, asked):
        rows, after = cut_page(kind.rows(token, asked).select_related("space"), kind.order, asked)
        note(token, name, found=len(rows))
        return kind.gives(items=[kind.show(row) for row in rows], next=after)

    return list_rows


def getter(name: str, more: Callable | None = None) -> Callable:
    """The function that gives one row of this kind; `more` adds to its shape."""
    kind = KINDS[name]

    def get_row(token: ApiToken, asked: shapes.Which):
        row = find(token, kind.rows(token, None).select_related("space"), asked.id, kind.what)
        note(token, kind.what.replace(" ", "_"), id=row.pk)
        shape = kind.show(row)
        return more(token, row, shape) if more else shape

    return get_row


def with_facts(token: ApiToken, row: Entity, shape: shapes.Person) -> shapes.Person:
    known = facts_of(group(row)).live().filter(pk__in=_facts(token, None).values("pk")).newest()
    return shape.model_copy(update={"facts": [fact.text for fact in known[:50]]})


def with_items(token: ApiToken, row: Recall, shape: shapes.Receipt) -> shapes.Receipt:
    told = [
        {"kind": one.kind, "id": getattr(one, f"{one.kind}_id", None), "rank": one.rank}
        | {"score": one.score, "parts": one.parts, "injected": one.injected, "cut": one.cut}
        for one in row.items.order_by("rank")[:50]
    ]
    return shape.model_copy(update={"items": told})


def _fact(token: ApiToken, asked: shapes.Which, what: str) -> Fact:
    """Any fact it may see, whatever its state, but none that a guard holds back."""
    states = (Fact.Status.ACTIVE, Fact.Status.ARCHIVED, Fact.Status.SUPERSEDED)
    rows = visible(token, Fact).filter(status__in=states).select_related("space")
    row = find(token, rows, asked.id, "fact")
    note(token, what, id=row.pk)
    return row


def get_fact(token: ApiToken, asked: shapes.Which) -> shapes.Fact:
    return fact_shape(_fact(token, asked, "fact"))


def fact_history(token: ApiToken, asked: shapes.Which) -> shapes.History:
    steps = history.history(_fact(token, asked, "history"), limit=HISTORY)
    return shapes.History(items=[_change(step) for step in steps])


def _change(step: history.Change) -> shapes.Change:
    told = {name: step.after[name] for name in TOLD if name in step.after}
    fields = step.fields
    return shapes.Change(
        at=step.at,
        by=actor_name(step.by),
        why=step.why,
        change=str(step.context_id or ""),
        before={name: fields[name][0] for name in TOLD & set(fields)},
        after={name: fields[name][1] for name in TOLD & set(fields)} if fields else told,
    )


def proposals(token: ApiToken, asked: shapes.ProposalSearch) -> shapes.Proposals:
    rows, after = cut_page(_proposals(token, asked), Order("created_at", down=False), asked)
    waiting = rows_in(token.space, Proposal).filter(status=Proposal.Status.PENDING).count()
    known = _shared(token, (one for row in rows for one in _speaks_of(row)))
    note(token, "proposals", found=len(rows))
    return shapes.Proposals(
        items=[_proposal(token, row, known) for row in rows], next=after, count=waiting
    )


def proposal(token: ApiToken, asked: shapes.Which) -> shapes.Proposal:
    row = find(token, _proposals(token, None), asked.id, "proposal")
    note(token, "proposal", id=row.pk)
    return _proposal(token, row, _shared(token, _speaks_of(row)))


def _proposal(token: ApiToken, row: Proposal, known: set) -> shapes.Proposal:
    title = row.title if is_private(token) or _for_all(row, known) else None
    url = page("proposals:detail", token.space, pk=row.pk)
    told = {"title": title, "source": row.mode, "since": row.created_at, "url": url}
    return _shape(shapes.Proposal, "", row, **told)


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


def _shared(token: ApiToken, named: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Those of the rows that the whole space may see; one query a kind."""
    wanted: dict[str, set[int]] = {}
    for kind, pk in named:
        wanted.setdefault(kind, set()).add(pk)
    return {
        (kind, pk)
        for kind, pks in wanted.items()
        for pk in rows_in(token.space, ROWS[kind])
        .filter(chat=None, pk__in=pks)
        .values_list("pk", flat=True)
    }


def quarantine(token: ApiToken, asked: shapes.Part) -> shapes.Quarantine:
    """That something is held back, and why. Its words may be an attack: they are for people."""
    found = [
        shapes.Held(
            id=row.pk,
            kind=kind,
            reasons=screening.describe_reasons(row.flags),
            since=row.updated_at,
            url=page("quarantine:index", token.space),
        )
        for kind, rows in screening.pending(token.space).items()
        for row in (rows if is_private(token) else rows.filter(chat=None))[: asked.limit]
    ]
    note(token, "quarantine", found=len(found))
    return shapes.Quarantine(items=sorted(found, key=lambda one: one.since)[-asked.limit :])


def health(token: ApiToken, asked: shapes.Nothing) -> shapes.Health:
    now = timezone.now()
    found = health_checks.report(health_checks.check(token.space, now=now), now=now)
    note(token, "health")
    return shapes.Health(**found)


def costs(token: ApiToken, asked: shapes.Nothing) -> shapes.Costs:
    """What the language models cost in this month of the space."""
    local = timezone.now().astimezone(token.space.zone)
    month = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    calls = LlmCall.objects.filter(space=token.space, at__gte=month)
    spent = {
        "calls": Count("pk"),
        "tokens_in": Sum("tokens_in", default=0),
        "tokens_out": Sum("tokens_out", default=0),
        "dollars": Sum("cost", default=0),
    }
    items = [shapes.Cost(**row) for row in calls.values("purpose").annotate(**spent)]
    note(token, "costs")
    return shapes.Costs(
        month=f"{month:%Y-%m}", dollars=sum(one.dollars for one in items), items=items
    )


def space_settings(token: ApiToken, asked: shapes.Nothing) -> shapes.Settings:
    space = token.space
    note(token, "settings")
    same = {name: getattr(space, name) for name in ("name", "language", "timezone")}
    return shapes.Settings(options=asdict(space.options), **same)
