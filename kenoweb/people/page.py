"""What the pages of people and things show: the list, and all that is known of one of them."""

from collections import Counter
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
from kenoweb.ui.list_page import Order, Part, View, counted, part
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import substring_filter
from memory import people
from memory.facts import lasting
from memory.models import Entity, Fact, Mention, Message, RecallItem, Space
from memory.models.entity import key_of
from memory.text.kinship import relation_word, relatives_in
from sleep.models import Proposal

COLOURS = 6
MAX_FACTS, MAX_SAID, MAX_NEAR, MAX_OTHERS = 300, 8, 7, 300
MAX_RIVERS = 4
# The graph of a space: so many of whom most is known, by the newest facts.
MAX_NODES, MAX_LINES, NEWEST = 12, 40, 2000
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
class PeopleList:
    rows: list[Entity]
    more: str
    q: str
    kind: str
    views: list[View]
    is_empty: bool


@dataclass(frozen=True)
class Edge:
    """One line of the graph, drawn from the person in front to somebody beside them."""

    entity: Entity
    word: str
    y: int

    @property
    def path(self) -> str:
        return f"M20 32V{self.y - 6}q0 6 6 6H150" if self.y > 20 else "M40 20H150"


@dataclass(frozen=True)
class Line:
    """One line of the graph of a space, between two of its rows."""

    names: str
    is_kin: bool
    top: int
    bottom: int

    @property
    def path(self) -> str:
        x = 148 - min(130, 24 + self.bottom - self.top)
        return f"M138 {self.top}C{x} {self.top} {x} {self.bottom} 138 {self.bottom}"


@dataclass(frozen=True)
class Graph:
    """Of whom most is known, below each other, and how they are tied."""

    nodes: list[Entity]
    lines: list[Line]
    height: int


@dataclass(frozen=True)
class River:
    """What was believed of one thing over time, the oldest first, and its picture."""

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
    # What is known of them and was not checked for too long.
    to_check: list[Fact]
    others: list[tuple[int, str]] = field(default_factory=list)

    @property
    def height(self) -> int:
        return max((edge.y for edge in self.edges), default=0) + 24

    @property
    def aliases(self) -> list[str]:
        names = [*self.entity.aliases, *(one for row in self.merged for one in names_of(row))]
        return [one for one in dict.fromkeys(names) if one != self.entity.name]

    @property
    def is_cut(self) -> bool:
        return self.counts["facts"] > MAX_FACTS


def names_of(entity: Entity) -> list[str]:
    return [entity.name, *entity.aliases]


def colour(entity: Entity) -> int:
    """Return the colour that somebody keeps on every page, 1 to 6."""
    return (entity.merged_into_id or entity.pk) % COLOURS + 1


def relation_of(entity: Entity) -> str:
    """ "Ana's sister", "hermana de Ana"; empty when it is not known whose."""
    if not entity.relation or not entity.owner:
        return ""
    word = relation_word(entity.relation, get_language() or "en")
    return _("%(owner)s's %(relation)s") % {"owner": entity.owner.name, "relation": word}


def known(space: Space) -> QuerySet[Entity]:
    """Everybody of whom there is something to show."""
    seen = Q(mentions__isnull=False) | ~Q(accounts=[])
    ids = rows_in(space, Entity).filter(seen).values("pk")
    return rows_in(space, Entity).filter(
        Q(pk__in=ids) | Q(pk__in=rows_in(space, Entity).filter(pk__in=ids).values("merged_into"))
    )


def find(space: Space, words: str, kind: str = "") -> QuerySet[Entity]:
    """Everybody who has these words in one of their names."""
    rows = known(space).whole()
    if key := key_of(words):
        named = rows_in(space, Entity).annotate(all_names=_ALL_NAMES)
        named = named.filter(substring_filter(key, "all_names"))
        rows = rows.filter(pk__in=named.annotate(top=Coalesce("merged_into", "pk")).values("top"))
    return rows.filter(kind=kind) if kind in KINDS else rows


