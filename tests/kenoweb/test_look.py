import pytest
from django.conf import settings
from django.urls import reverse

from kenoweb.models import Account
from tests.factories import make_client, make_member, make_user

pytestmark = pytest.mark.django_db


def test_the_theme_is_kept_in_a_cookie_and_in_the_account():
    user = make_user()
    client = make_client(user)
    answer = client.post(reverse("theme"), {"theme": "dark", "next": "/account/"})
    assert answer["Location"] == "/account/"
    assert client.cookies["keno_theme"].value == "dark"
    assert Account.objects.get(user=user).theme == "dark"
    assert b'<html lang="en" data-theme="dark">' in client.get("/account/").content


def test_htmx_gets_no_page_for_a_theme():
    answer = make_client().post(
        reverse("theme"), {"theme": "light"}, headers={"hx-request": "true"}
    )
    assert answer.status_code == 204


@pytest.mark.parametrize("bad", ["", "neon", "dark; x=1", "\x00"])
def test_an_unknown_theme_changes_nothing(bad):
    client = make_client()
    assert client.post(reverse("theme"), {"theme": bad}).status_code == 302
    assert "keno_theme" not in client.cookies


def test_a_cookie_somebody_edited_does_no_harm():
    client = make_client()
    client.cookies["keno_theme"] = '"><script>'
    page = client.get(reverse("account:sign_in")).content
    assert b"<script>" not in page
    assert b'data-theme="' not in page


def test_the_language_is_kept_and_spoken():
    user = make_user()
    client = make_client(user)
    client.post(reverse("language"), {"language": "es"})
    assert client.cookies[settings.LANGUAGE_COOKIE_NAME].value == "es"
    assert Account.objects.get(user=user).language == "es"
    assert b'<html lang="es">' in client.get("/account/").content


def test_the_browser_is_believed_when_nobody_chose():
    page = make_client().get(
        reverse("account:sign_in"), headers={"accept-language": "es-MX,es;q=0.9"}
    )
    assert b'<html lang="es">' in page.content


@pytest.mark.parametrize(
    "there", ["https://evil.example/", "//evil.example", "javascript:alert(1)"]
)
def test_a_form_cannot_send_the_browser_elsewhere(there):
    for name in ("theme", "language"):
        answer = make_client().post(reverse(name), {"theme": "dark", "next": there})
        assert answer["Location"] == "/"


def test_looking_is_not_choosing():
    assert make_client().get(reverse("theme")).status_code == 405


def test_the_style_guide_shows_every_part_to_anybody_with_an_account():
    page = make_client(make_member().user).get(reverse("styleguide")).content.decode()
    for part in ("colour", "icons", "buttons", "fields", "rows", "diff", "charts", "empty", "keys"):
        assert f'id="{part}"' in page
