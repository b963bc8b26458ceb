"""A span covers the clause that states the fact: no more, no less, no cut words."""

import pytest

from memory.extraction import edges


@pytest.mark.parametrize(
    ("message", "inner", "clause"),
    [
        ("ok so my dog Rex died yesterday lol", "Rex died", "my dog Rex died yesterday"),
        ("gracias! cumplo el 3 de abril, y tú", "3 de abril", "cumplo el 3 de abril"),
        ("I recently got a dog but it's late", "got a dog", "I recently got a dog"),
        ("oye que mi hija Carla cumple 4 🎉", "Carla cumple 4", "mi hija Carla cumple 4"),
        ("write by mail, never by text, ok?", "by mail", "write by mail, never by text"),
        ("I paid 3.50 and left", "3.50", "I paid 3.50"),
    ],
)
def test_it_grows_to_its_clause(message, inner, clause):
    start = message.index(inner)
    start, end = edges.trim(message, *edges.widen(message, start, start + len(inner)))
    assert message[start:end] == clause


def test_a_run_on_without_punctuation_is_not_one_clause():
    message = "well anyhow the traffic was awful all the way home my sister is a pilot"
    start = message.index("my sister")
    assert edges.widen(message, start, len(message)) == (start, len(message))


def test_no_phrase_is_cut_in_two():
    message = "el diploma lo guardé en la caja de los zapatos rojos debajo de la cama"
    end = message.index(" los zapatos")
    assert edges.widen(message, 0, end) == (0, len(message))
    message = "voy a estrenar un chamamé mío que se llama la galga triste"
    assert edges.widen(message, 0, len("voy a estrenar")) == (0, len(message))


def test_fillers_punctuation_and_emoji_stay_outside():
    message = "Hey, btw I'm vegan!! 🌱"
    start, end = edges.trim(message, 0, len(message))
    assert message[start:end] == "I'm vegan"


def test_a_quotation_that_begins_inside_ends_inside():
    message = 'I am reading "The Old Sea" again'
    start, end = edges.trim(message, 0, message.index(" Sea"))
    assert message[start:end] == 'I am reading "The Old Sea"'


@pytest.mark.parametrize("word", ["don't", "I’m", "semi-final", "Núñez"])
def test_no_place_in_a_word_is_an_edge(word):
    assert all(edges.is_inside_word(word, place) for place in range(1, len(word)))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("I've lived here since 2018", True),
        ("empecé a nadar hace un año", True),
        ("I used to live there", False),
        ("ya no trabajo ahí desde mayo", False),
        ("I made a cake", False),
    ],
)
def test_what_began_and_did_not_end_goes_on(words, expected):
    assert edges.goes_on(words) is expected
