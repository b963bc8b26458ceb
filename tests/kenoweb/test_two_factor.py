"""The second factor: without its code the right password opens nothing."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kenoweb.auth import throttle, two_factor
from kenoweb.models import Account
from tests.factories import PASSWORD, make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
PAGE, DOOR, SECOND = "/account/two-factor/", "/sign-in/", "/sign-in/code/"


@pytest.fixture
def ana():
    return make_member(space=make_space("casa"), user=make_user("ana")).user


def now_code(secret: str, *, ahead: int = 0) -> str:
    return two_factor.code_at(secret, int(timezone.now().timestamp()) // 30 + ahead)


def switched_on(user) -> tuple[str, list[str]]:
    """Its secret and recovery codes, set up on the page as a person does."""
    client = make_client(user, sudo=True)
    page = client.get(PAGE)
    secret = page.context["secret"].replace(" ", "")
    given = {"do": "on", "offer": page.context["offer"], "code": now_code(secret, ahead=-1)}
    done = client.post(PAGE, given)
    return secret, re.findall(r"[0-9a-f]{5}-[0-9a-f]{5}", done.content.decode())


def password(client) -> object:
    return client.post(DOOR, {"name": "ana", "password": PASSWORD})


def test_the_numbers_are_those_of_rfc_6238():
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    found = [two_factor.code_at(secret, at // 30) for at in (59, 1111111109, 20000000000)]
    assert found == ["287082", "081804", "353130"]


def test_an_offer_that_does_not_hold_any_more_gives_way_to_one_that_does(ana):
    client, of_another = make_client(ana, sudo=True), two_factor.offer(make_user("bo"))
    refused = client.post(PAGE, {"do": "on", "offer": of_another, "code": "000000"})
    assert refused.status_code == 422
    assert "too old" in refused.content.decode()
    secret = refused.context["secret"].replace(" ", "")
    client.post(PAGE, {"do": "on", "offer": refused.context["offer"], "code": now_code(secret)})
    assert two_factor.has_app(User.objects.get(pk=ana.pk))


def test_with_it_the_password_alone_opens_nothing(client, ana):
    secret, codes = switched_on(ana)
    assert len(codes) == 10
    assert password(client).url == SECOND
    assert "_auth_user_id" not in client.session
    assert client.get("/s/casa/facts/").url.startswith(DOOR)
    assert client.post(SECOND, {"code": "000000"}).status_code == 422
    assert client.post(SECOND, {"code": now_code(secret)}).url == reverse("home")
    assert client.session["_auth_user_id"] == str(ana.pk)


def test_a_code_works_once_and_so_does_a_recovery_code(ana):
    secret, codes = switched_on(ana)
    code, answers = now_code(secret), []
    for given in (code, code, codes[0], codes[0].upper().replace("-", " "), codes[1]):
        client = Client()
        password(client)
        answers.append(client.post(SECOND, {"code": given}).status_code)
    assert answers == [302, 422, 302, 422, 302]
    assert len(Account.objects.get(user=ana).recovery) == 8


def test_codes_of_another_time_or_person_are_refused(ana):
    secret, _codes = switched_on(ana)
    now = timezone.now()
    assert not two_factor.check(ana, now_code(secret), now=now + timedelta(minutes=5))
    other, _codes = switched_on(make_user("bo"))
    assert not two_factor.check(ana, now_code(other), now=now)


def test_guessing_codes_is_throttled(client, ana):
    secret, _codes = switched_on(ana)
    password(client)
    for _ in range(throttle.PER_ACCOUNT):
        client.post(SECOND, {"code": "000000"})
    answer = client.post(SECOND, {"code": now_code(secret)})
    assert "Too many tries" in answer.content.decode()


def test_between_password_and_code_are_five_minutes(client, ana, monkeypatch):
    secret, _codes = switched_on(ana)
    password(client)
    session = client.session
    session["half_signed_in"] = session["half_signed_in"] | {"at": 0}
    session.save()
    assert client.post(SECOND, {"code": now_code(secret)}).url == DOOR


def test_a_copy_of_the_database_gives_neither_secret_nor_codes(ana, settings):
    secret, codes = switched_on(ana)
    kept = str(Account.objects.filter(user=ana).values().get())
    assert secret not in kept
    assert not [code for code in codes if code in kept or code.replace("-", "") in kept]


def test_an_offer_is_for_one_person_and_a_wrong_code_switches_nothing_on(ana):
    client, bo = make_client(ana, sudo=True), make_user("bo")
    given = {"do": "on", "offer": two_factor.offer(bo), "code": "123456"}
    assert client.post(PAGE, given).status_code == 422
    assert two_factor.offered(ana, given["offer"]) == ""
    assert not Account.objects.filter(user=ana).exclude(totp_secret="").exists()


def test_it_asks_for_the_password_before_it_is_changed(ana):
    switched_on(ana)
    client = make_client(ana)
    assert client.post(PAGE, {"do": "off"}).url.startswith("/account/sudo/")
    assert make_client(ana, sudo=True).post(PAGE, {"do": "off"}).status_code == 302
    assert Account.objects.get(user=ana).totp_secret == ""


def test_where_everybody_needs_one_nobody_gets_past_its_page(ana, settings):
    settings.KENO_TWO_FACTOR = True
    client = make_client(ana, sudo=True)
    assert client.get("/s/casa/facts/").url == PAGE
    assert client.post("/s/casa/facts/new/", {"text": "x"}).url == PAGE
    assert client.get(PAGE).status_code == 200
    switched_on(ana)
    assert make_client(ana).get("/s/casa/facts/").status_code == 200
