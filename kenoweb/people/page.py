"""What the pages of people and things show: the list, one of them, and the graph."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations

from django.db.models import Count, F, Func, Max, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in, without_private
from kenoweb.ui import charts
from kenoweb.ui.list_page import Order, View, counted, part
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import substring_filter
from memory import people
from memory.facts import lasting
from memory.models import Entity, Fact, Mention, Message, RecallItem, Space
from memory.models.entity import key_of
from memory.text.kinship import relation_word, relatives_in
from sleep.models import Proposal

COLOURS = 6
MAX_FACTS = 300
# Rows of each of the shorter lists on the page.
MAX_ROWS = 8
MAX_EDGES = 7
MAX_OTHERS = 300
MAX_RIVERS = 4
# The graph of a space shows those with the most facts, counting the newest.
MAX_NODES = 12
MAX_LINES = 40
MAX_GRAPH_FACTS = 2000
GROUPS = {
    "who": gettext_lazy("Who they are"),
    "people": gettext_lazy("People and pets"),
    "likes": gettext_lazy("Likes and dislikes"),
    "plans": gettext_lazy("Plans"),
    "events": gettext_lazy("What happened"),
    "past": gettext_lazy("No longer true"),
}
BY_CATEGORY = {"relationship": "people", "preference": "likes", "project": "plans"}
KINDS = {
    "person": gettext_lazy("People"),
    "pet": gettext_lazy("Pets"),
    "place": gettext_lazy("Places"),
    "project": gettext_lazy("Projects"),
    "organisation": gettext_lazy("Organisations"),
    "thing": gettext_lazy("Things"),
}
_ALL_NAMES = Func(F("keys"), Value(" "), function="array_to_string")


@dataclass(frozen=True)
class Edge:
    """A line of the small graph, from the person of the page to another one."""

    entity: Entity
    word: str
    y: int

    @property
    def path(self) -> str:
        return f"M20 32V{self.y - 6}q0 6 6 6H150" if self.y > 20 else "M40 20H150"


@dataclass(frozen=True)
class River:
    """What was believed of one thing over time, the oldest first, and its chart."""

    facts: list[Fact]
    bands: list[charts.Band]


@dataclass(frozen=True)
class PersonPage:
    entity: Entity
    merged: list[Entity]
    groups: list[tuple[str, str, list[Fact]]]
    rivers: list[River]
    named: list[Fact]
    said: list[Message]
    counts: dict[str, int]
    edges: list[Edge]
    chats: list[dict]
    replies: list[dict]
    questions: list[Proposal]
    # Facts about them that are due for a check.
    to_check: list[Fact]
    others: list[tuple[int, str]] = field(default_factory=list)

    @property
    def height(self) -> int:
        return max((edge.y for edge in self.edges), default=0) + 24

    @property
    def aliases(self) -> list[str]:
        names = [*self.entity.aliases, *(name for row in self.merged for name in names_of(row))]
        return [name for name in dict.fromkeys(names) if name != self.entity.name]

    @property
    def is_cut(self) -> bool:
        return self.counts["facts"] > MAX_FACTS


def names_of(entity: Entity) -> list[str]:
    return [entity.name, *entity.aliases]


def colour(entity: Entity) -> int:
    """Return the colour that an entity has on every page, 1 to 6."""
    return (entity.merged_into_id or entity.pk) % COLOURS + 1


def relation_of(entity: Entity) -> str:
    """Return "Ana's sister", "hermana de Ana"; empty when it is not known whose."""
    if not entity.relation or not entity.owner:
        return ""
    word = relation_word(entity.relation, get_language() or "en")
    return _("%(owner)s's %(relation)s") % {"owner": entity.owner.name, "relation": word}


def entities_of(space: Space) -> QuerySet[Entity]:
    """Return every entity that there is something to show of."""
    has_rows = Q(mentions__isnull=False) | ~Q(accounts=[])
    ids = rows_in(space, Entity).filter(has_rows).values("pk")
    return rows_in(space, Entity).filter(
        Q(pk__in=ids) | Q(pk__in=rows_in(space, Entity).filter(pk__in=ids).values("merged_into"))
    )


def find(space: Space, words: str, kind: str = "") -> QuerySet[Entity]:
    """Return the entities that have these words in one of their names."""
    rows = entities_of(space).whole()
    if key := key_of(words):
        named = rows_in(space, Entity).annotate(all_names=_ALL_NAMES)
        named = named.filter(substring_filter(key, "all_names"))
        rows = rows.filter(pk__in=named.annotate(top=Coalesce("merged_into", "pk")).values("top"))
    return rows.filter(kind=kind) if kind in KINDS else rows


def people_list(space: Space, *, q: str, kind: str, after: str) -> dict:
    url, kind = space_url("people:index", space), kind if kind in KINDS else ""
    rows = find(space, q, kind).select_related("owner").annotate(facts=_number_of_facts())
    page = part(rows, order=Order("name", str, down=False), after=after)
    for row in page.rows:
        row.colour, row.relation_words = colour(row), relation_of(row)
    total, *numbers = counted(
        entities_of(space).whole(), *(find(space, "", name) for name in KINDS)
    )
    views = [View(_("All"), url, str(total), current=not kind)]
    views += [
        View(label, f"{url}?kind={name}", str(number), current=kind == name)
        for (name, label), number in zip(KINDS.items(), numbers, strict=True)
        if number
    ]
    return {
        "rows": page.rows,
        "more": f"{url}?q={q}&kind={kind}&after={page.after}" if page.after else "",
        "q": q,
        "kind": kind,
        "views": views,
        "is_empty": not total,
    }


def _number_of_facts() -> Coalesce:
    is_about = Q(entity=OuterRef("pk")) | Q(entity__merged_into=OuterRef("pk"))
    live = Mention.objects.filter(is_about, role="about", fact__status="active")
    number = live.order_by().annotate(all=Value(1)).values("all").annotate(n=Count("pk"))
    return Coalesce(Subquery(number.values("n")), Value(0))


def person_page(entity: Entity, *, space: Space, now: datetime, may: bool) -> PersonPage:
    ids = people.group(entity)
    merged = list(rows_in(space, Entity).filter(merged_into=entity).select_related("chat"))
    about = people.facts_of(ids).filter(status__in=people.LINKED)
    named, messages = people.facts_of(ids, "named").live(), _messages_of([entity, *merged])
    about, named, messages = (without_private(rows, space) for rows in (about, named, messages))
    names = ("facts", "named", "said")
    counts = dict(zip(names, counted(about.live(), named, messages), strict=True))
    rows = about.select_related("chat", "message", "superseded_by")
    facts = list(rows.order_by("-pinned", "-confidence", "-pk")[:MAX_FACTS])
    others = find(space, "").exclude(pk=entity.pk).order_by("name", "pk") if may else ()
    return PersonPage(
        entity=entity,
        merged=merged,
        groups=_grouped(facts, now=now),
        rivers=_rivers(facts, now=now),
        named=_once(named.select_related("chat", "message").newest()[:MAX_ROWS]),
        said=list(messages.select_related("chat").order_by("-sent_at", "-pk")[:MAX_ROWS]),
        counts=counts,
        edges=_edges(entity, ids),
        chats=_chats(about.live()),
        replies=_replies(about),
        questions=_questions(space, entity, ids),
        to_check=list(lasting.due(space, now=now).filter(pk__in=about.values("pk"))[:MAX_ROWS]),
        others=[
            (row.pk, f"{row.name} ({row.get_kind_display()} {row.pk})")
            for row in others[:MAX_OTHERS]
        ],
    )


def group_of(fact: Fact, *, now: datetime) -> str:
    if fact.status != Fact.Status.ACTIVE or (fact.valid_to and fact.valid_to <= now):
        return "past"
    if fact.occurs_at:
        return "plans" if fact.occurs_at > now else "events"
    group = BY_CATEGORY.get(fact.category, "who")
    # What others tell about a person is filed as a relationship, too.
    return "who" if group == "people" and not relatives_in(fact.text) else group


def _grouped(facts: list[Fact], *, now: datetime) -> list[tuple[str, str, list[Fact]]]:
    rows: dict[str, list[Fact]] = {key: [] for key in GROUPS}
    for fact in facts:
        rows[group_of(fact, now=now)].append(fact)
    return [(key, str(GROUPS[key]), _once(group)) for key, group in rows.items() if group]


def _once(facts: Iterable[Fact]) -> list[Fact]:
    """Return facts with the same words in several chats once; `others` are the further rows."""
    first: dict[str, Fact] = {}
    for fact in facts:
        fact.others = []
        if first.setdefault(fact.said_key, fact) is not fact:
            first[fact.said_key].others.append(fact)
    return list(first.values())


def _rivers(facts: list[Fact], *, now: datetime) -> list[River]:
    """Return chains of beliefs that replaced each other, the last changed first."""
    before: dict[int, Fact] = {}
    for fact in sorted(facts, key=lambda fact: fact.pk):
        if fact.status == Fact.Status.SUPERSEDED and fact.superseded_by:
            before[fact.superseded_by.pk] = fact
    ends = [fact for fact in facts if fact.pk in before and fact.superseded_by_id is None]
    rivers = [_river(end, before, now=now) for end in ends]
    # What was merged into an older fact was not replaced: nobody changed their mind.
    rivers = [river for river in rivers if river.facts[0].began < river.facts[-1].began]
    return sorted(rivers, key=lambda river: river.facts[-1].began, reverse=True)[:MAX_RIVERS]


def _river(last: Fact, before: dict[int, Fact], *, now: datetime) -> River:
    chain = [last]
    while (earlier := before.get(chain[0].pk)) and earlier not in chain:
        chain.insert(0, earlier)
    for fact, after in zip(chain, [*chain[1:], None], strict=True):
        fact.began = start_of(fact)
        fact.ended = (fact.valid_to or start_of(after)) if after else None
    spans = [(fact.began, fact.ended or now, fact.confidence) for fact in chain]
    return River(chain, charts.river(spans, width=740, height=60))


def start_of(fact: Fact) -> datetime:
    return fact.valid_from or fact.created_at


def _messages_of(rows: Iterable[Entity]) -> QuerySet[Message]:
    """Return what they said: by their accounts, or by their name where a chat has none."""
    is_theirs, space = Q(pk=None), None
    for row in rows:
        space = row.space_id
        for account in row.accounts:
            channel, _colon, number = account.partition(":")
            is_theirs |= Q(chat__channel=channel, author_id=number)
        if row.chat_id and not row.accounts:
            is_theirs |= Q(chat=row.chat_id, author_id="", author__in=names_of(row))
    return Message.objects.filter(is_theirs, space=space, role=Message.Role.USER)


def _edges(entity: Entity, ids: list[int]) -> list[Edge]:
    """Return whose they are, who is theirs, and who is often named with them."""
    language = get_language() or "en"
    rows = rows_in(entity.space, Entity).select_related("owner", "merged_into")
    kin = [row for row in rows.filter(Q(owner__in=ids) | Q(pk__in=ids)) if row.relation]
    words: dict[Entity, str] = {}
    for row in kin:
        other, word = row, relation_word(row.relation, language)
        if row.owner_id not in ids:
            other, word = row.owner, _("%(word)s of") % {"word": word}
        if other and people.root(other).pk not in ids:
            words.setdefault(people.root(other), word)
    together = {"mentions__fact__mentions__entity__in": ids, "mentions__fact__status": "active"}
    near = rows.filter(mentions__role__in=["about", "named"], **together).exclude(pk__in=ids)
    for row in near.annotate(times=Count("mentions")).order_by("-times", "pk")[:MAX_EDGES]:
        words.setdefault(people.root(row), _("named together"))
    shown = list(words.items())[:MAX_EDGES]
    for row, _word in shown:
        row.colour = colour(row)
    return [Edge(row, word, 20 + 40 * n) for n, (row, word) in enumerate(shown)]


def in_graph(space: Space) -> QuerySet:
    """Return the entities that may be in the graph of the space, to be counted."""
    return _linked(space).values("top").distinct()


def graph_height(nodes: int) -> int:
    """Return the height of the graph; 0 without at least two nodes."""
    return 30 * min(nodes, MAX_NODES) + 8 if nodes > 1 else 0


def _linked(space: Space) -> QuerySet[Mention]:
    newest = rows_in(space, Fact).live().newest()[:MAX_GRAPH_FACTS].values("pk")
    linked = Mention.objects.filter(fact__in=newest, entity__isnull=False).exclude(role="speaker")
    return linked.annotate(top=Coalesce("entity__merged_into", "entity"))


def graph(space: Space) -> dict | None:
    """Return those of whom most is known, with who is whose and who is named with whom."""
    by_fact: dict[int, set[int]] = defaultdict(set)
    for fact, pk in _linked(space).values_list("fact", "top"):
        by_fact[fact].add(pk)
    most = Counter(pk for pks in by_fact.values() for pk in pks).most_common(MAX_NODES)
    entities = rows_in(space, Entity).select_related("owner").in_bulk([pk for pk, _n in most])
    rows = {pk: entities[pk] for pk, _n in most if pk in entities}
    pairs = (combinations(sorted(pks & rows.keys()), 2) for pks in by_fact.values())
    ties = Counter(pair for some in pairs for pair in some)
    return _layout(rows, ties, _kin(rows)) if len(rows) > 1 else None


def _kin(rows: dict[int, Entity]) -> dict[tuple[int, int], str]:
    owned = [row for row in rows.values() if row.owner and row.relation]
    pairs = {row: (row.pk, row.owner.merged_into_id or row.owner_id) for row in owned}
    return {(min(pair), max(pair)): row.relation for row, pair in pairs.items() if pair[1] in rows}


def _near_each_other(pks: list[int], ties: Counter) -> list[int]:
    """Put next to each other those with the most ties, so that lines stay short."""
    left, order = list(pks[1:]), pks[:1]
    while left:
        last = order[-1]
        closest = max(left, key=lambda pk: ties[min(pk, last), max(pk, last)])
        left.remove(closest)
        order.append(closest)
    return order


def _layout(rows: dict[int, Entity], ties: Counter, kin: dict[tuple[int, int], str]) -> dict:
    language, lines = get_language() or "en", []
    nodes = [rows[pk] for pk in _near_each_other(list(rows), ties + Counter(list(kin)))]
    for place, row in enumerate(nodes):
        row.colour, row.y, row.name_y = colour(row), 18 + 30 * place, 23 + 30 * place
    for pair in [*kin, *(pair for pair, _n in ties.most_common() if pair not in kin)][:MAX_LINES]:
        upper, lower = sorted((rows[pk] for pk in pair), key=lambda row: row.y)
        word = relation_word(kin[pair], language) if pair in kin else _("named together")
        names = f"{upper.name} – {lower.name}: {word}"
        lines.append({"names": names, "is_kin": pair in kin, "path": _curve(upper.y, lower.y)})
    return {"nodes": nodes, "lines": lines, "height": graph_height(len(nodes))}


def _curve(top: int, bottom: int) -> str:
    x = 148 - min(130, 24 + bottom - top)
    return f"M138 {top}C{x} {top} {x} {bottom} 138 {bottom}"


def _chats(facts: QuerySet[Fact]) -> list[dict]:
    rows = facts.order_by().values("chat", "chat__title", "chat__key")
    return list(rows.annotate(n=Count("pk")).order_by("-n", "chat")[:MAX_ROWS])


def _replies(facts: QuerySet[Fact]) -> list[dict]:
    items = RecallItem.objects.filter(fact__in=facts.values("pk"), injected=True)
    rows = items.exclude(recall__reply=None).values("recall", "recall__query")
    return list(rows.annotate(n=Count("pk"), at=Max("recall__at")).order_by("-at")[:MAX_ROWS])


def _questions(space: Space, entity: Entity, ids: list[int]) -> list[Proposal]:
    is_about = Q(after__subject=entity.name)
    for pk in ids:
        is_about |= Q(targets__contains=[{"type": "entity", "id": pk}])
    return list(
        rows_in(space, Proposal).filter(is_about, status="pending").order_by("-pk")[:MAX_ROWS]
    )


def as_markdown(page: PersonPage) -> str:
    """Return everything known, for people and for other programs."""
    lines = [f"# {page.entity.name}", ""]
    if page.aliases:
        lines += [_("Also: %(names)s") % {"names": ", ".join(page.aliases)}, ""]
    for _key, title, facts in page.groups:
        lines += [f"## {title}", "", *(_line(fact) for fact in facts), ""]
    return "\n".join(lines)


def _line(fact: Fact) -> str:
    day = date_format(localtime(fact.created_at), "SHORT_DATE_FORMAT")
    quote = f" — “{fact.quote}”" if fact.quote and fact.quote != fact.text else ""
    return f"- {fact.text} ({day}){quote}".replace("\n", " ")
