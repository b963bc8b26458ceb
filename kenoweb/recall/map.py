"""The memory map: facts and episodes as islands of what was said alike, each with its words."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, QuerySet
from django.http import HttpRequest, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pgvector.django import MaxInnerProduct

from kenoweb.auth.access import in_space, rows_in
from kenoweb.recall import score_rows
from kenoweb.ui.charts import n
from kenoweb.ui.formatting import dated, number
from memory.models import Embedding, Episode, Fact, Space
from memory.text.normalise import STOP_WORDS, short, words
from memory.vectors import store as embeddings

# As many dots as stay smooth and can be told apart.
MAX_POINTS = 5000
WIDTH, HEIGHT, EDGE = 1200, 680, 46
# The layout rests on the oldest memories, twice as many whenever there are twice as many: what is
# new finds its place and moves nothing.
ANCHORS, MOST_ISLANDS, AN_ISLAND = 512, 8, 6
DIRECTIONS, ROUNDS = 6, 12
CACHE_SECONDS, MANY, LOOK_AGAIN = 600, 10_000, 120
SHORT, ROWS, WEEKS = 160, 50, 26
LABELS, LABEL = 12, 30
# So many are tried at most, and so far a dot reaches.
TRIED, DOT = 400, 4
# The height of letters, on the map of 1200: of a dot, of an island, and of an island on a phone.
# As in static/css/recall.css. A letter is at most about so wide for its height.
NAME, ISLE, ISLE_ON_PHONE, LETTER = 12, 14, 34, 0.62
TONES = 5
OTHERS = "p0"
KINDS = {
    "fact": gettext_lazy("fact"),
    "concept": gettext_lazy("concept"),
    "procedure": gettext_lazy("procedure or lesson"),
    "lesson": gettext_lazy("procedure or lesson"),
    "lore": gettext_lazy("lore"),
    "episode": gettext_lazy("episode"),
}
AGES = [
    (gettext_lazy("last 7 days"), timedelta(days=7)),
    (gettext_lazy("last 30 days"), timedelta(days=30)),
    (gettext_lazy("last 90 days"), timedelta(days=90)),
    (gettext_lazy("last year"), timedelta(days=365)),
    (gettext_lazy("older"), timedelta(days=365_000)),
]
COLOURS = {
    "person": gettext_lazy("by person"),
    "chat": gettext_lazy("by chat"),
    "kind": gettext_lazy("by kind"),
    "age": gettext_lazy("by age"),
}
SHOWN = {
    "": gettext_lazy("facts and episodes"),
    "fact": gettext_lazy("facts"),
    "episode": gettext_lazy("episodes"),
}
_STOPS = frozenset().union(*STOP_WORDS.values())


@dataclass(frozen=True)
class Dot:
    """A memory at its place; `group` is what it is coloured by, `tone` its colour."""

    kind: str
    owner: int
    at: datetime
    x: float
    y: float
    island: int = 0
    text: str = ""
    lang: str = ""
    what: str = "fact"
    person: str = ""
    chat: str = ""
    used: int = 0
    tone: str = OTHERS

    @property
    def size(self) -> int:
        return 3 if self.used > 9 else 2 if self.used > 2 else 1


@dataclass(frozen=True)
class Island:
    name: str
    count: int
    hull: str
    x: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Label:
    """Words on the map, and the room they take; `count` stands behind them."""

    x: float
    y: float
    anchor: str
    words: str
    size: int
    count: str = ""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        wide = len(self.words + self.count) * self.size * LETTER
        left = self.x - wide * {"start": 0, "middle": 0.5, "end": 1}[self.anchor]
        return left, self.y - self.size, left + wide, self.y + self.size * 0.3

    def covers(self, other: "Label") -> bool:
        mine, theirs = self.box, other.box
        beside = mine[2] <= theirs[0] or theirs[2] <= mine[0]
        return not (beside or mine[3] <= theirs[1] or theirs[3] <= mine[1])


@dataclass(frozen=True)
class Frame:
    """What the layout rests on: the middle of every island, and the directions it is drawn by."""

    centres: np.ndarray
    directions: np.ndarray
    # Of each island: its slot on the map, and of its two directions each which one it is, its
    # middle along it, and how far it spreads.
    slots: list[tuple[float, float, float, float]]
    bends: list[list[tuple[int, float, float]]]


@dataclass
class Drawn:
    dots: list[Dot] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)


def page(space: Space, *, colour: str, show: str, begin: int, now: datetime) -> dict:
    drawn = layout(space)
    found, legend = coloured(chosen(drawn, show), colour=colour, now=now)
    drawn_islands = islands(found, drawn.names)
    named = isle_labels(drawn_islands, size=ISLE)
    return {
        "space": space,
        "clouds": clouds(found),
        "legend": legend,
        "islands": drawn_islands,
        "isle_labels": named,
        "phone_labels": isle_labels(drawn_islands, size=ISLE_ON_PHONE),
        "labels": dot_labels(found, named),
        "count": len(found),
        "rows": told(space, found[begin : begin + ROWS]),
        "next": begin + ROWS if begin + ROWS < len(found) else 0,
        "colour": colour,
        "show": show,
        "colours": COLOURS.items(),
        "shown": SHOWN.items(),
        "most": MAX_POINTS,
        "weeks": weeks(found, now=now),
        "size": f"0 0 {WIDTH} {HEIGHT}",
    }


def chosen(drawn: Drawn, show: str) -> list[Dot]:
    return [dot for dot in drawn.dots if not show or dot.kind == show]


def layout(space: Space) -> Drawn:
    """Every dot, the newest first; laid out again when memory has grown or shrunk."""
    embedder = embeddings.active()
    if embedder is None:
        return Drawn()
    rows = Embedding.objects.filter(
        space=space, model=embedder.name, live=True, kind__in=["fact", "episode"]
    )
    key = f"map2:{space.pk}:{embedder.name[-40:]}".replace(" ", "_")
    state = _state(rows, key=f"{key}:state")
    return cache.get_or_set(f"{key}:{state}", lambda: _lay_out(space, rows), CACHE_SECONDS)


def _state(rows: QuerySet, *, key: str) -> str:
    """What changes when memory grows or shrinks; of a large one it is looked up now and then."""
    if kept := cache.get(key):
        return kept
    found = rows.aggregate(count=Count("pk"), last=Max("pk"))
    state = f"{found['count']}:{found['last']}"
    if found["count"] >= MANY:
        cache.set(key, state, LOOK_AGAIN)
    return state


def _lay_out(space: Space, rows: QuerySet) -> Drawn:
    count = min(rows.count(), ANCHORS)
    if count < 3:
        return Drawn()
    oldest = rows.order_by("unit_id").values_list("vector", flat=True)
    anchors = list(oldest[: 2 ** (count.bit_length() - 1)])
    drawn_by = frame(np.array([np.asarray(one, dtype=np.float32) for one in anchors]))
    # The database multiplies: thousands of vectors never leave it.
    against = [*drawn_by.centres, *drawn_by.directions]
    products = {f"p{i}": MaxInnerProduct("vector", one) for i, one in enumerate(against)}
    columns = ("unit__kind", "unit__owner_id", "unit__at", *products)
    newest = rows.order_by("-unit_id").annotate(**products).values_list(*columns)[:MAX_POINTS]
    found = list(newest)
    places = place(drawn_by, -np.array([row[3:] for row in found], dtype=np.float32))
    dots = [
        Dot(kind, owner, at, round(float(x), 1), round(float(y), 1), island=int(island))
        for (kind, owner, at, *_products), (x, y, island) in zip(found, places, strict=True)
    ]
    dots = _with_words(space, dots)
    return Drawn(dots, names_of(dots))


def frame(anchors: np.ndarray) -> Frame:
    """Find the islands among the anchors, and a slot of the map for each."""
    middle = anchors.mean(axis=0)
    _values, vectors = np.linalg.eigh((anchors - middle).T @ (anchors - middle))
    # The last ones are the strongest. A direction has no sign of its own: the same one every time.
    directions = vectors[:, ::-1][:, :DIRECTIONS].T
    strongest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[range(len(directions)), strongest])
    directions = directions * np.where(signs == 0, 1, signs)[:, None]
    centres, owner = _islands(anchors, max(1, min(MOST_ISLANDS, len(anchors) // AN_ISLAND)))
    flat = anchors @ directions.T
    bends = []
    for island in range(len(centres)):
        some = flat[owner == island] if (owner == island).any() else flat
        wide = np.argsort(-some.std(axis=0), kind="stable")[:2]
        axes = [(int(one), some[:, one]) for one in (*wide, *wide)[:2]]
        bends.append([(one, float(at.mean()), float(max(at.std(), 1e-3))) for one, at in axes])
    slots = _slots(centres @ directions[:2].T)
    return Frame(centres, directions, slots, bends)


def _islands(anchors: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Group what is alike, without chance: begin with those that are farthest from each other."""
    picked = [0]
    while len(picked) < count:
        near = (anchors @ anchors[picked].T).max(axis=1)
        picked.append(int(near.argmin()))
    centres = anchors[picked].copy()
    for _round in range(ROUNDS):
        owner = (anchors @ centres.T).argmax(axis=1)
        for island in range(count):
            if (owner == island).any():
                mean = anchors[owner == island].mean(axis=0)
                centres[island] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return centres, (anchors @ centres.T).argmax(axis=1)


