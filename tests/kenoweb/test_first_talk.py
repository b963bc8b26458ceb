"""The first conversation on the identity page: how far it is, what is known, and correcting it."""

import pytest
from django.urls import reverse

from memory.identity import bootstrap, preferences
from memory.models import Identity, Preference
from tests.factories import make_chat, make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
SAID = ["I would appreciate a short answer about docker"] * 5


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def space(owner):
    return owner.space


@pytest.fixture
def client(owner):
    return make_client(owner.user)


def at(name, **query) -> str:
    return reverse(f"identity:{name}", args=["casa"], query=query)


def shown(client) -> str:
    """The part of the page that is about the first conversation."""
    answer = client.get(at("index"))
    assert answer.status_code == 200
    return answer.content.decode().partition('id="talk"')[2].partition("</section>")[0]


def talk(space, *said):
    for one in said:
        bootstrap.advance(space, bootstrap.next_step(space, message=one))


def step_now(part: str) -> str:
    return part.partition('aria-current="step"')[2].partition("</li>")[0]


def test_before_it_began_the_page_says_how_to_begin(client, space):
    part = shown(client)
    assert "not begun" in part
    assert "/bootstrap" in part


def test_wording_the_core_is_no_first_conversation(client, space):
    Identity.objects.create(space=space, core="I am Ada.")
    assert "not begun" in shown(client)


def test_while_it_goes_on_one_sees_where_and_how_far(client, space):
    chat = make_chat(space, title="Kitchen")
    bootstrap.start(space, chat=chat.pk)
    part = shown(client)
    assert "0 of 5 messages heard" in part
    assert "Kitchen" in part
    assert reverse("chats:detail", args=["casa", chat.pk]) in part
    assert "How Keno reads you" not in part, "nobody has said anything yet"
    assert "Nothing has been changed yet" in client.get(at("index")).content.decode()
    talk(space, *SAID[:3])
    assert "3 of 5 messages heard" in shown(client)


@pytest.mark.parametrize(
    ("heard", "now"), [(4, "listens"), (5, "says how it reads"), (6, "asks"), (7, "become")]
)
def test_each_step_follows_the_one_before(client, space, heard, now):
    bootstrap.start(space)
    talk(space, *[*SAID, "yes", "nothing"][:heard])
    assert now in step_now(shown(client))


def test_what_is_known_and_what_is_missing_are_told_apart(client, space):
    bootstrap.start(space)
    talk(space, *SAID[:2])
    known, _missing, missing = shown(client).partition("Not known yet")
    assert "a formal tone" in known
    assert "docker" in known
    assert "Boundaries" in missing
    assert "Tone" not in missing


def test_a_correction_is_a_preference_that_the_talk_leaves_alone(client, space):
    bootstrap.start(space)
    talk(space, *SAID)
    there = at("prefer", key="Tone", section="Profile", value="a formal tone")
    assert there.replace("&", "&amp;") in shown(client)
    form = client.get(there).content.decode()
    assert 'value="a formal tone"' in form
    client.post(there, {"key": "Tone", "section": "Profile", "value": "like a pirate"})
    part = shown(client)
    assert "like a pirate" in part
    assert "written by a person" in part
    talk(space, "hm", "yes", "nothing")
    assert Preference.objects.get(key="Tone").value == "like a pirate"
    part = shown(client)
    assert "complete" in part
    assert "like a pirate" in part


@pytest.mark.parametrize("headers", [{}, {"hx-request": "true"}])
def test_a_person_ends_it_and_one_undo_takes_back_what_it_kept(client, space, headers):
    bootstrap.start(space)
    talk(space, *SAID[:2])
    answer = client.post(at("end_talk"), headers=headers)
    assert answer.status_code == (200 if headers else 302)
    kept = {one.key: one.value for one in preferences.active(space)}
    assert kept["Tech"] == "docker"
    page = client.get(at("index")).content.decode()
    undo = page.partition('action="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    assert preferences.active(space) == []


def test_ending_what_has_heard_nothing_keeps_nothing(client, space):
    bootstrap.start(space)
    client.post(at("end_talk"))
    assert "nothing was kept" in client.get(at("index")).content.decode()
    assert not Preference.objects.exists()
    assert not bootstrap.is_active(space)
    client.post(at("end_talk"))
    assert "Nothing to change: it is so already." in client.get(at("index")).content.decode()


def test_viewers_look_and_do_not_end_it(space):
    bootstrap.start(space)
    talk(space, *SAID)
    guest = make_client(make_member(space=space, role="viewer").user)
    part = shown(guest)
    assert "a formal tone" in part
    assert "<form" not in part
    assert at("prefer") not in part
    assert guest.post(at("end_talk")).status_code == 403
    assert guest.get(at("end_talk")).status_code in (403, 405)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"count": "x", "heard": "y", "chat": "z", "at": "never"},
        {"count": 6, "heard": [1, None], "at": 7, "chat": True, "correction": ["a"]},
        {"count": -3, "heard": ["hola"], "profile": {"tone": "<b>", "language": "xx"}},
        {"count": 10**9, "profile": {"tech": {"a": 1}}, "at": "2026-99-99T00:00"},
        ["a"],
        "b",
    ],
)
def test_an_odd_stored_state_is_survived(client, space, odd):
    Identity.objects.create(space=space, bootstrap=odd)
    assert "Getting to know each other" in shown(client)
    assert client.post(at("end_talk")).status_code == 302
