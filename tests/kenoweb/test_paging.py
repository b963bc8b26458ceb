"""A long list in parts: nothing twice, nothing missed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from kenoweb.ui.list_page import Order, counted, part
from memory.models import Fact
from tests.factories import make_fact, make_space

pytestmark = pytest.mark.django_db


@pytest.fixture
def space():
    """Twenty-three facts, most of which share their time and confidence with others."""
    space, now = make_space(), timezone.now()
    for n in range(23):
        when = now - timedelta(minutes=n // 4)
        make_fact(space, updated_at=when, confidence=(n % 3) / 10, subject=f"s{n % 5}")
    return space


def walk(space, order, *, size=5):
    after, seen = "", []
    while True:
        found = part(Fact.objects.filter(space=space), order=order, after=after, size=size)
        seen += [row.pk for row in found.rows]
        if not (after := found.after):
            return seen


@pytest.mark.parametrize(
    "order",
    [
        Order("updated_at"),
        Order("updated_at", down=False),
        Order("confidence", float),
        Order("confidence", float, down=False),
        Order("subject", str, down=False),
    ],
    ids=str,
)
def test_the_parts_together_are_the_whole_list_in_its_order(space, order):
    whole = Fact.objects.filter(space=space).order_by(*order.names).values_list("pk", flat=True)
    assert walk(space, order) == list(whole)


def test_a_row_written_meanwhile_moves_no_other_into_the_next_part(space):
    rows, order = Fact.objects.filter(space=space), Order("updated_at")
    first = part(rows, order=order, size=5)
    make_fact(space)
    second = part(rows, order=order, after=first.after, size=5)
    assert not {row.pk for row in first.rows} & {row.pk for row in second.rows}


@pytest.mark.parametrize(
    "junk", ["x", "~", "12~", "12~yesterday", "12~2026-01-01T00:00:00", "9" * 30 + "~1", "-1~2026"]
)
def test_a_cursor_that_makes_no_sense_is_the_beginning(space, junk):
    rows, order = Fact.objects.filter(space=space), Order("updated_at")
    assert part(rows, order=order, after=junk).rows == part(rows, order=order).rows
    assert part(rows, order=Order("confidence", float), after="3~nan").rows


def test_counting_stops_at_its_cap(space):
    rows = Fact.objects.filter(space=space)
    assert counted(rows, rows.filter(confidence=0), cap=10) == [11, 8]
