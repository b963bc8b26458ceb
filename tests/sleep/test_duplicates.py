"""Near-duplicates by words and by meaning; what differs in a name, a number or a "not" is none."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memory.facts import service as facts
from memory.models import Fact
from memory.vectors import store as embeddings
from sleep import clusters, cycle, proposals
from sleep.clusters import differ
from sleep.models import Proposal
from sleep.phases import pruning
from tests.factories import make_chat, make_member, make_space

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
SAME = [
    ("Ana enjoys listening to jazz", "Ana likes to listen to jazz music"),
    ("Ana has a peanut allergy", "Ana is allergic to peanuts"),
    ("A Ana le encanta el café con leche", "A Ana le gusta mucho el café con leche"),
    ("Ana es alérgica a los cacahuates", "Ana tiene alergia a los cacahuates"),
    ("Ana vive en Lima", "Ana lives in Lima"),
]
OTHER = [
    ("Ana flies on Monday", "Ana flies on Tuesday"),
    ("Ana vuela el lunes", "Ana vuela el martes"),
    ("Ana drinks coffee at home", "Ana does not drink coffee at home"),
    ("A Ana le gusta el café solo", "A Ana no le gusta el café solo"),
    ("The server has 16 GB of memory", "The server has 32 GB of memory"),
    ("Ana prefers tea in the morning", "Ana prefers tea in the evening"),
    ("Ana's brother lives in Quito", "Ana's sister lives in Quito"),
    ("Ana bought a car", "Ana sold a car"),
    ("The gate is painted red", "The gate is painted blue"),
    ("Ana works with Bruno on the kernel", "Ana works with Carla on the kernel"),
]


@pytest.fixture
def space(transactional_db):
    return make_space()


def believe(space, *texts, subject="Ana", **given):
    given = {"by": "extraction", "now": NOW - timedelta(days=1)} | given
    rows = [facts.remember(space, text=text, subject=subject, **given).row for text in texts]
    embeddings.backfill(space=space)
    return rows


def found(space, since=None):
    return [
        sorted(one.text for one in some) for some in clusters.duplicate_groups(space, since=since)
    ]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words_is_one(space, one, other):
    assert differ(one, other) == ""
    believe(space, one, other)
    assert found(space) == [sorted((one, other))]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_differs_in_one_word_that_counts_is_not_one(space, one, other):
    assert differ(one, other)
    assert differ(other, one)
    believe(space, one, other)
    assert found(space) == []


def test_without_vectors_words_decide(space, settings):
    settings.EMBEDDING_ENABLED = False
    rows = ["Ana works as a nurse at the Acme clinic", "Ana is a nurse at the Acme clinic"]
    for text in (*rows, *SAME[0]):
        facts.remember(space, text=text, subject="Ana", by="extraction")
    assert found(space) == [sorted(rows)]


def test_chats_and_subjects_are_never_joined(space):
    one, other = SAME[0]
    believe(space, one, chat=make_chat(space=space))
    believe(space, other, chat=make_chat(space=space))
    believe(space, one.replace("Ana", "She"), subject="Bea")
    assert found(space) == []


def test_a_chain_of_likeness_does_not_join_what_differs():
    rows = [
        Fact(pk=n, text=text)
        for n, text in enumerate(["Ana flies on Monday", "Ana flies", "Ana flies on Friday"])
    ]
    kept = clusters._all_alike(rows)
    assert [one.text for one in kept] == ["Ana flies on Monday", "Ana flies"]


def test_big_scopes_are_compared_in_slices(monkeypatch):
    monkeypatch.setattr(clusters, "ROWS_PER_BLOCK", 2)
    matrix = np.eye(5, dtype=np.float32)
    matrix[4] = matrix[1]
    assert list(clusters.near_pairs([10, 11, 12, 13, 14], matrix)) == [(11, 14)]


def test_the_night_proposes_to_merge_and_never_asks_twice(space):
    believe(space, *SAME[0])
    cycle.sleep(space, now=NOW, phases=(pruning.PHASE,))
    proposal = Proposal.objects.get()
    assert (proposal.kind, proposal.mode) == ("merge", "heuristics")
    cycle.sleep(space, now=NOW + timedelta(days=1), phases=(pruning.PHASE,))
    assert Proposal.objects.count() == 1


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (
            '{"duplicate": true, "merged": "Ana enjoys listening to jazz music"}',
            ["Ana enjoys listening to jazz music"],
        ),
        ('{"duplicate": false, "merged": ""}', sorted(SAME[0])),
        (RuntimeError("no model"), [SAME[0][0]]),
    ],
    ids=["merged", "kept apart", "no answer"],
)
def test_a67_a_model_may_merge_or_keep_apart_and_words_decide_without_it(space, answer, left):
    def ask(question):
        if isinstance(answer, Exception):
            raise answer
        return answer

    believe(space, *SAME[0])
    cycle.sleep(space, now=NOW, phases=(pruning.PHASE,), complete=ask, mode="model")
    member = make_member(space=space)
    for proposal in Proposal.objects.all():
        proposals.approve(proposal, member=member, digest=proposal.digest)
    assert sorted(Fact.objects.live().values_list("text", flat=True)) == left
