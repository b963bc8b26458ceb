import pytest
from django.conf import settings as loaded
from django.test import Client
from django.urls import reverse

from kenoweb.auth import accounts, throttle
from kenoweb.settings import base as settings
from memory.models import AuditEntry
from tests.factories import PASSWORD, make_client, make_member, make_user

pytestmark = pytest.mark.django_db
DOOR = "/sign-in/"


@pytest.fixture
def ana():
    return make_user("ana")


def give(client, name="ana", password=PASSWORD, url=DOOR, **more):
    return client.post(url, {"name": name, "password": password, **more})


def said(answer) -> str:
    return " ".join(answer.context["form"].non_field_errors())


def test_the_right_password_opens(client, ana):
    answer = give(client)
    assert answer.url == reverse("home")
    assert client.session["_auth_user_id"] == str(ana.pk)


def test_a_wrong_password_says_no_more_than_an_unknown_name(client, ana):
    wrong, unknown = give(client, password="no"), give(client, name="bo")
    assert wrong.status_code == unknown.status_code == 422
    assert said(wrong) == said(unknown) == "That name and password do not match."
    assert "_auth_user_id" not in client.session


def test_an_unknown_name_costs_a_hash_like_a_known_one(client, ana, monkeypatch):
    hashed = []
    real = type(ana).set_password
    monkeypatch.setattr(
        type(ana), "set_password", lambda self, raw: hashed.append(raw) or real(self, raw)
    )
    give(client, name="bo", password="guess")
    assert hashed == ["guess"]


def test_a_person_who_was_switched_off_cannot_sign_in(client):
    make_user("bo", is_active=False)
    assert said(give(client, name="bo")) == "That name and password do not match."


def test_the_session_key_is_a_new_one_after_signing_in(client, ana):
    session = client.session
    session["planted"] = True
    session.save()
    before = client.session.session_key
    give(client)
    assert client.session.session_key != before


def test_it_goes_on_to_the_page_that_was_asked_for(client, ana):
    assert give(client, url=f"{DOOR}?next=/account/").url == "/account/"


@pytest.mark.parametrize(
    "there", ["https://evil.example/", "//evil.example", "javascript:alert(1)"]
)
def test_it_never_sends_anybody_to_another_site(client, ana, there):
    assert give(client, url=f"{DOOR}?next={there}").url == reverse("home")


def test_a_few_tries_are_left_and_then_there_is_a_pause(client, ana):
    for _ in range(throttle.PER_ACCOUNT - throttle.PER_ACCOUNT // 4):
        last = give(client, password="no")
    assert "5 tries are left" in said(last)
    for _ in range(throttle.PER_ACCOUNT // 4):
        give(client, password="no")
    assert "Too many tries. Wait 3 minutes" in said(give(client))
    assert "_auth_user_id" not in client.session


def test_l5_guessing_elsewhere_does_not_keep_a_person_out_of_their_own_browser(client, ana):
    give(client)
    client.post("/sign-out/")
    stranger = Client()
    for _ in range(throttle.PER_ACCOUNT):
        give(stranger, password="no")
    assert "Too many tries" in said(give(stranger))
    assert give(client).status_code == 302
    # A cookie somebody made up, or of another account, counts for nothing.
    stranger.cookies[throttle.DEVICE] = client.cookies[throttle.DEVICE].value[:-3] + "abc"
    assert "Too many tries" in said(give(stranger))
    # And a known browser has no more tries than anybody.
    for _ in range(throttle.PER_ACCOUNT):
        give(client, password="no")
    assert "Too many tries" in said(give(client))


def test_the_pause_is_the_same_for_a_name_that_does_not_exist(client):
    for _ in range(throttle.PER_ACCOUNT):
        give(client, name="bo", password="no")
    assert "Too many tries" in said(give(client, name="bo"))


def test_one_address_cannot_try_many_names(client, ana):
    for number in range(throttle.PER_ADDRESS):
        throttle.spend(f"name{number}", "127.0.0.1")
    assert "Too many tries" in said(give(client))


def test_the_right_password_costs_no_try(client, ana):
    for _ in range(throttle.PER_ACCOUNT + 5):
        assert give(client).status_code == 302


def test_it_wears_the_language_and_theme_of_the_person(client, ana):
    accounts.prefer(ana, language="es", theme="dark")
    answer = give(client)
    assert answer.cookies[loaded.LANGUAGE_COOKIE_NAME].value == "es"
    assert answer.cookies["keno_theme"].value == "dark"


def test_both_outcomes_are_in_the_book(client, ana):
    give(client, password="no")
    give(client, name="hunter2")
    give(client)
    found = AuditEntry.objects.order_by("pk").values_list("action", "actor", "details", "ip")
    assert list(found) == [
        ("account.refused", "anonymous", {"account": "ana"}, "127.0.0.1"),
        # A password typed into the wrong field must not be kept.
        ("account.refused", "anonymous", {"account": ""}, "127.0.0.1"),
        ("account.signed_in", "person:ana", {}, "127.0.0.1"),
    ]


@pytest.mark.parametrize("name", ["\x00", "a" * 5000, "' OR 1=1 --", "", "💥"])
def test_odd_names_are_refused_in_words(client, name):
    assert give(client, name=name).status_code == 422


def test_somebody_signed_in_is_sent_on():
    client = make_client(make_member().user)
    assert client.get(DOOR).url == reverse("home")


def test_passwords_are_hashed_with_argon2():
    assert settings.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]


def test_the_page_itself_asks_the_database_nothing(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get(DOOR)
    assert "no-store" in answer["Cache-Control"]
