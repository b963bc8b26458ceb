"""Passkeys: a device signs what it was asked, for this address, once. Its owner unlocked it."""

import hashlib
import json
import os

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from kenoweb.auth import passkeys, throttle
from kenoweb.models import Passkey
from memory.models import AuditEntry
from tests.factories import PASSWORD, make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
PAGE, DOOR, SECOND, SUDO = "/account/two-factor/", "/sign-in/", "/sign-in/code/", "/account/sudo/"
ORIGIN = "http://testserver"
PRESENT, VERIFIED, ATTESTED = 1, 4, 64


class Device:
    """An authenticator as it is, in software."""

    def __init__(self, *, flags=PRESENT | VERIFIED, origin=ORIGIN, counter=0):
        self.key, self.id = ec.generate_private_key(ec.SECP256R1()), os.urandom(32)
        self.flags, self.origin, self.counter = flags, origin, counter

    def make(self, options):
        return self._answer(
            "webauthn.create", options["publicKey"], options["publicKey"]["rp"]["id"]
        )

    def show(self, options):
        return self._answer("webauthn.get", options["publicKey"], options["publicKey"]["rpId"])

    def _answer(self, what, asked, here):
        said = CollectedClientData.create(
            type=what, challenge=asked["challenge"], origin=self.origin
        )
        home, attested = hashlib.sha256(here.encode()).digest(), b""
        if what == "webauthn.create":
            public = ES256.from_cryptography_key(self.key.public_key())
            attested = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        flags = self.flags | (ATTESTED if attested else 0)
        data = AuthenticatorData.create(home, flags, self.counter, attested)
        response = {"clientDataJSON": websafe_encode(said)}
        if attested:
            made = AttestationObject.create("none", data, {})
            response["attestationObject"] = websafe_encode(made)
        else:
            signed = self.key.sign(data + said.hash, ec.ECDSA(hashes.SHA256()))
            response |= {
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(signed),
            }
        name = websafe_encode(self.id)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})


@pytest.fixture
def ana():
    return make_member(space=make_space("casa"), user=make_user("ana")).user


def add(user, device=None, **more):
    """A passkey of this person, added on the page; the page that answered."""
    device, client = device or Device(), make_client(user, sudo=True)
    options = client.post("/account/passkeys/new/").json()
    given = {"credential": device.make(options), "name": "Phone"}
    return device, client.post("/account/passkeys/", given, **more)


def use(client, device, there=DOOR, **more):
    options = client.post("/sign-in/passkey/", **more).json()
    return client.post(there, {"credential": device.show(options)}, **more)


def is_in(client):
    return "_auth_user_id" in client.session


def test_a_passkey_signs_in_without_a_password_and_counts_as_the_password_again(ana):
    device, page = add(ana)
    assert "recovery codes" in page.content.decode().lower()
    client = Client()
    assert use(client, device).url == reverse("home")
    assert client.session["_auth_user_id"] == str(ana.pk)
    assert client.get(PAGE).status_code == 200
    assert Passkey.objects.get().used_at
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"account.passkey_added", "account.signed_in"} <= actions


def test_with_one_the_password_alone_opens_nothing(client, ana):
    device, _page = add(ana)
    assert client.post(DOOR, {"name": "ana", "password": PASSWORD}).url == SECOND
    assert not is_in(client)
    use(client, device, SECOND)
    assert is_in(client)


def test_a_recovery_code_stands_in_for_a_lost_one(client, ana):
    _device, page = add(ana)
    code = page.context["codes"][0]
    client.post(DOOR, {"name": "ana", "password": PASSWORD})
    client.post(SECOND, {"code": code})
    assert is_in(client)


def test_it_stands_for_the_password_again_but_only_its_owner_s(ana):
    device, _page = add(ana)
    stranger, _page = add(make_user("bo"))
    client = make_client(ana)
    use(client, stranger, f"{SUDO}?next={PAGE}")
    assert client.get(PAGE).url.startswith(SUDO)
    assert use(client, device, f"{SUDO}?next={PAGE}").url == PAGE
    assert client.get(PAGE).status_code == 200


