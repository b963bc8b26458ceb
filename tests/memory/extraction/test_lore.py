import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import lore


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Remember this: the raccoon is our mascot!", "the raccoon is our mascot"),
        ("don't forget that Bo owes everyone pizza.", "Bo owes everyone pizza"),
        ("Memory line: the | server | is haunted", "the / server / is haunted"),
        ("Por favor recuerda que el martes es de tacos", "el martes es de tacos"),
        ("No olvides: Ana gana siempre al Catan", "Ana gana siempre al Catan"),
        ("FYI, keep in mind that we meet at nine", "we meet at nine"),
        ("Rememberance day is in May", "Rememberance day is in May"),
        ("ok", ""),
        ("remember", ""),
    ],
)
def test_a_line_is_what_is_told_without_the_asking(said, line):
    assert lore.line(said) == line


@given(st.text())
def test_any_text_gives_a_short_line_or_none(said):
    found = lore.line(said)
    assert not found or 4 <= len(found) <= 180
    assert "\n" not in found
