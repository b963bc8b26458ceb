import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memory.facts import service as facts
from memory.history import changes as history
from memory.models import Fact
from tests.factories import make_client, make_member, make_space

pytestmark = pytest.mark.django_db


def taken_back(member, change, **headers):
    url = reverse("history:undo", args=[member.space.slug, change])
    return make_client(member.user).post(url, headers=headers or None)


def test_a_change_is_taken_back_and_can_come_again():
    member = make_member(role="curator")
    fact = facts.remember(member.space, text="Ana lives in Lima", by="tag").row
    done = facts.forget(fact, by="person:ana")
    taken_back(member, done.change_id)
    fact.refresh_from_db()
    assert fact.status == "active"
    taken_back(member, history.history(fact)[0].context_id)
    fact.refresh_from_db()
    assert fact.status == "archived"


def test_htmx_loses_the_toast_and_hears_that_memory_changed():
    member = make_member()
    done = facts.remember(member.space, text="Ana lives in Lima", by="tag")
    got = taken_back(member, done.change_id, **{"hx-request": "true"})
    assert got["HX-Trigger"] == "memory-changed, rows-changed"
    assert got.content.decode().startswith("<template>")
    assert "Undone." in got.content.decode()


def test_another_space_cannot_take_it_back():
    member = make_member()
    done = facts.remember(make_space(), text="Ana lives in Lima", by="tag")
    assert taken_back(member, done.change_id).status_code == 404
    assert Fact.objects.get().status == "active"


def test_a_change_that_touches_two_spaces_belongs_to_neither():
    member, other = make_member(), make_space()
    with history.change(by="import", why="import") as change:
        facts.remember(member.space, text="Ana lives in Lima", by="import")
        facts.remember(other, text="Bo lives in Rome", by="import")
    assert taken_back(member, change.id).status_code == 404


def test_an_unknown_change_is_not_found():
    assert taken_back(make_member(), uuid.uuid4()).status_code == 404


def test_what_changed_since_is_kept_and_said():
    member = make_member()
    fact = facts.remember(member.space, text="Ana lives in Lima", by="tag").row
    done = facts.revise(fact, text="Ana lives in Cusco", by="person:ana")
    facts.revise(fact, text="Ana lives in Quito", by="person:bo")
    got = taken_back(member, done.change_id, **{"hx-request": "true"})
    assert "It was changed again since" in got.content.decode()
    fact.refresh_from_db()
    assert fact.text == "Ana lives in Quito"


def test_a_curator_cannot_take_back_what_only_an_owner_may_change():
    member = make_member(role="curator")
    with history.change(by="person:ana", why="settings") as change:
        member.space.settings = {"sleep_hour": 5}
        member.space.save()
    assert taken_back(member, change.id).status_code == 403
    member.space.refresh_from_db()
    assert member.space.settings == {"sleep_hour": 5}


def test_undoing_many_takes_as_many_queries_as_undoing_a_few():
    member = make_member()

    def queries(count):
        with history.change(by="import", why="import") as change:
            for n in range(count):
                facts.remember(member.space, text=f"Ana has {count} times {n}", by="import")
        with CaptureQueriesContext(connection) as asked:
            assert taken_back(member, change.id).status_code == 302
        gone = Fact.objects.filter(text__contains=f"{count} times", status="trashed")
        assert gone.count() == count
        return len(asked)

    queries(3)  # what is looked up once
    assert queries(4) == queries(40)
