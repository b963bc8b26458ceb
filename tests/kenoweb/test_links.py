import subprocess
import sys
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError
from django.utils import timezone

from kenoweb.auth import accounts
from kenoweb.models import OneTimeLink
from tests.factories import make_member, make_space, make_user
from tests.kenoweb.servers import ROOT

pytestmark = pytest.mark.django_db
BASE = "http://127.0.0.1:8000"
NOW = timezone.now()
LOADS = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from kenoweb.auth import accounts
print(accounts.path_of("setup", "x"), "kenoweb.urls" in sys.modules)
from django.urls import reverse
print(reverse("links:setup", args=["x"]), "mcp" in sys.modules)
"""


def secret_of(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[1]


def test_while_nobody_lives_here_it_leads_to_the_first_owner():
    assert accounts.sign_in_link(BASE).startswith(f"{BASE}/setup/")


def test_later_it_signs_the_first_owner_in():
    first = make_member(user=make_user("ana"))
    make_member(user=make_user("bo"))
    url = accounts.sign_in_link(BASE + "/")
    assert url.startswith(f"{BASE}/enter/")
    assert accounts.find(secret_of(url), kind="sign_in").user == first.user


def test_an_owner_who_was_switched_off_is_not_signed_in():
    make_member(user=make_user(is_active=False))
    heir = make_member()
    assert accounts.find(secret_of(accounts.sign_in_link(BASE)), kind="sign_in").user == heir.user


def test_without_an_owner_it_is_the_ordinary_door():
    make_user()
    assert accounts.sign_in_link(BASE) == f"{BASE}/sign-in/"


def test_the_secret_has_256_bits_and_is_not_in_the_database():
    secret = secret_of(accounts.sign_in_link(BASE))
    assert len(secret) == 43
    row = OneTimeLink.objects.values().get()
    assert secret not in str(row)
    assert row["digest"] == accounts.find(secret, kind="setup").digest


def test_it_is_good_for_thirty_minutes():
    link = accounts.find(secret_of(accounts.sign_in_link(BASE, now=NOW)), kind="setup")
    accounts.check_link(link, now=NOW + timedelta(minutes=29))
    with pytest.raises(accounts.Spent):
        accounts.check_link(link, now=NOW + timedelta(minutes=30))


def test_a_link_of_one_kind_is_no_link_of_another():
    secret = secret_of(accounts.sign_in_link(BASE))
    assert accounts.find(secret, kind="sign_in") is None
    assert accounts.find(secret, kind="invite") is None


def test_it_is_used_up_once():
    link = accounts.find(secret_of(accounts.sign_in_link(BASE)), kind="setup")
    accounts.redeem(link)
    with pytest.raises(accounts.Spent):
        accounts.redeem(link)


def test_old_links_are_swept_when_a_new_one_is_made():
    accounts.sign_in_link(BASE, now=NOW - timedelta(days=40))
    accounts.sign_in_link(BASE, now=NOW)
    assert OneTimeLink.objects.count() == 1


def test_an_invitation_is_good_for_seven_days():
    owner = make_member()
    accounts.invite(owner.space, role="viewer", by=owner.user, now=NOW)
    assert len(accounts.waiting(owner.space, now=NOW + timedelta(days=6))) == 1
    assert len(accounts.waiting(owner.space, now=NOW + timedelta(days=7))) == 0


def test_an_invitation_to_nowhere_cannot_be_stored():
    with pytest.raises(IntegrityError):
        OneTimeLink.objects.create(kind="invite", digest="x", expires_at=NOW, space=make_space())


def test_a_sign_in_link_for_nobody_cannot_be_stored():
    with pytest.raises(IntegrityError):
        OneTimeLink.objects.create(kind="sign_in", digest="x", expires_at=NOW)


def test_the_command_prints_one(capsys):
    call_command("signin", url="https://keno.example")
    assert capsys.readouterr().out.startswith("https://keno.example/setup/")
    assert not User.objects.exists()


def test_the_start_prints_a_link_without_loading_a_page_and_pages_load_without_agents():
    """Both would be seconds between `make run` and the first page."""
    told = subprocess.run(
        [sys.executable, "-c", LOADS], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert told.stdout.split() == ["/setup/x/", "False", "/setup/x/", "False"]
