"""What a token may read. Each function takes the token and its parameters and returns a shape."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import date, datetime, time
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.db.models import Count, Model, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.api import shapes
from kenoweb.api.calls import Refused, cut_page, find, is_private, mentionable, note, page, visible
from kenoweb.auth.access import rows_in
from kenoweb.facts import listing as facts_search
from kenoweb.people import page as people_page
from kenoweb.ui.filters import HERE, FactFilter
from kenoweb.ui.history_thread import rows_at
from kenoweb.ui.list_page import Order
from kenoweb.ui.text_search import substring_filter
from memory import models
from memory.facts import lasting
from memory.guards import screening
from memory.history import changes as history
from memory.history.actors import name as actor_name
from memory.models import ApiToken, Fact, Space
from memory.operations import health as health_checks
from memory.people import facts_of, group
from memory.prompt import sections
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import recall as recall_memory
from memory.text import normalise as text
from sleep.models import Night, Proposal
from sleep.proposals import SUSPICIOUS

MAX_TEXT = 4000
MAX_CHANGES = 50
ROWS = {"fact": Fact, "episode": models.Episode, "pattern": models.Pattern}
NOT_FOR_ALL = {SUSPICIOUS, "leaves its chat"}
# What the history of a fact shows a program.
SHOWN_FIELDS = {"text", "subject", "status", "kind", "category", "confidence", "pinned", "valid_to"}


def me(token: ApiToken, params: shapes.Nothing) -> shapes.Token:
    values = {name: getattr(token, name) for name in ("name", "scopes", "gate")}
    person, space = token.user.username, token.space.slug
    return shapes.Token(person=person, space=space, version=settings.VERSION, **values)


def recall(token: ApiToken, params: shapes.Question) -> shapes.Recollection:
    space, private = token.space, is_private(token)
    kinds = ("fact", "episode", "message") if private else ("fact", "episode")
    recalled = recall_memory(
        space,
        params.query,
        person=token.user.username,
        limit=params.limit,
        budget=params.budget,
        as_of=moment(params.as_of, space, time.max),
        valid_at=moment(params.valid_at, space, time(12)),
        everywhere=private,
        kinds=kinds,
        prompt=params.context,
    )
    number = recalled.receipt.pk if recalled.receipt else None
    note(token, "recall", found=len(recalled.items), receipt=number)
    if recalled.mode == "none":
        raise Refused(_("The recall failed. Try again; Keno's log says what was wrong."), 503)
    return shapes.Recollection(
        memories=[_memory(item, space) for item in recalled.items],
        confidence=recalled.confidence,
        level=recalled.level,
        receipt=number,
        url=page("recall:receipt", space, pk=number) if number else "",
        context=context_block(recalled.items, space) if params.context else "",
        note=recalled.error,
    )


def moment(day: date | None, space: Space, clock: time) -> datetime | None:
    return datetime.combine(day, clock, space.zone) if day else None


def context_block(items: list[Scored], space: Space) -> str:
    """Return the memories as data between marks that nobody can guess; "" when there are none."""
    lines = [sections.RENDER[item.unit.kind](item.unit, space.zone) for item in items]
    return sections.fence("\n".join(lines)) if lines else ""


def _memory(item: Scored, space: Space) -> shapes.Memory:
    unit = item.unit
    if unit.kind == "message":
        url = page("chats:index", space)
    else:
        url = page(f"{unit.kind}s:detail", space, pk=unit.owner_id)
    return shapes.Memory(
        kind=unit.kind,
        id=unit.owner_id,
        text=_cut(unit.text),
        # An episode has none of these.
        quote=_cut(unit.quote or ""),
        subject=unit.subject or "",
        said_by=unit.said_by or "",
        at=unit.at.astimezone(space.zone),
        score=round(item.score, 4),
        confidence=round(item.confidence, 4),
        url=url,
    )


def search(token: ApiToken, params: shapes.Search) -> shapes.Hits:
    hits = [
        shapes.Hit(kind=kind, id=row.pk, text=_cut(text_of(row)), url=KINDS[kind].show(row).url)
        for kind, text_of in SEARCHED.items()
        if kind != "messages" or is_private(token)
        for row in KINDS[kind].rows(token, params)[: params.limit]
    ]
    note(token, "search", found=len(hits))
    return shapes.Hits(items=hits[: params.limit])


def version_of(row: Model) -> str:
    return f"{row.pk}-{row.updated_at.timestamp():.6f}"


def _shape(shape: type[shapes.Row], place: str, row: Model, **other: Any) -> Any:
    """Return the row for programs: `other`, and what row and shape call by the same name."""
    names = [name for name, field in shape.model_fields.items() if field.is_required()]
    values = other if "url" in other else {"url": page(place, row.space, pk=row.pk)} | other
    return shape(**{name: getattr(row, name) for name in names if name not in values}, **values)


def fact_shape(row: Fact) -> shapes.Fact:
    times = {"true_from": row.valid_from, "true_until": row.valid_to, "at": row.last_seen_at}
    checks = {"checked": row.checked_at, "due": lasting.due_at(row, row.space)}
    version = version_of(row)
    return _shape(shapes.Fact, "facts:detail", row, version=version, **times, **checks)


def _episode(row: models.Episode) -> shapes.Episode:
    ended_at = row.ended_at or row.started_at
    return _shape(shapes.Episode, "episodes:detail", row, text=_cut(row.body), ended_at=ended_at)


def _message(row: models.Message) -> shapes.Said:
    url = page("chats:detail", row.space, pk=row.chat_id)
    return _shape(shapes.Said, "", row, chat=row.chat_id, url=url)


def _ruling(row: models.Ruling) -> shapes.Ruling:
    url = page("rulings:index", row.space)
    return _shape(shapes.Ruling, "", row, since=row.created_at, url=url)


def _shown_as(shape: type[shapes.Row], place: str, **renamed: str) -> Callable[[Model], Any]:
    """Return a function that shapes a row; `renamed` gives fields another attribute of the row."""

    def show(row: Model) -> shapes.Row:
        return _shape(shape, place, row, **{k: attrgetter(v)(row) for k, v in renamed.items()})

    return show


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def facts(token: ApiToken, params: shapes.FactSearch) -> shapes.Facts:
    """List the facts as they are, or as they were believed on a day."""
    if params.as_of and params.as_of > token.space.local_date(timezone.now()):
        raise Refused(_("“as_of” lies ahead: nothing was believed then yet."))
    filters = _fact_filter(token, params)
    rows, after = cut_page(_facts(token, params), facts_search.order(filters), params)
    note(token, "facts", found=len(rows))
    rows = rows_at(Fact, rows) if filters.when else rows
    return shapes.Facts(items=[fact_shape(row) for row in rows], next=after)


def _fact_filter(token: ApiToken, params) -> FactFilter:
    private, chat = is_private(token), getattr(params, "chat", None)
    days = {name: getattr(params, name, None) for name in ("as_of", "valid_at")}
    return FactFilter(
        q=text.clean(getattr(params, "words", "")),
        subject=text.one_line(getattr(params, "subject", "")),
        kind=getattr(params, "kind", ""),
        status=getattr(params, "status", Fact.Status.ACTIVE),
        chat=(str(chat) if chat else "") if private else HERE,
        **{name: day.isoformat() for name, day in days.items() if day},
    )


def _facts(token: ApiToken, params) -> QuerySet:
    filters = _fact_filter(token, params)
    rows = facts_search.find(token.space, filters, now=timezone.now()).select_related("space")
    rows = mentionable(token, rows)
    since = getattr(params, "since", None)
    return rows.filter(last_seen_at__gt=since) if since else rows


def _episodes(token: ApiToken, params) -> QuerySet:
    # Only what recall may find: not what was discarded or what a guard holds back.
    live = models.Unit.objects.filter(space=token.space, kind="episode", live=True)
    rows = visible(token, models.Episode).filter(pk__in=live.values("owner_id"))
    return _with_words(rows, params, "title", "body")


def _people(token: ApiToken, params) -> QuerySet:
    rows = people_page.find(token.space, getattr(params, "words", ""))
    return rows if is_private(token) else rows.filter(chat=None)


def _with_words(rows: QuerySet, params, *fields: str) -> QuerySet:
    words = text.clean(getattr(params, "words", ""))
    return rows.filter(substring_filter(words, *fields)) if words else rows


def _proposals(token: ApiToken, params) -> QuerySet:
    rows = rows_in(token.space, Proposal)
    status = getattr(params, "status", None)
    return rows.filter(status=status) if status else rows


def _nights(token: ApiToken, params) -> QuerySet:
    """Return the nights with their counts, in one query."""
    return rows_in(token.space, Night).annotate(
        changed=Count("changes", distinct=True), proposed=Count("proposals", distinct=True)
    )


def _rulings(token: ApiToken, params) -> QuerySet:
    """Return rulings in force; "don't mention" rulings only to those who see single chats."""
    rows = rows_in(token.space, models.Ruling).filter(status="active")
    return rows if is_private(token) else rows.exclude(kind=models.Ruling.Kind.DONT_MENTION)


@dataclass(frozen=True)
class Kind:
    """One kind of row that programs list and get."""

    what: str
    rows: Callable[[ApiToken, object], QuerySet]
    show: Callable[[Model], shapes.Row]
    order: Order
    gives: type


def _messages(token: ApiToken, params) -> QuerySet:
    rows = _with_words(rows_in(token.space, models.Message), params, "text")
    chat = getattr(params, "chat", None)
    return rows.filter(chat=chat) if chat else rows


def _visible(model: type[Model], **filters: str) -> Callable[[ApiToken, object], QuerySet]:
    return lambda token, params: visible(token, model).filter(**filters)


def _all(model: type[Model], *also: str) -> Callable[[ApiToken, object], QuerySet]:
    return lambda token, params: rows_in(token.space, model).select_related("space", *also)


CHANGED, CREATED, STARTED = Order("updated_at"), Order("created_at"), Order("started_at")
_pattern = _shown_as(shapes.Pattern, "patterns:detail", times_used="use_count")
_person = _shown_as(shapes.Person, "people:detail")
_note = _shown_as(shapes.Note, "working:detail", chat="chat.key")
_chat = _shown_as(shapes.Chat, "chats:detail", name="key")
_night = _shown_as(
    *(shapes.Night, "nights:detail"), date="local_date", changes="changed", proposals="proposed"
)
_receipt = _shown_as(shapes.Receipt, "recall:receipt")
KINDS = {
    "facts": Kind("fact", _facts, fact_shape, CHANGED, shapes.Facts),
    "episodes": Kind("episode", _episodes, _episode, STARTED, shapes.Episodes),
    "patterns": Kind(
        "pattern", _visible(models.Pattern, status="active"), _pattern, CHANGED, shapes.Patterns
    ),
    "people": Kind("person", _people, _person, Order("name", str, down=False), shapes.People),
    "notes": Kind("working note", _all(models.WorkingNote, "chat"), _note, CHANGED, shapes.Notes),
    "chats": Kind("chat", _all(models.Chat), _chat, CREATED, shapes.Chats),
    "messages": Kind("message", _messages, _message, Order("sent_at"), shapes.Messages),
    "nights": Kind("night", _nights, _night, STARTED, shapes.Nights),
    "rulings": Kind("ruling", _rulings, _ruling, CREATED, shapes.Rulings),
    "receipts": Kind("receipt", _visible(models.Recall), _receipt, Order("at"), shapes.Receipts),
}
SEARCHED = {
    "facts": lambda row: row.text,
    "episodes": lambda row: row.title or row.body,
    "people": lambda row: row.name,
    "messages": lambda row: row.text,
}


def lister(name: str) -> Callable:
    """Return the function that lists this kind, page by page."""
    kind = KINDS[name]

    def list_rows(token: ApiToken, params):
        rows, after = cut_page(kind.rows(token, params).select_related("space"), kind.order, params)
        note(token, name, found=len(rows))
        return kind.gives(items=[kind.show(row) for row in rows], next=after)

    return list_rows


def getter(name: str, more: Callable | None = None) -> Callable:
    """Return the function that gets one row of this kind; `more` adds to its shape."""
    kind = KINDS[name]

    def get_row(token: ApiToken, params: shapes.Which):
        row = find(token, kind.rows(token, None).select_related("space"), params.id, kind.what)
        note(token, kind.what.replace(" ", "_"), id=row.pk)
        shape = kind.show(row)
        return more(token, row, shape) if more else shape

    return get_row


def with_facts(token: ApiToken, row: models.Entity, shape: shapes.Person) -> shapes.Person:
    facts = facts_of(group(row)).live().filter(pk__in=_facts(token, None).values("pk")).newest()
    return shape.model_copy(update={"facts": [fact.text for fact in facts[:50]]})


def with_items(token: ApiToken, row: models.Recall, shape: shapes.Receipt) -> shapes.Receipt:
    names = ("rank", "score", "parts", "injected", "cut")
    items = [
        {"kind": item.kind, "id": getattr(item, f"{item.kind}_id", None)}
        | {name: getattr(item, name) for name in names}
        for item in row.items.order_by("rank")[:50]
    ]
    return shape.model_copy(update={"items": items})


def _fact(token: ApiToken, params: shapes.Which, what: str) -> Fact:
    """Return a fact that the token may see, in any state but quarantine and trash."""
    states = (Fact.Status.ACTIVE, Fact.Status.ARCHIVED, Fact.Status.SUPERSEDED)
    rows = visible(token, Fact).filter(status__in=states).select_related("space")
    row = find(token, rows, params.id, "fact")
    note(token, what, id=row.pk)
    return row


def get_fact(token: ApiToken, params: shapes.Which) -> shapes.Fact:
    return fact_shape(_fact(token, params, "fact"))


def fact_history(token: ApiToken, params: shapes.Which) -> shapes.History:
    steps = history.history(_fact(token, params, "history"), limit=MAX_CHANGES)
    return shapes.History(items=[_change(step) for step in steps])


def _change(step: history.Change) -> shapes.Change:
    fields = step.fields
    shown = {name: fields[name] for name in SHOWN_FIELDS & set(fields)}
    new_row = {name: step.after[name] for name in SHOWN_FIELDS & set(step.after)}
    return shapes.Change(
        at=step.at,
        by=actor_name(step.by),
        why=step.why,
        change=str(step.context_id or ""),
        before={name: change[0] for name, change in shown.items()},
        after={name: change[1] for name, change in shown.items()} if fields else new_row,
    )


def proposals(token: ApiToken, params: shapes.ProposalSearch) -> shapes.Proposals:
    rows, after = cut_page(_proposals(token, params), Order("created_at", down=False), params)
    waiting = rows_in(token.space, Proposal).filter(status=Proposal.Status.PENDING).count()
    shared = _shared(token, (key for row in rows for key in _rows_named(row)))
    note(token, "proposals", found=len(rows))
    items = [_proposal(token, row, shared) for row in rows]
    return shapes.Proposals(items=items, next=after, count=waiting)


def proposal(token: ApiToken, params: shapes.Which) -> shapes.Proposal:
    row = find(token, _proposals(token, None), params.id, "proposal")
    note(token, "proposal", id=row.pk)
    return _proposal(token, row, _shared(token, _rows_named(row)))


def _proposal(token: ApiToken, row: Proposal, shared: set) -> shapes.Proposal:
    title = row.title if is_private(token) or _is_for_all(row, shared) else None
    url = page("proposals:detail", token.space, pk=row.pk)
    origin = {"source": row.mode, "since": row.created_at, "url": url}
    return _shape(shapes.Proposal, "", row, title=title, **origin)


def _is_for_all(row: Proposal, shared: set[tuple[str, int]]) -> bool:
    """Whether its title comes only from what the whole space may see, and from no attack."""
    if NOT_FOR_ALL.intersection(row.flags) or row.after.get("chat"):
        return False
    if any(source.get("chat") or source.get("message") for source in row.evidence):
        return False
    return set(_rows_named(row)) <= shared


def _rows_named(row: Proposal) -> list[tuple[str, int]]:
    """Return (kind, id) of what the proposal would change and of what it rests on."""
    targets = [(target["type"], target["id"]) for target in row.targets if target["type"] in ROWS]
    return targets + [(kind, ref[kind]) for ref in row.evidence for kind in ROWS if ref.get(kind)]


def _shared(token: ApiToken, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return those of the rows that the whole space may see, with one query a kind."""
    by_kind: dict[str, set[int]] = {}
    for kind, pk in keys:
        by_kind.setdefault(kind, set()).add(pk)
    shared = set()
    for kind, pks in by_kind.items():
        rows = rows_in(token.space, ROWS[kind]).filter(chat=None, pk__in=pks)
        shared |= {(kind, pk) for pk in rows.values_list("pk", flat=True)}
    return shared


