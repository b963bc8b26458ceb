"""Compute the features of each candidate, as numbers between about 0 and 1."""

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np
from django.utils.translation import gettext_lazy

from memory.retrieval import understand
from memory.retrieval.keywords import content_words
from memory.retrieval.lanes import Candidate, Candidates
from memory.retrieval.understand import Question
from memory.text import normalise as text
from memory.vectors.graphs import word_vectors

# Shares of the question without names and as asked: names pull towards those who say them.
BARE_SHARE = 0.6
ASKED_SHARE = 0.4
# How far "near by" reaches, in turns of the talk.
NEARBY = 2
# Shares of the message before and of the one after.
BEFORE = 0.6
AFTER = 0.4
HALF_YEAR = 182
# A shorter word is one letter off too many others.
TYPED_FROM = 4
_ASKS = re.compile(r"\?\W*$")

FEATURES = {
    "answers": gettext_lazy("answers the question"),
    "semantic": gettext_lazy("meaning"),
    "words": gettext_lazy("words"),
    "rare": gettext_lazy("rarest word"),
    "alike": gettext_lazy("similar words"),
    "nearby": gettext_lazy("near by"),
    "episode": gettext_lazy("episode"),
    "around": gettext_lazy("turns beside"),
    "topic": gettext_lazy("topic"),
    "speaker": gettext_lazy("person"),
    "date": gettext_lazy("date"),
    "question": gettext_lazy("a question"),
    "when": gettext_lazy("says when"),
    "confidence": gettext_lazy("confidence"),
    "trust": gettext_lazy("who said it"),
    "recency": gettext_lazy("recency"),
    "channel": gettext_lazy("same chat"),
    "usage": gettext_lazy("used before"),
    "pin": gettext_lazy("pinned"),
    "crowd": gettext_lazy("others of its episode"),
    # Parts of a score that are no features: of the classic formula, of an order that was mended.
    "lexical": gettext_lazy("words"),
    "older": gettext_lazy("an older value"),
}
NAMES = tuple(name for name in FEATURES if name not in ("lexical", "older"))


def compute(
    question: Question, candidates: Candidates, *, now: datetime, chat_id: int | None = None
) -> dict[int, dict[str, float]]:
    """Return every feature of every candidate, by the unit's id."""
    correct_typos(question.terms, candidates)
    weights = term_weights(candidates, len(question.terms))
    known = [w if candidates.counts.get(n) else 0.0 for n, w in enumerate(weights, start=1)]
    talk = _Talk(candidates, weights)
    like = alike(question.terms, candidates.units, weights)
    meaning = _Meaning(candidates)
    return {
        unit.id: {
            # Filled in by the judge, for the best of the others.
            "answers": 0.0,
            "semantic": meaning.of(unit),
            "words": talk.share(unit.terms),
            "rare": rare(unit.terms, known),
            "alike": like[unit.id],
            "nearby": talk.nearby(unit),
            "episode": talk.episode(unit),
            "around": meaning.around(unit),
            "topic": meaning.topic(unit),
            "speaker": speaker(question.names, unit.speaker),
            "date": date(question.cues, unit),
            "question": float(unit.kind == "message" and bool(_ASKS.search(unit.text))),
            "when": float(question.asks_when and understand.says_when(unit.text)),
            "confidence": unit.confidence,
            "trust": trust(unit),
            "recency": recency(unit, now),
            "channel": channel(unit.chat_id, chat_id),
            "usage": 1 - 1 / (1 + math.log1p(unit.use_count)),
            "pin": float(unit.pinned),
            # Filled in when the order is known.
            "crowd": 0.0,
        }
        for unit in candidates.units
    }


def term_weights(candidates: Candidates, terms: int) -> list[float]:
    """Return the weight of each word of the question: rare ones more (BM25's idf), together 1."""
    raw = []
    for number in range(1, terms + 1):
        count = candidates.counts.get(number)
        size = max(candidates.size, count or 0)
        raw.append(0.0 if count is None else math.log1p((size - count + 0.5) / (count + 0.5)))
    total = sum(raw)
    return [weight / total if total else 0.0 for weight in raw]


def correct_typos(terms: list[str], candidates: Candidates) -> None:
    """Take a word that stands nowhere for the word one letter off that the candidates have."""
    unknown = {
        number: text.fold(term)
        for number, term in enumerate(terms, start=1)
        if candidates.counts.get(number) == 0 and len(term) >= TYPED_FROM
    }
    for number, typed in unknown.items():
        for unit in candidates.units:
            if any(one_letter_off(typed, word) for word in content_words(unit.text)):
                unit.terms = [*unit.terms, number]
                candidates.counts[number] += 1


@lru_cache(maxsize=65_536)
def one_letter_off(typed: str, word: str) -> bool:
    """Tell whether one letter was missed, added, changed or swapped behind the first two."""
    if typed[:2] != word[:2] or abs(len(typed) - len(word)) > 1 or typed == word:
        return False
    first = next(n for n in range(2, 99) if typed[n : n + 1] != word[n : n + 1])
    rest, other = typed[first:], word[first:]
    swapped = rest[:2] == other[:2][::-1] and rest[2:] == other[2:]
    return swapped or rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]


def rare(numbers: Iterable[int], weights: Sequence[float]) -> float:
    """Return how rare the rarest shared word is, beside the rarest of the question known here."""
    rarest = max(weights, default=0.0)
    return max((weights[number - 1] for number in numbers), default=0.0) / rarest if rarest else 0.0


