"""Every page is valid HTML, as the parser of the standard reads it."""

import collections
import re

import html5lib
import pytest

from tests.factories import make_client, make_member, one_of_everything
from tests.kenoweb.addresses import every_address

pytestmark = pytest.mark.django_db


def problems(html: str) -> list[str]:
    parser = html5lib.HTMLParser(strict=False)
    parser.parse(html)
    found = [f"line {where[0]}: {code} {more}" for where, code, more in parser.errors]
    ids = collections.Counter(re.findall(r'\sid="([^"]+)"', html))
    return found + [f"id {name} stands there {n} times" for name, n in ids.items() if n > 1]


def test_the_checker_sees_what_is_wrong():
    assert problems("<!doctype html><title>x</title><p><div id='a'></p></div>")
    assert problems('<!doctype html><title>x</title><p id="a"></p><p id="a"></p>')


def test_every_page_is_valid_html():
    member = make_member()
    things = one_of_everything(member.space, owner=member.user, mark="something")
    client, bad, seen = make_client(member.user, sudo=True), {}, 0
    for address in every_address():
        page = client.get(address.path(member.space.slug, things))
        if page.status_code == 200 and page["Content-Type"].startswith("text/html"):
            seen += 1
            if found := problems(page.content.decode()):
                bad[address.name] = found
    assert bad == {}
    assert seen > 5
