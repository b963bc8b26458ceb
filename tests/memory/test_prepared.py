"""Statements that are made once give what Django's own would."""

import pgtrigger
import pytest
from django.db import connection, transaction
from django.db.models import F, Value
from django.forms.models import model_to_dict

from memory.history import actors, rows
from memory.history import changes as history
from memory.models import Fact, Message
from memory.models.prepared import insert, prepared, prepared_update, save_fields
from tests.factories import make_chat, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db


@prepared(chat="bigint", texts="text[]")
def said(chat, texts, limit=None):
    rows = Message.objects.filter(chat=chat).select_related("chat__space", "reply_to")
    rows = rows.filter(text__any_of=texts) if texts else rows
    return rows.annotate(extra=Value("more")).order_by("-pk")[:limit]


@prepared_update(facts="bigint[]", sure="float8")
def doubt(facts, sure):
    return Fact.objects.filter(pk__any_of=facts), {"confidence": F("confidence") * sure}


@pytest.fixture
def chat():
    return make_chat(make_space("home"))


def columns(row):
    return {one.attname: getattr(row, one.attname) for one in row._meta.concrete_fields}


def test_rows_are_those_of_the_queryset_with_what_stands_beside_them(chat):
    first = make_message(chat, text="uno", flags=["a"], journal=[{"outcome": "new", "n": 1}])
    make_message(chat, text="dos", reply_to=first)
    make_message(make_chat(chat.space), text="uno")
    found = said(chat=chat.pk, texts=["uno", "dos"], limit=10)
    assert [row.text for row in found] == ["dos", "uno"]
    assert columns(found[1]) == columns(Message.objects.get(pk=first.pk))
    assert columns(found[0].chat.space) == columns(chat.space)
    assert (found[0].reply_to.journal, found[0].extra) == (first.journal, "more")


def test_a_value_of_none_and_whatever_is_no_value_make_another_statement(chat):
    for text in ("uno", "dos", "tres"):
        make_message(chat, text=text)
    assert [row.text for row in said(chat=chat.pk, texts=["tres"], limit=9)] == ["tres"]
    assert [row.text for row in said(chat=chat.pk, texts=None, limit=9)] == ["tres", "dos", "uno"]
    assert [row.text for row in said(chat=chat.pk, texts=None, limit=1)] == ["tres"]


def test_postgres_prepares_it_once_for_small_and_large_numbers(chat):
    for pk in (chat.pk, 2**40):
        said(chat=pk, texts=["uno"], limit=7)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%LIMIT 7'"
        )
        assert cursor.fetchone() == (1,)


def test_it_can_be_asked_and_written_inside_a_change(chat):
    fact = make_fact(chat.space, confidence=0.8)
    with history.change(by=actors.person("ana"), why="a test"):
        assert doubt(facts=[fact.pk], sure=0.5) == 1
        assert said(chat=chat.pk, texts=None, limit=None) == []
    fact.refresh_from_db()
    assert fact.confidence == 0.4
    assert history.history(fact)[0].why == "a test"


def test_it_can_be_asked_while_triggers_are_ignored(chat):
    fact = make_fact(chat.space)
    with transaction.atomic(), pgtrigger.ignore():
        rows.lock(fact)
        assert said(chat=chat.pk, texts=None, limit=None) == []


def test_a_locked_row_is_as_it_is_stored_and_points_where_it_points_now(chat):
    fact, other = make_fact(chat.space, chat=chat), make_chat(chat.space)
    assert fact.chat == chat
    type(fact).objects.filter(pk=fact.pk).update(chat=other, confidence=0.3)
    with transaction.atomic():
        rows.lock(fact)
    assert (fact.chat, fact.confidence, fact.space) == (other, 0.3, chat.space)
    type(fact).objects.filter(pk=fact.pk).delete()
    with pytest.raises(type(fact).DoesNotExist, match="is gone"), transaction.atomic():
        rows.lock(fact)


def test_a_row_that_is_there_already_is_left_alone(chat):
    new = Message(chat=chat, space=chat.space, external_id="1", text="uno", journal=[{"n": 1}])
    again = Message(chat=chat, space=chat.space, external_id="1", text="dos")
    assert insert(new, unless_there=True)
    assert not insert(again, unless_there=True)
    assert columns(Message.objects.get(chat=chat)) == columns(new)
    assert again.pk is None


def test_only_the_named_fields_are_written(chat):
    message = make_message(chat, text="uno", flags=[])
    message.text, message.flags, message.journal = "dos", ["x"], [{"n": 2}]
    save_fields(message, "flags", "journal")
    stored = Message.objects.get(pk=message.pk)
    assert (stored.text, stored.flags, stored.journal) == ("uno", ["x"], [{"n": 2}])
    assert model_to_dict(stored) == model_to_dict(message) | {"text": "uno"}
