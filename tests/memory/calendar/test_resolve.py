"""Which days English and Spanish words mean, said on a Wednesday in Madrid."""

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from memory.calendar.resolve import When, resolve

MADRID = ZoneInfo("Europe/Madrid")
WEDNESDAY = datetime(2026, 3, 11, 12, 0, tzinfo=MADRID)

# text | the words that are found | kind | first day | last day, if another | hour | precision
ENGLISH = """
today | today | on | 2026-03-11
see you tomorrow | tomorrow | on | 2026-03-12
tomorrow at 5pm | tomorrow at 5pm | on | 2026-03-12 | | 17:00
tmrw morning works | tmrw morning | on | 2026-03-12
the day after tomorrow | the day after tomorrow | on | 2026-03-13
she called yesterday | yesterday | on | 2026-03-10
last night was fun | last night | on | 2026-03-10
the day before yesterday | the day before yesterday | on | 2026-03-09
tonight at 8 | tonight at 8 | on | 2026-03-11 | | 20:00
this morning | this morning | on | 2026-03-11
I fly next Friday | next Friday | on | 2026-03-20
this Friday | this Friday | on | 2026-03-13
this coming Sunday | this coming Sunday | on | 2026-03-15
we met on Friday | on Friday | on | 2026-03-06
we are meeting on Friday | on Friday | on | 2026-03-13
I'll see her Friday | Friday | on | 2026-03-13
dentist on Friday | on Friday | on | 2026-03-13
my nan passed away on tuesday | on tuesday | on | 2026-03-10
the plumber came on Monday | on Monday | on | 2026-03-09
last Friday | last Friday | on | 2026-03-06
this past Monday | This past Monday | on | 2026-03-09
on wed at 9 | on wed at 9 | on | 2026-03-18 | | 09:00
a week from Friday | a week from Friday | on | 2026-03-20
Friday next week | Friday next week | on | 2026-03-20
Wednesday the 1st of April | Wednesday the 1st of April | on | 2026-04-01
Friday 3 April at 10:30 | Friday 3 April at 10:30 | on | 2026-04-03 | | 10:30
thurs 6.15, bring snacks | thurs 6.15 | on | 2026-03-12 | | 18:15
in two weeks | in two weeks | on | 2026-03-25 | | | week
in 10 days | in 10 days | on | 2026-03-21
in twenty-one days | in twenty-one days | on | 2026-04-01
in a couple of months | in a couple of months | on | 2026-05-11 | | | month
I retire in three years | in three years | on | 2029-03-11 | | | year
two weeks from now | two weeks from now | on | 2026-03-25 | | | week
two days ago | two days ago | on | 2026-03-09
two years ago | two years ago | on | 2024-03-11 | | | year
about six months ago | about six months ago | on | 2025-09-11 | | | month
a year and a half ago | a year and a half ago | on | 2024-09-11 | | | year
half a year ago | half a year ago | on | 2025-09-11 | | | month
a fortnight ago | a fortnight ago | on | 2026-02-25 | | | week
3 May 2027 | 3 May 2027 | on | 2027-05-03
May 3rd | May 3rd | on | 2026-05-03
May 3, 2027 | May 3, 2027 | on | 2027-05-03
the third of May | the third of May | on | 2026-05-03
the twenty-first of June | the twenty-first of June | on | 2026-06-21
she was born on May 3rd | on May 3rd | on | 2025-05-03
I leave on feb 3rd | on feb 3rd | on | 2027-02-03
5/3/2027 | 5/3/2027 | on | 2027-05-03
25/12/2026 | 25/12/2026 | on | 2026-12-25
the exam is on 3/5 | on 3/5 | on | 2027-03-05
due 25/4 | due 25/4 | on | 2026-04-25
2027-05-03 | 2027-05-03 | on | 2027-05-03
it expires 08/2027 | 08/2027 | on | 2027-08-01 | 2027-08-31 | | month
by the 30th | by the 30th | on | 2026-03-30
the hip operation went well on the 3rd | on the 3rd | on | 2026-03-03
the 5th of next month | the 5th of next month | on | 2026-04-05
next week | next week | on | 2026-03-16 | 2026-03-22 | | week
this week | this week | on | 2026-03-09 | 2026-03-15 | | week
last week | last week | on | 2026-03-02 | 2026-03-08 | | week
the week after next | the week after next | on | 2026-03-23 | 2026-03-29 | | week
next month | next month | on | 2026-04-01 | 2026-04-30 | | month
last month | last month | on | 2026-02-01 | 2026-02-28 | | month
next year | next year | on | 2027-01-01 | 2027-12-31 | | year
turns 7 in May | in May | on | 2026-05-01 | 2026-05-31 | | month
we got engaged in May | in May | on | 2025-05-01 | 2025-05-31 | | month
the wedding is in June 2027 | in June 2027 | on | 2027-06-01 | 2027-06-30 | | month
born in September 95 | in September 95 | on | 1995-09-01 | 1995-09-30 | | month
March next year | March next year | on | 2027-03-01 | 2027-03-31 | | month
the second week of April | the second week of April | on | 2026-04-08 | 2026-04-14 | | week
the last week of July | the last week of July | on | 2026-07-25 | 2026-07-31 | | week
the first Tuesday of May | the first Tuesday of May | on | 2026-05-05
the last Friday of May | the last Friday of May | on | 2026-05-29
end of the month | end of the month | on | 2026-03-25 | 2026-03-31 | | week
the end of next month | the end of next month | on | 2026-04-24 | 2026-04-30 | | week
mid June | mid June | on | 2026-06-11 | 2026-06-20 | | week
early May | early May | on | 2026-05-01 | 2026-05-10 | | week
this summer | this summer | on | 2026-06-01 | 2026-08-31 | | season
last autumn | last autumn | on | 2025-09-01 | 2025-11-30 | | season
we sold the van in the summer | in the summer | on | 2025-06-01 | 2025-08-31 | | season
summer 2019 | summer 2019 | on | 2019-06-01 | 2019-08-31 | | season
I'm going to propose at Christmas | at Christmas | on | 2026-12-25
she retired at easter | at easter | on | 2025-04-14 | 2025-04-20 | | week
on Christmas Eve | on Christmas Eve | on | 2026-12-24
Easter Sunday | Easter Sunday | on | 2026-04-05
Thanksgiving 2026 | Thanksgiving 2026 | on | 2026-11-26
Black Friday | Black Friday | on | 2026-11-27
in 2018 | in 2018 | on | 2018-01-01 | 2018-12-31 | | year
back in '98 | in '98 | on | 1998-01-01 | 1998-12-31 | | year
the weekend | the weekend | on | 2026-03-14 | 2026-03-15
this weekend | this weekend | on | 2026-03-14 | 2026-03-15
next weekend | next weekend | on | 2026-03-21 | 2026-03-22
last weekend | last weekend | on | 2026-03-07 | 2026-03-08
did you do anything at the weekend | at the weekend | on | 2026-03-07 | 2026-03-08
I live here since March | since March | from | 2026-03-01 | 2026-03-31 | | month
since 2018 | since 2018 | from | 2018-01-01 | 2018-12-31 | | year
I've lived here for three years | for three years | from | 2023-03-11 | | | year
we have had her for six weeks now | for six weeks now | from | 2026-01-28 | | | week
out since tuesday | since tuesday | from | 2026-03-10
starting next week | starting next week | from | 2026-03-16 | 2026-03-22 | | week
from Monday I work from home | from Monday | from | 2026-03-16
until June | until June | until | 2026-06-01 | 2026-06-30 | | month
I was vegan until last year | until last year | until | 2025-01-01 | 2025-12-31 | | year
we lived in Canada until 2006 | until 2006 | until | 2006-01-01 | 2006-12-31 | | year
closed till friday | till friday | until | 2026-03-13
I'm away from Monday to Thursday | from Monday to Thursday | during | 2026-03-16 | 2026-03-19
off mon to thu | mon to thu | during | 2026-03-16 | 2026-03-19
I'm out from the 14th to the 25th | from the 14th to the 25th | during | 2026-03-14 | 2026-03-25
Osaka 3-17 April | 3-17 April | during | 2026-04-03 | 2026-04-17
cabin, 4 to 11 July | 4 to 11 July | during | 2026-07-04 | 2026-07-11
from 1 May until mid May | from 1 May until mid May | during | 2026-05-01 | 2026-05-20 | | week
from 2015 to 2019 | from 2015 to 2019 | during | 2015-01-01 | 2019-12-31 | | year
closed from November to March | from November to March | during | 2026-11-01 | 2027-03-31 | | month
the last 10 days | the last 10 days | during | 2026-03-01 | 2026-03-11
every Friday at 5 | every Friday at 5 | every
on fridays | on fridays | every
I block out Wednesday mornings | Wednesday mornings | every
Tuesdays and Thursdays | Tuesdays and Thursdays | every
every other week | every other week | every
twice a week | twice a week | every
she works monday to friday | monday to friday | every
the first Monday of each month | the first Monday of each month | every
I always send them in January | January | every
"""

