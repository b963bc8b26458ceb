import pytest

from bot.feedback import check

LONG = "Could you please explain to me in detail how the webhook of our invoicing service " * 2
FINE = "The webhook is called once per invoice, and its secret is in the vault."


def look(answer, *, question="How is it?", had_memory=True, forbidden=()):
    found = check(answer, question=question, had_memory=had_memory, forbidden=forbidden)
    return found.score, found.quality, found.signals


def test_a_plain_answer_is_good():
    assert look(FINE) == (1.0, "good", [])


def test_nothing_at_all_is_poor():
    assert look("") == (0.4, "poor", ["response_too_short"])


def test_a_long_question_deserves_more_than_a_line():
    assert look("It is in the vault.", question=LONG)[2] == ["response_shorter_than_expected"]


@pytest.mark.parametrize(
    ("answer", "signal"),
    [
        ("I think the secret is in the vault.", "mild_hedging"),
        ("I think so, but I'm not sure that is right.", "excessive_hedging"),
        ("Creo que la clave está en la bóveda.", "mild_hedging"),
        ("Tal vez, no estoy segura de la respuesta.", "excessive_hedging"),
    ],
)
def test_hedging_is_noticed_in_both_languages(answer, signal):
    assert look(answer)[2] == [signal]


def test_excessive_hedging_alone_is_still_good():
    assert look("Maybe it is in the vault, possibly.")[:2] == (0.7, "good")


def test_a_word_that_only_contains_a_hedge_is_none():
    assert look("Improbably many mayberry pies.")[2] == []


def test_repeating_the_question_is_noticed():
    question = "where does the invoice webhook keep its secret"
    assert look("The invoice webhook does keep its secret.", question=question)[2] == [
        "high_repetition"
    ]


def test_answering_without_memory_is_noticed():
    assert look(FINE, had_memory=False) == (0.85, "good", ["no_memory_context"])


def test_a_forbidden_phrase_is_noticed_by_name():
    found = check(FINE, question="?", had_memory=True, forbidden=["vault"])
    assert (found.signals, found.forbidden) == (["forbidden_phrase"], ["vault"])


def test_it_never_falls_below_zero():
    assert look("maybe?, maybe", question=LONG, had_memory=False, forbidden=["x"])[0] >= 0
