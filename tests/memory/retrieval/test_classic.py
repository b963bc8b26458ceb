"""Seed 004's own numbers, as its code gave them."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.retrieval import classic as classic
from memory.retrieval import profiles, ranking
from memory.retrieval.features import channel
from memory.retrieval.lanes import Candidate
from memory.retrieval.ranking import mmr, topic_words

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def walk(*, days=0, chat_id=7, asked=None) -> Candidate:
    """The fact of the measured cases: "User likes long walks.", confidence .8."""
    born = NOW - timedelta(days=days)
    return Candidate(
        id=1, kind="fact", owner_id=1, chat_id=chat_id, episode_id=None, speaker="", at=born,
        until=born, pinned=False, lanes=["words"], text="User likes long walks.",
        quote="long walks", subject="", said_by="", fact_kind="fact", confidence=0.8, trust=0.5,
        role="", use_count=0, said_at=born, terms=[], bare=asked, asked=asked,
    )  # fmt: skip


def scored(query: str, unit: Candidate, *, chat_id: int | None) -> float:
    known = classic.features(query, unit, now=NOW, chat_id=chat_id)
    (one,) = ranking.rank([unit], {unit.id: known}, classic.weights(meaning=known["semantic"] > 0))
    return one.score


def test_a_question_that_stands_in_the_fact():
    assert scored("long walks", walk(), chat_id=7) == pytest.approx(0.98)


def test_forty_five_days_halve_the_recency():
    assert scored("long walks", walk(days=45), chat_id=7) == pytest.approx(0.93)


def test_half_the_words_in_another_channel():
    assert scored("long database", walk(), chat_id=8) == pytest.approx(0.555)


def test_an_empty_question_leaves_confidence_and_recency():
    assert scored("", walk(), chat_id=None) == pytest.approx(0.18)


def test_with_meaning_the_weights_are_the_others():
    expected = 0.5 * 0.6 + 0.28 + 0.1 * 0.8 + 0.07 + 0.05
    assert scored("long walks", walk(asked=0.6), chat_id=7) == pytest.approx(expected)


def test_91_channel_scores():
    assert channel(7, 7) == 1
    assert channel(8, 7) == 0
    assert channel(None, 7) == 0.25
    assert channel(7, None) == 0
    assert channel(None, None) == 0


@pytest.mark.parametrize(
    ("semantic", "words", "score", "meaning", "expected"),
    [
        (0.2, 0.0, 0.1, True, True),
        (0.0, 0.22, 0.1, True, True),
        (0.19, 0.21, 0.51, True, False),
        (0.08, 0.0, 0.52, True, True),
        (0.0, 0.1, 0.52, True, True),
        (0.07, 0.09, 0.9, True, False),
        (0.0, 0.24, 0.1, False, True),
        (0.0, 0.0, 0.62, False, True),
        (0.0, 0.23, 0.61, False, False),
    ],
)
def test_the_gate(semantic, words, score, meaning, expected):
    one = {"semantic": semantic, "lexical": words}
    assert classic.passes(one, score, meaning=meaning) is expected


def test_urls_and_custom_emoji_are_no_words():
    assert classic.compact("See https://x.y/z <a:wave:123> NOW!") == "see now"
    assert classic.tokens("An ox and the Cow, the COW", 32) == ["and", "the", "cow"]


def test_the_built_in_profile_holds_its_weights():
    assert profiles.built_in("classic").weights == classic.WITH_MEANING
    assert sum(classic.WITH_MEANING.values()) == pytest.approx(1)
    assert sum(classic.WITHOUT.values()) == pytest.approx(1)


def test_n16_the_different_one_comes_before_the_near_duplicate():
    facts = [
        ("Ana likes hiking in the mountains", 1.0),
        ("Ana likes hiking in mountains a lot", 0.9),
        ("Ana works as a nurse", 0.84),
    ]
    mixed = mmr(facts, score=lambda f: f[1], words=lambda f: topic_words(f[0]), balance=0.7)
    assert [score for _, score in mixed] == [1.0, 0.84, 0.9]


def test_variety_switched_off_keeps_the_order():
    items = [("same words", 0.9), ("same words", 0.8)]
    kept = mmr(items, score=lambda i: i[1], words=lambda i: frozenset(), balance=1.0)
    assert kept == items
