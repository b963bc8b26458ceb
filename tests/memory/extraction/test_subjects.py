"""Who a fact is about: the speaker, their people and pets, a named person, or a thing."""

import pytest

from memory.extraction.subjects import LORE, subject_of

EN = [
    ("I work in a clinic", "profile", "Ana", True),
    ("my job is in Leeds", "profile", "Ana", True),
    ("my sister Elena is a pilot", "people", "Ana's sister Elena", True),
    ("My twin sister lives in Goa", "people", "Ana's sister", True),
    ("my sister's name is Elena", "people", "Ana's sister", True),
    ("my mother in law uses a wheelchair", "people", "Ana's mother-in-law", True),
    ("my mum's boyfriend sells boats", "people", "Ana's mum's boyfriend", True),
    ("mum runs a salon", "people", "Ana's mum", True),
    ("my dog Rex is 4", "people", "Ana's dog Rex", True),
    ("Rex is 4", "people", "Rex", True),
    ("Priya lives in Goa", "profile", "Priya", True),
    ("Priya's birthday is 14 Nov", "people", "Priya", True),
    ("Dele's wife's name is Ronke", "people", "Dele's wife", True),
    ("Dmitri on the second floor speaks Polish", "people", "Dmitri", True),
    ("the twins can't handle chili", "people", "twins", True),
    ("the staging server is called falcon", "lore", "staging server", False),
    ("Jenkins runs at night", "lore", "Jenkins", False),
    ("we agreed to freeze deploys", "lore", LORE, False),
    ("we got engaged in May", "event", "Ana", True),
    ("NYSC posted me to Sokoto", "event", "Ana", True),
    ("his name's Kevin", "people", "", True),
    ("your father can't have grapefruit", "people", "", True),
    ("your aunt Bea won her appeal", "event", "Bea", True),
    ("Tita Baby is migrating to Canada", "people", "Tita Baby", True),
]
ES = [
    ("trabajo en una clínica", "profile", "Ana", True),
    ("mi trabajo es en Lima", "profile", "Ana", True),
    ("mi hermana Elena es piloto", "people", "la hermana de Ana, Elena", True),
    ("mi suegra se llama Rosario", "people", "la suegra de Ana, Rosario", True),
    ("a mi hermana no le gusta el rosa", "people", "la hermana de Ana", True),
    ("falleció mi abuelita", "event", "la abuelita de Ana", True),
    ("la hija de Inma es alérgica", "people", "la hija de Inma", True),
    ("la pareja de mi padre", "people", "la pareja del padre de Ana", True),
    ("la Mariana se casó", "event", "Mariana", True),
    ("Leo es celíaco", "people", "Leo", True),
    ("a Canela el veterinario le prohibió el pollo", "people", "Canela", True),
    ("a tu tía Lupe la operaron", "event", "Lupe", True),
    ("me dijeron que es el menisco", "event", "Ana", True),
    ("Hace un mes me dieron el alta", "event", "Ana", True),
    ("antes vivía con mi hermana", "past", "Ana", True),
    ("la cuota sube a 25 soles", "lore", "cuota", False),
    ("quedamos los jueves", "lore", LORE, False),
]


@pytest.mark.parametrize(("quote", "kind", "label", "is_person"), EN)
def test_english_words_say_who_they_are_about(quote, kind, label, is_person):
    subject = subject_of(quote, author="Ana", kind=kind, language="en")
    assert (subject.label, subject.is_person) == (label, is_person)


@pytest.mark.parametrize(("quote", "kind", "label", "is_person"), ES)
def test_spanish_words_say_who_they_are_about(quote, kind, label, is_person):
    subject = subject_of(quote, author="Ana", kind=kind, language="es")
    assert (subject.label, subject.is_person) == (label, is_person)


def test_a_relative_has_the_same_relation_in_both_languages():
    english = subject_of("my sister Elena is ill", author="Ana", kind="people", language="en")
    spanish = subject_of("mi hermana Elena está mala", author="Ana", kind="people", language="es")
    assert (english.relation, english.owner, english.name) == ("sister", "Ana", "Elena")
    assert (spanish.relation, spanish.owner, spanish.name) == ("sister", "Ana", "Elena")
    assert (str(english), str(spanish)) == ("Elena", "Elena")


def test_a_known_person_in_lore_is_no_thing():
    given = {"author": "Ana", "kind": "lore", "language": "en"}
    assert not subject_of("Gwen takes over the bookings", **given).is_person
    assert subject_of("Gwen takes over the bookings", people=["Gwen"], **given).is_person


@pytest.mark.parametrize(
    ("quote", "previous", "label"),
    [
        ("she turned 90", "how's ur granny", "Ana's granny"),
        ("he teaches guitar", "is Kev still around", "Kev"),
        ("he teaches guitar", "how's your sister", ""),
        ("he's 4", "and your brother and your dad?", ""),
        ("Emeka", "whats ur dads name", "Ana's dad"),
    ],
)
def test_a_pronoun_is_whoever_was_spoken_of_when_that_is_one(quote, previous, label):
    given = {"author": "Ana", "kind": "people", "language": "en"}
    assert subject_of(quote, previous=previous, **given).label == label
