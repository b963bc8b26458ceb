from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory.history import changes as history
from memory.history.changes import event_models, tracked_models
from memory.models import Episode, Fact, Pattern, Space
from memory.models.fact import Fact as F

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def space():
    return Space.objects.create(name="Home", slug="home")


def make_fact(space, text="likes tea", **given):
    return Fact.objects.create(
        **{"space": space, "text": text, "said_key": text, "subject": "Ana"} | given
    )


def edit(thing, *, why="edit", **values):
    with history.change(by="ana", why=why) as context:
        for name, value in values.items():
            setattr(thing, name, value)
        thing.save(update_fields=list(values))
    return context.id


def test_history_names_who_and_why_and_what(space):
    fact = make_fact(space)
    edit(fact, why="typo", text="likes green tea")
    latest, first = history.history(fact)
    assert (latest.by, latest.why) == ("ana", "typo")
    assert latest.fields == {"text": ("likes tea", "likes green tea")}
    assert first.is_create


def test_bulk_and_raw_changes_are_kept_too(space):
    fact = make_fact(space)
    Fact.objects.filter(pk=fact.pk).update(text="bulk")
    assert history.history(fact)[0].after["text"] == "bulk"


def test_counting_a_use_is_not_a_change(space):
    fact = make_fact(space)
    Fact.objects.filter(pk=fact.pk).update(use_count=5, last_used_at=timezone.now())
    assert len(history.history(fact)) == 1


def test_undo_of_an_update(space):
    fact = make_fact(space)
    edit(fact, text="likes coffee")
    history.undo(history.history(fact)[0], by="ana")
    fact.refresh_from_db()
    assert fact.text == "likes tea"


def test_undo_of_an_archive(space):
    fact = make_fact(space)
    edit(fact, status=F.Status.ARCHIVED)
    history.undo(history.history(fact)[0], by="ana")
    fact.refresh_from_db()
    assert fact.status == "active"


@pytest.mark.parametrize(
    ("model", "values", "end"),
    [
        (Fact, {"text": "x", "said_key": "x"}, "trashed"),
        (Pattern, {"slug": "x", "trigger": "x", "response": "y"}, "trashed"),
        (Episode, {"title": "x"}, "discarded"),
    ],
)
def test_undo_of_a_create_puts_the_row_in_the_trash(space, model, values, end):
    thing = model.objects.create(space=space, **values)
    history.undo(history.history(thing)[0], by="ana")
    thing.refresh_from_db()
    assert thing.status == end


def test_a_second_undo_changes_nothing(space):
    fact = make_fact(space)
    edit(fact, text="likes coffee")
    step = history.history(fact)[0]
    history.undo(step, by="ana")
    history.undo(step, by="ana")
    assert len(history.history(fact)) == 3


def test_an_undo_can_be_undone(space):
    fact = make_fact(space)
    edit(fact, text="likes coffee")
    history.undo(history.history(fact)[0], by="ana")
    history.undo(history.history(fact)[0], by="ana")
    fact.refresh_from_db()
    assert fact.text == "likes coffee"


def test_undo_after_a_conflicting_edit_is_refused_and_says_what_differs(space):
    fact = make_fact(space)
    edit(fact, text="likes coffee")
    step = history.history(fact)[0]
    edit(fact, text="likes mate")
    with pytest.raises(history.Conflict, match="changed again since") as refused:
        history.undo(step, by="ana")
    assert refused.value.differs == {"text": ("likes coffee", "likes mate")}
    fact.refresh_from_db()
    assert fact.text == "likes mate"


def test_undo_keeps_a_later_edit_of_another_field(space):
    fact = make_fact(space)
    edit(fact, text="likes coffee", updated_at=timezone.now())
    step = history.history(fact)[0]
    edit(fact, pinned=True, updated_at=timezone.now())
    history.undo(step, by="ana")
    fact.refresh_from_db()
    assert (fact.text, fact.pinned) == ("likes tea", True)


def test_undo_of_a_create_is_refused_after_an_edit(space):
    fact = make_fact(space)
    step = history.history(fact)[0]
    edit(fact, text="likes coffee")
    with pytest.raises(history.Conflict):
        history.undo(step, by="ana")