SPANISH = """
hoy | hoy | on | 2026-03-11
mañana voy al médico | mañana | on | 2026-03-12
manana | manana | on | 2026-03-12
mañana por la tarde | mañana por la tarde | on | 2026-03-12
mañana a las 5 | mañana a las 5 | on | 2026-03-12 | | 17:00
mañana a las 9 de la noche | mañana a las 9 de la noche | on | 2026-03-12 | | 21:00
pasado mañana | pasado mañana | on | 2026-03-13
ayer | ayer | on | 2026-03-10
anteayer | anteayer | on | 2026-03-09
antier fuimos | antier | on | 2026-03-09
anoche no dormí | anoche | on | 2026-03-10
nació anoche a las 3:12 | anoche a las 3:12 | on | 2026-03-10 | | 03:12
esta noche | esta noche | on | 2026-03-11
esta noche a las 9 | esta noche a las 9 | on | 2026-03-11 | | 21:00
la reunión es a las 17:00 | a las 17:00 | on | 2026-03-11 | | 17:00
el próximo viernes | el próximo viernes | on | 2026-03-13
el proximo lunes | el proximo lunes | on | 2026-03-16
el viernes que viene | el viernes que viene | on | 2026-03-13
este viernes | este viernes | on | 2026-03-13
el viernes pasado | el viernes pasado | on | 2026-03-06
el pasado viernes | el pasado viernes | on | 2026-03-06
el jueves tengo dentista | el jueves | on | 2026-03-12
la cita es el jueves a las 5 | el jueves a las 5 | on | 2026-03-12 | | 17:00
el lunes a las siete y media | el lunes a las siete y media | on | 2026-03-16 | | 07:30
lo operaron el lunes | el lunes | on | 2026-03-09
choqué el auto el sabado | el sabado | on | 2026-03-07
se nos murió el jueves | el jueves | on | 2026-03-05
el examen lo paso al jueves | al jueves | on | 2026-03-12
viernes 13 | viernes 13 | on | 2026-03-13
el jueves 19 cortan el agua | el jueves 19 | on | 2026-03-19
el viernes de la semana que viene | el viernes de la semana que viene | on | 2026-03-20
en dos semanas | en dos semanas | on | 2026-03-25 | | | week
dentro de tres meses | dentro de tres meses | on | 2026-06-11 | | | month
en veintiún días | en veintiún días | on | 2026-04-01
de hoy en ocho | de hoy en ocho | on | 2026-03-18
se murió hace dos años | hace dos años | on | 2024-03-11 | | | year
hace tres días | hace tres días | on | 2026-03-08
hace un año y medio | hace un año y medio | on | 2024-09-11 | | | year
hace medio año | hace medio año | on | 2025-09-11 | | | month
hace un par de semanas | hace un par de semanas | on | 2026-02-25 | | | week
dos meses atrás | dos meses atrás | on | 2026-01-11 | | | month
el 3 de mayo de 2027 | el 3 de mayo de 2027 | on | 2027-05-03
el tres de mayo | el tres de mayo | on | 2026-05-03
el treinta y uno de diciembre | el treinta y uno de diciembre | on | 2026-12-31
el primero de enero | el primero de enero | on | 2027-01-01
nació el 3 de febrero | el 3 de febrero | on | 2026-02-03
viajo el 3 de febrero | el 3 de febrero | on | 2027-02-03
el 29 de febrero del 84 | el 29 de febrero del 84 | on | 1984-02-29
5/3/2027 | 5/3/2027 | on | 2027-03-05
el 3/5 | el 3/5 | on | 2026-05-03
12/25/2026 | 12/25/2026 | on | 2026-12-25
nací el 11 del 11 | el 11 del 11 | on | 2025-11-11
el 5 tengo turno | el 5 | on | 2026-04-05
hay que pagar antes del 30 | antes del 30 | on | 2026-03-30
empiezo el día 3 | el día 3 | on | 2026-04-03
el 5 del mes que viene | el 5 del mes que viene | on | 2026-04-05
la semana que viene | la semana que viene | on | 2026-03-16 | 2026-03-22 | | week
la próxima semana | la próxima semana | on | 2026-03-16 | 2026-03-22 | | week
la semana pasada | la semana pasada | on | 2026-03-02 | 2026-03-08 | | week
el mes que viene | el mes que viene | on | 2026-04-01 | 2026-04-30 | | month
el mes pasado | el mes pasado | on | 2026-02-01 | 2026-02-28 | | month
el año que viene | el año que viene | on | 2027-01-01 | 2027-12-31 | | year
este ano | este ano | on | 2026-01-01 | 2026-12-31 | | year
cumple seis en mayo | en mayo | on | 2026-05-01 | 2026-05-31 | | month
mi bebe nacio en abril | en abril | on | 2025-04-01 | 2025-04-30 | | month
nos mudamos en agosto | en agosto | on | 2025-08-01 | 2025-08-31 | | month
nos casamos el 23 de noviembre | el 23 de noviembre | on | 2026-11-23
en junio del 28 | en junio del 28 | on | 2028-06-01 | 2028-06-30 | | month
en abril del año que viene | en abril del año que viene | on | 2027-04-01 | 2027-04-30 | | month
la segunda semana de abril | la segunda semana de abril | on | 2026-04-08 | 2026-04-14 | | week
el primer lunes de mayo | el primer lunes de mayo | on | 2026-05-04
a mediados de mayo | a mediados de mayo | on | 2026-05-11 | 2026-05-20 | | week
a finales de enero | a finales de enero | on | 2027-01-25 | 2027-01-31 | | week
a principios de abril | a principios de abril | on | 2026-04-01 | 2026-04-10 | | week
a finales del mes que viene | a finales del mes que viene | on | 2026-04-24 | 2026-04-30 | | week
fin de mes | fin de mes | on | 2026-03-25 | 2026-03-31 | | week
a fin de año cierro la cuenta | a fin de año | on | 2026-10-01 | 2026-12-31 | | month
este verano | este verano | on | 2026-06-01 | 2026-08-31 | | season
el verano pasado | el verano pasado | on | 2025-06-01 | 2025-08-31 | | season
el otoño que viene | el otoño que viene | on | 2026-09-01 | 2026-11-30 | | season
en Navidad | en Navidad | on | 2026-12-25
hicimos las paces en navidad | en navidad | on | 2025-12-25
Nochevieja | Nochevieja | on | 2026-12-31
se van a Oaxaca en semana santa | en semana santa | on | 2026-03-30 | 2026-04-05 | | week
el Domingo de Ramos | el Domingo de Ramos | on | 2026-03-29
murió en 2020 | en 2020 | on | 2020-01-01 | 2020-12-31 | | year
apendicitis en el 91 | en el 91 | on | 1991-01-01 | 1991-12-31 | | year
este finde | este finde | on | 2026-03-14 | 2026-03-15
el finde que viene | el finde que viene | on | 2026-03-21 | 2026-03-22
el fin de semana pasado | el fin de semana pasado | on | 2026-03-07 | 2026-03-08
se fue de la banda el finde | el finde | on | 2026-03-07 | 2026-03-08
desde 2018 | desde 2018 | from | 2018-01-01 | 2018-12-31 | | year
desde el año 2004 | desde el año 2004 | from | 2004-01-01 | 2004-12-31 | | year
desde hace tres años | desde hace tres años | from | 2023-03-11 | | | year
llevo tres años aquí | llevo tres años | from | 2023-03-11 | | | year
hace un mes que lo tengo | hace un mes que | from | 2026-02-11 | | | month
vivo en Caballito hace 4 años | hace 4 años | from | 2022-03-11 | | | year
estoy aquí desde enero | desde enero | from | 2026-01-01 | 2026-01-31 | | month
a partir del 1 de abril | a partir del 1 de abril | from | 2026-04-01
no hay jabón desde el martes | desde el martes | from | 2026-03-10
hasta junio | hasta junio | until | 2026-06-01 | 2026-06-30 | | month
hasta el 30 de noviembre | hasta el 30 de noviembre | until | 2026-11-30
tocaba ahí hasta el año pasado | hasta el año pasado | until | 2025-01-01 | 2025-12-31 | | year
el 20 al 28 de diciembre | el 20 al 28 de diciembre | during | 2026-12-20 | 2026-12-28
en diciembre, el 20 | en diciembre, el 20 | on | 2026-12-20
en diciembre, del 20 al 28 | en diciembre, del 20 al 28 | during | 2026-12-20 | 2026-12-28
acordamos ir en enero | en enero | on | 2027-01-01 | 2027-01-31 | | month
decidimos mudarnos en febrero | en febrero | on | 2027-02-01 | 2027-02-28 | | month
fuimos en diciembre, del 20 al 28 | en diciembre, del 20 al 28 | during | 2025-12-20 | 2025-12-28
del 3 al 17 me voy a Tenerife | del 3 al 17 | during | 2026-04-03 | 2026-04-17
del lunes al jueves | del lunes al jueves | during | 2026-03-16 | 2026-03-19
viví allí del 2016 al 2019 | del 2016 al 2019 | during | 2016-01-01 | 2019-12-31 | | year
de marzo a julio | de marzo a julio | during | 2026-03-01 | 2026-07-31 | | month
entre 2015 y 2018 | entre 2015 y 2018 | during | 2015-01-01 | 2018-12-31 | | year
los últimos diez días | los últimos diez días | during | 2026-03-01 | 2026-03-11
los lunes | los lunes | every
todos los domingos a las 7 | todos los domingos a las 7 | every
martes y jueves | martes y jueves | every
trabajo de lunes a viernes | de lunes a viernes | every
cada dos semanas | cada dos semanas | every
tres veces por semana | tres veces por semana | every
el segundo lunes de cada mes | el segundo lunes de cada mes | every
me acuesto siempre a las 11 | a las 11 | every
"""


