"""The listener: a small tagger that marks which words of a message are worth remembering.

It runs `listen.onnx` over [previous message, message] and gives spans in characters of the message.
Pure: no database, no network. About 5 ms a message; many are read side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memory.extraction import edges
from memory.extraction.grammar.split import with_name_of
from memory.text.normalise import STOP_WORDS, fold
from memory.vectors import graphs
from memory.vectors.graphs import BEGIN, END

KINDS = ("profile", "preference", "people", "plan", "event", "lore", "past")
# Tokens of the previous message that the model was taught with: its last ones.
PREVIOUS_TOKENS = 48
# A longer message is heard in windows that end with a sentence: it was taught with short ones.
WINDOW_TOKENS = 96
# After a comma, "and" or the like a beginning surer than this is another fact.
NEW_SPAN = 0.5
# Alone these say nothing that could be remembered.
EMPTY_WORDS = frozenset(map(fold, [*STOP_WORDS["en"], *STOP_WORDS["es"]])) | frozenset(
    ["", *"yeah yep yup nope nah haha lol wow nice cool great jaja claro vale ya".split()]
)
# "Two children: Ana and Leo", "la menor, que es zurda"
LEADS_ON = {":", "who", "whose", "which", "que", "quien"}


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` of a message state something of this kind; score 0 to 1."""

    start: int
    end: int
    kind: str
    score: float


@dataclass(frozen=True)
class _Window:
    """A part of a message as the graph reads it."""

    message: int
    ids: list[int]
    first_token: int
    offsets: list[tuple[int, int]]


def hear(pairs: Sequence[tuple[str, str]]) -> list[list[Span]]:
    """Return the spans of every (message, previous message), in the order of the text.

    A span is widened to its clause; fragments in a clause are one span.
    """
    windows = [
        window
        for number, (message, previous) in enumerate(pairs)
        for window in _windows(number, message, previous)
    ]
    spans: list[list[Span]] = [[] for _ in pairs]
    outputs = graphs.run("listen", [window.ids for window in windows])
    for window, (tags, sure) in zip(windows, outputs, strict=True):
        tags = tags[window.first_token :][: len(window.offsets)]
        message = pairs[window.message][0]
        tags, offsets = _words(message, tags, window.offsets)
        spans[window.message] += _decode(message, tags, offsets, sure=float(sure))
    return [
        _whole_clauses(message, previous, sorted(marked, key=lambda span: span.start))
        for (message, previous), marked in zip(pairs, spans, strict=True)
    ]


def _windows(number: int, message: str, previous: str) -> Iterator[_Window]:
    pieces = graphs.word_pieces()
    ids, offsets = pieces.encode_with_offsets(message)
    before = pieces.encode_with_offsets(previous)[0][-PREVIOUS_TOKENS:]
    context = [BEGIN, *before, END] if before else [BEGIN]
    start = 0
    while start < len(ids):
        end = _window_end(message, offsets, start)
        yield _Window(number, [*context, *ids[start:end], END], len(context), offsets[start:end])
        start = end


