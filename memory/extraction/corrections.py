"""Correct what the speaker of a message told before: a value, a time, a place, or its end."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from memory.extraction import changes_of_mind, evidence, intents, propose, rescheduling, wording
from memory.extraction.grammar import spanish_verbs
from memory.extraction.propose import Candidate
from memory.models import Fact, Message
from memory.spaces.chat_links import said_by_same
from memory.text import shorthand
from memory.text.kinship import kin
from memory.text.normalise import words

# "No, Max" is about what was learned a moment ago; naming the old value works for a day.
A_MOMENT = timedelta(hours=1)
A_DAY = timedelta(days=1)
# How many of the last facts "Friday, not Thursday" may mean, and among how many another time or
# place of the same thing is looked for.
MAX_MENDED = 5
MAX_COMPARED = 60
# A whole statement that is put right: somebody looked at what was noted.
SURE_OF_CORRECTION = 0.9


def read(message: Message, apart: list[Candidate], *, now: datetime | None) -> list[Candidate]:
    """Return what the message mends, with what it states besides, or nothing."""
    # What is surely stated stands; "no wait, Friday" is only heard as if it were something new.
    stated = any(candidate.believed and not _is_lead(candidate, message) for candidate in apart)
    if not stated and (mended := _with_new_value(message, now=now)):
        return mended
    if moved := _at_new_time(message):
        rest = [c for c in apart if not rescheduling.is_of_move(f"{c.text} {c.quote}")]
        return [*moved, *rest]
    return _ending_of_told(message, apart) or _put_elsewhere(message)


def is_part(candidate: Candidate, message: Message) -> bool:
    """Return whether it only mends what was told before: "no, Friday"; "No, vive en Lima"."""
    if intents.read(candidate.text).name == "correct":
        return True
    verb = candidate.text.partition(" ")[0].lower()
    return intents.read(message.text).name == "correct" and spanish_verbs.is_singular_third(verb)


def _is_lead(candidate: Candidate, message: Message) -> bool:
    """Return whether it begins with what takes something back: "no sorry I was wrong, …"."""
    intent = intents.read(message.text)
    begins_first = message.text.find(candidate.quote) < message.text.find(intent.rest)
    return intent.name == "correct" and begins_first


def _with_new_value(message: Message, *, now: datetime | None) -> list[Candidate]:
    """Return what its speaker was last noted for here with the new value: "No, Max"."""
    intent = intents.read(message.text)
    if intent.name != "correct":
        return []
    if statements := _replacing_statements(message, intent.rest):
        return statements
    at = now or message.sent_at
    own = Fact.objects.live().filter(said_by_same(message, prefix="message__"), chat=message.chat)
    own = own.filter(last_seen_at__gt=at - A_DAY).order_by("-last_seen_at", "-pk")[:MAX_MENDED]
    for number, fact in enumerate(own):
        # Only what names the old value ("Friday, not Thursday") can mean an earlier one.
        is_fresh = fact.last_seen_at > at - A_MOMENT
        with_latest = is_fresh and fact.message_id == own[0].message_id
        latest = is_fresh and not number
        if text := intents.mend(fact.text, intent.rest, latest=latest, lately=with_latest):
            return [_instead_of(fact, text, message)]
    return []


def _instead_of(fact: Fact, text: str, message: Message) -> Candidate:
    same = {name: getattr(fact, name) for name in ("subject", "kind", "category", "confidence")}
    same |= {"language": fact.language, "mode": fact.mode, "replaces": fact.pk}
    same |= {"heard_as": "plan"} if fact.occurs_at else {}
    return Candidate(text, message.text, **same)


def _at_new_time(message: Message) -> list[Candidate]:
    """Return what its speaker told of it here, at the new time: "The dentist is on Friday now"."""
    text = _statements_of(message)
    corrects = intents.read(text).name == "correct" and rescheduling.has_time(text)
    if not corrects and not rescheduling.moves(text):
        return []
    return _apply_change(rescheduling.retime, message, text, rescheduling.has_time)


def _put_elsewhere(message: Message) -> list[Candidate]:
    """Return what its speaker told of it here, at the new place: "Moved the key to the box"."""
    text = _statements_of(message)
    if not rescheduling.put_elsewhere(text):
        return []
    return _apply_change(rescheduling.kept_at, message, text, rescheduling.is_kept)


def _statements_of(message: Message) -> str:
    """Return what the message tells: "which course do I have on Fridays now?" moves nothing."""
    return " ".join(intents.statements(shorthand.written_out(message.text)))


def _apply_change(
    change: Callable[[str, str], str], message: Message, text: str, fits: Callable[[str], bool]
) -> list[Candidate]:
    """Return what its speaker told of it here, changed by these words."""
    people = [evidence.speaker(message), *evidence.known_names(message)]
    fact = _find_told_before(message, text, fits, names=people)
    changed = change(fact.text, text) if fact else ""
    return [_instead_of(fact, changed, message)] if fact and changed else []


def _find_told_before(
    message: Message, text: str, fits: Callable[[str], bool], *, names: Iterable[str] = ()
) -> Fact | None:
    """Return what its speaker told here of the same, the nearest of it."""
    own = Fact.objects.live().filter(said_by_same(message, prefix="message__"), chat=message.chat)
    rows = own.exclude(message=message).order_by("-last_seen_at", "-pk")[:MAX_COMPARED]
    shared = {
        fact: rescheduling.is_about_same(fact.text, text, names=names)
        for fact in rows
        if fits(fact.text)
    }
    # "No, my birthday is …" is not about that of a sister.
    whose = _kin_in(text)
    fitting = [fact for fact, score in shared.items() if score]
    return max(fitting, key=lambda fact: (_kin_in(fact.text) == whose, shared[fact]), default=None)


def _kin_in(text: str) -> set[str]:
    relatives = (kin(word) for word in words(text))
    return {relative.relation for relative in relatives if relative}


def _ending_of_told(message: Message, apart: list[Candidate]) -> list[Candidate]:
    """Return the end of a loan or plan: "Bec dropped the fridge back", "Krakow is off"."""
    for line in intents.statements(shorthand.written_out(message.text)):
        for part, was in rescheduling.endings(line):
            if fact := _find_told_before(message, part, was):
                return _end_of(fact, part, message, apart)
    return []


def _end_of(fact: Fact, part: str, message: Message, apart: list[Candidate]) -> list[Candidate]:
    """Return the end in the place of the fact, in the words heard of it, with the rest."""
    endings = [candidate for candidate in apart if rescheduling.endings(candidate.text)]
    speaker = {"author": evidence.speaker(message), "language": message.language or "en"}
    worded = wording.word_facts(part, kind="event", **speaker)
    text = endings[0].text if endings else worded[0].text if worded else part[:1].upper() + part[1:]
    rest = [candidate for candidate in apart if candidate not in endings]
    quote = shorthand.read(message.text).as_written(part)
    return [replace(_instead_of(fact, text, message), quote=quote, heard_as="event"), *rest]


def strip_lead(candidates: list[Candidate]) -> list[Candidate]:
    """Return what follows "I was wrong: …", where nothing was noted that this could mend."""
    intents_read = [(candidate, intents.read(candidate.text)) for candidate in candidates]
    return [
        replace(candidate, text=intent.rest[:1].upper() + intent.rest[1:])
        for candidate, intent in intents_read
        if intent.name == "correct"
        and len(intent.rest.split()) >= propose.MIN_OWN_WORDS
        and not propose.speaks_of_somebody(intent.rest)
    ]


def apply_last_values(message: Message, candidates: list[Candidate]) -> list[Candidate]:
    """Give each the value that was said last: "He comes at nine. No, sorry, at eleven"."""
    lines = intents.sentences(shorthand.written_out(message.text))
    for before, line in pairwise(lines):
        intent = intents.read(line)
        if intent.name == "correct":
            candidates = [
                replace(candidate, text=intents.mend(candidate.text, intent.rest) or candidate.text)
                if is_quoted(before, [candidate])
                else candidate
                for candidate in candidates
            ]
    return candidates


def _replacing_statements(message: Message, rest: str) -> list[Candidate]:
    """Return a whole statement that replaces what its speaker told here: "No, Mateo is 8"."""
    language = message.language or "en"
    statements = wording.word_facts(
        rest, author=evidence.speaker(message), people=evidence.known_names(message),
        language=language, kind="people",
    )  # fmt: skip
    old = [_find_replaced(statement, message) for statement in statements]
    if not any(old):
        return []
    return [
        _correction(statement, fact, message, language)
        for statement, fact in zip(statements, old, strict=True)
    ]


def _find_replaced(statement: wording.Wording, message: Message) -> Fact | None:
    """Return what cannot stand beside the statement, of all that its speaker told here."""
    if not statement.retold:
        return None
    changed = changes_of_mind.find_superseded(
        message.space,
        message.chat,
        statement.text,
        str(statement.subject),
        speaker=message,
        correcting=True,
    )
    return next((entry.fact for entry in changed), None)


def _correction(
    statement: wording.Wording, old: Fact | None, message: Message, language: str
) -> Candidate:
    """Return the statement in the place of what it replaces, or beside it."""
    candidate = Candidate(
        statement.text, message.text, str(statement.subject), "fact", "relationship",
        confidence=SURE_OF_CORRECTION, language=language, mode=propose.HEURISTICS,
    )  # fmt: skip
    if not old:
        return candidate
    candidate = replace(candidate, subject=old.subject, kind=old.kind, category=old.category)
    return replace(candidate, replaces=old.pk)


def is_quoted(line: str, candidates: list[Candidate]) -> bool:
    return any(candidate.quote in line or line in candidate.quote for candidate in candidates)
