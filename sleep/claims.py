"""What an episode says, claim by claim, with the words it was said in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memory.extraction import propose
from memory.guards import inspect as guards
from memory.guards.screening import screen_transcript, suspicions
from memory.models import Episode, Message
from memory.text.normalise import detect_language, one_line, said_key
from sleep import budgeted_model
from sleep.budgeted_model import HEURISTICS
from sleep.error_patterns import error_line, is_error, sentences, solution
from sleep.models import Claim

MIN_SENTENCE_LENGTH = 11
# An episode somebody wrote down on purpose: its lines are claims as they stand.
CURATED_SOURCES = {"tag", "import", "person", "command"}


@dataclass(frozen=True)
class SourceLine:
    text: str
    author: str
    at: object
    flagged: bool = False


@dataclass(frozen=True)
class Habit:
    """A problem, what helped, and the words that say so."""

    trigger: str
    response: str
    confidence: float
    quotes: tuple[str, ...]
    mode: str = HEURISTICS


def is_curated(episode: Episode) -> bool:
    return episode.source in CURATED_SOURCES


def lines_of(episode: Episode, messages: Iterable[Message]) -> list[SourceLine]:
    """The messages of people, else the body. What Keno said itself is no evidence."""
    said = [
        SourceLine(message.text, message.author, message.sent_at, bool(suspicions(message.flags)))
        for message in messages
        if message.role == Message.Role.USER
    ]
    if said:
        return said
    author = episode.participants[0] if episode.participants else ""
    return [
        SourceLine(line, author, episode.started_at)
        for line in episode.body.splitlines()
        if line.strip() and not _is_heading(line)
    ]


def claims_of(
    episode: Episode, messages: Iterable[Message], *, complete: Callable[[str], str] | None = None
) -> tuple[list[Claim], int]:
    """The episode's claims, unsaved, one per saying, and how many lines the guards kept out."""
    found: dict[str, Claim] = {}
    kept_out = 0
    for line in lines_of(episode, messages):
        # A model must not see what the guards would keep out; heuristics cannot be talked to, and
        # most lines claim nothing, so there the guards look at the few that do.
        if line.flagged or (complete and _is_suspicious(line)):
            kept_out += 1
            continue
        claims = _claims(episode, line, complete)
        if claims and not complete and _is_suspicious(line):
            kept_out += 1
            continue
        for claim in claims:
            found.setdefault(claim.key, claim)
    return list(found.values()), kept_out


def _is_suspicious(line: SourceLine) -> bool:
    return bool(guards.inspect(line.text).flags)


def _claims(episode: Episode, line: SourceLine, complete) -> list[Claim]:
    if is_curated(episode):
        made = [_verbatim(episode, text, line) for text in sentences_of(line.text)]
    else:
        language = detect_language(line.text) or episode.language
        made = [
            _claim(
                episode,
                line,
                text=one.text,
                quote=one.quote,
                subject=one.subject,
                kind=one.kind,
                category=one.category,
                language=one.language,
                mode=one.mode,
            )
            for one in propose.propose(
                line.text, author=line.author, language=language, complete=complete
            )
        ]
    return [claim for claim in made if claim]


def sentences_of(text: str) -> list[str]:
    """The lines of a curated entry, without stamps and headings; short ones say nothing."""
    return [line for line in sentences(text) if len(line) >= MIN_SENTENCE_LENGTH]


def _verbatim(episode: Episode, text: str, line: SourceLine) -> Claim:
    known = propose.propose(text, author=line.author, language=detect_language(text))
    about = known[0] if len(known) == 1 else None
    return _claim(
        episode,
        line,
        text=one_line(text),
        quote=text,
        subject=about.subject if about else "",
        kind=about.kind if about else "fact",
        category=about.category if about else "other",
        language=detect_language(text),
        curated=True,
    )


def _claim(episode: Episode, line: SourceLine, *, text: str, **fields) -> Claim:
    return Claim(
        space_id=episode.space_id,
        chat_id=episode.chat_id,
        episode=episode,
        text=text,
        key=said_key(text),
        said_by=line.author[:120],
        said_at=line.at,
        **fields,
    )


def habit_of(
    episode: Episode, messages: Iterable[Message], *, complete: Callable[[str], str] | None = None
) -> Habit | None:
    """The problem and its answer, told anywhere in the episode; from people and Keno alike."""
    text = unsuspected(episode, messages)
    # A model is asked only about what went wrong: asking about small talk costs and finds nothing.
    if complete and is_error(text):
        told = budgeted_model.ask_habit(text, ask=complete)
        if told:
            quotes = dict.fromkeys([error_line(text), told.quote])
            return Habit(
                told.trigger, told.response, told.confidence, tuple(quotes), complete.model
            )
    found = solution(text)
    if not found:
        return None
    return Habit(found.trigger, found.answer, 0.6, (found.problem, found.answer))


def unsuspected(episode: Episode, messages: Iterable[Message]) -> str:
    """The episode's messages that raise no suspicion; without messages its body, if that is clean.

    Each message was judged by itself when it came in, so what is left needs no second look.
    """
    messages = list(messages)
    if messages:
        return "\n".join(m.text for m in messages if not suspicions(m.flags))
    return "" if screen_transcript(episode.body).reasons else episode.body


def _is_heading(line: str) -> bool:
    bare = line.lstrip()
    return bare.startswith("#") and not any(dash in bare for dash in ("—", "–", " - ", "--"))