def _window_end(message: str, offsets: list[tuple[int, int]], start: int) -> int:
    """Return the token after the last whole sentence that fits in a window."""
    last = start + WINDOW_TOKENS
    if last >= len(offsets):
        return len(offsets)
    for token in range(last, start + WINDOW_TOKENS // 2, -1):
        if message[offsets[token - 1][1] - 1] in ".!?…\n;":
            return token
    return last


def _words(
    message: str, tags: np.ndarray, offsets: list[tuple[int, int]]
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Return tags and offsets by word: its pieces are averaged, so that no word is cut in two."""
    starts = [
        token
        for token, (start, _) in enumerate(offsets)
        if not (token and edges.is_inside_word(message, start))
    ]
    ends = [*starts[1:], len(offsets)]
    pairs = list(zip(starts, ends, strict=True))
    rows = [tags[start:end].mean(axis=0) for start, end in pairs]
    places = [(offsets[start][0], offsets[end - 1][1]) for start, end in pairs]
    return np.array(rows).reshape(-1, tags.shape[1]), places


def _decode(
    message: str, tags: np.ndarray, offsets: list[tuple[int, int]], *, sure: float
) -> Iterator[Span]:
    """Yield runs of words whose likeliest tag is not O (column 0; then B- and I- of each kind).

    `sure` is the probability that the message holds anything worth remembering.
    """
    marked = tags.argmax(axis=1) > 0
    begin = tags[:, 1::2].max(axis=1)
    start = None
    for word in range(len(offsets) + 1):
        inside = word < len(offsets) and marked[word]
        if start is not None and (not inside or _begins(message, offsets[word][0], begin[word])):
            yield _span(message, tags[start:word], offsets[start:word], sure)
            start = None
        if inside and start is None:
            start = word


def _begins(message: str, place: int, probability: float) -> bool:
    if edges.begins_sentence(message, place):
        return True
    return edges.is_joined(message, place) and (
        probability > NEW_SPAN or edges.is_about_now(message, place)
    )


def _span(message: str, tags: np.ndarray, offsets: list[tuple[int, int]], sure: float) -> Span:
    start, end = offsets[0][0], offsets[-1][1]
    # The words alone are nearly always sure: the message as a whole has a third of the say.
    score = (2 * float((1 - tags[:, 0]).mean()) + sure) / 3
    by_kind = (tags[:, 1::2] + tags[:, 2::2]).sum(axis=0)
    return Span(start, end, _kind(message[start:end], by_kind), score)


def _kind(words: str, by_kind: np.ndarray) -> str:
    """Return the likeliest kind; what is said to be over is past, what goes on is not."""
    likeliest = [KINDS[number] for number in by_kind.argsort()[::-1]]
    if edges.was_so(words) and likeliest[0] != "event":
        return "past"
    return likeliest[1 if likeliest[0] == "past" and edges.goes_on(words) else 0]


def _whole_clauses(message: str, previous: str, spans: list[Span]) -> list[Span]:
    """Join the fragments of a clause, and widen what is left to its clause."""
    joined = _joined(message, spans, _same_clause)
    widened = [_widen(message, joined, place) for place in range(len(joined))]
    whole = _with_tails(message, _joined(message, widened, _belongs))
    kept = [span for span in whole if fold(message[span.start : span.end]) not in EMPTY_WORDS]
    return [span for span in kept if _says_something(message, previous, span, kept)]


def _joined(
    message: str, spans: list[Span], together: Callable[[str, Span, Span], bool]
) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        if joined and together(message, joined[-1], span):
            joined[-1] = _join(joined[-1], span)
        else:
            joined.append(span)
    return joined


def _with_tails(message: str, spans: list[Span]) -> list[Span]:
    """Add to each span what belongs to it and was not heard, or was heard as something else."""
    whole: list[Span] = []
    for span in spans:
        if whole and span.start < whole[-1].end:
            whole[-1] = replace(whole[-1], end=max(span.end, whole[-1].end))
        else:
            whole.append(replace(span, end=edges.tail_end(message, span.end)))
    return whole


def _same_clause(message: str, left: Span, right: Span) -> bool:
    gap = message[left.end : right.start]
    return _belongs(message, left, right) or not (
        edges.is_joined(message, right.start) or edges.has_boundary(gap)
    )


def _belongs(message: str, left: Span, right: Span) -> bool:
    """Return whether one of the two only tells who, when, where or how of the other."""
    between = message[left.end : right.start].strip(" ,")
    if between in LEADS_ON:
        return True
    if between:
        return False
    before, after = message[left.start : left.end], message[right.start : right.end]
    lone = edges.is_lead(before) or edges.is_piece(before) or edges.names(before, after)
    return lone or edges.is_piece(after) or bool(with_name_of(before, after))


def _join(left: Span, right: Span) -> Span:
    weights = [span.end - span.start for span in (left, right)]
    score = float(np.average([left.score, right.score], weights=weights))
    kind = left.kind if weights[0] >= weights[1] else right.kind
    return Span(left.start, right.end, kind, score)


def _widen(message: str, spans: list[Span], place: int) -> Span:
    """Widen a span to its clause, not into its neighbours."""
    span = spans[place]
    start, end = edges.widen(message, span.start, span.end)
    if place:
        start = max(start, min(spans[place - 1].end, span.start))
    if place + 1 < len(spans):
        end = min(end, max(spans[place + 1].start, span.end))
    start, end = edges.trim(message, start, end)
    return replace(span, start=start, end=end)


def _says_something(message: str, previous: str, span: Span, spans: list[Span]) -> bool:
    """Leave out a word or two that state nothing, unless they are all that is heard."""
    quote = message[span.start : span.end]
    count, alone = len(quote.split()), len(spans) == 1
    if count == 1:
        return alone and bool(previous)
    return count > 2 or alone or edges.states(quote)
