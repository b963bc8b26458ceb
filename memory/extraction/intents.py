"""What somebody wants with a message, by its words alone, in English and Spanish. Pure."""

import re
from dataclasses import dataclass

from memory.extraction import rescheduling
from memory.extraction.grammar.sentences import data_beside
from memory.text import asking
from memory.text import normalise as words
from memory.text.shorthand import written_out
from memory.text.summaries import without_lead_in

_DATA = data_beside(__file__)

# From where on words without a mark are taken for a question.
ASKS = 0.5
# So many words without a verb or a mark may be looked up, if one is longer than that.
BARE_WORDS, BARE_LETTERS = 4, 3
# A reply longer than this says something besides.
FORMULA_WORDS = 14
# Before the question itself: a clause of so many words may tell something.
CLAUSE_WORDS = 3
# A correction of so many words names a value; a longer one says it all.
FRAGMENT = 3
_LISTS = {"new": _DATA.new, "told_on": _DATA.told, "planned_on": _DATA.planned}
# "No, Marta" takes something back; "No tengo coche" and "No meat for me" only deny.
_ORDERS = {
    "forget": (_DATA.forget,),
    "remember": (_DATA.remember,),
    "correct": (_DATA.no, _DATA.corrections),
}
_MERE_LINKS = frozenset("is are was es son era está".split())


@dataclass(frozen=True)
class Intent:
    """What one message wants; several may hold."""

    name: str = "statement"
    # What is to be remembered, forgotten or corrected, in the person's words.
    rest: str = ""
    questions: tuple[str, ...] = ()
    plans: bool = False


def read(text: str) -> Intent:
    line = without_lead_in(written_out(text.strip().replace("’", "'")))
    sentences = [part for part in _DATA.sentence.split(line) if part.strip()]
    questions = tuple(part for part in sentences if is_question(part))
    if _DATA.help_only.search(line):
        return Intent("help", questions=questions)
    if (found := listed(line))[0]:
        return Intent(found[0], found[1], questions or (line,))
    if chatter := small_talk(line):
        return Intent(chatter, questions=questions)
    plans = any(_DATA.plans.search(part) for part in sentences if part not in questions)
    for name, patterns in _ORDERS.items():
        told = next((one for pattern in patterns if (one := pattern.match(line))), None)
        if told and not is_question(line):
            rest = told["rest"].strip(" \t\n,:;.-—¡!")
            # "No wait, sorry, Friday" takes back once.
            while name == "correct" and (more := patterns[-1].match(rest)) and more["rest"].strip():
                rest = more["rest"].strip(" \t\n,:;.-—¡!")
            return Intent(name, rest, questions, plans)
    asks_only = bool(sentences) and len(questions) == len(sentences)
    return Intent("question" if asks_only else "statement", "", questions, plans)


def small_talk(text: str) -> str:
    """Return which small talk the whole message is, or nothing; the weightiest of its parts."""
    if not re.search(r"\w", text):
        return "smile" if text.strip() else ""
    parts = [one for one in _DATA.chunk.split(text) if re.search(r"\w", one)]
    parts = [one for one in parts if one.strip().lower() != "keno"] or parts
    found = [_chatter(one) or _chatter(_DATA.stretched.sub(r"\1", one)) for one in parts[:4]]
    if not all(found) or len(parts) > 4:
        return ""
    return min(found, key=list(_DATA.chatter).index, default="")


def _chatter(part: str) -> str:
    return next((name for name, pattern in _DATA.chatter.items() if pattern.match(part)), "")


def listed(text: str) -> tuple[str, str]:
    """Return which list answers it (about_me, about, told_on, planned_on, new) and about whom."""
    line = text.strip().replace("’", "'")
    found = _DATA.about.search(line)
    if found:
        rest = found["rest"].strip(" ,;:")
        return ("about_me", "") if _DATA.me.match(rest) else ("about", rest)
    return next(((name, "") for name, one in _LISTS.items() if one.search(line)), ("", ""))


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


def told(text: str) -> list[str]:
    """The sentences that tell something."""
    parts = (part.strip() for part in _DATA.sentence.split(text))
    return [words.one_line(part) for part in parts if part and not is_question(part)]


def manners(text: str) -> list[str]:
    """The sentences that tell Keno how to talk: "answer me in French", "sé breve"."""
    parts = (words.one_line(part).rstrip(".! ") for part in _DATA.sentence.split(text))
    return [part for part in parts if _DATA.manners.match(part) and not is_question(part)]


