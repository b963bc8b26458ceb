"""The look, in a real browser: quiet console, keyboard, themes, phone, and without script."""

import pytest
from django.conf import settings
from django.urls import reverse
from playwright.sync_api import expect

from memory.facts import service as facts
from tests.browser.conftest import findings, in_both_themes
from tests.factories import PASSWORD, make_member, make_space, make_user, one_of_everything
from tests.kenoweb.addresses import every_address

PARTS = 4  # so that several workers share the walk
RUNS_OVER = """[...document.querySelectorAll('.head')].some(
  head => head.scrollHeight > head.clientHeight + 2)"""


@pytest.fixture
def home():
    """An owner in a space with a little memory."""
    member = make_member(space=make_space("home", name="Home"), user=make_user("ana"))
    for text in ("Ana lives in Lima", "Bo drinks tea", "Deploys happen after 22:00"):
        facts.remember(member.space, text=text, quote=text.lower(), by="tag", subject="Ana")
    return member


def overview(member):
    return reverse("overview:index", args=[member.space.slug])


def paths(member) -> list[str]:
    """Every page of the project that can be looked at, filled with one of everything."""
    things = one_of_everything(member.space, owner=member.user, mark="something")
    found = [one.path(member.space.slug, things) for one in every_address() if one.role != "token"]
    return sorted({path for path in found if "not-a-link" not in path})


def visited(page, member, part):
    """Opens page after page and yields those that are pages: not files, forms only or redirects."""
    for path in paths(member)[part::PARTS]:
        if path.endswith("/events/"):  # a stream that does not end
            continue
        got = page.request.get(path, max_redirects=0)
        if got.status == 200 and "text/html" in got.headers.get("content-type", ""):
            page.goto(path)
            yield path


def test_the_watchers_see_what_they_are_there_to_see(window, home):
    opened = window(color_scheme="light")
    page = opened.sign_in(home.user)
    page.goto(overview(home))
    assert (opened.problems, findings(page)) == ([], [])
    with page.expect_console_message(lambda said: "Content Security Policy" in said.text):
        page.evaluate("document.querySelector('h1').innerHTML = '<i style=top:0>x</i>'")
    with page.expect_console_message(lambda said: "evil.example" in said.text):
        page.evaluate(
            "document.body.append(new Image()); document.body.lastChild.src = '//evil.example'"
        )
    page.evaluate("document.querySelector('h1').append(document.createElement('button'))")
    assert any(found.startswith("button-name") for found in findings(page))
    page.evaluate("document.querySelector('h2').style.color = 'light-dark(#000, #222)'")
    assert any(found.startswith("dark: color-contrast") for found in in_both_themes(page))
    assert len(opened.problems) >= 2
    opened.problems.clear()


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_is_quiet_accessible_and_fits_a_phone(window, home, part):
    opened = window(color_scheme="light")
    page = opened.sign_in(home.user)
    bad, seen = {}, []
    for path in visited(page, home, part):
        seen.append(path)
        opened.check()
        if found := (faults(page) | set(opened.problems)):
            bad[path] = found
        opened.problems.clear()
    assert bad == {}
    assert len(seen) > 5


def faults(page) -> set[str]:
    """What axe says in both themes, heads that run over, and sideways scrolling on a phone."""
    found = set(in_both_themes(page))
    page.set_viewport_size({"width": 1100, "height": 700})
    if page.evaluate(RUNS_OVER):
        found.add("the head of the page runs over what is below it")
    page.set_viewport_size({"width": 390, "height": 844})
    if (width := page.evaluate("document.documentElement.scrollWidth")) > 390:
        found.add(f"{width} px wide on a phone")
    page.set_viewport_size({"width": 1360, "height": 900})
    return found


def test_the_door_and_the_error_pages_are_accessible(window):
    opened = window(color_scheme="light")
    opened.expect("404 (Not Found)")
    page = opened.page
    for path in ("/sign-in/", "/join/never-made/"):
        page.goto(path)
        assert in_both_themes(page) == []
    opened.problems.clear()


def test_the_question_mark_shows_the_keys_and_esc_closes_them(window, home):
    page = window().sign_in(home.user)
    page.goto(overview(home))
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    expect(page.locator("#help")).to_contain_text("undo the last thing")
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_the_theme_changes_at_once_and_stays(window, home):
    page = window(color_scheme="light").sign_in(home.user)
    page.goto(overview(home))
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    with page.expect_response("**/theme/"):
        page.get_by_role("button", name="Dark").click()
    assert page.evaluate(ground) != before
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    with page.expect_response("**/theme/"):
        page.get_by_role("button", name="As the system").click()
    assert page.evaluate(ground) == before


def test_g_and_a_letter_go_to_a_page_and_reading_begins_there(window, home):
    page = window().sign_in(home.user)
    page.goto("/styleguide/")
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page).to_have_url(f"{page.url.split('/styleguide')[0]}{overview(home)}")
    expect(page).to_have_title("Overview · Keno")
    expect(page.locator("#main")).to_be_focused()
    page.go_back()
    expect(page).to_have_title("Style guide · Keno")
    expect(page.locator("nav.rail")).to_be_visible()


