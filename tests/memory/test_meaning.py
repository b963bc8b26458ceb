import pytest

from memory.vectors import embed
from memory.vectors import likeness as meaning


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Ana's salary is 40,000 euros", "El sueldo de Ana es de 40.000 euros", True),
        ("Ana is pregnant", "Ana is expecting a baby", True),
        ("Ana likes tea", "Ana likes coffee", False),
        ("Ana's salary is 40,000 euros", "Ana works at a bank in Porto", False),
    ],
)
def test_the_same_in_other_words_or_the_other_language(a, b, same):
    assert meaning.same(a, b) is same


def test_without_a_model_nothing_is_claimed(settings):
    settings.EMBEDDING_ENABLED = False
    assert meaning.likeness("a cat", "a cat") is None
    assert not meaning.same("a cat", "a cat")


def test_a_failing_model_costs_nothing(monkeypatch):
    def fails(text, **given):
        raise embed.EmbeddingFailed("no")

    monkeypatch.setattr(embed, "embed_query", fails)
    assert meaning.likeness("never compared before", "nor this") is None


def test_no_network_is_asked(settings):
    settings.EMBEDDING_PROVIDER = "openai"
    assert meaning.likeness("a cat", "a cat") is None


TALK = "The n8n webhook answers 401 when I post to it. Try the token as a query parameter."


@pytest.mark.parametrize(
    ("said", "stays"),
    [
        ("ok thanks", True),
        ("the webhook needs another token in production", True),
        ("Tomorrow my sister arrives and we cook paella together", False),
    ],
)
def test_topics_by_words_then_by_meaning(said, stays):
    found = meaning.topic(said, TALK)
    assert (found is None or found >= 0.3) is stays