def _rows(table: str, language: str) -> list:
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [(language, *row[:3], row[3:]) for row in rows]


def _expected(kind: str, cells: list[str]) -> tuple:
    first, last, hour, precision = (cells + [""] * 4)[:4]
    if kind == "every":
        return kind, None, None, None, "day"
    days = date.fromisoformat(first), date.fromisoformat(last or first)
    return kind, *days, time.fromisoformat(hour) if hour else None, precision or "day"


@pytest.mark.parametrize(("table", "language"), [(ENGLISH, "en"), (SPANISH, "es")])
def test_an_expression_becomes_days(table, language):
    rows = _rows(table, language)
    expected = [(text, [(words.lower(), *_expected(kind, cells))])
                for _, text, words, kind, cells in rows]  # fmt: skip
    assert [(row[1], _resolved(row[1], language)) for row in rows] == expected


def _resolved(text: str, language: str) -> list[tuple]:
    whens = resolve(text, said_at=WEDNESDAY, language=language)
    return [
        (text[w.start : w.end].lower(), w.kind, w.first, w.last, w.time, w.precision) for w in whens
    ]


def test_the_table_is_long_enough_in_both_languages():
    assert min(len(_rows(table, "")) for table in (ENGLISH, SPANISH)) >= 75


def one(text: str, *, said_at: datetime = WEDNESDAY, language: str = "en") -> When:
    (when,) = resolve(text, said_at=said_at, language=language)
    return when


