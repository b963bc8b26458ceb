"""Our WordPiece gives the ids of the tokenizers package, also on hostile text."""

import unicodedata

import pytest
from tokenizers import BertWordPieceTokenizer

from memory.vectors.graphs import FOLDER, WordPiece
from tests import own_lines

OURS = WordPiece(FOLDER / "vocab.txt")
THEIRS = BertWordPieceTokenizer(str(FOLDER / "vocab.txt"), lowercase=True)
THEIRS.enable_truncation(256)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "Ana prefers tea.",
        "¿Dónde está el árbol de Núñez?",
        "don't use C++ or node.js",
        "a" * 101,
        "word " * 400,
        "İstanbul ǅ ﬁ Ⅷ ß ﷺ",
        "中文字 かな 한국어",
        "zero\u200bwidth \u202eright to left\u202c",
        "é vs e\u0301 vs e\u0301\u0301\u0301",
        "👩‍👩‍👧‍👦 🏳️‍🌈",
        "tab\tnew\nline\r\x00\ufffd\x07end",
        "[CLS] [SEP] [UNK] ##ing",
        "$100~`^|<=>+",
    ],
)
def test_the_ids_are_those_of_the_reference(text):
    # The reference reads "[CLS]" in a text as the mark itself; text may never forge a mark.
    if "[CLS]" in text:
        assert OURS.encode(text).count(101) == 1
    else:
        assert OURS.encode(text) == THEIRS.encode(text).ids


def test_every_settled_character_is_cut_alike():
    # Settled: the same kind of sign in Unicode 3.2 and today; the reference knows one in between.
    known = unicodedata.ucd_3_2_0
    for code in range(0x30000):
        kind = known.category(chr(code))
        if kind == unicodedata.category(chr(code)) and kind not in {"Cn", "Cs"}:
            text = f"a{chr(code)}b"
            assert OURS.encode(text) == THEIRS.encode(text).ids, hex(code)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I'm vegan", ["I", "'", "m", "vegan"]),
        ("¿Dónde está Núñez?", ["¿", "Dónde", "está", "Núñez", "?"]),
        ("cafe\u0301 frío", ["cafe\u0301", "frío"]),
        ("live in 東京!", ["live", "in", "東", "京", "!"]),
        ("party 🎉🎉 at 8", ["party", "🎉🎉", "at", "8"]),
        ("my ❤️ dog", ["my", "❤️", "dog"]),
        ("zero\u200bwidth  space", ["zero\u200bwidth", "space"]),
        ("STRASSE İzmir", ["STRASSE", "İzmir"]),
        ("", []),
    ],
)
def test_every_piece_knows_its_place_in_the_text_as_it_was_typed(text, parts):
    ids, offsets = OURS.encode_with_offsets(text)
    assert [OURS.encode(text)[1:-1], len(offsets)] == [ids, len(ids)]
    ends = {end for _, end in offsets}
    words = [text[start:end] for start, end in _whole_words(ids, offsets)]
    assert words == parts
    assert len(ends) == len(offsets)


def _whole_words(ids, offsets):
    """Join the pieces of a word, which begin with ## in the vocabulary."""
    names = {number: piece for piece, number in OURS.ids.items()}
    words = []
    for number, (start, end) in zip(ids, offsets, strict=True):
        if names[number].startswith("##"):
            words[-1] = (words[-1][0], end)
        else:
            words.append((start, end))
    return words


@pytest.mark.parametrize("name", ["naughty", "benign", "xss", "injection_attacks"])
def test_our_lines_are_cut_alike(name):
    for text in own_lines.lines(name):
        if text.isprintable() and "[" not in text:
            assert OURS.encode(text) == THEIRS.encode(text).ids, text
