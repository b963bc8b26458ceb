"""Apply a profile to the candidates: scores with their parts, and its gate."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from memory.retrieval import classic, features, gate, judge, ranking
from memory.retrieval.lanes import KINDS, Candidate, Candidates
from memory.retrieval.profiles import Profile, built_in
from memory.retrieval.ranking import Scored
from memory.retrieval.understand import Question
from memory.text import normalise as words

# Likeness in meaning that says nothing yet, and that says all.
FAR = 0.3
NEAR = 0.5
# A share of the words that counts as all of them.
ALL = 0.999
Passes = Callable[[Scored], bool]


def score(
    profile: Profile,
    question: Question,
    candidates: Candidates,
    *,
    now: datetime,
    chat_id: int | None = None,
    strict: bool = False,
    prompt: bool = False,
    judge_ms: float = 0.0,
) -> tuple[list[Scored], Passes, int]:
    """Return every candidate, best first, a test whether one passes the gate, and how many of the
    best the judge had no time for.

    `judge_ms` is the time the judge may take to read the best of them; 0 leaves it out, and
    without end it thinks the same every time.
    """
    values = features.compute(question, candidates, now=now, chat_id=chat_id)
    passes, unread = None, 0
    if profile.formula == "classic":
        ranked, passes = _classic(question, candidates, now=now, chat_id=chat_id)
    else:
        ranked, unread = _keno(profile, question, candidates, values, judge_ms)
    _estimate(profile, ranked, values)
    ranked = ranking.newer_first(ranked)
    return ranked, passes or _gate_test(profile, strict=strict, prompt=prompt), unread


def confidence(profile: Profile, chosen: list[Scored]) -> float:
    """Return how likely the answer is among these: by what the judge thinks of the best of them.

    How far it is ahead of the others counts against it: where the judge likes nothing else, the
    memories are about something else. Without a judge, the likeliest of them says it.
    """
    judged = [item.features for item in chosen if item.features.get("answers")]
    if not judged:
        return max((item.confidence for item in chosen), default=0.0)
    best = max(judged, key=lambda features: features["answers"])
    return round(gate.probability(best, _curves(profile)["recall"]), 4)


def _curves(profile: Profile) -> dict[str, dict[str, float]]:
    """One scale for every profile: the curves are keno's where a profile has none."""
    return profile.settings["gate"].get("curves") or built_in("keno").settings["gate"]["curves"]


def _estimate(profile: Profile, ranked: list[Scored], values: dict) -> None:
    """Set how likely each is to the point."""
    if not ranked:
        return
    curves = _curves(profile)
    best, most = ranked[0].score, sum(map(abs, ranked[0].columns[2]))
    opinions = [row["answers"] for row in values.values() if row["answers"]]
    usual = sum(opinions) / len(opinions) if opinions else 0.0
    for item in ranked:
        row = values[item.unit.id]
        item.features = row | {
            # By its rarest word, or in other words and other languages by its meaning.
            "about": max(row["rare"], min(1.0, (row["semantic"] - FAR) / (NEAR - FAR))),
            # How far behind the best it lies, as a share of all weights; what holds every word
            # that was asked for is not behind.
            "lead": 0.0 if row["words"] > ALL else (item.score - best) / most,
            # The judge says yes to everything where a question is vague: what counts is the rest.
            "ahead": max(0.0, row["answers"] - usual),
        }
        curve = curves["fact" if item.unit.kind == "fact" else "talk"]
        item.confidence = round(gate.probability(item.features, curve), 4)


def _keno(
    profile: Profile, question: Question, candidates: Candidates, values: dict, judge_ms: float
) -> tuple[list[Scored], int]:
    """Rank by what is known, let the judge read the best, then see to variety."""
    units, weights, unread = candidates.units, profile.weights, 0
    table = ranking.Table(units, values, weights)
    if weights.get("answers") and judge_ms and len(units) > 1:
        alike = _alike(units, table.order())
        best = list(alike)[: judge.MAX_JUDGED]
        for place in best:
            units[place].replies_to = candidates.question_before(units[place])
        memories = [judge.as_read(units[place], question.text) for place in best]
        opinions = judge.opinions(question.text, memories, budget_ms=judge_ms)
        read = zip(best, opinions, strict=False)
        answers = {same: opinion for place, opinion in read for same in alike[place]}
        table.fill("answers", answers, into=values)
        unread = len(best) - len(opinions)
    if weights.get("crowd"):
        table.fill("crowd", ranking.crowding(units, table.order()), into=values)
    return table.ranked(), unread


def _alike(units: Sequence[Candidate], order: Iterable[int]) -> dict[int, list[int]]:
    """Put a fact and the message it was heard in together, which the judge reads once.

    The place of the better one -> the places of all that say it.
    """
    first: dict[str, int] = {}
    alike: dict[int, list[int]] = {}
    for place in order:
        text = words.fold(units[place].quote or units[place].text).strip(" .!")
        alike.setdefault(first.setdefault(text, place), []).append(place)
    return alike


def _gate_test(profile: Profile, *, strict: bool, prompt: bool) -> Passes:
    """Return the gate's test: each memory must be likely by itself, surely so in strict mode."""
    limits = profile.settings["gate"]
    least = {kind: gate.line(limits, kind, strict=strict, prompt=prompt) for kind in KINDS}
    return lambda item: item.confidence >= least[item.unit.kind]


def _classic(
    question: Question, candidates: Candidates, *, now: datetime, chat_id: int | None
) -> tuple[list[Scored], Passes]:
    values = {
        unit.id: classic.features(question.text, unit, now=now, chat_id=chat_id)
        for unit in candidates.units
    }
    # Meaning counts as available when at least one likeness is positive.
    meaning = any(item["semantic"] > 0 for item in values.values())
    ranked = ranking.rank(candidates.units, values, classic.weights(meaning=meaning))
    if not meaning and not classic.tokens(question.text, 32):
        return ranked, lambda item: True
    return ranked, lambda item: classic.passes(values[item.unit.id], item.score, meaning=meaning)
