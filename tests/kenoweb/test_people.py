"""The pages of people and things: what is known of whom, and who is who."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from memory import people
from memory.facts import service as facts
from memory.models import Entity
from tests.factories import (
    make_chat,
    make_client,
    make_entity,
    make_fact,
    make_member,
    make_message,
    make_proposal,
    make_receipt,
    make_space,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def member():
    return make_member()


@pytest.fixture
def client(member):
    return make_client(member.user)


def page(client, space, entity) -> str:
    found = client.get(reverse("people:detail", args=[space.slug, entity.pk]))
    assert found.status_code == 200
    return found.content.decode()


def test_the_list_finds_by_any_name(client, member):
    space = member.space
    make_entity(space, name="Rosario", aliases=["mi suegra"], fact=make_fact(space))
    make_entity(space, name="Kubernetes", aliases=["k8s"], kind="thing", fact=make_fact(space))
    url = reverse("people:index", args=[space.slug])
    assert "Rosario" in client.get(url, {"q": "SUEGRA"}).content.decode()
    found = client.get(url, {"q": "k8s"}).content.decode()
    assert "Kubernetes" in found
    assert "Rosario" not in found
    assert "Rosario" not in client.get(url, {"kind": "thing"}).content.decode()


def test_nobody_without_a_word_about_them_is_listed(client, member):
    make_entity(member.space, name="Ghost")
    url = reverse("people:index", args=[member.space.slug])
    assert "Ghost" not in client.get(url).content.decode()


def test_what_two_chats_say_in_the_same_words_stands_once_and_names_both(client, member):
    space = member.space
    entity = make_entity(space)
    for title, text in (("Familia", "Ana lives in Lugo"), ("Cocina", "Ana lives in Lugo.")):
        fact = make_fact(space, text, chat=make_chat(space, title=title))
        entity.mentions.create(fact=fact, role="about")
    entity.mentions.create(fact=make_fact(space, "Ana lives alone"), role="about")
    (known,) = [rows for _key, _title, rows in shown(entity).groups]
    assert sorted(len(fact.others) for fact in known) == [0, 1]
    html = page(client, space, entity)
    assert html.count('<span class="words"') == 2
    assert "Familia, Cocina" in html or "Cocina, Familia" in html


def test_what_is_known_stands_in_groups_with_its_quote(client, member):
    space, now = member.space, timezone.now()
    entity = make_entity(space)
    for text, given in {
        "Ana is a nurse": {"category": "profile", "quote": "soy enfermera"},
        "Ana loves tea": {"category": "preference"},
        "Ana flies to Lima": {"occurs_at": now + dt.timedelta(days=3)},
        "Ana ran a marathon": {"occurs_at": now - dt.timedelta(days=3)},
        "Ana lived in Lugo": {"status": "superseded"},
        "Ana's sister is Bo": {"category": "relationship"},
    }.items():
        fact = make_fact(space, text, **given)
        entity.mentions.create(fact=fact, role="about")
    groups = {key: [str(f) for f in rows] for key, _title, rows in shown(entity).groups}
    assert groups == {
        "who": ["Ana is a nurse"],
        "people": ["Ana's sister is Bo"],
        "likes": ["Ana loves tea"],
        "plans": ["Ana flies to Lima"],
        "events": ["Ana ran a marathon"],
        "past": ["Ana lived in Lugo"],
    }
    assert "soy enfermera" in page(client, space, entity)


def shown(entity):
    from kenoweb.people.page import person_page

    return person_page(entity, space=entity.space, now=timezone.now(), may=True)


def test_a_change_of_belief_shows_both_sides(client, member):
    space = member.space
    old = facts.remember(space, text="Ana lives in Lugo", subject="Ana", by="tag").row
    facts.supersede(old, by="tag", text="Ana lives in Lima")
    (river,) = shown(Entity.objects.get(name="Ana")).rivers
    assert [fact.text for fact in river.facts] == ["Ana lives in Lugo", "Ana lives in Lima"]
    assert len(river.bands) == 2
    assert river.facts[0].ended
    assert river.facts[1].ended is None


def test_what_they_said_and_what_was_said_about_them(client, member):
    chat = make_chat(member.space)
    ana = people.speaker(make_message(chat, "buenas", author="Ana", author_id="7"))
    bo = make_message(chat, "hi", author="Bo", author_id="8")
    given = {"by": "extraction", "chat": chat, "message": bo, "subject": "Bo", "said_by": "Bo"}
    facts.remember(member.space, text="Bo works with Ana", **given)
    found = shown(ana)
    assert [message.text for message in found.said] == ["buenas"]
    assert [fact.text for fact in found.named] == ["Bo works with Ana"]
    assert [edge.entity.name for edge in found.edges] == ["Bo"]


def test_kin_are_drawn_with_their_word(client, member):
    space = member.space
    ana = make_entity(space, name="Ana", fact=make_fact(space))
    rex = make_entity(space, name="Rex", kind="pet", owner=ana, relation="dog")
    assert [(edge.entity, edge.word) for edge in shown(ana).edges] == [(rex, "dog")]
    assert "Ana&#x27;s dog" in page(client, space, rex)
    client.cookies["django_language"] = "es"
    assert "perro de Ana" in page(client, space, rex)


def test_replies_reached_and_open_questions_are_listed(client, member):
    space = member.space
    fact = make_fact(space)
    entity = make_entity(space, fact=fact)
    reply = make_message(make_chat(space), "yes", role="assistant")
    make_receipt(space, "who is Ana?", fact=fact, reply=reply)
    make_proposal(space, title="Ana reads")
    found = page(client, space, entity)
    assert "who is Ana?" in found
    assert "Ana reads" in found


def test_two_become_one_by_hand_and_are_parted_again(client, member):
    space = member.space
    one = make_entity(space, fact=make_fact(space, "Ana sings"))
    two = make_entity(space, name="Anita", fact=make_fact(space, "Anita dances"))
    client.post(reverse("people:merge", args=[space.slug, one.pk]), {"other": two.pk})
    found = page(client, space, one)
    assert "Anita dances" in found
    assert "“Anita”" in found
    gone = client.get(reverse("people:detail", args=[space.slug, two.pk]))
    assert gone.url == reverse("people:detail", args=[space.slug, one.pk])
    client.post(reverse("people:part", args=[space.slug, two.pk]))
    assert "Anita dances" not in page(client, space, one)


@pytest.mark.parametrize("other", ["", "x", "99999999999999999999"])
def test_merging_with_nobody_says_so(client, member, other):
    entity = make_entity(member.space)
    url = reverse("people:merge", args=[member.space.slug, entity.pk])
    found = client.post(url, {"other": other}, follow=True).content.decode()
    assert "Choose somebody else" in found


def test_names_are_given_by_hand(client, member):
    entity = make_entity(member.space)
    url = reverse("people:revise", args=[member.space.slug, entity.pk])
    client.post(url, {"name": "Ana María", "aliases": "Anita, la jefa", "kind": "person"})
    entity.refresh_from_db()
    assert (entity.name, entity.aliases) == ("Ana María", ["Anita", "la jefa"])
    assert client.post(url, {"name": "", "kind": "person"}).status_code == 422


def test_what_is_known_can_be_taken_away_as_a_file_with_the_password(client, member):
    entity = make_entity(member.space, fact=make_fact(member.space, "Ana sings"))
    url = reverse("people:export", args=[member.space.slug, entity.pk])
    assert client.get(url).status_code == 302
    found = make_client(member.user, sudo=True).get(url)
    assert "attachment" in found["Content-Disposition"]
    assert "- Ana sings" in found.content.decode()


def test_a_viewer_looks_and_changes_nothing(member):
    viewer = make_member(space=member.space, role="viewer")
    entity = make_entity(member.space)
    client = make_client(viewer.user)
    main = page(client, member.space, entity).partition("<main")[2].partition("</main>")[0]
    assert "<form" not in main
    for name in ("merge", "part", "revise"):
        url = reverse(f"people:{name}", args=[member.space.slug, entity.pk])
        assert client.post(url).status_code == 403


def test_somebody_of_another_space_is_not_found(client, member):
    stranger = make_entity(make_space())
    url = reverse("people:detail", args=[member.space.slug, stranger.pk])
    assert client.get(url).status_code == 404
    own = make_entity(member.space)
    merge = reverse("people:merge", args=[member.space.slug, own.pk])
    assert client.post(merge, {"other": stranger.pk}).status_code == 404


def test_the_palette_finds_people_by_any_name(client, member):
    space = member.space
    entity = make_entity(space, name="Rosario", aliases=["mi suegra"], fact=make_fact(space))
    found = client.get(reverse("search:index", args=[space.slug]), {"q": "suegra"})
    assert reverse("people:detail", args=[space.slug, entity.pk]) in found.content.decode()
