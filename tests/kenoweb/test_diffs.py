import time

from hypothesis import given
from hypothesis import strategies as st

from kenoweb.ui import diffs


def text(pieces, *kinds):
    return "".join(piece.text for piece in pieces if piece.kind in kinds)


def test_only_the_changed_words_are_marked():
    pieces = diffs.words("Put the token in the header", "Put the token in the query string")
    assert [(piece.kind, piece.text) for piece in pieces] == [
        ("same", "Put the token in the "),
        ("del", "header"),
        ("ins", "query string"),
    ]


def test_neighbouring_changes_are_one_change():
    pieces = diffs.words("uses npm, on the laptop", "uses bun, at home")
    assert [piece.kind for piece in pieces] == ["same", "del", "ins"]


def test_nothing_changed_is_one_piece():
    assert diffs.words("la casa azul", "la casa azul") == [diffs.Piece("same", "la casa azul")]


@given(st.text(max_size=60), st.text(max_size=60))
def test_both_texts_can_be_read_back(before, after):
    pieces = diffs.words(before, after)
    assert text(pieces, "same", "ins").split() == after.split()
    assert text(pieces, "same", "del").split() == before.split()


def test_a_long_text_costs_no_time():
    long = "word " * 30_000
    began = time.process_time()
    diffs.words(long, long + "end")
    assert time.process_time() - began < 0.5
