"""The memory map: facts and episodes by meaning, laid out flat. What is close was said alike."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, QuerySet
from django.http import JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from kenoweb.auth.access import in_space, rows_in
from kenoweb.recall import score_rows
from kenoweb.ui.charts import n
from memory.models import Embedding, Episode, Fact, Space
from memory.vectors import store as embeddings

# As many dots as stay smooth and can be told apart.
MAX_POINTS = 3000
SIDE = 1000
EDGE = 20
CACHE_SECONDS = 600
MANY, LOOK_AGAIN = 10_000, 120
SHORT = 160
ROWS = 50
KINDS = {
    "fact": ("d1", _("fact")),
    "concept": ("d2", _("concept")),
    "procedure": ("d3", _("procedure or lesson")),
    "lesson": ("d3", _("procedure or lesson")),
    "lore": ("d4", _("lore")),
    "episode": ("d5", _("episode")),
}
AGES = [
    ("d1", _("last 7 days"), timedelta(days=7)),
    ("d2", _("last 30 days"), timedelta(days=30)),
    ("d3", _("last 90 days"), timedelta(days=90)),
    ("d4", _("last year"), timedelta(days=365)),
    ("d5", _("older"), timedelta(days=365_000)),
]
COLOURS = {"kind": _("by kind"), "age": _("by age")}
SHOWN = {"": _("facts and episodes"), "fact": _("facts"), "episode": _("episodes")}


@dataclass(frozen=True)
class Dot:
    kind: str
    owner: int
    at: datetime
    x: float
    y: float
    # Of a fact: which kind of fact.
    what: str = "fact"


@dataclass(frozen=True)
class Told:
    """A dot with its words."""

    dot: Dot
    text: str
    label: str
    lang: str
    url: str
    what: str


def page(space: Space, *, colour: str, show: str, begin: int, now: datetime) -> dict:
    found = chosen(space, show)
    return {
        "space": space,
        "clouds": clouds(found, colour=colour, now=now),
        "count": len(found),
        "rows": told(space, found[begin : begin + ROWS]),
        "next": begin + ROWS if begin + ROWS < len(found) else 0,
        "colour": colour,
        "show": show,
        "colours": COLOURS.items(),
        "shown": SHOWN.items(),
        "most": MAX_POINTS,
    }


def chosen(space: Space, show: str) -> list[Dot]:
    found = dots(space)
    return [dot for dot in found if dot.kind == show] if show else found


def dots(space: Space) -> list[Dot]:
    """Every dot, the newest first; laid out again when memory has grown or shrunk."""
    embedder = embeddings.active()
    if embedder is None:
        return []
    rows = Embedding.objects.filter(
        space=space, model=embedder.name, live=True, kind__in=["fact", "episode"]
    )
    key = f"map:{space.pk}:{embedder.name[-40:]}".replace(" ", "_")
    state = _state(rows, key=f"{key}:state")
    return cache.get_or_set(f"{key}:{state}", lambda: _lay_out(rows), CACHE_SECONDS)


def _state(rows: QuerySet, *, key: str) -> str:
    """What changes when memory grows or shrinks; of a large one it is looked up now and then."""
    if kept := cache.get(key):
        return kept
    found = rows.aggregate(count=Count("pk"), last=Max("pk"))
    state = f"{found['count']}:{found['last']}"
    if found["count"] >= MANY:
        cache.set(key, state, LOOK_AGAIN)
    return state


def project(vectors: np.ndarray) -> np.ndarray:
    """Onto the two directions in which they differ most, scaled to the map; (n, 2)."""
    centred = vectors - vectors.mean(axis=0)
    _values, directions = np.linalg.eigh(centred.T @ centred)
    # The last two are the strongest. A direction has no sign of its own: the same one every time.
    best = directions[:, :-3:-1]
    best = best * np.sign(best[np.abs(best).argmax(axis=0), range(best.shape[1])])
    flat = centred @ best
    low, high = np.percentile(flat, [1, 99], axis=0)
    spread = np.where(high - low > 1e-9, high - low, 1.0)
    share = np.clip((flat - low) / spread, 0, 1)
    return EDGE + share * (SIDE - 2 * EDGE)


def clouds(found: list[Dot], *, colour: str, now: datetime):
    """(tone, name, how many, path): one path a tone, so that thousands of dots are few shapes."""
    groups: dict[str, list] = {}
    for dot in found:
        tone, name = _tone(dot, colour=colour, now=now)
        groups.setdefault(tone, [name, []])[1].append(f"M{n(dot.x)} {n(dot.y)}h0")
    return [
        (tone, str(name), len(some), "".join(some)) for tone, (name, some) in sorted(groups.items())
    ]


def told(space: Space, found: list[Dot]) -> list[Told]:
    """The dots with their words as they are now; what is gone since is left out."""
    words = _facts(space, found) | _episodes(space, found)
    return [
        Told(
            dot=dot,
            text=text[:SHORT],
            label=score_rows.label(dot.kind, dot.owner, at=dot.at),
            lang=language,
            url=score_rows.page(space, dot.kind, dot.owner),
            what=str(KINDS.get(kind, KINDS["fact"])[1]),
        )
        for dot in found
        if (known := words.get((dot.kind, dot.owner)))
        for text, language, kind in [known]
    ]


def _lay_out(rows) -> list[Dot]:
    columns = ("unit__kind", "unit__owner_id", "unit__at", "vector")
    found = list(rows.order_by("-unit_id").values_list(*columns)[:MAX_POINTS])
    if len(found) < 3:
        return []
    places = project(np.array([np.asarray(row[3], dtype=np.float32) for row in found]))
    facts = [owner for kind, owner, _at, _vector in found if kind == "fact"]
    what = dict(Fact.objects.filter(pk__in=facts).values_list("pk", "kind"))
    return [
        Dot(kind, owner, at, round(float(x), 1), round(float(y), 1), what.get(owner, "fact"))
        for (kind, owner, at, _vector), (x, y) in zip(found, places, strict=True)
    ]


def _tone(dot: Dot, *, colour: str, now: datetime):
    if colour == "age":
        return next((tone, name) for tone, name, span in AGES if now - dot.at < span)
    return KINDS.get("episode" if dot.kind == "episode" else dot.what)


def _facts(space: Space, found: list[Dot]) -> dict:
    pks = [dot.owner for dot in found if dot.kind == "fact"]
    rows = rows_in(space, Fact).filter(pk__in=pks)
    return {
        ("fact", pk): (text, language, kind)
        for pk, text, language, kind in rows.values_list("pk", "text", "language", "kind")
    }


def _episodes(space: Space, found: list[Dot]) -> dict:
    pks = [dot.owner for dot in found if dot.kind == "episode"]
    rows = rows_in(space, Episode).filter(pk__in=pks)
    return {
        ("episode", pk): (title or body, language, "episode")
        for pk, title, body, language in rows.values_list("pk", "title", "body", "language")
    }


@in_space(role="viewer")
@require_safe
def index(request, space):
    said = request.GET.get("from", "")
    begin = int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0
    colour = "age" if request.GET.get("colour") == "age" else "kind"
    context = page(space, colour=colour, show=_show(request), begin=begin, now=timezone.now())
    context["more"] = _more(request, context["next"]) if context["next"] else ""
    return render(request, "map/index.html", context)


@in_space(role="viewer")
@require_safe
def points(request, space):
    """Where each dot is and what it says, for the script that lets one point at it."""
    found = told(space, chosen(space, _show(request)))
    return JsonResponse(
        {"points": [[one.dot.x, one.dot.y, one.label, one.text, one.url] for one in found]}
    )


def _more(request, begin: int) -> str:
    said = request.GET.copy()
    said["from"] = begin
    return f"{request.path}?{said.urlencode()}"


def _show(request) -> str:
    said = request.GET.get("show", "")
    return said if said in SHOWN else ""
