"""The same thing at another time takes the place of what was noted."""

import pytest

from memory.extraction import rescheduling
from memory.extraction.intents import mend, read
from memory.extraction.rescheduling import endings, was_lent, was_planned


@pytest.mark.parametrize(
    ("fact", "said", "now"),
    [
        ("Ana's appointment with Dr Leblanc is on the 9th of May at 10:15",
         "My appointment is now the 12th of May, still at 10:15",
         "Ana's appointment with Dr Leblanc is on the 12th of May at 10:15"),
        ("I'm seeing the knee man on 14 October ten past nine",
         "knee appointment moved, it's 21 November now at 2.40",
         "I'm seeing the knee man on 21 November 2.40"),
        ("Bridge is on Wednesdays at one thirty", "Bridge has been changed to Thursdays",
         "Bridge is on Thursdays at one thirty"),
        ("Arjun swimming Mondays 4:30, Northcote pool",
         "Ignore swimming on Monday, they've moved Arjun to Thursdays 4pm",
         "Arjun swimming Thursdays 4pm, Northcote pool"),
        ("parent interview Wed 26th 5:10pm", "they had to shift the interview, it's Fri 28th 3:45",
         "parent interview Fri 28th 3:45"),
        ("dentist for Oisin Thursday 14th at 3.40",
         "dentist rang, had to move Oisín to Wednesday 20th at 2.15 instead",
         "dentist for Oisin Wednesday 20th at 2.15"),
        ("Biscuit has the vet monday at 10 for his ears",
         "Vet changed Biscuit to tuesday at 4.30",
         "Biscuit has the vet tuesday at 4.30 for his ears"),
        ("A Karina le toca ultrasonido el sabado 20 a las 10",
         "cambio de planes, el ultrasonido se paso al martes 23 a las 12",
         "A Karina le toca ultrasonido el martes 23 a las 12"),
        ("La cita es el jueves 9 a las 3 de la tarde", "la cita ahora es el lunes 13 a las 10",
         "La cita es el lunes 13 a las 10"),
        ("La cita es el 12 de agosto a las 9:20", "La cita ya no es el 12 sino el 14",
         "La cita es el 14 de agosto a las 9:20"),
        ("entrena lunes, miércoles y viernes a las 18", "ahora entrena martes y jueves a las 19",
         "entrena martes y jueves a las 19"),
    ],
)  # fmt: skip
def test_what_was_moved_keeps_all_but_its_time(fact, said, now):
    assert rescheduling.moves(said)
    assert rescheduling.is_about_same(fact, said)
    assert rescheduling.retime(fact, said) == now


@pytest.mark.parametrize(
    "said",
    [
        "I moved to Leeds on Friday",
        "I have to move to Leeds by Friday",
        "we've moved in on the 3rd of May",
        "Swimming is on Monday",
        "had to drop salsa because of evening shifts, doing climbing on Thursday instead",
    ],
)
def test_not_everything_with_a_day_was_moved(said):
    assert not rescheduling.moves(said)


def test_a_name_alone_does_not_make_it_the_same():
    fact = "Arjun swimming Mondays 4:30"
    said = "Arjun's play has been moved to Friday"
    assert not rescheduling.is_about_same(fact, said, names=["Arjun"])


@pytest.mark.parametrize(
    ("fact", "said", "now"),
    [
        ("dentist Tuesday 3.40", "no wait its thurs not tues. same time", "dentist Thursday 3.40"),
        ("Ana tiene dentista el miércoles a las 5", "uy no espera, q es el jueves. misma hora",
         "Ana tiene dentista el jueves a las 5"),
        ("el turno es el martes 8 a las 16", "no pará, me fijé mal, es el martes 15 a las 16",
         "el turno es el martes 15 a las 16"),
        ("He comes on Friday at nine", "No, I beg your pardon, at eleven",
         "He comes on Friday at eleven"),
    ],
)  # fmt: skip
def test_a_correction_as_people_type_it_moves_it_too(fact, said, now):
    assert read(said).name == "correct"
    assert mend(fact, read(said).rest) == now


def test_what_is_kept_elsewhere_now_has_another_place():
    said = "moved the spare key, it's in the meter box now"
    assert rescheduling.put_elsewhere(said)
    told = rescheduling.kept_at("Spare key is in the blue can behind the shed", said)
    assert told == "Spare key is in the meter box now"
    assert not rescheduling.put_elsewhere("I moved house")
    assert not rescheduling.put_elsewhere("The key is in the can")


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("She fell, so Alaska is off, and they gave us most of it", "Alaska is off"),
        ("krakow is OFF", "krakow is OFF"),
        ("They called off the wedding", "They called off the wedding"),
        ("se canceló el concierto de Bilbao", "se canceló el concierto de Bilbao"),
        ("ya no vamos a Vigo", "ya no vamos a Vigo"),
        ("had to drop salsa because of my shifts", "had to drop salsa because of my shifts"),
    ],
)
def test_what_is_called_off_is_the_end_of_a_plan(said, part):
    assert endings(said) == [(part, was_planned)]


@pytest.mark.parametrize(
    "said",
    [
        "lachie paid up",
        "Podge gave me back the 200",
        "Beto ya me pagó",
        "we're square now",
        "tolu finally gave me the train money",
        "I paid Rutherford this morning",
        "Memo ya me depositó lo que me debía",
    ],
)
def test_what_is_paid_or_brought_back_is_the_end_of_a_loan(said):
    assert endings(said) == [(said, was_lent)]


@pytest.mark.parametrize(
    "said", ["he is off at some conference", "prawns are off limits", "I am not going to lie"]
)
def test_other_words_end_nothing(said):
    assert endings(said) == []
