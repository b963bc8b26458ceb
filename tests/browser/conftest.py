"""A real Chromium that nobody else talks to, and that fails the test when it complains."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect, sync_playwright

from kenoweb.api import events
from tests.factories import make_client

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "test-results"
AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text()
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# No update checks, no field trials: every request a test sees was made by Keno's pages.
QUIET = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
]
# A busy machine is no fault of the page's; only a page that never comes is.
PATIENCE = 45_000
# htmx reports requests that the page itself cut off, because a newer one replaced them (hx-sync) or
# the reader went to another page: nothing is wrong then. Before that, and before every report of a
# request that was really lost, it says htmx:afterRequest.
CUT_OFF = ("htmx:afterRequest", "htmx:sendAbort")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call":
        item.failed_in_call = report.failed
    return report


def find_chromium() -> str:
    """The system's browser, else the one Playwright fetched, else nothing."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    with sync_playwright() as play:
        own = play.chromium.executable_path
    return own if Path(own).exists() else ""


@pytest.fixture(scope="session")
def chromium(django_db_setup) -> Browser:
    # Playwright keeps an event loop in this thread; Django must not mind. The database is made
    # before and dropped after it, because with a loop Django has another connection.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    path = find_chromium()
    if not path:
        pytest.fail(
            f"No browser: install one of {', '.join(NAMES)}, or run `playwright install chromium`."
            ' Without one, run the other tests: pytest -m "not browser".',
            pytrace=False,
        )
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=[*QUIET, *sandbox])
        yield browser
        browser.close()


class Window:
    """One browser context. `problems` is what the console, the policy and the network said."""

    def __init__(self, chromium: Browser, base: str, **options):
        options.setdefault("viewport", {"width": 1360, "height": 900})
        self.context = chromium.new_context(
            base_url=base, locale="en", reduced_motion="reduce", **options
        )
        self.context.set_default_timeout(PATIENCE)
        self.base, self.problems, self.expected = base, [], []
        self.context.on("page", self._watch)
        self.page: Page = self.context.new_page()

    def sign_in(self, user, *, sudo: bool = True) -> Page:
        name = settings.SESSION_COOKIE_NAME
        key = make_client(user, sudo=sudo).cookies[name].value
        self.context.add_cookies([{"name": name, "value": key, "url": self.base}])
        return self.page

    def expect(self, part: str) -> None:
        """The console may say this once or more: the test provokes it."""
        self.expected.append(part)

    def check(self) -> None:
        seen = [said for said in self.problems if not any(part in said for part in self.expected)]
        assert seen == []

    def _watch(self, page: Page) -> None:
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("request", self._requested)

    def _heard(self, message) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(CUT_OFF):
            self.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _requested(self, request) -> None:
        there = urlsplit(request.url)
        if there.scheme != "data" and there.netloc != urlsplit(self.base).netloc:
            self.problems.append(f"request to {request.url}")


@pytest.fixture
def window(chromium, live_server, request):
    """Call it for a browser window: window(), window(phone=True), window(color_scheme="dark")."""
    opened = []

    def open_window(*, phone: bool = False, **options) -> Window:
        opened.append(Window(chromium, live_server.url, **(PHONE if phone else {}) | options))
        return opened[-1]

    yield open_window
    failed = getattr(request.node, "failed_in_call", False)
    for number, one in enumerate(opened):
        if failed:
            PICTURES.mkdir(exist_ok=True)
            one.page.screenshot(path=PICTURES / f"{request.node.name}-{number}.png")
        one.context.close()
    events.BROADCASTER.stop()
    if not failed:
        for one in opened:
            one.check()


def in_both_themes(page: Page) -> list[str]:
    """What axe finds on a page that is shown light; only colours can be wrong in the dark alone."""
    found = findings(page)
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {one}" for one in findings(page, runOnly=["color-contrast"])]
    page.emulate_media(color_scheme="light")
    return found


def findings(page: Page, **options) -> list[str]:
    """What axe calls serious or critical on the page as it is now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    options |= {"resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{rule['id']}: {node['html'][:160]} ({rule['help']})"
        for rule in found["violations"]
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
    ]