def test_where_everybody_needs_a_second_factor_a_passkey_is_one(ana, settings):
    settings.KENO_TWO_FACTOR = True
    assert make_client(ana).get("/s/casa/facts/").url == PAGE
    add(ana)
    assert make_client(ana).get("/s/casa/facts/").status_code == 200


def test_removed_it_opens_nothing_and_the_last_one_takes_the_codes_along(client, ana):
    device, _page = add(ana)
    add(make_user("bo"))
    mine, other = Passkey.objects.order_by("pk")
    keeper = make_client(ana, sudo=True)
    assert keeper.post(f"/account/passkeys/{other.pk}/remove/").status_code == 404
    assert make_client(ana).post(f"/account/passkeys/{mine.pk}/remove/").url.startswith(SUDO)
    keeper.post(f"/account/passkeys/{mine.pk}/remove/")
    use(client, device)
    assert not is_in(client)
    ana.account.refresh_from_db()
    assert ana.account.recovery == []


BAD = {
    "made for another origin": {"origin": "https://evil.example"},
    "of a port that is not ours": {"origin": "http://testserver:8080"},
    "not unlocked by anybody": {"flags": PRESENT},
    "nobody there": {"flags": VERIFIED},
}


@pytest.mark.parametrize("case", BAD)
def test_what_a_device_did_not_do_here_and_now_is_refused(client, ana, case):
    device = Device()
    add(ana, device)
    for name, value in BAD[case].items():
        setattr(device, name, value)
    answer = use(client, device)
    assert answer.url == DOOR
    assert not is_in(client)
    assert "does not fit" in client.get(DOOR).content.decode()
    _device, page = add(make_user("bo"), Device(**BAD[case]))
    assert page.url == PAGE
    assert Passkey.objects.count() == 1


def test_an_address_of_another_name_is_refused(ana, settings):
    settings.ALLOWED_HOSTS = ["testserver", "other.example"]
    device, _page = add(ana)
    client = Client(headers={"host": "other.example"})
    use(client, device)
    assert not is_in(client)


def test_an_answer_counts_once_and_not_for_another_question(client, ana):
    device, _page = add(ana)
    first = client.post("/sign-in/passkey/").json()
    client.post("/sign-in/passkey/")
    client.post(DOOR, {"credential": device.show(first)})
    assert not is_in(client)
    options = client.post("/sign-in/passkey/").json()
    answer = device.show(options)
    client.post(DOOR, {"credential": answer})
    assert is_in(client)
    other = Client()
    other.post(DOOR, {"credential": answer})
    assert not is_in(other)


def test_a_copied_one_is_found_by_its_counter(client, ana):
    device = Device(counter=7)
    add(ana, device)
    use(client, device)
    assert not is_in(client)
    assert "copied" in client.get(DOOR).content.decode()
    device.counter = 8
    use(client, device)
    assert is_in(client)


@pytest.mark.parametrize("said", ["", "{", "[]", '{"id": 5}', '{"id": "x", "response": {}}'])
def test_nonsense_gets_a_sentence(client, ana, said):
    add(ana)
    client.post("/sign-in/passkey/")
    assert client.post(DOOR, {"credential": said}).url == DOOR
    keeper = make_client(ana, sudo=True)
    keeper.post("/account/passkeys/new/")
    assert keeper.post("/account/passkeys/", {"credential": said}).url == PAGE


def test_trying_is_throttled_and_what_was_asked_grows_old(client, ana, monkeypatch):
    device, _page = add(ana)
    for _ in range(throttle.PER_ACCOUNT):
        use(client, Device())
    use(client, device)
    assert "Too many tries" in client.get(DOOR).content.decode()
    monkeypatch.setattr(passkeys, "CHALLENGE_SECONDS", -1)
    add(make_user("bo"))
    assert not Passkey.objects.filter(user__username="bo").exists()
