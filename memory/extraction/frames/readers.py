"""Read a clause into slots by the rules of rules.txt, one reader for each kind of slot."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path

from memory.extraction.frames.vocabulary import (
    NOBODY,
    TOOLS,
    WHEN,
    Match,
    Slot,
    are_all,
    attribute_name,
    begins,
    classes,
    holds,
    in_order,
    phrase,
    terms,
    tool_class,
    trim,
)
from memory.guards import rulebook
from memory.text.normalise import fold

Reader = Callable[[Match], Iterator[Slot]]
PLACES = frozenset({"city", "country"})
# A person has one of these at a time: another name is a change.
_ONE_AT_A_TIME = frozenset({"boss", "manager"})
BEINGS = frozenset({"kin", "couple", "person", "pet"})
_CHILDREN = frozenset({"son", "daughter", "child", "baby", "twin"})
_NEWNESS = frozenset({"new", "nuevo", "nueva", "old", "current", "actual"})
# "My boss is Irish" does not say what the boss is called.
_NOT_NAMES = ("language", "nationality")
MAX_AGE = 120


def simple(name: str) -> Reader:
    """Take the value as it is."""

    def read(match: Match) -> Iterator[Slot]:
        if match.value:
            yield match.slot(name.replace("_", " "))

    return read


def each(key: str) -> Reader:
    """Make a slot of its own of every thing in a list: "likes:tea", "likes:coffee"."""

    def read(match: Match) -> Iterator[Slot]:
        if begins("pointing", match["v"]) or begins("no_object", match["v"]):
            return
        for thing in _objects(match):
            if len(terms(thing)) <= 5 and not begins("pointing", thing):
                yield match.slot(f"{key}:{attribute_name(thing)}", thing, exclusive=False)

    return read


def _objects(match: Match) -> list[str]:
    """Part a list, without articles: "the sea and dogs" are two."""
    value = trim(match["v"])
    if not holds("ends_list", value):
        # Without an "and" at its end it is not a list: "i hate duck, always have".
        value = value.split(",")[0]
    value = phrase("before_object").sub("", value)
    parts = [phrase("article").sub("", part.strip()) for part in phrase("list").split(value)]
    # "Painting and finds it calming": what follows the first thing must be short to be another.
    short = takewhile(lambda part: len(part.split()) <= 2 and not holds("no_part", part), parts[1:])
    return [part for part in (*parts[:1], *short) if part and terms(part)]


def _allergy(match: Match) -> Iterator[Slot]:
    if match["v"]:
        yield from each("allergy")(match)
    else:
        yield match.slot("allergy", "", exclusive=False)


def _drinks(match: Match) -> Iterator[Slot]:
    if trim(match["v"]):
        yield from each("drinks")(match)
    else:
        yield match.slot("drinks:alcohol", "alcohol", exclusive=False)


def _smokes(match: Match) -> Iterator[Slot]:
    yield match.slot("smokes", "", exclusive=False)


def _speaks(match: Match) -> Iterator[Slot]:
    for thing in _objects(match):
        if languages := [term for term in terms(thing) if "language" in classes(term)]:
            yield match.slot(f"speaks:{languages[0]}", thing, exclusive=False)


def _age(match: Match) -> Iterator[Slot]:
    too_old = match["v"].isdigit() and int(match["v"]) > MAX_AGE
    if not too_old and not holds("several", match["s"]):
        yield match.slot("age")


def _is_place(value: str, *, lower: bool) -> bool:
    is_known = any(classes(term) & PLACES for term in terms(value))
    return lower or is_known or begins("capital", value)


def _home(match: Match) -> Iterator[Slot]:
    value, words = match.value, terms(match.value)
    if tool := tool_class(words):
        yield match.slot(tool)
    elif "change" in match.flags and _sort(_first(value)) in WHEN:
        yield from _moved(match)
    elif not value or begins("indefinite", value) or begins("dwelling", value):
        # A kind of dwelling is not a place, unless it is called "la Habana".
        if are_all(words, *PLACES):
            yield match.slot("home", sort="town")
    elif _is_place(value, lower=match.lower) and len(words) <= 5:
        yield match.slot("home", sort="country" if are_all(words, "country") else "town")


def _moved(match: Match) -> Iterator[Slot]:
    """Read "the meeting moved to Friday"."""
    what = terms(phrase("auxiliary").sub("", match["s"]))
    is_known = any("attribute" in classes(term) for term in what)
    if what:
        sort = "" if is_known else _sort(_first(match.value))
        yield match.slot(" ".join(sorted(what)), whose=NOBODY, sort=sort)


def _employer(match: Match) -> Iterator[Slot]:
    value, words = match.value, terms(match.value)
    if not match["v"]:
        yield match.slot("employer", "", ended=True)
    elif are_all(words, *PLACES) or begins("no_employer", value):
        return
    elif "in" in match.flags and not _is_somewhere(value):
        # "Works in marketing": a field, which may be that of any employer.
        return
    elif len(words) <= 6:
        yield match.slot("employer")


def _is_somewhere(value: str) -> bool:
    return any(begins(name, value) for name in ("indefinite", "capital", "article"))


def _is_trade(value: str) -> bool:
    head = phrase("workplace").split(value)[0].lower()
    if any("job" in classes(term) for term in terms(head)):
        return True
    words = head.split()[-2:]
    return any(holds("trade", w) and not phrase("no_trade").fullmatch(w) for w in words)


def _job(match: Match) -> Iterator[Slot]:
    """Read a trade ("is a nurse", not "is a mess" or "soy Wilmer"); one may have two."""
    value, *places = phrase("workplace").split(match.value, maxsplit=1)
    is_a = "isa" in match.flags
    named = value[:1].isupper() and not any("job" in classes(term) for term in terms(value))
    if not value or len(terms(value)) > 5 or begins("no_job", value):
        return
    if not is_a or (_is_trade(value) and not named):
        yield match.slot("job", value, weak=is_a)
        # "Works as a nurse at the hospital" names two things, and each may change alone.
        if is_a:
            _, *places = phrase("works_at").split(match.value, maxsplit=1)
        for place in (part.split(",")[0] for part in places):
            if _is_somewhere(place) and not are_all(terms(place), *PLACES):
                yield match.slot("employer", place)


def _language(match: Match) -> Iterator[Slot]:
    if are_all(terms(match.value), "language") and not holds("wished", match["s"]):
        yield match.slot("language preference", whose=NOBODY)


def _favourite(match: Match) -> Iterator[Slot]:
    what = attribute_name(match["x"])
    if what and match.value and len(terms(match.value)) <= 6:
        yield match.slot(f"favourite:{what}")


def _prefers(match: Match) -> Iterator[Slot]:
    value, replaced = match["v"], match.replaced
    if match["than"].lower() in {"to", "a", "al", "que"} and holds("verb_form", value):
        # "Prefers talking to people": nobody is liked less than the talking.
        value, replaced = f"{value} {match['than']} {match['o']}", frozenset()
    value = trim(value)
    words = terms(value)
    tool = tool_class(words)
    if are_all(words, "language"):
        yield match.slot("language preference", value, replaced=replaced)
    elif tool:
        yield match.slot(f"favourite:{tool}", value, replaced=replaced)
    elif words and len(words) <= 8 and not begins("pointing", value):
        more = {"exclusive": False, "weak": bool(replaced), "replaced": replaced}
        yield match.slot("prefers", value, **more)


def _switch(match: Match) -> Iterator[Slot]:
    if begins("no_old", match["o"]):
        return
    if tool := tool_class(terms(match.value)) or tool_class(match.replaced):
        yield match.slot(tool)
    elif match.replaced:
        yield match.slot("switch", weak=True)


def _use(match: Match) -> Iterator[Slot]:
    words = terms(match.value)
    tools = [term for term in words if classes(term) & TOOLS]
    tool, rest = tool_class(words), sorted(words - set(tools))
    purpose = (
        "" if begins("no_purpose", match["x"]) or not match["x"] else attribute_name(match["x"])
    )
    if purpose in TOOLS or (purpose and not tool and "attribute" in classes(purpose)):
        yield match.slot(purpose)
    elif purpose and tool and len(words) <= 4:
        yield match.slot(f"use:{purpose}", whose=NOBODY)
    elif tool and rest and len(match.value.split()) == 2:
        # "Use npm install": how something is done.
        yield match.slot(f"use:{' '.join(rest)}", " ".join(tools), whose=NOBODY)
    elif tool:
        yield match.slot(tool, weak=True)
    elif match["o"] and len(words) <= 4:
        yield match.slot("switch", weak=True)


def _owns(match: Match) -> Iterator[Slot]:
    value = match["v"].strip(" .!") if "with" in match["v"] else trim(match["v"])
    head = phrase("after_noun").sub("", phrase("determiner").sub("", value))
    nouns = in_order(head)
    named = [term for term in nouns if classes(term) & {"pet", "thing", "kin"}]
    if not named or len(nouns) > 4 or begins("no_thing", head) or holds("done_to", head):
        return
    noun = named[0]
    # Who had a child has it still.
    still = "past" in match.flags and "kin" in classes(noun)
    if noun != "family" and noun in (nouns[0], nouns[-1]) and not still:
        yield _owned(match, noun, value, count=next((t for t in nouns if t.isdigit()), ""))


def _owned(match: Match, noun: str, value: str, *, count: str) -> Slot:
    kinds = classes(noun)
    key = "owns:pet" if "pet" in kinds else f"owns:{noun}"
    if "kin" in kinds:
        key = "children" if noun in _CHILDREN else f"has:{noun}"
    names = map(fold, phrase("called").findall(value))
    words = {noun, *names, count} - {"pet", "child", ""}
    sort = "count" if count else ""
    return match.slot(key, value, exclusive=False, terms=frozenset(words), sort=sort)


def _pet_gone(match: Match) -> Iterator[Slot]:
    pets = [term for term in in_order(match.value) if "pet" in classes(term)]
    if pets:
        gone = match.slot("owns:pet", exclusive=False, whose=NOBODY)
        yield replace(gone, terms=frozenset(pets[:1]))


def _household(match: Match) -> Iterator[Slot]:
    if "alone" in match.flags:
        yield match.slot("household", "alone", exclusive=False)
    elif len(terms(match["v"])) <= 6:
        yield match.slot("household", match["v"].strip(" ."), exclusive=False)


def _name(match: Match) -> Iterator[Slot]:
    value = phrase("and_more").split(match.value)[0]
    if not value or len(terms(value)) > 4 or holds("relative", match["s"]):
        return
    if not begins("no_name", value) and not begins("pointing", value):
        yield match.slot("name", value)


def _relation(match: Match) -> Iterator[Slot]:
    roles = [t for t in in_order(match["x"]) if classes(t) & {"kin", "couple", "person"}]
    if roles:
        whose = f"{match['s']} {match['t']}"
        yield _related(match, roles[0], name=match["v"], whose=whose)


def _related(match: Match, role: str, *, name: str, whose: str) -> Slot:
    """Tell who somebody is to the subject. Of the roles of a couple one has one at a time."""
    if "couple" in classes(role):
        return match.slot("couple", f"{role} {name}", whose=whose)
    if role in _ONE_AT_A_TIME:
        return match.slot(role, name, whose=whose)
    return match.slot(f"relation:{attribute_name(name)}", role, whose=whose, sort="role")


def _attribute(match: Match) -> Iterator[Slot]:
    if begins("no_attribute", match["x"]):
        return
    whole = terms(f"{match['x']} de {match['s']}") if match["s"] else frozenset()
    # "La base de datos es Postgres": one noun, of nobody.
    one_noun = len(whole) == 1 and bool(classes(*whole))
    what = (whole if one_noun else terms(match["x"])) - _NEWNESS
    value = match.value
    beings = [term for term in what if classes(term) & BEINGS]
    if not beings:
        yield from _valued(match, what, whose=NOBODY if one_noun else match["s"])
    elif begins("capital", value) and len(value.split()) <= 3 and len(what) == 1:
        if are_all(terms(value), *_NOT_NAMES):
            return
        yield _related(match, beings[0], name=value, whose=match["s"])


def _valued(match: Match, what: frozenset[str], *, whose: str) -> Iterator[Slot]:
    """Yield a noun that has values, or one with a value of a sort that it has one of."""
    value, key = match.value, " ".join(sorted(what))
    words, sort = terms(value), _sort(value)
    if not key or not value or len(what) > 4 or len(words) > 6 or begins("pointing", key):
        return
    if begins("passing", value) or begins("pointing", value):
        return
    is_known = bool(classes(_head(match, what)) & {"attribute", *TOOLS})
    lasting = bool(sort) and _sort(_first(value)) == sort and not holds("today", value)
    if (is_known and len(words) <= 4) or (lasting and not is_known):
        key = "language preference" if key == "language" else key
        yield match.slot(key, whose=whose, sort="" if is_known else sort)


def _head(match: Match, what: frozenset[str]) -> str:
    """Return what the noun is: first in Spanish and last in English ("the gate code")."""
    ordered = [term for term in in_order(match["x"]) if term in what] or sorted(what)
    return ordered[0] if "spanish" in match.flags else ordered[-1]


def _timed(match: Match) -> Iterator[Slot]:
    key, sort = attribute_name(match["x"]), _sort(match.value)
    event = not begins("no_event", match["x"]) and len(terms(match["x"])) <= 4
    if event and key and sort in {"time", "day"}:
        yield match.slot(key, sort=sort)


def _first(value: str) -> str:
    """Return the word that the value begins with, articles left out."""
    words = phrase("preposition").sub("", value).split()
    return words[0] if words else ""


def _sort(value: str) -> str:
    """Return what sort of value it is, where that can be told."""
    words = terms(value)
    for name in ("day", "month", "colour", "language", "season"):
        if any(name in classes(term) for term in words):
            return name
    if any(classes(term) & PLACES for term in words):
        return "place"
    if holds("daytime", value):
        return "time"
    return "name" if begins("capital", value) and len(words) <= 3 else ""


def _origin(match: Match) -> Iterator[Slot]:
    nameless = "named" in match.flags and not match["s"]
    if _is_place(match.value, lower=match.lower) and len(terms(match.value)) <= 4 and not nameless:
        yield match.slot("origin", weak=True)


def _studies(match: Match) -> Iterator[Slot]:
    if match.value and not begins("no_subject", match.value):
        yield match.slot("studies", weak=True)


READERS: dict[str, Reader] = {
    "allergy": _allergy, "age": _age, "home": _home, "employer": _employer, "job": _job,
    "language_preference": _language, "speaks": _speaks, "favourite": _favourite,
    "prefers": _prefers, "switch": _switch, "use": _use, "likes": each("likes"),
    "smokes": _smokes, "drinks": _drinks, "eats": each("eats"), "owns": _owns,
    "pet_gone": _pet_gone, "household": _household, "name": _name, "relation": _relation,
    "attribute": _attribute, "timed": _timed, "origin": _origin, "studies": _studies,
}  # fmt: skip


FILE = Path(__file__).with_name("rules.txt")
_AROUND = re.compile(r"\(\?(?:=|!|<=|<!)(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")

Rule = tuple[str, frozenset[str], re.Pattern]


def slots(clause: str) -> list[Slot]:
    """Read a clause without its negation; mostly one slot, several for a list."""
    lower = clause == clause.lower()
    rules, may_match = _rules()
    for number in may_match(_ascii(clause.lower()).encode("ascii", "replace")):
        name, flags, pattern = rules[number]
        if fit := pattern.match(clause):
            match = Match(flags, fit.groupdict(), lower, start=fit.start("v"))
            if slots_read := list(READERS.get(name, simple(name))(match)):
                return slots_read
    return []


@cache
def _rules() -> tuple[list[Rule], Callable[[bytes], list[int]]]:
    """Return the rules in order, and a sieve that tells quickly which of them may match."""
    rules, loose = [], []
    for name, pattern in rulebook.read(FILE):
        key, *flags = name.split("/")
        rules.append((key, frozenset(flags), re.compile(pattern, re.IGNORECASE)))
        loose.append(_loosened(pattern))
    return rules, rulebook.sieve(loose)


def _loosened(pattern: str) -> str:
    """Make a pattern for the sieve that matches at least as much and looks at nothing around."""
    bare = _AROUND.sub("", pattern).replace("(?-i:", "(?:")
    bare = re.sub(r"\{\d+,\d+\}\??", "*", bare)
    return "(?i)" + _ascii(re.sub(r"\(\?P<\w+>", "(?:", bare))


def _ascii(text: str) -> str:
    return text.replace("é", "e").replace("ó", "o").replace("í", "i")
