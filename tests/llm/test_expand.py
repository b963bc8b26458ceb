import pytest

from memory.llm.complete import expand, expander, parse
from memory.llm.request import ProviderError
from tests.factories import make_chat


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('{"expanded": ["dog", "pet", "puppy"]}', ["dog", "pet", "puppy"]),
        ('```json\n{"expanded": ["perro"]}\n```', ["perro"]),
        ('Sure! {"expanded": [" dog ", "", 7]}', ["dog"]),
        ('{"expanded": "dog"}', None),
        ('{"expanded": []}', None),
        ('{"other": ["dog"]}', None),
        ("dog, pet", None),
        ("", None),
    ],
)
def test_only_a_list_of_words_counts(answer, words):
    assert parse(answer) == words


def test_no_keywords_no_question():
    assert expand([], about="", ask=lambda question: 1 / 0) is None


def test_a_failing_model_is_as_good_as_none():
    def ask(question):
        raise ProviderError("busy")

    assert expand(["dog"], about="", ask=ask) is None


def test_it_is_off_unless_the_space_wants_it(space, provider):
    chat = make_chat(space)
    assert expander(chat) is None
    space.settings = {"expand_search": True}
    assert expander(make_chat(space)) is not None


def test_it_asks_the_small_model_with_the_chat_as_data(space, server, provider):
    space.settings = {"expand_search": True}
    server.reply = '{"expanded": ["dog", "pet"]}'
    chat = make_chat(space, context="A family chat. " * 100)
    assert expander(chat)(["dog"]) == ["dog", "pet"]
    sent = str(server.requests[0])
    assert sent.count("A family chat.") < 40
