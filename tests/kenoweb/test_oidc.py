"""Signing in with the account of another house: a server that speaks OpenID Connect, or badly."""

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.urls import reverse

from kenoweb.auth import two_factor
from kenoweb.models import OidcAccount
from memory.models import AuditEntry
from tests.factories import make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
LEAVE, LINK, DOOR, BACK = "/sign-in/oidc/", "/account/oidc/", "/sign-in/", "/sign-in/oidc/back/"
KEY, STRANGE_KEY = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in "ab")


class House(ThreadingHTTPServer):
    """An OpenID provider: discovery, keys and tokens. `wrong` says what it does badly."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.subject, self.wrong, self.codes = "ana-there", "", {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def authorize(self, address: str) -> str:
        """What a person who agrees there is sent back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["code_challenge_method"] == "S256"
        self.codes["code"] = asked
        state = "another" if self.wrong == "state" else asked["state"]
        return f"{asked['redirect_uri'].partition('testserver')[2]}?code=code&state={state}"

    def id_token(self, asked: dict) -> str:
        now = int(time.time())
        said = {"iss": self.url, "aud": asked["client_id"], "sub": self.subject}
        said |= {"iat": now, "exp": now + 60, "nonce": asked["nonce"]}
        said |= {
            "audience": {"aud": "another"},
            "issuer": {"iss": "https://evil.example"},
            "old": {"iat": now - 9000, "exp": now - 8000},
            "nonce": {"nonce": "another"},
        }.get(self.wrong, {})
        key = STRANGE_KEY if self.wrong == "signature" else KEY
        if self.wrong == "unsigned":
            return jwt.encode(said, None, algorithm="none")
        return jwt.encode(said, key, algorithm="RS256", headers={"kid": "one"})


class Handler(BaseHTTPRequestHandler):
    server: House

    def log_message(self, *_args):
        pass

    def do_GET(self):
        home = self.server.url
        if self.path.endswith("openid-configuration"):
            names = {"authorization": "authorize", "token": "token"}
            made = {f"{name}_endpoint": f"{home}/{path}" for name, path in names.items()}
            made |= {"issuer": home, "jwks_uri": f"{home}/keys"}
            made["id_token_signing_alg_values_supported"] = ["RS256"]
            return self._json(made)
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
        return self._json({"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]})

    def do_POST(self):
        given = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        asked = self.server.codes.pop(given["code"][0])
        proof = hashlib.sha256(given["code_verifier"][0].encode()).digest()
        assert base64.urlsafe_b64encode(proof).decode().rstrip("=") == asked["code_challenge"]
        token = {"access_token": "x", "token_type": "Bearer", "expires_in": 60}
        self._json(token | {"id_token": self.server.id_token(asked)})

    def _json(self, made):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(made).encode())


@pytest.fixture
def house(settings):
    server = House()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    settings.KENO_OIDC_ISSUER, settings.KENO_OIDC_CLIENT_ID = server.url, "keno"
    settings.KENO_OIDC_NAME = "The Firm"
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def ana():
    return make_member(space=make_space("casa"), user=make_user("ana")).user


def link(user, house):
    client = make_client(user, sudo=True)
    return client.get(house.authorize(client.get(LINK).url))


def enter(client, house, there=""):
    return client.get(house.authorize(client.get(LEAVE, {"next": there}).url))


def is_in(client):
    return "_auth_user_id" in client.session


def test_linked_once_it_signs_in_and_leads_back_but_gives_nothing_away(house, ana):
    assert link(ana, house).url == reverse("account:index")
    client = Client()
    assert "Continue with The Firm" in client.get(DOOR).content.decode()
    assert enter(client, house, "/s/casa/facts/").url == "/s/casa/facts/"
    assert client.session["_auth_user_id"] == str(ana.pk)
    # What gives memory away still asks for the password.
    assert client.get("/account/two-factor/").url.startswith("/account/sudo/")
    assert AuditEntry.objects.filter(action="account.oidc_linked").exists()


def test_who_is_not_linked_does_not_come_in_and_no_account_is_made(house, ana, client):
    assert enter(client, house).url == DOOR
    assert not is_in(client)
    assert "not linked" in client.get(DOOR).content.decode()
    assert not OidcAccount.objects.exists()


WRONG = ["state", "audience", "issuer", "old", "nonce", "signature", "unsigned"]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_the_other_house_did_not_say_to_us_now_is_refused(house, ana, client, wrong):
    link(ana, house)
    house.wrong = wrong
    assert enter(client, house).url == DOOR
    assert not is_in(client)
    assert "did not say who you are" in client.get(DOOR).content.decode()


def test_a_second_factor_is_asked_all_the_same(house, ana, client):
    link(ana, house)
    two_factor.switch_on(ana, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", step=1, ip=None)
    assert enter(client, house).url == "/sign-in/code/"
    assert not is_in(client)


def test_an_account_there_is_one_person_s_and_can_be_unlinked(house, ana, client):
    link(ana, house)
    link(make_user("bo"), house)
    assert OidcAccount.objects.get().user == ana
    assert make_client(ana).get(LINK).url.startswith("/account/sudo/")
    make_client(ana, sudo=True).post(LINK)
    enter(client, house)
    assert not is_in(client)


def test_the_way_back_leads_nowhere_without_the_way_there_nor_when_it_is_off(
    house, client, settings
):
    assert client.get(BACK, {"code": "x", "state": "y"}).url == DOOR
    settings.KENO_OIDC_ISSUER = "http://127.0.0.1:9"
    assert client.get(LEAVE).url == DOOR
    assert "does not answer" in client.get(DOOR).content.decode()
    settings.KENO_OIDC_ISSUER = ""
    assert [client.get(one).status_code for one in (LEAVE, BACK)] == [404, 404]
    assert "Continue with" not in client.get(DOOR).content.decode()
