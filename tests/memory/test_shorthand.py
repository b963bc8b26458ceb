"""What people type in a hurry is read as what it stands for, and kept as they typed it."""

import pytest

from memory.text.shorthand import read, written_out


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("im dani, live in leeds w 2 housemates", "I'm dani, live in Leeds with 2 housemates"),
        ("housemates r callum n zofia", "housemates are Callum and Zofia"),
        ("Cant do tues, its thurs now", "Can't do Tuesday, it's Thursday now"),
        ("en q trabaja el marido d mi hermana", "en que trabaja el marido de mi hermana"),
        ("xq tomo el hierro? xq tengo anemia", "por qué tomo el hierro? porque tengo anemia"),
        ("es celiaco, pa acordarme", "es celiaco, para acordarme"),
        ("wat does mum sell, wats it called", "what does mum sell, what's it called"),
        ("waht is my job, wehre is it", "what is my job, where is it"),
        ("it has 2 go back 4 the show", "it has to go back for the show"),
        ("where is beth moving 2", "where is Beth moving to"),
        ("me he comprao un traje, ha salio caro", "me he comprado un traje, ha salido caro"),
        ("me llamo bruno, que se mudo a Rivera", "me llamó bruno, que se mudo a Rivera"),
        ("ayer me llamo mi jefa", "ayer me llamó mi jefa"),
    ],
)
def test_shorthand_is_written_out_in_both_languages(typed, means):
    assert written_out(typed) == means


@pytest.mark.parametrize(
    "typed",
    [
        "its colour is red and its tail is long",
        "I ran 10 k and lifted 3 x 40",
        "W. Smith of R&D lives on X side",
        "mi pa vive en Vigo y mi ma en Lugo",
        "D. José vino a la casa de la abuela",
        "the api is at k.example.com/q and the user is @u",
        "El grupo se llama Im, no im.",
        "at 4 the plumber comes, we have 2 kids and 4 cats",
        "we fly home on 2 july and rent is up 2 510",
        "he estado en Bilbao y he dicho que no",
        "me llamo Bruno, que significa moreno",
        "hola, me llamo Ana, que tal",
        "me llamo el Tito",
        "me llamo Ana y vivo en Rivera",
    ],
)
def test_what_only_looks_like_it_stays(typed):
    assert written_out(typed) == typed


def test_a_quote_is_in_the_words_that_were_typed():
    reading = read("hey, im a nurse n u r my bot")
    assert reading.text == "hey, I'm a nurse and you are my bot"
    assert reading.as_written("I'm a nurse") == "im a nurse"
    assert reading.as_written("nurse and you are my") == "nurse n u r my"
    assert reading.as_written("hey") == "hey"
    assert reading.as_written("said by somebody else") == "said by somebody else"
