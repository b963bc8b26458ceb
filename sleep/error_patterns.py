"""Errors in what happened, what solved them, and what they teach. Pure, English and Spanish."""

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory.text.normalise import STOP_WORDS, fold, short, words

ERROR_WORDS = {
    "error", "errors", "fail", "fails", "failed", "failing", "failure", "exception", "crash",
    "crashed", "crashes", "traceback", "broke", "fallo", "falla", "fallaba", "fallaron", "errores",
    "excepcion", "fallando",
}  # fmt: skip
SOLVED_WORDS = {
    "solved", "fixed", "solution", "resolved", "worked", "works", "fix", "resuelto", "resolvio",
    "resolvimos", "solucion", "solucionado", "arreglado", "arregle", "arreglamos", "funciono",
    "funciona",
}  # fmt: skip
NOT_SOLVED_PHRASES = ("nothing was done", "did not work", "didn't work", "not fixed", "not solved",
              "no funciono", "no funciona", "sin solucion", "not resolved")  # fmt: skip

# First match wins, as in the documents; whole words, both languages.
CATEGORIES: tuple[tuple[str, set[str]], ...] = (
    ("external", {"network", "timeout", "econnrefused", "econnreset", "dns", "unreachable", "429",
                  "502", "503", "504", "red", "conexion", "timed", "overloaded"}),
    ("configuration", {"config", "configuration", "missing", "undefined", "misconfigured", "env",
                       "unset", "configuracion", "falta", "faltaba", "indefinido"}),
    ("user", {"invalid", "unexpected", "typo", "misspelled", "invalido", "invalida", "inesperado"}),
)  # fmt: skip
OWN_CATEGORIES = ("internal", "configuration")
LESSON_PREFIX = {"internal": N_("Error encountered"), "configuration": N_("Configuration issue")}
DEFAULT_RULES = {
    "internal": N_("Check for this before answering; say so when it happens again."),
    "configuration": N_("Check the configuration first when this shows up."),
}
_STAMP = re.compile(r"^\s*(?:#{1,6}\s*)?(?:\d{1,2}:\d{2}\s*(?:—|–|--|-)\s*)?(?:[-*]\s+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_STOPS = {fold(word) for some in STOP_WORDS.values() for word in some}


@dataclass(frozen=True)
class Solution:
    """A problem that was met, and what helped."""

    problem: str
    answer: str

    @property
    def trigger(self) -> str:
        """The words of the problem that will be met again, joined by +."""
        kept = dict.fromkeys(
            word for word in words(self.problem) if len(word) > 2 and fold(word) not in _STOPS
        )
        return " + ".join(list(kept)[:5])


@dataclass(frozen=True)
class Lesson:
    """What one own error teaches, in the four fields of the documents."""

    category: str
    error: str
    result: str
    lesson: str
    rule: str

    @property
    def text(self) -> str:
        return short(self.lesson, 190)

    @property
    def told(self) -> str:
        parts = (
            (_("Error"), self.error),
            (_("Result"), self.result),
            (_("Lesson"), self.lesson),
            (_("Rule"), self.rule),
        )
        return "\n".join(f"{name}: {text}" for name, text in parts)


def is_error(text: str) -> bool:
    return bool(ERROR_WORDS & set(words(fold(text))))


def classify(text: str) -> str:
    said = set(words(fold(text)))
    return next((name for name, cues in CATEGORIES if cues & said), "internal")


def recoverable(text: str) -> bool:
    """Whether trying again may help; unless it says it is fatal, it may."""
    flat = fold(text)
    if any(word in flat for word in ("timeout", "temporary", "retry", "temporal")):
        return True
    return not any(word in flat for word in ("fatal", "cannot recover", "irrecuperable"))


def error_line(text: str) -> str:
    """The first sentence that speaks of an error, without its time stamp."""
    return next((line for line in sentences(text) if is_error(line)), "")


def solution(text: str) -> Solution | None:
    """The problem and what solved it, when the text tells both."""
    if any(phrase in fold(text) for phrase in NOT_SOLVED_PHRASES):
        return None
    problem = error_line(text)
    answer = next((line for line in sentences(text) if SOLVED_WORDS & set(words(fold(line)))), "")
    if not problem or not answer:
        return None
    found = Solution(short(problem, 100), short(answer, 200))
    return found if found.trigger else None


def lesson(text: str, *, category: str = "", rule: str = "") -> Lesson | None:
    """What to learn from an own error; nothing from the network's or a person's.

    A category or a rule that somebody knows better goes before what the words say.
    """
    line, category = error_line(text), category or classify(text)
    if len(line) < 10 or category not in OWN_CATEGORIES:
        return None
    solved = solution(text)
    first = _("Try first: %(answer)s") % {"answer": solved.answer} if solved else ""
    return Lesson(
        category=category,
        error=short(line, 160),
        result=solved.answer if solved else _("No solution was noted."),
        lesson=f"{_(LESSON_PREFIX[category])}: {short(line, 150)}",
        rule=rule or first or _(DEFAULT_RULES[category]),
    )


def sentences(text: str) -> list[str]:
    parts = (_STAMP.sub("", part).strip() for part in _SENTENCE.split(text))
    return [part for part in parts if part]