def people_list(space: Space, *, q: str, kind: str, after: str) -> PeopleList:
    url, kind = space_url("people:index", space), kind if kind in KINDS else ""
    rows = find(space, q, kind).select_related("owner").annotate(facts=_number_of_facts())
    found: Part = part(rows, order=Order("name", str, down=False), after=after)
    for row in found.rows:
        row.colour, row.relation_words = colour(row), relation_of(row)
    numbers = counted(known(space).whole(), *(find(space, "", one) for one in KINDS))
    views = [View(_("All"), url, str(numbers[0]), current=not kind)]
    views += [
        View(label, f"{url}?kind={one}", str(number), current=kind == one)
        for (one, label), number in zip(KINDS.items(), numbers[1:], strict=True)
        if number
    ]
    query = f"?q={q}&kind={kind}&after={found.after}"
    more = f"{url}{query}" if found.after else ""
    return PeopleList(found.rows, more, q, kind, views, not numbers[0])


def _number_of_facts() -> Coalesce:
    mine = Q(entity=OuterRef("pk")) | Q(entity__merged_into=OuterRef("pk"))
    live = Mention.objects.filter(mine, role="about", fact__status="active")
    number = live.order_by().annotate(all=Value(1)).values("all").annotate(n=Count("pk"))
    return Coalesce(Subquery(number.values("n")), Value(0))


def person_page(entity: Entity, *, space: Space, now: datetime, may: bool) -> PersonPage:
    ids = people.group(entity)
    merged = list(rows_in(space, Entity).filter(merged_into=entity).select_related("chat"))
    about = people.facts_of(ids).filter(status__in=people.LINKED)
    named, spoken = people.facts_of(ids, "named").live(), _spoken([entity, *merged])
    about, named, spoken = (without_private(rows, space) for rows in (about, named, spoken))
    names = ("facts", "named", "said")
    counts = dict(zip(names, counted(about.live(), named, spoken), strict=True))
    rows = about.select_related("chat", "message", "superseded_by")
    facts = list(rows.order_by("-pinned", "-confidence", "-pk")[:MAX_FACTS])
    others = find(space, "").exclude(pk=entity.pk).order_by("name", "pk") if may else ()
    return PersonPage(
        entity=entity,
        merged=merged,
        groups=_grouped(facts, now=now),
        rivers=_rivers(facts, now=now),
        named=_once(named.select_related("chat", "message").newest()[:MAX_SAID]),
        said=list(spoken.select_related("chat").order_by("-sent_at", "-pk")[:MAX_SAID]),
        counts=counts,
        edges=_edges(entity, ids),
        chats=_chats(about.live()),
        replies=_replies(about),
        questions=_questions(space, entity, ids),
        to_check=list(lasting.due(space, now=now).filter(pk__in=about.values("pk"))[:MAX_SAID]),
        others=[(row.pk, _told_apart(row)) for row in others[:MAX_OTHERS]] if may else [],
    )


def _told_apart(row: Entity) -> str:
    return f"{row.name} ({row.get_kind_display()} {row.pk})"


def group_of(fact: Fact, *, now: datetime) -> str:
    if fact.status != Fact.Status.ACTIVE or (fact.valid_to and fact.valid_to <= now):
        return "past"
    if fact.occurs_at:
        return "plans" if fact.occurs_at > now else "events"
    group = BY_CATEGORY.get(fact.category, "who")
    # What others tell about somebody is filed as a relationship, too.
    return "who" if group == "people" and not relatives_in(fact.text) else group


def _grouped(facts: list[Fact], *, now: datetime) -> list[tuple[str, str, list[Fact]]]:
    found: dict[str, list[Fact]] = {key: [] for key in GROUPS}
    for fact in facts:
        found[group_of(fact, now=now)].append(fact)
    return [(key, str(GROUPS[key]), _once(rows)) for key, rows in found.items() if rows]


