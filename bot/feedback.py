"""After a reply: the lines about what was learned, and a check of how good the answer was."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from memory.extraction import ingest, tags
from memory.extraction.apply import PLAN, Applied
from memory.extraction.wording import told_to
from memory.facts import plans
from memory.models import Fact, Message
from memory.models.prepared import prepared
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
    """Return the facts that were just learned from these messages, in their order."""
    lines = ingest.learned_from(group)
    pks = [line["fact"] for line in lines if line["outcome"] in LEARNED_OUTCOMES]
    rows = once(("learned", *pks), lambda: _learned(facts=pks)) if pks else []
    facts = {fact.pk: fact for fact in rows}
    return [facts[pk] for pk in dict.fromkeys(pks) if pk in facts]


@prepared(facts="bigint[]")
def _learned(facts):
    return Fact.objects.select_related("reminder").filter(pk__any_of=facts)


def correction_line(group: Sequence[Message], learned: Sequence[Applied], *, person: str) -> str:
    """Return what the reply adds when a fact was superseded, else nothing."""
    old = [fact["text"] for line in ingest.learned_from(group) for fact in line.get("before", ())]
    new = [tag.done.row.pk for tag in learned if tag.tag == tags.FACT and _is_new(tag)]
    if new:
        superseded = Fact.objects.filter(superseded_by__in=new).order_by("pk")
        old += [fact.text for fact in superseded]
    texts = [told_to(person, words) for words in dict.fromkeys(old)]
    return _("Corrected. Until now: %(old)s") % {"old": "; ".join(texts)} if texts else ""


def lines_below(reply: str, group: Sequence[Message], learned: Sequence[Applied]) -> str:
    """Return the lines to add below the reply; what it says itself is left out."""
    rows = [*facts_of(group), *(tag.done.row for tag in learned if _is_new(tag))]
    fresh = list({(type(row), row.pk): row for row in rows}.values())
    if not fresh:
        return ""
    said = text.normalise(reply)
    unsaid = [words for row in fresh if not _is_in(said, words := _words(row), row)]
    lines = [_("Noted — %(text)s") % {"text": words} for words in unsaid[:MAX_LINES]]
    if len(unsaid) > MAX_LINES:
        lines.append(_("… and %(n)d more.") % {"n": len(unsaid) - MAX_LINES})
    return "\n".join([*lines, _("(/undo takes it back)")])


def _is_new(tag: Applied) -> bool:
    is_new = tag.done and tag.done.changed and tag.done.outcome in LEARNED_OUTCOMES
    return bool(is_new and tag.done.row and tag.tag in SHOWN_TAGS)


def _is_in(reply: str, words: str, row: object) -> bool:
    forms = (words, told_to(getattr(row, "said_by", ""), words))
    return any(text.normalise(form) in reply for form in forms)


def _words(row: Any) -> str:
    words = text.short(getattr(row, "text", "") or getattr(row, "body", ""), 200)
    reminder = getattr(row, "reminder", None)
    return f"{words} ({plans.when_words(row)})" if reminder and reminder.next_at else words


@dataclass(frozen=True)
class Check:
    """How good an answer looks, and what speaks against it."""

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
    """Return the share, 0..1, of the answer's longer words that the question had already."""
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
