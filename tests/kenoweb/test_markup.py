"""Every page is valid HTML and inert, as the parser of the standard reads it."""

import collections
import re

import html5lib
import pytest

from tests import hostile
from tests.factories import make_client, make_member, one_of_everything
from tests.kenoweb.addresses import every_address

pytestmark = pytest.mark.django_db


def problems(html: str) -> list[str]:
    """What is wrong with the page, and what came alive on it."""
    parser = html5lib.HTMLParser(strict=False, namespaceHTMLElements=False)
    found = hostile.alive(parser.parse(html))[:3]
    found += [f"line {where[0]}: {code} {more}" for where, code, more in parser.errors]
    ids = collections.Counter(re.findall(r'\sid="([^"]+)"', html))
    return found + [f"id {name} stands there {n} times" for name, n in ids.items() if n > 1]


def test_the_checker_sees_what_is_wrong():
    assert problems("<!doctype html><title>x</title><p><div id='a'></p></div>")
    assert problems('<!doctype html><title>x</title><p id="a"></p><p id="a"></p>')


def test_every_page_is_valid_and_inert_whatever_words_stand_on_it():
    member = make_member()
    things = one_of_everything(member.space, owner=member.user, mark=hostile.POLYGLOT)
    hostile.fill(member.space, [hostile.POLYGLOT])
    client, bad, seen = make_client(member.user, sudo=True), {}, 0
    for address in every_address():
        page = client.get(address.path(member.space.slug, things))
        if page.status_code == 200 and page["Content-Type"].startswith("text/html"):
            seen += 1
            if found := problems(page.content.decode()):
                bad[address.name] = found
    assert bad == {}
    assert seen > 30
