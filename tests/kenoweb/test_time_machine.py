"""What did it believe on that day? The same date control and banner wherever memory is shown."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from kenoweb.facts import listing
from memory.facts import service as facts
from memory.history.changes import events_of
from memory.models import Fact, Recall
from tests.factories import make_client, make_fact, make_member
from tests.kenoweb.test_markup import problems

pytestmark = pytest.mark.django_db
PAGES = ["facts:index", "episodes:index", "patterns:index", "recall:lab"]


@pytest.fixture
def member():
    return make_member(role="curator")


def page(member, name, **asked):
    url = reverse(name, args=[member.space.slug])
    return make_client(member.user).get(url, asked).content.decode()


def a_day(back):
    return (timezone.localdate() - timedelta(days=back)).isoformat()


def learned(fact, *, back):
    """As if it had been learned so many days ago."""
    then = timezone.now() - timedelta(days=back)
    events_of(Fact).filter(pgh_obj_id=fact.pk).update(pgh_created_at=then)
    Fact.objects.filter(pk=fact.pk).update(created_at=then)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_memory_has_the_date_and_says_when_it_looks_back(member, name):
    now, then = page(member, name), page(member, name, as_of=a_day(3), q="tea")
    assert 'name="as_of"' in now
    assert "Back to now" not in now
    assert "Back to now" in then
    assert "As of " in then
    assert problems(then) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_day_that_has_not_come_is_now(member, name):
    assert "Back to now" not in page(member, name, as_of=a_day(-2), q="tea")


def test_the_lab_recalls_what_was_known_on_that_day_in_the_words_of_then(member):
    old = make_fact(member.space, "Ana drinks black tea")
    learned(old, back=10)
    facts.revise(old, by="person:ana", text="Ana drinks green tea")
    make_fact(member.space, "Bo drinks tea")
    then = page(member, "recall:lab", q="who drinks tea", as_of=a_day(5))
    assert "Ana drinks black tea" in then
    assert "green tea" not in then
    assert "Bo drinks tea" not in then
    assert "Bo drinks tea" in page(member, "recall:lab", q="who drinks tea")
    assert not Recall.objects.exists()


@pytest.mark.parametrize(("cap", "said"), [(200, ">60<"), (55, ">55+<")])
def test_words_of_the_past_are_counted_up_to_where_the_page_says(member, monkeypatch, cap, said):
    monkeypatch.setattr(listing, "PAST_COUNT_LIMIT", cap)
    for n in range(60):
        learned(make_fact(member.space, f"Tea number {n}"), back=9)
    found = page(member, "facts:index", as_of=a_day(3), q="tea")
    assert said in found.split('id="fact-count"')[1][:80]


def test_the_past_is_read_only(member):
    make_fact(member.space, "Ana drinks tea")
    html = page(member, "facts:index", as_of=a_day(0))
    assert " drinks tea" in html
    assert 'name="pick"' not in html
    assert "/forget/" not in html
