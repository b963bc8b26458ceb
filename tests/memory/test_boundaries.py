from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.summaries import boundary, similarity

NOON = datetime(2026, 2, 13, 12, 0, tzinfo=UTC)
MEXICO = ZoneInfo("America/Mexico_City")
TALK = "The n8n webhook answers 401 when I post to it. Try the token as a query parameter."


def reason(said="and then?", after=timedelta(minutes=1), last=NOON, zone=UTC, **more):
    return boundary(said, at=last + after, last_at=last, zone=zone, **more)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, ""),
        ({"similarity": lambda: 0.29, "after": timedelta(minutes=20)}, "topic"),
        ({"similarity": lambda: 0.3, "after": timedelta(minutes=20)}, ""),
        ({"after": timedelta(hours=4)}, ""),
        ({"after": timedelta(hours=4, seconds=1)}, "silence"),
        ({"after": timedelta(minutes=45)}, ""),
        ({"said": "/new-topic"}, "command"),
        ({"said": "ok, /new-topic please"}, "command"),
        ({"said": "/NUEVO-TEMA"}, "command"),
        ({"said": "see docs/new-topics"}, ""),
        ({"last": NOON.replace(hour=23, minute=59), "after": timedelta(minutes=2)}, "day"),
    ],
)
def test_an_episode_ends_by_topic_silence_command_or_day(given, why):
    assert reason(**given) == why


def test_nobody_compares_topics_within_a_lively_talk():
    assert reason(similarity=pytest.fail, after=timedelta(minutes=19)) == ""


def test_the_day_ends_where_the_space_lives():
    utc_midnight = NOON.replace(hour=23, minute=59)
    assert reason(last=utc_midnight, after=timedelta(minutes=2), zone=MEXICO) == ""
    local_midnight = datetime(2026, 2, 13, 5, 59, tzinfo=UTC)
    assert reason(last=local_midnight, after=timedelta(minutes=2), zone=MEXICO) == "day"


@pytest.mark.parametrize(
    ("said", "same"),
    [
        ("ok, thanks", None),
        ("Should the webhook token stay secret in my configuration file?", True),
        ("Tomorrow my sister arrives and we cook paella for eleven people", False),
        ("¿El webhook necesita otro token secreto en producción?", True),
    ],
)
def test_likeness_by_words_without_vectors(said, same):
    found = similarity(said, TALK)
    assert found is None if same is None else (found >= 0.3) is same


@given(st.text(), st.text())
def test_likeness_is_a_share_or_unknown(a, b):
    found = similarity(a, b)
    assert found is None or 0 <= found <= 1
