"""Summarise what people said without a model: a title, tags and a few of their sentences. Pure.

A text may be a transcript with lines of `name: words`. Names say who spoke, not what it was about.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from zoneinfo import ZoneInfo

import numpy as np

from memory.text import normalise as text
from memory.text.normalise import BEFORE_NOUN, STOP_WORDS, TITLES, VAGUE, pattern

# Not behind "Dr." and its like, nor before the number of "No. 3".
_NAMED = "".join(rf"(?<!\b{name}\.)" for name in TITLES) + r"(?!(?<=\b[Nn]o\.) ?\d)"
SENTENCE = re.compile(rf"(?<=[.!?…。！？]){_NAMED}\s+|\n+")
_LEAD = pattern("lead")
_LEAD_IN = pattern("lead_in")
_ASKS_WHETHER_KNOWN = pattern("asks_whether_known")
_VAGUE = frozenset(map(text.fold, VAGUE))
_POINTING = pattern("pointing")
_TO_THE_OTHER = re.compile(r"\b(?:you|your|you're|te|tú|tu|tus|ti|usted)\b", re.IGNORECASE)
_SPEAKER = re.compile(r"^([^\s:][^:\n]{0,39}):\s+(?=\S)")
_CLAUSE = re.compile(r"(?<=\w)(?:[,;:—–]| - )\s+")
_STRONG_MARK = re.compile(r"(?<=\w)(?:[;:—–]| - )\s+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*(?:st|nd|rd|th|am|pm|h|º|ª)?$", re.IGNORECASE)
_RAW_WORD = re.compile(r"[^\W_][\w'’-]*")
_TRAILING_DOTS = re.compile(r"(?:\s*[.…]){2,}\s*$|\s*…\s*$")
TITLE_LENGTH = 80
KENO = "Keno"
MIN_STEMS = 2
# Longer than this is judged by its beginning: the rest would only cost time.
MAX_LENGTH = 200_000
# Of a longer question only the end is kept, in characters.
LAST = 160
# Below this likeness the talk has turned to something else.
SAME_TOPIC = 0.3
SILENCE = timedelta(hours=4)
# People jump between topics within a minute and come back; after a pause they rarely do.
PAUSE = timedelta(minutes=20)
NEW_TOPIC = re.compile(r"(?:^|\s)/(?:new-topic|nuevo-tema)(?=$|[\s.,!?])", re.IGNORECASE)
# Fewer words than this ("ok, thanks") belong to whatever was being talked about.
MIN_MESSAGE_STEMS = 4
# Messages compared on either side of a change of topic, and how alike they are there at most.
# Measured on talks of friends, families and colleagues.
BLOCK = 3
CHANGED_TOPIC = 0.38
# The fewest messages of an episode.
MIN_MESSAGES = 5
MESSAGES_PER_CHANGE = 15


@dataclass(frozen=True)
class Sentence:
    """One sentence, who said it, and the stems of what it is about."""

    speaker: str
    words: str
    stems: frozenset[str]
    place: int
    is_quoted: bool


def last_question(message: str) -> str:
    """Return the last question in a message: whoever speaks next may answer it."""
    parts = [part.strip() for part in SENTENCE.split(message[-10 * LAST :])]
    question = next((part for part in reversed(parts) if part.endswith("?")), "")
    return question if len(question) <= LAST else question[-LAST:].partition(" ")[2]


def without_lead_in(question: str) -> str:
    """Return the question without what only leads to it: "ok quick test: where do I live?" """
    return _ASKS_WHETHER_KNOWN.sub("", _LEAD_IN.sub("", question))


def sentences(body: str) -> list[str]:
    """Return the sentences of the text, without list marks."""
    parts = (part.strip(" \t-*•>#") for part in SENTENCE.split(body[:MAX_LENGTH]))
    return [part for part in parts if part]


def title(body: str, *, names: Collection[str] = (), quotes: Collection[str] = ()) -> str:
    """Return the sentence that says best what it was about, shortened; people's own words.

    `quotes` are the words that facts rest on: what has some of them says more than the rest.
    """
    rows = _read(body, names, quotes)
    if rows:
        weights = _weights(rows)
        best = max(rows, key=lambda row: (_title_score(row, weights), -row.place))
        line = _shorten(best.words, weights)
    else:
        line = next((_split_speaker(line)[1] for line in sentences(body)), "")
    # "Mazunte.." is named Mazunte.
    return text.short(_TRAILING_DOTS.sub("", line) or line, TITLE_LENGTH).strip()


def tags(body: str, *, names: Collection[str] = (), limit: int = 5) -> list[str]:
    """Return the things that were talked about most, as they were first written."""
    hidden = _name_stems([*names, *_speakers(body)])
    counts: Counter[str] = Counter()
    nouns: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for sentence in sentences(body):
        before = ""
        for word in _RAW_WORD.findall(_split_speaker(sentence)[1]):
            plain = word.replace("’", "'").removesuffix("'s")
            root = _topic_stem(plain)
            if root and root not in hidden and len(plain) > 2:
                counts[root] += 1
                nouns[root] += text.fold(before) in BEFORE_NOUN
                nouns[root] += bool(before) and plain[:1].isupper()
                spelling.setdefault(root, plain if plain.isupper() else plain.lower())
            before = word
    named = [root for root in counts if nouns[root]]
    often = [root for root in named if counts[root] > 1] or named[:3]
    often.sort(key=lambda root: -counts[root] - nouns[root])
    return [spelling[root][:64] for root in often[:limit]]


def extract(
    bodies: Sequence[str],
    *,
    names: Collection[str] = (),
    quotes: Collection[str] = (),
    lines: int = 8,
    length: int = 240,
) -> str:
    """Return the sentences that say most, each with who said it, in their order."""
    rows = [row for body in bodies for row in _read(body, names, quotes)][:400]
    rows = list({(row.speaker, row.words): row for row in rows}.values())
    if rows:
        chosen = _choose(rows, min(lines, 2 + len(rows) // 3))
        printed = [f"{row.speaker}: {row.words}" if row.speaker else row.words for row in chosen]
    else:
        printed = [line for body in bodies for line in sentences(body)][:lines]
    return "\n".join(f"- {text.short(line, length)}" for line in printed)


def _choose(rows: list[Sentence], count: int) -> list[Sentence]:
    """Return the best sentences in their order; each counts for what the chosen do not say yet."""
    weights, left = _weights(rows), list(enumerate(rows))
    chosen: list[tuple[int, Sentence]] = []
    covered: set[str] = set()
    while left and len(chosen) < count:
        best = max(left, key=lambda item: (_score(item[1], weights, covered), -item[0]))
        left.remove(best)
        chosen.append(best)
        covered |= best[1].stems
    return [row for _place, row in sorted(chosen, key=lambda item: item[0])]


def _read(body: str, names: Collection[str], quotes: Collection[str]) -> list[Sentence]:
    """Return the sentences that say something, without greetings and vocatives."""
    hidden = _name_stems([*names, *_speakers(body), KENO])
    rows: list[Sentence] = []
    for line in body[:MAX_LENGTH].splitlines():
        speaker, words = _split_speaker(line)
        for sentence in sentences(words):
            bare = _bare(sentence, hidden)
            stems = frozenset(filter(None, map(_topic_stem, text.words(bare)))) - hidden
            if len(stems) >= MIN_STEMS:
                is_quoted = any(quote in sentence or sentence in quote for quote in quotes)
                rows.append(Sentence(speaker, bare, stems, len(rows), is_quoted))
    return rows


def _weights(rows: list[Sentence]) -> Counter[str]:
    return Counter(stem for row in rows for stem in row.stems)


def _score(row: Sentence, weights: Counter[str], covered: Collection[str] = ()) -> float:
    """Return how much of what was talked about the sentence says."""
    score = sum(weights[stem] for stem in row.stems if stem not in covered) / (len(row.stems) + 4)
    if _POINTING.match(row.words):
        score *= 0.5
    if row.words.endswith("?"):
        score *= 0.6
    if _TO_THE_OTHER.search(row.words):
        score *= 0.7
    return score * 2.5 if row.is_quoted else score


def _title_score(row: Sentence, weights: Counter[str]) -> float:
    """Return the score as a title, which is short; people say early what they came for."""
    fits = 1.0 if 15 <= len(_shorten(row.words)) <= TITLE_LENGTH else 0.6
    return _score(row, weights) * fits * (1 + 1 / (1 + row.place))


def _shorten(words: str, weights: Counter[str] | None = None) -> str:
    """Return the sentence, or the part of it that fits a title and says most."""
    if len(words) <= TITLE_LENGTH:
        return words
    heads = [words[: match.start()] for match in _CLAUSE.finditer(words)]
    # Only after a strong mark does a part stand by itself.
    parts = [part.strip() for part in _STRONG_MARK.split(words)]
    fitting = [part for part in [*heads, *parts] if len(part) <= TITLE_LENGTH]
    best = max(fitting, key=lambda part: _weight_of(part, weights), default="")
    return best[:1].upper() + best[1:] if _weight_of(best, weights) >= MIN_STEMS else words


def _weight_of(words: str, weights: Counter[str] | None) -> int:
    stems = {root for word in text.words(words) if (root := _topic_stem(word))}
    return sum(weights[stem] if weights else 1 for stem in stems)


def _bare(sentence: str, hidden: Collection[str]) -> str:
    """Return the sentence without what only greets, agrees or calls someone by name."""
    bare, before = sentence.strip(), ""
    while bare != before:
        before = bare
        bare = _LEAD.sub("", bare)
        first = _RAW_WORD.match(bare)
        if first and _name_stems([first[0]]) <= set(hidden) and bare[first.end() :][:1] in ",!.":
            bare = bare[first.end() :].lstrip(" ,!.")
    tail = re.search(r",\s*([^\W\d_]+)\s*([.!?]*)$", bare)
    if tail and _name_stems([tail[1]]) <= set(hidden):
        bare = bare[: tail.start()] + tail[2]
    return bare[:1].upper() + bare[1:]


def without_address(sentence: str, names: Collection[str]) -> str:
    """Return the sentence without the names it only calls: "Hey Gina, I sold my car"."""
    return _bare(sentence, _name_stems(names))


def _topic_stem(word: str) -> str:
    """Return the stem of a word that may say what it is about; empty for all others."""
    folded = text.fold(word)
    if folded in _VAGUE or _NUMBER.match(word) or any(word in stop for stop in STOP_WORDS.values()):
        return ""
    return min(text.stems(word), default="")


def _name_stems(names: Collection[str]) -> frozenset[str]:
    return frozenset(
        text.stem(text.stem(text.fold(word), "en"), "es")
        for name in names
        for word in text.words(name)
    )


def _speakers(body: str) -> set[str]:
    return {name for line in body[:MAX_LENGTH].splitlines() if (name := _split_speaker(line)[0])}


def _split_speaker(line: str) -> tuple[str, str]:
    match = _SPEAKER.match(line.strip())
    if not match or len(match[1].split()) > 3:
        return "", line.strip()
    return match[1], line.strip()[match.end() :]


def boundary(
    message: str,
    *,
    at: datetime,
    last_at: datetime,
    zone: ZoneInfo,
    similarity: Callable[[], float | None] = lambda: None,
) -> str:
    """Why this message begins a new episode: command, silence, day, topic; "" when it does not.

    `similarity` tells the likeness to what the open episode says, 0..1, None when unknown; it is
    asked for only after a pause. A topic that changes without one is found when the episode ends,
    by `topic_changes`.
    """
    if NEW_TOPIC.search(message):
        return "command"
    if at - last_at > SILENCE:
        return "silence"
    if at.astimezone(zone).date() != last_at.astimezone(zone).date():
        return "day"
    alike = similarity() if at - last_at >= PAUSE else None
    return "topic" if alike is not None and alike < SAME_TOPIC else ""


def similarity(message: str, episode: str) -> float | None:
    """Return the similarity by words, when there are no vectors; None when there are too few words.

    People rarely repeat themselves within a topic, so one shared word of meaning is enough to stay.
    """
    mine, theirs = text.stems(message), text.stems(episode)
    if len(mine) < MIN_MESSAGE_STEMS or len(theirs) < MIN_MESSAGE_STEMS:
        return None
    shared = len(mine & theirs)
    return max(SAME_TOPIC, shared / sqrt(len(mine) * len(theirs))) if shared else 0.0


def says_something(message: str) -> bool:
    return len(text.stems(message)) >= MIN_MESSAGE_STEMS


def topic_changes(vectors: np.ndarray) -> list[int]:
    """Return the positions of the messages that begin another topic, of messages in their order.

    At most two in a session of usual length: the clearest ones.
    """
    count = len(vectors)
    unlike = sorted(
        (_likeness(vectors[max(0, place - BLOCK) : place], vectors[place : place + BLOCK]), place)
        for place in range(MIN_MESSAGES, count - MIN_MESSAGES + 1)
    )
    changes: list[int] = []
    for likeness, place in unlike:
        if likeness >= CHANGED_TOPIC or len(changes) == max(2, count // MESSAGES_PER_CHANGE):
            break
        if all(abs(place - other) >= MIN_MESSAGES for other in changes):
            changes.append(place)
    return sorted(changes)


def _likeness(before: np.ndarray, after: np.ndarray) -> float:
    left, right = before.mean(axis=0), after.mean(axis=0)
    length = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / length if length else 0.0