def _once(facts: Iterable[Fact]) -> list[Fact]:
    """What several chats say in the same words stands once; `others` are the further rows of it."""
    found: dict[str, Fact] = {}
    for fact in facts:
        fact.others = []
        if (first := found.setdefault(fact.said_key, fact)) is not fact:
            first.others.append(fact)
    return list(found.values())


def _rivers(facts: list[Fact], *, now: datetime) -> list[River]:
    """Beliefs that took each other's place, the last changed first."""
    before: dict[int, Fact] = {}
    for fact in sorted(facts, key=lambda fact: fact.pk):
        if fact.status == Fact.Status.SUPERSEDED and fact.superseded_by:
            before[fact.superseded_by.pk] = fact
    ends = [fact for fact in facts if fact.pk in before and fact.superseded_by_id is None]
    rivers = [_river(end, before, now=now) for end in ends]
    # What was merged into an older fact gave way to nothing: that is no change of mind.
    rivers = [one for one in rivers if one.facts[0].began < one.facts[-1].began]
    return sorted(rivers, key=lambda river: began(river.facts[-1]), reverse=True)[:MAX_RIVERS]


def _river(last: Fact, before: dict[int, Fact], *, now: datetime) -> River:
    chain = [last]
    while (earlier := before.get(chain[0].pk)) and earlier not in chain:
        chain.insert(0, earlier)
    for fact, after in zip(chain, [*chain[1:], None], strict=True):
        fact.began = began(fact)
        fact.ended = (fact.valid_to or began(after)) if after else None
    spans = [(fact.began, fact.ended or now, fact.confidence) for fact in chain]
    return River(chain, charts.river(spans, width=740, height=60))


def began(fact: Fact) -> datetime:
    return fact.valid_from or fact.created_at


def _spoken(rows: Iterable[Entity]) -> QuerySet[Message]:
    """What they said themselves: by their accounts, or by their name where a chat has none."""
    wanted, space = Q(pk=None), None
    for row in rows:
        space = row.space_id
        for account in row.accounts:
            channel, _colon, number = account.partition(":")
            wanted |= Q(chat__channel=channel, author_id=number)
        if row.chat_id and not row.accounts:
            wanted |= Q(chat=row.chat_id, author_id="", author__in=names_of(row))
    return Message.objects.filter(wanted, space=space, role=Message.Role.USER)


def _edges(entity: Entity, ids: list[int]) -> list[Edge]:
    """Who they are to whom: whose they are, who is theirs, and who is often named with them."""
    language = get_language() or "en"
    rows = rows_in(entity.space, Entity).select_related("owner", "merged_into")
    kin = [row for row in rows.filter(Q(owner__in=ids) | Q(pk__in=ids)) if row.relation]
    found: dict[int, tuple[Entity, str]] = {}
    for row in kin:
        other = row if row.owner_id in ids else row.owner
        word = relation_word(row.relation, language)
        if other and people.root(other).pk not in ids:
            said = word if row.owner_id in ids else _("%(word)s of") % {"word": word}
            found.setdefault(people.root(other).pk, (people.root(other), said))
    together = {"mentions__fact__mentions__entity__in": ids, "mentions__fact__status": "active"}
    near = rows.filter(mentions__role__in=["about", "named"], **together).exclude(pk__in=ids)
    for row in near.annotate(times=Count("mentions")).order_by("-times", "pk")[:MAX_NEAR]:
        found.setdefault(people.root(row).pk, (people.root(row), _("named together")))
    shown = list(found.values())[:MAX_NEAR]
    for row, _word in shown:
        row.colour = colour(row)
    return [Edge(row, word, 20 + 40 * n) for n, (row, word) in enumerate(shown)]


def in_graph(space: Space) -> QuerySet:
    """Everybody who may stand in the graph of the space, without drawing it."""
    return _linked(space).values("top").distinct()


