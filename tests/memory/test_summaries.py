import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import intents
from memory.text import summaries

TALK = """Ana: Hola!
Ana: El webhook de n8n da un 401 cuando hago POST. ¿Qué hago?
Ana: El webhook funciona con el token en la query. Gracias!"""
FRIENDS = """Andrew: Hey Audrey! Long time no see.
Audrey: Hey Andrew! I adopted a puppy from the shelter on Saturday.
Andrew: Wow, Audrey, that's great!
Audrey: Yeah, Andrew! The puppy already ate a shoe.
Andrew: Haha. My shelter told me to buy a crate for the puppy, Audrey.
Audrey: Thanks, Andrew!"""


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (TALK, "El webhook de n8n da un 401 cuando hago POST."),
        (FRIENDS, "I adopted a puppy from the shelter on Saturday."),
        ("My dentist is Dr. Ochoa. Call.", "My dentist is Dr. Ochoa."),
        (
            "Bo: jaja, oye, ya compré los boletos del concierto",
            "Ya compré los boletos del concierto",
        ),
        ("No soporto el cilantro en la sopa", "No soporto el cilantro en la sopa"),
        ("Right knee hurts after the marathon", "Right knee hurts after the marathon"),
        ("Bo: Ya reservé la cabaña para Mazunte..", "Ya reservé la cabaña para Mazunte"),
        ("Mazunte..", "Mazunte"),
        ("Ana: Keno, the boat in Lisbon is sold", "The boat in Lisbon is sold"),
        (
            "Bo: The bread came out of the oven too early…",
            "The bread came out of the oven too early",
        ),
        ("hi", "hi"),
        ("", ""),
    ],
)
def test_a_title_is_the_sentence_that_says_what_it_was_about(body, title):
    assert summaries.title(body) == title


def test_what_a_fact_rests_on_makes_the_better_title():
    body = "Bo: Staying positive really makes a difference\nBo: I lost my job at the car plant"
    assert summaries.title(body, quotes=["I lost my job at the car plant"]).startswith(
        "I lost my job"
    )


@pytest.mark.parametrize(
    ("body", "tags"), [(TALK, {"webhook", "query", "token"}), (FRIENDS, {"puppy", "shelter"})]
)
def test_tags_are_the_things_talked_about_and_never_names_or_filler(body, tags):
    found = summaries.tags(body)
    assert found
    assert set(found) <= tags


def test_no_number_no_filler_and_not_keno_is_a_tag():
    body = "Ana: Keno, keep the 18th right for the five of us; on the 18th we sail the boat"
    assert summaries.tags(body) == ["boat"]


def test_an_extract_keeps_the_order_and_who_said_it_and_leaves_small_talk_out():
    lines = summaries.extract([TALK], lines=2).split("\n")
    assert len(lines) == 2
    assert lines[0].startswith("- Ana: El webhook de n8n")
    assert "Gracias" not in "".join(lines)
    told = summaries.extract([FRIENDS])
    assert "puppy from the shelter" in told
    assert "Yeah, Andrew!" not in told
    assert "Long time no see" not in told


@given(st.lists(st.text(), max_size=5))
def test_any_text_can_be_summarised(bodies):
    assert len(summaries.extract(bodies).split("\n")) <= 8
    for body in bodies:
        assert len(summaries.title(body)) <= 80
        summaries.tags(body)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("Nice! Do you have a dog? What is it called?", "What is it called?"),
        ("¿Y tu hermana? Qué alegría.", "¿Y tu hermana?"),
        ("What a day [shares a photo]", ""),
        ("", ""),
        ("so " * 200 + "why?", "so " * 50 + "so why?"),
    ],
)
def test_the_last_question_is_what_may_be_answered_next(said, question):
    assert summaries.last_question(said) == question


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("ok quick test: where do i live?", "where do i live?"),
        ("right lets test you, how old am I", "how old am I"),
        ("a ver si prestas atencion, que edad tengo?", "que edad tengo?"),
        ("Bueno, ¿dónde vivo?", "¿dónde vivo?"),
        ("Something else now: what is my dentist called?", "what is my dentist called?"),
        ("do you remember where I live?", "where I live?"),
        ("¿Te acordás cuántos años tengo?", "cuántos años tengo?"),
        ("By the way, how old is Bo?", "how old is Bo?"),
        ("Por cierto, ¿dónde trabaja Ana?", "¿dónde trabaja Ana?"),
    ],
)
def test_what_only_leads_to_a_question_is_not_asked(said, asked):
    assert summaries.without_lead_in(said) == asked
    assert intents.read(said).questions == (asked,)


@pytest.mark.parametrize(
    "said",
    [
        "so my sister called, what's her job?",
        "well Ana came, what did she say?",
        "when I was in Lisbon, what did I eat?",
        "well, where we live it rains a lot",
        "pues, que se mudó a Lima",
        "Oh, what a day",
        "another thing I forgot is how Bo did it",
    ],
)
def test_what_tells_something_before_a_question_stays(said):
    assert summaries.without_lead_in(said) == said


def test_the_point_of_a_number_ends_no_sentence():
    body = "I'm learning the Chorale No. 3 for Easter. No. I live in Rome. See Dr. Salas."
    assert summaries.sentences(body) == [
        "I'm learning the Chorale No. 3 for Easter.",
        "No.",
        "I live in Rome.",
        "See Dr. Salas.",
    ]
