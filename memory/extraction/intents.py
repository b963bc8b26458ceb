"""Tell what somebody wants with a message, by its words alone, in English and Spanish. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

from memory.extraction import rescheduling
from memory.extraction.grammar.sentences import data_beside
from memory.text import asking
from memory.text import normalise as words
from memory.text.shorthand import written_out
from memory.text.summaries import without_lead_in

_DATA = data_beside(__file__)

# From where on words without a mark are taken for a question.
MIN_ASKING = 0.5
# So many words without a verb or a mark may be looked up, if one is longer than that.
MAX_BARE_WORDS = 4
MIN_BARE_LETTERS = 3
# A reply longer than this says something besides.
MAX_FORMULA_WORDS = 14
# Before the question itself: a clause of so many words may tell something.
MIN_CLAUSE_WORDS = 3
# A correction of so many words names a value; a longer one says it all.
MAX_VALUE_WORDS = 3
_LISTS = {"new": _DATA.new, "told_on": _DATA.told, "planned_on": _DATA.planned}
# "No, Marta" takes something back; "No tengo coche" and "No meat for me" only deny.
_ORDERS = {
    "forget": (_DATA.forget,),
    "remember": (_DATA.remember,),
    "correct": (_DATA.no, _DATA.corrections),
}
_AROUND = " \t\n,:;.-—¡!"
_MERE_LINKS = frozenset("is are was es son era está".split())


@dataclass(frozen=True)
class Intent:
    """What one message wants; several may hold."""

    name: str = "statement"
    # What is to be remembered, forgotten or corrected, in the person's words.
    rest: str = ""
    questions: tuple[str, ...] = ()
    plans: bool = False


# A message is read for several reasons, whole and sentence by sentence.
@lru_cache(maxsize=128)
def read(text: str) -> Intent:
    line = without_lead_in(written_out(text.strip().replace("’", "'")))
    parts = sentences(line)
    questions = tuple(part for part in parts if is_question(part))
    if _DATA.help_only.search(line):
        return Intent("help", questions=questions)
    if (asked_list := list_asked_for(line))[0]:
        return Intent(asked_list[0], asked_list[1], questions or (line,))
    if chatter := small_talk(line):
        return Intent(chatter, questions=questions)
    plans = any(_DATA.plans.search(part) for part in parts if part not in questions)
    for name, patterns in _ORDERS.items():
        order = next(filter(None, (pattern.match(line) for pattern in patterns)), None)
        if order and not is_question(line):
            rest = order["rest"].strip(_AROUND)
            # "No wait, sorry, Friday" takes back once.
            while name == "correct" and (more := patterns[-1].match(rest)) and more["rest"].strip():
                rest = more["rest"].strip(_AROUND)
            return Intent(name, rest, questions, plans)
    asks_only = bool(parts) and len(questions) == len(parts)
    return Intent("question" if asks_only else "statement", "", questions, plans)


def small_talk(text: str) -> str:
    """Return which small talk the whole message is, or nothing; the weightiest of its parts."""
    if not re.search(r"\w", text):
        return "smile" if text.strip() else ""
    parts = [part for part in _DATA.chunk.split(text) if re.search(r"\w", part)]
    parts = [part for part in parts if part.strip().lower() != "keno"] or parts
    kinds = [_chatter(part) or _chatter(_DATA.stretched.sub(r"\1", part)) for part in parts[:4]]
    if not all(kinds) or len(parts) > 4:
        return ""
    return min(kinds, key=list(_DATA.chatter).index, default="")


def _chatter(part: str) -> str:
    return next((name for name, pattern in _DATA.chatter.items() if pattern.match(part)), "")


def list_asked_for(text: str) -> tuple[str, str]:
    """Return which list answers it (about_me, about, told_on, planned_on, new) and about whom."""
    line = text.strip().replace("’", "'")
    if about := _DATA.about.search(line):
        rest = about["rest"].strip(" ,;:")
        return ("about_me", "") if _DATA.me.match(rest) else ("about", rest)
    return next(((name, "") for name, asks in _LISTS.items() if asks.search(line)), ("", ""))


def to_forget(text: str) -> str:
    """Return what somebody asks to forget, in their words; "last" for what was noted last."""
    intent = read(text)
    if intent.name != "forget" or _DATA.everything.search(text):
        return ""
    return intent.rest or "last"


def grief(text: str) -> str:
    """Return "death" or "sad" when somebody tells of it, else nothing."""
    if is_question(text) or _DATA.works_there.search(text):
        return ""
    return "death" if _DATA.death.search(text) else "sad" if _DATA.sad.search(text) else ""


def statements(text: str) -> list[str]:
    """Return the sentences that tell something."""
    return [words.one_line(part) for part in sentences(text) if not is_question(part.strip())]


def manners(text: str) -> list[str]:
    """Return the sentences that tell Keno how to talk: "answer me in French", "sé breve"."""
    parts = (words.one_line(part).rstrip(".! ") for part in sentences(text))
    return [part for part in parts if _DATA.manners.match(part) and not is_question(part)]


def mend(fact: str, rest: str, *, latest: bool = True, lately: bool = False) -> str:
    """Return the fact with another value, when a correction only names that.

    "May, not June" and "Quito no, Lima" replace the value that they name. "No, Marta" replaces the
    last value of the fact that was learned `latest`; "no, Friday" and "no, at 5" the day and the
    hour of one that was learned `lately`, with it.
    """
    line = rescheduling.without_same(words.one_line(rest))
    value = _DATA.pronoun.sub("", _DATA.afterword.sub("", line).rstrip(".! "))
    for pattern in (_DATA.not_that, _DATA.that_no):
        named = pattern.fullmatch(value)
        if named and (mended := _swap(fact, named["old"], named["new"])):
            return mended
    if named := _DATA.not_but.fullmatch(line.rstrip(".! ")):
        if mended := _swap(fact, named["old"], named["new"]):
            return mended
        value, lately = named["new"], lately or words.fold(named["old"]) in words.fold(fact)
    times = filter(rescheduling.names_only_times, (value, *sentences(value)[:1]))
    if time := next(times, ""):
        return rescheduling.retime(fact, time) if latest or lately else ""
    if not latest:
        return ""
    head, link = _DATA.value.match(fact), _DATA.link.match(value)
    if head and link and link["link"].lower() not in {*_MERE_LINKS, head["link"].lower()}:
        return ""
    value = _DATA.link.sub("", value)
    is_new = words.fold(value) not in words.fold(fact)
    is_value = is_new and 0 < len(value.split()) <= MAX_VALUE_WORDS
    # A long value is more than a name: what part of it is meant nobody knows.
    is_short = bool(head) and len(fact[head.end() :].split()) <= MAX_VALUE_WORDS
    return head[0] + value if is_short and is_value else ""


def _swap(fact: str, old: str, new: str) -> str:
    """Return the fact with one word of it replaced, if it holds that word once."""
    # "Rex is 12, not 11".
    if old.isdigit() and len(numbers := re.findall(r"\d+", new)) == 1:
        new = numbers[0]
    places = re.findall(rf"(?<!\w){re.escape(old)}(?!\w)", fact, re.I)
    if len(places) != 1 or len(new.split()) > MAX_VALUE_WORDS:
        return ""
    at_start = fact.startswith(places[0])
    return fact.replace(places[0], new[:1].upper() + new[1:] if at_start else new)


def is_request(text: str) -> bool:
    """Return whether something is to be done that takes more than a memory."""
    line = text.strip()
    order = _DATA.objects.match(line)
    return bool(_DATA.requests.match(line) or (order and _DATA.object.match(order["rest"])))


@lru_cache(maxsize=128)
def is_question(text: str) -> bool:
    line = plain(text)
    if reminder(line):
        return False
    asked_back = (order := _DATA.reminders.match(line)) and _DATA.asked_back.match(order["rest"])
    is_marked = line.endswith("?") or "¿" in line
    return bool(is_marked or asked_back or asks_plainly(line))


def plain(text: str) -> str:
    """Return the words with shorthand written out, without what leads to a question."""
    return without_lead_in(written_out(text.strip()))


def asks_plainly(text: str) -> bool:
    """Return whether the words themselves ask, mark or no mark: "whats my wife called"."""
    return asking.probability(plain(text)) >= MIN_ASKING


def is_bare(text: str) -> bool:
    """Return whether few words may ask for what they name: "passports", "hora insulina mama"."""
    terms = words.words(text)
    names_something = any(len(word) > MIN_BARE_LETTERS for word in terms)
    is_few = 0 < len(terms) <= MAX_BARE_WORDS and not re.search(r"[\d,.!]", text)
    return is_few and names_something and read(text).name == "statement"


def reminder(text: str) -> str:
    """Return what somebody wants to be reminded of, in their words; the time may come first."""
    line = text.strip()
    match = _DATA.reminders.match(line)
    if not match or _DATA.asked_back.match(match["rest"]):
        return ""
    asks = line.endswith("?") and not match["polite"]
    if asks or (match["english"] and not _DATA.remind_of.match(match["rest"])):
        return ""
    return _DATA.remind_link.sub("", match["rest"]).strip(" \t\n,:;.-—¡!?¿")


def sentences(text: str) -> list[str]:
    return [part for part in _DATA.sentence.split(text.strip()) if part.strip()]


def not_memory(text: str, *, to_keno: bool = True) -> str:
    """Return why a person's words are not memory (command, small_talk, question), or nothing.

    A question that also tells something is memory, and so is one that people ask each other.
    """
    intent = read(text)
    if _DATA.command.match(text.strip()) or intent.name == "forget":
        return "command"
    if intent.name in {*_DATA.chatter, "smile", "help"} or _DATA.mashed.fullmatch(text):
        return "small_talk"
    has_list = bool(list_asked_for(text)[0])
    asks = has_list or is_request(text) or all(map(is_question, sentences(text)))
    return "question" if to_keno and asks and not tells_in_passing(text) else ""


def tells_in_passing(text: str) -> bool:
    """Return whether a clause before the question tells something: "I moved, do you know…?" """
    clauses = [clause for clause in _DATA.clause.split(text.strip()) if clause.strip()][:-1]
    long = [clause for clause in clauses if len(clause.split()) >= MIN_CLAUSE_WORDS]
    return any(_DATA.tells.match(clause) and not is_question(clause) for clause in long)


def is_formula(text: str) -> bool:
    """Return whether a reply only agrees, refuses or greets."""
    return len(text.split()) <= MAX_FORMULA_WORDS and bool(_DATA.formulas.match(text))


def language(text: str, *, usual: str = "en") -> str:
    return words.detect_language(text) or (usual if usual in {"en", "es"} else "en")
