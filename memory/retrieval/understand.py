"""Analyse a question before the search: its words, names, times and language."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from django.db import connection

from memory.calendar.resolve import When, resolve
from memory.calendar.spans import week
from memory.calendar.words import MONTHS, WEEKDAYS
from memory.models.prepared import cursor_for
from memory.retrieval import past
from memory.retrieval.keywords import Expand, expansion, is_stop, keywords
from memory.retrieval.past import Past
from memory.text import normalise as text
from memory.text.kinship import kin
from memory.text.shorthand import written_out
from memory.text.summaries import without_lead_in

MOST_CUES = 3
# "Two weeks ago" is not one day: the longer the unit, the vaguer.
DAYS_AROUND = {"week": 4, "month": 15, "year": 183}
MAX_LENGTH = 2000
_FIRST_PERSON = frozenset("i me my mine myself im ive yo mi mis mio mia mios mias conmigo".split())
# One probe of the index a word; a name counts when a speaker in scope has it.
NAMES = """
WITH asked AS (SELECT DISTINCT word FROM unnest(%(words)s::text[]) AS word)
SELECT word FROM asked
WHERE EXISTS (
  SELECT FROM memory_unit u
  WHERE u.scope = ANY(%(here)s::bigint[]) AND u.live AND u.speaker <> ''
    AND split_part(u.speaker, ' ', 1) = word)
"""


@dataclass(frozen=True)
class Cue:
    """The words that were understood and the time they mean; the end is not part of it."""

    phrase: str
    start: datetime
    end: datetime

    def distance(self, start: datetime, end: datetime) -> float:
        """Days between this time and another span; 0 when they meet."""
        apart = max(self.start - end, start - self.end, timedelta(0))
        return apart.total_seconds() / 86400


def cues(question: str, *, now: datetime, zone: tzinfo = UTC) -> list[Cue]:
    """Return every time that is spoken of, in the space's own days; none when there is no cue."""
    said_at = now.astimezone(zone)
    language = text.detect_language(question)
    # A memory is asked about what was, unless the verb or the words look ahead.
    times = resolve(question[:2000], said_at=said_at, language=language, lean="past")
    return [
        _cue(
            question[when.start : when.end],
            _days(when.first, when.last, when, said_at.date()),
            zone,
        )
        for when in times
        if when.first and when.last and when.dated
    ][:MOST_CUES]


def _cue(phrase: str, days: tuple[date, date], zone: tzinfo) -> Cue:
    first, last = days
    start, end = (
        datetime.combine(day, time(), zone).astimezone(UTC)
        for day in (first, last + timedelta(days=1))
    )
    return Cue(phrase, start, end)


def _days(first: date, last: date, when: When, today: date) -> tuple[date, date]:
    """Return the first and the last day to look at: often more than the words say exactly."""
    if when.kind == "from" and first <= today:
        return first, max(last, today)
    if first == last:
        around = timedelta(days=DAYS_AROUND.get(when.precision, 0))
        return first - around, last + around
    if when.precision == "week" and (first, last) == week(today - timedelta(days=7)):
        # Seed 002: "last week" is the last seven days.
        return today - timedelta(days=7), today
    return first, last


_ASKS_WHEN = re.compile(
    r"\b(when|what (day|date|year|month|time)|which (day|date|year|month)|how long|since when"
    r"|cuando|que (dia|fecha|ano|mes|hora)|en que (ano|mes|fecha)|desde cuando|cuanto tiempo)\b"
)


_SAYS_WHEN = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|ago|last|next|week|weekend|month|year|day|morning"
    r"|evening|night|recently|just|birthday|anniversary|ayer|hoy|manana|hace|pasad[oa]|proxim[oa]"
    r"|semana|mes|ano|dia|anoche|noche|tarde|recien|cumpleanos|aniversario|\d{1,4}(st|nd|rd|th)?"
    r"|" + "|".join([*(m for m in MONTHS if m != "may"), *WEEKDAYS]) + r")\b"
)


def asks_when(question: str) -> bool:
    return bool(_ASKS_WHEN.search(text.fold(question[:500])))


def says_when(memory: str) -> bool:
    """Whether a memory holds a time that could answer such a question."""
    return bool(_SAYS_WHEN.search(text.fold(memory[:2000])))


