"""Words that look like dates and are none, and texts of any kind that must not break the reader."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.calendar.resolve import resolve

SAID_AT = datetime(2026, 3, 11, 12, 0, tzinfo=ZoneInfo("Europe/Madrid"))

ENGLISH = """
we
you may go
I may switch jobs
I may or may not have eaten it
this may be wrong
to whom it may concern
march on!
they march for peace
the sun is out
this sun is killing me
he sat down
we wed young
wait a second
I second that
the second one
on second thought
my daughter April is nine
June said no
Julio plays bass
August is my nephew
I kind of like November
version 3.5.2024
version 1.2
Ubuntu 22.04
python 3.11.7
it costs 2000 euros
2000 people came
room 2023
a 2019 Skoda
call 555-1234
call me at +34 612 345 678
policy 88-2041
10.0.0.12:5432
we lost 6-1
3.7 GPA
7/10 would watch again
1/2 cup of flour
24/7
50/50
first year at uni
a 3 year old beagle
she is 8 months pregnant
I need 5 business days
for years
ages ago
I lost five kilos in two weeks
first time in two years
next door
next to me
last time
at last
peace at last
a bad day
one of these days
the other day
on a tuesday
it's only monday??
Happy Monday!
Merry Christmas
Christmas cards
she lives on the 9th floor
on the 4th try
a henry the 8th diet
I was married for three years
staying for a month
February 31
900 decades ago
since I was nine
since the reorg
until further notice
"""

SPANISH = """
el mar está frío
un segundo
la segunda vez
por la mañana
en la mañana
a la mañana siguiente
las ocho de la mañana no es hora
de la noche a la mañana
toda la mañana
me da igual mañana que tarde
turno de mañana
me llamo Abril
la hermana de Julio
Santo Domingo
un lunes cualquiera
que no sea un martes
cara de domingo
ya es octubre
feliz Navidad
la lotería de Navidad
feliz año nuevo
tengo 17 años
un gato de 3 años
hasta la muerte
hasta las narices
desde niño
desde que nací
desde los quince
algún día
un día de estos
el otro día
buenos días
todo el día
unos días lloro
falta un mes
vivo en el 12
voy en el 38
saqué un 9.5
ganó 3-1
el 40% de los jóvenes
más del 3%
la versión 3.0
Conta2000
cuesta 2000 pesos
mi número es 5539210047
uso el bus 28
esta semilla
mes a mes
dos veces
ya van dos años
31 de febrero
dormir con la ventana abierta hasta en invierno
"""

LINES = [
    (language, line)
    for language, table in (("en", ENGLISH), ("es", SPANISH))
    for line in table.strip().splitlines()
]


def test_what_names_no_time_gives_none():
    found = {line: resolve(line, said_at=SAID_AT, language=language) for language, line in LINES}
    assert {line: whens for line, whens in found.items() if whens} == {}


WORDS = st.sampled_from(
    (
        "el la los on in the next last this que viene pasado de del to a at until hasta desde "
        "since for every cada mayo may march lunes friday sun 3 31 2018 2024-13-45 30/02 29 31st "
        "feb month year 5pm 17:00 weeks semana años ago hace tres mañana tomorrow end of fin mes "
        "summer navidad and y , . - –"
    ).split()
)
MOMENTS = st.datetimes(
    min_value=datetime(1990, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.timezones()
)


def _sound(text: str, times: list) -> bool:
    places = [(when.start, when.end) for when in times]
    return (
        all(0 <= start < end <= len(text) for start, end in places)
        and all(a[1] <= b[0] for a, b in pairwise(places))
        and all(when.first <= when.last for when in times if when.first)
        and all((when.first is None) == (when.kind == "every") for when in times)
    )


@given(st.text(max_size=300), MOMENTS, st.sampled_from(["en", "es", ""]))
def test_no_text_breaks_it(text, said_at, language):
    assert _sound(text, resolve(text, said_at=said_at, language=language))


@given(st.lists(WORDS, max_size=20).map(" ".join), MOMENTS, st.sampled_from(["en", "es", ""]))
def test_no_heap_of_date_words_breaks_it(text, said_at, language):
    assert _sound(text, resolve(text, said_at=said_at, language=language))


@pytest.mark.parametrize("said_at", [datetime.min, datetime.max])
def test_the_ends_of_the_calendar_hold(said_at):
    zoned = said_at.replace(tzinfo=ZoneInfo("UTC"))
    for text in (
        "yesterday and tomorrow",
        "next year",
        "hace tres años",
        "on May 3",
        "this summer",
    ):
        assert _sound(text, resolve(text, said_at=zoned, language="en"))


def test_a_long_text_of_dates_is_read_in_time():
    text = "on 3 May we met and next Friday at 5pm we meet again " * 400
    assert _sound(text, resolve(text, said_at=SAID_AT, language="en"))