def _slots(flat: np.ndarray) -> list[tuple[float, float, float, float]]:
    """(x, y, half width, half height) of each island: neighbours by meaning are neighbours here."""
    count = len(flat)
    columns = max(1, round((count * 1.6) ** 0.5))
    order = sorted(range(count), key=lambda one: (float(flat[one, 0]), one))
    slots: dict[int, tuple[float, float, float, float]] = {}
    for column, some in enumerate(np.array_split(order, min(columns, count))):
        down = sorted((int(one) for one in some), key=lambda one: (float(flat[one, 1]), one))
        wide, high = WIDTH / min(columns, count), HEIGHT / len(down)
        for row, one in enumerate(down):
            x, y = (column + 0.5) * wide, (row + 0.5) * high + (16 if column % 2 else -4)
            slots[one] = (x, y, wide / 2 - EDGE, high / 2 - EDGE)
    return [slots[one] for one in range(count)]


def place(drawn_by: Frame, products: np.ndarray) -> list[tuple[float, float, int]]:
    """(x, y, island) of each memory, from its products with the centres and the directions."""
    count = len(drawn_by.centres)
    found = []
    for row, island in zip(products, products[:, :count].argmax(axis=1), strict=True):
        x, y, wide, high = drawn_by.slots[island]
        far = [
            np.tanh((row[count + axis] - middle) / (1.6 * spread))
            for axis, middle, spread in drawn_by.bends[island]
        ]
        # A square of two bends becomes an ellipse, so that islands are round.
        found.append(
            (
                x + wide * far[0] * (1 - far[1] ** 2 / 2) ** 0.5,
                y + high * far[1] * (1 - far[0] ** 2 / 2) ** 0.5,
                int(island),
            )
        )
    return found


