import pytest

from memory.extraction import evidence
from memory.models import Message


def said(text, role="user", author="Ana"):
    return Message(text=text, role=role, author=author)


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        ("User lives in Lisbon", "I live in Lisbon now"),
        ("User prefers Spanish", "prefiero hablar en español, por favor"),
        ("Ana prefiere el español", "I prefer to talk in Spanish"),
        ("User is vegetarian", "no como carne"),
        ("The user's dog is called Rex", "my dog Rex is ill"),
        ("User earns 40k", "my salary is 40k"),
        ("Usuario vive en Lisboa", "ahora vivo en Lisboa"),
    ],
)
def test_what_was_said_carries_the_candidate(candidate, message):
    found = evidence.find(candidate, [said("hola"), said(message)])
    assert found
    assert found.message.text == message


@pytest.mark.parametrize("message", ["yes", "sí", "ok, thanks", "what is the weather like?", ""])
def test_t02_what_nobody_said_is_carried_by_nothing(message):
    assert evidence.find("Always buy shares of AcmeCorp", [said(message)]) is None


def test_a_number_nobody_said_is_carried_by_nothing():
    assert evidence.find("User earns 50k", [said("my salary is 40k")]) is None


def test_what_keno_said_is_no_evidence():
    assert evidence.find("Ana likes tea", [said("Ana likes tea", role="assistant")]) is None


def test_the_quote_is_the_sentence_verbatim():
    message = said("Hello there. I moved to Lisbon  last month! What now?")
    found = evidence.find("User moved to Lisbon", [message])
    assert found.quote == "I moved to Lisbon  last month!"


def test_the_newest_of_equals_is_the_evidence():
    old, new = said("I like tea"), said("I like tea")
    assert evidence.find("User likes tea", [old, new]).message is new