@dataclass(frozen=True)
class Question:
    # With its shorthand written out; `written` is as it was asked.
    text: str
    language: str = ""
    # What a person would call the keywords; the same or a model's other words for searching.
    keywords: list[str] = field(default_factory=list)
    expansion: list[str] = field(default_factory=list)
    # Words to look up: as above without names, which are matched to people instead.
    terms: list[str] = field(default_factory=list)
    # People it speaks of, first names folded, in their order.
    names: list[str] = field(default_factory=list)
    cues: list[Cue] = field(default_factory=list)
    # The question without names, for comparing meanings.
    bare: str = ""
    # Every word of it, folded, for habits.
    folded_words: list[str] = field(default_factory=list)
    asks_when: bool = False
    written: str = ""


def understand(
    question: str,
    *,
    scopes: Sequence[int],
    now: datetime,
    zone: tzinfo = UTC,
    person: str = "",
    expand: Expand | None = None,
    then: Past | None = None,
) -> Question:
    written = text.clean(question, limit=MAX_LENGTH).strip()
    question = in_plain_words(written_out(written))
    language = text.detect_language(question)
    words = keywords(question, language=language)
    wider = expansion(question, words, expand)
    names = _names(question, scopes=scopes, person=person, then=then)
    return Question(
        text=question,
        language=language,
        keywords=words,
        expansion=wider if wider is not words else [],
        terms=[word for word in wider if text.fold(word) not in names] or wider,
        names=names,
        cues=cues(question, now=now, zone=zone),
        bare=without_names(question, names),
        folded_words=text.words(text.fold(question)),
        asks_when=asks_when(question),
        written=written,
    )


# Ways of asking in which no word is one of the answer.
_PLAINER = (
    (re.compile(r"^\W*what do i do(?: for (?:a living|work|a job|money))?\W*$", re.I),
     "what is my job?"),
    (re.compile(r"^\W*what does (?P<who>(?!my\b|our\b|the\b)[\w'’-]+) do"
                r"(?: for (?:a living|work|a job|money))?\W*$", re.I), r"what is \g<who>'s job?"),
    (re.compile(r"^\W*what (?:(?P<do>do)n['’]?t|(?P<does>does)n['’]?t) (?P<who>[^?]{1,40}?) like\b",
                re.I), r"what \g<do>\g<does> \g<who> hate"),
    (re.compile(r"\bwhen was i born\b", re.I), "when is my birthday"),
    (re.compile(r"\bwhen was (?P<who>(?!my\b|our\b|the\b)[\w'’-]+) born\b", re.I),
     r"when is \g<who>'s birthday"),
    (re.compile(r"\b(?P<when>cu[aá]ndo|qu[eé] d[ií]a) cumplo(?: (?:a[nñ]os|yo))?\b", re.I),
     r"\g<when> es mi cumpleaños"),
    (re.compile(r"\b(?P<when>cu[aá]ndo|qu[eé] d[ií]a) cumple(?: a[nñ]os)?(?= \w+\W*$)", re.I),
     r"\g<when> es el cumpleaños de"),
    (re.compile(r"^\W*a qu[eé] me dedico\W*$", re.I), "¿en qué trabajo?"),
    (re.compile(r"^\W*a qu[eé] se dedica (?P<who>[\w-]+)\W*$", re.I),
     r"¿en qué trabaja \g<who>?"),
)  # fmt: skip


def in_plain_words(question: str) -> str:
    """Return the question with the word that an answer has: "for a living" as "job"."""
    question = without_lead_in(question)
    for asks, plainer in _PLAINER:
        question = asks.sub(plainer, question, count=1)
    return question


# "My sister's husband", "el marido de mi hermana": somebody who is described and not named.
_GLUE = frozenset("my your our the of mi tu su el la los las de del".split())
_NAME = re.compile(r"[A-ZÀ-Ý][\wà-ÿ-]+")
# Before the first word of a sentence.
_BEGINS = re.compile(r"(?:^|[.!?…\n])[^\w]*$")
# Who it is, is what the memory that describes them says.
_ASKS_WHO = re.compile(r"\b(who|whose|name|called|quien|quienes|llama|llaman|nombre)\b")
MOST_NAMES = 2
_OF = frozenset("de del of".split())


class Described(NamedTuple):
    """Characters of a question that describe somebody, and as whose what."""

    start: int
    end: int
    kin: str
    ending: str = ""


def asks_who(question: Question) -> bool:
    """Whether the answer is who somebody is: then the memory that says so is the answer."""
    return bool(_ASKS_WHO.search(text.fold(question.text)))