def _with_words(space: Space, dots: list[Dot]) -> list[Dot]:
    """The dots with what is known of them; without words where a reader may not see them."""
    facts = rows_in(space, Fact).filter(pk__in=[dot.owner for dot in dots if dot.kind == "fact"])
    columns = ("pk", "text", "language", "kind", "subject", "chat__title", "use_count")
    known = {("fact", row[0]): row[1:] for row in facts.values_list(*columns, "created_at")}
    ids = [dot.owner for dot in dots if dot.kind == "episode"]
    episodes = rows_in(space, Episode).filter(pk__in=ids)
    columns = ("pk", "title", "body", "language", "chat__title", "started_at")
    for pk, title, body, language, chat, at in episodes.values_list(*columns):
        known["episode", pk] = ((title or body), language, "episode", "", chat, 0, at)
    found = [
        replace(
            dot,
            text=text[:SHORT],
            lang=language,
            what=what,
            person="" if subject == Fact.LORE else subject,
            chat=chat or "",
            used=used,
            # When it was learned, not when what it tells of happens.
            at=at,
        )
        for dot in dots
        if (row := known.get((dot.kind, dot.owner)))
        for text, language, what, subject, chat, used, at in [row]
    ]
    return sorted(found, key=lambda dot: dot.at, reverse=True)


