"""The memory map: facts and episodes with a similar meaning lie together on named islands."""

from collections import Counter, defaultdict
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
from kenoweb.ui.filters import number_in
from kenoweb.ui.formatting import dated, number
from memory.models import Embedding, Episode, Fact, Space
from memory.text.normalise import STOP_WORDS, short, words
from memory.vectors import store as embeddings

# More dots are slow to draw and cannot be told apart.
MAX_POINTS = 5000
WIDTH, HEIGHT, EDGE = 1200, 680, 46
# The layout rests on the oldest memories, twice as many whenever there are twice as many: what is
# new finds its place and moves nothing.
MAX_ANCHORS = 512
MAX_ISLANDS = 8
MIN_ANCHORS_OF_AN_ISLAND = 6
DIRECTIONS = 6
ROUNDS = 12
CACHE_SECONDS = 600
# In a large memory it is only looked up now and then whether it has grown.
LARGE_MEMORY = 10_000
LARGE_CACHE_SECONDS = 120
MAX_TEXT = 160
ROWS = 50
MAX_WEEKS = 26
MAX_LABELS = 12
MAX_LABEL_LENGTH = 30
MAX_LABEL_TRIES = 400
DOT_RADIUS = 4
# The height of letters on the map of 1200, as in static/css/recall.css: of a dot, of an island, and
# of an island on a phone.
LABEL_SIZE, ISLE, ISLE_ON_PHONE = 12, 14, 34
# How wide a letter is at most, for its height.
LETTER_WIDTH = 0.62
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
    """Words on the map, with a count behind them, and the room that they take."""

    x: float
    y: float
    anchor: str
    words: str
    size: int
    count: str = ""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        wide = len(self.words + self.count) * self.size * LETTER_WIDTH
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
    # The slot of each island on the map: x, y, half width, half height.
    slots: list[tuple[float, float, float, float]]
    # The two axes of each island: which direction, the middle along it, and how far it spreads.
    axes: list[list[tuple[int, float, float]]]


@dataclass
class Layout:
    dots: list[Dot] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)


def page(space: Space, *, colour: str, show: str, begin: int, now: datetime) -> dict:
    laid_out = layout(space)
    dots, legend = coloured(laid_out.dots, colour=colour, show=show, now=now)
    isles = islands(dots, laid_out.names)
    names = isle_labels(isles, size=ISLE)
    return {
        "space": space,
        "clouds": clouds(dots),
        "legend": legend,
        "islands": isles,
        "isle_labels": names,
        "phone_labels": isle_labels(isles, size=ISLE_ON_PHONE),
        "labels": dot_labels(dots, names),
        "count": len(dots),
        "rows": table_rows(space, dots[begin : begin + ROWS]),
        "next": begin + ROWS if begin + ROWS < len(dots) else 0,
        "colour": colour,
        "show": show,
        "colours": COLOURS.items(),
        "shown": SHOWN.items(),
        "most": MAX_POINTS,
        "weeks": weeks(dots, now=now),
        "size": f"0 0 {WIDTH} {HEIGHT}",
    }


def layout(space: Space) -> Layout:
    """Return every dot, the newest first; laid out again when memory has grown or shrunk."""
    embedder = embeddings.active()
    if embedder is None:
        return Layout()
    rows = Embedding.objects.filter(
        space=space, model=embedder.name, live=True, kind__in=["fact", "episode"]
    )
    key = f"map3:{space.pk}:{embedder.name[-40:]}".replace(" ", "_")
    state = _state(rows, key=f"{key}:state")
    return cache.get_or_set(f"{key}:{state}", lambda: _lay_out(space, rows), CACHE_SECONDS)


def _state(rows: QuerySet, *, key: str) -> str:
    """Return what changes when memory grows or shrinks."""
    if cached := cache.get(key):
        return cached
    count, last = rows.aggregate(count=Count("pk"), last=Max("pk")).values()
    state = f"{count}:{last}"
    if count >= LARGE_MEMORY:
        cache.set(key, state, LARGE_CACHE_SECONDS)
    return state


