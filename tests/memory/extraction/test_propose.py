"""What people tell of themselves becomes facts; what they only say does not."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.extraction import edges, propose
from memory.extraction.frames.clauses import is_negative
from memory.extraction.propose import lore_line
from memory.extraction.wording import trimmed, without_answer

DATA = Path(__file__).parents[2] / "data"

STATED = [
    ("I prefer tea over coffee", "Adrian prefers tea over coffee", "preference"),
    ("I live in Lisbon now", "Adrian lives in Lisbon now", "profile"),
    ("My name is Ana", "Adrian's name is Ana", "profile"),
    ("I work at Acme as a developer.", "Adrian works at Acme as a developer", "profile"),
    ("I'm allergic to peanuts!", "Adrian is allergic to peanuts", "profile"),
    ("I don't eat meat", "Adrian doesn't eat meat", "preference"),
    ("My favourite band is Toto", "Adrian's favourite band is Toto", "preference"),
    ("my sister is called Marta", "Adrian's sister is called Marta", "relationship"),
    ("my wife works at a hospital", "Adrian's wife works at a hospital", "relationship"),
    ("I have two kids", "Adrian has two kids", "relationship"),
    ("we decided to use Postgres", "The group decided to use Postgres", "project"),
    ("Remember that I'm vegetarian", "Adrian is vegetarian", "profile"),
    ("Actually, I moved to Porto last month", "Adrian moved to Porto last month", "profile"),
    ("I was born in Oslo", "Adrian was born in Oslo", "profile"),
    ("Btw I'm a nurse", "Adrian is a nurse", "profile"),
    ("My doctor is Dr. Salas. Nice man.", "Adrian's doctor is Dr. Salas", "profile"),
    ("I can't stand cilantro", "Adrian can't stand cilantro", "preference"),
    ("No, I hate cilantro", "Adrian hates cilantro", "preference"),
    ("Call me Adri", "Adrian wants to be called Adri", "profile"),
    ("My birthday is on March 3", "Adrian's birthday is on March 3", "profile"),
    ("I'm 34 years old", "Adrian is 34 years old", "profile"),
    ("my time zone is America/Mexico_City", "Adrian's time zone is America/Mexico_City", "profile"),
    ("I never drink coffee after noon", "Adrian never drinks coffee after noon", "preference"),
    ("I got married last summer", "Adrian got married last summer", "profile"),
    ("Prefiero el té", "Adrian prefiere el té", "preference"),
    ("me llamo Ana", "Adrian se llama Ana", "profile"),
    ("Soy alérgica a los cacahuetes", "Adrian es alérgica a los cacahuetes", "profile"),
    ("No como carne", "Adrian no come carne", "preference"),
    ("Mi color favorito es el azul", "El color favorito de Adrian es el azul", "preference"),
    ("mi hermana se llama Marta", "La hermana de Adrian se llama Marta", "relationship"),
    ("Tengo dos hijos", "Adrian tiene dos hijos", "relationship"),
    ("decidimos usar Postgres", "El grupo decidió usar Postgres", "project"),
    ("Recuerda que soy vegetariano", "Adrian es vegetariano", "profile"),
    ("En realidad me mudé a Oporto", "Adrian se mudó a Oporto", "profile"),
    ("Soy enfermera", "Adrian es enfermera", "profile"),
    ("No me gusta el cilantro", "A Adrian no le gusta el cilantro", "preference"),
    ("Llámame Adri", "Adrian quiere que le llamen Adri", "profile"),
    ("Mi cumpleaños es el 3 de marzo", "El cumpleaños de Adrian es el 3 de marzo", "profile"),
    ("mi mujer vive en Cali", "La mujer de Adrian vive en Cali", "relationship"),
    ("Nunca tomo café por la tarde", "Adrian nunca toma café por la tarde", "preference"),
    ("Trabajo en una panadería", "Adrian trabaja en una panadería", "profile"),
    ("Me dedico a la fotografía", "Adrian se dedica a la fotografía", "profile"),
    ("Me dedico a vender seguros", "Adrian se dedica a vender seguros", "profile"),
]  # fmt: skip

SUBJECT = {
    "my sister is called Marta": "Marta",
    "my wife works at a hospital": "Adrian's wife",
    "my mate dave lives in york": "Dave",
    "we decided to use Postgres": "__lore__",
    "My doctor is Dr. Salas. Nice man.": "Adrian's doctor",
    "mi hermana se llama Marta": "Marta",
    "decidimos usar Postgres": "__lore__",
    "mi mujer vive en Cali": "la mujer de Adrian",
}

NOTHING = [
    "How are you?", "Do you know where I live?", "If I lived in Lisbon I would be happy",
    "I wish I had a dog", 'She said "I live in Lisbon"', "He told me I work too much", "I love you",
    "I like it", "I'm a bit tired", "I'm fine", "I'm a mess today", "I'd like a coffee", "ok",
    "My dog is so cute", "my phone is dead", "I think I like her", "What if I moved to Berlin",
    "I live on the moon, just kidding", "Thanks a lot!", "I have a question", "I have to go",
    "I'm going to bed", "> I live in Lisbon", "`I prefer tabs`", "```\nI prefer tabs\n```",
    "/remember I like tea", "maybe I prefer tea", "I love that!", "I use it daily", "I'm working",
    "I am so excited!", "the weather is nice", "I know", "I want to go home", "I work hard",
    "my head hurts", "remember to rest", "don't forget to breathe", "remember you are great",
    "¿Dónde vivo?", "Si viviera en Lisboa sería feliz", "Ojalá tuviera un perro", "Me gusta eso",
    "te quiero", "Estoy cansado", "Tengo hambre", "Tengo una pregunta", "Tengo que irme",
    "Vivo en la luna, es broma", "Juan dijo: vivo en Lisboa", "Creo que prefiero el té",
    "Hola, qué tal", "Me gustaría un café", "quiero pizza", "quizás prefiero el té", "soy yo",
    "Estoy en casa", "", "   ", "🙂", "?!",
]  # fmt: skip


@pytest.mark.parametrize(("said", "fact", "category"), STATED)
def test_what_is_stated_becomes_a_fact(said, fact, category):
    (found,) = propose.propose(said, author="Adrian")
    assert (found.text, found.category) == (fact, category)
    assert found.quote in said
    assert found.subject == SUBJECT.get(said, "Adrian")
    assert found.kind == ("lore" if found.subject == propose.LORE else "fact")
    assert propose.hearing.BELIEVE_FROM <= found.confidence <= 1


@pytest.mark.parametrize("said", NOTHING)
def test_what_is_only_said_becomes_nothing(said):
    assert propose.propose(said, author="Adrian") == []


def test_one_message_may_state_several_things_but_four_at_most():
    said = (
        "I live in Oslo and I work at Acme. Me encanta la escalada pero odio correr. I'm a nurse."
    )
    found = propose.propose(said, author="Ana")
    assert [f.text for f in found] == [
        "Ana lives in Oslo",
        "Ana works at Acme",
        "A Ana le encanta la escalada",
        "Ana odia correr",
    ]
    assert [f.language for f in found] == ["en", "en", "es", "es"]


BIG_FAMILY = "Adrian has a big family, especially on their mum's side"
PIECES = [
    ("I have a big family, especially on my mum's side", [BIG_FAMILY]),
    ("We cook all sorts, from Thai to Basque.", ["We cook all sorts, from Thai to Basque"]),
    ("Especially after the move.", []),
    ("I'm working on one with my choir", []),
    ("no space left on device", []),
    ("The restore in Oslo failed with an error", []),
    ("El despliegue falló con un error", []),
]


@pytest.mark.parametrize(("said", "facts"), PIECES)
def test_a_piece_of_a_sentence_is_not_a_fact_by_itself(said, facts):
    assert [one.text for one in propose.read(said, author="Adrian")] == facts


def test_who_is_known_is_whom_a_sentence_is_about():
    said = "Sam left Olive & Thyme, he's at The Railway now"
    left, now = propose.propose(said, author="Jo", people=["Sam"])
    assert (left.text, left.subject) == ("Sam left Olive & Thyme", "Sam")
    assert (now.text, now.subject) == ("Sam now works at The Railway", "Sam")


def test_a_known_name_in_small_letters_is_still_a_name():
    said = "pickle is diabetic so he gets insulin twice a day"
    facts = propose.propose(said, author="Jo", people=["Pickle"])
    assert {fact.subject for fact in facts} == {"Pickle"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("got a new job!! starting at Acme on monday", ["Jo got a new job"]),
        (
            "my partner Sam is a chef, works at Olive & Thyme",
            ["Jo's partner Sam is a chef", "Jo's partner Sam works at Olive & Thyme"],
        ),
        (
            "ya no trabajo en el hospital, ahora estoy en una clínica privada",
            ["Jo ya no trabaja en el hospital", "Jo ahora trabaja en una clínica privada"],
        ),
    ],
)
def test_untidy_sentences_are_told_whole(said, told):
    found = [one.text for one in propose.propose(said, author="Jo")]
    assert found[: len(told)] == told


def test_what_leans_on_the_clause_before_stays_with_it():
    said = "I work nights at the hospital in Leeds, been there six years"
    assert [one.text for one in propose.propose(said, author="Jo")] == [
        "Jo works nights at the hospital in Leeds, been there six years"
    ]
    said = "trabajo en un hospital, llevo ahí seis años"
    assert [one.text for one in propose.propose(said, author="Jo")] == [
        "Jo trabaja en un hospital, lleva ahí seis años"
    ]


MAIL = """I live in Porto.

