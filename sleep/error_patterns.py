"""Find technical trouble in what people say: what failed, what helped, what it teaches.

A broken umbrella or a failed exam is not technical: a sentence must name both a failure and
something of a computer, and what failed must not be a person.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory.text.normalise import STOP_WORDS, detect_language, fold, short, words

_DATA = tomllib.loads(Path(__file__).with_name("error_words.toml").read_text("utf-8"))
ERROR_WORDS = frozenset(_DATA["error"].split())
TECHNICAL_WORDS = frozenset(_DATA["technical"].split())
_PATTERNS = {name: re.compile("".join(parts)) for name, parts in _DATA["patterns"].items()}
CATEGORIES = {name: frozenset(cues.split()) for name, cues in _DATA["categories"].items()}
TECHNICAL = "technical"
_NOT_SAID = N_("What solved it was not said.")
# What Keno did wrong itself, and how things are set up: the rest is others' trouble.
TEACHING = ("internal", "configuration")
DEFAULT_RULES = {
    "internal": N_("Check for this before answering; say so when it happens again."),
    "configuration": N_("Look at the settings first."),
}
_STAMP = re.compile(r"^\s*(?:#{1,6}\s*)?(?:\d{1,2}:\d{2}\s*(?:—|–|--|-)\s*)?(?:[-*]\s+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_STOPS = {fold(word) for some in STOP_WORDS.values() for word in some} | {"too", "again", "after"}
_WHEN_IT_IS = {
    "en": (re.compile(r" when (?:the|a|an) (\w+) is (\w+)$"), "on {article} {1} {0}"),
    "es": (re.compile(r" cuando (?:el|la|un|una) (\w+) está (\w+)$"), "con {0} {1}"),
}


@dataclass(frozen=True)
class Solution:
    """A problem that was met, and what helped, in the words of people."""

    problem: str
    answer: str

    @property
    def trigger(self) -> str:
        """The words of the problem that will be met again, joined by +."""
        return " + ".join(gist(self.problem)[:5])

    @property
    def remedy(self) -> str:
        """What to do, without saying that it helped."""
        bare = _without("works_tail", _without("solved_lead", self.answer)).strip(" .,:;")
        bare = bare if len(words(bare)) > 1 else self.answer.strip()
        # A name like "n8n" is not capitalised.
        return bare if re.match(r"[a-z]+\d", bare) else bare[:1].upper() + bare[1:]

    @property
    def title(self) -> str:
        return when(self.problem)


@dataclass(frozen=True)
class Lesson:
    """What one error teaches: what went wrong, what solved it, what to do, in people's words."""

    category: str
    error: str
    # What solved it, as it was said and as an instruction; both are empty when nobody said.
    answer: str
    remedy: str
    rule: str

    @property
    def title(self) -> str:
        return when(self.error)

    @property
    def text(self) -> str:
        """What is remembered: "When the import fails with error 7, try this first: …"."""
        with translation.override(self._language):
            values = {
                "when": self.title,
                "answer": _inside_sentence(self.remedy),
                "rule": _inside_sentence(self.rule),
            }
            if self.remedy and not self.rule:
                return _("%(when)s, try this first: %(answer)s.") % values
            helped = _("What helped: %(answer)s.") if self.remedy else _(_NOT_SAID)
            return f"{_('%(when)s, %(rule)s.') % values} {helped % values}"

    @property
    def lines(self) -> str:
        """The same for the person who decides about it, one line each."""
        with translation.override(self._language):
            values = {"answer": self.answer.rstrip(". "), "error": self.error.rstrip(". ")}
            solved = _("It was solved like this: “%(answer)s”.") if self.answer else _(_NOT_SAID)
            lines = (_("What happened: “%(error)s”.") % values, solved % values, self.rule)
            return "\n".join(line for line in lines if line)

    @property
    def _language(self) -> str:
        return detect_language(self.error) or "en"


def _says(pattern: str, text: str) -> bool:
    return bool(_PATTERNS[pattern].search(text))


def _without(pattern: str, text: str) -> str:
    return _PATTERNS[pattern].sub("", text)


def _inside_sentence(sentence: str) -> str:
    """Return it as it reads inside another sentence; a name in capitals stays."""
    bare = sentence.rstrip(". ")
    return bare if bare[1:2].isupper() else bare[:1].lower() + bare[1:]