def names_of(dots: list[Dot]) -> dict[int, str]:
    """The two words of its language that say most about each island: seldom said elsewhere."""
    here: dict[int, Counter] = {}
    everywhere: Counter = Counter()
    spoken = _languages(dots)
    for dot in dots:
        bare = (word.removesuffix("'s") for word in words(dot.text))
        said = {word for word in bare if len(word) > 3 and word not in _STOPS}
        mine = here.setdefault(dot.island, Counter())
        if dot.lang in ("", spoken[dot.island]):
            mine.update(said)
        everywhere.update(said)
    return {
        island: ", ".join(capfirst(word) for word in _telling(counts, everywhere))
        for island, counts in here.items()
    }


def _languages(dots: list[Dot]) -> dict[int, str]:
    """What is spoken most on each island."""
    spoken: dict[int, Counter] = {}
    for dot in dots:
        spoken.setdefault(dot.island, Counter())[dot.lang] += bool(dot.lang)
    return {island: counts.most_common(1)[0][0] for island, counts in spoken.items()}


def _telling(counts: Counter, everywhere: Counter) -> list[str]:
    weighed = {word: times * times / everywhere[word] for word, times in counts.items()}
    return sorted(weighed, key=lambda word: (-weighed[word], word))[:2]


def coloured(found: list[Dot], *, colour: str, now: datetime) -> tuple[list[Dot], list[tuple]]:
    """The dots in their colours, and the legend: (tone, name, how many), the most first."""
    groups = [_group(dot, colour=colour, now=now) for dot in found]
    counts = Counter(group for group in groups if group)
    most = counts.most_common(TONES)
    if colour == "age":
        most = [(str(name), counts[str(name)]) for name, _span in AGES if counts[str(name)]]
    tones = {name: f"p{place}" for place, (name, _count) in enumerate(most, 1)}
    dots = [
        replace(dot, tone=tones.get(group, OTHERS))
        for dot, group in zip(found, groups, strict=True)
    ]
    legend = [(tones[name], name, count) for name, count in most]
    if rest := len(found) - sum(count for _name, count in most):
        legend.append((OTHERS, _("others"), rest))
    return dots, legend


def _group(dot: Dot, *, colour: str, now: datetime) -> str:
    if colour == "age":
        return str(next(name for name, span in AGES if now - dot.at < span))
    if colour == "kind":
        return str(KINDS.get(dot.what, KINDS["fact"]))
    return dot.person if colour == "person" else dot.chat or _("Everywhere")


def clouds(found: list[Dot]) -> list[tuple[str, int, str]]:
    """(tone, size, path): one path each, so that thousands of dots are few shapes."""
    groups: dict[tuple[str, int], list[str]] = {}
    for dot in found:
        groups.setdefault((dot.tone, dot.size), []).append(f"M{n(dot.x)} {n(dot.y)}h0")
    return [(tone, size, "".join(some)) for (tone, size), some in sorted(groups.items())]


def islands(found: list[Dot], names: dict[int, str]) -> list[Island]:
    groups: dict[int, list[Dot]] = {}
    for dot in found:
        groups.setdefault(dot.island, []).append(dot)
    return [
        Island(
            names.get(island, ""),
            len(some),
            _hull([(dot.x, dot.y) for dot in some]),
            sum(dot.x for dot in some) / len(some),
            min(dot.y for dot in some),
            max(dot.y for dot in some),
        )
        for island, some in sorted(groups.items())
    ]


def _hull(points: list[tuple[float, float]]) -> str:
    """The line around the points; its round joins make it soft."""
    spots = sorted(set(points))
    around = [*_half(spots), *_half(spots[::-1])] or spots
    return "M" + "L".join(f"{n(x)} {n(y)}" for x, y in around) + "Z"


def _half(spots: list[tuple[float, float]]) -> list[tuple[float, float]]:
    kept: list[tuple[float, float]] = []
    for spot in spots:
        while len(kept) > 1 and _turn(kept[-2], kept[-1], spot) <= 0:
            kept.pop()
        kept.append(spot)
    return kept[:-1]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def isle_labels(found: list[Island], *, size: int) -> list[Label]:
    """The names of the islands, the largest first, as far as there is room.

    First the first word of each, above or below its island; then the whole name where it fits.
    """
    placed: dict[int, Label] = {}
    by_size = sorted(range(len(found)), key=lambda place: (-found[place].count, place))
    for whole in (False, True):
        for place in by_size:
            one = found[place]
            name = one.name if whole else one.name.partition(",")[0]
            tries = [
                _within(Label(one.x, y, "middle", name, size, f" {number(one.count)}"))
                for y in (max(size, one.top - 30), min(HEIGHT - size / 2, one.bottom + 30 + size))
            ]
            others = [label for other, label in placed.items() if other != place]
            for label in _first_free(tries, others):
                placed[place] = label
    return list(placed.values())


