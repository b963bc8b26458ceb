"""Render Markdown that people and models wrote as safe HTML."""

import re
import threading
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement

import markdown
import nh3
from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

from kenoweb.ui.formatting import HIDDEN, codepoint

TAGS = {
    "p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li",
    "h2", "h3", "h4", "a", "span", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
SCHEMES = {"http", "https", "mailto"}
# Measured: 2,000 "[" cost Python-Markdown seconds, 400 cost 70 ms.
MAX_LENGTH = 20_000
MAX_OF = {"[": 150, "<!": 50, "*": 1500, "_": 1500, "`": 600, ">": 600, "\n": 2000}
MAX_NESTING = 12
NESTING = re.compile(r"(?:[ \t>*+-]|\d{1,9}\.)*")
LIST_ITEM = re.compile(r"[-*+] |1[.)] ")
OWN_PAGE = re.compile(r"/[\w/?=&-]+$")
NOT_A_SENTENCE = re.compile(r"[-*+>|#\s]|\d{1,3}[.)] |$")

_thread_cache = threading.local()


def render(text: str) -> SafeString:
    """Turn Markdown into HTML without scripts; text that is slow to convert stays plain."""
    text = HIDDEN.sub(lambda match: f"⟨{codepoint(match[0])}⟩", text.replace("\x00", ""))
    if _is_costly(text):
        return _plain(text)
    try:
        html = _to_html(text)
    except RecursionError:
        return _plain(text)
    # Cleaned after Markdown, not before: the other order leaves javascript: links alive.
    html = nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
    # hx-disable: a second wall, so that nothing in here can ever talk to the server.
    return mark_safe(f'<div class="prose" hx-disable>{html}</div>')


def _plain(text: str) -> SafeString:
    return mark_safe(f'<div class="prose" hx-disable><pre class="as-is">{escape(text)}</pre></div>')


def _is_costly(text: str) -> bool:
    return (
        len(text) > MAX_LENGTH
        or any(text.count(mark) > most for mark, most in MAX_OF.items())
        or any(_depth(line) > MAX_NESTING for line in text.splitlines())
    )


def _depth(line: str) -> int:
    """Return how deep a line nests: every level of quote or list is another recursion."""
    head = NESTING.match(line)[0].expandtabs(4)
    return sum(head.count(mark) for mark in ">-+*.") + head.count(" ") // 4


def _to_html(text: str) -> str:
    # Making a converter takes longer than converting a message: one for each thread.
    if not hasattr(_thread_cache, "converter"):
        extensions = ["tables", "sane_lists", "nl2br", _SafeExtension()]
        _thread_cache.converter = markdown.Markdown(extensions=extensions)
    try:
        return _thread_cache.converter.reset().convert(_prepare_lines(text))
    except BaseException:
        del _thread_cache.converter  # it may be in the middle of something
        raise


def _prepare_lines(text: str) -> str:
    """Put a blank line before a list that begins right below its sentence: Markdown needs it.

    A page of this Keno, alone in its line, becomes a link.
    """
    lines, last = [], ""
    for line in text.split("\n"):
        if LIST_ITEM.match(line) and not NOT_A_SENTENCE.match(last):
            lines.append("")
        lines.append(f"<{line}>" if _is_own_page(line) else line)
        last = line
    return "\n".join(lines)


def _is_own_page(line: str) -> bool:
    home = settings.KENO_URL
    return bool(home and line.startswith(home) and OWN_PAGE.match(line[len(home) :]))


class _SafeExtension(Extension):
    def extendMarkdown(self, md):
        # Raw HTML stays visible as text: a quote is never restyled and nothing of it is lost.
        md.preprocessors.deregister("html_block")
        md.inlinePatterns.deregister("html")
        for name in ("image_link", "image_reference", "short_image_ref"):
            md.inlinePatterns.deregister(name)
        md.treeprocessors.register(_HeadingsAndLinks(md), "headings_and_links", 5)


class _HeadingsAndLinks(Treeprocessor):
    """Put headings below the page's own, and show the host of every link."""

    def run(self, root):
        for element in list(root.iter()):
            if re.fullmatch("h[1-6]", element.tag):
                element.tag = "h2" if element.tag in {"h1", "h2"} else "h3"
            elif element.tag == "a":
                _show_host(element)


def _show_host(link: Element) -> None:
    try:
        host = urlsplit(link.get("href", "")).hostname or ""
    except ValueError:
        host = ""
    if host and host not in "".join(link.itertext()):
        SubElement(link, "span").text = f" ({host})"
