"""What a message mends of what its speaker told before: a value, a time, a place, or its end."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from memory.extraction import changes_of_mind, evidence, intents, propose, rescheduling, wording
from memory.extraction.grammar import spanish_verbs
from memory.extraction.propose import Candidate
from memory.models import Fact, Message
from memory.spaces.chat_links import said_by_same
from memory.text import shorthand
from memory.text.kinship import kin
from memory.text.normalise import words

# "No, Max" is about what was learned a moment ago; who names the old value may do so later.
A_MOMENT, A_DAY = timedelta(hours=1), timedelta(days=1)
# How many of the last facts "Friday, not Thursday" may mean, and among how many another time or
# place of the same thing is looked for.
MOST_MENDED, MAX_COMPARED = 5, 60
# A whole statement that is put right: somebody looked at what was noted.
SURE_OF_CORRECTION = 0.9


def read(message: Message, apart: list[Candidate], *, now: datetime | None) -> list[Candidate]:
    """What the message mends, with what it states besides; nothing when it mends nothing."""
    # What is surely stated stands; "no wait, Friday" is only heard as if it were something new.
    stated = any(candidate.believed and not _is_lead(candidate, message) for candidate in apart)
    mended = [] if stated else _mended(message, now=now)
    moved = mended or _rescheduled(message)
    rest = [
        candidate
        for candidate in apart
        if not rescheduling.is_of_move(f"{candidate.text} {candidate.quote}")
    ]
    return mended or ([*moved, *rest] if moved else _ended(message, apart) or _put(message))


def is_part(candidate: Candidate, message: Message) -> bool:
    """Whether it only mends what was told before: "no, Friday"; "No, vive en Lima", of whom?"""
    if intents.read(candidate.text).name == "correct":
        return True
    verb = candidate.text.partition(" ")[0].lower()
    return intents.read(message.text).name == "correct" and spanish_verbs.is_singular_third(verb)


def _is_lead(candidate: Candidate, message: Message) -> bool:
    """Whether it begins with the words that take something back: "no sorry I was wrong, …"."""
    intent = intents.read(message.text)
    if intent.name != "correct":
        return False
    return message.text.find(candidate.quote) < message.text.find(intent.rest)


def _mended(message: Message, *, now: datetime | None) -> list[Candidate]:
    """ "No, Max": the fact that its speaker was last noted for here, with another value."""
    intent = intents.read(message.text)
    if intent.name != "correct":
        return []
    if told := _told_otherwise(message, intent.rest):
        return told
    at = now or message.sent_at
    own = Fact.objects.live().filter(said_by_same(message, prefix="message__"), chat=message.chat)
    within_a_day = own.filter(last_seen_at__gt=at - A_DAY)
    lately = within_a_day.order_by("-last_seen_at", "-pk")[:MOST_MENDED]
    for number, fact in enumerate(lately):
        # Only what names the old value ("Friday, not Thursday") can mean an earlier one.
        is_fresh = fact.last_seen_at > at - A_MOMENT
        with_latest = is_fresh and fact.message_id == lately[0].message_id
        latest = is_fresh and not number
        mended = intents.mend(fact.text, intent.rest, latest=latest, lately=with_latest)
        if mended:
            return [_instead_of(fact, mended, message)]
    return []


def _instead_of(fact: Fact, text: str, message: Message) -> Candidate:
    same = {name: getattr(fact, name) for name in ("subject", "kind", "category", "confidence")}
    same |= {"language": fact.language, "mode": fact.mode, "replaces": fact.pk}
    same |= {"heard_as": "plan"} if fact.occurs_at else {}
    return Candidate(text, message.text, **same)


def _rescheduled(message: Message) -> list[Candidate]:
    """ "The dentist is on Friday now": what its speaker told of it here, at the new time."""
    said = _told(message)
    corrects = intents.read(said).name == "correct" and rescheduling.has_time(said)
    if not corrects and not rescheduling.moves(said):
        return []
    return _with(rescheduling.retimed, message, said, rescheduling.has_time)


def _put(message: Message) -> list[Candidate]:
    """ "Moved the key, it's in the meter box now": where it was is over."""
    said = _told(message)
    if not rescheduling.put_elsewhere(said):
        return []
    return _with(rescheduling.kept_at, message, said, rescheduling.is_kept)


def _told(message: Message) -> str:
    """What the message tells: "which course do I have on Fridays now?" moves nothing."""
    return " ".join(intents.told(shorthand.written_out(message.text)))


def _with(
    change: Callable[[str, str], str], message: Message, text: str, fits: Callable[[str], bool]
) -> list[Candidate]:
    """What its speaker told of it here, changed by these words."""
    people = [evidence.speaker(message), *evidence.known_names(message)]
    fact = _told_before(message, text, fits, names=people)
    told = change(fact.text, text) if fact else ""
    return [_instead_of(fact, told, message)] if fact and told else []


def _told_before(
    message: Message, text: str, fits: Callable[[str], bool], *, names: Iterable[str] = ()
) -> Fact | None:
    """What its speaker told here of the same, the nearest of it."""
    own = Fact.objects.live().filter(said_by_same(message, prefix="message__"), chat=message.chat)
    known = own.exclude(message=message).order_by("-last_seen_at", "-pk")[:MAX_COMPARED]
    shared = {
        fact: rescheduling.is_about_same(fact.text, text, names=names)
        for fact in known
        if fits(fact.text)
    }
    # "No, my birthday is …" is not about that of a sister.
    whose = _kin_in(text)
    fitting = [fact for fact, score in shared.items() if score]
    return max(fitting, key=lambda fact: (_kin_in(fact.text) == whose, shared[fact]), default=None)


def _kin_in(text: str) -> set[str]:
    relatives = (kin(word) for word in words(text))
    return {relative.relation for relative in relatives if relative}


def _ended(message: Message, apart: list[Candidate]) -> list[Candidate]:
    """ "Bec dropped the fridge back", "Krakow is off": that it was lent, or planned, is over."""
    for line in intents.told(shorthand.written_out(message.text)):
        for part, was in rescheduling.endings(line):
            if fact := _told_before(message, part, was):
                return _over(fact, part, message, apart)
    return []


def _over(fact: Fact, part: str, message: Message, apart: list[Candidate]) -> list[Candidate]:
    """The end in the place of the fact, in the words that were heard of it; the rest stays."""
    endings = [candidate for candidate in apart if rescheduling.endings(candidate.text)]
    spoken = {"author": evidence.speaker(message), "language": message.language or "en"}
    worded = wording.word_facts(part, kind="event", **spoken)
    text = endings[0].text if endings else worded[0].text if worded else part[:1].upper() + part[1:]
    rest = [candidate for candidate in apart if candidate not in endings]
    quote = shorthand.read(message.text).as_written(part)
    return [replace(_instead_of(fact, text, message), quote=quote, heard_as="event"), *rest]


def behind_lead(candidates: list[Candidate]) -> list[Candidate]:
    """ "I was wrong: they arrive on the 19th", where nothing was noted that this could mend."""
    intents_read = [(candidate, intents.read(candidate.text)) for candidate in candidates]
    return [
        replace(candidate, text=intent.rest[:1].upper() + intent.rest[1:])
        for candidate, intent in intents_read
        if intent.name == "correct"
        and len(intent.rest.split()) >= propose.OWN_WORDS
        and not propose.speaks_of_somebody(intent.rest)
    ]


def corrected_at_once(message: Message, candidates: list[Candidate]) -> list[Candidate]:
    """ "He comes at nine. No, sorry, at eleven": the value that was said last."""
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


def _told_otherwise(message: Message, rest: str) -> list[Candidate]:
    """ "No, Mateo is 8": a whole statement that cannot stand beside what its speaker told here."""
    known: dict[str, Any] = {
        "author": evidence.speaker(message),
        "people": evidence.known_names(message),
    }
    spoken = message.language or "en"
    rows = wording.word_facts(rest, language=spoken, kind="people", **known)
    old = {row: _replaced_by(row, message) for row in rows}
    if not any(old.values()):
        return []
    return [_told_with(row, old[row], message, spoken) for row in rows]


def _replaced_by(statement: wording.Wording, message: Message) -> Fact | None:
    """What cannot stand beside the statement, of all that its speaker told here."""
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


def _told_with(
    statement: wording.Wording, old: Fact | None, message: Message, language: str
) -> Candidate:
    """The statement in the place of what it replaces, or beside it."""
    about = (str(statement.subject), "fact", "relationship", 0)
    if old:
        about = (old.subject, old.kind, old.category, old.pk)
    subject, kind, category, replaces = about
    return Candidate(
        statement.text, message.text, subject, kind, category, confidence=SURE_OF_CORRECTION,
        language=language, mode=propose.HEURISTICS, replaces=replaces,
    )  # fmt: skip


def is_quoted(line: str, candidates: list[Candidate]) -> bool:
    return any(candidate.quote in line or line in candidate.quote for candidate in candidates)
