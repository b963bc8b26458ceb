"""Common words are known from the planner's statistics, rare ones are counted."""

import pytest
from django.db import connection

from memory.models import Fact
from memory.models.unit import shared
from memory.retrieval import keywords
from memory.retrieval.keywords import Statistics
from tests.factories import make_space


def test_known_shares_become_counts():
    known = Statistics(rows=1_000_000, words={"walk": 0.05}, scopes={"-2": 0.5})
    assert known.size([-2, 99]) == 500_000
    assert known.count("walking", size=500_000) == 25_000
    assert known.count("rare", size=500_000) is None


def test_an_unknown_scope_is_counted():
    known = Statistics(rows=1_000_000, words={"walk": 0.05})
    assert known.size([-2]) is None
    assert known.count("walk", size=None) is None


def test_the_forms_of_a_word_are_those_of_the_index():
    assert keywords.index_forms("Canciones") >= {"canciones", "cancion"}
    assert keywords.index_forms("walking") >= {"walking", "walk"}


@pytest.mark.django_db
def test_they_are_read_from_analyze(monkeypatch):
    monkeypatch.setattr(keywords, "COUNT_UP_TO", 10)
    space = make_space()
    Fact.objects.bulk_create(
        Fact(space=space, text=f"walks {'alone' if i % 4 else 'home'}", said_key=str(i))
        for i in range(200)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memory_unit")
    known = keywords.current()
    assert known.size([shared(space.pk)]) == pytest.approx(200, abs=20)
    assert known.count("walking", size=200) == pytest.approx(200, abs=20)
    assert known.count("home", size=200) == pytest.approx(50, abs=20)


@pytest.mark.django_db
def test_a_small_memory_is_counted():
    keywords._cache.clear()
    assert keywords.current() == Statistics()
