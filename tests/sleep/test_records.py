"""Receipts and logs go when their days are over, never all at once, and nothing else goes."""

from datetime import UTC, datetime, timedelta

import pytest

from memory import working
from memory.models import (
    AuditEntry,
    LlmCall,
    Notice,
    OutboxItem,
    Recall,
    RecallItem,
    WorkingNote,
)
from sleep import cycle
from sleep.models import shown
from sleep.phases import pruning
from tests.factories import make_chat, make_fact, make_space

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


def days(n):
    return NOW - timedelta(days=n)


@pytest.fixture
def space():
    return make_space()


def recalled(space, *, at):
    receipt = Recall.objects.create(space=space, query="q", at=at)
    RecallItem.objects.create(recall=receipt, kind="fact", fact=make_fact(space), rank=1, score=1)
    return receipt


def sleep(space, now=NOW):
    night = cycle.sleep(space, now=now, phases=(pruning.PHASE,))
    return night.phases.get(run=night.run)


def test_receipts_past_their_days_go_and_younger_ones_stay(space):
    recalled(space, at=days(91))
    young = recalled(space, at=days(89))
    assert sleep(space).counts["receipts_deleted"] == 1
    assert list(Recall.objects.all()) == [young]
    assert RecallItem.objects.count() == 1


def test_the_days_are_settings_that_are_really_read(space):
    space.settings = {"receipt_days": 7, "log_days": 30}
    space.save()
    recalled(space, at=days(8))
    LlmCall.objects.create(space=space, purpose="chat", at=days(31))
    counts = sleep(space).counts
    assert (counts["receipts_deleted"], counts["calls_deleted"]) == (1, 1)


def test_what_nobody_has_seen_or_sent_stays(space):
    chat, old = make_chat(space), days(500)
    for n, seen in enumerate((None, old)):
        Notice.objects.create(space=space, kind="k", text="t", key=n, created_at=old, seen_at=seen)
        OutboxItem.objects.create(
            space=space, chat=chat, text="t", key=n, created_at=old, delivered_at=seen
        )
    counts = sleep(space).counts
    assert (counts["notices_deleted"], counts["sent_deleted"]) == (1, 1)
    assert Notice.objects.get().seen_at is None
    assert OutboxItem.objects.get().delivered_at is None


def test_never_more_than_the_fuse_allows_and_the_rest_later(space):
    Recall.objects.bulk_create(Recall(space=space, query="q", at=days(200)) for _ in range(50))
    first = sleep(space)
    assert first.counts["receipts_deleted"] == 20
    assert "30 receipts" in shown(first.lines[0])
    sleep(space, NOW + timedelta(days=1))
    sleep(space, NOW + timedelta(days=2))
    assert not Recall.objects.exists()


def test_another_space_and_the_audit_are_left_alone(space):
    other = make_space()
    recalled(other, at=days(400))
    before = AuditEntry.objects.count()
    sleep(space)
    assert Recall.objects.count() == 1
    assert AuditEntry.objects.count() == before


def test_a68_stale_notes_go_within_the_fuse(space):
    for _ in range(25):
        working.write(make_chat(space), text="something", by="tag", now=days(10))
    assert sleep(space).counts["notes"] == 20
    assert WorkingNote.objects.filter(space=space).exclude(notes="").count() == 5