def follow(
    question: Question, memory: str, *, person: str = "", talk: Collection[str] | None = None
) -> Question | None:
    """Return what to ask next when a memory names whom the question only describes.

    Of `talk` (who speaks in it) only that counts which names somebody: "Wow Caroline! My son …" is
    about no son called Caroline or Wow.

    "What does my sister's husband do?" and "Beth lives with her husband Dave" ask what Dave does;
    with "Ana's sister is Beth" it is what Beth's husband does. None when nobody is described, or
    the memory names nobody new.
    """
    is_who = asks_who(question)
    known = {*question.folded_words, *text.words(text.fold(person)), *MONTHS, *WEEKDAYS}
    known |= {word.removesuffix("'s") for word in known}
    described = _described(question.text)
    whole, inner = described[:1], described[1:]
    # First who is surely meant, then whoever else the memory names.
    for sure, some in ((True, [] if is_who else whole), (True, inner), (False, whole)):
        for span in some if sure or not is_who else []:
            if names := _names_of(memory, span, known, talk, sure=sure):
                return _asked_of(question, span, names)
    return None


_MINE = frozenset("my our mi mis nuestra nuestro".split())
_TO_YOU = {"my": "your", "our": "your", "mi": "tu", "mis": "tus", "nuestra": "tu", "nuestro": "tu"}


_WHICH = re.compile(r",? (?:the [\w-]+ one|the one (?:in|from) [\w-]+|(?:el|la) de [\w-]+)\b", re.I)


class Kinsfolk(NamedTuple):
    """Whom a question describes: from the asker, or somebody by name, along a path of kin."""

    start: int
    end: int
    path: tuple[str, ...]
    owner: str = ""


def kinsfolk(question: str) -> Kinsfolk | None:
    """ "My sister's husband", "el marido de mi hermana", "Ellen's boy"; None when there is none."""
    words = [
        (match.start(), match.end(), text.fold(match[0].replace("’", "'")))
        for match in re.finditer(r"[\w’'-]+", question)
    ]
    for n, (start, _end, word) in enumerate(words):
        is_owner = word.endswith("'s") and not kin(_owner(word))
        if word in _MINE or is_owner:
            path, last = _path_after(words, n + 1)
            first, before = _path_before(words, n) if not is_owner else (n, [])
            if path or before:
                span = (words[first][0] if before else start, _which_end(question, words[last][1]))
                return Kinsfolk(*span, (*path, *before), _owner(word) if is_owner else "")
        elif n > 1 and not kin(word) and words[n - 1][2] == "de" and word not in _GLUE:
            first, before = _path_before(words, n)
            if before:
                end = _which_end(question, words[n][1])
                return Kinsfolk(words[first][0], end, tuple(before), word)
    return None


def _which_end(question: str, end: int) -> int:
    """Where the description ends, with "the Auckland one" or "la de Vigo"."""
    which = _WHICH.match(question, end)
    return which.end() if which else end


def _path_after(words: list[tuple[int, int, str]], place: int) -> tuple[list[str], int]:
    """The kin that follow each other: "sister's husband"; an apostrophe may be left out."""
    path: list[str] = []
    last = place - 1
    for n in range(place, len(words)):
        one = kin(_owner(words[n][2]))
        if one is None:
            break
        path.append(one.relation)
        last = n
        if not words[n][2].endswith("s"):
            return path, last
    named = kin(words[last][2]) if path else None
    # "My sons": nobody in particular.
    return ([], place - 1) if named and named.is_plural else (path, last)


def _path_before(words: list[tuple[int, int, str]], place: int) -> tuple[int, list[str]]:
    """The kin in front of "de": "el marido de" is the husband of what follows."""
    path: list[str] = []
    while place > 1 and words[place - 1][2] == "de" and (one := kin(words[place - 2][2])):
        path.append(one.relation)
        place -= 2
        if place and words[place - 1][2] in _GLUE - _OF:
            place -= 1
    return place, path


def ask_by_name(question: Question, whom: Kinsfolk, name: str) -> tuple[Question, str]:
    """Return the question with the name instead, and the sentence that says who that is."""
    phrase = _WHICH.sub("", question.text[whom.start : whom.end])
    words = [_TO_YOU.get(word.lower(), word) for word in phrase.split()]
    verb = "es" if question.language == "es" else "is"
    asked = _asked_of(question, Described(whom.start, whom.end, ""), [name])
    whose = " ".join(words).removesuffix("'s").removesuffix("’s")
    return asked, f"{name} {verb} {whose}"


