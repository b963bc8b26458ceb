"""Keno's own model: graphs that embed, listen and judge, over one file of weights.

Each graph is loaded on first use and kept for the process. The weights are mapped into memory,
not read, so that graphs and processes share them.
"""

import os
import re
import string
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache, partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

UNKNOWN, BEGIN, END = 100, 101, 102
LONGEST_WORD = 100
Offset = tuple[int, int]
Loaded = TypeVar("Loaded")
# The blocks that BERT cuts into single characters.
CJK = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)
if TYPE_CHECKING:
    from onnxruntime import InferenceSession
FOLDER = Path(__file__).parent / "model"
CPU_INFO = Path("/proc/cpuinfo")
_lock = threading.RLock()
_readers: list[ThreadPoolExecutor] = []
# A forked process has none of the threads of its parent.
os.register_at_fork(after_in_child=_readers.clear)
DIMENSIONS = 384
# What is asked about comes again: for recall, for its topic, for its row, in every answer tried.
KEPT = 2048
# Where weights.bin holds the quantised table: first byte, and one row a piece of the vocabulary.
TABLE_START = 139_264
TABLE_SHAPE = (51_875, 384)


class WordPiece:
    """A vocabulary and the greedy longest match over it."""

    def __init__(self, vocabulary: Path):
        lines = vocabulary.read_text(encoding="utf-8").split("\n")
        self.ids = {piece: number for number, piece in enumerate(lines) if piece}
        self._word = lru_cache(maxsize=20_000)(self._match)

    def encode(self, text: str, *, limit: int = 256) -> list[int]:
        """Return the ids of the text between the marks of its beginning and end."""
        ids = [BEGIN]
        for word, _ in split(text):
            ids += self._word(word)[0]
            if len(ids) >= limit:
                break
        return [*ids[: limit - 1], END]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[Offset]]:
        """Return all ids of the text, without marks, and where in the text each piece stands."""
        ids: list[int] = []
        offsets: list[Offset] = []
        for word, places in split(text):
            numbers, ends = self._word(word)
            ids += numbers
            for start, end in zip((0, *ends), ends, strict=False):
                offsets.append((places[start][0], places[end - 1][1]))
        return ids, offsets

    def _match(self, word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids of the word's pieces and the end of each in the word."""
        unknown = (UNKNOWN,), (len(word),)
        if len(word) > LONGEST_WORD:
            return unknown
        numbers, ends, start = [], [], 0
        while start < len(word):
            piece = self._longest(word, start)
            if not piece:
                return unknown
            number, start = piece
            numbers.append(number)
            ends.append(start)
        return tuple(numbers), tuple(ends)

    def _longest(self, word: str, start: int) -> tuple[int, int] | None:
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self.ids.get(mark + word[start:end])
            if number is not None:
                return number, end
        return None


def split(text: str) -> Iterator[tuple[str, list[Offset]]]:
    """Yield lower-case words without accents, with the place in the text of each character.

    Punctuation and CJK characters are words of their own. A character that is dropped (an accent,
    a joiner) belongs to the one before it.
    """
    letters: list[str] = []
    places: list[Offset] = []
    for place, char in enumerate(text):
        plain = _plain(char)
        if not plain and places:
            places[-1] = (places[-1][0], place + 1)
        for letter in plain:
            if letter != " ":
                letters.append(letter)
                places.append((place, place + 1))
            elif letters:
                yield "".join(letters), places
                letters, places = [], []
    if letters:
        yield "".join(letters), places


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    """Lower case without accents, spaces around what stands alone; empty for what is dropped."""
    apart = unicodedata.normalize("NFD", _visible(char))
    bare = (c for c in apart if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _stands_alone(c) else c.lower() for c in bare)


def _visible(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char in "\0�" or unicodedata.category(char) in {"Cc", "Cf", "Co"}:
        return ""
    return " " if char.isspace() else char


def _stands_alone(char: str) -> bool:
    is_mark = char in string.punctuation or unicodedata.category(char)[0] == "P"
    return is_mark or bool(CJK.match(char))


def loaded_once(load: Callable[..., Loaded]) -> Callable[..., Loaded]:
    """Keep what the function loads for the process; two threads do not load it twice."""
    cached = cache(load)

    def get(*names: str) -> Loaded:
        with _lock:
            return cached(*names)

    return update_wrapper(get, load)


@loaded_once
def word_pieces() -> WordPiece:
    """Return the vocabulary that all graphs share."""
    return WordPiece(FOLDER / "vocab.txt")


def run(graph: str, ids: Sequence[Sequence[int]]) -> list[list[np.ndarray]]:
    """Run the graph over texts given as token ids; return the outputs of each.

    Each by itself, side by side on the cores. The graph rounds by the largest number it sees: in a
    batch a text would get another result beside other texts, and a batch is hardly faster.
    """
    return _side_by_side(partial(_run_one, graph), ids)


def _side_by_side(read: Callable[[Any], Any], items: Sequence) -> list:
    if len(items) < 2:
        return [read(item) for item in items]
    with _lock:
        if not _readers:
            _readers.append(ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="graphs"))
        readers = _readers[0]
    return list(readers.map(read, items))


def _run_one(graph: str, ids: Sequence[int]) -> list[np.ndarray]:
    inputs = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64)}
    return [output[0] for output in session(graph).run(None, inputs)]


