"""A plan whose day has passed is asked about: it becomes an event, or is no longer believed."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.chats import service as chats
from memory.extraction.ingest import ingest
from memory.models import Fact
from sleep import cycle, proposals
from sleep.models import Proposal
from sleep.phases import pruning
from tests.factories import make_chat, make_member

pytestmark = pytest.mark.django_db(transaction=True)
SAID_AT = datetime(2026, 2, 13, 15, tzinfo=UTC)


@pytest.fixture
def member():
    return make_member(role="curator")


def hear(chat, said):
    message = chats.receive(chat, text=said, author="Ana", now=SAID_AT).message
    ingest(message, now=SAID_AT)
    return Fact.objects.get(message=message)


def night(space, *, days):
    cycle.sleep(space, now=SAID_AT + timedelta(days=days), phases=(pruning.PHASE,))
    return Proposal.objects.filter(space=space, status="pending")


@pytest.mark.parametrize(
    ("said", "too_early", "late_enough"),
    [
        ("My sister is flying to Oslo next Friday", 6, 9),
        ("Me mudo a Porto el mes que viene", 20, 50),
    ],
)
def test_a_plan_is_asked_about_once_when_its_last_day_has_passed(
    member, said, too_early, late_enough
):
    plan = hear(make_chat(member.space), said)
    assert not night(member.space, days=too_early)
    (asked,) = night(member.space, days=late_enough)
    assert plan.text in asked.title
    assert list(night(member.space, days=late_enough + 1)) == [asked]


@pytest.mark.parametrize("happened", [True, False])
def test_what_happened_is_an_event_and_what_did_not_is_no_longer_believed(member, happened):
    plan = hear(make_chat(member.space), "We are flying to Oslo next Friday")
    (asked,) = night(member.space, days=9)
    decide = proposals.approve if happened else proposals.reject
    decided = decide(asked, member=member, digest=asked.digest)
    fact = Fact.objects.get(pk=plan.pk)
    expected = ("active", "other") if happened else ("archived", plan.category)
    assert (fact.status, fact.category, fact.occurs_at) == (*expected, plan.occurs_at)
    proposals.undo(decided, member=member)
    again = Fact.objects.get(pk=plan.pk)
    assert (again.status, again.category) == ("active", plan.category)


def test_an_event_that_lay_behind_when_it_was_told_is_not_asked_about(member):
    event = hear(make_chat(member.space), "We got engaged in May")
    assert event.occurs_at < SAID_AT
    assert not night(member.space, days=9)


def test_a_night_asks_about_a_few_only(member):
    chat = make_chat(member.space)
    for city in ("Oslo", "Rome", "Lima", "Quito", "Porto"):
        hear(chat, f"My sister is flying to {city} next Friday")
    assert len(night(member.space, days=9)) == pruning.MAX_PLANS