-----Original Message-----
From: Tom Fischer
Sent: Monday
I live in Berlin and I'm allergic to cats."""


def test_a_pasted_mail_says_nothing_of_the_person_who_pastes_it():
    assert [one.text for one in propose.read(MAIL, author="Ana")] == ["Ana lives in Porto"]
    spanish = "Vivo en Lima\nEl lunes, 3 de mayo, Tom escribió:\nvivo en Quito y odio el café"
    assert [one.text for one in propose.read(spanish, author="Ana")] == ["Ana vive en Lima"]


def test_without_a_name_the_fact_is_about_the_user():
    assert propose.propose("I live in Oslo")[0].text == "User lives in Oslo"
    assert propose.propose("Prefiero el té")[0].text == "Prefiere el té"


def test_saying_it_twice_in_one_message_is_one_fact():
    assert len(propose.propose("I live in Oslo. I live in Oslo!", author="Ana")) == 1


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("remember that the door code changed", "The door code changed"),
        ("FYI the office closes at 5", "The office closes at 5"),
        ("recuerda que la oficina cierra a las 5", "La oficina cierra a las 5"),
    ],
)
def test_what_somebody_asks_to_keep_is_lore(said, line):
    (found,) = propose.propose(said, author="Ana")
    assert (found.text, found.kind, found.subject) == (line, "lore", "__lore__")


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Remember this: pizza | on Fridays!", "pizza / on Fridays"),
        ("important: Memory line: that the cat is Tom.", "the cat is Tom"),
        ("keep in mind that we meet at five", "we meet at five"),
        ("no olvides que la llave está abajo", "la llave está abajo"),
        ("fyi", ""),
        ("x", ""),
        ("remember " + "very " * 60 + "long", "very " * 35 + "very…"),
    ],
)
def test_a_lore_line_is_bare_and_short(said, line):
    assert lore_line(said) == line
    assert len(lore_line(said)) <= 180