@loaded_once
def session(graph: str) -> "InferenceSession":
    """Return the onnxruntime session of "embed", "listen" or "judge"."""
    return new_session(graph, exact=not has_vnni())


def new_session(graph: str, *, exact: bool) -> "InferenceSession":
    # Imported here: commands that never use the model should not pay for it.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # A text on one thread that does not spin: a second one gains a third and burns the other core
    # while it waits. Several texts are read side by side.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Processors without VNNI would add products in 16 bits, which overflow: the judge was off by up
    # to .3 there. The others add exactly anyway, and take half as long again when they are told to.
    options.add_session_config_entry("session.x64quantprecision", str(int(exact)))
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        FOLDER / f"{graph}.onnx", options, providers=["CPUExecutionProvider"]
    )


def has_vnni() -> bool:
    """Whether the processor adds products of 8 bits without overflow; False where nobody says."""
    return CPU_INFO.exists() and "avx512_vnni" in CPU_INFO.read_text()


class EmbeddedModel:
    """Loaded on first use and kept: 0.1 s once, then 2-3 ms a text."""

    provider = "embedded"
    model = ""
    # Stored beside every vector. The graph was once another file and the digest is that file's:
    # its vectors are equal, so what existing homes stored stays valid. Change the name only
    # together with the vectors.
    name = "minilm-en-es-384@60875a9a"
    dims = DIMENSIONS

    def __init__(self):
        self._kept = lru_cache(maxsize=KEPT)(
            lambda text: _run_one("embed", word_pieces().encode(text))[0]
        )

    def embed(self, texts: list[str], *, query: bool = False) -> np.ndarray:
        """Return one row a text."""
        vectors = _side_by_side(self._kept, texts)
        return np.array(vectors, np.float32).reshape(-1, DIMENSIONS)


class WordVectors:
    """Rows of the table as unit vectors; a word of several pieces is their mean."""

    def __init__(self):
        self.pieces = word_pieces()
        self.table = np.memmap(
            FOLDER / "weights.bin", np.uint8, mode="r", offset=TABLE_START, shape=TABLE_SHAPE
        )
        # The mean of the rows says nothing about any of them. Scale and zero point of the numbers
        # fall away with it and with the length.
        self.mean = self.table[1000::7].astype(np.float32).mean(axis=0)
        self._row = lru_cache(maxsize=16_384)(self._compute)

    def of(self, words: Sequence[str]) -> np.ndarray:
        """Return one unit vector per word."""
        if not words:
            return np.zeros((0, self.table.shape[1]), dtype=np.float32)
        return np.stack([self._row(word) for word in words]).astype(np.float32)

    def _compute(self, word: str) -> np.ndarray:
        ids = self.pieces.encode(word, limit=10)[1:-1] or [100]
        vector = self.table[ids].astype(np.float32).mean(axis=0) - self.mean
        return (vector / (np.linalg.norm(vector) + 1e-6)).astype(np.float16)


@loaded_once
def word_vectors() -> WordVectors:
    """Return the table, read on first use."""
    return WordVectors()
