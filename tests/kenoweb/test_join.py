from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from kenoweb.auth import accounts
from memory.models import Member, Notice
from tests.factories import PASSWORD, make_client, make_member, make_user

FORM = {"name": "bo", "new": PASSWORD, "again": PASSWORD}


@pytest.fixture
def owner(db):
    return make_member(user=make_user("ana"))


def invite(owner, role="curator") -> str:
    return accounts.invite(owner.space, role=role, by=owner.user)


def test_a_new_person_gets_an_account_and_the_role(client, owner):
    answer = client.post(invite(owner), FORM)
    assert answer.url == f"/s/{owner.space.slug}/"
    assert Member.objects.get(user__username="bo").role == "curator"
    assert client.get("/account/").status_code == 200


def test_somebody_with_an_account_joins_with_a_press(owner):
    bo = make_user("bo")
    client, there = make_client(bo), invite(owner, role="viewer")
    assert "Join as bo" in client.get(there).content.decode()
    assert not bo.memberships.exists()
    assert client.post(there).url == f"/s/{owner.space.slug}/"
    assert bo.memberships.get().role == "viewer"


def test_the_page_says_who_invites_where_and_as_what(client, owner):
    page = client.get(invite(owner)).content.decode()
    assert owner.space.name in page
    assert "ana invites you. Your role: Curator." in page


def test_a_member_keeps_their_role_and_the_link_is_left(owner):
    there = invite(owner, role="viewer")
    assert make_client(owner.user).post(there).status_code == 302
    owner.refresh_from_db()
    assert owner.role == "owner"
    assert len(accounts.waiting(owner.space)) == 1


def test_the_space_gets_a_notice_in_its_own_language(client, owner):
    type(owner.space).objects.update(language="es")
    client.post(invite(owner), FORM, headers={"accept-language": "en"})
    notice = Notice.objects.get(space=owner.space)
    assert notice.text == "bo se ha unido. Rol: Curador."
    assert notice.link == f"/s/{owner.space.slug}/members/"


def test_it_works_once(client, owner):
    there = invite(owner)
    client.post(there, FORM)
    answer = Client().post(there, FORM | {"name": "cy"})
    assert answer.status_code == 410
    assert "Ask for a new invitation" in answer.content.decode()
    assert not User.objects.filter(username="cy").exists()


def test_a_withdrawn_invitation_is_not_found(client, owner):
    there = invite(owner)
    accounts.withdraw(accounts.waiting(owner.space)[0], by="person:ana")
    assert client.get(there).status_code == 404


@pytest.mark.parametrize("name", ["ana", "ANA"])
def test_a_taken_name_is_refused_and_nothing_used_up(client, owner, name):
    there = invite(owner)
    answer = client.post(there, FORM | {"name": name})
    assert "This name is taken" in answer.content.decode()
    assert client.post(there, FORM).status_code == 302


def test_l4_one_invitation_does_not_list_the_names_that_are_taken(client, owner):
    there = invite(owner)
    tries = [client.post(there, FORM | {"name": "ana"}).content.decode() for _ in range(22)]
    assert ["Too many tries" in page for page in tries] == [False] * 20 + [True] * 2
    # Nor does it say it beside the sentence that asks to wait: a free name waits as well.
    assert client.post(there, FORM | {"name": "free"}).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_of_two_who_race_for_one_invitation_one_joins():
    owner = make_member(user=make_user("ana"))
    there = invite(owner)

    def attempt(number):
        try:
            return Client().post(there, FORM | {"name": f"bo{number}"}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(attempt, range(4))) == [302, 410, 410, 410]
    assert owner.space.members.count() == User.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_of_two_who_race_for_one_name_one_gets_it_and_the_other_a_sentence():
    owner = make_member(user=make_user("ana"))
    ways = [invite(owner) for _ in range(4)]

    def attempt(number):
        try:
            return Client().post(ways[number], FORM).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(attempt, range(4))) == [302, 422, 422, 422]
    assert len(accounts.waiting(owner.space)) == 3
