from hypothesis import given
from hypothesis import strategies as st

from memory.text import summaries

TALK = """Ana: Hola!
Ana: El webhook de n8n da un 401 cuando hago POST. ¿Qué hago?
Keno: Prueba con el token en la query.
Ana: El webhook funciona con el token en la query. Gracias!"""


def test_a_title_is_the_first_sentence_that_says_something():
    assert summaries.title(TALK) == "El webhook de n8n da un 401 cuando hago POST."
    assert summaries.title("My dentist is Dr. Ochoa. Call.") == "My dentist is Dr. Ochoa."
    assert summaries.title("hi") == "hi"
    assert summaries.title("") == ""


def test_tags_are_the_words_said_most():
    assert summaries.tags(TALK) == ["webhook", "token", "query"]


def test_an_extract_keeps_the_order_and_leaves_small_talk_out():
    lines = summaries.extract([TALK], lines=2).split("\n")
    assert len(lines) == 2
    assert lines[0].startswith("- Ana: El webhook de n8n")
    assert "Gracias" not in "".join(lines)


@given(st.lists(st.text(), max_size=5))
def test_any_text_can_be_summarised(bodies):
    assert len(summaries.extract(bodies).split("\n")) <= 8
    for body in bodies:
        assert len(summaries.title(body)) <= 80
        summaries.tags(body)
