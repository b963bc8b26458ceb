"""T-16: what gives memory away or removes it asks for the password again."""

import time

import pytest
from django.urls import reverse

from tests.factories import PASSWORD, make_client, make_member, make_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_member()


def page(owner) -> str:
    return reverse("tokens:new", args=[owner.space.slug])


def confirm(client, there, password=PASSWORD):
    return client.post(f"{reverse('account:sudo')}?next={there}", {"password": password})


def test_T16_it_asks_before_a_token_is_made(owner):
    answer = make_client(owner.user).get(page(owner))
    assert answer.url == f"{reverse('account:sudo')}?next={page(owner).replace('/', '%2F')}"


def test_T16_a_post_without_it_does_nothing(owner):
    client = make_client(owner.user)
    answer = client.post(page(owner), {"name": "x", "scopes": ["read"]}, headers={"referer": "/"})
    assert answer.status_code == 302
    assert not owner.space.tokens.exists()


def test_T16_after_the_password_it_goes_on(owner):
    client = make_client(owner.user)
    assert confirm(client, page(owner)).url == page(owner)
    assert client.get(page(owner)).status_code == 200


def test_T16_a_wrong_password_does_not(owner):
    client = make_client(owner.user)
    assert "That is not your password." in confirm(client, page(owner), "no").content.decode()
    assert client.get(page(owner)).status_code == 302


def test_T16_it_asks_again_after_half_an_hour(owner):
    client = make_client(owner.user, sudo=True)
    assert client.get(page(owner)).status_code == 200
    session = client.session
    session["sudo"] = time.time() - 30 * 60 - 1
    session.save()
    assert client.get(page(owner)).status_code == 302


def test_guessing_is_throttled(owner):
    client = make_client(owner.user)
    for _ in range(20):
        confirm(client, page(owner), "no")
    assert "Too many tries" in confirm(client, page(owner)).content.decode()


def test_it_never_leads_to_another_site(owner):
    assert confirm(make_client(owner.user), "https://evil.example/").url == reverse("home")


def test_htmx_is_sent_there_with_the_whole_window(owner):
    client = make_client(owner.user, headers={"hx-request": "true"})
    here = f"http://testserver{reverse('tokens:index', args=[owner.space.slug])}"
    answer = client.post(page(owner), headers={"hx-current-url": here})
    assert answer["HX-Redirect"].startswith(reverse("account:sudo"))


def test_revoking_needs_no_password(owner):
    token, _key = make_token(owner.space, user=owner.user)
    make_client(owner.user).post(reverse("tokens:revoke", args=[owner.space.slug, token.pk]))
    token.refresh_from_db()
    assert token.revoked_at