def gist(problem: str) -> list[str]:
    """Return the words that distinguish this problem from others, each once."""
    kept = [word for word in words(problem) if len(word) > 2]
    return list(dict.fromkeys(w for w in kept if fold(w) not in _STOPS | ERROR_WORDS))


def is_error(text: str) -> bool:
    return any(map(is_trouble, sentences(text)))


def is_trouble(sentence: str) -> bool:
    flat = fold(sentence)
    said = set(words(flat))
    is_failure = bool(ERROR_WORDS & said) or _says("failing", flat)
    if not is_failure or _says("a_person_failed", flat):
        return False
    return bool(TECHNICAL_WORDS & said) or _says("code", sentence)


def classify(text: str) -> str:
    """Return whose trouble it is: one of CATEGORIES, else technical."""
    said = set(words(fold(text)))
    return next((name for name, cues in CATEGORIES.items() if cues & said), TECHNICAL)


def is_recoverable(text: str) -> bool:
    """Return whether trying again may help; unless it says it is fatal, it may."""
    folded = fold(text)
    if any(word in folded for word in ("timeout", "temporary", "retry", "temporal")):
        return True
    return not any(word in folded for word in ("fatal", "cannot recover", "irrecuperable"))


def error_line(text: str) -> str:
    """Return the first sentence that tells of trouble, a question only when nothing else does."""
    lines = [line for line in sentences(text) if is_trouble(line)]
    return min(lines, key=lambda line: line.endswith("?"), default="")


def solution(text: str) -> Solution | None:
    problem, lines = error_line(text), sentences(text)
    if not problem or problem.endswith("?"):
        return None
    # One sentence may tell both: "It fails with 401, fixed with the token in the query".
    for line in lines[lines.index(problem) :]:
        flat = fold(line)
        if line != problem and _says("solved", flat) and not line.endswith("?"):
            result = Solution(short(problem, 160), short(line, 200))
            return None if _says("not_solved", flat) or not result.trigger else result
    return None


def lesson(text: str, *, category: str = "", rule: str = "") -> Lesson | None:
    """Return what to learn from trouble of our own; nothing from the network's or a person's.

    A given category or rule is preferred to what the words say.
    """
    line = error_line(text)
    category = category or classify(line)
    if not line or line.endswith("?") or category not in TEACHING:
        return None
    solved = solution(text)
    if not rule and not solved:
        with translation.override(detect_language(line) or "en"):
            rule = _(DEFAULT_RULES[category])
    return Lesson(
        category=category,
        error=short(line, 160),
        answer=solved.answer if solved else "",
        remedy=solved.remedy if solved else "",
        rule=rule,
    )


def when(problem: str) -> str:
    """Name the trouble as a person would: "When the search page crashes on an empty query"."""
    language = detect_language(problem) or "en"
    bare = _without("error_lead", problem.strip()).rstrip(".!")
    bare = _without("empty_words", bare)
    present = _DATA["present"][language]
    text = re.sub(r"[^\W\d_]+", lambda match: present.get(match[0].lower(), match[0]), bare)
    pattern, form = _WHEN_IT_IS[language]
    if match := pattern.search(text):
        article = "an" if match[2][:1] in "aeiou" else "a"
        text = f"{text[: match.start()]} {form.format(*match.groups(), article=article)}"
    when_, because, and_ = _LINKS[language]
    text = text.split(f" {when_.lower()} ")[0]
    text = re.sub(r"(?<=\w) ?, (.*)$", lambda rest: _linked(rest[1], because, and_), text)
    first = text.partition(" ")[0]
    if fold(first) in _STOPS | ERROR_WORDS:
        text = text[:1].lower() + text[1:]
    return short(f"{when_} {text}", 120)


def habit_title(trigger: str, evidence: list[dict]) -> str:
    """Name a habit by the trouble it answers; by its trigger when that is not made of it."""
    problem = str(evidence[0].get("quote") or "") if evidence else ""
    return when(problem) if problem and Solution(problem, "").trigger == trigger else trigger


_LINKS = {"en": ("When", "because", "and"), "es": ("Cuando", "porque", "y")}


def _linked(rest: str, because: str, and_: str) -> str:
    """Join what follows a comma: it is the cause, unless it fails too."""
    return f" {and_ if ERROR_WORDS & set(words(fold(rest))) else because} {rest}"


def sentences(text: str) -> list[str]:
    parts = (_STAMP.sub("", part).strip() for part in _SENTENCE.split(text))
    return [part for part in parts if part]
