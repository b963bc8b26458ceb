"""Health, notices, dead letters and the audit, by HTTP."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memory import jobs
from memory.facts import service as facts
from memory.history import audit
from memory.models import Breaker, DeadLetter, Heartbeat, Notice
from sleep.models import Night
from tests.factories import (
    make_audit_entry,
    make_client,
    make_dead_letter,
    make_fact,
    make_member,
    make_notice,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
HTMX = {"hx-request": "true"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def space(owner):
    return owner.space


@pytest.fixture
def client(owner):
    return make_client(owner.user)


def at(name, *args, **query) -> str:
    return reverse(name, args=["casa", *args], query=query)


def page(client, name, *args, **query) -> str:
    answer = client.get(at(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def cost(client, url) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(url).status_code == 200
    return len(found)


def test_without_a_worker_keno_is_not_well_and_says_what_to_do(client, space):
    found = page(client, "health:index")
    assert "Problem" in found
    assert "manage.py runbot" in found


def test_with_a_worker_all_is_well(client, space):
    Heartbeat.objects.create(name="box:42", channels={"telegram": "running", "http": "failed"})
    found = page(client, "health:index")
    assert "All OK" in found
    assert "box:42" in found
    assert "Telegram" in found


def test_a_provider_that_fails_is_named_with_its_error(client, space):
    Heartbeat.objects.create(name="w")
    Breaker.objects.create(
        provider="offline", failures=5, opened_at=timezone.now(), last_error=HOSTILE
    )
    found = page(client, "health:index")
    assert "left alone for a while" in found
    assert "<script>alert" not in found


def test_a_failed_and_an_overdue_night_are_said(client, space):
    Heartbeat.objects.create(name="w")
    night = Night.objects.create(
        space=space, local_date="2026-01-01", status="failed", error="no room"
    )
    assert "The last night failed: no room" in page(client, "health:index")
    Night.objects.filter(pk=night.pk).update(
        status="success", started_at=timezone.now() - timedelta(days=3)
    )
    assert "The last night was 3 days ago." in page(client, "health:index")


def test_the_page_looks_again_by_itself(client, space):
    assert 'hx-trigger="every 15s"' in page(client, "health:index")


def test_every_check_that_is_well_says_what_it_found(client, space):
    Heartbeat.objects.create(name="w")
    found = page(client, "health:index")
    for value in ("PostgreSQL ", "up to date", "none failed", "none missing", "within it"):
        assert value in found
    assert not re.search(r'<span class="end">\s*OK', found)


def test_health_costs_the_same_however_much_there_is(client, space):
    Heartbeat.objects.create(name="w0")
    make_dead_letter(space)
    make_fact(space)
    before = cost(client, at("health:index"))
    for n in range(5):
        Heartbeat.objects.create(name=f"w{n + 1}")
        make_dead_letter(space)
        make_fact(space, status="quarantined")
    assert cost(client, at("health:index")) == before


def test_a_notice_is_seen_and_unseen(client, space):
    notice = make_notice(space, text="The budget is nearly spent.")
    assert "The budget is nearly spent." in page(client, "notices:index")
    there = at("notices:see", notice.pk)
    answer = client.post(there, headers=HTMX | {"hx-target": f"notice-{notice.pk}"})
    assert f'id="notice-{notice.pk}"' in answer.content.decode()
    assert "Undo" in answer.content.decode()
    assert "Everything is read" in page(client, "notices:index")
    assert "The budget is nearly spent." in page(client, "notices:index", show="all")
    assert client.post(at("notices:unsee", notice.pk)).url == at("notices:index")
    assert Notice.objects.get().seen_at is None


def test_undo_from_a_toast_lets_the_list_fetch_itself(client, space):
    notice = make_notice(space)
    answer = client.post(at("notices:unsee", notice.pk), headers=HTMX)
    assert "rows-changed" in answer["HX-Trigger"]


def test_all_notices_are_seen_at_once(client, space):
    for _ in range(3):
        make_notice(space)
    client.post(at("notices:see_all"))
    assert not Notice.objects.filter(seen_at=None).exists()


def test_a_notice_leads_only_to_our_own_pages(client, space):
    make_notice(space, link="https://example.invalid/", text="one")
    make_notice(space, link="//example.invalid/", text="two")
    make_notice(space, link="/s/casa/costs/", text="three")
    found = page(client, "notices:index").partition("<main")[2]
    assert "example.invalid" not in found
    assert "/s/casa/costs/" in found


def test_many_notices_come_in_parts(client, space):
    for n in range(60):
        make_notice(space, text=f"notice-{n}-")
    first = page(client, "notices:index")
    more = first.partition('class="more" hx-get="')[2].partition('"')[0].replace("&amp;", "&")
    found = first + client.get(more).content.decode()
    assert all(f"notice-{n}-" in found for n in range(60))
    before = cost(client, at("notices:index"))
    for _ in range(20):
        make_notice(space)
    assert cost(client, at("notices:index")) == before


def test_a_dead_letter_is_tried_again_once(client, space):
    letter = make_dead_letter(space)
    assert client.post(at("dead_letters:retry", letter.pk)).url == at("dead_letters:index")
    letter.refresh_from_db()
    assert letter.retried_by == "person:ana"
    answer = client.post(at("dead_letters:retry", letter.pk), headers=HTMX)
    assert "Someone has already decided that." in answer.content.decode()


def test_a_dead_letter_is_discarded_and_brought_back(client, space):
    letter = make_dead_letter(space)
    answer = client.post(at("dead_letters:discard", letter.pk), headers=HTMX)
    assert at("dead_letters:restore", letter.pk) in answer.content.decode()
    assert not jobs.dead_letters(space).exists()
    assert "No dead letters" in page(client, "dead_letters:index")
    client.post(at("dead_letters:restore", letter.pk))
    assert jobs.dead_letters(space).count() == 1


def test_what_was_tried_again_cannot_be_brought_back(client, space):
    letter = make_dead_letter(space)
    client.post(at("dead_letters:retry", letter.pk))
    client.post(at("dead_letters:restore", letter.pk))
    assert DeadLetter.objects.get().retried_at


def test_letters_cost_the_same_however_many(client, space):
    make_dead_letter(space)
    before = cost(client, at("dead_letters:index"))
    for _ in range(30):
        make_dead_letter(space)
    assert cost(client, at("dead_letters:index")) == before


def test_the_audit_says_who_did_what(client, space):
    make_audit_entry(space, action="export", actor="person:ana", ip="10.0.0.7", format="archive")
    make_audit_entry(space, action="night.undone", actor="night")
    found = page(client, "audit:index")
    assert "You" in found
    assert "exported memory" in found
    assert "archive" in found
    assert "10.0.0.7" in found
    only = page(client, "audit:index", kind="night").partition("<tbody")[2]
    assert "undid a night" in only
    assert "exported memory" not in only
    people = page(client, "audit:index", who="person").partition("<tbody")[2]
    assert "undid a night" not in people
    assert "Nothing matches" in page(client, "audit:index", q="zzz")


def test_addresses_are_for_owners_and_the_audit_not_for_viewers(space):
    make_audit_entry(space, action="export", ip="10.0.0.7")
    curator = make_client(make_member(space=space, role="curator").user)
    assert "10.0.0.7" not in page(curator, "audit:index")
    guest = make_client(make_member(space=space, role="viewer").user)
    assert guest.get(at("audit:index")).status_code == 403
    assert at("audit:index") not in page(guest, "health:index")


def test_the_audit_comes_in_parts_at_a_fixed_cost(client, space):
    for n in range(60):
        make_audit_entry(space, action="export", filename=f"line-{n}-")
    first = page(client, "audit:index")
    more = first.partition('class="more" hx-get="')[2].partition('"')[0].replace("&amp;", "&")
    found = first + client.get(more).content.decode()
    assert all(f"line-{n}-" in found for n in range(60))
    before = cost(client, at("audit:index"))
    for _ in range(20):
        make_audit_entry(space)
    assert cost(client, at("audit:index")) == before


def test_junk_in_the_address_is_as_if_not_said(client, space):
    make_audit_entry(space, action="export")
    for junk in ({"kind": "x"}, {"after": "junk"}, {"who": HOSTILE}, {"since": "99"}):
        assert "exported memory" in page(client, "audit:index", **junk)


def test_every_action_of_the_book_has_words():
    from kenoweb.operations.audit import ACTIONS
    from memory.spaces import service

    assert set(service.UNDOABLE) <= set(ACTIONS)
    written = re.compile(r"""audit\.record\(\s*"([a-z_. ]+)\"""")
    folders = ("memory", "sleep", "bot", "kenoweb")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    found = {action for file in files for action in written.findall(file.read_text())}
    assert len(found) > 40
    assert found <= set(ACTIONS)


