"""The forms of verbs, and clauses about every verb of the tables."""

import pytest

from memory.extraction.grammar import english, spanish
from memory.extraction.grammar import english as en
from memory.extraction.grammar import spanish_verbs as es

# infinitive: present, past and future of the first and the third person
SPANISH = {
    "hablar": "hablo habla hablé habló hablaré hablará",
    "empezar": "empiezo empieza empecé empezó empezaré empezará",
    "buscar": "busco busca busqué buscó buscaré buscará",
    "jugar": "juego juega jugué jugó jugaré jugará",
    "enviar": "envío envía envié envió enviaré enviará",
    "graduar": "gradúo gradúa gradué graduó graduaré graduará",
    "estudiar": "estudio estudia estudié estudió estudiaré estudiará",
    "leer": "leo lee leí leyó leeré leerá",
    "conocer": "conozco conoce conocí conoció conoceré conocerá",
    "coger": "cojo coge cogí cogió cogeré cogerá",
    "convencer": "convenzo convence convencí convenció convenceré convencerá",
    "volver": "vuelvo vuelve volví volvió volveré volverá",
    "dormir": "duermo duerme dormí durmió dormiré dormirá",
    "pedir": "pido pide pedí pidió pediré pedirá",
    "seguir": "sigo sigue seguí siguió seguiré seguirá",
    "elegir": "elijo elige elegí eligió elegiré elegirá",
    "preferir": "prefiero prefiere preferí prefirió preferiré preferirá",
    "construir": "construyo construye construí construyó construiré construirá",
    "ser": "soy es fui fue seré será",
    "estar": "estoy está estuve estuvo estaré estará",
    "ir": "voy va fui fue iré irá",
    "tener": "tengo tiene tuve tuvo tendré tendrá",
    "mantener": "mantengo mantiene mantuve mantuvo mantendré mantendrá",
    "hacer": "hago hace hice hizo haré hará",
    "decir": "digo dice dije dijo diré dirá",
    "traer": "traigo trae traje trajo traeré traerá",
    "conducir": "conduzco conduce conduje condujo conduciré conducirá",
    "dar": "doy da di dio daré dará",
    "ver": "veo ve vi vio veré verá",
    "caer": "caigo cae caí cayó caeré caerá",
    "oír": "oigo oye oí oyó oiré oirá",
    "saber": "sé sabe supe supo sabré sabrá",
    "salir": "salgo sale salí salió saldré saldrá",
}
ENGLISH = {
    "go": "goes went", "do": "does did", "have": "has had", "study": "studies studied",
    "play": "plays played", "watch": "watches watched", "fix": "fixes fixed",
    "pass": "passes passed", "teach": "teaches taught", "stop": "stops stopped",
    "live": "lives lived", "quit": "quits quit", "fly": "flies flew", "wake": "wakes woke",
    "prefer": "prefers preferred",
}  # fmt: skip


@pytest.mark.parametrize("verb", SPANISH)
def test_spanish_verbs_have_their_forms(verb):
    present, past, _, future, *_ = es.verbs()[verb]
    forms = [f for tense in (present, past, future) for f in (tense[es.FIRST], tense[es.THIRD])]
    assert " ".join(forms) == SPANISH[verb]


@pytest.mark.parametrize("verb", ENGLISH)
def test_english_verbs_have_their_forms(verb):
    assert f"{en.third(verb)} {en.past(verb)}" == ENGLISH[verb]


def test_an_accent_left_out_is_put_back_where_only_one_form_can_be_meant():
    assert es.first_person("naci") == "nací"
    assert es.first_person("se") == es.first_person("vivía") == es.first_person("creo") == ""
    assert spanish.retell("me mude a Lima en 2019", "Ana") == "Ana se mudó a Lima en 2019"
    assert spanish.retell("se separo de Inés", "Ana") == ""


def test_no_spanish_verb_is_retold_wrongly():
    retold = 0
    for tenses in es.verbs().values():
        for tense in (*tenses[:2], tenses[3]):
            told = spanish.retell(f"yo {tense[es.FIRST]} mucho", "Ana")
            assert told in ("", f"Ana {tense[es.THIRD]} mucho")
            retold += bool(told)
            back = spanish.address_retold(told, "Ana") if told else ""
            assert back in ("", f"{tense[es.SECOND].capitalize()} mucho")
    assert retold > 0.95 * 3 * len(es.verbs())


def test_no_english_verb_is_retold_wrongly():
    for base in en.BASES:
        told = english.retell(f"I {base} every day", "Ana")
        assert told == f"Ana {en.third(base)} every day"
        assert english.address_retold(told, "Ana") == f"You {base} every day"
        past = en.past(base)
        assert english.retell(f"I {past} last year", "Ana") == f"Ana {past} last year"


def test_what_is_not_a_known_verb_is_not_retold():
    for clause in ("I zorp every day", "I surprisinglies it", "i aint going"):
        assert english.retell(clause, "Ana") == ""
    for clause in ("yo zorpo mucho", "zorpo mucho", "trabajo nuevo desde marzo"):
        assert spanish.retell(clause, "Ana") == ""
    for clause in ("curso de inglés en mayo", "lucho se va a Lima", "leo es celíaco"):
        assert spanish.retell(clause, "Ana") == ""


def test_me_and_somebody_are_two():
    assert english.retell("me and Beth are in Oslo", "Ana") == "Ana and Beth are in Oslo"
    assert english.retell("Me and my brother went away", "Ana") == "Ana and their brother went away"
    assert english.retell("me and Beth are selling my car", "Ana") == ""
    assert english.retell("me and Beth", "Ana") == ""
