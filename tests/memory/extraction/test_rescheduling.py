"""The same thing at another time takes the place of what was noted."""

import pytest

from memory.extraction import rescheduling
from memory.extraction.intents import mend, read


@pytest.mark.parametrize(
    ("fact", "said", "now"),
    [
        ("Ana's appointment with Dr Leblanc is on the 9th of May at 10:15",
         "My appointment is now the 12th of May, still at 10:15",
         "Ana's appointment with Dr Leblanc is on the 12th of May at 10:15"),
        ("Bridge is on Wednesdays at one thirty", "Bridge has been changed to Thursdays",
         "Bridge is on Thursdays at one thirty"),
        ("Arjun swimming Mondays 4:30, Northcote pool",
         "Ignore swimming on Monday, they've moved Arjun to Thursdays 4pm",
         "Arjun swimming Thursdays 4pm, Northcote pool"),
        ("parent interview Wed 26th 5:10pm", "they had to shift the interview, it's Fri 28th 3:45",
         "parent interview Fri 28th 3:45"),
        ("La cita es el 12 de agosto a las 9:20", "La cita ya no es el 12 sino el 14",
         "La cita es el 14 de agosto a las 9:20"),
        ("entrena lunes, miércoles y viernes a las 18", "ahora entrena martes y jueves a las 19",
         "entrena martes y jueves a las 19"),
    ],
)  # fmt: skip
def test_what_was_moved_keeps_all_but_its_time(fact, said, now):
    assert rescheduling.moves(said)
    assert rescheduling.is_about_same(fact, said)
    assert rescheduling.retimed(fact, said) == now


@pytest.mark.parametrize(
    "said",
    ["I moved to Leeds on Friday", "we've moved in on the 3rd of May", "Swimming is on Monday"],
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
