"""The memory map: close together is what was said alike, and a table says the same."""

from datetime import timedelta

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from kenoweb.recall import map as memory_map
from memory.vectors import store as embeddings
from tests.factories import make_client, make_episode, make_fact, make_member, make_user
from tests.kenoweb.test_markup import problems

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def fresh():
    cache.clear()


@pytest.fixture
def space():
    return make_member().space


@pytest.fixture
def client(space):
    return make_client(make_member(space=space, role="viewer").user)


def at(space, name="index"):
    return reverse(f"map:{name}", args=[space.slug])


def fill(space, n=6, what="tea"):
    for number in range(n):
        make_fact(space, f"Ana drinks {what} number {number}")
    make_episode(space, title="A walk by the sea")
    embeddings.backfill()


def test_with_too_little_it_says_so(client, space):
    assert "Too little to draw a map of" in client.get(at(space)).content.decode()


def test_every_memory_is_a_dot_and_a_row_with_a_link(client, space):
    fill(space)
    fact = make_fact(space, "Bo repairs bicycles", kind="lesson")
    embeddings.backfill()
    html = client.get(at(space), {"colour": "kind"}).content.decode()
    assert html.count("h0M") + html.count('h0"') == 8
    assert reverse("facts:detail", args=[space.slug, fact.pk]) in html
    assert "procedure or lesson" in html
    assert problems(html) == []


def test_it_shows_one_kind_or_colours_by_age(client, space):
    fill(space)
    make_fact(space, "long ago", created_at=timezone.now() - timedelta(days=800))
    embeddings.backfill()
    assert client.get(at(space), {"show": "episode"}).context["count"] == 1
    by_age = client.get(at(space), {"colour": "age"}).content.decode()
    assert "last 7 days" in by_age
    assert client.get(at(space), {"show": "<x>", "colour": "?", "from": "²"}).status_code == 200


def test_a_new_memory_gets_its_place_and_a_forgotten_one_leaves(client, space):
    fill(space)
    assert client.get(at(space)).context["count"] == 7
    fact = make_fact(space, "Bo repairs bicycles")
    embeddings.backfill()
    assert client.get(at(space)).context["count"] == 8
    fact.status = "archived"
    fact.save()
    assert client.get(at(space)).context["count"] == 7


def test_the_script_gets_words_and_addresses(client, space):
    fill(space)
    points = client.get(at(space, "points")).json()["points"]
    assert len(points) == 7
    x, y, label, _text, url, tone, size, _at = next(
        one for one in points if one[3].endswith("number 0")
    )
    assert 0 <= x <= memory_map.WIDTH
    assert 0 <= y <= memory_map.HEIGHT
    assert tone.startswith("p")
    assert size == 1
    assert label.startswith("Fact ")
    assert url.startswith(f"/s/{space.slug}/facts/")


def test_the_table_goes_on(client, space):
    fill(space, n=60)
    first = client.get(at(space))
    rest = client.get(first.context["more"])
    shown = [one["dot"].owner for one in first.context["rows"] + rest.context["rows"]]
    assert len(shown) == 61
    assert rest.context["more"] == ""


def products(frame, vectors):
    return vectors @ np.vstack([frame.centres, frame.directions]).T


def test_what_is_alike_is_one_island():
    rng = np.random.default_rng(4)
    here, there = rng.normal(size=(2, 32)) * 5
    vectors = np.vstack([here + rng.normal(size=(20, 32)), there + rng.normal(size=(20, 32))])
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    frame = memory_map.frame(vectors)
    places = memory_map.place(frame, products(frame, vectors))
    assert not {one[2] for one in places[:20]} & {one[2] for one in places[20:]}
    assert all(0 <= x <= memory_map.WIDTH and 0 <= y <= memory_map.HEIGHT for x, y, _i in places)


def test_all_the_same_is_no_error():
    same = np.ones((5, 8))
    frame = memory_map.frame(same)
    assert np.isfinite(memory_map.place(frame, products(frame, same))).all()


def test_what_is_new_moves_nothing(space):
    fill(space, n=15)
    before = {(dot.kind, dot.owner): (dot.x, dot.y) for dot in memory_map.layout(space).dots}
    fill(space, n=9, what="milk")
    after = {(dot.kind, dot.owner): (dot.x, dot.y) for dot in memory_map.layout(space).dots}
    assert len(after) == len(before) + 10
    assert {key: after[key] for key in before} == before


def test_an_island_is_named_by_its_words():
    dots = [
        memory_map.Dot("fact", n, timezone.now(), n, n, island=n % 2, text=text)
        for n, text in enumerate(["Ana drinks tea", "Bo sails boats"] * 3)
    ]
    assert memory_map.names_of(dots) == {0: "Drinks", 1: "Boats, Sails"}


def test_an_island_has_a_name_in_one_language():
    said = [("Vivo en Mérida con Paz", "es")] * 3 + [("Ana moved house with Paz", "en")] * 2
    dots = [
        memory_map.Dot("fact", n, timezone.now(), n, n, island=0, text=text, lang=lang)
        for n, (text, lang) in enumerate(said)
    ]
    assert memory_map.names_of(dots) == {0: "Mérida, Vivo"}


@pytest.mark.parametrize(("colour", "named"), [("person", "Bo"), ("chat", "Everywhere")])
def test_the_legend_says_whose_a_dot_is(client, space, colour, named):
    fill(space)
    make_fact(space, "Bo repairs bicycles", subject="Bo")
    embeddings.backfill()
    context = client.get(at(space), {"colour": colour}).context
    assert named in {name for _tone, name, _count in context["legend"]}
    assert sum(count for *_rest, count in context["legend"]) == context["count"]


def test_hostile_text_is_inert(client, space):
    fill(space)
    make_fact(space, "<script>alert(1)</script>\u202e")
    embeddings.backfill()
    assert "<script>alert" not in client.get(at(space)).content.decode()


def test_a_stranger_finds_nothing(space):
    stranger = make_client(make_member(user=make_user()).user)
    assert stranger.get(at(space)).status_code == 404
    assert stranger.get(at(space, "points")).status_code == 404


def test_the_number_of_queries_does_not_grow(client, space):
    def count():
        with CaptureQueriesContext(connection) as seen:
            client.get(at(space))
        return len(seen)

    fill(space)
    client.get(at(space))
    # Which model is in use is looked up again every few seconds.
    few = min(count(), count())
    fill(space, n=40, what="milk")
    client.get(at(space))
    assert min(count(), count()) == few


@pytest.mark.parametrize("size", [memory_map.ISLE, memory_map.ISLE_ON_PHONE])
def test_names_on_the_map_do_not_cover_each_other_and_are_not_cut_off(size):
    islands = [
        memory_map.Island(f"Photographs{n}, Restaurants", 9, "", 60 + 145 * (n % 8), top, top + 90)
        for n, top in enumerate([20.0] * 8 + [400.0] * 8)
    ]
    dots = [
        memory_map.Dot("fact", n, NOW, 97.0 * (n % 5), 9.0 * (n // 3), text="x" * 60, used=n)
        for n in range(200)
    ]
    named = memory_map.isle_labels(islands, size=size)
    of_dots = memory_map.dot_labels(dots, named)
    labels = [*named, *of_dots]
    assert named
    for left, top, right, bottom in (label.box for label in of_dots):
        assert not [dot for dot in dots if left < dot.x < right and top < dot.y < bottom]
    assert len(labels) > len(named)
    for place, label in enumerate(labels):
        assert not [other for other in labels[:place] if label.covers(other)]
        assert label.box[0] >= -0.01
        assert label.box[2] <= memory_map.WIDTH + 0.01
