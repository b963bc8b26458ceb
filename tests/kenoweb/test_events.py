"""What happens is heard at once: by programs with a token and by open pages, each in its space."""

import json

import pytest
from django.test import Client

from kenoweb.api import events
from tests.factories import (
    make_client,
    make_fact,
    make_member,
    make_proposal,
    make_space,
    make_token,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(events, "BROADCASTER", events.Broadcaster())
    monkeypatch.setattr(events, "BATCH_SECONDS", 0)
    yield
    events.BROADCASTER.stop()


def heard(lines) -> dict:
    for line in lines:
        if b"data: " in line:
            return json.loads(line.split(b"data: ")[1])
    raise AssertionError("the stream ended")


def test_a_program_hears_what_changes_in_its_space_alone():
    member = make_member(space=make_space("home"))
    _token, key = make_token(member.space, user=member.user)
    answer = Client(headers={"Authorization": f"Bearer {key}"}).get("/api/v1/events")
    assert answer["Content-Type"] == "text/event-stream"
    lines = iter(answer.streaming_content)
    heard(lines)  # from now on nothing is missed
    make_fact(make_space("other"), text="Eva sails")
    make_fact(member.space, text="Ana keeps bees")
    assert heard(lines) == {"events": ["fact"], "space": "home"}
    answer.close()
    assert events.BROADCASTER.streams == {}


def test_a_page_hears_the_numbers_of_its_navigation():
    member = make_member(space=make_space("home"), role="viewer")
    answer = make_client(member.user).get("/s/home/events/")
    lines = iter(answer.streaming_content)
    heard(lines)  # from now on nothing is missed
    make_proposal(member.space)
    told = heard(lines)
    assert (told["events"], told["counts"]["proposals:index"]) == (["proposal"], "1")
    answer.close()


def test_the_page_that_listened_longest_makes_room_for_another(monkeypatch):
    monkeypatch.setattr(events, "MAX_STREAMS", 1)
    member = make_member(space=make_space("home"))
    browser = make_client(member.user)
    first = browser.get("/s/home/events/")
    lines = iter(first.streaming_content)
    heard(lines)
    second = browser.get("/s/home/events/")
    assert list(lines) == [b"retry: 60000\n\n"]
    assert heard(second.streaming_content)["events"] == []
    first.close()
    second.close()


def test_programs_make_no_room_and_a_page_is_as_good_without(monkeypatch):
    monkeypatch.setattr(events, "MAX_STREAMS", 1)
    member = make_member(space=make_space("home"))
    _token, key = make_token(member.space, user=member.user)
    program = Client(headers={"Authorization": f"Bearer {key}"})
    first = program.get("/api/v1/events")
    assert program.get("/api/v1/events").status_code == 503
    assert make_client(member.user).get("/s/home/events/").status_code == 204
    first.close()
    again = program.get("/api/v1/events")
    assert again.status_code == 200
    again.close()


def test_without_a_token_nothing_is_heard():
    assert Client().get("/api/v1/events").status_code == 401
    member = make_member(space=make_space("home"))
    _token, key = make_token(member.space, user=member.user, scopes=["chat"])
    answer = Client(headers={"Authorization": f"Bearer {key}"}).get("/api/v1/events")
    assert answer.status_code == 403
