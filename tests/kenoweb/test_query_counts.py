"""Every page of a space asks as many queries over two thousand rows as over a hundred."""

import time
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.db import connection, reset_queries
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from kenoweb.auth import sessions
from memory.models import (
    AuditEntry,
    Chat,
    DeadLetter,
    Entity,
    Episode,
    Fact,
    LlmCall,
    Message,
    Notice,
    Pattern,
    Recall,
    Ruling,
    Space,
)
from sleep.models import Night, NightChange, Proposal
from tests import kept
from tests.factories import make_client, make_member, one_of_everything
from tests.kenoweb.addresses import every_address

pytestmark = pytest.mark.django_db
FEW, MANY = 100, 2_000
# What must differ from row to row; everything else is copied.
DIFFERS: dict[type[Model], dict[str, str]] = {
    Chat: {"external_id": "'x' || n", "key": "'web-x' || n"},
    Episode: {"status": "'closed'", "started_at": "started_at - n * interval '1 hour'"},
    Message: {"external_id": "'x' || n"},
    Fact: {"said_key": "md5(n::text)", "text": "text || ' ' || n"},
    Pattern: {"slug": "slug || n"},
    Entity: {"name": "name || n", "accounts": "ARRAY['telegram:' || n]"},
    Recall: {},
    Notice: {"key": "key || n"},
    AuditEntry: {},
    LlmCall: {},
    DeadLetter: {"job_id": "job_id + n"},
    Ruling: {"said_key": "md5(n::text)"},
    Night: {"local_date": "local_date - n"},
    NightChange: {},
    Proposal: {"key": "md5(n::text)"},
}
SEARCHED = (Fact, Episode)
ALSO = {
    "facts:index": ["status=any", "q=mark", "sort=used", "since=30d", "as_of=2026-01-01"],
    "people:index": ["q=mark", "kind=person"],
    "episodes:index": ["look=list", "q=mark", "state=discarded"],
    "recall:receipts": ["q=mark", "level=high"],
    "notices:index": ["show=all"],
    "audit:index": ["q=mark"],
    "search:index": ["q=mark"],
    "costs:index": ["period=year"],
}


def grow(space: Space, *, to: int) -> None:
    """Copies of one row of each kind, until there are so many. Past the triggers: by the second."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for model, differs in DIFFERS.items():
            rows = model._default_manager.filter(space=space)
            _copy(cursor, model, rows.order_by("pk").first().pk, differs, rows.count(), to)
        for model in SEARCHED:
            _index(cursor, model, space)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        # As autovacuum would have by then: without it Postgres thinks the tables are empty.
        cursor.execute("ANALYZE")


def _copy(cursor, model: type[Model], pk: int, differs: dict, have: int, to: int) -> None:
    table = model._meta.db_table
    names = [one.column for one in model._meta.concrete_fields if not one.primary_key]
    values = ", ".join(differs.get(name, f'"{name}"') for name in names)
    columns = ", ".join(f'"{name}"' for name in names)
    cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    cursor.execute(
        f"INSERT INTO {table} ({columns}) SELECT {values} FROM {table}, generate_series(%s, %s) n "
        "WHERE id = %s",
        [have + 1, to, pk],
    )
    cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def _index(cursor, model: type[Model], space: Space) -> None:
    """The units of the copies, so that a search finds them all."""
    kind = model._meta.model_name
    columns = "kind, space_id, chat_id, scope, speaker, at, until, pinned, live, words, text_hash"
    cursor.execute(
        f"""INSERT INTO memory_unit (owner_id, {columns})
        SELECT copied.id, {", ".join(f"u.{name}" for name in columns.split(", "))}
        FROM memory_{kind} copied
        CROSS JOIN (SELECT * FROM memory_unit WHERE kind = %s AND space_id = %s
                    ORDER BY owner_id LIMIT 1) u
        WHERE copied.space_id = %s ON CONFLICT DO NOTHING""",
        [kind, space.pk, space.pk],
    )


def aim(proposal: int, space: Space, *, at: int) -> None:
    """Let the proposal change so many facts."""
    pks = Fact.objects.filter(space=space).order_by("pk").values_list("pk", flat=True)[:at]
    targets = [{"type": "fact", "id": pk} for pk in pks]
    Proposal.objects.filter(pk=proposal).update(targets=targets)


def pages(space: Space, things: dict) -> list[str]:
    """Everything that answers a GET, and the lists in some of their guises."""
    found = []
    for one in every_address():
        # A preview of erasing looks through every table once and writes in batches; a stream of
        # events asks when something happens.
        if one.in_space and not one.name.endswith((":purge", "erase:preview", "events:index")):
            found.append(one.path(space.slug, things))
            found += [f"{found[-1]}?{query}" for query in ALSO.get(one.name, [])]
    return found


def counted(client, urls: list[str]) -> dict[str, int]:
    numbers = {}
    for url in urls:
        # What is kept for a while must not make the second round look better.
        cache.clear()
        kept.forget()
        reset_queries()
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(url)
        if answer.status_code == 200:
            numbers[url] = len(asked)
    return numbers


@pytest.fixture
def stopped_clock(monkeypatch):
    """A session writes down every five minutes that it was seen: three queries more on one page."""
    now = time.time()
    monkeypatch.setattr(sessions, "time", SimpleNamespace(time=lambda: now))


def test_no_page_asks_more_when_there_is_more(stopped_clock, monkeypatch):
    member = make_member(role="owner")
    LlmCall.objects.create(space=member.space, purpose="chat", provider="offline")
    things = one_of_everything(member.space, owner=member.user, mark="mark")
    client, urls = make_client(member.user, sudo=True), pages(member.space, things)
    proposal = things["proposals"]["pk"]
    grow(member.space, to=FEW)
    aim(proposal, member.space, at=2)
    counted(client, urls[:5])
    few = counted(client, urls)
    grow(member.space, to=MANY)
    aim(proposal, member.space, at=400)
    # However long the first round took on a busy machine.
    much_later = time.time() + 600
    monkeypatch.setattr(time, "time", lambda: much_later)
    many = counted(client, list(few))
    assert Fact.objects.filter(space=member.space).count() == MANY
    assert reverse("facts:index", args=[member.space.slug]) in few
    assert {url: (few[url], many[url]) for url in few if few[url] != many[url]} == {}
    assert {url: count for url, count in many.items() if count > 60} == {}
    for name in ("overview:index", "health:index"):
        assert many[reverse(name, args=[member.space.slug])] < 20
