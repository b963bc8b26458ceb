"""Analyse a question before the search: its words, names, times and language."""

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
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
from memory.text.kinship import Kin, kin
from memory.text.shorthand import written_out
from memory.text.summaries import without_lead_in

MAX_CUES = 3
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
        """Return the days between this time and another span; 0 when they meet."""
        apart = max(self.start - end, start - self.end, timedelta(0))
        return apart.total_seconds() / 86400


def cues(question: str, *, now: datetime, zone: tzinfo = UTC) -> list[Cue]:
    """Return every time that is spoken of, in the space's own days; none when there is no cue."""
    said_at = now.astimezone(zone)
    language = text.detect_language(question)
    # A memory is asked about what was, unless the verb or the words look ahead.
    times = resolve(question[:2000], said_at=said_at, language=language, lean="past")
    return [
        _cue(question[when.start : when.end], _days(when, said_at.date()), zone)
        for when in times
        if when.first and when.last and when.dated
    ][:MAX_CUES]


def _cue(phrase: str, days: tuple[date, date], zone: tzinfo) -> Cue:
    bounds = (days[0], days[1] + timedelta(days=1))
    start, end = (datetime.combine(day, time(), zone).astimezone(UTC) for day in bounds)
    return Cue(phrase, start, end)


def _days(when: When, today: date) -> tuple[date, date]:
    """Return the first and the last day to look at: often more than the words say exactly."""
    first, last = when.first or today, when.last or today
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
_ASKS_EARLIER = re.compile(
    r"\b(?:originally|initially|at first|in the first place|to (?:begin|start) with"
    r"|first (?:planned|meant|supposed|set|booked|told|started|put)"
    r"|started (?:out )?(?:on|with|at)|used to|previous\w*"
    r"|(?:before|b4|until) (?:that|then|(?:it|they|he|she|i|we|you|the|my|our) (?:[\w']+ ){0,3}?"
    r"(?:chang\w+|mov\w+|switch\w*|swap\w*|shift\w*|add\w*|put|got|rais\w+|went|had|left"
    r"|started|quit|was|were))"
    r"|inicial\w*|original\w*|al (?:principio|comienzo)|en un (?:principio|primer momento)"
    r"|primero (?:iba|era|fue)|antes (?:de|del|que)|anterior\w*)\b|\bantes\W*$|^\W*(?:y )?antes\b"
)


def asks_when(question: str) -> bool:
    return bool(_ASKS_WHEN.search(text.fold(question[:500])))


def asks_earlier(question: str) -> bool:
    """Tell whether it asks what was so before it changed: "what date was it originally?" """
    return bool(_ASKS_EARLIER.search(text.fold(question[:500])))


def says_when(memory: str) -> bool:
    """Tell whether a memory has a time that could answer such a question."""
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
        folded_words=text.folded_words(question),
        asks_when=asks_when(question),
        written=written,
    )


# Ways of asking in which no word is one of the answer, and plainer words for each.
_PLAINER = [
    (re.compile(way["asks"], re.IGNORECASE), way["plainer"])
    for way in tomllib.loads(Path(__file__).with_name("plainer.toml").read_text("utf-8"))["ways"]
]


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
# The answer is then the memory that describes the person.
_ASKS_WHO = re.compile(r"\b(who|whose|name|called|quien|quienes|llama|llaman|nombre)\b")
MAX_NAMES = 2
_OF = frozenset("de del of".split())
_MINE = frozenset("my our mi mis nuestra nuestro".split())
_TO_YOU = {"my": "your", "our": "your", "mi": "tu", "mis": "tus", "nuestra": "tu", "nuestro": "tu"}
_WHICH = re.compile(r",? (?:the [\w-]+ one|the one (?:in|from) [\w-]+|(?:el|la) de [\w-]+)\b", re.I)


class Word(NamedTuple):
    """A word of a question, folded, and where it stands."""

    start: int
    end: int
    text: str

    @property
    def bare(self) -> str:
        return self.text.removesuffix("'s")

    @property
    def kin(self) -> Kin | None:
        return kin(self.bare)


class Described(NamedTuple):
    """The part of a question that describes somebody, and the word of kin for them."""

    start: int
    end: int
    kin: str
    ending: str = ""


