"""After a reply: the lines about what was learned, and a look back at how good the answer was."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from memory.extraction import ingest, tags
from memory.extraction.apply import PLAN, Applied
from memory.extraction.wording import told_to
from memory.facts import plans
from memory.models import Fact, Message
from memory.models.space import once
from memory.text import normalise as text

# Outcomes after which something is believed that was not believed before.
LEARNED_OUTCOMES = {"new", "restored", "done", "superseded"}
SHOWN_TAGS = {tags.FACT, tags.CHAT, "lore", PLAN}
MAX_LINES = 4
SHORT = 10
LONG_QUESTION = 100
HEDGES = re.compile(
    r"\b(?:i think|maybe|not sure|i(?:'| a)m not (?:certain|confident)|probably|possibly|perhaps"
    r"|no (?:tengo|estoy) segur[oa]|creo que|tal vez|quizás?|a lo mejor|probablemente)\b"
)
PENALTIES = {
    "response_too_short": 0.6,
    "response_shorter_than_expected": 0.2,
    "excessive_hedging": 0.3,
    "mild_hedging": 0.1,
    "high_repetition": 0.2,
    "no_memory_context": 0.15,
    "forbidden_phrase": 0.3,
}


def facts_of(group: Sequence[Message]) -> list[Fact]:
    """The facts that were just learned from these messages, in their order."""
    lines = ingest.learned_from(group)
    pks = [line["fact"] for line in lines if line["outcome"] in LEARNED_OUTCOMES]
    rows = Fact.objects.select_related("reminder")
    found = once(("learned", *pks), lambda: rows.in_bulk(pks)) if pks else {}
    return [found[pk] for pk in dict.fromkeys(pks) if pk in found]


def corrected(group: Sequence[Message], learned: Sequence[Applied], *, person: str) -> str:
    """What the reply adds when something gave way, and only then."""
    gone = [old["text"] for line in ingest.learned_from(group) for old in line.get("before", ())]
    gone += [old.text for old in _superseded_by(learned)]
    told = [told_to(person, old) for old in dict.fromkeys(gone)]
    return _("Corrected. Until now: %(old)s") % {"old": "; ".join(told)} if told else ""


def lines_below(reply: str, group: Sequence[Message], learned: Sequence[Applied]) -> str:
    """The lines to add below the reply; what it says itself is not said again."""
    rows = [*facts_of(group), *(one.done.row for one in learned if _is_new(one))]
    fresh = list({(type(row), row.pk): row for row in rows}.values())
    if not fresh:
        return ""
    said = text.normalise(reply)
    unsaid = [words for row in fresh if not _is_in(said, words := _words(row), row)]
    lines = [_("Noted — %(text)s") % {"text": one} for one in unsaid[:MAX_LINES]]
    if len(unsaid) > MAX_LINES:
        lines.append(_("… and %(n)d more.") % {"n": len(unsaid) - MAX_LINES})
    return "\n".join([*lines, _("(/undo takes it back)")])


def _superseded_by(learned: Sequence[Applied]) -> Iterable[Fact]:
    new = [one.done.row.pk for one in learned if one.tag == tags.FACT and _is_new(one)]
    return Fact.objects.filter(superseded_by__in=new).order_by("pk") if new else []


def _is_new(one: Applied) -> bool:
    is_new = one.done and one.done.changed and one.done.outcome in LEARNED_OUTCOMES
    return bool(is_new and one.done.row and one.tag in SHOWN_TAGS)


def _is_in(said: str, one: str, row: object) -> bool:
    told = (one, told_to(getattr(row, "said_by", ""), one))
    return any(text.normalise(words) in said for words in told)


def _words(row: Any) -> str:
    words = text.short(getattr(row, "text", "") or getattr(row, "body", ""), 200)
    reminder = getattr(row, "reminder", None)
    return f"{words} ({plans.when_words(row)})" if reminder and reminder.next_at else words


@dataclass(frozen=True)
class Check:
    """How good an answer looks, and by which signs."""

    score: float
    quality: str
    signals: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)


def check(answer: str, *, question: str, had_memory: bool, forbidden: Sequence[str] = ()) -> Check:
    """`forbidden` are the phrases of the rules that the answer was found to contain."""
    signals = [
        *_length(answer, question),
        *_hedging(answer),
        *(["high_repetition"] if repetition(answer, question) > 0.6 else []),
        *([] if had_memory else ["no_memory_context"]),
        *(["forbidden_phrase"] if forbidden else []),
    ]
    score = round(max(0.0, 1 - sum(PENALTIES[signal] for signal in signals)), 2)
    quality = "poor" if score < 0.5 else "uncertain" if score < 0.7 else "good"
    return Check(score, quality, signals, list(forbidden))


def repetition(answer: str, question: str) -> float:
    """Which part of the answer's longer words the question had already, 0..1."""
    mine = [word for word in text.words(answer) if len(word) > 3]
    theirs = {word for word in text.words(question) if len(word) > 3}
    return sum(word in theirs for word in mine) / len(mine) if mine else 0.0


def _length(answer: str, question: str) -> list[str]:
    length = len(answer.strip())
    found = ["response_too_short"] if length < SHORT else []
    if len(question) > LONG_QUESTION and length < 0.3 * len(question):
        found.append("response_shorter_than_expected")
    return found


def _hedging(answer: str) -> list[str]:
    count = len(HEDGES.findall(answer.lower().replace("’", "'")))
    return ["excessive_hedging"] if count > 1 else ["mild_hedging"] if count else []
