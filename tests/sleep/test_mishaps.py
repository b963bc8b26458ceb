import pytest

from sleep.error_patterns import classify, is_error, lesson, recoverable, solution


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("network timeout while calling the API", "external"),
        ("Config error: OPENAI_API_KEY missing", "configuration"),
        ("Invalid date given, error", "user"),
        ("n8n webhook error returned 401", "internal"),
        ("Error de conexión con la red", "external"),
        ("Falta la variable en la configuración: error", "configuration"),
    ],
)
def test_the_first_cue_names_the_category(text, category):
    assert classify(text) == category


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("The reply builder crashed with an error on empty input", "Error encountered"),
        ("Error: the config file was missing a key", "Configuration issue"),
    ],
    ids=["a63-internal", "a63-config"],
)
def test_a63_own_errors_teach_a_lesson(text, lead):
    assert lesson(text).text.startswith(lead)


@pytest.mark.parametrize(
    "text",
    ["network error ECONNREFUSED", "We talked about the weather", "error"],
    ids=["a63-net", "a63-none", "short"],
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
    assert recoverable(text) is answer


def test_a_problem_and_its_solution_are_paired():
    found = solution("The n8n webhook failed with 401. Fixed by sending ?token= in the query.")
    assert "401" in found.trigger
    assert "token" in found.answer


def test_a_problem_and_its_solution_are_paired_in_spanish():
    found = solution("Falló el webhook de n8n con 401. Se arregló: funcionó con ?token= en la URL.")
    assert "webhook" in found.trigger
    assert "token" in found.answer


@pytest.mark.parametrize(
    "text",
    ["An error occurred but nothing was done about it", "Lovely weather, it worked out fine", ""],
    ids=["a59-nothing-done", "a59-weather", "empty"],
)
def test_a59_without_both_there_is_no_pattern(text):
    assert solution(text) is None


def test_a_word_inside_another_is_no_error():
    assert not is_error("The terrorised failsafe")
