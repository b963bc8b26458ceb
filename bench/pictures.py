"""The pictures of the docs, and the tour of README, from a fresh demo: `make pictures`.

    python -m bench.pictures

The tour is one SVG with a picture of every station and twelve times five seconds of CSS, so no
program has to make a film of it.
"""

import base64
from pathlib import Path

from playwright.sync_api import Browser, Page

from bench.page_weight import BASE, ROOT, running_demo

FOLDER = ROOT / "docs" / "pictures"
WIDE, TALL = 1280, 860
PHONE = (390, 844)
CHAT = "#main a.text"
# A reply whose receipt found what it speaks of.
RECEIPT = f"{CHAT} | .msg:has-text('El 21 de diciembre') a.chip"
# A night that applied several things, so that there is a story.
NIGHT = r"#main tbody tr:has(td:nth-child(3):text-matches('^\s*[3-9]')) a"
# Asked in one language, answered by what was said in the other.
LAB = "/s/demo/recall/?q=What+is+Luc%C3%ADa+allergic+to%3F"
# Name of the file, page, and the links to follow there.
PICTURES = [
    ("overview-light", "/s/demo/", ""),
    ("overview-dark", "/s/demo/", ""),
    ("overview-phone", "/s/demo/", ""),
    ("chat-light", "/s/demo/chats/", RECEIPT),
    ("night-light", "/s/demo/nights/", NIGHT),
    ("map-dark", "/s/demo/map/", ""),
    ("proposals-dark", "/s/demo/proposals/", ""),
    ("lab-light", LAB, ""),
    ("facts-light", "/s/demo/facts/", ""),
]
TOUR = [
    ("Is it well, what waits, what did it learn", "/s/demo/", ""),
    ("Talk to it; what it learned has an Undo", "/s/demo/chats/", CHAT),
    ("Every reply has a receipt", "/s/demo/chats/", RECEIPT),
    ("Everything it knows, with the words it came from", "/s/demo/facts/", ""),
    ("One fact: quote, history, price", "/s/demo/facts/", "#main tbody a.text"),
    ("People and what is known about them", "/s/demo/people/", ""),
    ("At night it reads, believes and asks", "/s/demo/nights/", NIGHT),
    ("You decide what is believed", "/s/demo/proposals/", ""),
    ("Why something comes to mind", LAB, ""),
    ("The map of a memory", "/s/demo/map/", ""),
    ("Golden questions hold its answers", "/s/demo/golden/", ""),
    ("What it cost", "/s/demo/costs/", ""),
]
SECONDS = 5
SCALE = 0.62


def main() -> None:
    with running_demo() as (browser, state):
        for name, path, link in PICTURES:
            page = _page(browser, state, look=name.rpartition("-")[2])
            _open(page, path, link)
            page.screenshot(path=FOLDER / f"{name}.png")
            page.context.close()
            print(name, flush=True)
        (FOLDER / "tour.svg").write_text(_tour(browser, state))
    print(f"tour.svg, {(FOLDER / 'tour.svg').stat().st_size // 1000} kB")


def _page(browser: Browser, state: Path, *, look: str, scale: float = 1) -> Page:
    width, height = PHONE if look == "phone" else (WIDE, TALL)
    return browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if look == "dark" else "light",
        storage_state=state,
        device_scale_factor=scale,
    ).new_page()


def _open(page: Page, path: str, link: str) -> None:
    page.goto(BASE + path)
    for step in filter(None, link.split(" | ")):
        page.locator(step).locator("visible=true").first.click()
    page.wait_for_timeout(900)
    # A busy machine is late with what was clicked.
    page.wait_for_function("!document.querySelector('.htmx-request')")
    page.wait_for_timeout(300)


def _tour(browser: Browser, state: Path) -> str:
    page = _page(browser, state, look="light", scale=SCALE)
    frames = []
    for _said, path, link in TOUR:
        _open(page, path, link)
        frames.append(base64.b64encode(page.screenshot(type="jpeg", quality=62)).decode())
    page.context.close()
    return tour_svg(frames)


def tour_svg(frames: list[str]) -> str:
    """The pictures (JPEG in base64) one after the other, each with its words under it."""
    whole, share = SECONDS * len(TOUR), 100 / len(TOUR)
    stations = "".join(
        f'<g class="s" style="animation-delay:{n * SECONDS}s">'
        f'<image width="{WIDE}" height="{TALL}" href="data:image/jpeg;base64,{frame}"/>'
        f'<rect y="{TALL}" width="{WIDE}" height="64" fill="#0b5c6f"/>'
        f'<text x="32" y="{TALL + 42}">{said}</text></g>'
        for n, (frame, (said, _path, _link)) in enumerate(zip(frames, TOUR, strict=True))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TALL + 64}" width="{WIDE}">'
        "<title>Keno in sixty seconds</title><style>"
        "text{font:500 28px system-ui,sans-serif;fill:#fff}"
        f".s{{opacity:0;animation:s {whole}s infinite}}.s:first-of-type{{opacity:1}}"
        f"@keyframes s{{0%,{share - 0.4:.2f}%{{opacity:1}}{share:.2f}%,100%{{opacity:0}}}}"
        f"</style>{stations}</svg>\n"
    )


if __name__ == "__main__":
    main()
