import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from kenoweb.auth import accounts
from kenoweb.models import OneTimeLink
from memory.models import AuditEntry, Member
from tests.factories import make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def guest(owner):
    return make_member(space=owner.space, user=make_user("bo"), role="viewer")


@pytest.fixture
def client(owner):
    return make_client(owner.user, sudo=True)


def at(name, *args) -> str:
    return reverse(f"members:{name}", args=["casa", *args])


def role_of(member) -> str:
    return Member.objects.get(pk=member.pk).role


def test_everybody_sees_who_is_here_but_only_owners_see_invitations(client, owner, guest):
    accounts.invite(owner.space, role="viewer", by=owner.user, label="Cy from work")
    assert "Cy from work" in client.get(at("index")).content.decode()
    page = make_client(guest.user).get(at("index")).content.decode()
    assert "ana" in page
    assert "Cy from work" not in page
    assert "Create a link" not in page


def test_the_page_costs_the_same_for_two_members_and_for_ten(client, guest, owner):
    def cost():
        with CaptureQueriesContext(connection) as found:
            client.get(at("index"))
        return len(found)

    before = cost()
    for _ in range(8):
        make_member(space=owner.space, role="viewer")
    assert cost() == before


def test_an_invitation_is_shown_once_and_works(client, owner):
    page = client.post(at("invite"), {"role": "curator", "label": "Cy"}).content.decode()
    link = re.search(r"http://testserver(/join/[\w-]{43}/)", page)[1]
    assert link not in client.get(at("index")).content.decode()
    assert make_client(make_user("cy")).post(link).url == "/s/casa/"
    assert Member.objects.get(user__username="cy").role == "curator"


def test_who_is_invited_may_talk_unless_the_owner_chooses_otherwise(client):
    found = client.get(at("index")).text
    (chosen,) = re.findall(r'<option value="(\w+)" selected>', found.partition("Invite someone")[2])
    assert Member(role=chosen).may("curator")
    assert "Whoever is to talk with Keno here is a curator" in found


def test_an_invitation_without_a_role_is_refused_in_words(client, owner):
    answer = client.post(at("invite"), {"role": "emperor"})
    assert answer.status_code == 422
    assert not accounts.waiting(owner.space)


def test_an_invitation_can_be_withdrawn(client, owner):
    accounts.invite(owner.space, role="viewer", by=owner.user)
    client.post(at("withdraw", accounts.waiting(owner.space)[0].pk))
    assert not accounts.waiting(owner.space)


def test_a_sign_in_link_is_no_invitation_to_withdraw(client, owner):
    accounts.sign_in_link("")
    assert client.post(at("withdraw", OneTimeLink.objects.get().pk)).status_code == 404


def test_a_role_can_be_changed_without_htmx(client, guest):
    assert client.post(at("change_role", guest.pk), {"role": "curator"}).url == at("index")
    assert role_of(guest) == "curator"


def test_with_htmx_the_row_comes_back(client, guest):
    answer = client.post(
        at("change_role", guest.pk), {"role": "curator"}, headers={"hx-request": "true"}
    )
    assert f'id="member-{guest.pk}"' in answer.content.decode()
    assert "Undo" in answer.content.decode()


def test_an_unknown_role_changes_nothing(client, guest):
    client.post(at("change_role", guest.pk), {"role": "emperor"})
    assert role_of(guest) == "viewer"


def test_the_last_owner_stays_owner(client, owner):
    answer = client.post(at("change_role", owner.pk), {"role": "viewer"}, follow=True)
    assert "A space needs an owner" in answer.content.decode()
    client.post(at("leave"))
    client.post(at("remove", owner.pk))
    assert role_of(owner) == "owner"
    # Nor is it offered what would be refused.
    page = client.get(at("index")).content.decode()
    assert "Leave this space" not in page
    assert "before you leave" in page


def test_somebody_removed_is_out_at_once(client, guest):
    browser = make_client(guest.user)
    assert browser.get(at("index")).status_code == 200
    client.post(at("remove", guest.pk))
    assert browser.get(at("index")).status_code == 404


@pytest.mark.parametrize(("act", "form"), [("remove", {}), ("change_role", {"role": "owner"})])
def test_removal_and_change_can_be_undone(client, guest, act, form):
    client.post(at(act, guest.pk), form)
    entry = AuditEntry.objects.filter(action__in=["member.removed", "member.role_changed"]).get()
    client.post(at("undo", entry.pk))
    assert Member.objects.get(user=guest.user).role == "viewer"
    # A second press finds nothing left to do.
    answer = client.post(at("undo", entry.pk), follow=True)
    assert "can no longer be undone" in answer.content.decode()


def test_other_lines_of_the_book_cannot_be_undone_here(client, owner, guest):
    client.post(at("invite"), {"role": "viewer"})
    assert client.post(at("undo", AuditEntry.objects.get().pk)).status_code == 404


def test_a_guest_may_leave(guest):
    browser = make_client(guest.user)
    assert browser.post(at("leave")).url == "/"
    assert not guest.user.memberships.exists()


@pytest.mark.parametrize("act", ["invite", "leave", "change_role", "remove", "undo", "withdraw"])
def test_a_look_does_nothing(client, guest, act):
    args = [] if act in {"invite", "leave"} else [guest.pk]
    assert client.get(at(act, *args)).status_code == 405


def test_undo_from_a_toast_leads_to_the_list_which_then_says_so(client, guest):
    client.post(at("remove", guest.pk))
    client.get(at("index"))
    entry = AuditEntry.objects.get(action="member.removed")
    answer = client.post(at("undo", entry.pk), headers={"hx-request": "true"})
    assert answer["HX-Redirect"] == at("index")
    assert "Undone." in client.get(at("index")).content.decode()
