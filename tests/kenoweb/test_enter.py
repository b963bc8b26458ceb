import pytest

from kenoweb.auth import accounts
from memory.models import AuditEntry
from tests.factories import make_member, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana():
    return make_member(user=make_user("ana")).user


def test_a_look_does_not_sign_in_and_a_press_does(client, ana):
    there = accounts.sign_in_link("")
    answer = client.get(there)
    assert "Welcome back, ana" in answer.content.decode()
    assert "_auth_user_id" not in client.session
    assert client.post(there).url == "/"
    assert client.session["_auth_user_id"] == str(ana.pk)


def test_it_works_once(client, ana):
    there = accounts.sign_in_link("")
    client.post(there)
    client.logout()
    assert client.post(there).status_code == 410
    assert client.get(there).status_code == 410
    assert "_auth_user_id" not in client.session


def test_it_is_no_password(client, ana):
    client.post(accounts.sign_in_link(""))
    assert not client.session.get("sudo")


def test_a_link_for_somebody_who_was_switched_off_is_not_found(client, ana):
    there = accounts.sign_in_link("")
    type(ana).objects.update(is_active=False)
    assert client.post(there).status_code == 404


def test_it_is_in_the_book(client, ana):
    client.post(accounts.sign_in_link(""))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.details) == (
        "account.signed_in",
        "person:ana",
        {"by": "link"},
    )