def mend(fact: str, rest: str, *, latest: bool = True, lately: bool = False) -> str:
    """The fact with another value, when a correction only names that.

    "May, not June" and "Quito no, Lima" replace the value that they name. "No, Marta" replaces the
    last value of the fact that was learned `latest`; "no, Friday" and "no, at 5" the day and the
    hour of one that was learned `lately`, with it.
    """
    line = rescheduling.without_same(words.one_line(rest))
    value = _DATA.pronoun.sub("", _DATA.afterword.sub("", line).rstrip(".! "))
    for pattern in (_DATA.not_that, _DATA.that_no):
        named = pattern.fullmatch(value)
        if named and (mended := _swapped(fact, named["old"], named["new"])):
            return mended
    if named := _DATA.not_but.fullmatch(line.rstrip(".! ")):
        if mended := _swapped(fact, named["old"], named["new"]):
            return mended
        value, lately = named["new"], lately or words.fold(named["old"]) in words.fold(fact)
    times = [one for one in (value, *sentences(value)[:1]) if rescheduling.names_only_times(one)]
    if times:
        return rescheduling.retimed(fact, times[0]) if latest or lately else ""
    if not latest:
        return ""
    head, link = _DATA.value.match(fact), _DATA.link.match(value)
    if head and link and link["link"].lower() not in {*_MERE_LINKS, head["link"].lower()}:
        return ""
    value = _DATA.link.sub("", value)
    is_value = 0 < len(value.split()) <= FRAGMENT and words.fold(value) not in words.fold(fact)
    # A long value is more than a name: what part of it is meant nobody knows.
    is_short = bool(head) and len(fact[head.end() :].split()) <= FRAGMENT
    return head[0] + value if is_short and is_value else ""


def _swapped(latest: str, old: str, new: str) -> str:
    """The fact with one word of it replaced, if it holds that word once."""
    # "Rex is 12, not 11".
    if old.isdigit() and len(numbers := re.findall(r"\d+", new)) == 1:
        new = numbers[0]
    found = re.findall(rf"(?<!\w){re.escape(old)}(?!\w)", latest, re.I)
    if len(found) != 1 or len(new.split()) > FRAGMENT:
        return ""
    at_start = latest.startswith(found[0])
    return latest.replace(found[0], new[:1].upper() + new[1:] if at_start else new)


def is_request(text: str) -> bool:
    """Whether something is to be done that takes more than a memory."""
    line = text.strip()
    found = _DATA.objects.match(line)
    return bool(_DATA.requests.match(line) or (found and _DATA.object.match(found["rest"])))


def is_question(text: str) -> bool:
    line = plain(text)
    if reminder(line):
        return False
    asked_back = (found := _DATA.reminders.match(line)) and _DATA.asked_back.match(found["rest"])
    is_marked = line.endswith("?") or "¿" in line
    return bool(is_marked or asked_back or asks_plainly(line))


def plain(text: str) -> str:
    """The words as they are read: shorthand written out, without what leads to a question."""
    return without_lead_in(written_out(text.strip()))


def asks_plainly(text: str) -> bool:
    """Whether the words themselves ask, mark or no mark: "whats my wife called"."""
    return asking.probability(plain(text)) >= ASKS


def is_bare(text: str) -> bool:
    """Whether few words may ask for what they name: "passports", "hora insulina mama"."""
    found = words.words(text)
    names_something = any(len(word) > BARE_LETTERS for word in found)
    is_few = 0 < len(found) <= BARE_WORDS and not re.search(r"[\d,.!]", text)
    return is_few and names_something and read(text).name == "statement"


def reminder(text: str) -> str:
    """Return what somebody wants to be reminded of, in their words; the time may come first."""
    line = text.strip()
    found = _DATA.reminders.match(line)
    if not found or _DATA.asked_back.match(found["rest"]):
        return ""
    asks = line.endswith("?") and not found["polite"]
    if asks or (found["english"] and not _DATA.remind_of.match(found["rest"])):
        return ""
    return _DATA.remind_link.sub("", found["rest"]).strip(" \t\n,:;.-—¡!?¿")


def sentences(text: str) -> list[str]:
    return [one for one in _DATA.sentence.split(text.strip()) if one.strip()]


def not_memory(text: str, *, to_keno: bool = True) -> str:
    """Return why a person's words are not memory (command, small_talk, question), or nothing.

    A question that also tells something is memory, and so is one that people ask each other.
    """
    intent = read(text)
    if _DATA.command.match(text.strip()) or intent.name == "forget":
        return "command"
    if intent.name in {*_DATA.chatter, "smile", "help"} or _DATA.mashed.fullmatch(text):
        return "small_talk"
    asks = bool(listed(text)[0]) or is_request(text) or all(map(is_question, sentences(text)))
    return "question" if to_keno and asks and not told_in_passing(text) else ""


def told_in_passing(text: str) -> bool:
    """Whether a clause before the question tells something: "I moved to Porto, do you know…?" """
    clauses = [one for one in _DATA.clause.split(text.strip()) if one.strip()][:-1]
    long = [one for one in clauses if len(one.split()) >= CLAUSE_WORDS]
    return any(_DATA.tells.match(one) and not is_question(one) for one in long)


def is_formula(text: str) -> bool:
    """Whether a reply only agrees, refuses or greets."""
    return len(text.split()) <= FORMULA_WORDS and bool(_DATA.formulas.match(text))


def language(text: str, *, usual: str = "en") -> str:
    return words.detect_language(text) or (usual if usual in {"en", "es"} else "en")
