"""A program asks to be let in: the official MCP client's own OAuth flow against a running Keno."""

import base64
import hashlib
import json
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from anyio.to_thread import run_sync
from django.db import connections
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata
from oauth2_provider.models import AccessToken, Application, RefreshToken

from kenoweb.auth import throttle
from memory.history.actors import person
from memory.models import ApiToken, AuditEntry
from memory.spaces import api_tokens
from sleep.models import Proposal
from tests.factories import make_client, make_fact, make_member, make_space, make_user
from tests.kenoweb.agents import Agent

pytestmark = pytest.mark.django_db(transaction=True)
BACK = "http://127.0.0.1:43117/callback"
VERIFIER = "v" * 50
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")


class Storage:
    """What a client keeps between its starts."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


@pytest.fixture
def ana():
    space = make_space("home", name="Home")
    make_fact(space, text="Ana keeps bees in Soria")
    make_member(space=make_space("other", name="Other"), user=make_user("bo"))
    return make_member(space=space, user=make_user("ana")).user


def decide(user, url: str, *, allow: bool = True, **chosen):
    """What the person's browser does on the page: looks, chooses, sends the form."""
    browser = make_client(user, sudo=True)
    page = browser.get(url.removeprefix("http://testserver"), HTTP_HOST=urlsplit(url).netloc)
    assert page.status_code == 200, page.content
    form = page.context["form"]
    sent = {name: value for name, value in form.initial.items() if value is not None}
    sent |= {"space": "home", "gate": "hold"} | chosen | ({"allow": "true"} if allow else {})
    return browser.post("/oauth/authorize", sent, HTTP_HOST=urlsplit(url).netloc)


@contextmanager
def connected(url: str, storage: Storage, person_says):
    """The official client, which asks by OAuth when it is refused."""
    heard: dict = {}

    def say(address: str):
        try:
            return person_says(address)
        finally:
            connections.close_all()  # of this thread

    async def open_browser(address: str) -> None:
        answer = await run_sync(say, address)
        heard.update({k: v[0] for k, v in parse_qs(urlsplit(answer["Location"]).query).items()})

    async def callback() -> AuthorizationCodeResult:
        given = {name: heard.get(name) for name in ("code", "state", "iss")}
        return AuthorizationCodeResult(**given)

    told = {"client_name": "Editor", "redirect_uris": [BACK]}
    metadata = OAuthClientMetadata(**told, token_endpoint_auth_method="none")
    auth = OAuthClientProvider(f"{url}/mcp", metadata, storage, open_browser, callback)
    with start_blocking_portal() as portal:
        http = create_mcp_http_client(auth=auth)
        with portal.wrap_async_context_manager(http):
            client = Client(streamable_http_client(f"{url}/mcp", http_client=http))
            with portal.wrap_async_context_manager(client) as there:
                yield Agent(portal, there, None)


def test_the_official_client_finds_its_way_in_and_what_it_writes_waits(ana, live_server):
    storage = Storage()
    with connected(live_server.url, storage, lambda url: decide(ana, url)) as editor:
        found = editor.call("recall", query="Who keeps bees?", limit=1)["memories"]
        assert found[0]["text"] == "Ana keeps bees in Soria"
        assert editor.call("remember", text="Bo plays the cello")["outcome"] == "proposed"
    token = ApiToken.objects.get()
    assert (token.name, token.space.slug, token.scopes) == ("Editor", "home", ["read", "write"])
    assert Proposal.objects.get().status == "pending"
    assert AuditEntry.objects.filter(actor="api:Editor", action="memory.read").exists()
    # Nothing in the database opens the door: the keys are kept as digests.
    assert {*AccessToken.objects.values_list("token", flat=True)} == {""}
    assert {*RefreshToken.objects.values_list("token", flat=True)} == {""}


def test_a_key_that_ran_out_is_renewed_without_the_person_and_revoking_ends_it(ana, live_server):
    storage = Storage()
    with connected(live_server.url, storage, lambda url: decide(ana, url)) as editor:
        editor.call("me") if "me" in editor.tools() else editor.call("facts")
    AccessToken.objects.update(expires=timezone.now() - timedelta(minutes=1))
    storage.tokens.expires_in, before = 0, storage.tokens.access_token

    def nobody(url):
        raise AssertionError("the person was asked again")

    answer = post(live_server.url, "/oauth/token", storage, "refresh_token")
    assert answer.status_code == 200
    fresh = answer.json()["access_token"]
    assert fresh != before
    assert mcp(live_server.url, before).status_code == 401
    assert mcp(live_server.url, fresh).status_code == 200
    api_tokens.revoke(ApiToken.objects.get(), by=person(ana))
    assert mcp(live_server.url, fresh).status_code == 401
    storage.tokens.refresh_token = answer.json()["refresh_token"]
    assert post(live_server.url, "/oauth/token", storage, "refresh_token").status_code == 400


def post(url, where, storage, grant):
    given = {"grant_type": grant, "client_id": storage.client.client_id}
    return httpx.post(url + where, data=given | {"refresh_token": storage.tokens.refresh_token})


def mcp(url, key):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/mcp", json=body, headers=accept)


