import pytest
from django.http import Http404, HttpResponse
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from kenoweb.auth import access
from memory.models import Fact, Message
from tests.factories import (
    make_chat,
    make_client,
    make_fact,
    make_member,
    make_message,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db


def test_a_list_begins_with_the_rows_of_one_space():
    mine, theirs = make_fact(), make_fact()
    assert list(access.rows_in(mine.space, Fact)) == [mine]
    with pytest.raises(Http404):
        access.fact_for(mine.space, theirs.pk)


def test_a_child_is_tied_to_its_parent():
    chat = make_chat()
    other = make_message(make_chat(chat.space))
    with pytest.raises(Http404):
        access.message_for(chat.space, other.pk, chat=chat)
    assert access.get_in_space_or_404(chat.space, Message, other.pk) == other


@pytest.mark.parametrize("pk", [0, 2**31, 2**63, 10**40])
def test_an_impossible_number_is_not_found(pk):
    with pytest.raises(Http404):
        access.fact_for(make_space(), pk)


def test_memberships_are_read_once(django_assert_num_queries):
    request = RequestFactory().get("/")
    request.user = make_member().user
    with django_assert_num_queries(1):
        assert len(access.memberships(request)) == 1
        assert len(access.memberships(request)) == 1


def test_times_are_shown_on_the_clock_of_the_space():
    member = make_member(space=make_space(timezone="Asia/Tokyo"))
    client = make_client(member.user)
    seen = []

    @access.in_space(role="viewer")
    def view(request, space):
        seen.append(timezone.get_current_timezone_name())
        return HttpResponse()

    request = RequestFactory().get("/")
    request.user, request.session = member.user, client.session
    view(request, member.space.slug)
    assert seen == ["Asia/Tokyo"]


def test_a_zone_the_system_has_forgotten_breaks_no_page():
    member = make_member(space=make_space(timezone="Mars/Olympus"))
    path = reverse("members:index", args=[member.space.slug])
    assert make_client(member.user).get(path).status_code == 200


def test_a_zone_the_system_has_forgotten_does_not_break_the_recall_lab():
    member = make_member(space=make_space(timezone="Mars/Olympus"), role="owner")
    make_fact(member.space, text="Ana's sister lives in Seville")
    path = reverse("recall:lab", args=[member.space.slug])
    page = make_client(member.user).get(path, {"q": "Where does my sister live?"})
    assert "lives in Seville" in page.content.decode()


def test_the_first_page_is_the_space_visited_last():
    ana = make_user()
    for slug in ("alpha", "beta"):
        make_member(space=make_space(slug), user=ana)
    client = make_client(ana)
    assert client.get("/").url == "/s/alpha/"
    client.get("/s/beta/members/")
    assert client.get("/").url == "/s/beta/"


def test_a_cookie_for_a_space_that_is_not_mine_is_ignored():
    ana = make_member(space=make_space("alpha")).user
    make_space("theirs")
    client = make_client(ana)
    client.cookies["keno_space"] = "theirs"
    assert client.get("/").url == "/s/alpha/"


def test_somebody_in_no_space_is_told_so():
    client = make_client(make_user())
    assert client.get("/").url == reverse("spaces:index")
    assert "not in any space" in client.get("/spaces/").content.decode()
