from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import ApiToken, AuditEntry, Member
from memory.spaces import api_tokens
from tests.factories import make_member

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def member():
    return make_member(role="curator")


def make(member, scopes=("read", "write"), **more):
    return api_tokens.create(
        member.space, user=member.user, name="script", scopes=list(scopes), **more
    )


def test_the_key_begins_with_letters_scanners_know_and_has_256_bits(member):
    _token, key = make(member)
    assert key.startswith("keno_")
    assert len(key) == len("keno_") + 43


def test_the_key_is_not_in_the_database(member):
    _token, key = make(member)
    rows = str([*ApiToken.objects.values(), *AuditEntry.objects.values()])
    assert key not in rows
    assert key[:10] in rows


def test_it_opens_its_space_for_its_scopes_alone(member):
    token, key = make(member, scopes=["read"])
    assert api_tokens.find(key, scope="read") == token
    assert api_tokens.find(key, scope="write") is None


@pytest.mark.parametrize("key", ["", "keno_", "keno_" + "x" * 43, "\x00", "\ud800"])
def test_another_key_opens_nothing(member, key):
    make(member)
    assert api_tokens.find(key, scope="read") is None


def test_it_ends_when_its_time_is_over(member):
    _token, key = make(member, expires_at=NOW + timedelta(days=1))
    assert api_tokens.find(key, scope="read", now=NOW)
    assert api_tokens.find(key, scope="read", now=NOW + timedelta(days=1)) is None


def test_it_ends_when_it_is_revoked_and_stays_so(member):
    token, key = make(member)
    api_tokens.revoke(token, by="person:ana")
    first = token.revoked_at
    api_tokens.revoke(token, by="person:ana")
    assert token.revoked_at == first
    assert api_tokens.find(key, scope="read") is None
    assert AuditEntry.objects.filter(action="token.revoked").count() == 1


def test_it_can_do_no_more_than_its_person(member):
    _token, key = make(member)
    Member.objects.update(role="viewer")
    assert api_tokens.find(key, scope="read")
    assert api_tokens.find(key, scope="write") is None
    Member.objects.all().delete()
    assert api_tokens.find(key, scope="read") is None


def test_it_is_nobodys_when_the_person_is_switched_off(member):
    _token, key = make(member)
    member.user.is_active = False
    member.user.save()
    assert api_tokens.find(key, scope="read") is None


def test_its_last_use_is_noted_at_most_once_a_minute(member):
    token, key = make(member)
    for seconds, noted in [(0, 0), (30, 0), (60, 60)]:
        api_tokens.find(key, scope="read", now=NOW + timedelta(seconds=seconds))
        token.refresh_from_db()
        assert token.last_used_at == NOW + timedelta(seconds=noted)