@pytest.mark.parametrize(
    ("text", "tense"),
    [("in 2018", "past"), ("this week", "present"), ("next week", "future"), ("today", "present")],
)
def test_tense_says_where_the_days_lie(text, tense):
    assert one(text).tense == tense


@pytest.mark.parametrize(
    ("said_at", "tomorrow"),
    [
        (datetime(2026, 3, 10, 23, 59, tzinfo=MADRID), date(2026, 3, 11)),
        (datetime(2026, 3, 11, 0, 1, tzinfo=MADRID), date(2026, 3, 12)),
        # Already the 11th in UTC, still the 10th in Mexico.
        (datetime(2026, 3, 10, 19, 30, tzinfo=ZoneInfo("America/Mexico_City")), date(2026, 3, 11)),
        # The nights in which Madrid's clocks change.
        (datetime(2026, 3, 28, 23, 30, tzinfo=MADRID), date(2026, 3, 29)),
        (datetime(2026, 3, 29, 3, 30, tzinfo=MADRID), date(2026, 3, 30)),
        (datetime(2026, 10, 25, 2, 30, tzinfo=MADRID), date(2026, 10, 26)),
        (datetime(2024, 2, 28, 12, 0, tzinfo=MADRID), date(2024, 2, 29)),
        (datetime(2026, 12, 31, 22, 0, tzinfo=MADRID), date(2027, 1, 1)),
    ],
)
def test_a_day_is_a_day_of_the_speakers_zone(said_at, tomorrow):
    assert one("tomorrow", said_at=said_at).first == tomorrow
    assert one("mañana", said_at=said_at, language="es").first == tomorrow


