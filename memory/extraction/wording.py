"""Word a fact: retold about its speaker where the grammar is certain, else as it was said.

A fact keeps the words it rests on. Its text is a sentence that can be read without the chat: the
words in the third person, or, when a verb, a gender or a pronoun is not certain, the person's own
words, with the question they answer where they need it. Words that point at nothing that is known
("I love it") are not a fact.

What is shown to the person themselves is turned round (`told_to`): "Ana's dog" is "your dog". What
is stored stays as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType

from memory.extraction import cues
from memory.extraction.grammar import answers, english, spanish, spanish_verbs, spanish_words
from memory.extraction.grammar.sentences import Sentence, capitalised, data_beside
from memory.extraction.grammar.split import Part, split, with_elided_noun, with_moved_verb
from memory.extraction.subjects import Subject, subject_of
from memory.text.kinship import kin
from memory.text.normalise import detect_language

_DATA = data_beside(__file__)

MAX_LENGTH = 190
# Marks that may end what was said; other marks and emoji at the end go.
_ENDING_MARKS = frozenset(")]'’\"”»?%°º+€$£")
_CALL_ME = {
    "en": (
        re.compile(r"(?:please )?call me (\w+)(?:,? not \w+)?", re.I),
        "{author} wants to be called {name}",
    ),
    "es": (
        re.compile(r"ll[aá]mame (\w+)(?:,? no \w+)?", re.I),
        "{author} quiere que le llamen {name}",
    ),
}
_DECIDES = {"decidimos": "decidió", "acordamos": "acordó", "elegimos": "eligió", "optamos": "optó",
            "escogimos": "escogió", "votamos": "votó"}  # fmt: skip


@dataclass(frozen=True)
class Wording:
    text: str
    subject: Subject
    # In the third person; otherwise the words are the person's own.
    retold: bool
    quote: str = ""


def word_facts(
    quote: str,
    *,
    author: str,
    language: str,
    kind: str,
    previous: str = "",
    previous_author: str = "",
    before: str = "",
    people: Sequence[str] = (),
) -> list[Wording]:
    """Return every fact of the quote by itself, each with the words of the quote it rests on."""
    worded: list[Wording] = []
    own = trimmed(quote)
    parts = split(own, language=language)
    last = _DATA.clauses.split(before.rstrip(" ,;.-"))[-1]
    clause = with_moved_verb(last, own, language)
    clause = clause or with_elided_noun(_DATA.joint_end.sub("", last), own, language)
    if clause or len(parts) < 2:
        parts = [Part(quote, clause or quote)]
    for part in parts:
        fact = word_fact(
            part.clause, author=author, language=language, previous=previous, before=before,
            kind="people" if part.is_of_another else kind, people=people,
            previous_author=previous_author,
        )  # fmt: skip
        if fact:
            subject = _name_from_earlier(fact.subject, worded)
            worded.append(replace(fact, quote=part.quote, subject=subject))
    return worded


def word_fact(
    quote: str,
    *,
    author: str,
    language: str,
    kind: str,
    previous: str = "",
    previous_author: str = "",
    before: str = "",
    people: Sequence[str] = (),
) -> Wording | None:
    """Return the fact that the quote states; None when it points at something that is not known.

    `previous` is the message before, `before` what the same message says before the quote, `kind`
    one of the listener's kinds, `people` names that are known.
    """
    own = trimmed(quote)
    own = cues.asked_to_remember(own, language) or own
    own = english.with_speaker(own) if author and language == "en" else own
    asked_in = "" if previous_author and previous_author == author else previous
    subject = subject_of(
        without_answer(own), author=author, kind=kind, language=language, people=people,
        previous=asked_in, before=before,
    )  # fmt: skip
    own = _with_capital(own, subject)
    # More than "yeah" or "haha ok" before the quote has answered the question already.
    question = "" if len(Sentence(before).words) > 3 else answers.question_in(trimmed(asked_in))
    text, retold = _word_clause(own, question, subject, author=author, language=language, kind=kind)
    is_piece = not question and _is_piece(own, language)
    if is_piece or (not retold and not question and before and _leans(own, subject, language)):
        whole = _with_sentence(before, own) if before else ""
        if whole and not str(subject):
            subject = subject_of(
                whole, author=author, kind=kind, language=language, people=people
            )  # fmt: skip
        text, retold = whole or ("" if is_piece else text), retold and not is_piece
    return Wording(text, subject, retold, quote) if text else None


def _with_capital(text: str, subject: Subject) -> str:
    """Write the name that is known with a capital: "My bro kieran is getting married"."""
    name = subject.name.lower()
    if not subject.is_person or not name or subject.name in text or name not in text:
        return text
    return re.sub(rf"\b{re.escape(name)}\b", lambda _: subject.name, text)


def trimmed(quote: str) -> str:
    """Return the words without what only opens or ends them: "well", "pues", "lol", emoji."""
    words = quote.strip().removeprefix("¡")
    opening = _DATA.opening.match(words)
    words = words[opening.end() :] if opening and opening.end() < len(words) else words
    return _without_ending(words) or words


def _without_ending(words: str) -> str:
    end = len(words)
    while end and not (words[end - 1].isalnum() or words[end - 1] in _ENDING_MARKS):
        end -= 1
    laughter = _DATA.laughter.search(words[max(0, end - 20) : end])
    return _without_ending(words[: end - len(laughter[0])]) if laughter else words[:end]


def without_answer(clause: str) -> str:
    """Return the statement behind "yes" or "no, "; the clause itself when nothing else is there."""
    match = _DATA.yes_no.match(clause)
    return clause[match.end() :] if match and match.end() < len(clause) else clause


def _word_clause(
    own: str, question: str, subject: Subject, *, author: str, language: str, kind: str
) -> tuple[str, bool]:
    """Return the text of the fact, and whether it is in the third person."""
    if retold_text := answers.state_answer(question, own, author=author, language=language):
        return retold_text, True
    context = {"author": author, "language": language, "kind": kind}
    leans = answers.has_object(Sentence(own)) or answers.is_cut_short(own)
    leans = leans or bool(_DATA.dependent.fullmatch(own))
    if not answers.is_pointing(own, language) and not (question and leans):
        named = _with_name(own, subject, author, language)
        is_whole = not _grammar(language).has_first_person(named)
        if retold_text := _retell(named or own, **context) or (named if is_whole else ""):
            return retold_text, True
    resolved = answers.resolve_pointing(own, question, language)
    if not resolved.has_question and resolved.text not in ("", own):
        retold_text = _retell(resolved.text, **context)
        return retold_text or resolved.text, bool(retold_text)
    return resolved.text, False


def _retell(clause: str, *, author: str, language: str, kind: str) -> str:
    """Return the clause in the third person, if nothing of it is lost or left over."""
    text = _of_my_kin(without_answer(clause), language)
    name = author or {"en": "User", "es": ""}[language]
    pattern, form = _CALL_ME[language]
    if match := pattern.fullmatch(text):
        return form.format(author=name, name=match[1]).strip()
    if kind == "lore" and (retold := _of_group(text, language)):
        return retold
    retold = _grammar(language).retell(text, name)
    return retold if retold and _keeps_all(text, retold, name, language) else ""


def _of_my_kin(clause: str, language: str) -> str:
    """Read "our daughter Aoife is a vet" as "my daughter …", "we have two kids" as "I have …".

    Whose they are besides is not told.
    """
    if match := _DATA.we_have.match(clause):
        rest = clause[match.end() :]
        is_kin = any(kin(word) or word in _DATA.children for word in Sentence(rest).words[:3])
        return f"{'tengo' if language == 'es' else 'I have'} {rest}" if is_kin else clause
    first, _, rest = clause.partition(" ")
    is_ours = first.lower() in ("our", "nuestro", "nuestra") and rest and kin(rest.split()[0])
    return f"{'mi' if language == 'es' else 'my'} {rest}" if is_ours else clause


def _of_group(clause: str, language: str) -> str:
    """Tell "We decided to use Postgres" as "The group decided to use Postgres"."""
    match = _DATA.decided[language].fullmatch(clause)
    if not match:
        return ""
    text = f"The group{match['how']} {match['verb']}{match['what']}"
    if language == "es":
        text = f"El grupo {match['how']}{_DECIDES[match['verb'].lower()]}{match['what']}"
    return "" if _grammar(language).has_first_person(text) else text


def _grammar(language: str) -> ModuleType:
    return spanish if language == "es" else english


def _keeps_all(clause: str, retold: str, author: str, language: str) -> bool:
    """Return whether every number, name and "not" of the clause is still there."""
    rest = retold.replace(author, "") if author else retold
    negations = _DATA.negations[language]
    if len(negations.findall(clause.lower())) != len(negations.findall(rest.lower())):
        return False
    names = set(re.findall(r"(?<=\w )[A-ZÁÉÍÓÚÑ]\w+", clause)) - {"I", "Mi", "My"}
    is_counted = re.findall(r"\d+", clause) == re.findall(r"\d+", rest)
    return is_counted and all(name in retold for name in names)


def _with_name(clause: str, subject: Subject, author: str, language: str) -> str:
    """Return the clause with the person in place of "she", when it is known who; otherwise ""."""
    text = without_answer(clause)
    is_other = subject.is_person and subject.label and subject.name != author
    named = {subject.name.lower(), subject.noun} - {""}
    if not author or not is_other or named & set(Sentence(text).words):
        return ""
    grammar = _grammar(language)
    others = grammar.FIRST - {"my", "me", "mi", "mis", "conmigo"} | grammar.WE | grammar.YOU
    if others & set(Sentence(text).words):
        return ""
    label = capitalised(subject.label)
    return _with_name_es(text, label) if language == "es" else _with_name_en(text, label)


def _with_name_en(clause: str, label: str) -> str:
    match = _DATA.pronoun.match(clause)
    if not match:
        return ""
    has = match[1] and match[2].lower() in _DATA.has
    # "He's moved" has, "he's married" is.
    if match[1] and not has and set(Sentence(clause).words[1:3]) & english.participles():
        return ""
    verb = " has" if has else " is" if match[1] else ""
    return f"{label}{verb} {clause[match.end() :]}"


def _with_name_es(clause: str, label: str) -> str:
    """Put in the name only where the verb can have no other subject: "se jubiló en julio"."""
    match = _DATA.third_es.match(clause)
    if not match or "," in label or not spanish_verbs.is_singular_third(match[1]):
        return ""
    place = len(clause[: match.start(1)].split())
    is_verb = spanish_words.is_third_here(Sentence(clause), place)
    return f"{label} {clause[0].lower()}{clause[1:]}" if is_verb else ""


def _is_piece(own: str, language: str) -> bool:
    """Return whether it begins in the middle of a sentence: its beginning says of what."""
    if _DATA.dependent.fullmatch(own):
        return True
    return bool(_DATA.piece.match(own)) and answers.needs_question(own, language)


def _leans(own: str, subject: Subject, language: str) -> bool:
    """Return whether it needs what the same message says before."""
    sentence = Sentence(own)
    is_object = answers.has_object(sentence) or answers.is_pointing(own, language)
    is_of_nobody = language == "es" and sentence.words and spanish_words.is_of_nobody(sentence)
    return bool(is_of_nobody or not str(subject) or is_object or _DATA.leans.match(own))


def _with_sentence(before: str, own: str) -> str:
    """Return the words from where their sentence began, or with the sentence before them."""
    last = re.split(r"(?<=[.!?\n])\s+", before[-2 * MAX_LENGTH :].strip())[-1]
    joint = "" if re.search(r"[.!?]$", last) else before[len(before.rstrip()) :]
    text = f"{last}{joint or ' '}{own}"
    is_whole = len(text) <= MAX_LENGTH and "?" not in last
    return without_answer(trimmed(text)) if is_whole else ""


def _name_from_earlier(subject: Subject, before: list[Wording]) -> Subject:
    """Return the subject with the name that an earlier part told."""
    for fact in before:
        other = fact.subject
        is_same = (other.relation, other.owner) == (subject.relation, subject.owner)
        if is_same and subject.relation and not subject.name:
            named = _DATA.is_called.fullmatch(fact.quote.strip(" .!"))
            return replace(other, name=named["name"]) if named and not other.name else other
    return subject


def told_to(person: str, fact: str) -> str:
    """Return the fact as one says it to the person whose fact it is, by the name they had in it.

    For anybody else give no person: then it is told as it is, or quoted.
    """
    own, other = (spanish, english) if detect_language(fact) == "es" else (english, spanish)
    if person:
        if addressed := own.address_retold(fact, person) or other.address_retold(fact, person):
            return addressed
        # "Marc is Ana's husband", told to Ana.
        addressed, count = re.subn(rf"\b{re.escape(person)}['’]s\b", "your", fact)
        if count:
            return addressed
    # A question and its answer stand as they were asked and answered.
    if "? — " in fact or not own.has_first_person(fact):
        return fact
    return (own.address(fact) if person else "") or quoted(fact)


def quoted(words: str) -> str:
    return words if re.match(r"[\"“«]", words) else f"“{words}”"
