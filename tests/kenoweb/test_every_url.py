"""Who may open what: every address of the project, tried by everybody.

A new page is tried as soon as it has an address; it fails until its view wears a decorator
of kenoweb/auth/access.py, and until factories.one_of_everything has what its address needs.
"""

import ast
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from kenoweb.api import events
from memory.models import AuditEntry, Member
from tests.factories import (
    make_chat,
    make_client,
    make_entity,
    make_episode,
    make_fact,
    make_member,
    make_message,
    make_receipt,
    make_space,
    make_user,
    make_working_note,
    one_of_everything,
)
from tests.kenoweb.addresses import every_address

ROOT = Path(__file__).resolve().parents[2]
LADDER = ["viewer", "curator", "owner"]
FOR_PROGRAMS = {"token", "protocol"}
ROLES = {"public", "signed-in", *FOR_PROGRAMS, *LADDER}
ADDRESSES = every_address()
IN_SPACE = [found for found in ADDRESSES if found.in_space]
# Viewers look; what they may send all the same stands here, one by one.
VIEWERS_MAY_SEND = {"members:leave"}
GIVES_AWAY = re.compile(
    r"export|import|backup|erase|download|purge|empty|invite|role|members:remove"
    r"|tokens:new|identity:(edit|revise)"
)
LOOKUP = re.compile(r"\.(?:objects|_default_manager|_base_manager)\b|get_object_or_404")
CANARY, STRANGER, SECRET = "canaryhere", "canarythere", "canaryprivate"

OF_OBJECTS = [found for found in IN_SPACE if found.has_object]


class House:
    """Two spaces with one of everything in each, and somebody in every role."""

    def __init__(self):
        self.space = make_space("here", name=CANARY)
        self.other = make_space("there", name=STRANGER)
        self.people = {role: make_user(role) for role in LADDER}
        for role, user in self.people.items():
            make_member(space=self.space, user=user, role=role)
        # A second owner, so that no act is refused for being the last owner's.
        self.second = make_user("second")
        make_member(space=self.space, user=self.second, role="owner")
        self.people["stranger"] = make_user("stranger")
        make_member(space=self.other, user=self.people["stranger"])
        self.keys = {}
        self.things = one_of_everything(self.space, owner=self.people["owner"], mark=CANARY)
        self.theirs = one_of_everything(self.other, owner=self.people["stranger"], mark=STRANGER)
        # Nobody works them off here, and after two minutes Keno would not be ready.
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs")

    def path(self, address):
        return address.path(self.space.slug, self.things)

    def client(self, who, **options):
        """A browser of its own, in a session that all of this person's share."""
        client = Client(**options)
        if user := self.people.get(who):
            key = self.keys.get(who) or make_client(user, sudo=True).session.session_key
            self.keys[who] = client.cookies[settings.SESSION_COOKIE_NAME] = key
        return client


