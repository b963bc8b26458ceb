"""T-26: nobody lives here at first, and the first owner comes by a printed link alone."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from kenoweb.auth import accounts
from kenoweb.models import OneTimeLink
from memory.models import AuditEntry, Member, Space
from tests.factories import PASSWORD, make_user

FORM = {
    "called": "Ana María",
    "name": "ana",
    "new": PASSWORD,
    "again": PASSWORD,
    "space": "Casa",
    "timezone": "America/Mexico_City",
}


def path(now=None) -> str:
    return accounts.sign_in_link("", now=now)


@pytest.mark.django_db
def test_T26_a_fresh_installation_has_nobody():
    assert not User.objects.exists()
    assert not Space.objects.exists()


@pytest.mark.django_db
def test_the_link_makes_the_owner_and_the_first_space(client):
    answer = client.post(path(), FORM, headers={"accept-language": "es"})
    assert answer.status_code == 302
    member = Member.objects.get()
    assert (member.user.username, member.role) == ("ana", "owner")
    assert not member.user.is_superuser
    assert member.user.first_name == "Ana María"
    space = member.space
    assert (space.name, space.slug, space.language) == ("Casa", "casa", "es")
    assert space.timezone == "America/Mexico_City"
    assert client.get("/account/").status_code == 200


@pytest.mark.django_db
def test_looking_at_the_link_does_not_use_it_up(client):
    there = path()
    for _ in range(3):
        assert client.get(there).status_code == 200
    assert client.post(there, FORM).status_code == 302


@pytest.mark.django_db
def test_T26_once_somebody_lives_here_every_setup_link_is_gone(client):
    first, second = path(), path()
    client.post(first, FORM)
    for there in (first, second):
        assert client.get(there).status_code == 404
        assert client.post(there, FORM | {"name": "eve"}).status_code == 404
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_it_is_gone_too_when_the_person_came_by_the_command_line(client):
    there = path()
    make_user()
    assert client.get(there).status_code == 404


@pytest.mark.django_db
def test_a_link_whose_time_is_over_says_so(client):
    answer = client.get(path(now=timezone.now() - timedelta(minutes=31)))
    assert answer.status_code == 410
    assert "manage.py signin" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("token", ["x", "x" * 43, "..", "%00", "é"])
def test_a_made_up_link_is_not_found(client, token):
    assert client.get(f"/setup/{token}/").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"name": "a b<"}, {"new": "short"}, {"again": "else"}, {"timezone": "Mars/X"}],
)
def test_a_mistake_uses_nothing_up(client, wrong):
    there = path()
    answer = client.post(there, FORM | wrong)
    assert answer.status_code == 422
    assert answer.context["form"].errors
    assert not User.objects.exists()
    assert client.post(there, FORM).status_code == 302


@pytest.mark.django_db
def test_the_zone_of_the_browser_is_offered_but_does_not_replace_a_chosen_one(client):
    there = path()
    assert "data-zone" in client.get(there).content.decode()
    assert "data-zone" not in client.post(there, FORM | {"again": "else"}).content.decode()


@pytest.mark.django_db
def test_it_is_in_the_book(client):
    client.post(path(), FORM)
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", "actor"))
    assert actions == [("account.created", "person:ana"), ("space.created", "person:ana")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("same_link", [True, False])
def test_T26_of_many_who_race_one_becomes_the_owner(same_link):
    ways = [path()] * 6 if same_link else [path() for _ in range(6)]

    def attempt(number):
        try:
            return Client().post(ways[number], FORM | {"name": f"ana{number}"}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        found = sorted(pool.map(attempt, range(6)))
    assert found[0] == 302
    assert set(found[1:]) <= {404, 410}
    assert User.objects.count() == Space.objects.count() == Member.objects.count() == 1
    assert OneTimeLink.objects.exclude(used_at=None).count() == 1