def _words(question: str) -> list[Word]:
    return [
        Word(match.start(), match.end(), text.fold(match[0].replace("’", "'")))
        for match in re.finditer(r"[\w’'-]+", question)
    ]


def asks_who(question: Question) -> bool:
    """Tell whether the answer is who somebody is: then the memory that says so is the answer."""
    return bool(_ASKS_WHO.search(text.fold(question.text)))


def follow(
    question: Question, memory: str, *, person: str = "", talk: Collection[str] | None = None
) -> Question | None:
    """Return what to ask next when a memory names the person that the question only describes.

    The names in `talk` are those of its speakers: "Wow Caroline! My son …" is not about a son
    called Caroline or Wow.

    "What does my sister's husband do?" and "Beth lives with her husband Dave" ask what Dave does;
    with "Ana's sister is Beth" it is what Beth's husband does. Return None when nobody is
    described, or the memory names nobody new.
    """
    ignore = {*question.folded_words, *text.folded_words(person), *MONTHS, *WEEKDAYS}
    ignore |= {word.removesuffix("'s") for word in ignore}
    described = _described(question.text)
    whole, inner = described[:1], described[1:]
    # First the names that surely fit, then any other name in the memory.
    attempts = [(whole, True), (inner, True), (whole, False)]
    for spans, sure in [(inner, True)] if asks_who(question) else attempts:
        for span in spans:
            if names := _names_for(memory, span, ignore, talk, sure=sure):
                return _with_name(question, span, names)
    return None


class Kinsfolk(NamedTuple):
    """A person described from the asker, or from somebody by name, along a path of kin."""

    start: int
    end: int
    path: tuple[str, ...]
    owner: str = ""


def kinsfolk(question: str) -> Kinsfolk | None:
    """ "My sister's husband", "el marido de mi hermana", "Ellen's boy"; None when there is none."""
    words = _words(question)
    for place, word in enumerate(words):
        is_owner = word.text.endswith("'s") and not word.kin
        if word.text in _MINE or is_owner:
            path, last = _path_after(words, place + 1)
            first, before = (place, []) if is_owner else _path_before(words, place)
            if path or before:
                start = words[first].start if before else word.start
                end = _which_end(question, words[last].end)
                return Kinsfolk(start, end, (*path, *before), word.bare if is_owner else "")
        elif place > 1 and not kin(word.text) and words[place - 1].text == "de":
            first, before = _path_before(words, place)
            if before and word.text not in _GLUE:
                end = _which_end(question, word.end)
                return Kinsfolk(words[first].start, end, tuple(before), word.text)
    return None


def _which_end(question: str, end: int) -> int:
    """Return where the description ends, with "the Auckland one" or "la de Vigo"."""
    which = _WHICH.match(question, end)
    return which.end() if which else end


def _path_after(words: list[Word], first: int) -> tuple[list[str], int]:
    """Return the kin that follow each other, and the last place: "sister's husband"."""
    path: list[str] = []
    last = first - 1
    for place in range(first, len(words)):
        relative = words[place].kin
        if relative is None:
            break
        path.append(relative.relation)
        last = place
        # The apostrophe may be left out.
        if not words[place].text.endswith("s"):
            return path, last
    named = kin(words[last].text) if path else None
    # "My sons": nobody in particular.
    return ([], first - 1) if named and named.is_plural else (path, last)


def _path_before(words: list[Word], place: int) -> tuple[int, list[str]]:
    """Return the kin in front of "de": "el marido de" is the husband of what follows."""
    path: list[str] = []
    while place > 1 and words[place - 1].text == "de" and (relative := kin(words[place - 2].text)):
        path.append(relative.relation)
        place -= 2
        if place and words[place - 1].text in _GLUE - _OF:
            place -= 1
    return place, path


def ask_by_name(question: Question, person: Kinsfolk, name: str) -> tuple[Question, str]:
    """Return the question with the name instead, and the sentence that says who that is."""
    phrase = _WHICH.sub("", question.text[person.start : person.end])
    whose = " ".join(_TO_YOU.get(word.lower(), word) for word in phrase.split())
    verb = "es" if question.language == "es" else "is"
    named = _with_name(question, Described(person.start, person.end, ""), [name])
    whose = whose.removesuffix("'s").removesuffix("’s")
    return named, f"{name} {verb} {whose}"


