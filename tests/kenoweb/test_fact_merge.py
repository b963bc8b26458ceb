import pytest
from django.urls import reverse

from memory.facts import bulk as fact_bulk
from memory.facts import service as facts
from memory.history import changes as history
from memory.models import Fact
from tests.factories import make_chat, make_client, make_fact, make_member

pytestmark = pytest.mark.django_db
BY = "person:ana"


@pytest.fixture
def member():
    return make_member(role="curator")


def at(member, name, *args):
    return reverse(f"facts:{name}", args=[member.space.slug, *args])


def two(space, **given):
    tea = make_fact(space, text="Ana drinks tea", confidence=0.6, quote="I drink tea", **given)
    green = make_fact(space, text="Ana drinks green tea", confidence=0.9, **given)
    return tea, green


def test_the_surest_stays_with_what_the_others_rest_on(member):
    tea, green = two(member.space)
    many = fact_bulk.merge(member.space, [tea.pk, green.pk], by=BY)
    tea.refresh_from_db()
    green.refresh_from_db()
    assert many.count == 2
    assert (tea.status, tea.superseded_by) == ("superseded", green)
    assert (green.status, green.times_seen) == ("active", 2)
    assert green.evidence[-1]["quote"] == "I drink tea"


def test_what_a_person_worded_stays_even_when_another_is_surer(member):
    tea, green = two(member.space)
    facts.revise(tea, by=BY, text="Ana drinks black tea")
    fact_bulk.merge(member.space, [tea.pk, green.pk], by=BY)
    tea.refresh_from_db()
    assert (tea.status, tea.confidence) == ("active", 0.9)


def test_one_undo_parts_them_again(member):
    tea, green = two(member.space)
    many = fact_bulk.merge(member.space, [tea.pk, green.pk], by=BY)
    history.undo_context(many.change_id, by=BY)
    green.refresh_from_db()
    assert Fact.objects.live().count() == 2
    assert (green.times_seen, green.evidence) == (1, [])


def test_facts_of_different_chats_do_not_become_one(member):
    tea = make_fact(member.space, text="Ana drinks tea", chat=make_chat(member.space))
    green = make_fact(member.space, text="Ana drinks green tea")
    with pytest.raises(facts.Invalid, match="different chats"):
        fact_bulk.merge(member.space, [tea.pk, green.pk], by=BY)


def test_one_fact_alone_and_what_is_forgotten_cannot_be_merged(member):
    tea, green = two(member.space)
    facts.forget(green, by=BY)
    for pks in ([tea.pk], [tea.pk, green.pk], []):
        with pytest.raises(facts.Invalid, match="at least two"):
            fact_bulk.merge(member.space, pks, by=BY)


def test_a_fact_of_another_space_is_not_touched(member):
    tea, other = make_fact(member.space, text="Ana drinks tea"), make_fact(text="Bo drinks tea")
    got = make_client(member.user).post(at(member, "merge", tea.pk), {"other": other.pk})
    other.refresh_from_db()
    assert (got.status_code, other.status) == (302, "active")


def test_beside_a_fact_another_is_merged_into_it(member):
    tea, green = two(member.space)
    client = make_client(member.user)
    got = client.post(
        at(member, "merge", tea.pk), {"other": green.pk}, headers={"hx-request": "true"}
    )
    green.refresh_from_db()
    assert green.superseded_by == tea
    assert "Merged 2 facts into one." in got.content.decode()
    assert got["HX-Trigger"] == "memory-changed, rows-changed"


def test_the_ticked_ones_are_merged_from_the_list(member):
    picked = [fact.pk for fact in two(member.space)]
    client = make_client(member.user)
    client.post(at(member, "bulk"), {"act": "merge", "pick": picked})
    assert Fact.objects.live().count() == 1


def test_a_viewer_may_not_merge(member):
    tea, green = two(member.space)
    viewer = make_member(space=member.space, role="viewer")
    got = make_client(viewer.user).post(at(member, "merge", tea.pk), {"other": green.pk})
    assert got.status_code == 403


def test_it_is_not_done_by_looking(member):
    tea, _green = two(member.space)
    assert make_client(member.user).get(at(member, "merge", tea.pk)).status_code == 405


@pytest.mark.parametrize(
    ("act", "field", "value"),
    [
        ({"act": "pin"}, "pinned", True),
        ({"act": "forget"}, "status", "archived"),
        ({"act": "never"}, "status", "trashed"),
        ({"act": "category", "category": "project"}, "category", "project"),
        ({"act": "subject", "subject": "Tea"}, "subject", "Tea"),
    ],
)
def test_every_act_takes_the_ticked_facts_and_leaves_the_others(member, act, field, value):
    tea, green = two(member.space)
    alone = make_fact(member.space, text="Ana reads")
    before = getattr(alone, field)
    make_client(member.user).post(at(member, "bulk"), act | {"pick": [tea.pk, green.pk]})
    for fact in (tea, green, alone):
        fact.refresh_from_db()
    assert [getattr(fact, field) for fact in (tea, green)] == [value, value]
    assert getattr(alone, field) == before
