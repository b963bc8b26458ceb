"""Features are plain arithmetic over what the lanes brought."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.retrieval import features, ranking
from memory.retrieval.lanes import Candidate, Candidates
from memory.retrieval.understand import Question, cues

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


def unit(number: int = 1, **given) -> Candidate:
    values = {
        "id": number, "kind": "message", "owner_id": number, "chat_id": 7, "episode_id": 3,
        "speaker": "ana", "at": NOW, "until": NOW, "pinned": False, "lanes": ["meaning"],
        "text": "we planted beans", "quote": "", "subject": "", "said_by": "Ana",
        "fact_kind": "", "confidence": 0.5, "trust": 0.5, "role": "user", "use_count": 0,
        "said_at": NOW, "terms": [], "bare": 0.4, "asked": 0.2,
    }  # fmt: skip
    return Candidate(**values | given)


def compute(question: Question, found: Candidates) -> dict[int, dict[str, float]]:
    return features.compute(question, found, now=NOW, chat_id=7)


def test_rare_words_weigh_more_and_all_weigh_one():
    found = Candidates(counts={1: 1, 2: 50}, size=100)
    rare, common = features.term_weights(found, 2)
    assert rare > 3 * common
    assert rare + common == pytest.approx(1)


def test_a_word_that_the_index_does_not_know_weighs_nothing():
    assert features.term_weights(Candidates(counts={1: 3}, size=10), 2) == [1.0, 0.0]
    assert features.term_weights(Candidates(size=10), 1) == [0.0]


def test_words_count_in_the_unit_near_by_and_in_the_episode():
    asked = Question("q", terms=["bean", "rain", "moon"])
    found = Candidates(
        units=[unit(4, terms=[1])],
        counts={1: 1, 2: 1, 3: 1},
        size=10,
        episodes={3: [1, 2, 3, 4, 5, 6, 7, 8, 9]},
        hits={1: {4}, 2: {6}, 3: {9}},
    )
    of = compute(asked, found)[4]
    assert of["words"] == pytest.approx(1 / 3)
    assert of["nearby"] == pytest.approx(2 / 3)
    assert of["episode"] == pytest.approx(1)


def test_a_fact_has_no_talk_around_it_its_own_words_stand_for_it():
    found = Candidates(units=[unit(1, kind="fact", terms=[1])], counts={1: 1, 2: 1}, size=10)
    of = compute(Question("q", terms=["bean", "rain"]), found)[1]
    assert of["words"] == of["nearby"] == of["episode"] == pytest.approx(0.5)
    assert of["around"] == of["topic"] == pytest.approx(0.4)


def test_meaning_of_the_turns_beside_it_counts_as_far_as_it_is_known():
    found = Candidates(
        units=[unit(1, bare=0.9), unit(2, bare=0.3), unit(3, bare=0.5)],
        episodes={3: [1, 2, 3, 4]},
    )
    of = compute(Question("q"), found)
    assert of[2]["around"] == pytest.approx(0.6 * 0.9 + 0.4 * 0.5)
    # Turn 4 did not reach the lane of meaning: at most as near as the last that did.
    assert of[3]["around"] == pytest.approx(0.6 * 0.3 + 0.4 * 0.3)
    assert of[1]["topic"] == pytest.approx((0.9 + 0.5 + 0.3) / 3)


def test_without_vectors_meaning_is_nothing():
    of = compute(Question("q"), Candidates(units=[unit(1, bare=None, asked=None)]))[1]
    assert of["semantic"] == of["around"] == of["topic"] == 0


def test_words_that_are_only_near_in_meaning_count_apart():
    asked = Question("q", terms=["niños"])
    found = Candidates(
        units=[unit(1, text="The children sang"), unit(2, text="Granite is a rock")],
        counts={1: 1},
        size=10,
    )
    of = compute(asked, found)
    assert of[1]["words"] == 0
    assert of[1]["alike"] > 0.6 > 0.4 > of[2]["alike"]
    said = Candidates(units=[unit(1, text="los niños", terms=[1])], counts={1: 1}, size=10)
    assert compute(asked, said)[1]["alike"] == 0


@pytest.mark.parametrize(
    ("names", "said_by", "expected"),
    [
        ([], "ana", 0.5),
        (["ana"], "ana", 1),
        (["ana"], "bo", 0),
        (["ana"], "ana garcia", 1),
        (["ana", "bo"], "ana", 0.8),
        (["ana", "bo"], "bo", 0.2),
        (["ana"], "", 0),
    ],
)
def test_speaker(names, said_by, expected):
    assert features.speaker(names, said_by) == expected


def test_date_is_full_in_the_time_asked_for_and_fades_beside_it():
    asked = cues("2026-03-10", now=NOW)
    at = [features.date(asked, unit(at=NOW - timedelta(days=d), until=NOW - timedelta(days=d)))
          for d in (1, 0, 5, 30, 300)]  # fmt: skip
    assert at[:2] == [1, 1]
    assert 1 > at[2] > at[3] > at[4] >= 0
    assert features.date([], unit()) == 0


def test_keno_is_no_witness_of_its_own():
    assert features.trust(unit(role="assistant")) < features.trust(unit())


def test_a_question_in_memory_is_marked():
    found = Candidates(
        units=[unit(1, text="Who planted them?"), unit(2, kind="fact", text="a " * 90)]
    )
    of = compute(Question("q"), found)
    assert (of[1]["question"], of[2]["question"]) == (1, 0)


def test_every_feature_has_its_name():
    of = compute(Question("q"), Candidates(units=[unit()]))[1]
    assert tuple(of) == features.NAMES


def test_of_two_alike_the_newer_comes_first():
    old, new = unit(1, said_at=NOW - timedelta(days=9)), unit(2)
    ranked = ranking.rank([old, new], {1: {"words": 1}, 2: {"words": 1}}, {"words": 2.0})
    assert [one.unit.id for one in ranked] == [2, 1]
