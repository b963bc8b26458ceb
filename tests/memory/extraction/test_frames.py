"""What a statement tells, whichever way and language it is told in."""

import re
from pathlib import Path

import pytest

from memory.extraction.frames import frame_of, frames_of

DATA = Path(__file__).parents[2] / "data"
# Written apart from the product's own list, so that the two can disagree.
NEGATION = re.compile(
    r"(?i)\b(?:not|no|never|nor|neither|none|nobody|nothing|without|can ?not|cant|dont|doesnt|isnt"
    r"|nunca|jamas|nadie|nada|ningun\w*|tampoco|ni|sin|anymore|longer|used to|stopped|quit|gave up"
    r"|dej[eéó] de|solia)\b|n't\b"
)
ONE_SLOT = {
    "home": [
        "Ana lives in Madrid", "I live in Madrid", "vivo en Madrid", "Vive en Madrid",
        "Ana moved to Madrid", "me mudé a Madrid", "i'm living in madrid", "City: Madrid",
        "Ana vive en Madrid con su pareja", "llevo tres años viviendo en Madrid",
    ],
    "favourite:editor": [
        "Favourite editor: Zed", "Favorite editor: Zed", "mi editor favorito es Zed",
        "Ana prefers Zed as editor", "Zed is my favourite editor", "prefiero Zed como editor",
        "El editor favorito de Ana es Zed", "Ana prefers Zed",
    ],
    "package manager": [
        "Package manager: bun", "Gestor de paquetes: bun", "Our package manager is bun",
        "we use bun as our package manager", "usamos bun como gestor de paquetes",
        "- Package manager: **bun** (since 2026-03-15)", "we switched from npm to bun",
    ],
    "birthday": [
        "Ana's birthday is March 14", "mi cumple es el 14 de marzo", "Birthday: 14 March",
        "Ana was born on March 14", "cumplo años el 14 de marzo", "nací el 14 de marzo",
    ],
    "language preference": [
        "Ana prefers Spanish", "prefiero español", "Idioma: español", "Language: Spanish",
        "answer me in Spanish", "respóndeme siempre en español",
        "Ana prefers to be answered in Spanish",
    ],
    "age": ["Ana is 7", "Ana tiene 7 años", "I'm seven", "Ana turned 7", "Edad: 7"],
    "employer": [
        "Ana works at Acme", "trabajo en Acme", "Ana got a job at Acme", "Employer: Acme",
        "Ana has worked for Acme since 2019", "Ana is working for Acme", "Empresa: Acme",
    ],
    "job": ["Ana is a nurse", "soy enfermera", "Ana works as a nurse", "Job: nurse",
            "Ana trabaja de enfermera"],
    "allergy:peanut": ["Ana is allergic to peanuts", "soy alérgica al maní",
                       "Ana has a peanut allergy", "tengo alergia a los cacahuates"],
    "likes:coffee": ["Ana likes coffee", "me gusta el café", "A Ana le encanta el café",
                     "I love coffee", "Ana's really into coffee"],
    "owns:pet": ["Ana has a cat", "tengo un gato", "Ana adopted a cat", "we've got a cat"],
    "called:dog": ["My dog is called Rex", "mi perro se llama Rex", "el perro de Ana se llama Rex",
                   "Ana's dog's name is Rex"],
    "name": ["My name is Ana Ruiz", "me llamo Ana Ruiz", "Name: Ana Ruiz", "Nombre: Ana Ruiz"],
    "timezone": ["Timezone: CET", "Zona horaria: CET", "my time zone is CET"],
    "use:install": ["Use npm install", "usa npm install"],
    "smokes": ["I smoke", "fumo", "Ana is a smoker"],
    "diet": ["Ana is vegan", "soy vegana", "Ana went vegan"],
    "couple": ["Marc is Ana's husband", "Marc es el marido de Ana", "my husband is Marc"],
    "relationship status": ["Ana is married", "Ana está casada", "Ana got married"],
    "speaks:german": ["Ana speaks German", "hablo alemán"],
}  # fmt: skip


