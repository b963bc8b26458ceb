import re

import pytest
from django.urls import reverse

from memory.models import ApiToken
from memory.spaces import api_tokens
from tests.factories import make_client, make_member, make_space, make_token

pytestmark = pytest.mark.django_db
FORM = {"name": "editor", "scopes": ["read", "write"], "gate": "hold", "expires": "90"}


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"))


@pytest.fixture
def client(owner):
    return make_client(owner.user, sudo=True)


def at(name, *args) -> str:
    return reverse(f"tokens:{name}", args=["casa", *args])


def test_a_token_is_shown_once_and_works(client, owner):
    answer = client.post(at("new"), FORM)
    key = re.search(r"keno_[\w-]{43}", answer.content.decode())[0]
    assert "no-store" in answer["Cache-Control"]
    assert api_tokens.find(key, scope="write").space == owner.space
    assert key not in client.get(at("index")).content.decode()


def test_it_is_said_where_the_key_opens_with_lines_to_paste(client):
    said = client.post(at("new"), FORM).content.decode()
    assert "http://testserver/api/v1/recall" in said
    assert "http://testserver/mcp" in said


def test_a_new_token_holds_what_it_writes_until_its_owner_opens_the_gate(client, owner):
    client.post(at("new"), FORM)
    token = ApiToken.objects.get()
    assert token.gate == "hold"
    client.post(at("gate", token.pk), {"gate": "believe"})
    token.refresh_from_db()
    assert token.gate == "believe"
    client.post(at("gate", token.pk), {"gate": "everything"})
    token.refresh_from_db()
    assert token.gate == "believe"


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"scopes": []}, {"scopes": ["everything"]}, {"expires": "tomorrow"}],
)
def test_a_mistake_is_said_at_its_field(client, wrong):
    answer = client.post(at("new"), FORM | wrong)
    assert list(answer.context["form"].errors) == list(wrong)
    assert not ApiToken.objects.exists()


def test_a_token_may_be_without_end(client):
    client.post(at("new"), FORM | {"expires": ""})
    assert ApiToken.objects.get().expires_at is None


def test_a_revoked_token_stays_in_the_list_struck_out(client, owner):
    token, key = make_token(owner.space, user=owner.user, name="old script")
    client.post(at("revoke", token.pk))
    assert api_tokens.find(key, scope="read") is None
    page = client.get(at("index")).content.decode()
    assert '<s class="muted">old script</s>' in page


def test_without_tokens_the_page_says_what_they_are_for(client):
    assert "No program has a key" in client.get(at("index")).content.decode()


def test_revoking_by_a_link_is_refused(client, owner):
    token, _key = make_token(owner.space, user=owner.user)
    assert client.get(at("revoke", token.pk)).status_code == 405
