"""Technical trouble: what counts, whose it is, what helped, and how a person would name it."""

import pytest
from django.utils import translation

from sleep.error_patterns import classify, is_error, is_recoverable, lesson, solution, when


@pytest.mark.parametrize(
    "text",
    [
        "My umbrella broke",
        "I failed the driving test and the exam on memory",
        "We talked about the weather",
        "The terrorised failsafe",
        "Se me rompió el coche en la carretera",
        "Me fallaron los amigos otra vez",
        "Our marriage failed",
    ],
)
def test_what_goes_wrong_in_life_is_not_technical(text):
    assert not is_error(text)


@pytest.mark.parametrize(
    "text",
    [
        "The n8n webhook failed with 401",
        "The search page crashed when the query was empty",
        "El servidor se cayó anoche",
        "Falló la importación de clientes",
        "The deploy does not work",
        "It gives a 500 on login",
    ],
)
def test_technical_trouble_is_seen_in_both_languages(text):
    assert is_error(text)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("network timeout while calling the API", "external"),
        ("Config error: OPENAI_API_KEY missing", "configuration"),
        ("Invalid date given, error", "user"),
        ("The reply builder crashed", "internal"),
        ("n8n webhook error returned 401", "technical"),
        ("Error de conexión con la red", "external"),
        ("Falta la variable en la configuración: error", "configuration"),
    ],
)
def test_the_first_cue_names_the_category_and_not_all_trouble_is_keno_s(text, category):
    assert classify(text) == category


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "The search page crashed with an error when the query was empty.",
            "When the search page crashes on an empty query",
        ),
        ("The n8n webhook failed with 401 again.", "When the n8n webhook fails with 401"),
        (
            "The restore failed with an error, the keys were missing.",
            "When the restore fails because the keys are missing",
        ),
        ("Certbot failed: port 80 was taken.", "When Certbot fails: port 80 is taken"),
        (
            "La página de búsqueda falló cuando la consulta estaba vacía.",
            "Cuando la página de búsqueda falla con consulta vacía",
        ),
        ("Falló la importación con el error 7.", "Cuando falla la importación con el error 7"),
    ],
)
def test_trouble_is_named_as_a_person_would(text, title):
    assert when(text) == title


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "The reply builder crashed with an error on empty input",
            "When the reply builder crashes on empty input, check for this before "
            "answering; say so when it happens again. What solved it was not said.",
        ),
        (
            "Error: the config file was missing a key",
            "When the config file is missing a key, look at the settings first. "
            "What solved it was not said.",
        ),
        (
            "The restore failed with an error, the keys were missing. "
            "Fixed by copying the keys first, the restore works.",
            "When the restore fails because the keys are missing, try this first: "
            "copying the keys first.",
        ),
        (
            "La importación falló con un error, faltaba la configuración.",
            "Cuando la importación falla porque falta la configuración, mira primero los ajustes. "
            "No se dijo qué lo resolvió.",
        ),
    ],
    ids=["a63-internal", "a63-config", "a63-solved", "a63-spanish"],
)
def test_a63_own_errors_teach_a_lesson_in_sentences_of_their_talk(text, told):
    learned = lesson(text)
    assert learned.text == told
    for name in ("Error: ", "Result: ", "Lesson: ", "Rule: "):
        assert name not in learned.text
    assert len(learned.lines.splitlines()) >= 2


def test_a_lesson_in_english_stays_english_where_the_night_speaks_spanish():
    with translation.override("es"):
        learned = lesson("The config of the reply builder crashed with an error")
        assert "look at the settings first" in learned.text
        assert learned.lines.startswith("What happened: “The config")


@pytest.mark.parametrize(
    "text",
    [
        "network error ECONNREFUSED",
        "We talked about the weather",
        "error",
        "Certbot failed with an error here, is port 80 taken?",
        "The n8n webhook failed with 401. Fixed with the token in the query.",
    ],
    ids=["a63-net", "a63-none", "short", "a-question", "somebody-else-s"],
)
def test_a63_others_teach_none(text):
    assert lesson(text) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Request timeout", True),
        ("Temporary failure", True),
        ("Unknown issue", True),
        ("Fatal error occurred", False),
    ],
    ids=["a64-timeout", "a64-temporary", "a64-unknown", "a64-fatal"],
)
def test_a64_what_may_be_tried_again(text, answer):
    assert is_recoverable(text) is answer


@pytest.mark.parametrize(
    ("text", "trigger", "remedy"),
    [
        (
            "The n8n webhook failed with 401. Fixed by sending ?token= in the query.",
            "n8n + webhook + 401",
            "Sending ?token= in the query",
        ),
        (
            "Falló el webhook de n8n con 401. Se arregló: funcionó con ?token= en la URL.",
            "webhook + n8n + 401",
            "Funcionó con ?token= en la URL",
        ),
        (
            "The backup failed, no space left. Solved by removing old snapshots, it works again.",
            "backup + space + left",
            "Removing old snapshots",
        ),
    ],
)
def test_a_problem_and_its_solution_are_paired(text, trigger, remedy):
    found = solution(text)
    assert (found.trigger, found.remedy) == (trigger, remedy)


@pytest.mark.parametrize(
    "text",
    [
        "An error occurred in the server but nothing was done about it",
        "Lovely weather, it worked out fine",
        "Fixed the fence. Later the server crashed.",
        "The server crashed. Was it fixed?",
        "",
    ],
    ids=["a59-nothing-done", "a59-weather", "before", "a-question", "empty"],
)
def test_a59_without_both_there_is_no_pattern(text):
    assert solution(text) is None