@pytest.mark.parametrize("key", ONE_SLOT)
def test_one_slot_has_one_name_in_every_wording(key):
    values = {frames[0].terms for other in ONE_SLOT[key] if (frames := frames_of(other))}
    frames = {text: frame_of(text, subject="Ana") for text in ONE_SLOT[key]}
    slots = {text: frame and (frame.key, frame.polarity, frame.ended)
             for text, frame in frames.items()}  # fmt: skip
    assert slots == dict.fromkeys(frames, (key, 1, False))
    assert [
        text
        for text, frame in frames.items()
        if not any(frame.terms <= value or value <= frame.terms for value in values)
    ] == []


@pytest.mark.parametrize(
    ("text", "key", "polarity", "ended"),
    [
        ("I don't live in Madrid", "home", -1, False),
        ("I don't live in Madrid anymore", "home", 1, True),
        ("ya no vivo en Madrid", "home", 1, True),
        ("I used to live in Madrid", "home", 1, True),
        ("vivía en Madrid", "home", 1, True),
        ("vivía en Madrid, ya no", "home", 1, True),
        ("Ana no longer works at Acme", "employer", 1, True),
        ("I quit my job at Acme", "employer", 1, True),
        ("Sam left Acme", "employer", 1, True),
        ("antes trabajaba en Acme", "employer", 1, True),
        ("I left the clinic", "employer", 1, True),
        ("I quit the bakery", "employer", 1, True),
        ("me fui de la agencia", "employer", 1, True),
        ("no me gusta el café", "likes:coffee", -1, False),
        ("I can't stand coffee", "likes:coffee", -1, False),
        ("no soporto el café", "likes:coffee", -1, False),
        ("ya no me gusta el café", "likes:coffee", 1, True),
        ("I used to hate coffee", "likes:coffee", -1, True),
        ("I'm not allergic to nuts", "allergy:nut", -1, False),
        ("I'm not allergic to nuts anymore", "allergy:nut", 1, True),
        ("I stopped smoking", "smokes", 1, True),
        ("dejé de fumar", "smokes", 1, True),
        ("no tengo mascotas", "owns:pet", -1, False),
        ("Ana has no pets", "owns:pet", -1, False),
        ("my dog died in May", "owns:pet", 1, True),
        ("never use npm", "package manager", -1, False),
        ("Matías no come nada verde", "eats:green", -1, False),
    ],
)
def test_what_is_denied_or_over_is_read_as_that(text, key, polarity, ended):
    frame = frame_of(text, subject="Ana")
    assert (frame.key, frame.polarity, frame.ended) == (key, polarity, ended)


@pytest.mark.parametrize(
    "text",
    [
        "I want to live in Madrid", "me gustaría vivir en Madrid", "if I lived in Paris",
        "ojalá viviera en Roma", "Ana might move to Berlin", "do you live in Madrid?",
        "¿vives en Madrid?", "Ana is thinking of moving to Lima", "voy a vivir en Lima",
        "I love that!", "I like your photo", "she said she is a nurse", "I'm used to the cold",
        "I could eat a horse", "the sky is blue today", "it lives in the cupboard",
        "my sister is tall", "let me show you", "coriander tastes like soap", "",
        "no sé si soy alérgica", "I don't think Ana lives in Madrid",
    ],
)  # fmt: skip
def test_what_is_wished_asked_or_passing_has_no_frame(text):
    assert frames_of(text, subject="Ana") == ()