def test_a_model_is_asked_and_believed_only_where_the_message_agrees():
    answer = {
        "facts": [
            {"fact": "Ana lives in Oslo", "evidence": "I LIVE in Oslo", "type": "profile",
             "confidence": 7},
            {"fact": "Ana is a spy", "evidence": "I live in Oslo", "type": "profile"},
            {"fact": "Ana has a dog called Rex", "evidence": "made up", "type": "weird"},
            {"fact": 5}, "noise", {"fact": "Ana lives in Oslo", "evidence": "I live in Oslo"},
        ]
    }  # fmt: skip
    prompts = []

    def complete(prompt):
        prompts.append(prompt)
        return f"```json\n{json.dumps(answer)}\n```"

    complete.model = "tiny-1"
    said = "I live in Oslo. My dog is called Rex."
    found = propose.propose(said, author="Ana", complete=complete)
    assert [(f.text, f.quote, f.category) for f in found] == [
        ("Ana lives in Oslo", "I live in Oslo", "profile"),
        ("Ana has a dog called Rex", "My dog is called Rex.", "relationship"),
    ]
    assert {f.mode for f in found} == {"tiny-1"}
    assert json.dumps(said) in prompts[0]


@pytest.mark.parametrize("answer", ["sorry, no", "{}", "null", '{"facts": 3}', "[1", "", None, 5])
def test_a_bad_answer_leaves_what_was_heard(answer):
    found = propose.propose("I live in Oslo", author="Ana", complete=lambda prompt: answer)
    assert [(f.text, f.mode) for f in found] == [("Ana lives in Oslo", "listener")]


