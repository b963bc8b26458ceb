"""Relatives by the way that leads to them."""

import pytest

from memory import people
from memory.facts import service as facts
from memory.text.kinship import relatives_in, ways_to
from tests.factories import make_space

TOLD = [
    "Ana's daughter Gloria lives in Medellín",
    "Gloria's husband Mauricio has a workshop",
    "Ana's brother Fede moved to Valencia",
    "Fede's girlfriend Amparo is a teacher",
    "Ana's partner Tom is a landscaper",
    "Tom's mother Joan paints",
]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "names"),
    [
        (["son-in-law"], ["Mauricio"]),
        (["sister-in-law"], ["Amparo"]),
        (["mother-in-law"], ["Joan"]),
        (["brother", "girlfriend"], ["Amparo"]),
        # Who is known as a partner may be asked for as a husband.
        (["husband"], ["Tom"]),
        (["niece"], []),
    ],
)
def test_a_son_in_law_is_a_child_s_husband(path, names):
    space = make_space()
    for text in TOLD:
        facts.remember(space, text=text, by="person:ana")
    start = people.known_as(space, None, "Ana")
    assert [one.name for one in people.relatives(start, path, chat=None)] == names


def test_who_is_no_relative_has_one_way():
    assert ways_to("dentist") == [(("dentist",),)]
    assert len(ways_to("brother-in-law")) == 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ana lives in Lima with their husband, Leo", [("Ana", "husband", "Leo")]),
        ("Ana runs on Saturdays with their neighbour Uwe", [("Ana", "neighbour", "Uwe")]),
        ("Ana le prestó la tienda a su vecina Rosa", [("Ana", "neighbour", "Rosa")]),
        # Whose it is, is not certain.
        ("Ana met Bo and his sister Eva", []),
        ("El tren de su hermano Leo", []),
        ("Yesterday their son Leo came", []),
    ],
)
def test_whoever_a_sentence_begins_with_has_the_relatives_in_it(text, found):
    assert [(one.owner, one.relation, one.name) for one in relatives_in(text)] == found
