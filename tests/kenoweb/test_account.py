import pytest
from django.urls import reverse

from tests.factories import make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db


def test_it_shows_where_the_person_is_what():
    member = make_member(space=make_space("casa"), role="curator", user=make_user("ana"))
    page = make_client(member.user).get("/account/").content.decode()
    assert "Casa" in page
    assert "Curator" in page


@pytest.mark.parametrize(("name", "form"), [("theme", "dark"), ("language", "es")])
def test_a_choice_follows_the_person_to_the_next_browser(name, form):
    ana = make_user()
    make_client(ana).post(reverse(name), {name: form})
    ana.refresh_from_db()
    assert getattr(ana.account, name) == form


def test_a_choice_before_signing_in_is_kept_by_the_browser(client):
    assert client.post(reverse("theme"), {"theme": "dark"}).cookies["keno_theme"].value == "dark"
    assert 'data-theme="dark"' in client.get("/sign-in/").content.decode()


def test_names_cannot_smuggle_markup():
    ana = make_user("<b>ana</b>")
    assert "<b>ana</b>" not in make_client(ana).get("/account/").content.decode()
