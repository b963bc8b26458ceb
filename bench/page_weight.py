"""What a page costs a phone: bytes and requests of a first load, largest paint, layout shift.

    python -m bench.page_weight

Starts a Keno of its own in a fresh home with the demo in it, and opens five pages in a real
Chromium, each with an empty cache, as a phone on a slow line: four times slower processor,
1.6 Mbit/s, 150 ms. `python -m bench.pictures` takes the pictures of the docs from the same demo.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PORT = 8765
BASE = f"http://127.0.0.1:{PORT}"
PASSWORD = "a demo that nobody keeps"
PAGES = {
    "overview": "/s/demo/",
    "facts": "/s/demo/facts/",
    "chats": "/s/demo/chats/",
    "proposals": "/s/demo/proposals/",
    "map": "/s/demo/map/",
}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True}
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}
LARGEST_BYTES = 250_000
# Read when the page has come to rest.
WATCH = """
window.seen = {paint: 0, shift: 0};
const watch = (type, tell) => new PerformanceObserver(list => list.getEntries().forEach(tell))
  .observe({type, buffered: true});
watch("largest-contentful-paint", one => { seen.paint = one.startTime; });
watch("layout-shift", one => { if (!one.hadRecentInput) seen.shift += one.value; });
"""


@contextmanager
def running_demo() -> Iterator[tuple[Browser, Path]]:
    """A browser, and the file with the cookies of the owner of a fresh Keno with its demo."""
    home = Path(tempfile.mkdtemp(prefix="keno-look-"))
    home.chmod(0o755)
    env = os.environ | {"KENO_HOME": str(home / "home")}
    up = [sys.executable, "manage.py", "up", "--port", str(PORT)]
    running = subprocess.Popen(up, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        link = _link(running)
        with sync_playwright() as playwright:
            found = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            state = home / "cookies.json"
            _set_up(browser, link, state)
            subprocess.run([sys.executable, "manage.py", "demo"], cwd=ROOT, env=env, check=True)
            yield browser, state
            browser.close()
    finally:
        running.terminate()
        running.wait(timeout=60)
        shutil.rmtree(home, ignore_errors=True)


def _link(running: subprocess.Popen) -> str:
    assert running.stdout
    for line in running.stdout:
        if found := re.search(rf"{BASE}/setup/\S+", line):
            return found[0]
    raise SystemExit("Keno did not start.")


def _set_up(browser: Browser, link: str, state: Path) -> None:
    context = browser.new_context(timezone_id="America/Mexico_City")
    page = context.new_page()
    page.goto(link)
    for name, value in (("called", "Ana"), ("name", "ana"), ("new", PASSWORD), ("again", PASSWORD)):
        page.fill(f"[name={name}]", value)
    page.get_by_role("button", name="Create your account").click()
    page.wait_for_url("**/s/**")
    context.storage_state(path=state)
    context.close()


def weigh(context: BrowserContext, path: str) -> dict[str, Any]:
    """Load a page once, with nothing cached, on a slow phone."""
    page = context.new_page()
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.setCacheDisabled", {"cacheDisabled": True})
    line.send("Network.emulateNetworkConditions", SLOW)
    line.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    got: list[float] = []
    line.on("Network.loadingFinished", lambda event: got.append(event["encodedDataLength"]))
    page.add_init_script(WATCH)
    page.goto(BASE + path, wait_until="load")
    page.wait_for_timeout(3000)
    seen = page.evaluate("seen")
    page.close()
    return {"bytes": int(sum(got)), "requests": len(got)} | seen


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with running_demo() as (browser, state):
        print("| page | kB | requests | largest paint, ms | layout shift |\n|---|---|---|---|---|")
        for name, path in PAGES.items():
            context = browser.new_context(storage_state=state, **PHONE)  # type: ignore[arg-type]
            one = weigh(context, path)
            context.close()
            over = " (over)" if one["bytes"] > LARGEST_BYTES else ""
            print(
                f"| {name} | {one['bytes'] / 1000:.0f}{over} | {one['requests']}"
                f" | {one['paint']:.0f} | {one['shift']:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