def test_a_failing_model_leaves_what_was_heard():
    def broken(prompt):
        raise TimeoutError

    assert propose.propose("I live in Oslo", author="Ana", complete=broken)[0].mode == "listener"


def test_what_a_model_leaves_out_is_still_heard():
    found = propose.propose("I live in Oslo", author="Ana", complete=lambda prompt: '{"facts": []}')
    assert [one.text for one in found] == ["Ana lives in Oslo"]


@pytest.mark.parametrize(
    ("said", "fact"),
    [("I live in Oslo", "Ana lives in Oslo"), ("Vivo en Lima", "Ana vive en Lima")],
)
def test_what_both_say_is_surer_than_what_one_says(said, fact):
    def complete(prompt):
        return json.dumps({"facts": [{"fact": fact, "evidence": said, "confidence": 0.6}]})

    (alone,) = propose.read(said, author="Ana")
    (both,) = propose.read(said, author="Ana", complete=complete)
    assert both.text == alone.text == fact
    assert both.believed
    assert both.confidence >= max(alone.confidence, 0.6)


@pytest.mark.parametrize("said", ["Good morning!", "¿Cómo va todo?", "haha nice", "see you then"])
def test_a_model_is_not_asked_about_a_message_in_which_nothing_is_heard(said):
    def complete(prompt):
        raise AssertionError("asked")

    assert propose.read(said, author="Ana", complete=complete) == []


@given(st.text(st.characters(codec=None), max_size=300), st.text(max_size=20))
@settings(max_examples=200)
def test_any_message_is_survived_and_quoted_verbatim(said, author):
    for found in propose.propose(f"{said} I live in Oslo. {said}", author=author):
        assert found.text
        assert len(found.text) <= 190
        assert found.quote in propose.clean(f"{said} I live in Oslo. {said}")


@pytest.mark.parametrize(
    "seed", ["I ", "and I ", "remember that ", "my ", ", I", "``` ", '"a" ', ". "]
)
def test_a_long_message_costs_little(seed):
    assert len(propose.propose(seed * 20000, author="Ana")) <= 4


def negated_lines():
    lines = (DATA / "negated_lines.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[::2] for line in lines if not line.startswith("#")]


def denies(words: str) -> bool:
    return is_negative(words) or edges.is_over(words)


def test_what_is_denied_or_over_never_becomes_a_positive_fact():
    told = [
        fact
        for language, said in negated_lines()
        for fact in propose.propose(said, author="Ana", language=language)
    ]
    # "No, I'm a postwoman" says so; the no is of the question before.
    denied = [fact for fact in told if denies(without_answer(trimmed(fact.quote)))]
    assert len(denied) > 150
    assert [fact.text for fact in denied if not denies(fact.text)] == []


def test_sentences_with_other_numbers_are_two_facts():
    assert not propose.is_same_fact("Parcel 5 is kept in rack 5", "Parcel 6 is kept in rack 6")
    assert propose.is_same_fact("Parcel 5 is kept in rack 5", "We keep parcel 5 in rack 5")


def test_a_name_typed_small_is_one_unless_it_is_a_word_there():
    given = {"author": "Ana", "people": ["Laura", "Biscuit", "Will"]}
    (about,) = propose.propose("my sister laura lives in Bilbao", **given)
    assert "Laura" in about.text
    assert "laura" in about.quote
    (tin,) = propose.propose("Remember that the passports are in the USA biscuit tin", **given)
    assert "biscuit tin" in tin.text
    (plan,) = propose.propose("Remember that the shop will close in May", **given)
    assert "will close" in plan.text
