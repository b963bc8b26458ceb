"""Names typed in small letters are read as names; what was typed is kept."""

import pytest

from memory.text import capitals, shorthand


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("is cian allergic to anything", "is Cian allergic to anything"),
        ("mam is 81, her name is nuala", "mam is 81, her name is Nuala"),
        ("what does nell work as", "what does Nell work as"),
        ("me llamo bruno y vivo en oporto", "me llamo Bruno y vivo en Oporto"),
        ("cuando es el santo de maribel", "cuando es el santo de Maribel"),
    ],
)
def test_names_typed_in_small_letters_get_capitals(typed, read):
    assert capitals.restored(typed) == read


@pytest.mark.parametrize(
    "typed",
    [
        "i like apples and pears",
        "no soporto el cilantro",
        "el partido de mañana es a las 6",
        "thanks, will do",
        "i will mark it on the calendar",
        "write to nell@example.com or look at nell.example.com/nell",
        "",
        "?!",
    ],
)
def test_other_words_stay_small(typed):
    assert capitals.restored(typed) == typed


def test_who_types_capitals_is_taken_at_their_word():
    assert capitals.restored("My cat chases Biscuit and nell") == "My cat chases Biscuit and nell"


def test_a_long_text_is_left_as_it_is():
    text = "nell lives in leeds " * capitals.MAX_WORDS
    assert capitals.restored(text) == text


def test_what_was_typed_is_what_is_quoted():
    reading = shorthand.read("im off 2 see my sister nuala the nurse")
    assert reading.text == "I'm off to see my sister Nuala the nurse"
    assert reading.as_written("Nuala the nurse") == "nuala the nurse"


@pytest.mark.parametrize("typed", ["is ßilvia allergic to nuts", "my sister ﬁona lives in york"])
def test_a_letter_whose_capital_is_two_letters_stays_so_that_nothing_moves(typed):
    reading = shorthand.read(f"im sure, {typed}")
    assert len(capitals.restored(typed)) == len(typed)
    assert reading.as_written(reading.text[len("I'm sure, ") :]) == typed