@pytest.mark.parametrize(
    ("text", "first"),
    [("in a month", date(2026, 2, 28)), ("a month ago", date(2025, 12, 31))],
)
def test_a_shorter_month_ends_earlier(text, first):
    assert one(text, said_at=datetime(2026, 1, 31, 9, tzinfo=MADRID)).first == first


def test_the_same_weekday_is_a_week_away():
    assert one("on Wednesday").first == date(2026, 3, 18)
    assert one("we met on Wednesday").first == date(2026, 3, 4)
    assert one("this Wednesday").first == date(2026, 3, 11)


def test_seasons_are_those_of_the_hemisphere():
    there = WEDNESDAY.replace(tzinfo=ZoneInfo("America/Argentina/Buenos_Aires"))
    when = one("el invierno que viene", said_at=there, language="es")
    assert (when.first, when.last) == (date(2026, 6, 1), date(2026, 8, 31))


def test_a_winter_crosses_the_year():
    when = one("last winter")
    assert (when.first, when.last) == (date(2025, 12, 1), date(2026, 2, 28))


def test_several_times_in_a_sentence_are_told_apart():
    times = resolve(
        "we fly out on the 12th of April and back the 17th, in October we move",
        said_at=WEDNESDAY,
        language="en",
    )
    days = [when.first for when in times]
    assert days == [date(2026, 4, 12), date(2026, 4, 17), date(2026, 10, 1)]


