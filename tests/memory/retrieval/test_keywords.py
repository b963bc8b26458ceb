"""What a question asks for, in words. Numbers are those of the acceptance cases."""

import pytest

from memory.retrieval.keywords import Expansion, keywords, match


def test_35_a_whole_word_counts_three():
    hits = match(["The webhook failed with error", "Setup complete"], ["webhook"])
    assert [(hit.text, hit.score) for hit in hits] == [("The webhook failed with error", 3)]


def test_36_a_part_of_a_word_counts_one():
    assert match(["debugging webhook issue"], ["debug"])[0].score == 1


def test_38_limits_empties_and_case():
    items = [f"item {i}" for i in range(1, 6)]
    assert len(match(items, ["item"], limit=2)) == 2
    assert match([], ["item"]) == []
    assert match(items, []) == []
    assert match(["WEBHOOK Failed"], ["webhook"])[0].score == 3


def test_39_stop_words_are_out_and_each_word_counts_once():
    found = keywords("The quick brown fox jumps over the lazy dog, the quick dog")
    assert {"quick", "brown"} <= set(found)
    assert not {"the", "over"} & set(found)
    assert len(found) == len(set(found))
    assert keywords("I am a developer") == ["developer"]


def test_40_spanish_too():
    assert keywords("Cómo arreglar el webhook de n8n") == ["arreglar", "webhook", "n8n"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("How do I fix the n8n webhook that gives 401?", ["fix", "n8n", "webhook", "gives", "401"]),
        ("¿Cómo arreglo la autenticación en México?", ["arreglo", "autenticación", "méxico"]),
        ("What did Melanie's son say about AI in the UK?", ["melanie", "son", "ai", "uk"]),
        ("", []),
        ("¿?¡! … 🙂", []),
        ("Что любит Анна", ["что", "любит", "анна"]),
    ],
)
def test_words_of_any_script(said, expected):
    assert keywords(said) == expected


def test_n7_an_accented_word_is_a_whole_word():
    assert match(["el árbol verde"], ["árbol"])[0].score == 3
    assert match(["el arbol verde"], ["árbol"])[0].score == 3
    assert match(["la producción"], ["producci"])[0].score == 1


def test_41_a_models_words_replace_the_keywords():
    expand = Expansion()
    five = ["webhook", "http", "callback", "endpoint", "hook"]
    assert expand("the webhook", ["webhook"], lambda words: five) == five


@pytest.mark.parametrize("answer", [None, "webhook, http", {"expanded": []}, [], [1, 2], 3])
def test_41_a_useless_answer_leaves_the_keywords(answer):
    assert Expansion()("the webhook", ["webhook"], lambda words: answer) == ["webhook"]


def test_41_a_failing_model_leaves_the_keywords_and_is_asked_again(caplog):
    calls = []

    def fail(words):
        calls.append(words)
        raise TimeoutError("slow")

    expand = Expansion()
    for _ in range(2):
        assert expand("the webhook", ["webhook"], fail) == ["webhook"]
    assert len(calls) == 2
    assert "slow" in caplog.text


def test_41_without_keywords_the_model_is_not_asked():
    def refuse(words):
        raise AssertionError("asked")

    assert Expansion()("", [], refuse) == []
    assert Expansion()("x", ["x"], None) == ["x"]


def test_n9_the_same_first_hundred_signs_are_one_call():
    calls = []
    expand = Expansion()
    for said in ("A" * 100 + "x", "  " + "a" * 100 + "y  "):
        expand(said, ["a"], lambda words: calls.append(words) or ["b"])
    assert len(calls) == 1


def test_n9_entry_1001_evicts_the_one_not_used_longest():
    calls = []
    expand = Expansion()
    for i in range(1000):
        expand(f"question {i}", ["a"], lambda words: ["b"])
    expand("question 0", ["a"], lambda words: ["b"])
    expand("question 1000", ["a"], lambda words: ["b"])
    assert len(expand.cache) == 1000
    expand("question 0", ["a"], lambda words: calls.append(0) or ["b"])
    expand("question 1", ["a"], lambda words: calls.append(1) or ["b"])
    assert calls == [1]