def test_who_has_no_key_is_told_where_to_ask(live_server):
    answer = httpx.post(f"{live_server.url}/mcp", json={})
    assert answer.status_code == 401
    resource = answer.headers["WWW-Authenticate"].split('"')[1]
    told = httpx.get(resource).json()
    assert told["resource"] == f"{live_server.url}/mcp"
    (server,) = told["authorization_servers"]
    told = httpx.get(f"{server}/.well-known/oauth-authorization-server").json()
    assert told["code_challenge_methods_supported"] == ["S256"]
    assert told["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert told["registration_endpoint"] == f"{live_server.url}/oauth/register"


def register(**given):
    told = {"client_name": "Editor", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    body = json.dumps(told | given)
    return Browser().post("/oauth/register", body, content_type="application/json")


def registered() -> str:
    return register().json()["client_id"]


def ask(client_id: str, **given) -> str:
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": BACK,
        "state": "s",
        "scope": "read write private",
        "code_challenge": CHALLENGE.decode(),
        "code_challenge_method": "S256",
    }
    query = {name: value for name, value in (asked | given).items() if value}
    return f"http://testserver/oauth/authorize?{urlencode(query)}"


@pytest.mark.parametrize(
    "given",
    [
        {"redirect_uris": ["http://evil.example/callback"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": []},
        {"grant_types": ["client_credentials"]},
        {"grant_types": ["password"]},
        {"redirect_uris": 7},
    ],
)
def test_a_program_that_leads_elsewhere_is_not_registered(given):
    assert register(**given).status_code == 400
    assert not Application.objects.exists()


def test_nobody_fills_the_table_of_programs(monkeypatch):
    monkeypatch.setattr(throttle, "PROGRAMS_PER_ADDRESS", 2)
    assert [register().status_code for _ in range(3)] == [201, 201, 401]
    later = timezone.now() + timedelta(days=2)
    assert api_tokens.expire_clients(now=timezone.now()) == 0
    assert api_tokens.expire_clients(now=later) >= 2
    assert not Application.objects.exists()


def test_the_page_asks_in_words_and_lets_the_browser_back_to_the_program_alone(ana):
    page = make_client(ana, sudo=True).get(ask(registered()))
    text = page.content.decode()
    assert "Let “Editor” in?" in text
    assert "127.0.0.1:43117" in text
    assert "Other" not in text  # a space of somebody else
    assert page.context["form"].initial["scopes"] == ["read", "write"]
    assert "form-action 'self' http://127.0.0.1:43117" in page["Content-Security-Policy"]


def test_only_what_was_ticked_is_given_and_no_means_no(ana):
    client_id = registered()
    answer = decide(ana, ask(client_id), scopes=["read"], gate="read_only")
    assert answer["Location"].startswith(f"{BACK}?")
    token = ApiToken.objects.get()
    assert (token.scopes, token.gate) == (["read"], "read_only")
    assert "error=access_denied" in decide(ana, ask(client_id), allow=False)["Location"]
    for wrong in ({"scopes": []}, {"space": "other"}, {"scopes": ["chat"]}, {"gate": "x"}):
        assert decide(ana, ask(client_id), **wrong).status_code == 200
    assert ApiToken.objects.filter(revoked_at=None).count() == 1


@pytest.mark.parametrize(
    "given",
    [
        {"code_challenge": ""},
        {"redirect_uri": "https://evil.example/"},
        {"client_id": "nobody"},
        {"client_id": "no\x00body"},
        {"response_type": "token"},
        {"scope": "everything"},
        {"resource": "https://other.example/mcp"},
    ],
)
def test_a_bad_request_gets_no_code(ana, given):
    page = make_client(ana, sudo=True).get(ask(**{"client_id": registered()} | given))
    assert page.status_code == 400 or "error=" in page["Location"]
    assert "evil.example" not in page.get("Location", "")
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("grant", ["authorization_code", "refresh_token"])
def test_t22_a_null_character_asks_for_no_key(grant):
    client_id, strange = registered(), "a\x00b"
    known = {"grant_type": grant, "client_id": client_id, "redirect_uri": BACK}
    for given in ({"code": strange, "refresh_token": strange}, {"client_id": strange}):
        sent = known | {"code": "x", "refresh_token": "x", "token": strange} | given
        for name in ("token", "revoke-token"):
            answer = Browser().post(reverse(f"oauth2_provider:{name}"), sent)
            assert answer.status_code < 500, name
            assert b"access_token" not in answer.content


def test_a_program_that_only_pretends_to_prove_itself_is_not_let_in(ana):
    url = ask(registered(), code_challenge_method="plain")
    assert "error=" in decide(ana, url)["Location"]
    assert not ApiToken.objects.exists()


def test_a_code_is_good_once_and_only_for_who_asked(ana, live_server):
    client_id = registered()
    answer = decide(ana, ask(client_id))
    (code,) = parse_qs(urlsplit(answer["Location"]).query)["code"]
    given = {"grant_type": "authorization_code", "client_id": client_id, "redirect_uri": BACK}
    given |= {"code": code, "code_verifier": VERIFIER}
    where = f"{live_server.url}/oauth/token"
    assert httpx.post(where, data=given | {"code_verifier": "w" * 50}).status_code == 400
    answer = decide(ana, ask(client_id))
    (given["code"],) = parse_qs(urlsplit(answer["Location"]).query)["code"]
    assert httpx.post(where, data=given).status_code == 200
    assert httpx.post(where, data=given).status_code == 400


def test_letting_it_in_again_elsewhere_ends_what_it_had(ana):
    make_member(space=make_space("second"), user=ana)
    client_id = registered()
    decide(ana, ask(client_id))
    decide(ana, ask(client_id), space="second")
    old, new = ApiToken.objects.order_by("pk")
    assert (old.revoked_at is None, new.space.slug) == (False, "second")


def test_it_asks_for_the_password_first_and_only_owners_let_programs_in(ana):
    url = ask(registered())
    assert make_client(ana).get(url).url.startswith("/account/sudo/")
    assert make_client().get(url).url.startswith("/sign-in/")
    viewer = make_member(space=make_space("seen"), user=make_user("vi"), role="viewer").user
    page = make_client(viewer, sudo=True).get(url)
    assert "Only an owner of a space" in page.content.decode()
