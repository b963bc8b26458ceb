"""Words that sound like a fact and state none are told by a reason."""

import pytest

from memory.extraction import checks


def reason(marked: str, kind: str = "profile", previous: str = "") -> str:
    """The reason for the words between { and }."""
    start, end = marked.index("{"), marked.index("}") - 1
    message = marked.replace("{", "").replace("}", "")
    return checks.problem(message, start, end, kind=kind, previous=previous)


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("do you think {I work at Acme}?", "question"),
        ("¿sabes si {vivo en Lima}, o no?", "question"),
        ("{I'm from Cork}, right?", "question"),
        ("if {I lived in Paris} I'd eat more", "unreal"),
        ("i wish {i had a dog}", "unreal"),
        ("ojalá {viviera en Madrid}", "unreal"),
        ("maybe {I move to Oslo in May}", "guess"),
        ("no sé si {voy a la boda}", "guess"),
        ('translate "{I am allergic to nuts}"', "quoted"),
        ("she said {I'm allergic to work}", "reported"),
        ("mi jefe dice que {soy un genio}", "reported"),
        ("{I'm a millionaire} lol jk", "joke"),
        ("{soy astronauta}, es broma", "joke"),
        ("{I'm so tired}", "passing"),
        ("{estoy muy cansada}", "passing"),
        ("{I live on coffee right now}", "passing"),
        ("traduce: {trabajo en un hospital}", "request"),
        ("{my favourite song is the}", "unfinished"),
        ("Ramiro me prestó La Cristiada, {la de Jean Meyer}", "unfinished"),
    ],
)
def test_it_is_not_a_fact(marked, expected):
    assert reason(marked) == expected


@pytest.mark.parametrize(
    "words",
    [
        "I love the art", "I like going there", "i like it a lot", "I love that show", "me encanta",
        "me gusta esa canción", "lo odio", "I enjoy watching them",
    ],
)  # fmt: skip
def test_a_taste_that_only_points_is_not_a_fact(words):
    assert reason(f"{{{words}}}", kind="preference") == "pointing"


@pytest.mark.parametrize(
    "words",
    [
        "I love the beach", "I like going to the gym", "me encanta el café", "I hate Mondays",
        "I can't stand coriander", "I don't like cats", "prefiero el té",
    ],
)  # fmt: skip
def test_a_taste_that_names_its_object_is_one(words):
    assert reason(f"{{{words}}}", kind="preference") == ""


def test_what_points_at_the_question_before_is_a_fact():
    assert reason("{I love them}", kind="preference", previous="Do you like tacos?") == ""
    assert checks.needs_previous("I love them", "Do you like tacos?")


@pytest.mark.parametrize("marked", ["the vet says {Pumpkin has a heart murmur}"])
def test_what_others_say_of_ones_people_is_a_fact(marked):
    assert reason(marked, kind="people") == ""


@pytest.mark.parametrize(
    ("quote", "previous", "expected"),
    [
        ("Yes, since 2019", "Do you live in Austin?", True),
        ("desde el 98", "¿eres socio?", True),
        ("I work in a clinic downtown", "What do you do?", False),
        ("since 2019", "nice weather", False),
    ],
)
def test_an_answer_that_says_nothing_alone_needs_its_question(quote, previous, expected):
    assert checks.needs_previous(quote, previous) is expected