def _lay_out(space: Space, rows: QuerySet) -> Layout:
    count = min(rows.count(), MAX_ANCHORS)
    if count < 3:
        return Layout()
    oldest = rows.order_by("unit_id").values_list("vector", flat=True)
    anchors = list(oldest[: 2 ** (count.bit_length() - 1)])
    base = frame(np.array([np.asarray(vector, dtype=np.float32) for vector in anchors]))
    # The database multiplies: thousands of vectors never leave it.
    vectors = [*base.centres, *base.directions]
    products = {f"p{i}": MaxInnerProduct("vector", vector) for i, vector in enumerate(vectors)}
    columns = ("unit__kind", "unit__owner_id", "unit__at", *products)
    newest = rows.order_by("-unit_id").annotate(**products).values_list(*columns)
    memories = list(newest[:MAX_POINTS])
    places = place(base, -np.array([row[3:] for row in memories], dtype=np.float32))
    dots = [
        Dot(kind, owner, at, round(float(x), 1), round(float(y), 1), island=int(island))
        for (kind, owner, at, *_products), (x, y, island) in zip(memories, places, strict=True)
    ]
    dots = _with_words(space, dots)
    return Layout(dots, names_of(dots))


def frame(anchors: np.ndarray) -> Frame:
    """Find the islands among the anchors, and a slot of the map for each."""
    middle = anchors.mean(axis=0)
    _values, vectors = np.linalg.eigh((anchors - middle).T @ (anchors - middle))
    # The last ones are the strongest. An eigenvector has no sign of its own: fix it.
    directions = vectors[:, ::-1][:, :DIRECTIONS].T
    strongest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[range(len(directions)), strongest])
    directions = directions * np.where(signs == 0, 1, signs)[:, None]
    count = max(1, min(MAX_ISLANDS, len(anchors) // MIN_ANCHORS_OF_AN_ISLAND))
    centres, owner = _islands(anchors, count)
    flat = anchors @ directions.T
    axes = []
    for island in range(len(centres)):
        points = flat[owner == island] if (owner == island).any() else flat
        widest = np.argsort(-points.std(axis=0), kind="stable")[:2]
        along = [(int(axis), points[:, axis]) for axis in (*widest, *widest)[:2]]
        axes.append([(axis, float(at.mean()), float(max(at.std(), 1e-3))) for axis, at in along])
    return Frame(centres, directions, _slots(centres @ directions[:2].T), axes)


def _islands(anchors: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Group similar vectors, without chance: begin with those farthest from each other."""
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
    """Return the slot of each island: neighbours by meaning are neighbours on the map."""
    count = len(flat)
    columns = min(max(1, round((count * 1.6) ** 0.5)), count)
    order = sorted(range(count), key=lambda island: (float(flat[island, 0]), island))
    slots: dict[int, tuple[float, float, float, float]] = {}
    for column, islands in enumerate(np.array_split(order, columns)):
        down = sorted(map(int, islands), key=lambda island: (float(flat[island, 1]), island))
        wide, high = WIDTH / columns, HEIGHT / len(down)
        for row, island in enumerate(down):
            x, y = (column + 0.5) * wide, (row + 0.5) * high + (16 if column % 2 else -4)
            slots[island] = (x, y, wide / 2 - EDGE, high / 2 - EDGE)
    return [slots[island] for island in range(count)]


def place(base: Frame, products: np.ndarray) -> list[tuple[float, float, int]]:
    """Return (x, y, island) of each memory, from its products with centres and directions."""
    count = len(base.centres)
    places = []
    for row, island in zip(products, products[:, :count].argmax(axis=1), strict=True):
        x, y, wide, high = base.slots[island]
        right, down = (
            np.tanh((row[count + axis] - middle) / (1.6 * spread))
            for axis, middle, spread in base.axes[island]
        )
        # The square of both axes becomes an ellipse, so that islands are round.
        x += wide * right * (1 - down**2 / 2) ** 0.5
        y += high * down * (1 - right**2 / 2) ** 0.5
        places.append((x, y, int(island)))
    return places


def _with_words(space: Space, dots: list[Dot]) -> list[Dot]:
    """Return the dots that the reader may see, with their words."""
    facts = rows_in(space, Fact).filter(pk__in=[dot.owner for dot in dots if dot.kind == "fact"])
    columns = ("pk", "text", "language", "kind", "subject", "chat__title", "use_count")
    known = {("fact", row[0]): row[1:] for row in facts.values_list(*columns, "created_at")}
    ids = [dot.owner for dot in dots if dot.kind == "episode"]
    episodes = rows_in(space, Episode).filter(pk__in=ids)
    columns = ("pk", "title", "body", "language", "chat__title", "started_at")
    for pk, title, body, language, chat, at in episodes.values_list(*columns):
        known["episode", pk] = ((title or body), language, "episode", "", chat, 0, at)
    seen = []
    for dot in dots:
        if row := known.get((dot.kind, dot.owner)):
            # `at` is when it was learned, not when what it tells of happens.
            text, language, what, subject, chat, used, at = row
            person = "" if subject == Fact.LORE else subject
            who = {"person": person, "chat": chat or "", "used": used, "at": at}
            seen.append(replace(dot, text=text[:MAX_TEXT], lang=language, what=what, **who))
    return sorted(seen, key=lambda dot: dot.at, reverse=True)


def names_of(dots: list[Dot]) -> dict[int, str]:
    """Name each island by two words of its main language that are rare elsewhere."""
    names = {}
    telling = {dot: _telling_words(dot) for dot in dots}
    everywhere = Counter(word for terms in telling.values() for word in terms)
    for island, group in _by_island(dots).items():
        languages: Counter = Counter()
        for dot in group:
            languages[dot.lang] += bool(dot.lang)
        spoken = ("", languages.most_common(1)[0][0])
        counts = Counter(w for dot in group if dot.lang in spoken for w in telling[dot])
        best = sorted(counts, key=lambda word: (-(counts[word] ** 2) / everywhere[word], word))
        names[island] = ", ".join(map(capfirst, best[:2]))
    return names


def _telling_words(dot: Dot) -> set[str]:
    bare = (word.removesuffix("'s") for word in words(dot.text))
    return {word for word in bare if len(word) > 3 and word not in _STOPS}


def _by_island(dots: list[Dot]) -> dict[int, list[Dot]]:
    groups = defaultdict(list)
    for dot in dots:
        groups[dot.island].append(dot)
    return groups


def coloured(
    dots: list[Dot], *, colour: str, show: str, now: datetime
) -> tuple[list[Dot], list[tuple]]:
    """Return the dots to show in their colours, and the legend: (tone, name, how many)."""
    dots = [dot for dot in dots if not show or dot.kind == show]
    groups = [_group(dot, colour=colour, now=now) for dot in dots]
    counts = Counter(group for group in groups if group)
    most = counts.most_common(TONES)
    if colour == "age":
        most = [(str(name), counts[str(name)]) for name, _span in AGES if counts[str(name)]]
    tones = {name: f"p{place}" for place, (name, _count) in enumerate(most, 1)}
    legend = [(tones[name], name, count) for name, count in most]
    if rest := len(dots) - sum(count for _name, count in most):
        legend.append((OTHERS, _("others"), rest))
    pairs = zip(dots, groups, strict=True)
    return [replace(dot, tone=tones.get(group, OTHERS)) for dot, group in pairs], legend


def _group(dot: Dot, *, colour: str, now: datetime) -> str:
    if colour == "age":
        return str(next(name for name, span in AGES if now - dot.at < span))
    if colour == "kind":
        return str(KINDS.get(dot.what, KINDS["fact"]))
    return dot.person if colour == "person" else dot.chat or _("Everywhere")


def clouds(dots: list[Dot]) -> list[tuple[str, int, str]]:
    """Return (tone, size, path): one path each, so that thousands of dots are few shapes."""
    paths: dict[tuple[str, int], str] = defaultdict(str)
    for dot in dots:
        paths[dot.tone, dot.size] += f"M{n(dot.x)} {n(dot.y)}h0"
    return [(tone, size, path) for (tone, size), path in sorted(paths.items())]


def islands(dots: list[Dot], names: dict[int, str]) -> list[Island]:
    isles = []
    for island, group in sorted(_by_island(dots).items()):
        ys = [dot.y for dot in group]
        middle = sum(dot.x for dot in group) / len(group)
        hull = _hull([(dot.x, dot.y) for dot in group])
        isles.append(Island(names.get(island, ""), len(group), hull, middle, min(ys), max(ys)))
    return isles


def _hull(points: list[tuple[float, float]]) -> str:
    """Return the line around the points; its round joins make it soft."""
    spots = sorted(set(points))
    around = [*_half_hull(spots), *_half_hull(spots[::-1])] or spots
    return "M" + "L".join(f"{n(x)} {n(y)}" for x, y in around) + "Z"


def _half_hull(spots: list[tuple[float, float]]) -> list[tuple[float, float]]:
    corners: list[tuple[float, float]] = []
    for spot in spots:
        while len(corners) > 1 and _turn(corners[-2], corners[-1], spot) <= 0:
            corners.pop()
        corners.append(spot)
    return corners[:-1]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def isle_labels(isles: list[Island], *, size: int) -> list[Label]:
    """Return the names of the islands, the largest first, as far as there is room.

    First the first word of each, above or below its island; then the whole name where it fits.
    """
    placed: dict[int, Label] = {}
    by_size = sorted(range(len(isles)), key=lambda place: (-isles[place].count, place))
    for whole in (False, True):
        for place in by_size:
            isle = isles[place]
            name = isle.name if whole else isle.name.partition(",")[0]
            ys = max(size, isle.top - 30), min(HEIGHT - size / 2, isle.bottom + 30 + size)
            tries = [
                _within(Label(isle.x, y, "middle", name, size, f" {number(isle.count)}"))
                for y in ys
            ]
            others = [label for other, label in placed.items() if other != place]
            for label in _first_free(tries, others):
                placed[place] = label
    return list(placed.values())


def dot_labels(dots: list[Dot], placed: list[Label]) -> list[Label]:
    """Return the words of the most used dots, beside them, where there is room."""
    labels: list[Label] = []
    spots = np.array([(dot.x, dot.y) for dot in dots]).reshape(-1, 2)
    facts = (dot for dot in dots if dot.kind == "fact")
    for dot in sorted(facts, key=lambda dot: (-dot.used, -dot.owner))[:MAX_LABEL_TRIES]:
        text = short(dot.text, MAX_LABEL_LENGTH)
        tries = [
            Label(dot.x + aside, dot.y + 4, anchor, text, LABEL_SIZE)
            for aside, anchor in ((9, "start"), (-9, "end"))
        ]
        clear = [label for label in tries if label == _within(label) and not _lies_on(label, spots)]
        labels += _first_free(clear, [*placed, *labels])
        if len(labels) == MAX_LABELS:
            break
    return labels


def _lies_on(label: Label, spots: np.ndarray) -> bool:
    left, top, right, bottom = label.box
    low, high = np.array([left, top]) - DOT_RADIUS, np.array([right, bottom]) + DOT_RADIUS
    return bool(((spots > low) & (spots < high)).all(axis=1).any())


def _within(label: Label) -> Label:
    """Move the label sideways until nothing of it is cut off."""
    left, _top, right, _bottom = label.box
    return replace(label, x=label.x - min(0.0, left) - max(0.0, right - WIDTH))


def _first_free(tries: list[Label], placed: list[Label]) -> list[Label]:
    return [label for label in tries if not any(label.covers(other) for other in placed)][:1]


def weeks(dots: list[Dot], *, now: datetime) -> list[tuple[str, int]]:
    """Count the memories of each of the last weeks, the oldest first."""
    ages = Counter(min(MAX_WEEKS - 1, (now - dot.at).days // 7) for dot in dots)
    last = max(ages, default=0)
    days = [(now - timedelta(weeks=week)).date() for week in range(last, -1, -1)]
    return [(dated(day, _("j M")), ages[last - place]) for place, day in enumerate(days)]


def table_rows(space: Space, dots: list[Dot]) -> list[dict]:
    """Return the dots as rows of the table, and as the script shows them."""
    return [
        {
            "dot": dot,
            "label": score_rows.label(dot.kind, dot.owner, at=dot.at),
            "url": score_rows.page(space, dot.kind, dot.owner),
            "what": str(KINDS.get(dot.what, KINDS["fact"])),
        }
        for dot in dots
    ]


@in_space(role="viewer")
def index(request: HttpRequest, space: Space):
    begin = request.GET.get("from", "")
    begin = number_in(begin) if len(begin) < 6 else 0
    context = page(space, **_options(request), begin=begin, now=timezone.now())
    query = request.GET.copy()
    query["from"] = str(context["next"])
    context["more"] = f"{request.path}?{query.urlencode()}" if context["next"] else ""
    return render(request, "map/index.html", context)


@in_space(role="viewer")
def points(request: HttpRequest, space: Space):
    """Return place, words, colour, size and day of each dot, for the script of the map."""
    dots, _legend = coloured(layout(space).dots, **_options(request), now=timezone.now())
    rows = []
    for row in table_rows(space, dots):
        dot, at = row["dot"], int(row["dot"].at.timestamp())
        rows.append([dot.x, dot.y, row["label"], dot.text, row["url"], dot.tone, dot.size, at])
    return JsonResponse({"points": rows})


def _options(request: HttpRequest) -> dict[str, str]:
    colour, show = request.GET.get("colour"), request.GET.get("show")
    return {
        "colour": colour if colour in COLOURS else "person",
        "show": show if show in SHOWN else "",
    }