def _with_name(question: Question, span: Described, names: list[str]) -> Question:
    """Return the question with the name in the place of the description."""
    named = f"{question.text[: span.start]}{names[0]}{span.ending}{question.text[span.end :]}"
    words = text.folded_words(question.text[span.start : span.end])
    described = {*words, *(word.removesuffix("'s") for word in words)}
    terms = [term for term in question.terms if text.fold(term) not in described]
    folded = [text.fold(name) for name in names]
    return replace(
        question, text=named, names=folded, terms=terms or folded, keywords=[*terms, *names],
        bare=without_names(named, folded), folded_words=text.folded_words(named),
    )  # fmt: skip


def _described(question: str) -> list[Described]:
    """Return where somebody is described by whose they are: all of it, then the owner alone."""
    run: list[Word] = []
    for word in _words(question):
        if word.kin or (word.text in _GLUE and (run or word.text not in ("de", "of"))):
            run.append(word)
        elif any(before.kin for before in run):
            break
        else:
            run = []
    places = [place for place, word in enumerate(run) if word.kin]
    if not places:
        return []
    is_spanish = any(word.text in ("de", "del") for word in run)
    head, owner = (places[0], places[-1]) if is_spanish else (places[-1], places[0])
    whole = Described(run[0].start, run[places[-1]].end, run[head].bare)
    if len(places) < 2:
        return [whole]
    # "El jefe de | mi novia", "my sister's | husband".
    first = next((place for place in range(owner - 1, -1, -1) if run[place].text not in _OF), owner)
    first = first if run[first].text in _GLUE else owner
    ending = "'s" if run[owner].text.endswith("'s") else ""
    return [whole, Described(run[first].start, run[owner].end, run[owner].bare, ending)]


def _names_for(
    memory: str, span: Described, ignore: set[str], talk: Collection[str] | None, *, sure: bool
) -> list[str]:
    """Return the names that the memory has for the described one, or else other new ones."""
    relation = kin(span.kin)
    ranks: dict[str, int] = {}
    for match in _NAME.finditer(memory):
        name = text.fold(match[0])
        if name in ignore or is_stop(name):
            continue
        before = [kin(word) for word in text.folded_words(memory[: match.start()])[-3:]]
        near = {relative.relation for relative in before if relative}
        is_theirs = relation is not None and relation.relation in near
        is_called = talk is not None and (name in talk or _BEGINS.search(memory[: match.start()]))
        if is_theirs or not is_called:
            ranks.setdefault(match[0], 0 if is_theirs else 2 if near else 1)
    ordered = sorted(ranks, key=lambda name: ranks[name])
    return [name for name in ordered if ranks[name] == 0 or not sure][:MAX_NAMES]


def without_names(question: str, names: Sequence[str]) -> str:
    """Return the question without these names; unchanged when nothing else is left."""
    words = re.split(r"(\s+)", question)
    kept = [word for word in words if _bare(word) not in names]
    rest = re.sub(r"\s+", " ", "".join(kept)).strip()
    return rest if re.search(r"\w", rest) else question


def _names(
    question: str, *, scopes: Sequence[int], person: str, then: Past | None = None
) -> list[str]:
    words = [word.removesuffix("'s") for word in text.folded_words(question)]
    # "will" is a word, "Will" may be a name.
    written = {text.fold(word) for word in re.findall(r"\w+", question) if not word.islower()}
    candidates = [word for word in dict.fromkeys(words) if word in written or not is_stop(word)]
    names = _known_names([word for word in candidates if len(word) > 1], scopes, then)
    if names:
        return [word for word in candidates if word in names]
    return text.folded_words(person)[:1] if _FIRST_PERSON & set(words) else []


def _known_names(words: list[str], scopes: Sequence[int], then: Past | None) -> set[str]:
    if not words:
        return set()
    values: dict[str, Any] = {"words": words[:40], "here": list(scopes)}
    sql = past.within(NAMES) if then else NAMES
    with connection.cursor() if then else cursor_for(sql) as cursor:
        cursor.execute(sql, values | then.values if then else values)
        return {row[0] for row in cursor.fetchall()}


def _bare(word: str) -> str:
    words = text.folded_words(word)
    return words[0].removesuffix("'s") if len(words) == 1 else ""
