"""One scale for how sure we are: 0..1, medium from .4, high from .7."""

import math

import pytest

from memory.retrieval import gate, profiles

LIMITS = profiles.built_in("keno").settings["gate"]
CURVE = LIMITS["curves"]["talk"]


@pytest.mark.parametrize(
    ("score", "found", "expected"),
    [
        (0.9, False, "none"),
        (0.0, True, "low"),
        (0.39, True, "low"),
        (0.4, True, "medium"),
        (0.7, True, "high"),
    ],
)
def test_levels(score, found, expected):
    assert gate.level(score, has_items=found) == expected


def test_every_level_has_its_sentence_and_an_unknown_one_that_of_none():
    assert gate.describe("high").startswith("Strong")
    assert gate.describe("ultra") == gate.describe("none") == "No relevant context found"


def test_48_estimating_from_what_was_found():
    assert gate.estimate(0) == ("low", 0.2)
    assert gate.estimate(3) == ("medium", pytest.approx(0.65))
    assert gate.estimate(6)[0] == "high"
    assert gate.estimate(6, 0.5)[1] > 0.5
    assert gate.estimate(0, 0.5)[1] < 0.5
    assert gate.estimate(9, 1.0) == ("high", 1.0)
    assert gate.estimate(0, 0.1) == ("low", 0.0)


def test_d14_a_weak_recall_never_becomes_a_sure_one():
    assert gate.estimate(1, 0.3)[0] == "low"


def test_47_a_models_opinion_is_clamped():
    assert gate.judged_confidence(0.5, ["a"], lambda texts: {"level": "high", "score": 1.5}) == 1.0
    assert gate.judged_confidence(0.5, ["a"], lambda texts: {"level": "low", "score": -3}) == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        {"level": "ultra", "score": 0.9},
        {"level": "high", "score": "very"},
        {"level": "high"},
        {"level": "high", "score": math.nan},
        {"level": "high", "score": True},
        None,
        "high",
    ],
)
def test_47_a_useless_opinion_leaves_the_heuristic(answer):
    assert gate.judged_confidence(0.5, ["a"], lambda texts: answer) == 0.5


def test_47_nothing_found_asks_nobody():
    def refuse(texts):
        raise AssertionError("asked")

    assert gate.judged_confidence(0.0, [], refuse) == 0.0


def test_47_a_failing_model_leaves_the_heuristic():
    def fail(texts):
        raise TimeoutError

    assert gate.judged_confidence(0.5, ["a"], fail) == 0.5


def test_the_curve_rises_with_meaning_and_with_what_the_judge_says():
    p = [
        gate.probability({"semantic": s, "answers": a}, CURVE)
        for s, a in ((0, 0), (0.4, 0), (0.4, 0.8), (0.7, 0.8), (1, 1))
    ]
    assert p == sorted(p)
    assert p[0] < 0.1
    assert p[-1] > 0.7


def test_a_fact_must_be_likely_and_a_message_only_possible():
    assert (
        gate.line(LIMITS, "message")
        < gate.line(LIMITS, "fact")
        < gate.line(LIMITS, "fact", strict=True)
    )
    assert gate.line(LIMITS, "message", strict=True) == gate.line(LIMITS, "fact", strict=True)


def test_a_prompt_takes_less_of_what_was_only_talked_of_than_a_list():
    assert gate.line(LIMITS, "message") < gate.line(LIMITS, "message", prompt=True)
    assert gate.line(LIMITS, "episode", prompt=True) < gate.line(LIMITS, "fact")
    assert gate.line(LIMITS, "fact", prompt=True) == gate.line(LIMITS, "fact")


def test_no_feature_breaks_the_curve():
    assert gate.probability({"semantic": 1e9}, CURVE) == pytest.approx(1)
    assert gate.probability({"semantic": -1e9}, CURVE) == pytest.approx(0, abs=1e-9)
