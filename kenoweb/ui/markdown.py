"""Text somebody wrote, as safe HTML."""

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

from kenoweb.ui.formatting import HIDDEN, code

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
NO_SENTENCE = re.compile(r"[-*+>|#\s]|\d{1,3}[.)] |$")

_kept = threading.local()


def render(text: str) -> SafeString:
    """Markdown to HTML that cannot act; what would be slow to read stays plain text."""
    text = HIDDEN.sub(lambda sign: f"⟨{code(sign[0])}⟩", text.replace("\x00", ""))
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
    """How deep a line nests: every level of quote or list is another recursion."""
    head = NESTING.match(line)[0].expandtabs(4)
    return sum(head.count(mark) for mark in ">-+*.") + head.count(" ") // 4


def _to_html(text: str) -> str:
    # Making a converter takes longer than converting a message: one for each thread.
    if not hasattr(_kept, "converter"):
        extensions = ["tables", "sane_lists", "nl2br", _Calm()]
        _kept.converter = markdown.Markdown(extensions=extensions)
    try:
        return _kept.converter.reset().convert(_apart(text))
    except BaseException:
        del _kept.converter  # whatever it was in the middle of
        raise


def _apart(text: str) -> str:
    """Models and people begin a list right below its sentence; Markdown wants a line between.

    A page of this Keno, alone in its line, is a link.
    """
    lines, last = [], ""
    for line in text.split("\n"):
        if LIST_ITEM.match(line) and not NO_SENTENCE.match(last):
            lines.append("")
        lines.append(f"<{line}>" if _is_own_page(line) else line)
        last = line
    return "\n".join(lines)


def _is_own_page(line: str) -> bool:
    home = settings.KENO_URL
    return bool(home and line.startswith(home) and OWN_PAGE.match(line[len(home) :]))


class _Calm(Extension):
    def extendMarkdown(self, md):
        # Raw HTML stays visible as text: a quote is never restyled and nothing of it is lost.
        md.preprocessors.deregister("html_block")
        md.inlinePatterns.deregister("html")
        for name in ("image_link", "image_reference", "short_image_ref"):
            md.inlinePatterns.deregister(name)
        md.treeprocessors.register(_Tame(md), "tame", 5)


class _Tame(Treeprocessor):
    """Titles step below the page's own, and every link says where it leads."""

    def run(self, root):
        for element in list(root.iter()):
            if element.tag in {"h1", "h2"}:
                element.tag = "h2"
            elif element.tag in {"h3", "h4", "h5", "h6"}:
                element.tag = "h3"
            elif element.tag == "a":
                _show_host(element)


def _show_host(link: Element) -> None:
    try:
        host = urlsplit(link.get("href", "")).hostname or ""
    except ValueError:
        host = ""
    if host and host not in "".join(link.itertext()):
        SubElement(link, "span").text = f" ({host})"
