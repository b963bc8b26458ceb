"""Hear what lasts in a message: by cues, which are precise, and by the listener, which hears more.

Pure: no database, no network. Each thing heard is a stretch of the message with a kind, a score
and a verdict: believe it, or offer it to the person.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.extraction import checks, clauses, cues, edges, listener
from memory.extraction.clauses import Clause, core_of, is_real, statements
from memory.extraction.grammar import english, spanish_words
from memory.extraction.grammar.sentences import Sentence
from memory.extraction.listener import Span
from memory.extraction.rescheduling import DAY
from memory.options import Options
from memory.text import shorthand
from memory.text.normalise import detect_language

BELIEVE, OFFER = "believe", "offer"
CUES, LISTENER, BOTH = "cues", "listener", "both"
# The usual thresholds; a space may choose others.
BELIEVE_FROM, OFFER_FROM = Options().believe_from, Options().offer_from
# People state what lasts early; the rest of a longer text was pasted.
MAX_LENGTH = 4000
# What was heard, by the hash of the words: they themselves are not kept.
MAX_CACHED = 20_000
_cache: dict[int, list["Heard"]] = {}
# What the cues hear and the listener does not is less sure.
CUE_ALONE = 0.9
# The listener learned from longer messages: a short one that it hears whole is surer.
MAX_PLAIN_WORDS = 9
MIN_PLAIN_SHARE = 0.8
PLAIN_SCORE = 0.6
# A command, an answer, a tag that was typed, words to be repeated: not simply said.
_NOT_PLAIN = re.compile(
    r"^\W*(?:(?:ya )?no|not any ?more|yes|s[ií])(?:[,.;!]|$)|^\s*/|[<>{}\[\]|:=]", re.I
)
# The listener was taught no other letters, and Keno says that it learns nothing from them.
_LATIN = re.compile(r"[a-zà-ÿ]", re.I)
# A space that believes nothing by itself asks for 1.
SUREST = 0.999
# "Remember that …", said to Keno: believed also when nothing else speaks for it.
ASKED_TO_KEEP = 0.95
# "64.000 euros": its mark is no end, and a unit that ends the sentence belongs to it.
_NUMBER_GOES_ON = re.compile(r"(?<=\d)(?:[.,:]\d+)+(?: ?(?:[%€$£]|\w+)(?=[.!?;,\n]|\s*\Z))?")
_ENDS_IN_DAY = re.compile(rf"\b{DAY}\Z", re.I)
_DAYS_GO_ON = re.compile(rf"(?:(?:,| y| and| &)+ (?:(?:on|el|los) )?{DAY})+", re.I)
KIND_OF_CATEGORY = {
    "preference": "preference",
    "profile": "profile",
    "relationship": "people",
    "project": "plan",
}


@dataclass(frozen=True)
class Heard:
    """Characters `start` to `end` of a message are worth remembering.

    `needs_previous`: they answer the message before and state nothing without it.
    """

    start: int
    end: int
    quote: str
    kind: str
    score: float
    source: str
    verdict: str
    needs_previous: bool = False
    # The kind by the cues where they hear it too: what a fact is filed under.
    filed_as: str = ""


def hear_message(
    text: str,
    previous: str = "",
    *,
    language: str = "",
    believe_at: float = BELIEVE_FROM,
    offer_at: float = OFFER_FROM,
) -> list[Heard]:
    """Return what the message says that lasts, in its order.

    `previous` is the message before it by someone else, which an answer may need.
    """
    pairs = [(text, previous)]
    return hear_messages(pairs, language=language, believe_at=believe_at, offer_at=offer_at)[0]


def hear_messages(
    pairs: Sequence[tuple[str, str]],
    *,
    language: str = "",
    believe_at: float = BELIEVE_FROM,
    offer_at: float = OFFER_FROM,
) -> list[list[Heard]]:
    """Return what each (message, previous message) says that lasts, read side by side.

    The same words after the same words are heard once: people repeat themselves, imports even more.
    """
    if len(_cache) > MAX_CACHED:
        _cache.clear()
    keys = [hash((*pair, language, believe_at, offer_at)) for pair in pairs]
    known = {key: items for key in keys if (items := _cache.get(key)) is not None}
    unheard = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
    new = _hear(list(unheard.values()), language, believe_at, offer_at)
    for key, items in zip(unheard, new, strict=True):
        known[key] = _cache[key] = [replace(item, quote="") for item in items]
    return [
        [replace(item, quote=message[item.start : item.end]) for item in known[key]]
        for key, (message, _previous) in zip(keys, pairs, strict=True)
    ]


def _hear(
    pairs: Sequence[tuple[str, str]], language: str, believe_at: float, offer_at: float
) -> list[list[Heard]]:
    heard = []
    readings = [shorthand.read(message[:MAX_LENGTH]) for message, _ in pairs]
    before = [shorthand.written_out(previous[-MAX_LENGTH:]) for _, previous in pairs]
    own_words = [clauses.own_words(reading.text) for reading in readings]
    marked = listener.hear(list(zip(own_words, before, strict=True)))
    for reading, previous, spans in zip(readings, before, marked, strict=True):
        cued = hear_cues(reading.text, language=language)
        combined = combine(reading.text, previous, cued=cued, spans=spans)
        weighed = (_weigh(item, believe_at, offer_at) for item in combined)
        heard.append([_as_written(item, reading) for item in weighed if item.verdict])
    return heard


def _as_written(item: Heard, reading: shorthand.Reading) -> Heard:
    start, end = reading.span(item.start, item.end)
    return replace(item, start=start, end=end, quote=reading.written[start:end])


def hear_cues(message: str, *, language: str = "") -> list[Span]:
    """Return what the cues hear in the message, without the model."""
    language = detect_language(message) or language or "en"
    spans = (_cued(clause, language) for clause in statements(message) if is_real(clause.text))
    return [span for span in spans if span]


def combine(message: str, previous: str, *, cued: list[Span], spans: list[Span]) -> list[Heard]:
    """Join what both heard, and leave out what the checks find is not a fact."""
    if not _LATIN.search(message):
        return []
    heard, alone = [], list(cued)
    is_other = previous or _NOT_PLAIN.search(message)
    plain = 0.0 if is_other else _plainly(message, spans)
    for span in spans:
        agreeing = [cue for cue in cued if cue.start < span.end and span.start < cue.end]
        alone = [cue for cue in alone if cue not in agreeing]
        surest = max((cue.score for cue in agreeing), default=plain)
        score = 1 - (1 - span.score) * (1 - surest)
        source = BOTH if agreeing else LISTENER
        # The cue knows which words only greet: "buenas tardes, mi nombre es Claudia".
        start = max([span.start, *(cue.start for cue in agreeing[:1])])
        whole = replace(span, score=score, start=start, end=_whole_end(message, span, agreeing))
        filed_as = agreeing[0].kind if agreeing else ""
        heard.append(_heard(message, previous, whole, source, filed_as))
    heard += [
        _heard(message, previous, replace(cue, score=CUE_ALONE * cue.score), CUES) for cue in alone
    ]
    return sorted(filter(None, heard), key=lambda item: item.start)


def _plainly(message: str, spans: list[Span]) -> float:
    """Return how sure it is for its form alone: "I play the cello", said with nothing else."""
    words = len(message.split())
    covered = sum(len(message[span.start : span.end].split()) for span in spans)
    return PLAIN_SCORE if words <= MAX_PLAIN_WORDS and covered >= MIN_PLAIN_SHARE * words else 0.0


def _whole_end(message: str, span: Span, agreeing: list[Span]) -> int:
    """Return where the span ends; a title's point is not the end: "my doctor is Dr. Salas".

    Nor is it the first of several days: "I work Tuesdays and Thursdays"; nor a number's mark.
    """
    if number := _NUMBER_GOES_ON.match(message, span.end):
        return number.end()
    ends = [cue.end for cue in agreeing if cue.end > span.end]
    if ends and clauses.ends_in_title(message[: span.end]):
        return max(ends)
    more = _DAYS_GO_ON.match(message, span.end)
    return more.end() if more and _ENDS_IN_DAY.search(message, 0, span.end) else span.end


def _cued(clause: Clause, language: str) -> Span | None:
    bare = core_of(clause)
    likeliest = detect_language(bare.text) or language
    for tongue in ("es", "en") if likeliest == "es" else ("en", "es"):
        rest = cues.asked_to_remember(bare.text, tongue)
        asked = core_of(bare.part(len(bare.text) - len(rest), len(bare.text))) if rest else None
        stated = asked or bare
        clause_text = english.with_speaker(stated.text) if tongue == "en" else stated.text
        if cue := cues.find(clause_text, tongue):
            score = min(1.0, cue.confidence + (0.1 if asked else 0))
            kind = "past" if edges.is_over(stated.text) else KIND_OF_CATEGORY[cue.category]
            return Span(stated.start, stated.end, kind, score)
        if asked and (cues.states_something(asked.text) or _is_of_speaker(asked.text, tongue)):
            kind = "event" if _is_of_speaker(asked.text, tongue) else "lore"
            return Span(asked.start, asked.end, kind, ASKED_TO_KEEP)
    return None


def _is_of_speaker(text: str, language: str) -> bool:
    """Return whether it tells of the speaker: "I parked on level 3", "aparqué en la planta 3"."""
    sentence = Sentence(text)
    grammar = spanish_words if language == "es" else english
    first = {"i", "i'm", "i've", "yo", "me"}.intersection(sentence.words[:1])
    is_verb = language == "es" and sentence.words and spanish_words.first_form(sentence, 0)
    return bool(first or is_verb) and grammar.has_first_person(text)


def _heard(
    message: str, previous: str, span: Span, source: str, filed_as: str = ""
) -> Heard | None:
    if checks.problem(message, span.start, span.end, kind=span.kind, previous=previous):
        return None
    quote = message[span.start : span.end]
    needs_previous = checks.needs_previous(quote, previous)
    score = min(round(span.score, 3), SUREST)
    return Heard(
        span.start, span.end, quote, span.kind, score, source, "", needs_previous,
        filed_as or span.kind,
    )  # fmt: skip


def _weigh(item: Heard, believe_at: float, offer_at: float) -> Heard:
    verdict = BELIEVE if item.score >= believe_at else OFFER if item.score >= offer_at else ""
    return replace(item, verdict=verdict)
