import time
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from kenoweb.auth import sessions
from tests.factories import PASSWORD, make_client, make_user

pytestmark = pytest.mark.django_db
HOUR, DAY = 60 * 60, 24 * 60 * 60


def age(client, **seconds):
    """Let the session be that much older, without waiting for it."""
    session = client.session
    for name, past in seconds.items():
        session[name] = time.time() - past
    session.save()


def is_in(client) -> bool:
    return client.get("/account/").status_code == 200


def sign_in(client, **more):
    make_user("ana")
    client.post("/sign-in/", {"name": "ana", "password": PASSWORD, **more})


def test_twelve_hours_without_a_visit_end_it(client):
    sign_in(client)
    age(client, seen=12 * HOUR - 60)
    assert is_in(client)
    age(client, seen=12 * HOUR + 60)
    assert not is_in(client)
    assert "_auth_user_id" not in client.session


def test_who_chose_to_stay_may_come_back_later(client):
    sign_in(client, keep="on")
    age(client, seen=5 * DAY)
    assert is_in(client)


@pytest.mark.parametrize("more", [{}, {"keep": "on"}])
def test_fourteen_days_end_every_session(client, more):
    sign_in(client, **more)
    age(client, began=14 * DAY + 60)
    assert not is_in(client)


def test_a_session_without_clocks_is_over(client):
    sign_in(client)
    session = client.session
    del session["began"]
    session.save()
    assert not is_in(client)


def test_without_staying_the_cookie_ends_with_the_browser(client):
    sign_in(client)
    assert client.cookies[settings.SESSION_COOKIE_NAME]["max-age"] == ""
    client.cookies.clear()
    client.post("/sign-in/", {"name": "ana", "password": PASSWORD, "keep": "on"})
    assert client.cookies[settings.SESSION_COOKIE_NAME]["max-age"] == 14 * DAY


def test_looking_writes_the_session_at_most_every_five_minutes(client, django_assert_num_queries):
    sign_in(client)
    is_in(client)
    age(client, seen=sessions.SEEN_EVERY + 60)
    is_in(client)
    assert time.time() - client.session["seen"] < 60


def test_signing_in_sweeps_sessions_that_are_over(client):
    past = timezone.now() - timedelta(days=1)
    Session.objects.create(session_key="old", session_data="", expire_date=past)
    sign_in(client)
    assert Session.objects.count() == 1


def test_a_person_who_is_switched_off_is_out_at_once(client):
    sign_in(client)
    assert is_in(client)
    type(make_user()).objects.filter(username="ana").update(is_active=False)
    assert not is_in(client)


def test_htmx_without_a_session_is_sent_to_the_door_with_the_whole_window(client):
    here = "http://testserver/account/password/"
    headers = {"hx-request": "true", "hx-current-url": here}
    answer = client.post("/account/sign-out-everywhere/", headers=headers)
    assert answer["HX-Redirect"].startswith("/sign-in/?next=")
    assert "password" in answer["HX-Redirect"]


def test_after_an_expired_post_the_way_back_leads_to_the_page_it_came_from(client):
    answer = client.post(
        "/account/sign-out-everywhere/", headers={"referer": "http://testserver/account/"}
    )
    assert answer.url == "/sign-in/?next=%2Faccount%2F"


def test_a_page_costs_one_query_for_session_and_one_for_the_person(django_assert_num_queries):
    client = make_client(make_user())
    # session, person with account, memberships
    with django_assert_num_queries(3):
        client.get("/account/")


def test_the_table_holds_no_key_that_a_browser_could_send(client):
    sign_in(client)
    key = client.session.session_key
    stored = list(Session.objects.values_list("session_key", flat=True))
    assert key not in stored
    for copied in stored:
        client.cookies[settings.SESSION_COOKIE_NAME] = copied
        assert not is_in(client)
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    assert is_in(client)
    client.post("/sign-out/")
    assert not Session.objects.filter(session_key__in=stored).exists()