def test_each_clause_has_its_own_tense():
    times = resolve(
        "our offer got accepted in February, we get the keys in May",
        said_at=WEDNESDAY,
        language="en",
    )
    assert [when.first for when in times] == [date(2026, 2, 1), date(2026, 5, 1)]


def test_an_hour_that_stands_apart_belongs_to_the_day_of_its_sentence():
    when = one("el lunes tiene cita en la clínica a las 7", language="es")
    assert (when.first, when.time) == (date(2026, 3, 16), time(7))


def test_a_bare_hour_is_todays_and_says_so():
    assert one("the train leaves at 17:05").dated is False
    assert one("the train leaves tomorrow at 17:05").dated is True


def test_a_question_to_a_memory_looks_back_unless_its_verb_looks_ahead():
    def first(text, language):
        (when,) = resolve(text, said_at=WEDNESDAY, language=language, lean="past")
        return when.first

    assert first("on Friday", "en") == date(2026, 3, 6)
    assert first("¿qué tengo el jueves?", "es") == date(2026, 3, 12)
    assert first("what will we do in May", "en") == date(2026, 5, 1)


@pytest.mark.parametrize(
    "text", ["the 31st of next month", "29 February next year", "from the 20th to the 31st"]
)
def test_a_day_that_does_not_exist_breaks_nothing(text):
    february = datetime(2027, 1, 31, 12, 0, tzinfo=MADRID)
    for said_at in (WEDNESDAY, february):
        resolve(text, said_at=said_at, language="en")


def test_places_are_those_of_the_original_text():
    decomposed = "cafe\u0301 el dia\u0301 3, man\u0303ana no"
    times = resolve(decomposed, said_at=WEDNESDAY, language="es")
    assert [decomposed[when.start : when.end] for when in times] == [
        "el dia\u0301 3",
        "man\u0303ana",
    ]