def _asked_of(question: Question, span: Described, names: list[str]) -> Question:
    """The question with the name in the place of the description."""
    asked = f"{question.text[: span.start]}{names[0]}{span.ending}{question.text[span.end :]}"
    words = text.words(text.fold(question.text[span.start : span.end]))
    gone = {*words, *(word.removesuffix("'s") for word in words)}
    terms = [one for one in question.terms if text.fold(one) not in gone]
    found = [text.fold(name) for name in names]
    return replace(
        question, text=asked, names=found, terms=terms or found, keywords=[*terms, *names],
        bare=without_names(asked, found), folded_words=text.words(text.fold(asked)),
    )  # fmt: skip


def _described(question: str) -> list[Described]:
    """Return where somebody is described by whose they are: all of it, then the owner alone."""
    run: list[tuple[int, int, str]] = []
    for match in re.finditer(r"[\w’'-]+", question):
        word = text.fold(match[0].replace("’", "'"))
        if kin(_owner(word)) or (word in _GLUE and (run or word not in ("de", "of"))):
            run.append((match.start(), match.end(), word))
        elif any(kin(_owner(one[2])) for one in run):
            break
        else:
            run = []
    kins = [n for n, one in enumerate(run) if kin(_owner(one[2]))]
    if not kins:
        return []
    is_spanish = any(one[2] in ("de", "del") for one in run)
    head, other = (kins[0], kins[-1]) if is_spanish else (kins[-1], kins[0])
    whole = Described(run[0][0], run[kins[-1]][1], _owner(run[head][2]))
    if len(kins) < 2:
        return [whole]
    # "El jefe de | mi novia", "my sister's | husband".
    first = next((n for n in range(other, -1, -1) if n < other and run[n][2] not in _OF), other)
    first = first if first < other and run[first][2] in _GLUE else other
    ending = "'s" if run[other][2].endswith("'s") else ""
    return [whole, Described(run[first][0], run[other][1], _owner(run[other][2]), ending)]


def _owner(word: str) -> str:
    return word.removesuffix("'s")


def _names_of(
    memory: str, span: Described, known: set[str], talk: Collection[str] | None, *, sure: bool
) -> list[str]:
    """Return the names that the memory has for the described one, or else other new ones."""
    relation = kin(span.kin)
    found: dict[str, int] = {}
    for match in _NAME.finditer(memory):
        name = text.fold(match[0])
        if name in known or is_stop(name):
            continue
        before = [kin(word) for word in text.words(text.fold(memory[: match.start()]))[-3:]]
        near = {one.relation for one in before if one}
        is_of = relation is not None and relation.relation in near
        is_called = talk is not None and (name in talk or _BEGINS.search(memory[: match.start()]))
        if is_called and not is_of:
            continue
        found.setdefault(match[0], 0 if is_of else 2 if near else 1)
    ordered = sorted(found, key=lambda name: found[name])
    return [name for name in ordered if found[name] == 0 or not sure][:MOST_NAMES]


def without_names(question: str, names: Sequence[str]) -> str:
    """Return the question without these names; unchanged when nothing else is left."""
    words = re.split(r"(\s+)", question)
    kept = [word for word in words if _bare(word) not in names]
    rest = re.sub(r"\s+", " ", "".join(kept)).strip()
    return rest if re.search(r"\w", rest) else question


def _names(
    question: str, *, scopes: Sequence[int], person: str, then: Past | None = None
) -> list[str]:
    words = [word.removesuffix("'s") for word in text.words(text.fold(question))]
    # "will" is a word, "Will" may be a name.
    written = {text.fold(word) for word in re.findall(r"\w+", question) if not word.islower()}
    candidates = [word for word in dict.fromkeys(words) if word in written or not is_stop(word)]
    names = _known_names([word for word in candidates if len(word) > 1], scopes, then)
    if names:
        return [word for word in candidates if word in names]
    return text.words(text.fold(person))[:1] if _FIRST_PERSON & set(words) else []


def _known_names(words: list[str], scopes: Sequence[int], then: Past | None) -> set[str]:
    if not words:
        return set()
    values: dict[str, Any] = {"words": words[:40], "here": list(scopes)}
    sql = past.within(NAMES) if then else NAMES
    with connection.cursor() if then else cursor_for(sql) as cursor:
        cursor.execute(sql, values | then.values if then else values)
        return {row[0] for row in cursor.fetchall()}


def _bare(word: str) -> str:
    words = text.words(text.fold(word))
    return words[0].removesuffix("'s") if len(words) == 1 else ""