@pytest.fixture(scope="module")
def built(django_db_setup, django_db_blocker):
    """Built once: every test works in a savepoint inside and leaves it as it was."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield House()
        transaction.set_rollback(True)


@pytest.fixture
def house(built, db):
    built.keys.clear()  # the sessions went with the test that began them
    return built


class Undone(Exception):
    pass


def answers(client, path, **sent):
    """The answers to GET and to a POST (empty, or of this); what the POST did is taken back."""
    found = []
    for method, given in ((client.get, {}), (client.post, sent)):
        try:
            with transaction.atomic():
                found.append(method(path, **given))
                events.BROADCASTER.stop()  # nobody listens on
                raise Undone
        except Undone:
            pass
    # A view that takes only one of the two says 405 to the other.
    return [answer for answer in found if answer.status_code != 405]


def text_of(answer) -> str:
    return "" if answer.streaming else answer.content.decode()


def is_door(answer) -> bool:
    return answer.status_code == 302 and answer.url.startswith(reverse("account:sign_in") + "?")


def test_every_view_says_who_may_open_it():
    for address in ADDRESSES:
        assert address.role in ROLES, f"{address.name} wears no decorator of kenoweb/auth/access.py"
        assert address.in_space == (address.role in LADDER), address.name


def test_T26_a_stranger_without_an_account_gets_to_the_door_and_no_further(house):
    for address in ADDRESSES:
        found = answers(house.client(None), house.path(address))
        assert found, address.name
        for answer in found:
            if address.role == "token":
                assert answer.status_code == 401, address.name
            else:
                open_to_all = address.role in {"public", "protocol"}
                assert is_door(answer) != open_to_all, address.name
            assert CANARY not in answer.content.decode(), address.name


@pytest.mark.parametrize("who", LADDER)
def test_a_role_opens_its_pages_and_none_above(who, house, private):
    for address in IN_SPACE:
        enough = LADDER.index(who) >= LADDER.index(address.role)
        found = answers(house.client(who), house.path(address))
        assert found, address.name
        for answer in found:
            assert (answer.status_code != 403) == enough, (address.name, answer.status_code)
            assert answer.status_code not in {404, 500}, address.name
            assert SECRET not in text_of(answer), address.name


def test_viewers_only_look(house):
    for address in IN_SPACE:
        if address.role == "viewer" and address.name not in VIEWERS_MAY_SEND:
            assert house.client("viewer").post(house.path(address)).status_code == 405, address.name


def test_T16_what_gives_memory_away_asks_for_the_password_again():
    for address in ADDRESSES:
        # A program has no password to give; what its token may take is tested with the API.
        if address.role not in FOR_PROGRAMS:
            assert address.sudo or not GIVES_AWAY.search(address.name), address.name


def test_T09_another_space_is_not_found(house):
    for address in IN_SPACE:
        for answer in answers(house.client("stranger"), house.path(address)):
            assert answer.status_code == 404, address.name
            assert CANARY not in answer.content.decode(), address.name


def test_T09_a_thing_of_another_space_is_not_found_through_my_own(house):
    for address in OF_OBJECTS:
        path = address.path(house.other.slug, house.things)
        for answer in answers(house.client("stranger"), path):
            assert answer.status_code == 404, address.name
            assert CANARY not in answer.content.decode(), address.name


def test_T09_no_page_of_mine_shows_what_belongs_to_another_space(house):
    for address in ADDRESSES:
        path = address.path(house.other.slug, house.theirs)
        for answer in answers(house.client("stranger"), path):
            assert answer.status_code < 500, address.name
            assert CANARY not in text_of(answer), address.name


@pytest.mark.parametrize("who", LADDER)
def test_m12_no_page_about_the_private_chat_of_another_shows_it(who, house, private):
    """Pages about other things are seen by test_a_role_opens_its_pages_and_none_above."""
    client = house.client(who)
    for address in IN_SPACE:
        if ours := {name: thing for name, thing in private.items() if name in address.name}:
            for answer in answers(client, address.path(house.space.slug, house.things | ours)):
                assert SECRET not in text_of(answer), address.name


@pytest.mark.parametrize("who", LADDER)
def test_m12_only_an_owner_reads_it_and_the_audit_says_so(who, house, private):
    """For half an hour."""
    client = house.client(who)
    there = reverse("chats:detail", args=["here", private["chats"]["pk"]])
    opened = client.post(f"{there}open/")
    shown = client.get(there)
    read = AuditEntry.objects.filter(action="chat.read", details__whose="second")
    may = who == "owner"
    assert (opened.status_code == 302, SECRET in text_of(shown), read.exists()) == (may, may, may)
    assert SECRET in text_of(make_client(house.second, sudo=True).get(there))


@pytest.fixture
def private(house):
    """A chat that only the second owner may read, and what came of it."""
    member = house.space.members.get(user=house.second)
    chat = make_chat(house.space, title=SECRET, is_private=True, owner=member)
    message = make_message(chat, text=f"My therapist is called {SECRET}", author="second")
    fact = make_fact(house.space, text=f"{SECRET} is a therapist", chat=chat, message=message)
    episode = make_episode(house.space, title=SECRET, body=SECRET, chat=chat)
    entity = make_entity(house.space, name=SECRET, fact=fact, chat=chat)
    receipt = make_receipt(house.space, SECRET, chat=chat, fact=fact)
    note = make_working_note(chat, task=SECRET, notes=SECRET)
    make_message(chat, text=SECRET, author="second")
    return {
        "chats": {"pk": chat.pk, "fact": fact.pk, "message": message.pk, "place": 0},
        "facts": {"pk": fact.pk},
        "episodes": {"pk": episode.pk},
        "people": {"pk": entity.pk},
        "recall": {"pk": receipt.pk},
        "working": {"pk": note.pk},
        "lineage": {"pk": message.pk, "kind": "message"},
        "erase:preview": {"pk": message.pk, "kind": "message"},
    }


def every_field() -> list[str]:
    """The names of all fields, in templates and in what views and forms read."""
    drawn = [file.read_text() for file in (ROOT / "templates").rglob("*.html")]
    read = [file.read_text() for file in (ROOT / "kenoweb").rglob("*.py")]
    found = re.findall(r'\bname="([a-z_]+)"', "".join(drawn))
    found += re.findall(r'\.get(?:list)?\("([a-z_]+)"', "".join(read))
    found += re.findall(r"^    ([a-z_]+) = forms\.", "".join(read), re.M)
    return sorted(set(found))


# A null character, a number that no column holds, and a number that is none.
@pytest.mark.parametrize("strange", ["a%00b", "9" * 30, "nan"])
def test_T22_nothing_that_is_typed_into_any_field_of_any_address_breaks_it(house, strange):
    sent = "&".join(f"{name}={strange}" for name in every_field())
    assert len(sent) > 1000
    form = "application/x-www-form-urlencoded"
    broken = []
    for address in ADDRESSES:
        client = house.client("owner", raise_request_exception=False)
        there = f"{house.path(address)}?{sent}"
        found = answers(client, there, data=sent, content_type=form)
        broken += [address.name for answer in found if answer.status_code >= 500]
    assert broken == []


def test_T07_what_is_sent_without_a_csrf_token_is_refused(house):
    for address in ADDRESSES:
        if address.role in FOR_PROGRAMS:
            assert address.csrf_exempt, address.name
            continue
        answer = house.client("owner", enforce_csrf_checks=True).post(house.path(address))
        assert answer.status_code in {403, 405}, address.name
        assert not address.csrf_exempt, address.name


def test_T07_what_another_site_sends_is_refused(house):
    for address in ADDRESSES:
        if address.role in FOR_PROGRAMS:
            continue
        client = house.client("owner", headers={"sec-fetch-site": "cross-site"})
        assert client.post(house.path(address)).status_code == 403, address.name


@pytest.mark.parametrize("who", [None, "owner"])
def test_T07_looking_changes_nothing(who, house):
    client = house.client(who)
    before = fingerprint()
    for address in ADDRESSES:
        client.get(house.path(address))
        assert fingerprint() == before, f"GET {address.name} wrote to the database"


def fingerprint() -> dict[str, tuple]:
    """How many rows each table has, and which versions of them."""
    versions = "sum(hashtext(xmin::text || ctid::text)::bigint)"
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{table}', count(*), {versions} FROM \"{table}\"" for table in tables
            )
        )
        return {table: (count, version) for table, count, version in cursor.fetchall()}


def test_the_fingerprint_sees_an_update_that_changes_nothing_else(house):
    before = fingerprint()
    Member.objects.filter(space=house.space).update(role="viewer")
    assert fingerprint() != before


def view_modules() -> list[Path]:
    """Every module that answers requests: what it looks up must be of the space of the request."""
    files = sorted((ROOT / "kenoweb").rglob("*.py"))
    return [file for file in files if re.search(r"^@(?:in_space|for_a)", file.read_text(), re.M)]


def test_T09_views_look_things_up_through_access_alone():
    modules = view_modules()
    assert len(modules) > 20
    lookups = {file.relative_to(ROOT): views_lookups(file) for file in modules}
    assert {str(file): found for file, found in lookups.items() if found} == {}


def views_lookups(file: Path) -> list[str]:
    """The direct lookups in the functions of a module that take a request."""
    tree = ast.parse(file.read_text())
    views = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_view(node)]
    return [found for view in views for found in LOOKUP.findall(ast.unparse(view))]


def _is_view(node: ast.FunctionDef) -> bool:
    return bool(node.decorator_list) and bool(node.args.args) and node.args.args[0].arg == "request"


def test_the_lint_finds_a_planted_lookup():
    assert LOOKUP.search("Fact.objects.get(pk=pk)")
