"""What the built-in provider keeps of a message: the same tags a model would write."""

import json
import re
from dataclasses import dataclass

from memory.extraction import propose
from memory.llm.providers.offline_intents import Intent, begins, is_question
from memory.llm.request import Briefing
from memory.text import normalise as words

MOST = 4
OLD_LINES = 4
# A correction of so many words names a value; a longer one says it all.
FRAGMENT = 3
# How somebody wants to be talked to, which is a preference and not a fact.
MANNERS = """answer me, answer in, reply to me, reply in, talk to me, speak to me, write to me,
call me, keep it short, keep your answers short, be brief, be concise, be formal, be informal,
contéstame, respóndeme, responde en, háblame en, háblame de tú, háblame de usted, háblame sin,
escríbeme en, escríbeme siempre, escríbeme sin, escríbeme con, llámame, trátame, tutéame, sé breve,
sé conciso, sé formal"""
_MANNERS = begins(MANNERS)
LINKS = (
    r"is called|is named|lives in|works (?:at|for|as|in)|is on|is at|is|are|was|has|likes|prefers"
    r"|se llama|vive en|trabaja (?:en|como|para)|le gustan?|prefiere|tiene|es|son|está|era"
)
# Where the value of a fact begins: what comes after the last of these can be replaced.
_VALUE = re.compile(rf".*\b(?P<link>{LINKS})\s", re.IGNORECASE)
_PRONOUN = re.compile(
    r"^(?:it's|its|it|he|she|they|that's|that|i meant|el|la|ella|él|eso)\s+", re.I
)
_LINK = re.compile(rf"^(?P<link>{LINKS})\s+", re.IGNORECASE)
_MERE = {"is", "are", "was", "es", "son", "era", "está"}
_SENTENCE = re.compile(r"(?<=[.!?…;])\s+|\n+")


@dataclass(frozen=True)
class Lesson:
    """One thing to keep. `kind` is the tag's name; `text` is empty when nothing need be said."""

    kind: str
    content: str
    text: str = ""

    @property
    def tag(self) -> str:
        return f"<{self.kind}>{self.content}</{self.kind}>"


def lessons(briefing: Briefing, intent: Intent, language: str) -> list[Lesson]:
    told = _told(intent.rest if intent.name == "correct" else briefing.text)
    if not told:
        return []
    found = [_manners(line) for line in told if _MANNERS.match(line)]
    facts = [line for line in told if not _MANNERS.match(line)]
    found += _facts(facts, briefing, intent, language)
    if intent.decides and not found:
        found.append(_lesson("chat-memory", " ".join(told)))
    if intent.plans:
        found.append(_note(briefing, " ".join(told)))
    return found


def _facts(told: list[str], briefing: Briefing, intent: Intent, language: str) -> list[Lesson]:
    known = {words.said_key(one.text) for one in briefing.recalled}
    made = [
        one.text
        for line in told
        for one in propose.propose(
            line, author=briefing.person, language=language, listen=intent.name != "correct"
        )
    ]
    if not made and intent.name == "correct" and (mended := mend(briefing.latest, intent.rest)):
        made = [mended]
    if not made and intent.name in {"remember", "correct"} and not intent.decides:
        # Asked to keep it: then the very words are the fact.
        made = [line for line in _told(intent.rest) if len(line) > 3]
    fresh = [text for text in dict.fromkeys(made) if words.said_key(text) not in known]
    return [_lesson("memory", text) for text in fresh[:MOST]]


def mend(latest: str, rest: str) -> str:
    """The fact learned last with another value, when a correction only names that: "no, Marta"."""
    value = _PRONOUN.sub("", words.one_line(rest).rstrip(".! "))
    head, link = _VALUE.match(latest), _LINK.match(value)
    if head and link and link["link"].lower() not in {*_MERE, head["link"].lower()}:
        return ""
    value = _LINK.sub("", value)
    is_value = 0 < len(value.split()) <= FRAGMENT and words.fold(value) not in words.fold(latest)
    return head[0] + value if head and is_value else ""


def _told(said: str) -> list[str]:
    """The sentences that tell something."""
    parts = (part.strip() for part in _SENTENCE.split(said))
    return [words.one_line(part) for part in parts if part and not is_question(part)]


def _manners(line: str) -> Lesson:
    return _lesson("user", line.rstrip("."))


def _note(briefing: Briefing, told: str) -> Lesson:
    """The note is replaced whole, so what it said before goes along."""
    before = [line for line in briefing.working.splitlines() if line.strip() and line not in told]
    note = {"task": told, "context": before[:OLD_LINES]}
    return Lesson("working-memory", json.dumps(note, ensure_ascii=False))


def _lesson(kind: str, content: str) -> Lesson:
    # Angle brackets of the person's own could end the tag early.
    safe = words.one_line(content).replace("<", "‹").replace(">", "›")
    return Lesson(kind, safe, safe)
