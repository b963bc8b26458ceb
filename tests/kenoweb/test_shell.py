import pytest
from django.urls import reverse

from kenoweb.ui import page_chrome
from kenoweb.ui.page_chrome import NAVIGATION, SPACE_MENU
from memory import working
from tests.factories import (
    make_chat,
    make_client,
    make_episode,
    make_fact,
    make_member,
    make_space,
    make_working_note,
)

pytestmark = pytest.mark.django_db
PLACES = [place for _title, places in NAVIGATION for place in places] + SPACE_MENU


def test_every_letter_goes_to_one_place():
    keys = [place.key for place in PLACES]
    assert len(keys) == len(set(keys))
    assert "g" not in keys


def test_the_rail_shows_only_pages_that_exist():
    member = make_member()
    page = make_client(member.user).get(reverse("overview:index", args=[member.space.slug]))
    built = page.context["chrome"]
    shown = {link.url for _title, links in built.groups for link in links}
    assert reverse("overview:index", args=[member.space.slug]) in shown
    assert len(shown) == sum(len(places) for _title, places in NAVIGATION)


def test_numbers_count_this_space_only():
    member = make_member()
    for number in range(3):
        make_fact(member.space, text=f"fact {number}")
    make_fact(make_space(), text="elsewhere")
    assert page_chrome.count_all(member.space)["facts:index"] == 3


def test_numbers_cost_one_query(django_assert_num_queries):
    space = make_space()
    with django_assert_num_queries(1):
        page_chrome.count_all(space)


def test_a_note_that_says_nothing_is_no_note():
    space = make_space()
    make_working_note(make_chat(space))
    make_working_note(make_chat(space), **working.EMPTY)
    assert page_chrome.count_all(space)["working:index"] == 1


def test_counting_stops_where_nobody_reads_on(monkeypatch):
    monkeypatch.setattr(page_chrome, "COUNT_LIMIT", 2)
    space = make_space()
    for number in range(4):
        make_fact(space, text=f"fact {number}")
    assert page_chrome.count_all(space)["facts:index"] == 2


@pytest.mark.parametrize(
    ("name", "view", "lit"),
    [
        ("facts:index", "facts:index", True),
        ("facts:index", "facts:detail", True),
        ("facts:index", "episodes:index", False),
        ("recall:lab", "recall:receipts", False),
        ("recall:receipts", "recall:receipt", True),
        ("recall:lab", "recall:lab", True),
        ("facts:index", "", False),
    ],
)
def test_a_page_lights_up_its_place(name, view, lit):
    assert page_chrome.is_current(name, view) is lit


def test_the_switcher_offers_my_spaces_and_no_other():
    member = make_member(space=make_space("mine", name="Mine"))
    make_member(user=member.user, space=make_space("ours", name="Ours"))
    make_space("theirs", name="Theirs")
    page = make_client(member.user).get(reverse("overview:index", args=["ours"]))
    spaces = page.context["chrome"].spaces
    assert [(link.label, link.current) for link in spaces] == [("Mine", False), ("Ours", True)]


def test_pages_without_a_space_keep_the_one_visited_last():
    member = make_member(space=make_space("aaa"))
    make_member(user=member.user, space=make_space("bbb"))
    client = make_client(member.user)
    client.get(reverse("overview:index", args=["bbb"]))
    assert client.get(reverse("account:index")).context["chrome"].space.slug == "bbb"


def test_what_only_owners_may_open_is_not_offered_to_viewers():
    member = make_member(role="viewer")
    page = make_client(member.user).get(reverse("overview:index", args=[member.space.slug]))
    assert [link.icon for link in page.context["chrome"].menu] == ["members"]


def test_the_door_reads_no_spaces(django_assert_num_queries):
    with django_assert_num_queries(0):
        make_client().get(reverse("account:sign_in"))


def test_a_browser_that_shows_json_finds_the_icon(client):
    assert client.get("/favicon.ico").url.endswith(".svg")


@pytest.mark.parametrize(
    ("page", "lit"),
    [
        ("members:index", "settings:index"),
        ("tokens:index", "settings:index"),
        ("spaces:edit", "settings:index"),
        ("dead_letters:index", "health:index"),
        ("still_true:index", "proposals:index"),
    ],
)
def test_a_page_without_a_place_of_its_own_lights_the_one_it_belongs_to(page, lit):
    assert [name for name in sorted(page_chrome.NAMED) if page_chrome.is_current(name, page)] == [
        lit
    ]


def test_the_rail_counts_what_its_page_counts():
    """Neither what waits in the trash nor what a private chat of somebody else holds."""
    member = make_member()
    closed = make_chat(member.space, is_private=True, owner=make_member(space=member.space))
    make_episode(member.space)
    make_episode(member.space, status="discarded")
    make_episode(member.space, chat=closed)
    page = make_client(member.user).get(reverse("episodes:index", args=[member.space.slug]))
    links = {link.name: link for _title, links in page.context["chrome"].groups for link in links}
    assert links["episodes:index"].count == "1"
    assert '<span class="num">1</span> in' in page.content.decode()
