from datetime import UTC, datetime, timedelta

import pytest
from django.utils.translation import override

from memory.llm import choose
from memory.models import Heartbeat, LlmCall, Notice
from memory.operations import health
from tests.factories import make_chat, make_message, make_space, make_working_note

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def space(db):
    Heartbeat.objects.create(name="w", beat_at=NOW)
    return make_space()


def finding(space, name, now=NOW):
    return {found.name: found for found in health.check(space, now=now)}[name]


def level(space, name, now=NOW):
    return finding(space, name, now).level


def test_a_fresh_space_with_a_worker_is_healthy(space):
    findings = health.check(space, now=NOW)
    assert health.overall_state(findings) == "HEALTHY"
    report = health.report(findings, now=NOW)
    assert (report["status"], report["warnings"], report["errors"]) == ("healthy", [], [])


@pytest.mark.parametrize(("count", "expected"), [(10, "ok"), (11, "warning")])
def test_more_than_ten_stale_notes_are_a_warning(space, count, expected):
    for _ in range(count):
        make_working_note(make_chat(space), updated_at=NOW - timedelta(days=8))
    assert level(space, "memory") == expected


@pytest.mark.parametrize(("used", "expected"), [(1000, "ok"), (1001, "warning"), (2001, "error")])
def test_a_process_that_grew_too_large_is_seen(space, monkeypatch, used, expected):
    monkeypatch.setattr(health, "resident_mb", lambda: used)
    assert level(space, "size") == expected


def test_what_a_process_holds_is_measured():
    held = health.resident_mb()
    assert 20 < held < 10_000


def test_no_worker_is_an_error_that_says_what_to_do(space):
    Heartbeat.objects.update(beat_at=NOW - timedelta(minutes=1))
    found = finding(space, "worker")
    assert found.level == "error"
    assert "runbot" in found.text


def test_an_open_breaker_is_an_error_and_a_half_open_one_a_warning(space, settings):
    settings.PROVIDER, settings.ANTHROPIC_API_KEY = "anthropic", "a key"
    for _ in range(5):
        choose.failed("anthropic", choose.choose("chat", space=space).model, error="x", now=NOW)
    assert level(space, "provider") == "error"
    assert level(space, "provider", NOW + timedelta(minutes=2)) == "warning"


@pytest.mark.parametrize(("failed", "expected"), [(5, "ok"), (6, "warning"), (9, "error")])
def test_a_small_model_that_fails_unseen_is_seen(space, failed, expected):
    for n in range(10):
        LlmCall.objects.create(space=space, purpose="expand", provider="x", ok=n >= failed, at=NOW)
    assert level(space, "second_model") == expected


@pytest.mark.parametrize(("spent", "expected"), [(0.5, "ok"), (0.8, "warning"), (1, "error")])
def test_costs_warn_before_the_budget_is_spent(space, spent, expected):
    LlmCall.objects.create(space=space, purpose="chat", provider="x", cost=spent, at=NOW)
    assert health.costs(space, NOW).level == expected


def test_an_old_unanswered_message_is_a_warning(space):
    make_message(make_chat(space), received_at=NOW - timedelta(minutes=5))
    assert level(space, "unanswered") == "warning"


def test_an_imported_message_waits_for_nothing(space):
    make_message(make_chat(space), received_at=NOW - timedelta(days=5), trace="import")
    assert level(space, "unanswered") == "ok"


def test_the_owner_hears_of_changes_only(space):
    told = []
    for minute, beats in enumerate([True, False, False, True, True]):
        now = NOW + timedelta(minutes=minute)
        Heartbeat.objects.update(beat_at=now if beats else NOW - timedelta(hours=1))
        told.append(health.watch(space, now=now))
    assert [notice and notice.level for notice in told] == [None, "error", None, "info", None]
    assert Notice.objects.filter(kind="health").count() == 2


def test_a_notice_is_read_in_the_language_of_its_reader(space):
    notice = health.watch(space, now=NOW + timedelta(hours=1))
    shown = {}
    for language in ("en", "es"):
        with override(language):
            shown[language] = str(notice)
    assert "No worker is running" in shown["en"]
    assert "No hay ningún" in shown["es"]
    assert "No worker" not in shown["es"]
    notice.words = {}  # a row from before
    with override("es"):
        assert str(notice) == notice.text


def test_dead_workers_are_forgotten_after_a_day(db):
    Heartbeat.objects.create(name="old", beat_at=NOW - timedelta(days=2))
    Heartbeat.objects.create(name="new", beat_at=NOW)
    health.forget_dead_workers(now=NOW)
    assert Heartbeat.objects.get().name == "new"


class TestWhoIsLookedAt:
    """Every minute: where something happened or is unwell, and a few in turn; never all."""

    @pytest.fixture
    def spaces(self, space):
        return [space, *(make_space() for _ in range(119))]

    def found(self, minute=0):
        return set(health.to_watch(now=NOW + timedelta(minutes=minute)))

    def test_within_an_hour_everybody_once(self, spaces):
        looks = [self.found(minute) for minute in range(60)]
        assert sum(map(len, looks)) == len(spaces)
        assert set().union(*looks) == set(spaces)

    def test_where_something_was_said_at_once(self, spaces):
        said = spaces[7]
        make_message(make_chat(said, last_message_at=NOW - timedelta(minutes=3)))
        assert [said in self.found(minute) for minute in (0, 1)] == [True, True]
        assert len(self.found()) <= 3

    def test_who_was_told_of_a_trouble_until_it_is_over(self, spaces):
        for _ in range(11):
            make_working_note(make_chat(spaces[7]), updated_at=NOW - timedelta(days=8))
        assert health.watch(spaces[7], now=NOW)
        assert all(spaces[7] in self.found(minute) for minute in range(20))

    def test_everybody_when_the_queue_stands_still(self, spaces, monkeypatch):
        monkeypatch.setattr(health.jobs, "oldest_waiting", lambda *, now: timedelta(minutes=3))
        assert self.found() == set(spaces)

    def test_however_many_there_are_it_takes_as_many_questions(
        self, space, django_assert_num_queries
    ):
        with django_assert_num_queries(9):
            self.found()
        for _ in range(50):
            make_space()
        with django_assert_num_queries(9):
            self.found()
