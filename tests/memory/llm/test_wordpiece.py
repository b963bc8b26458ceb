"""Our WordPiece gives the ids of the tokenizers package, also on hostile text."""

import json
import unicodedata

import pytest
from django.conf import settings
from tokenizers import BertWordPieceTokenizer

from memory.llm.embedded import FOLDER
from memory.llm.wordpiece import WordPiece

OURS = WordPiece(FOLDER / "vocab.txt")
THEIRS = BertWordPieceTokenizer(str(FOLDER / "vocab.txt"), lowercase=True)
THEIRS.enable_truncation(256)
CORPORA = settings.BASE_DIR.parent / "shared" / "corpora"


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


@pytest.mark.parametrize("name", ["naughty", "benign", "xss", "injection_attacks"])
def test_the_corpora_are_cut_alike(name):
    file = CORPORA / f"{name}.jsonl"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    for line in file.read_text().splitlines():
        text = json.loads(line)["text"]
        if text.isprintable() and "[" not in text:
            assert OURS.encode(text) == THEIRS.encode(text).ids, text
