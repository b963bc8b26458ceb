"""What people read is in their language: no English in Spanish, one decimal sign, no codes."""

import re
from html.parser import HTMLParser

import pytest

from tests.factories import make_client, make_member, one_of_everything
from tests.kenoweb.addresses import every_address

pytestmark = pytest.mark.django_db
MARK = "Zorro"
# Not read aloud as words: code, keys, and what is marked as another language.
UNREAD = {"script", "style", "code", "pre", "kbd", "textarea", "title"}
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "use", "wbr"}
ENGLISH = re.compile(
    r"\b(the|and|of|with|your|you|this|that|these|those|are|was|were|from|for|has|have|not|it|its"
    r"|is|will|been|when|what|which|nothing|every|or|to|by|on|at|an|if|then|than)\b",
    re.IGNORECASE,
)
POINT = re.compile(r"(?<![\w.:/-])\d*\.\d{1,2}(?![\w.-])")
CODE = re.compile(
    r"person:|offline:|token:\w|__lore__|minilm-|built-in|\b[a-z]+_[a-z]+\b|heuristics"
)
# Months as English shortens them; Spanish writes "nov".
MONTH = re.compile(r"\b(Jan|Ene|Feb|Mar|Apr|Abr|May|Jun|Jul|Aug|Ago|Sep|Oct|Nov|Dec|Dic)\b")
# Names and addresses that are the same in every language.
NAMES = re.compile(r"https?://\S+|\S+@\S+|KENO_\w+|[A-Z_]{4,}|/s/\S+|Isle of Man|Port of Spain")


class Words(HTMLParser):
    """Collect the texts of a page that are read in the language of the page."""

    def __init__(self, html: str):
        super().__init__()
        self.stack, self.found = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            other = given.get("lang", "es") not in ("es", None)
            self.stack.append(tag in UNREAD or other or "data-raw" in given)
        for name in ("title", "aria-label", "placeholder", "alt"):
            if given.get(name) and not any(self.stack):
                self.found.append(given[name])

    def handle_endtag(self, tag):
        if self.stack and tag not in VOID:
            self.stack.pop()

    def handle_data(self, data):
        if data.strip() and not any(self.stack):
            self.found.append(" ".join(data.split()))


@pytest.fixture
def pages():
    """Every page of a space with one of everything, in Spanish: {name: texts}."""
    owner = make_member(role="owner")
    things = one_of_everything(owner.space, owner=owner.user, mark=MARK)
    client = make_client(owner.user)
    client.cookies["keno_language"] = client.cookies["django_language"] = "es"
    found = {}
    for address in every_address():
        if address.in_space and not address.name.startswith(("api", "mem0", "oauth", "events")):
            answer = client.get(address.path(owner.space.slug, things))
            if answer.status_code == 200 and "html" in answer["Content-Type"]:
                found[address.name] = Words(answer.content.decode()).found
    return found


def told(pages, pattern):
    """What the pattern finds, by page, without the words of the made-up people."""
    return sorted(
        {
            f"{name}: {text[:120]}"
            for name, texts in pages.items()
            for text in texts
            if MARK not in text and pattern.search(NAMES.sub("", text))
        }
    )


def test_every_page_speaks_the_language_of_its_reader(pages):
    assert len(pages) > 40
    assert [told(pages, one) for one in (ENGLISH, POINT, CODE, MONTH)] == [[], [], [], []]