def negated_lines():
    lines = (DATA / "negated_lines.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[2] for line in lines if not line.startswith("#")]


def test_a_negated_clause_never_has_a_positive_frame():
    lines = negated_lines()
    negated = [
        (text, frame)
        for text in lines
        for frame in frames_of(text)
        if NEGATION.search(frame.clause)
    ]
    positive = [(text, frame) for text, frame in negated if frame.polarity == 1 and not frame.ended]
    assert len(lines) >= 340
    assert positive == []


SPANISH = [
    "vivo en Madrid", "trabajo en Acme", "soy enfermera", "me gusta el café", "tengo un gato",
    "como carne", "fumo", "bebo alcohol", "uso npm", "soy alérgica al maní", "hablo alemán",
    "estoy casada", "soy vegana", "estudio derecho", "vivo con Marc", "prefiero español",
]  # fmt: skip
ENGLISH = [
    "live in Madrid", "work at Acme", "work as a nurse", "like coffee", "have a cat", "eat meat",
    "smoke", "drink alcohol", "use npm", "speak German", "study law", "live with Marc",
    "prefer Spanish",
]  # fmt: skip


@pytest.mark.parametrize("words", SPANISH + ENGLISH)
def test_every_way_to_deny_a_statement_turns_it(words):
    if words in SPANISH:
        ways = [f"no {words}", f"ya no {words}", f"yo nunca {words}", f"No, ya no {words}"]
    else:
        ways = [f"I do not {words}", f"I don't {words} anymore", f"i dont {words}",
                f"I never {words}", f"I used to {words}", f"no, I no longer {words}"]  # fmt: skip
    positive = frame_of(words if words in SPANISH else f"I {words}")
    assert positive.polarity == 1
    assert not positive.ended
    for way in ways:
        frame = frame_of(way)
        assert frame.key == positive.key, way
        assert frame.polarity == -1 or frame.ended, way


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Ana lives in Madrid and works at Acme", ["home", "employer"]),
        ("I used to live in Lima but now I live in Quito", ["home", "home"]),
        ("soy psicóloga, trabajo en un consultorio", ["job", "employer"]),
        ("Ana speaks Spanish and German", ["speaks:spanish", "speaks:german"]),
        ("ya no trabajo en el hospital, ahora estoy en una clínica", ["employer", "employer"]),
    ],
)
def test_several_things_told_are_several_frames(text, keys):
    assert [frame.key for frame in frames_of(text, subject="Ana")] == keys


def test_the_clause_after_an_end_tells_what_came_instead():
    over, new = frames_of("ya no trabajo en el hospital, ahora estoy en una clínica privada")
    assert (over.ended, over.value) == (True, "el hospital")
    assert (new.ended, new.changed, new.value) == (False, True, "una clinica privada")


@pytest.mark.parametrize(
    ("text", "holder"),
    [
        ("Ana lives in Quito", set()),
        ("I live in Quito", set()),
        ("my sister lives in Quito", {"sister"}),
        ("La hermana de Ana vive en Quito", {"sister"}),
        ("my sister Elena lives in Quito", {"sister", "elena"}),
        ("Elena lives in Quito", {"elena"}),
        ("I have one sister, she lives in Quito", {"sister"}),
        ("Ana's boss, Marta, lives in Quito", {"boss", "marta"}),
    ],
)
def test_a_frame_knows_whose_it_is(text, holder):
    (frame,) = [one for one in frames_of(text, subject="Ana") if one.key == "home"]
    assert frame.holder == holder


def test_where_somebody_is_from_is_not_what_they_are_called():
    assert [one.value for one in frames_of("My boss is Irene")] == ["Irene"]
    assert not frames_of("My boss is Irish")


def test_a_name_after_another_clause_is_not_the_speaker_s():
    assert [one.key for one in frames_of("tengo un amigo en Lima y trabaja en Acme")] == [
        "employer"
    ]
    assert not any(one.key == "name" for one in frames_of("mi hermano tiene novia, se llama Eva"))


@pytest.mark.parametrize(
    ("text", "exclusive"),
    [
        ("Ana lives in Madrid", True), ("Favourite colour: blue", True), ("Port: 5678", True),
        ("Ana likes tea", False), ("Ana speaks German", False), ("Ana has a daughter", False),
        ("Hobby: chess", False), ("Allergy: nuts", False), ("Note: buy milk", False),
    ],
)  # fmt: skip
def test_some_slots_hold_one_value_at_a_time(text, exclusive):
    frame = frame_of(text, subject="Ana")
    assert frame is None or frame.exclusive is exclusive


def test_long_and_odd_texts_are_read_without_harm():
    for text in ("x" * 5000, "a: " * 400, "no " * 300, "((((", "\x00\ud800", "🙂" * 200, ":::"):
        assert isinstance(frames_of(text), tuple)
