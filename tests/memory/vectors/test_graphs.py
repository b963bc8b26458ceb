"""One file of weights serves three graphs, each loaded once."""

import os
from pathlib import Path

import numpy as np
import pytest

from memory.text.normalise import as_sentence
from memory.vectors import graphs

LINES = ["Ana likes tea", "¿Dónde vive mi hermana? No lo sé", "", "word " * 400]


@pytest.mark.parametrize("graph", ["embed", "listen", "judge"])
def test_every_graph_answers_for_every_text_in_any_order(graph):
    ids = [graphs.word_pieces().encode(line) for line in LINES]
    outputs = graphs.run(graph, ids)
    assert len(outputs) == len(LINES)
    assert all(np.isfinite(values).all() for row in outputs for values in row)


@pytest.mark.parametrize("graph", ["embed", "listen", "judge"])
def test_a_text_gives_the_same_alone_and_beside_others(graph):
    ids = [graphs.word_pieces().encode(line) for line in LINES]
    for line, beside in zip(ids, graphs.run(graph, ids), strict=True):
        (alone,) = graphs.run(graph, [line])
        assert all(map(np.array_equal, alone, beside))


@pytest.mark.parametrize("graph", ["embed", "listen", "judge"])
def test_products_are_added_exactly_on_every_processor(graph):
    """Where it has VNNI that needs no flag, which costs it half as long again."""
    exact = graphs.new_session(graph, exact=True)
    for line in LINES:
        ids = np.array([graphs.word_pieces().encode(line)])
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        told, own = exact.run(None, inputs), graphs.session(graph).run(None, inputs)
        assert all(map(np.array_equal, told, own))


def test_a_forked_process_reads_with_threads_of_its_own():
    graphs.run("embed", [[101, 102], [101, 1000, 102]])
    child = os.fork()
    if not child:
        read = 0
        try:
            read = len(graphs.run("embed", [[101, 102]] * 3))
        finally:
            os._exit(read)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


@pytest.mark.parametrize("graph", ["embed", "listen", "judge"])
def test_a_graph_is_loaded_once(graph):
    assert graphs.session(graph) is graphs.session(graph)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="says what Linux has mapped")
def test_the_weights_are_mapped_so_that_processes_share_them():
    graphs.session("embed")
    assert str(graphs.FOLDER / "weights.bin") in Path("/proc/self/maps").read_text()


def opinion(question: str, memory: str) -> float:
    pieces = graphs.word_pieces()
    pair = pieces.encode(question) + pieces.encode(as_sentence(memory))[1:]
    ((probability,),) = graphs.run("judge", [pair])
    return float(probability)


def test_the_judge_prefers_the_memory_that_answers():
    asked = "where do I live?"
    lives, loves = opinion(asked, "Ana: I live in Lisbon since 2018"), opinion(asked, "I love tea")
    assert lives > 0.2
    assert lives > 100 * loves


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("what is my dog called", "Sam: My dog is called Rex"),
        ("who is my boss", "My boss is called Marta"),
        ("who has my drill", "Sam: i lent my drill to Dazza"),
        ("¿Qué profesión tiene mi hija?", "Sam: Mi hija Laura vive en Bilbao y es arquitecta."),
    ],
)
def test_the_judge_sees_that_a_plain_statement_answers(question, memory):
    assert opinion(question, memory) > 0.5


def test_the_judge_says_the_same_on_every_processor():
    assert opinion("who is my boss", "My boss is called Marta") == pytest.approx(0.658, abs=0.03)
