"""What a new statement does to an old one, in either language and across them."""

import re
from pathlib import Path

import pytest

from memory.extraction.frames.compare import compare
from memory.extraction.frames.reading import remainder

DATA = Path(__file__).parents[2] / "data"


def pairs(name):
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


# A change of mind is seen; what can stand beside it is left alone.
@pytest.mark.parametrize("table", ["changes_of_mind.tsv", "no_changes_of_mind.tsv"])
def test_each_pair_gets_its_verdict(table):
    verdicts = [(compare(old, new, subject="Ana").kind, old, new) for _, old, new in pairs(table)]
    assert verdicts == pairs(table)


def test_nor_does_the_older_one_change_the_newer():
    # What is over may be told after what came instead; only then does the order count.
    in_order = re.compile("used to|no longer|moved")
    free = [pair for pair in pairs("no_changes_of_mind.tsv") if not in_order.search(str(pair))]
    assert [(old, new) for _, old, new in free if compare(new, old, subject="Ana").changes] == []


def test_the_tables_are_as_large_as_they_should_be():
    assert len(pairs("changes_of_mind.tsv")) >= 120
    assert len(pairs("no_changes_of_mind.tsv")) >= 120


@pytest.mark.parametrize(
    ("old", "new", "plain"),
    [
        ("Ana has a dog called Rex", "Ana has a dog called Max", "unrelated"),
        ("Ana has a dog called Rex", "My dog is called Max", "unrelated"),
        ("Ana is a nurse", "Ana is a teacher", "unrelated"),
        ("Ana is from Lima", "Ana is from Quito", "unrelated"),
        ("Ana lives in Spain", "Ana lives in Lima", "unrelated"),
        ("Ana uses Chrome", "Ana uses Firefox", "unrelated"),
    ],
)
def test_an_open_correction_goes_further(old, new, plain):
    assert compare(old, new, subject="Ana").kind == plain
    assert compare(old, new, subject="Ana", correcting=True).kind == "supersedes"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana likes tea", "Ana likes coffee"),
        ("Ana lives in Madrid", "My sister lives in Quito"),
        ("Ana has a cat", "Ana has a dog"),
        ("Ana is allergic to nuts", "Ana is allergic to shellfish"),
    ],
)
def test_not_even_a_correction_takes_what_it_does_not_name(old, new):
    assert compare(old, new, subject="Ana", correcting=True).kind == "unrelated"


def test_a_likeness_only_settles_what_the_words_leave_open():
    def alike(one, other):
        asked.append((one, other))
        return 1.0

    asked = []
    old, new = "Ana studies medicine", "dejé de estudiar medicina"
    assert compare(old, new, subject="Ana").kind == "unrelated"
    assert compare(old, new, subject="Ana", likeness=alike).kind == "ends"
    # Of two colours, two cities, two animals the vocabulary knows that they differ.
    for old, new in (("Favourite colour: blue", "Favourite colour: green"),
                     ("Ana lives in Madrid", "Ana lives in Lima")):  # fmt: skip
        asked.clear()
        assert compare(old, new, subject="Ana", likeness=alike).kind == "supersedes"
        assert asked == []


@pytest.mark.parametrize(
    ("old", "new", "rest"),
    [
        ("Ana lives in Valencia with partner Marc and two cats", "I moved to Barcelona",
         ["Ana lives with partner Marc and two cats"]),
        ("My birthday is March 14 and my sister Elena's birthday is July 2nd",
         "my birthday is March 15", ["my sister Elena's birthday is July 2nd"]),
        ("Ana vive en Lima y trabaja en Acme", "Ana se mudó a Quito", ["trabaja en Acme"]),
        ("Ana works at Acme as a nurse", "Ana works for Globex", ["Ana works as a nurse"]),
        ("Ana lives in Lima", "Ana moved to Quito", []),
    ],
)  # fmt: skip
def test_what_else_the_old_statement_told_is_known(old, new, rest):
    verdict = compare(old, new, subject="Ana")
    assert verdict.kind == "supersedes"
    assert remainder(old, verdict.old, subject="Ana") == rest
