"""Technical trouble that people tell of: what failed, what helped, what it teaches. Pure, English
and Spanish.

A broken umbrella or a failed exam is not technical: a sentence must name both a failure and
something of a computer, and what failed must not be a person.
"""

import re
from dataclasses import dataclass

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory.text.normalise import STOP_WORDS, detect_language, fold, short, words

ERROR_WORDS = frozenset(
    "error errors fail fails failed failing failure exception crash crashed crashes crashing "
    "traceback timeout bug fallo falla fallaba fallan fallaron fallando errores excepcion trono "
    "crasheo crashea".split()
)
_FAILING = re.compile(
    r"\b(?:times? out|timed out|(?:does not|doesn't|did not|didn't|stopped) work(?:ing)?|"
    r"no funciona|no jala|se (?:cayo|cae|cuelga|colgo)|dejo de funcionar|"
    r"(?:gives?|gave|returns?|returned|answers?|answered|with|da|daba|dio|devuelve|responde|con)"
    r" (?:an? |un )?[45]\d\d)\b"
)
TECHNICAL_WORDS = frozenset(
    "server servers webhook webhooks deploy deploys deployment build builds pipeline tests backup "
    "backups snapshot restore import export script page site website app application database disk "
    "query config configuration token api certificate certbot port docker container network wifi "
    "router dns login file files log logs request response endpoint job worker queue cache memory "
    "cpu kernel driver update upgrade install installation package dependency library module code "
    "repo repository branch commit git github python node npm bun rust postgres mysql redis nginx "
    "caddy ssh ssl tls http https url json csv xml encoding report parser model provider staging "
    "production bot keno builder input output variable env "
    "servidor servidores despliegue compilacion respaldo restauracion importacion exportacion "
    "pagina sitio web aplicacion base consulta disco configuracion certificado puerto contenedor "
    "red correo archivo fichero registro peticion solicitud cola memoria controlador actualizacion "
    "instalacion paquete dependencia biblioteca modulo codigo repositorio rama reporte informe "
    "modelo proveedor sistema programa".split()
)
# 401, ValueError, REPORT_TO, app.py, n8n
_CODE = re.compile(
    r"\b(?:[45]\d\d|[A-Z]\w*(?:Error|Exception)|[A-Z]{2,}_[A-Z_]+|\w+\.(?:py|js|ts|sh|json|ya?ml)|"
    r"[a-z]+\d+[a-z]+|E[A-Z]{5,})\b"
)
_A_PERSON_FAILED = re.compile(
    r"\b(?:i|he|she|we|you|they|my \w+) (?:\w+ )?(?:fail|failed|fails|crashed|crash)\b"
)
_SOLVED = re.compile(
    r"\b(?:solved|fixed|resolved|the (?:fix|solution)|(?:it|that) worked|worked (?:with|after)|"
    r"works (?:now|again|when|if|with|fine)|resuelto|resolvi|resolvio|resolvimos|solucionado|"
    r"solucione|solucion|arreglado|arregle|arreglo|arreglamos|ya funciona|funciono|"
    r"funciona (?:si|con|cuando|de nuevo|otra vez))\b"
)
_NOT_SOLVED = re.compile(
    r"\b(?:nothing was done|(?:did not|didn't|not) (?:work|fixed|solved|resolved)|no funciono|"
    r"sin solucion)\b"
)
_SOLVED_LEAD = re.compile(
    r"^(?:(?:fixed|solved|resolved|resuelto|solucionado|arreglado)(?: it| that)?|"
    r"(?:the fix|the solution|la soluci[oó]n)(?: (?:was|is|es|era|fue))?|"
    r"se (?:arregl[oó]|resolvi[oó]|solucion[oó])|lo (?:arregl[eé]|resolv[ií]|solucion[eé]))"
    r"\s*[:,.—-]*\s*(?:by |al )?",
    re.IGNORECASE,
)
_WORKS_TAIL = re.compile(
    r"(?:[,;]\s*(?:and |y )?|\s+(?:and|y)\s+)(?:it|that|the \w+|ya|el \w+|la \w+|\w+)?"
    r"\s*(?:works?|worked|funciona|funcion[oó])(?: \w+){0,2}\s*[.!]*$",
    re.IGNORECASE,
)
# First match wins, as in the documents; whole words, both languages.
CATEGORIES: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (name, frozenset(cues.split()))
    for name, cues in (
        (
            "external",
            "network timeout econnrefused econnreset dns unreachable 429 502 503 504 red conexion "
            "timed overloaded",
        ),
        (
            "configuration",
            "config configuration missing undefined misconfigured env unset configuracion falta "
            "faltaba faltaban indefinido",
        ),
        ("user", "invalid unexpected typo misspelled invalido invalida inesperado"),
        ("internal", "keno bot assistant asistente internal interno reply builder prompt"),
    )
)
TECHNICAL = "technical"
# What Keno did wrong itself, and how things are set up: the rest is others' trouble.
TEACHING = ("internal", "configuration")
DEFAULT_RULES = {
    "internal": N_("Check for this before answering; say so when it happens again."),
    "configuration": N_("Look at the settings first."),
}
_ERROR_LEAD = re.compile(r"^(?:error|fallo)\s*:\s*", re.IGNORECASE)
_STAMP = re.compile(r"^\s*(?:#{1,6}\s*)?(?:\d{1,2}:\d{2}\s*(?:—|–|--|-)\s*)?(?:[-*]\s+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_STOPS = {fold(word) for some in STOP_WORDS.values() for word in some} | {"too", "again", "after"}
# What happened, told as what happens: only these, so that no verb is bent wrongly.
_PRESENT = {
    "en": {
        "failed": "fails", "crashed": "crashes", "gave": "gives", "returned": "returns",
        "answered": "answers", "was": "is", "were": "are", "broke": "breaks", "stopped": "stops",
        "threw": "throws", "expired": "expires", "did": "does", "called": "calls", "had": "has",
        "could": "can", "timed": "times",
    },
    "es": {
        "falló": "falla", "fallo": "falla", "fallaba": "falla", "fallaron": "fallan", "dio": "da",
        "daba": "da", "era": "es", "estaba": "está", "estaban": "están", "faltaba": "falta",
        "faltaban": "faltan", "cayó": "cae", "tronó": "truena", "dejó": "deja", "llamó": "llama",
        "marcó": "marca", "crasheó": "crashea", "podía": "puede",
    },
}  # fmt: skip
_EMPTY_WORDS = re.compile(
    r",? (?:with an error|con un error)(?=[ .:,]|$)|(?:,? (?:again|too|otra vez|de nuevo|también))",
    re.IGNORECASE,
)
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
        bare = _WORKS_TAIL.sub("", _SOLVED_LEAD.sub("", self.answer)).strip(" .,:;")
        bare = bare if len(words(bare)) > 1 else self.answer.strip()
        # "n8n" is not a word to write large.
        is_name = bool(re.match(r"[a-z]+\d", bare))
        return bare if is_name else bare[:1].upper() + bare[1:]

    @property
    def title(self) -> str:
        return when(self.problem)


@dataclass(frozen=True)
class Lesson:
    """What one error teaches: what went wrong, what solved it, what to do; as its talk told it."""

    category: str
    error: str
    # What solved it, in somebody's words, and as a thing to do; both empty when nobody said.
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
            said = {"when": self.title, "answer": _bare_end(_lower_first(self.remedy))}
            if self.remedy and not self.rule:
                return _("%(when)s, try this first: %(answer)s.") % said
            rule = {"when": self.title, "rule": _bare_end(_lower_first(self.rule))}
            told = _("%(when)s, %(rule)s.") % rule
            if not self.remedy:
                return f"{told} {_('What solved it was not said.')}"
            return f"{told} {_('What helped: %(answer)s.') % said}"

    @property
    def lines(self) -> str:
        """The same for who decides about it, a line each."""
        with translation.override(self._language):
            solved = (
                _("It was solved like this: “%(answer)s”.") % {"answer": _bare_end(self.answer)}
                if self.answer
                else _("What solved it was not said.")
            )
            happened = _("What happened: “%(error)s”.") % {"error": _bare_end(self.error)}
            return "\n".join(line for line in (happened, solved, self.rule) if line)

    @property
    def _language(self) -> str:
        return detect_language(self.error) or "en"


def _bare_end(sentence: str) -> str:
    return sentence.rstrip(". ")


def _lower_first(sentence: str) -> str:
    """Inside a sentence; a name that is written in capitals stays."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def gist(problem: str) -> list[str]:
    """The words that tell this problem from others, each once."""
    kept = [word for word in words(problem) if len(word) > 2]
    return list(dict.fromkeys(w for w in kept if fold(w) not in _STOPS | ERROR_WORDS))


def is_error(text: str) -> bool:
    """Whether any sentence tells of technical trouble."""
    return any(map(is_trouble, sentences(text)))


def is_trouble(sentence: str) -> bool:
    flat = fold(sentence)
    spoken = set(words(flat))
    if not (ERROR_WORDS & spoken or _FAILING.search(flat)) or _A_PERSON_FAILED.search(flat):
        return False
    return bool(TECHNICAL_WORDS & spoken or _CODE.search(sentence))


def classify(text: str) -> str:
    """Whose trouble it is: external, configuration, user, internal (Keno's own) or technical."""
    spoken = set(words(fold(text)))
    return next((name for name, cues in CATEGORIES if cues & spoken), TECHNICAL)


def recoverable(text: str) -> bool:
    """Whether trying again may help; unless it says it is fatal, it may."""
    flat = fold(text)
    if any(word in flat for word in ("timeout", "temporary", "retry", "temporal")):
        return True
    return not any(word in flat for word in ("fatal", "cannot recover", "irrecuperable"))


def error_line(text: str) -> str:
    """The first sentence that tells of the trouble, a question only when nothing else does."""
    told = [line for line in sentences(text) if is_trouble(line)]
    return next((line for line in told if not line.endswith("?")), told[0] if told else "")


def solution(text: str) -> Solution | None:
    """The problem and what solved it later, when the text tells both."""
    problem, lines = error_line(text), sentences(text)
    if not problem or problem.endswith("?"):
        return None
    # One sentence may tell both: "It fails with 401, fixed with the token in the query".
    for line in lines[lines.index(problem) :]:
        flat = fold(line)
        if line != problem and _SOLVED.search(flat) and not line.endswith("?"):
            if _NOT_SOLVED.search(flat):
                return None
            found = Solution(short(problem, 160), short(line, 200))
            return found if found.trigger else None
    return None


def lesson(text: str, *, category: str = "", rule: str = "") -> Lesson | None:
    """What to learn from trouble of our own; nothing from the network's or a person's.

    A category or a rule that somebody knows better goes before what the words say.
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
    """The trouble as a person would name it: "When the search page crashes on an empty query"."""
    language = detect_language(problem) or "en"
    bare = _EMPTY_WORDS.sub("", _ERROR_LEAD.sub("", problem.strip()).rstrip(".!"))
    present = _PRESENT[language]
    told = re.sub(r"[^\W\d_]+", lambda match: present.get(match[0].lower(), match[0]), bare)
    pattern, form = _WHEN_IT_IS[language]
    told = pattern.sub(lambda match: " " + _noun_phrase(form, *match.groups()), told)
    when_, because, and_ = _LINKS[language]
    told = told.split(f" {when_.lower()} ")[0]
    told = re.sub(r"(?<=\w) ?, (.*)$", lambda rest: _linked(rest[1], because, and_), told)
    return short(f"{when_} {_uncapitalised(told)}", 120)


def habit_title(trigger: str, evidence: list[dict]) -> str:
    """A habit as the trouble it answers; the words it waits for when they are not made of that."""
    problem = next((str(one.get("quote") or "") for one in evidence), "")
    return when(problem) if problem and Solution(problem, "").trigger == trigger else trigger


_LINKS = {"en": ("When", "because", "and"), "es": ("Cuando", "porque", "y")}


def _linked(rest: str, because: str, and_: str) -> str:
    """What follows a comma is the cause, unless it fails too."""
    return f" {and_ if ERROR_WORDS & set(words(fold(rest))) else because} {rest}"


def _noun_phrase(form: str, noun: str, how: str) -> str:
    article = "an" if how[:1] in "aeiou" else "a"
    return form.format(noun, how, article=article)


def _uncapitalised(sentence: str) -> str:
    first = sentence.partition(" ")[0]
    is_common = fold(first) in _STOPS or fold(first) in ERROR_WORDS
    return sentence[:1].lower() + sentence[1:] if is_common else sentence


def sentences(text: str) -> list[str]:
    parts = (_STAMP.sub("", part).strip() for part in _SENTENCE.split(text))
    return [part for part in parts if part]
