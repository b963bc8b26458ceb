"""The recall benchmark measures what it says."""

import json
import os
from datetime import UTC, datetime

import numpy as np
import psycopg
import pytest

from bench import fitting, gate, made_up, measures, precision, questions, rivals
from bench.fresh_database import fresh_database
from bench.held import hold
from bench.learn_weights import examples, learn
from bench.questions import Conversation, Memory, Question
from memory.retrieval.features import NAMES

TALK = {
    "sample_id": "garden",
    "conversation": {
        "speaker_a": "Ana",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I planted beans by the fence"},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice", "blip_caption": "a green fence"},
        ],
        "session_2_date_time": "10:00 am on 1 June, 2023",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "My cello is from my aunt"}],
        "session_3": [],
    },
    "qa": [
        {"question": "What did Ana plant?", "evidence": ["D1:1"], "category": 4},
        {"question": "Whose cello was it?", "evidence": ["D:2:01; D9:9"], "category": 1},
        {"question": "Who?", "evidence": ["D7:7"], "category": 4},
    ],
}


@pytest.fixture
def talk(tmp_path) -> Conversation:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([TALK]))
    return questions.locomo(file)[0]


def test_a_conversation_is_read_with_odd_evidence(talk):
    assert [m.id for m in talk.memories] == ["D1:1", "D1:2", "D2:1"]
    assert talk.memories[1].text == "Nice [shares a green fence]"
    assert talk.memories[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [set(q.evidence) for q in talk.questions] == [{"D1:1"}, {"D2:1"}]


def test_paragraphs_meet_the_questions_of_the_other_language(tmp_path):
    files = {}
    for language, context, asked in (("en", "Cats sleep.", "Who?"), ("es", "Duermen.", "¿Quién?")):
        paragraph = {"context": context, "qas": [{"question": asked}]}
        files[language] = tmp_path / language
        files[language].write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    made = questions.xquad(files["es"], files["en"], language="en")
    assert (made.memories[0].text, made.questions[0].text) == ("Cats sleep.", "¿Quién?")


def test_measures():
    asked = Question("q", frozenset({"a", "b"}))
    good = measures.judge(asked, ["x", "a", "y", "z", "w", "b"])
    assert (good["r1"], good["r5"], good["r10"], good["mrr"]) == (0, 0.5, 1, 0.5)
    perfect = measures.judge(asked, ["b", "a"])
    assert perfect["ndcg"] == pytest.approx(1)
    assert measures.judge(asked, [])["mrr"] == 0


def test_rows_are_percent_with_times_and_categories():
    tally = measures.Tally("me")
    tally.add(Question("q", frozenset({"a"}), 4), ["a"], 10.0)
    tally.add(Question("q", frozenset({"a"}), 2), ["b"], 30.0)
    row = tally.row()
    assert (row["name"], row["r10"], row["p50_ms"], row["p95_ms"]) == ("me", 50.0, 30.0, 30.0)
    assert row["by_category"]["single-hop"]["r1"] == 100.0
    assert "me" in measures.table([row])


def test_learning_finds_the_feature_that_tells():
    rng = np.random.default_rng(1)
    rows, right = [], []
    for _ in range(60):
        x = rng.normal(size=(12, 3))
        x[:, 2] = 1.0  # never varies
        rows.append(x)
        right.append((np.arange(12) == np.argmax(2 * x[:, 0] - x[:, 1])).astype(float))
    weights = fitting.fit(rows, right)
    assert weights[0] > 0 > weights[1]
    assert weights[0] / -weights[1] == pytest.approx(2, abs=0.5)
    assert weights[2] == 0


@pytest.mark.parametrize("make", rivals.ALL, ids=lambda make: make.name)
def test_every_rival_finds_the_obvious(make, talk):
    rival = make()
    vectors = rivals.vectors_of(talk.memories)
    rival.hold(talk, vectors)
    asked = "Who planted beans by the fence?"
    assert rival.ask(asked, vectors[0])[0] == 0


@pytest.mark.django_db
def test_keno_answers_through_the_real_recall_and_can_be_taught(talk):
    held = hold(talk, slug="bench-test")
    found, ms = held.ask(talk.questions[0], profile="keno")
    assert found[0] == "D1:1"
    assert ms > 0
    rows, right = examples(held)[0]
    assert rows.shape[1] == len(NAMES)
    assert right.sum() == 1
    assert set(learn([examples(held)])) == set(NAMES)


@pytest.mark.django_db
def test_a_paragraph_is_held_as_a_fact():
    made = Conversation("p", [Memory("P0", "Cats sleep a lot.")], kind="fact")
    made.questions.append(Question("Who sleeps?", frozenset({"P0"})))
    assert hold(made, slug="p").ask(made.questions[0], profile="keno")[0] == ["P0"]


def test_made_up_facts_are_the_same_for_a_seed():
    facts, again, others = (list(made_up.facts(50, seed=seed)) for seed in (3, 3, 4))
    assert facts == again != others
    assert {language for _, _, language in facts} == {"en", "es"}
    moved = made_up.vectors(5, np.eye(8, dtype=np.float32), rng=np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(moved, axis=1), 1)


def test_a_fresh_database_is_gone_afterwards_and_the_next_one_can_begin(postgres, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", postgres)
    for name in ("KENO_HOME", "KENO_SECRET_KEY"):
        monkeypatch.setenv(name, "x" * 60)
    made = []
    for _ in range(2):
        with fresh_database("keno_fresh_test") as url:
            made.append(url)
            assert os.environ["DATABASE_URL"] == url
        assert os.environ["DATABASE_URL"] == postgres
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(made[0])


def test_talks_and_judged_lines_become_memories_with_questions(tmp_path):
    talk = tmp_path / "talks.txt"
    talk.write_text("# en\n1 Bo: I moved to Lima\n2 Ana: nice\n? Where is Bo? = 1\n? Who sang? =\n")
    (held,) = questions.talks(talk)
    assert [memory.spoken for memory in held.memories] == ["Bo: I moved to Lima", "Ana: nice"]
    assert [set(question.evidence) for question in held.questions] == [{"0:1"}, set()]
    lines = tmp_path / "judged.txt"
    lines.write_text("en\twhere is Bo\t+Bo lives in Lima\t-Ana lives in Quito\n")
    (judged,) = questions.judged(lines)
    assert [memory.text for memory in judged.memories] == ["Bo lives in Lima", "Ana lives in Quito"]
    assert judged.questions[0].evidence == {"0:0"}


def test_what_was_said_to_be_likely_is_held_against_what_was():
    rows = gate.by_tenths([(0.05, False), (0.91, True), (1.0, True), (0.95, False)])
    assert [(row["memories"], row["was"]) for row in rows] == [(1, 0.0), (3, 0.667)]
    assert gate.auc([0.9, 0.5], [0.5, 0.1]) == 0.875


def test_an_empty_answer_where_nothing_was_asked_for_costs_no_precision():
    right = precision.Outcome("a", {"tea"}, ["tea"], passed=True)
    noise = precision.Outcome("b", set(), ["tea"], passed=False)
    empty = precision.Outcome("c", set(), [], passed=True)
    found = precision.summary([right, noise, empty], [right])
    assert (found["active"], found["mean_precision"], found["drift"]) == (1, 0.5, 0.0)
