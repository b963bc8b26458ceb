"""A fact counts only when the message says it."""

import pytest

from memory.extraction.grounding import is_grounded, quote_for
from tests.memory.extraction.grounding_pairs import MADE_UP, RETOLD


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("User lives in Lisbon.", "I live in Lisbon now"),
        ("Prefiere español", "prefiero el español"),
        ("Живёт в Москве", "Я живу в Москве"),
        ("住在东京", "我住在东京"),
        ("User dislikes cilantro", "I don't like cilantro"),
        ("User doesn't eat meat", "I don't eat meat"),
        ("Adrian's sister is called Marta", "my sister is called Marta"),
        ("A Ana le gusta el café", "me gusta el café"),
        ("User moved to Berlin", "I moved to Berlin last year. I do not like the food."),
        ("Vive en Córdoba", "vivo en Cordoba"),
    ],
)
def test_d12_a_retold_fact_is_grounded(fact, source):
    assert is_grounded(fact, source, names=["Adrian", "Ana"])


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("Adrian lives in Porto", "I live in Lisbon"),
        ("User loves pizza and plays soccer.", "I talked about pizza and coding today."),
        ("User eats meat", "I don't eat meat"),
        ("User has 3 cats", "I have 2 cats"),
        ("User is vegetarian", "I had lunch"),
        ("User works at Acme as a backend developer in Berlin", "I work at Acme"),
        ("User", "I live in Lisbon"),
        ("", "I live in Lisbon"),
        ("User lives in Lisbon", "   "),
    ],
)
def test_an_invented_fact_is_not_grounded(fact, source):
    assert not is_grounded(fact, source, names=["Adrian"])


@pytest.mark.parametrize(("said", "fact"), RETOLD)
def test_what_a_model_retells_in_other_words_is_believed(said, fact):
    assert is_grounded(fact, said)


@pytest.mark.parametrize(("said", "fact"), MADE_UP)
def test_what_a_model_makes_up_is_not_believed(said, fact):
    assert not is_grounded(fact, said)


def test_there_are_fifty_pairs_of_each():
    assert min(len(set(RETOLD)), len(set(MADE_UP))) >= 50


def test_the_quote_is_copied_from_the_message():
    message = "Hi there! I live  in\nLisbon now. Bye."
    assert quote_for("User lives in Lisbon", message) in message
    assert quote_for("x", message, evidence="i live in lisbon") == "I live  in\nLisbon"
    assert quote_for("User plays chess", message, evidence="I play chess") == ""
