"""When a fact holds or happens, by its kind and the words of its date."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.calendar.timing import Timing, times_of, when_of

MADRID = ZoneInfo("Europe/Madrid")
MEXICO = ZoneInfo("America/Mexico_City")
SAID_AT = datetime(2026, 3, 11, 12, 0, tzinfo=MADRID)
KINDS = ("profile", "preference", "people", "plan", "event", "lore", "past")


def at(*parts: int, zone: ZoneInfo = MADRID) -> datetime:
    return datetime(*parts, tzinfo=zone)


def end_of(*parts: int, zone: ZoneInfo = MADRID) -> datetime:
    return datetime.combine(datetime(*parts), time.max, zone)


def timing(text: str, kind: str, *, said_at: datetime = SAID_AT, language: str = "en") -> Timing:
    return when_of(text, said_at=said_at, language=language, kind=kind)


@pytest.mark.parametrize(
    ("text", "language", "occurs_at", "precision", "words"),
    [
        ("dentist next Friday at 5pm", "en", at(2026, 3, 20, 17), "day", "next Friday at 5pm"),
        ("la cita es el jueves a las 5", "es", at(2026, 3, 12, 17), "day", "el jueves a las 5"),
        ("moving to Lisbon in May", "en", at(2026, 5, 1), "month", "in May"),
        ("me mudo el mes que viene", "es", at(2026, 4, 1), "month", "el mes que viene"),
        ("the trip starts in two weeks", "en", at(2026, 3, 25), "week", "in two weeks"),
        ("we're off from the 14th to the 25th", "en", at(2026, 3, 14), "day", None),
        ("a partir del 1 de abril reduzco jornada", "es", at(2026, 4, 1), "day", None),
        ("tax return by Jan 31", "en", at(2027, 1, 31), "day", "by Jan 31"),
    ],
)
def test_a_plan_has_a_moment(text, language, occurs_at, precision, words):
    found = timing(text, "plan", language=language)
    assert (found.occurs_at, found.precision) == (occurs_at, precision)
    assert found.words == words if words else found.words in text
    assert found.valid_from is found.valid_to is None


@pytest.mark.parametrize(
    ("text", "language", "occurs_at"),
    [
        ("we got engaged in May", "en", at(2025, 5, 1)),
        ("graduation in May", "en", at(2025, 5, 1)),
        ("lo operaron el lunes", "es", at(2026, 3, 9)),
        ("my dog died two years ago", "en", at(2024, 3, 11)),
        ("ayer a las 3 de la mañana nació", "es", at(2026, 3, 10, 3)),
    ],
)
def test_an_event_lies_behind(text, language, occurs_at):
    found = timing(text, "event", language=language)
    assert (found.occurs_at, found.valid_to) == (occurs_at, None)


@pytest.mark.parametrize(
    ("text", "language", "valid_from"),
    [
        ("vivo en Monterrey desde el 2018", "es", at(2018, 1, 1)),
        ("I've worked here for three years", "en", at(2023, 3, 11)),
        ("llevo diez años en Mérida", "es", at(2016, 3, 11)),
        ("he's in a care home since last year", "en", at(2025, 1, 1)),
        ("the deploys are frozen from the 18th", "en", at(2026, 3, 18)),
    ],
)
@pytest.mark.parametrize("kind", ["profile", "preference", "people", "lore"])
def test_since_says_from_when_something_holds(text, language, valid_from, kind):
    found = timing(text, kind, language=language)
    assert (found.valid_from, found.valid_to, found.occurs_at) == (valid_from, None, None)


@pytest.mark.parametrize(
    ("text", "language", "valid_to"),
    [
        ("Hassan's in Doha till August", "en", end_of(2026, 8, 31)),
        ("hago las prácticas en La Paz hasta junio", "es", end_of(2026, 6, 30)),
        ("I'm in Rome until Friday", "en", end_of(2026, 3, 13)),
        ("no hay agua hasta mañana a las 17:00", "es", at(2026, 3, 12, 17)),
    ],
)
def test_until_includes_the_last_day(text, language, valid_to):
    assert timing(text, "profile", language=language).valid_to == valid_to


def test_a_span_has_both_ends():
    found = timing("the water is off from November 1st until March", "lore")
    assert (found.valid_from, found.valid_to) == (at(2026, 11, 1), end_of(2027, 3, 31))


def test_what_reaches_to_today_goes_on():
    found = timing("in the last two years I run every day", "preference")
    assert (found.valid_from, found.valid_to) == (at(2024, 3, 11), None)


@pytest.mark.parametrize(
    ("text", "language", "valid_to"),
    [
        ("used to smoke, quit in 2015", "en", end_of(2015, 12, 31)),
        ("I lived in Canada until 2006", "en", end_of(2006, 12, 31)),
        ("ya no fumo desde hace dos años", "es", end_of(2024, 3, 11)),
        ("dejé la guitarra hace tres meses", "es", end_of(2025, 12, 11)),
        # Said in March: it is over, not over at the end of the month.
        ("I stopped in March", "en", SAID_AT),
    ],
)
def test_what_is_past_ended_at_the_time_that_is_named(text, language, valid_to):
    found = timing(text, "past", language=language)
    assert (found.valid_from, found.valid_to, found.occurs_at) == (None, valid_to, None)


def test_what_is_past_may_have_both_ends():
    found = timing("viví en Porto Alegre del 2016 al 2019", "past", language="es")
    assert (found.valid_from, found.valid_to) == (at(2016, 1, 1), end_of(2019, 12, 31))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["I go swimming on Fridays", "my sister is a pilot", ""])
def test_no_date_gives_no_timing(kind, text):
    assert timing(text, kind) == Timing()


def test_a_birthday_does_not_begin_what_holds():
    assert timing("my birthday is on March 14", "profile") == Timing()


def test_the_zone_of_the_space_decides_the_day():
    # Already Wednesday in UTC, still Tuesday in Mexico.
    said_at = datetime(2026, 3, 11, 1, 30, tzinfo=UTC).astimezone(MEXICO)
    found = timing("see her tomorrow", "plan", said_at=said_at)
    assert found.occurs_at == at(2026, 3, 11, zone=MEXICO)


def test_days_of_a_clock_change_are_whole():
    said_at = at(2026, 3, 28, 20)
    found = timing("I'm here until tomorrow", "profile", said_at=said_at)
    started = timing("party tomorrow", "plan", said_at=said_at).occurs_at
    length = found.valid_to.astimezone(UTC) - started.astimezone(UTC)
    assert length == timedelta(hours=23) - timedelta(microseconds=1)


@given(st.text(max_size=120), st.sampled_from(KINDS), st.sampled_from(["en", "es"]))
def test_no_text_breaks_it(text, kind, language):
    found = when_of(text, said_at=SAID_AT, language=language, kind=kind)
    times = [found.valid_from, found.valid_to, found.occurs_at]
    assert all(moment is None or moment.tzinfo for moment in times)


@pytest.mark.parametrize(
    ("words", "language", "day"),
    [
        ("Jess is moving in with me in january", "en", datetime(2027, 1, 1, tzinfo=UTC)),
        ("mi hermana se casará en mayo", "es", datetime(2027, 5, 1, tzinfo=UTC)),
        ("My birthday is on March 14", "en", None),
    ],
)
def test_what_is_still_to_come_has_its_day_whatever_it_is_filed_as(words, language, day):
    said = datetime(2026, 11, 16, 10, tzinfo=UTC)
    told = times_of(words, said_at=said, zone=UTC, language=language, kind="people")
    assert told["occurs_at"] == day
