"""What an address says is what a list shows; what it says badly is ignored."""

from datetime import date, timedelta

import pytest
from django.http import QueryDict
from django.utils import timezone

from kenoweb.ui.filters import EpisodeFilter, FactFilter, PatternFilter


def read(said: str) -> FactFilter:
    return FactFilter.read(QueryDict(said))


def test_an_empty_address_shows_what_is_believed_now():
    assert read("") == FactFilter()
    assert FactFilter().status == "active"
    assert FactFilter().is_bare()


def test_an_address_comes_back_as_it_was():
    said = "q=webhook&sort=used&subject=n8n&kind=lesson&chat=12&status=any&since=7d&unused=never"
    assert read(read(said).query()) == read(said)


def test_only_what_differs_from_the_usual_stands_in_an_address():
    assert read("q=&kind=&status=active&since=24h").query() == "since=24h"


@pytest.mark.parametrize(
    "junk",
    [
        "kind=spaceship",
        "status=",
        "status=dead",
        "chat=abc",
        "chat=-1",
        "chat=" + "9" * 40,
        "sort=;drop",
        "since=yesterday",
        "as_of=31-12-2025",
        "as_of=2026-13-45",
        "as_of=0001-01-01",
        "sure=very",
        "unused=1",
        "nobody=knows",
    ],
)
def test_junk_is_as_if_it_were_not_said(junk):
    assert read(junk) == FactFilter()


def test_tomorrow_nothing_was_believed_yet():
    tomorrow = timezone.localdate() + timedelta(days=1)
    assert read(f"as_of={tomorrow}").as_of == ""
    assert read(f"as_of={timezone.localdate()}").day == timezone.localdate()


def test_a_day_ends_at_its_end_on_the_clock_of_the_space():
    with timezone.override("America/Mexico_City"):
        assert read("as_of=2026-02-01").when.isoformat() == "2026-02-01T23:59:59.999999-06:00"


def test_a_long_question_is_cut_and_unstorable_signs_are_dropped():
    assert len(read(f"q={'a' * 999}").q) == 200
    assert read("q=a%00b").q == "ab"


def test_where_the_next_part_begins_is_not_part_of_what_is_looked_for():
    assert read("q=a&after=12~2026").query() == "q=a"
    assert read("after=12~2026").is_bare()


def test_other_lists_have_their_own_words():
    assert EpisodeFilter.read(QueryDict("month=2026-02&state=done")).month == "2026-02"
    assert EpisodeFilter.read(QueryDict("month=2026-99")).month == ""
    assert PatternFilter.read(QueryDict("status=archived")).status == "archived"
    assert FactFilter(as_of="2026-02-01").day == date(2026, 2, 1)
