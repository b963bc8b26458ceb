"""Coming in, in a real browser: the owner, a guest, the password again, and without script."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from kenoweb.auth import accounts
from memory.models import ApiToken, Member, Space
from tests.factories import PASSWORD, make_member, make_space, make_user


@pytest.fixture
def owner():
    return make_member(space=make_space("home", name="Home"), user=make_user("ana"))


def fill(page, **fields):
    for name, value in fields.items():
        page.fill(f"[name={name}]", value)
    page.click("main form button.main")


@pytest.mark.parametrize("script", [True, False])
def test_the_printed_link_makes_the_owner_once(window, live_server, script):
    there = accounts.sign_in_link(live_server.url)
    opened = window(java_script_enabled=script, timezone_id="America/Buenos_Aires")
    page = opened.page
    page.goto(there)
    opened.expect("422")
    fill(page, name="ana", new="short", again="short", space="Casa")
    expect(page.get_by_text("too short")).to_be_visible()
    fill(page, new=PASSWORD, again=PASSWORD)
    expect(page).to_have_url(f"{live_server.url}/s/casa/")
    if script:
        assert Space.objects.get().timezone == "America/Argentina/Buenos_Aires", "its name now"
    opened.expect("404")
    page.goto(there)
    expect(page.get_by_text("404")).to_be_visible()


def test_out_and_in_again_and_back_to_where_one_was(window, owner):
    opened = window()
    page = opened.sign_in(owner.user)
    page.goto("/account/")
    page.get_by_role("button", name="Sign out everywhere").click()
    expect(page.get_by_role("heading", name="Sign in to Keno")).to_be_visible()
    page.goto("/s/home/members/")
    opened.expect("422")
    fill(page, name="ana", password="wrong")
    expect(page.get_by_role("alert")).to_contain_text("do not match")
    fill(page, name="ana", password=PASSWORD)
    expect(page).to_have_url(re.compile("/s/home/members/$"))


@pytest.mark.parametrize("script", [True, False])
def test_a_guest_comes_by_a_link_and_gets_another_role(window, owner, script):
    page = window(java_script_enabled=script).sign_in(owner.user)
    page.goto("/s/home/members/")
    fill(page, label="Bo")
    link = page.get_by_label("Send this link").input_value()
    guest = window(java_script_enabled=script).page
    guest.goto(link)
    fill(guest, name="bo", new=PASSWORD, again=PASSWORD)
    expect(guest).to_have_url(re.compile("/s/home/$"))
    page.goto("/s/home/members/")
    page.get_by_label("Role of bo").select_option("viewer")
    if not script:
        page.locator("tr", has_text="bo").get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("bo has another role now")
    assert Member.objects.get(user__username="bo").role == "viewer"
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="Undone")).to_be_visible()
    expect(page.get_by_label("Role of bo")).to_have_value("curator")


def test_a_token_asks_for_the_password_and_is_shown_once(window, live_server, owner):
    opened = window()
    page = opened.page
    # By link, which is no password.
    page.goto(accounts.sign_in_link(live_server.url))
    page.get_by_role("button", name="Sign in").click()
    page.goto("/s/home/tokens/")
    page.locator("main header").get_by_role("link", name="New token").click()
    expect(page.get_by_role("heading", name="Your password again")).to_be_visible()
    fill(page, password=PASSWORD)
    fill(page, name="editor")
    key = page.get_by_label("Token").input_value()
    assert key.startswith(ApiToken.objects.get().prefix)
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == key
    page.get_by_role("link", name="I have copied it").click()
    expect(page.locator("tbody tr")).to_contain_text("editor")
    assert key not in page.content()


def test_a_preview_of_a_link_opens_nothing(window, live_server, owner):
    page = window().page
    page.goto(accounts.sign_in_link(live_server.url))
    page.reload()
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/s/home/$"))
    assert User.objects.get().last_login


def test_a_passkey_of_the_device_is_added_signs_in_confirms_and_is_removed(window, owner):
    opened = window()
    page = opened.sign_in(owner.user)
    devices = opened.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    made = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
            "hasUserVerification": True, "isUserVerified": True}  # fmt: skip
    device = devices.send("WebAuthn.addVirtualAuthenticator", {"options": made})["authenticatorId"]
    page.goto("/account/two-factor/")
    page.get_by_label("Name of the device").fill("Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("link", name="I have kept them").click()
    page.get_by_role("button", name="Sign out everywhere").click()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page).to_have_url(re.compile("/s/home/$"))
    page = opened.sign_in(User.objects.get(pk=owner.user.pk), sudo=False)
    page.goto("/account/two-factor/")
    expect(page.get_by_role("heading", name="Your password again")).to_be_visible()
    devices.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("gave no passkey")).to_be_visible()
    devices.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": True})
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("Laptop")).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Removed “Laptop”.")).to_be_visible()
    assert not owner.user.passkeys.exists()