def test_undo_is_refused_when_the_same_was_said_again(space):
    fact = make_fact(space)
    edit(fact, status=F.Status.ARCHIVED)
    make_fact(space)
    with pytest.raises(history.Conflict, match="changed again since"):
        history.undo(history.history(fact)[0], by="ana")


def test_undo_of_a_whole_context_takes_everything_back(space):
    kept, changed = make_fact(space, "kept"), make_fact(space, "changed")
    with history.change(by="night", why="night 1") as context:
        Fact.objects.filter(pk=kept.pk).update(status="archived")
        Fact.objects.filter(pk=changed.pk).update(text="once")
        Fact.objects.filter(pk=changed.pk).update(text="twice")
        made = make_fact(space, "made")
        Pattern.objects.create(space=space, slug="p", trigger="t", response="r")
    history.undo_context(context.id, by="ana")
    for fact in (kept, changed, made):
        fact.refresh_from_db()
    assert (kept.status, changed.text, made.status) == ("active", "changed", "trashed")
    assert Pattern.objects.get().status == "trashed"


def test_undo_of_a_context_is_all_or_nothing(space):
    one, two = make_fact(space, "one"), make_fact(space, "two")
    with history.change(by="night", why="night 1") as context:
        Fact.objects.filter(space=space).update(subject="Bo")
    edit(two, subject="Cleo")
    with pytest.raises(history.Conflict, match="changed again since"):
        history.undo_context(context.id, by="ana")
    one.refresh_from_db()
    assert one.subject == "Bo"


def test_undo_of_a_context_that_replaced_a_row_brings_the_old_one_back(space):
    old = make_fact(space)
    with history.change(by="ana", why="replace") as context:
        Fact.objects.filter(pk=old.pk).update(status="archived")
        new = make_fact(space)
    history.undo_context(context.id, by="ana")
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.status, new.status) == ("active", "trashed")


def test_as_of_reads_what_was_believed_then(space):
    fact = make_fact(space)
    before = timezone.now()
    edit(fact, text="likes coffee")
    later = make_fact(space, "later")
    mine = Fact.objects.filter(space=space)
    assert [row.text for row in history.as_of(mine, before)] == ["likes tea"]
    now = history.as_of(mine, timezone.now()).filter(status="active")
    assert {row.text for row in now} == {"likes coffee", later.text}


def test_erase_leaves_no_trace(space):
    fact = make_fact(space)
    edit(fact, text="secret")
    history.erase(fact)
    assert history.history(fact) == []


def test_a_setting_can_be_taken_back(space):
    context = edit(space, settings={"token_budget": 900})
    history.undo_context(context, by="ana")
    space.refresh_from_db()
    assert space.settings == {}


def test_what_follows_in_the_same_transaction_is_another_change(space):
    fact = make_fact(space)
    with transaction.atomic():
        first = edit(fact, text="likes green tea")
        later = make_fact(space, text="likes coffee")
        second = edit(fact, confidence=0.9)
    assert [step.object_id for step in history.changes_in(first)] == [fact.pk]
    assert [step.object_id for step in history.changes_in(second)] == [fact.pk]
    assert history.history(later)[0].context_id is None


def test_a_change_that_failed_ends_too(space):
    fact = make_fact(space)
    with transaction.atomic():
        with suppress(KeyError), history.change(by="ana", why="edit") as failed:
            Fact.objects.filter(pk=fact.pk).update(text="likes green tea")
            raise KeyError
        later = make_fact(space, text="likes coffee")
    assert history.history(later)[0].context_id is None
    assert len(history.changes_in(failed.id)) == 1


def test_every_table_of_events_has_ids_of_64_bits():
    tables = [model._meta.db_table for model in event_models()]
    assert len(tables) > len(tracked_models())
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname, format_type(a.atttypid, NULL), format_type(s.seqtypid, NULL)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'pgh_id'
            JOIN pg_sequence s
                ON s.seqrelid = pg_get_serial_sequence(c.relname, 'pgh_id')::regclass
            WHERE c.relname = ANY(%s)""",
            [tables],
        )
        found = cursor.fetchall()
    assert sorted(found) == sorted((table, "bigint", "bigint") for table in tables)