def test_the_audit_names_what_is_still_there_and_leads_nowhere_else(client, space):
    kept = facts.remember(space, text="Bo likes oolong", by="person:ana").row
    gone = facts.remember(space, text="Bo likes rum", by="person:ana").row
    audit.record("proposal.undo approved", actor="person:ana", space=space, obj=kept)
    audit.record("erasure.asked", actor="person:ana", space=space, obj=gone, kind="message")
    number = gone.pk
    gone.delete()
    found = page(client, "audit:index")
    assert f'<a href="{at("facts:detail", kept.pk)}" dir="auto">Bo likes oolong</a>' in found
    assert "took back an approval" in found
    assert f"no. {number}" in found
    assert at("facts:detail", number) not in found
    assert "kind: message" in found


def test_counts_in_the_audit_are_one_number(client, space):
    counts = {"fact": {"taken": 3, "known": 1}, "message": {"taken": 4}}
    audit.record("import", actor="person:ana", space=space, counts=counts, format="chatgpt")
    found = page(client, "audit:index")
    assert "how many: 7" in found
    assert "taken" not in found


def test_hostile_words_are_inert(client, space):
    make_notice(space, text=HOSTILE)
    make_dead_letter(space, error=HOSTILE, task=HOSTILE)
    audit.record(HOSTILE[:60], actor=f"person:{HOSTILE}", space=space, note=HOSTILE)
    Heartbeat.objects.create(name=HOSTILE, channels={HOSTILE: HOSTILE})
    for name in ("notices:index", "dead_letters:index", "audit:index", "health:index"):
        found = page(client, name)
        assert "<script>alert" not in found
        assert "<img src=x" not in found


@pytest.mark.parametrize(
    "act",
    [
        "notices:see",
        "notices:unsee",
        "dead_letters:retry",
        "dead_letters:discard",
        "dead_letters:restore",
    ],
)
def test_a_look_does_nothing(client, space, act):
    assert client.get(at(act, 1)).status_code == 405


def test_viewers_look(space):
    notice, letter = make_notice(space), make_dead_letter(space)
    guest = make_client(make_member(space=space, role="viewer").user)
    assert guest.post(at("notices:see", notice.pk)).status_code == 403
    assert guest.post(at("dead_letters:retry", letter.pk)).status_code == 403
    assert at("notices:see", notice.pk) not in page(guest, "notices:index")
