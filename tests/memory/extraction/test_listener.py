"""The listener marks the words that last, in both languages, as they were typed."""

import time

import pytest

from memory.extraction.listener import hear


def heard(message, previous=""):
    return [(message[s.start : s.end], s.kind) for s in hear([(message, previous)])[0]]


@pytest.mark.parametrize(
    ("message", "spans"),
    [
        ("im deathly alergic to shellfish", [("im deathly alergic to shellfish", "profile")]),
        (
            "ya no trabajo en el hospital, ahora estoy en una clínica privada",
            [
                ("ya no trabajo en el hospital", "past"),
                ("ahora estoy en una clínica privada", "profile"),
            ],
        ),
        ("mi hija Carla cumple 4", [("mi hija Carla cumple 4", "people")]),
        ("My dog Rex died yesterday", [("My dog Rex died yesterday", "event")]),
        (
            "Margaret and Pierre have two children: Sophie, who is 12, and Theo, who is 6.",
            [
                (
                    "Margaret and Pierre have two children: Sophie, who is 12, and Theo, who is 6",
                    "people",
                )
            ],
        ),
        (
            "Tenemos tres hijos: la Paulina, el Rodrigo y la Javiera, que es la menor.",
            [
                (
                    "Tenemos tres hijos: la Paulina, el Rodrigo y la Javiera, que es la menor",
                    "people",
                )
            ],
        ),
        (
            "Guardé las escrituras de la casa en el baúl, debajo de las frazadas.",
            [("Guardé las escrituras de la casa en el baúl, debajo de las frazadas", "plan")],
        ),
        ("Sorry for the confusion", []),
        ("let me show you", []),
        ("what is my job?", []),
        ("", []),
        ("🎉🎉", []),
    ],
)
def test_it_marks_whole_clauses(message, spans):
    assert heard(message) == spans


def test_two_facts_are_two_spans():
    message = "My birthday is on March 14 1988 and my sister Elena's is July 2nd"
    first, second = heard(message)
    assert first[0] == "My birthday is on March 14 1988"
    assert second[0] == "my sister Elena's is July 2nd"


def test_what_is_over_and_what_is_now_are_two_spans():
    message = "she left infosys last diwali, she's got her own cake business now"
    (old, old_kind), (new, new_kind) = heard(message, "your sis still at infosys?")
    assert (old, old_kind) == ("she left infosys last diwali", "past")
    assert new == "she's got her own cake business now"
    assert new_kind != "past"


def test_an_answer_needs_its_question_to_be_heard():
    assert heard("shellfish", "Have you got any allergies?") == [("shellfish", "profile")]
    assert heard("shellfish") == []


def test_a_batch_hears_what_single_messages_say():
    pairs = [("im deathly alergic to shellfish", ""), ("ok", ""), ("mi hija Carla cumple 4", "")]
    together = hear(pairs * 20)
    assert [[s.kind for s in spans] for spans in together] == [["profile"], [], ["people"]] * 20


def test_a_long_message_is_heard_to_its_end():
    day = "the bus was late and it rained. anyway I got the soup and it was fine. what a day. "
    message = day * 20 + "my sister Elena is a pilot."
    assert heard(message)[-1] == ("my sister Elena is a pilot", "people")


@pytest.mark.parametrize("message", ["\0", "a" * 20_000, "\u0301" * 300, "ﷺ" * 50, "? ! . ,"])
def test_odd_text_does_no_harm(message):
    began = time.process_time()
    for span in hear([(message, message)])[0]:
        assert 0 <= span.start < span.end <= len(message)
    assert time.process_time() - began < 5
