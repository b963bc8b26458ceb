"""The dashboard of a space that is encrypted."""

import pytest
from django.db import connection
from django.urls import reverse

from kenoweb.ui.text_search import substring_filter
from memory.models import AuditEntry, Pattern, SpaceEncryption
from memory.models import encryption as keys
from memory.spaces import encryption
from tests.factories import encrypt, make_client, make_fact, make_member, one_of_everything
from tests.kenoweb.addresses import every_address
from tests.kenoweb.test_api import key_for, over_mcp, rest

pytestmark = pytest.mark.django_db
MARK = "zyxbee"


@pytest.fixture
def content_key(settings, tmp_path):
    file = tmp_path / "content.key"
    file.write_bytes(encryption.new_key_file())
    settings.KENO_CONTENT_KEY_FILE = str(file)


def pages_of(member, things, **options):
    client = make_client(member.user, sudo=True, **options)
    found = {}
    for address in every_address():
        if address.in_space:
            answer = client.get(address.path(member.space.slug, things))
            found[address.name] = answer
    return found


def test_every_page_shows_what_it_shows_of_a_plain_space(content_key):
    member = make_member()
    things = one_of_everything(member.space, owner=member.user, mark=MARK)
    plain = pages_of(member, things)
    encrypt(member.space)
    for name, answer in pages_of(member, things).items():
        assert answer.status_code == plain[name].status_code, name
        if not answer.streaming and not plain[name].streaming:
            shown = answer.content.decode()
            assert "keno-enc:" not in shown, name
            assert (MARK in shown) == (MARK in plain[name].content.decode()), name


def test_health_says_whether_words_are_encrypted(content_key):
    member = make_member()
    page = reverse("health:index", args=[member.space.slug])
    assert "not encrypted" in make_client(member.user).get(page).content.decode()
    encrypt(member.space)
    assert "not encrypted" not in make_client(member.user).get(page).content.decode()


@pytest.mark.parametrize("word", ["zyxbee", "ZYXBEE", "zyx"])
def test_words_are_found_on_the_pages(content_key, word):
    member = make_member()
    encrypt(member.space)
    one_of_everything(member.space, owner=member.user, mark=MARK)
    client = make_client(member.user)
    for name in (
        "facts:index",
        "episodes:index",
        "patterns:index",
        "recall:receipts",
        "chats:index",
    ):
        answer = client.get(reverse(name, args=[member.space.slug]), {"q": word})
        assert MARK in answer.content.decode().replace(f'value="{word}"', ""), name
        assert "This space is encrypted" in answer.content.decode(), name
    found = client.get(reverse("search:index", args=[member.space.slug]), {"q": word})
    assert f"{MARK} fact" in found.content.decode()
    assert not Pattern.objects.filter(substring_filter("keno-enc", "trigger")).exists()


def test_an_owner_switches_it_on_and_off_and_the_audit_says_so(content_key):
    member = make_member()
    fact = make_fact(member.space, "Ana keeps zyxbee")
    client = make_client(member.user, sudo=True)
    page, act = (
        reverse(f"settings:{n}", args=[member.space.slug]) for n in ("index", "encryption")
    )
    assert "Encrypt this space" in client.get(page).content.decode()
    client.post(act, {"act": "on"})
    state = SpaceEncryption.objects.get(space=member.space)
    assert (state.status, state.version) == ("encrypting", 1)
    assert "<progress" in client.get(page).content.decode()
    keys.forget()
    encryption.work(member.space.pk, now=state.changed_at)
    assert "Change its key" in client.get(page).content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT text FROM memory_fact WHERE id = %s", [fact.pk])
        assert cursor.fetchone()[0].startswith("keno-enc:")
    client.post(act, {"act": "off"})
    assert SpaceEncryption.objects.get(space=member.space).status == "decrypting"
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"space.encrypted", "space.encryption_done", "space.decrypted"} <= actions


def test_without_a_key_the_page_says_what_to_do(settings):
    settings.KENO_CONTENT_KEY_FILE = settings.KENO_CONTENT_PASSPHRASE = ""
    member = make_member()
    client = make_client(member.user, sudo=True)
    page, act = (
        reverse(f"settings:{n}", args=[member.space.slug]) for n in ("index", "encryption")
    )
    assert "memory_encrypt new-key" in client.get(page).content.decode()
    client.post(act, {"act": "on"})
    assert not SpaceEncryption.objects.exclude(version=None).exists()


def test_a_curator_and_an_old_password_cannot(content_key):
    member = make_member(role="curator")
    act = reverse("settings:encryption", args=[member.space.slug])
    assert make_client(member.user, sudo=True).post(act, {"act": "on"}).status_code == 403
    owner = make_member(space=member.space)
    assert "sudo" in make_client(owner.user).post(act, {"act": "on"}).url
    assert not SpaceEncryption.objects.exists()


def test_a_page_without_the_key_says_so_and_shows_the_rest(content_key, settings, tmp_path):
    member = make_member()
    things = one_of_everything(member.space, owner=member.user, mark=MARK)
    encrypt(member.space)
    other = tmp_path / "other.key"
    other.write_bytes(encryption.new_key_file())
    for file in (str(other), ""):
        settings.KENO_CONTENT_KEY_FILE = file
        keys.forget()
        for name, answer in pages_of(member, things, raise_request_exception=False).items():
            assert answer.status_code < 500 or b"its key is missing" in answer.content, name
        client = make_client(member.user)
        shown = client.get(reverse("facts:index", args=[member.space.slug])).content.decode()
        assert keys.KEY_MISSING in shown


def test_programs_read_and_write_as_in_a_plain_space(content_key):
    member = make_member()
    encrypt(member.space)
    key = key_for(member.space, member.user)
    once = {"Idempotency-Key": "one"}
    answers = [rest(key, "remember", {"text": "Ana keeps zyxbee"}, **once) for _ in range(2)]
    assert answers[0].content == answers[1].content
    number = answers[0].json()["id"]
    assert rest(key, "fact", {"id": number}).json()["text"] == "Ana keeps zyxbee"
    etag = rest(key, "fact", {"id": number})["ETag"]
    changed = {"id": number, "text": "Ana has zyxbee"}
    assert rest(key, "revise", changed, **{"If-Match": etag}).status_code == 200
    newest, _first = rest(key, "fact_history", {"id": number}).json()["items"]
    assert newest["before"]["text"] == "Ana keeps zyxbee"
    assert "Ana has zyxbee" in rest(key, "search", {"query": "zyxbee"}).content.decode()
    assert "Ana has zyxbee" in over_mcp(key, "recall", {"query": "Who has zyxbee?"})[1]
    with connection.cursor() as cursor:
        for table in ("memory_fact", "memory_factevent", "memory_apicall", "memory_recall"):
            cursor.execute(f"SELECT count(*) FROM {table} row WHERE row::text LIKE '%zyxbee%'")
            assert cursor.fetchone()[0] == 0, table
