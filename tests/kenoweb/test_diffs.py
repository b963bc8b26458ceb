import time

from hypothesis import given
from hypothesis import strategies as st

from kenoweb.ui import history_thread


def text(pieces, *kinds):
    return "".join(piece.text for piece in pieces if piece.kind in kinds)


def test_only_the_changed_words_are_marked():
    pieces = history_thread.words(
        "Put the token in the header", "Put the token in the query string"
    )
    assert [(piece.kind, piece.text) for piece in pieces] == [
        ("same", "Put the token in the "),
        ("del", "header"),
        ("ins", "query string"),
    ]


def test_neighbouring_changes_are_one_change():
    pieces = history_thread.words("uses npm, on the laptop", "uses bun, at home")
    assert [piece.kind for piece in pieces] == ["same", "del", "ins"]


def test_nothing_changed_is_one_piece():
    assert history_thread.words("la casa azul", "la casa azul") == [
        history_thread.Piece("same", "la casa azul")
    ]


@given(st.text(max_size=60), st.text(max_size=60))
def test_both_texts_can_be_read_back(before, after):
    pieces = history_thread.words(before, after)
    assert text(pieces, "same", "ins").split() == after.split()
    assert text(pieces, "same", "del").split() == before.split()


def test_a_long_text_costs_no_time():
    long = "word " * 30_000
    began = time.process_time()
    history_thread.words(long, long + "end")
    assert time.process_time() - began < 0.5
