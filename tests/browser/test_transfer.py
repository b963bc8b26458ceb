"""Import and export in a real browser: with and without script, by keyboard, on a phone."""

import json

import pytest
from playwright.sync_api import expect

from memory.models import Fact, Parcel
from memory.transfer import tasks
from tests.browser.conftest import in_both_themes
from tests.factories import make_fact, make_member, make_parcel, make_space, make_user

MEMORIES = [
    {"id": "1", "memory": "Likes green tea", "user_id": "ana"},
    {"id": "2", "memory": "Lives in Lisbon", "user_id": "ana"},
    {"id": "3", "memory": "", "user_id": "ana"},
]
PAGE = "/s/home/transfer/"


@pytest.fixture
def owner():
    return make_member(space=make_space("home", name="Home"), user=make_user("ana"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(MEMORIES))
    return path


def live() -> int:
    return Fact.objects.live().count()


@pytest.mark.parametrize("script", [True, False])
def test_a_file_is_looked_at_imported_and_taken_back(window, owner, file, script):
    page = window(java_script_enabled=script).sign_in(owner.user)
    page.goto(PAGE)
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#line-rows tr")).to_have_count(3)
    assert live() == 0
    page.get_by_role("link", name="Skipped").click()
    expect(page.locator("#line-rows tr")).to_have_count(1)
    page.get_by_role("button", name="Import 2 rows").click()
    expect(page.get_by_text("what became of every line")).to_be_visible()
    assert live() == 2
    page.get_by_role("button", name="Undo the whole import").click()
    expect(page.get_by_text("It can be imported again")).to_be_visible()
    assert live() == 0


def test_the_toast_undoes_an_import_by_key(window, owner, file):
    page = window().sign_in(owner.user)
    page.goto(PAGE)
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Preview").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Import 2 rows").press("Enter")
    expect(page.locator(".toast")).to_be_visible()
    page.locator("#main").focus()
    page.keyboard.press("u")
    expect(page.get_by_text("It can be imported again")).to_be_visible()
    assert live() == 0


def test_a_long_import_shows_how_far_it_is_and_then_its_report(window, owner):
    data = json.dumps(MEMORIES).encode()
    parcel = make_parcel(owner.space, data, status="looking", asked="mem0", total=60, done=15)
    page = window().sign_in(owner.user)
    page.clock.install()
    page.goto(f"{PAGE}{parcel.pk}/")
    expect(page.locator("progress")).to_have_attribute("value", "25")
    Parcel.objects.update(done=30)
    page.clock.run_for(2100)
    expect(page.locator("progress")).to_have_attribute("value", "50")
    tasks.work(parcel.pk, owner.space_id, by="person:ana")
    page.clock.run_for(2100)
    expect(page.get_by_role("button", name="Import 2 rows")).to_be_visible()
    expect(page.locator("progress")).to_have_count(0)


def test_a_file_that_is_too_large_does_not_travel(window, owner, file):
    page = window().sign_in(owner.user)
    page.goto(PAGE)
    field = page.get_by_label("File", exact=True)
    field.evaluate("field => { field.dataset.most = '10' }")
    field.set_input_files(file)
    assert "Larger than 200 MB" in field.evaluate("field => field.validationMessage")
    page.get_by_role("button", name="Preview").click()
    assert page.url.endswith(PAGE)
    assert not Parcel.objects.exists()


@pytest.mark.parametrize("script", [True, False])
def test_an_export_is_downloaded(window, owner, script):
    make_fact(owner.space, text="Likes tea")
    page = window(java_script_enabled=script).sign_in(owner.user)
    page.goto(PAGE)
    page.get_by_label("A page to read").check()
    with page.expect_download() as found:
        page.get_by_role("button", name="Export").click()
    assert "Likes tea" in found.value.path().read_text()
    assert found.value.suggested_filename.startswith("home-")


def test_the_pages_are_accessible_and_fit_a_phone(window, owner, file):
    busy = make_parcel(owner.space, status="applying", done=3, total=9)
    bad = make_parcel(owner.space, status="refused", problem="The zip is damaged.")
    shown = make_parcel(owner.space, name="n" * 90 + ".json")
    shown.lines.update(place="folder/" * 20 + "MEMORY.md:12")
    for phone in (False, True):
        page = window(color_scheme="light", phone=phone).sign_in(owner.user)
        for path in ("", f"{busy.pk}/", f"{bad.pk}/", f"{shown.pk}/"):
            page.goto(PAGE + path)
            assert in_both_themes(page) == [], path
            if phone:
                assert page.evaluate("document.documentElement.scrollWidth") == 390, path