def test_slash_finds_a_fact_with_the_arrows(window, home):
    page = window().sign_in(home.user)
    page.goto(overview(home))
    page.keyboard.press("/")
    expect(page.locator("#jump-q")).to_be_focused()
    page.keyboard.type("tea")
    expect(page.locator("#jump-list")).to_contain_text("Bo drinks tea")
    page.keyboard.press("Control+a")
    page.keyboard.type("overv")
    expect(page.locator("#jump-list")).to_contain_text("Overview")
    expect(page.locator("#jump-list a")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.locator("#jump-list a").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Overview")


def test_a_search_that_a_newer_one_replaces_is_not_an_error(window, home):
    opened = window()
    page = opened.sign_in(home.user)
    # The first answer never comes: the page must let go of it by itself.
    page.route("**q=tea", lambda route: None)
    page.goto(overview(home))
    page.keyboard.press("/")
    with page.expect_request("**q=tea"):
        page.keyboard.type("tea")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("q=tea")):
        page.keyboard.type("pot")
    expect(page.locator("#jump-list")).not_to_contain_text("Bo drinks tea")
    expect(page.locator("#toasts .toast")).to_have_count(0)
    assert opened.problems == []


def test_keys_do_nothing_while_one_types(window, home):
    page = window().sign_in(home.user)
    page.goto(overview(home))
    page.keyboard.press("/")
    page.keyboard.type("g?jx")
    expect(page.locator("#jump-q")).to_have_value("g?jx")
    expect(page.locator("#help")).to_be_hidden()


def test_a_row_is_taken_back_by_key_and_u_brings_it_again(window, home):
    page = window().sign_in(home.user)
    page.goto(overview(home))
    page.keyboard.press("j")
    page.keyboard.press("j")
    row = page.locator("[data-row]").nth(1)
    expect(row).to_be_focused()
    said = row.locator("p").first.inner_text()
    page.keyboard.press("x")
    expect(page.locator("#toasts .toast")).to_have_count(1)
    expect(page.locator("#toasts")).to_contain_text("Undone.")
    expect(page.locator("#learned .gone")).to_have_text(said)
    expect(page.locator("[data-row]").nth(1)).to_be_focused()
    page.keyboard.press("u")
    expect(page.locator("#learned .gone")).to_have_count(0)


def test_a_lost_server_is_said(window, home):
    opened = window()
    opened.expect("ERR_FAILED")
    opened.expect("htmx:")
    page = opened.sign_in(home.user)
    page.goto(overview(home))
    page.route("**/theme/", lambda route: route.abort())
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("#toasts")).to_contain_text("Could not reach Keno")
    assert any("htmx:sendError" in problem for problem in opened.problems)


def test_a_session_that_ended_leads_to_the_door(window, home):
    opened = window()
    page = opened.sign_in(home.user)
    page.goto(overview(home))
    opened.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.locator("[data-row] button").first.click(force=True)
    expect(page.locator("h1")).to_have_text("Sign in to Keno")


def test_on_a_phone_more_is_a_sheet(window, home):
    page = window(phone=True).sign_in(home.user)
    page.goto(overview(home))
    expect(page.locator("nav.rail")).to_be_hidden()
    page.get_by_role("button", name="More").tap()
    expect(page.locator("nav.rail")).to_be_visible()
    assert findings(page) == []
    page.locator("nav.rail").get_by_role("link", name="Overview").tap()
    expect(page.locator("nav.rail")).to_be_hidden()


def test_menus_close_when_one_looks_elsewhere(window, home):
    page = window().sign_in(home.user)
    page.goto(overview(home))
    page.locator("summary.space").click()
    expect(page.get_by_role("link", name="Members")).to_be_visible()
    assert findings(page) == []
    page.locator("h1").click()
    expect(page.get_by_role("link", name="Members")).to_be_hidden()


def test_spanish_is_one_choice_away(window, home):
    page = window().sign_in(home.user)
    page.goto(overview(home))
    page.locator(".foot summary").click()
    page.get_by_role("button", name="Español").click()
    assert page.locator("html").get_attribute("lang") == "es"
    expect(page.locator("h1")).to_have_text("Resumen")
    expect(page.locator("#learned")).to_contain_text("Aprendido en las últimas 24 horas")


def test_everything_works_without_script(window, home):
    page = window(java_script_enabled=False).page
    page.goto(overview(home))
    page.fill("[name=name]", "ana")
    page.fill("[name=password]", PASSWORD)
    page.click("button.main")
    expect(page.locator("h1")).to_have_text("Overview")
    page.locator("[data-row] button").first.click()
    expect(page.locator(".toast")).to_contain_text("Undone.")
    expect(page.locator("#learned .gone")).to_have_count(1)
    page.locator(".toast button").click()
    expect(page.locator("#learned .gone")).to_have_count(0)
    page.locator(".switch button[value=dark]").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.locator("a.jump").click()
    page.fill("#q", "tea")
    page.press("#q", "Enter")
    expect(page.locator("#found")).to_contain_text("Bo drinks tea")
