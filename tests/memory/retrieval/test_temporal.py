"""When a question speaks of, in the space's own days, in English and Spanish."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.understand import asks_when, cues, says_when

# A Tuesday evening in Mexico, already Wednesday in UTC.
NOW = datetime(2026, 3, 11, 1, 30, tzinfo=UTC)
MEXICO = ZoneInfo("America/Mexico_City")


def days(said: str) -> list[tuple[str, str]]:
    return [
        tuple(when.astimezone(MEXICO).date().isoformat() for when in (cue.start, cue.end))
        for cue in cues(said, now=NOW, zone=MEXICO)
    ]


@pytest.mark.parametrize(
    ("said", "start", "end"),
    [
        ("what did we do yesterday?", "2026-03-09", "2026-03-10"),
        ("¿qué hicimos ayer?", "2026-03-09", "2026-03-10"),
        ("anoche", "2026-03-09", "2026-03-10"),
        ("today", "2026-03-10", "2026-03-11"),
        ("anteayer", "2026-03-08", "2026-03-09"),
        ("the day before yesterday", "2026-03-08", "2026-03-09"),
        ("what happened last week", "2026-03-03", "2026-03-11"),
        ("la semana pasada", "2026-03-03", "2026-03-11"),
        ("this week", "2026-03-09", "2026-03-16"),
        ("last weekend", "2026-03-07", "2026-03-09"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("el mes pasado", "2026-02-01", "2026-03-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("el año pasado", "2025-01-01", "2026-01-01"),
        ("hace dos días", "2026-03-08", "2026-03-09"),
        ("two days ago", "2026-03-08", "2026-03-09"),
        ("a couple of days ago", "2026-03-08", "2026-03-09"),
        ("3 weeks ago", "2026-02-13", "2026-02-22"),
        ("hace tres semanas", "2026-02-13", "2026-02-22"),
        ("the last 10 days", "2026-02-28", "2026-03-11"),
        ("los últimos diez días", "2026-02-28", "2026-03-11"),
        ("on March 3", "2026-03-03", "2026-03-04"),
        ("el 3 de marzo", "2026-03-03", "2026-03-04"),
        ("el 3 de marzo de 2024", "2024-03-03", "2024-03-04"),
        ("on the 3rd of March, 2024", "2024-03-03", "2024-03-04"),
        ("May 5th, 2023", "2023-05-05", "2023-05-06"),
        ("on 25 May, 2022", "2022-05-25", "2022-05-26"),
        # A day that is still to come was last year's.
        ("el 24 de diciembre", "2025-12-24", "2025-12-25"),
        ("in May", "2025-05-01", "2025-06-01"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("en diciembre", "2025-12-01", "2026-01-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("on Friday", "2026-03-06", "2026-03-07"),
        ("el viernes pasado", "2026-03-06", "2026-03-07"),
        ("el martes", "2026-03-03", "2026-03-04"),
        # What is still to come is asked about too.
        ("¿qué tengo el jueves?", "2026-03-12", "2026-03-13"),
        ("what's on next week", "2026-03-16", "2026-03-23"),
        ("mañana", "2026-03-11", "2026-03-12"),
        ("what time do we meet on sunday", "2026-03-15", "2026-03-16"),
        ("¿a dónde vamos a ir en mayo?", "2026-05-01", "2026-06-01"),
        ("el viernes que viene", "2026-03-13", "2026-03-14"),
        ("what will I do in two weeks", "2026-03-20", "2026-03-29"),
        ("¿qué ha pasado desde enero?", "2026-01-01", "2026-03-11"),
    ],
)
def test_a_cue_becomes_days(said, start, end):
    assert days(said) == [(start, end)]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "hello",
        "you may go",
        "march on!",
        "por la mañana",
        "los lunes",
        "what did she say at 5pm",
        "February 31",
        "9999999 years ago",
        "room 2023",
    ],
)
def test_what_is_no_cue(said):
    assert days(said) == []


def test_the_day_is_the_spaces_own():
    start = cues("yesterday", now=NOW, zone=UTC)[0].start
    assert start == datetime(2026, 3, 10, tzinfo=UTC)


def test_days_of_a_clock_change_are_whole():
    madrid = ZoneInfo("Europe/Madrid")
    (cue,) = cues("on March 29 2026", now=datetime(2026, 4, 2, tzinfo=UTC), zone=madrid)
    assert (cue.end - cue.start).total_seconds() == 23 * 3600


def test_distance_is_zero_inside_and_grows_in_days():
    (cue,) = cues("2024-02-10", now=NOW)
    at = datetime(2024, 2, 10, 12, tzinfo=UTC)
    assert cue.distance(at, at) == 0
    later = datetime(2024, 2, 14, tzinfo=UTC)
    assert cue.distance(later, later) == 3


@given(st.text(max_size=200))
def test_no_text_breaks_it(said):
    assert len(cues(said, now=NOW, zone=MEXICO)) <= 3


@pytest.mark.parametrize(
    "said", ["When did she go?", "¿Cuándo fue?", "what year was it", "¿En qué mes?"]
)
def test_questions_that_ask_for_a_time(said):
    assert asks_when(said)


def test_questions_that_do_not():
    assert not asks_when("Who was there?")


@pytest.mark.parametrize(
    "said", ["We met last Friday", "fue el 3 de mayo", "hace un año", "in 2019"]
)
def test_memories_that_hold_a_time(said):
    assert says_when(said)