def alike(terms: list[str], units: list[Candidate], weights: list[float]) -> dict[int, float]:
    """Score words of the question that the unit lacks but has a similar word for: kids, niños."""
    if not terms or not units:
        return dict.fromkeys((unit.id for unit in units), 0.0)
    unit_words = [content_words(unit.text) or ("",) for unit in units]
    place = {word: n for n, word in enumerate(dict.fromkeys(itertools.chain(*unit_words)))}
    table = word_vectors()
    near = table.of([text.fold(term) for term in terms]) @ table.of(list(place)).T
    flat = np.fromiter((place[word] for word in itertools.chain(*unit_words)), dtype=int)
    starts = np.cumsum([0, *(len(words) for words in unit_words[:-1])])
    best = np.clip(np.maximum.reduceat(near[:, flat], starts, axis=1), 0, 1)
    for column, unit in enumerate(units):
        for number in unit.terms:
            best[number - 1, column] = 0.0
    shares = np.asarray(weights) @ best
    return {unit.id: float(share) for unit, share in zip(units, shares, strict=True)}


class _Talk:
    """Share of the question's words in the unit, in the messages around it, in its episode."""

    def __init__(self, candidates: Candidates, weights: list[float]):
        self.weights = weights
        self.hits = candidates.hits
        self.order = candidates.episodes
        self.place = candidates.places
        self.of_episode = {
            episode: {
                number for number, hit in candidates.hits.items() if not hit.isdisjoint(units)
            }
            for episode, units in candidates.episodes.items()
        }

    def nearby(self, unit: Candidate) -> float:
        if unit.id not in self.place:
            return self.share(unit.terms)
        episode, position = self.place[unit.id]
        mates = self.order[episode][max(0, position - NEARBY) : position + NEARBY + 1]
        numbers = {number for number, hit in self.hits.items() if not hit.isdisjoint(mates)}
        return self.share(numbers.union(unit.terms))

    def episode(self, unit: Candidate) -> float:
        if unit.id not in self.place:
            return self.share(unit.terms)
        return self.share(self.of_episode[unit.episode_id or 0].union(unit.terms))

    def share(self, numbers: Iterable[int]) -> float:
        return sum(self.weights[number - 1] for number in numbers)


class _Meaning:
    """Similarity in meaning of the unit, of the messages beside it, of the best of its episode."""

    def __init__(self, candidates: Candidates):
        embedded = [unit for unit in candidates.units if unit.bare is not None]
        self.bare = {unit.id: max(0.0, unit.bare or 0.0) for unit in embedded}
        # What did not reach the lane of meaning is at most as near as the last that did.
        lane = [self.bare[unit.id] for unit in embedded if "meaning" in unit.lanes]
        self.floor = min(lane, default=0.0)
        self.order = candidates.episodes
        self.place = candidates.places
        self.topics = {episode: self._best(units) for episode, units in candidates.episodes.items()}

    def of(self, unit: Candidate) -> float:
        if unit.bare is None:
            return self.floor
        return max(0.0, BARE_SHARE * unit.bare + ASKED_SHARE * (unit.asked or 0.0))

    def around(self, unit: Candidate) -> float:
        if unit.id not in self.place:
            return self._known(unit.id)
        episode, position = self.place[unit.id]
        mates = self.order[episode]
        before = mates[position - 1] if position else unit.id
        after = mates[position + 1] if position + 1 < len(mates) else unit.id
        return BEFORE * self._known(before) + AFTER * self._known(after)

    def topic(self, unit: Candidate) -> float:
        return self.topics[unit.episode_id or 0] if unit.id in self.place else self._known(unit.id)

    def _known(self, unit: int) -> float:
        return max(self.floor, self.bare.get(unit, self.floor))

    def _best(self, units: list[int]) -> float:
        best = sorted((self._known(unit) for unit in units), reverse=True)[:3]
        return sum(best) / len(best)


def speaker(names: list[str], said_by: str) -> float:
    """Return 1 when the speaker is the person asked about; less for a second person named."""
    if not names:
        return 0.5
    first = said_by.split(" ", 1)[0]
    if first not in names:
        return 0.0
    if len(names) == 1:
        return 1.0
    return 0.8 if first == names[0] else 0.2


def date(cues: list[understand.Cue], unit: Candidate) -> float:
    """Return 1 inside the time asked about or a day beside it, then fading over weeks."""
    if not cues:
        return 0.0
    days = min(cue.distance(unit.at, unit.until) for cue in cues)
    return 1.0 if days <= 1 else 0.8 * math.exp(-days / 7)


def trust(unit: Candidate) -> float:
    """Return the trust; low for what Keno said itself, which is not evidence."""
    return 0.2 if unit.role == "assistant" else unit.trust


def recency(unit: Candidate, now: datetime) -> float:
    """Return 1 for today: what has held since 2018 is as new as the day it was learned."""
    days = max(0.0, (now - unit.until).total_seconds() / 86400)
    return 0.5 ** (days / HALF_YEAR)


def channel(of_unit: int | None, asked_in: int | None) -> float:
    """Return 1 in the same chat, .25 for the whole space, 0 elsewhere."""
    if asked_in is None:
        return 0.0
    return 0.25 if of_unit is None else float(of_unit == asked_in)