def quarantine(token: ApiToken, params: shapes.Part) -> shapes.Quarantine:
    """List what is held back, and why, without its words: they may be an attack."""
    url = page("quarantine:index", token.space)
    held = [
        shapes.Held(
            id=row.pk,
            kind=kind,
            reasons=screening.describe_reasons(row.flags),
            since=row.updated_at,
            url=url,
        )
        for kind, rows in screening.pending(token.space).items()
        for row in (rows if is_private(token) else rows.filter(chat=None))[: params.limit]
    ]
    note(token, "quarantine", found=len(held))
    return shapes.Quarantine(items=sorted(held, key=lambda row: row.since)[-params.limit :])


def health(token: ApiToken, params: shapes.Nothing) -> shapes.Health:
    now = timezone.now()
    note(token, "health")
    return shapes.Health(**health_checks.report(health_checks.check(token.space, now=now), now=now))


def costs(token: ApiToken, params: shapes.Nothing) -> shapes.Costs:
    local = timezone.now().astimezone(token.space.zone)
    month = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    calls = models.LlmCall.objects.filter(space=token.space, at__gte=month)
    spent = {
        "calls": Count("pk"),
        "tokens_in": Sum("tokens_in", default=0),
        "tokens_out": Sum("tokens_out", default=0),
        "dollars": Sum("cost", default=0),
    }
    items = [shapes.Cost(**row) for row in calls.values("purpose").annotate(**spent)]
    note(token, "costs")
    dollars = sum(item.dollars for item in items)
    return shapes.Costs(month=f"{month:%Y-%m}", dollars=dollars, items=items)


def space_settings(token: ApiToken, params: shapes.Nothing) -> shapes.Settings:
    space = token.space
    note(token, "settings")
    same = {name: getattr(space, name) for name in ("name", "language", "timezone")}
    return shapes.Settings(options=asdict(space.options), **same)
