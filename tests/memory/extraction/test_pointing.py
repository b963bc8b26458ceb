"""Words that only point are not facts, unless the message before says what at."""

import pytest

from memory.extraction.grammar.answers import is_pointing, resolve_pointing

POINTING = [
    ("I love it", "en"), ("I love the art", "en"), ("likes going there", "en"),
    ("planning to make it again", "en"), ("I want to do that", "en"), ("loved the movie", "en"),
    ("me encantan los de fruta", "es"), ("me gusta eso", "es"), ("lo odio", "es"),
    ("me encanta", "es"), ("no me gustan nada", "es"),
]  # fmt: skip
TELLING = [
    ("I love the sea", "en"), ("I love the Beatles", "en"), ("I love the smell of rain", "en"),
    ("I hate getting up early", "en"), ("I love Thai food", "en"),
    ("me encanta la lluvia", "es"), ("me gusta que me avisen", "es"), ("odio el cilantro", "es"),
]  # fmt: skip


@pytest.mark.parametrize(("quote", "language"), POINTING)
def test_what_only_points_is_unresolved(quote, language):
    assert is_pointing(quote, language)
    assert resolve_pointing(quote, "", language).text == ""
    assert resolve_pointing(quote, "Nice weather today.", language).text == ""


@pytest.mark.parametrize(("quote", "language"), TELLING)
def test_what_says_what_it_means_stays(quote, language):
    assert resolve_pointing(quote, "", language).text == quote


@pytest.mark.parametrize(
    ("quote", "previous", "language", "text"),
    [
        ("I love it", "Do you like sushi?", "en", "I love sushi"),
        ("I hate them", "do you like spiders", "en", "I hate spiders"),
        ("me encanta", "¿Te gusta el café?", "es", "me encanta el café"),
        ("lo odio", "¿Te gusta el reguetón?", "es", "odio el reguetón"),
        ("la entrego en junio", "¿Y la tesis?", "es", "entrego la tesis en junio"),
        ("I love it", "How is the new job?", "en", "How is the new job? — I love it"),
        ("me encantan", "¿Te gusta el café?", "es", "¿Te gusta el café? — me encantan"),
    ],
)
def test_what_the_question_named_is_put_in(quote, previous, language, text):
    assert resolve_pointing(quote, previous, language).text == text