def graph_height(nodes: int) -> int:
    """Return the room that the graph of so many takes; nobody alone makes one."""
    return 30 * min(nodes, MAX_NODES) + 8 if nodes > 1 else 0


def _linked(space: Space) -> QuerySet[Mention]:
    newest = rows_in(space, Fact).live().newest()[:NEWEST].values("pk")
    linked = Mention.objects.filter(fact__in=newest, entity__isnull=False).exclude(role="speaker")
    return linked.annotate(top=Coalesce("entity__merged_into", "entity"))


def graph(space: Space) -> Graph | None:
    """Those of whom most is known, with who is whose and who is named with whom."""
    by_fact: dict[int, set[int]] = {}
    for fact, pk in _linked(space).values_list("fact", "top"):
        by_fact.setdefault(fact, set()).add(pk)
    most = Counter(pk for some in by_fact.values() for pk in some).most_common(MAX_NODES)
    found = rows_in(space, Entity).select_related("owner").in_bulk([pk for pk, _n in most])
    rows = {pk: found[pk] for pk, _n in most if pk in found}
    together = (combinations(sorted(some & rows.keys()), 2) for some in by_fact.values())
    ties = Counter(pair for pairs in together for pair in pairs)
    return _drawn(rows, ties, _kin(rows)) if len(rows) > 1 else None


def _kin(rows: dict[int, Entity]) -> dict[tuple[int, int], str]:
    owned = [row for row in rows.values() if row.owner and row.relation]
    pairs = {row: (row.pk, row.owner.merged_into_id or row.owner_id) for row in owned}
    return {(min(pair), max(pair)): row.relation for row, pair in pairs.items() if pair[1] in rows}


def _near_each_other(pks: list[int], ties: Counter) -> list[int]:
    """Whoever is tied most to the last one comes next, so that lines stay short."""
    left, order = list(pks[1:]), pks[:1]
    while left:
        tied = [ties[min(pk, order[-1]), max(pk, order[-1])] for pk in left]
        order.append(left.pop(tied.index(max(tied))))
    return order


def _drawn(rows: dict[int, Entity], ties: Counter, kin: dict[tuple[int, int], str]) -> Graph:
    language, lines = get_language() or "en", []
    nodes = [rows[pk] for pk in _near_each_other(list(rows), ties + Counter(list(kin)))]
    for place, row in enumerate(nodes):
        row.colour, row.y, row.name_y = colour(row), 18 + 30 * place, 23 + 30 * place
    for pair in [*kin, *(pair for pair, _n in ties.most_common() if pair not in kin)][:MAX_LINES]:
        one, other = sorted((rows[pk] for pk in pair), key=lambda row: row.y)
        word = relation_word(kin[pair], language) if pair in kin else _("named together")
        names = f"{one.name} – {other.name}: {word}"
        lines.append(Line(names, pair in kin, one.y, other.y))
    return Graph(nodes, lines, graph_height(len(nodes)))


def _chats(facts: QuerySet[Fact]) -> list[dict]:
    rows = facts.order_by().values("chat", "chat__title", "chat__key")
    return list(rows.annotate(n=Count("pk")).order_by("-n", "chat")[:MAX_SAID])


def _replies(facts: QuerySet[Fact]) -> list[dict]:
    items = RecallItem.objects.filter(fact__in=facts.values("pk"), injected=True)
    rows = items.exclude(recall__reply=None).values("recall", "recall__query")
    return list(rows.annotate(n=Count("pk"), at=Max("recall__at")).order_by("-at")[:MAX_SAID])


def _questions(space: Space, entity: Entity, ids: list[int]) -> list[Proposal]:
    asked = Q(after__subject=entity.name)
    for pk in ids:
        asked |= Q(targets__contains=[{"type": "entity", "id": pk}])
    return list(rows_in(space, Proposal).filter(asked, status="pending").order_by("-pk")[:MAX_SAID])


def as_markdown(page: PersonPage) -> str:
    """All that is known, for people and for other programs."""
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
