"""Hostile words on every page: read by the parser of the standard, none of them does anything."""

import re
from html import unescape

import pytest
from django.urls import reverse

from memory.models import Chat, Episode, Fact, Pattern, WorkingNote
from tests import hostile
from tests.factories import make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
MORE = re.compile(r'class="more" hx-get="([^"]+)"')
LISTS = [
    ("facts:index", {}),
    ("facts:index", {"q": hostile.POLYGLOT}),
    ("episodes:index", {}),
    ("episodes:index", {"look": "list", "status": "any"}),
    ("patterns:index", {"tried": hostile.POLYGLOT}),
    ("working:index", {}),
    ("rulings:index", {}),
    ("quarantine:index", {"kind": "facts"}),
    ("trash:index", {"kind": "facts"}),
    ("chats:index", {}),
    ("members:index", {}),
    ("notices:index", {}),
    ("identity:index", {}),
]


@pytest.fixture
def owner():
    return make_member(space=make_space("home"), user=make_user("ana"))


def parts(client, url: str):
    """The page and all that More brings."""
    while url:
        answer = client.get(url)
        assert answer.status_code == 200, url
        html = answer.content.decode()
        yield html
        url = unescape(found[1]) if (found := MORE.search(html)) else ""


def test_the_eye_sees_what_is_alive():
    whole = "<!doctype html><title>x</title>"
    assert hostile.live(f"{whole}<p class=x>fine <a href='https://a.example'>a</a></p>") == []
    for line in hostile.OWN[:6]:
        assert hostile.live(f"{whole}<p>{line}</p>") or hostile.live(f"{whole}<p title='{line}'>")
    assert hostile.live(f"{whole}<a href='java\nscript:alert(1)'>x</a>")


def test_every_line_on_every_list_is_inert(owner):
    strange = hostile.several(hostile.lines("naughty")[len(hostile.OWN) :], at_once=6)
    hostile.fill(owner.space, hostile.lines("xss") + strange)
    client, bad, seen = make_client(owner.user, sudo=True), {}, set()
    for name, query in LISTS:
        for html in parts(client, reverse(name, args=["home"], query=query)):
            seen.add(name)
            if found := hostile.live(html):
                bad[f"{name} {query}"] = found[:3]
    assert bad == {}
    assert len(seen) == len({name for name, _query in LISTS})


def test_the_words_are_there_to_be_read(owner):
    """Inert, not gone: what somebody wrote stands on the page as they wrote it."""
    hostile.fill(owner.space, [hostile.POLYGLOT])
    client = make_client(owner.user)
    shown = {"facts": Fact, "episodes": Episode, "patterns": Pattern, "working": WorkingNote}
    for name, model in shown.items():
        page = client.get(reverse(f"{name}:detail", args=["home", model.objects.first().pk]))
        assert "onerror=alert(1)&gt;" in page.content.decode(), name
    chat = client.get(reverse("chats:detail", args=["home", Chat.objects.first().pk]))
    assert "onerror=alert(1)&gt;" in chat.content.decode()
