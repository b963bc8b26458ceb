"""One sentence with several facts becomes several facts."""

import pytest

from memory.extraction.wording import word_facts
from memory.text.normalise import detect_language

SEVERAL = {
    "My birthday is March 14 and my sister Elena's is July 2nd": [
        "Ana's birthday is March 14", "Ana's sister Elena's birthday is July 2nd"],
    "I live in Valencia with my partner Marc and our two cats, Pixel and Nube.": [
        "Ana lives in Valencia", "Ana's partner is Marc", "Ana has two cats, Pixel and Nube"],
    "I live in Leeds with my brother Joe, who is a vet": [
        "Ana lives in Leeds", "Ana's brother is Joe", "Joe is a vet"],
    "vivo en Sevilla con mi hijo Mateo, que tiene 7 años": [
        "Ana vive en Sevilla", "El hijo de Ana es Mateo", "Mateo tiene 7 años"],
    "I share a flat with my sister Eva who's deaf": [
        "Ana shares a flat with their sister Eva", "Eva is deaf"],
    "el martes viene el plomero a las 9 y el miércoles tengo terapia": [
        "el martes viene el plomero a las 9", "El miércoles Ana tiene terapia"],
    "Mi marido se llama Julio y tenemos dos hijos, Tomás y Lucía": [
        "El marido de Ana se llama Julio", "Ana tiene dos hijos, Tomás y Lucía"],
    "I hate coriander but I love Thai food": ["Ana hates coriander", "Ana loves Thai food"],
    "I live in Goa and work at a bank": ["Ana lives in Goa", "Ana works at a bank"],
    "My sister is a pilot and lives in Goa": [
        "Ana's sister is a pilot", "Ana's sister lives in Goa"],
    "my dog Rex is 4 and he's deaf": ["Ana's dog Rex is 4", "Ana's dog Rex is deaf"],
    "My son Kalin is home, he left Berlin and his start-up, he says he is tired": [
        "Ana's son Kalin is home",
        "Ana's son Kalin left Berlin and his start-up, he says he is tired"],
    "I have two kids, Sam and Joe, and I live in Leeds": [
        "Ana has two kids, Sam and Joe", "Ana lives in Leeds"],
    "Rory's coeliac and Isla's vegan": ["Rory's coeliac", "Isla's vegan"],
    "Isla has a cat and Tom is a vet": ["Isla has a cat", "Tom is a vet"],
    "Pablo vive en Gijón y Marta ya no come carne": [
        "Pablo vive en Gijón", "Marta ya no come carne"],
    "Mi suegra se llama Rosario y es insoportable, pero cocina de maravilla": [
        "La suegra de Ana se llama Rosario", "La suegra de Ana es insoportable",
        "La suegra de Ana cocina de maravilla"],
    "Mi cumpleaños es el 14 de marzo y el de mi hermana Elena es el 2 de julio": [
        "El cumpleaños de Ana es el 14 de marzo",
        "El cumpleaños de la hermana de Ana, Elena, es el 2 de julio"],
    "vivo en Valencia con mi pareja Marc y mis dos gatos, Pixel y Nube": [
        "Ana vive en Valencia", "La pareja de Ana es Marc", "Ana tiene dos gatos, Pixel y Nube"],
    "Marc is not my partner, he is my husband": [
        "Marc is not Ana's partner", "Marc is Ana's husband"],
    "Tom is my brother and he works at a bank": ["Tom is Ana's brother", "Tom works at a bank"],
    "Eva no es mi hermana, es mi prima": [
        "Eva no es la hermana de Ana", "Eva es la prima de Ana"],
    "me llamo Lucía y soy alérgica a los cacahuates": [
        "Ana se llama Lucía", "Ana es alérgica a los cacahuates"],
}  # fmt: skip

ONE = [
    "I went to Leeds with my brother Joe, which was nice",
    "I like my job and my boss",
    "I like tea, coffee and long walks",
    "my mum and my dad live in Leeds",
    "I was drinking a lot last year and I've stopped",
    "my mum told my dad and he cried",
    "I met Jean at a dance, she stepped on my foot",
    "my gran gave me her old corsa, has no radio",
    "I've an idea: Lucien and I want to take the train",
    "I stutter when I'm nervous and tired",
    "I understand it but I don't speak it well",
    "Rory's dog and Isla's cat are ill",
    "Rory loves chess and Isla hates it",
    "mi hermano ya tiene novia, se llama Ximena",
    "Vivo con mi novia Clara, que es enfermera, y dos gatos",
    "salgo los jueves con mi hijo Mateo que ojalá aprenda",
    "Los martes voy a hidrogimnasia en el club, a las ocho",
    "ya no tengo la furgo, la vendí",
    "me gusta el rock y el jazz",
    "cocino sin ajo, me repite todo el día",
    "mi hermano Fede se fue a vivir a Valencia, hace dos años",
    "I am going to stay put and have a stair lift installed",
]


@pytest.mark.parametrize("quote", SEVERAL)
def test_each_fact_stands_by_itself_with_its_own_words(quote):
    language = detect_language(quote) or "en"
    facts = word_facts(quote, author="Ana", language=language, kind="profile")
    assert [fact.text for fact in facts] == SEVERAL[quote]
    assert all(fact.quote in quote for fact in facts)
    assert len({fact.quote for fact in facts}) == len(facts)


@pytest.mark.parametrize("quote", ONE)
def test_what_is_one_fact_stays_one(quote):
    language = detect_language(quote) or "en"
    assert len(word_facts(quote, author="Ana", language=language, kind="profile")) == 1


def test_a_name_that_is_told_once_names_the_other_facts():
    quote = "Mi suegra se llama Rosario y es insoportable"
    facts = word_facts(quote, author="Ana", language="es", kind="people")
    assert [fact.subject.name for fact in facts] == ["Rosario", "Rosario"]