def dot_labels(found: list[Dot], placed: list[Label]) -> list[Label]:
    """The words of the dots used most, beside them, where nothing is written and no dot lies."""
    told: list[Label] = []
    spots = np.array([(dot.x, dot.y) for dot in found]).reshape(-1, 2)
    facts = (dot for dot in found if dot.kind == "fact")
    for dot in sorted(facts, key=lambda dot: (-dot.used, -dot.owner))[:TRIED]:
        tries = [
            Label(dot.x + aside, dot.y + 4, anchor, short(dot.text, LABEL), NAME)
            for aside, anchor in ((9, "start"), (-9, "end"))
        ]
        clear = [one for one in tries if one == _within(one) and not _lies_on(one, spots)]
        told += _first_free(clear, [*placed, *told])
        if len(told) == LABELS:
            break
    return told


def _lies_on(label: Label, spots: np.ndarray) -> bool:
    left, top, right, bottom = label.box
    x, y = spots.T
    return bool(((x > left - DOT) & (x < right + DOT) & (y > top - DOT) & (y < bottom + DOT)).any())


def _within(label: Label) -> Label:
    """The label, moved sideways as far as it would be cut off."""
    left, _top, right, _bottom = label.box
    return replace(label, x=label.x - min(0.0, left) - max(0.0, right - WIDTH))


def _first_free(tries: list[Label], placed: list[Label]) -> list[Label]:
    return [one for one in tries if not any(one.covers(other) for other in placed)][:1]


def weeks(found: list[Dot], *, now: datetime) -> list[tuple[str, int]]:
    """How many memories each of the last weeks brought, the oldest first."""
    ages = Counter(min(WEEKS - 1, (now - dot.at).days // 7) for dot in found)
    last = max(ages, default=0)
    days = [(now - timedelta(weeks=week)).date() for week in range(last, -1, -1)]
    return [(dated(day, _("j M")), ages[last - place]) for place, day in enumerate(days)]


def told(space: Space, found: list[Dot]) -> list[dict]:
    """The dots as rows of the table, and as what the script says about them."""
    return [
        {
            "dot": dot,
            "label": score_rows.label(dot.kind, dot.owner, at=dot.at),
            "url": score_rows.page(space, dot.kind, dot.owner),
            "what": str(KINDS.get(dot.what, KINDS["fact"])),
        }
        for dot in found
    ]


@in_space(role="viewer")
def index(request: HttpRequest, space: Space):
    said = request.GET.get("from", "")
    begin = int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0
    asked = {"colour": _chosen(request, "colour", COLOURS, "person"), "show": _show(request)}
    context = page(space, **asked, begin=begin, now=timezone.now())
    context["more"] = _more(request, context["next"]) if context["next"] else ""
    return render(request, "map/index.html", context)


@in_space(role="viewer")
def points(request: HttpRequest, space: Space):
    """Where each dot is, what it says, its colour, size and day, for the script of the map."""
    colour = _chosen(request, "colour", COLOURS, "person")
    found, _legend = coloured(
        chosen(layout(space), _show(request)), colour=colour, now=timezone.now()
    )
    return JsonResponse(
        {
            "points": [
                [
                    (dot := one["dot"]).x,
                    dot.y,
                    one["label"],
                    dot.text,
                    one["url"],
                    dot.tone,
                    dot.size,
                    int(dot.at.timestamp()),
                ]
                for one in told(space, found)
            ]
        }
    )


def _more(request: HttpRequest, begin: int) -> str:
    said = request.GET.copy()
    said["from"] = str(begin)
    return f"{request.path}?{said.urlencode()}"


def _chosen(request: HttpRequest, name: str, choices: dict, default: str) -> str:
    said = request.GET.get(name, "")
    return said if said in choices else default


def _show(request: HttpRequest) -> str:
    return _chosen(request, "show", SHOWN, "")
