"""What people could use instead: the plain ways to retrieve, over the same memories.

Every one sees a turn as "speaker: text"; dense ones compare by Keno's own embedding model.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from bench.questions import Conversation, Memory
from memory.retrieval import classic
from memory.retrieval.keywords import keywords, match
from memory.text import normalise as text
from memory.vectors import embed

DEEP = 100


class Rival:
    """hold() takes the memories of one conversation, ask() ranks their places."""

    name = ""

    def hold(self, conversation: Conversation, vectors: np.ndarray) -> None:
        self.memories = conversation.memories
        self.texts = [memory.spoken for memory in conversation.memories]
        self.vectors = vectors
        self.now = conversation.now
        self.language = conversation.language
        self.prepare()

    def prepare(self) -> None: ...

    def ask(self, question: str, vector: np.ndarray) -> list[int]:
        raise NotImplementedError


class Keywords(Rival):
    """Seed 000: words of more than three letters, found anywhere in the lower-cased text."""

    name = "seed000 keywords"

    def prepare(self):
        dates = (memory.at.strftime("%-d %B %Y") for memory in self.memories)
        self.lower = [f"({d}) {t}".lower() for d, t in zip(dates, self.texts, strict=True)]

    def ask(self, question, vector):
        wanted = [word for word in question.lower().split() if len(word) > 3]
        return best(np.array([sum(w in line for w in wanted) for line in self.lower]), floor=0)


class Matcher(Rival):
    """KenoBot's code: three points for a whole word, one for a part."""

    name = "kenobot matcher"

    def ask(self, question, vector):
        place = {id(line): number for number, line in enumerate(self.texts)}
        hits = match(self.texts, keywords(question), limit=DEEP)
        return [place[id(hit.text)] for hit in hits]


class Bm25(Rival):
    name = "bm25"
    k1, b = 1.2, 0.75

    def prepare(self):
        docs = [stems(line, self.language) for line in self.texts]
        sizes = np.array([max(1, len(doc)) for doc in docs], dtype=float)
        self.norm = self.k1 * (1 - self.b + self.b * sizes / sizes.mean())
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, doc in enumerate(docs):
            for stem, count in Counter(doc).items():
                self.postings[stem].append((number, count))

    def scores(self, question: str) -> np.ndarray:
        scores, size = np.zeros(len(self.texts)), len(self.texts)
        for stem in set(stems(question, self.language)):
            held = self.postings.get(stem, [])
            idf = math.log1p((size - len(held) + 0.5) / (len(held) + 0.5))
            for number, count in held:
                scores[number] += idf * count * (self.k1 + 1) / (count + self.norm[number])
        return scores

    def ask(self, question, vector):
        return best(self.scores(question), floor=0)


class Dense(Rival):
    name = "dense"

    def ask(self, question, vector):
        return best(self.vectors @ vector)


class Rrf(Bm25):
    """Reciprocal rank fusion of the two, k = 60."""

    name = "rrf(bm25, dense)"

    def ask(self, question, vector):
        fused: Counter[int] = Counter()
        for ranking in (best(self.scores(question), floor=0), best(self.vectors @ vector)):
            for place, number in enumerate(ranking[:DEEP], start=1):
                fused[number] += 1 / (60 + place)
        return [number for number, _ in fused.most_common()]


class Seed004(Rival):
    """Its formula over every memory; a turn has no confidence, so all get .8, and one channel."""

    name = "seed004"

    def ask(self, question, vector):
        near = np.clip(self.vectors @ vector, 0, 1)
        scores = [self._score(question, number, near[number]) for number in range(len(self.texts))]
        return best(np.array(scores))

    def _score(self, question: str, number: int, semantic: float) -> float:
        weights = classic.WITH_MEANING
        lexical = classic.lexical(question, self.texts[number])
        recency = classic.recency(self.memories[number].at, self.now)
        return (
            weights["semantic"] * semantic
            + weights["lexical"] * lexical
            + weights["confidence"] * 0.8
            + weights["recency"] * recency
            + weights["channel"]
        )


ALL = (Keywords, Matcher, Bm25, Dense, Rrf, Seed004)


def best(scores: np.ndarray, *, floor: float | None = None) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:DEEP]
    return [int(n) for n in order if floor is None or scores[n] > floor]


def stems(said: str, language: str) -> list[str]:
    stops = text.STOP_WORDS[language]
    return [text.stem(word, language) for word in _words(said) if word not in stops]


def _words(said: str) -> Iterator[str]:
    return (word.removesuffix("'s") for word in re.findall(r"[\w']+", said.lower()))


def vectors_of(memories: list[Memory]) -> np.ndarray:
    return np.asarray(embed.embed([memory.spoken for memory in memories]))
