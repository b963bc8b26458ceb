"""What is known about a person, said to that person: "Ana's dog is…" as "Your dog is…".

For what is shown in a chat; what is stored stays as it is. A fact in a person's own words ("I work
nights") is turned round, too, when that person hears it; where the grammar is not certain, the
words are quoted. A fact about others stays as it is.
"""

import re

from memory.extraction.grammar import english, spanish, spanish_words
from memory.text.normalise import detect_language, fold


def told_to(person: str, fact: str, *, said_by: str = "") -> str:
    """The fact as one says it to the person; `said_by` is whose words it may be in."""
    grammars = [(english, english), (spanish_words, spanish)]
    if detect_language(fact) == "es":
        grammars.reverse()
    if person:
        for _, second in grammars:
            if told := second.address_retold(fact, person):
                return told
    # A question and its answer stand as they were asked and answered.
    if "? — " in fact or not any(grammar.has_first_person(fact) for grammar, _ in grammars[:1]):
        return fact
    is_own = bool(person) and fold(said_by) == fold(person)
    told = grammars[0][1].address(fact) if is_own else ""
    return told or quoted(fact)


def quoted(words: str) -> str:
    return words if re.match(r"[\"“«]", words) else f"“{words}”"
