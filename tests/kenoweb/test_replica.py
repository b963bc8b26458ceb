"""Pages over a streaming replica: only with all that their reader wrote, and never for a right."""

import psycopg
import pytest
from django.db import InternalError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bench.cluster import follow
from kenoweb.auth import access
from kenoweb.launcher import database, embedded_postgres
from kenoweb.operations.health import read_replica
from memory.facts import service as facts
from memory.models import Fact, Member
from memory.operations import replica
from memory.operations.metrics import prometheus_text
from tests.database_url import url_of
from tests.factories import make_client, make_member
from tests.kenoweb.running import until
from tests.kenoweb.servers import QUICK, Homes


class Replica:
    """A server that follows the tests' own, and may be told to stand still."""

    def __init__(self, homes: Homes):
        self.home, values = homes.new("replica"), connection.settings_dict
        url = follow(url_of(values), self.home, name="keno_test", options=QUICK)
        self.url = url_of(database.parse(url) | {"NAME": values["NAME"]})

    def told(self, statement: str) -> str:
        with psycopg.connect(self.url, autocommit=True) as told:
            return str(told.execute(statement).fetchone()[0])

    def pause(self) -> None:
        self.told("SELECT pg_wal_replay_pause()")
        assert until(lambda: self.told("SELECT pg_get_wal_replay_pause_state()") == "paused")

    def close(self) -> None:
        connections["replica"].close()
        del connections["replica"], connections.settings["replica"]
        embedded_postgres.stop(self.home)


@pytest.fixture
def server(transactional_db):
    homes = Homes()
    server = Replica(homes)
    connections.settings["replica"] = {**connection.settings_dict, **database.parse(server.url)}
    connections["replica"].alias = "default"  # the tests guard what they do not know by its alias
    yield server
    server.close()
    homes.clear()


def caught_up() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # A primary at rest sends the end of its log only with a commit that waits for the disk.
        cursor.execute("SET LOCAL synchronous_commit = on")
        cursor.execute("SELECT pg_logical_emit_message(true, 'test', '')")
    written = replica.position()  # once: other tests write on the same server all the time
    assert until(lambda: replica.has_replayed(written))


def read(client, space) -> tuple[str, int]:
    """The facts as somebody sees them, and how many questions of it the replica was asked."""
    with CaptureQueriesContext(connections["replica"]) as asked:
        page = client.get(f"/s/{space.slug}/facts/")
    assert page.status_code == 200
    return page.content.decode(), len(asked)


def test_a_reader_sees_all_that_they_wrote_and_no_right_is_late(server, monkeypatch):
    monkeypatch.setattr(replica, "MOST_SECONDS", 3600)  # however slow this machine is
    member = make_member()
    space, writer = member.space, make_client(member.user)
    other = make_member(space=space, role="viewer")
    reader = make_client(other.user)
    facts.remember(space, text="Ada lives in Oslo.", by="test")
    caught_up()
    words, asked = read(writer, space)
    assert "Oslo" in words
    assert asked > 3
    server.pause()
    sent = {"text": "Ada has a boat.", "kind": "fact", "category": "other", "confidence": "0.9"}
    writer.post(f"/s/{space.slug}/facts/remember/", sent | {"chat": "space"})
    assert Fact.objects.filter(text="Ada has a boat.").exists()
    words, asked = read(writer, space)
    assert words.count("boat") > 1  # in the list, not only in what the page says of it
    assert asked == 1  # whether it has replayed what they wrote
    words, asked = read(reader, space)
    assert "boat" not in words
    assert asked > 3
    Member.objects.filter(pk=other.pk).delete()
    assert reader.get(f"/s/{space.slug}/facts/").status_code == 404
    monkeypatch.setattr(replica, "MOST_SECONDS", 0)
    assert until(lambda: not replica.has_replayed(""))  # it stands still
    monkeypatch.setattr(replica, "MOST_SECONDS", 3600)
    server.told("SELECT pg_wal_replay_resume()")
    caught_up()
    words, asked = read(writer, space)
    assert "boat" in words
    assert asked > 3


def test_a_replica_that_is_gone_costs_nothing_but_is_told(server):
    member = make_member()
    caught_up()
    assert [found.level for found in read_replica()] == ["ok"]
    told = prometheus_text(now=timezone.now())
    assert "\nkeno_replica_behind_bytes " in told
    assert "keno_replica_behind_seconds +Inf" not in told
    with replica.reading(), pytest.raises(InternalError):
        facts.remember(member.space, text="A replica is not written to.", by="test")
    embedded_postgres.stop(server.home)
    client = make_client(member.user)
    assert client.get(f"/s/{member.space.slug}/facts/").status_code == 200
    assert [found.level for found in read_replica()] == ["warning"]
    assert "keno_replica_behind_seconds +Inf" in prometheus_text(now=timezone.now())


def test_every_page_of_the_table_is_there_and_only_shows():
    from django.urls import get_resolver

    known = set(_names(get_resolver()))
    assert known >= access.FROM_REPLICA


def _names(resolver, space=""):
    for one in resolver.url_patterns:
        inside = f"{space}{one.namespace}:" if getattr(one, "namespace", None) else space
        yield from _names(one, inside) if hasattr(one, "url_patterns") else [f"{inside}{one.name}"]
