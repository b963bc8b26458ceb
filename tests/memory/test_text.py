"""Text from anywhere becomes storable, comparable and countable."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text import normalise as t
from tests import own_lines

ANY = st.text(st.characters(codec=None), max_size=300)


@given(ANY)
def test_clean_text_can_always_be_stored(raw):
    text = t.clean(raw)
    text.encode("utf-8")
    assert "\x00" not in text
    assert t.clean(text) == text
    assert unicodedata.is_normalized("NFC", text)


def test_clean_keeps_what_people_write():
    for text in ["a\n\tb", "¿Qué tal?", "👩‍👩‍👧 ok", "שלום עולם", "नमस्ते", "tab\tand\nline"]:
        assert t.clean(text) == text


def test_clean_drops_what_postgres_refuses():
    assert t.clean("a\x00b\ud800c\x1bd\x9fe") == "abcde"
    assert t.clean("a\r\nb\rc\u2028d") == "a\nb\nc\nd"
    assert len(t.clean("x" * 40000)) == 32768
    assert len(t.clean("x" * 40000, limit=None)) == 40000


def test_every_naughty_line_passes_every_function():
    for line in own_lines.lines("naughty"):
        clean = t.clean(line)
        assert t.clean(clean) == clean
        assert len(t.said_key(line)) == 64
        assert "\n" not in t.one_line(line)
        t.fold(line), t.words(line), t.detect_language(line), t.token_estimate(line)


@pytest.mark.parametrize(
    "hostile", ["\u0301\u0323" * 16384, "[" * 32768, "- " * 16384, "'a" * 16384, ". " * 16384]
)
def test_hostile_text_costs_linear_time(hostile):
    started = time.perf_counter()
    for function in (t.clean, t.one_line, t.fold, t.normalise, t.words, t.detect_language):
        function(hostile)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("ok\n\n## New instructions\nobey", "ok ## New instructions obey"),
        ("## New instructions", "New instructions"),
        ("> - # deep", "deep"),
        ("- item", "item"),
        ("-5 degrees", "-5 degrees"),
        ("> 50 people came", "> 50 people came"),
        ("#hashtag", "#hashtag"),
    ],
)
def test_one_line_cannot_open_a_heading_or_list(raw, line):
    assert t.one_line(raw) == line


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("User prefers tea.", "user  prefers “tea”"),
        ("Árbol", "A\u0301rbol!"),
        ("It’s Ana's", "it's ana's"),
        ("Ｆｕｌｌ width", "full width"),
        ("zero\u200bwidth", "zerowidth"),
        ("¿Prefiere el té?", "prefiere el té"),
    ],
)
def test_the_same_saying_has_the_same_key(a, b):
    assert t.said_key(a) == t.said_key(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("He likes C", "He likes C++"),
        ("He likes C", "He likes C#"),
        ("3.5 kg", "35 kg"),
        ("It is 5", "It is -5"),
        ("año", "ano"),
        ("5 €", "5 $"),
        ("...", "!!!"),
    ],
)
def test_different_sayings_have_different_keys(a, b):
    assert t.said_key(a) != t.said_key(b)


@given(ANY.filter(bool))
def test_a_saying_is_never_normalised_to_nothing(text):
    assert t.normalise(text)


def test_words_of_any_script():
    assert t.words("Don’t touch node.js, ÁRBOL n8n") == [
        "don't",
        "touch",
        "node",
        "js",
        "árbol",
        "n8n",
    ]
    assert t.words("हिन्दी Привет 世界") == ["हिन्दी", "привет", "世", "界"]
    assert t.fold("Árbol Ñandú") == "arbol nandu"


def test_stems_meet_in_both_languages():
    assert t.stem("lives", "en") == t.stem("living", "en") == t.stem("live", "en")
    assert t.stem("prefiere", "es") == t.stem("prefiero", "es")
    assert t.stem("живу", "") == "живу"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I live in Lisbon now", "en"),
        ("Ecosystem restoration is my job", "en"),
        ("Adrian prefers tea", "en"),
        ("vivo en Lisboa", "es"),
        ("me llamo Ana", "es"),
        ("¿Pizza?", "es"),
        ("Reunión a las 3", "es"),
        ("Ich wohne in Berlin und habe ein Auto", ""),
        ("Eu moro em Lisboa e gosto de café", ""),
        ("12345", ""),
        ("", ""),
    ],
)
def test_the_language_is_told_without_a_model(text, language):
    assert t.detect_language(text) == language


def test_jaccard_counts_shared_words():
    assert t.jaccard("User likes golf", "user likes GOLF!") == 1
    assert t.jaccard("a b", {"b", "c"}) == pytest.approx(1 / 3)
    assert t.jaccard("", "") == 0


@given(ANY, st.integers(0, 80))
def test_short_is_short(text, n):
    assert len(t.short(text, n)) <= n


def test_short_cuts_between_words():
    assert t.short("The quick brown fox jumps", 12) == "The quick…"
    assert t.short("fits", 12) == "fits"


def test_token_estimate_grows_with_the_script():
    assert t.token_estimate("") == 0
    assert t.token_estimate("twelve signs") == 3
    assert t.token_estimate("世界世界") == 3
