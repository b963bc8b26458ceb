"""What an episode claims, who said it, and how much of it is worth replaying.

What the ingest job took from a message is a fact already and is not heard again: claims are made
of what nobody has read yet, and of entries that somebody wrote down on purpose.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from memory.extraction import hearing, propose
from memory.guards import inspect as guards
from memory.guards.screening import screen_transcript, suspicions
from memory.models import ChatLink, Episode, Fact, Message, Space
from memory.text.normalise import detect_language, fold, one_line, said_key, stem, words
from sleep import budgeted_model
from sleep.budgeted_model import HEURISTICS
from sleep.error_patterns import Solution, error_line, is_error, sentences, solution
from sleep.models import Claim

SpeakerOf = Callable[[str, str], str]
MIN_SENTENCE_LENGTH = 11
# What a claim takes over of what was heard.
STATED = ("text", "quote", "subject", "kind", "category", "language", "mode")
# An episode somebody wrote down on purpose: its lines are claims as they stand.
CURATED_SOURCES = {"tag", "import", "person", "command"}


@dataclass(frozen=True)
class SourceLine:
    """One line of an episode with who said it and when."""

    text: str
    author: str
    at: datetime
    speaker: str = ""
    flagged: bool = False


class Told(NamedTuple):
    """The lines of an episode, each with what is heard in it, and how many the guards kept out."""

    lines: list[tuple[SourceLine, list[hearing.Heard]]]
    kept_out: int


@dataclass(frozen=True)
class Habit:
    """A problem, what helped, and the words that say so."""

    title: str
    trigger: str
    response: str
    confidence: float
    quotes: tuple[str, ...]
    mode: str = HEURISTICS


def speaker_keys(space: Space) -> SpeakerOf:
    """Return a function of channel and author id that tells who somebody is in every chat.

    A linked member, else an account of a channel; never a name. Empty when nobody can tell.
    """
    links = ChatLink.objects.filter(space=space, linked_at__isnull=False)
    members = {(one.channel, one.author_id): f"member:{one.member_id}" for one in links}

    def speaker_of(channel: str, author_id: str) -> str:
        return members.get((channel, author_id), f"{channel}:{author_id}" if author_id else "")

    return speaker_of


def speakers_of_facts(space: Space, facts: Iterable[Fact]) -> dict[int, str]:
    """Return who said each fact, for those whose message is known."""
    speaker_of = speaker_keys(space)
    messages = {fact.pk: fact.message_id for fact in facts if fact.message_id}
    rows = Message.objects.filter(pk__in=set(messages.values())).values_list(
        "pk", "chat__channel", "author_id"
    )
    who = {pk: speaker_of(channel, author_id) for pk, channel, author_id in rows}
    return {fact: key for fact, message in messages.items() if (key := who.get(message))}


def is_curated(episode: Episode) -> bool:
    return episode.source in CURATED_SOURCES


def lines_of(
    episode: Episode, messages: Iterable[Message], speaker_of: SpeakerOf
) -> list[SourceLine]:
    """The messages of people that nobody has read yet; without any messages the body.

    What Keno said itself is not evidence.
    """
    messages = list(messages)
    if messages:
        return [
            SourceLine(
                message.text,
                message.author,
                message.sent_at,
                speaker_of(message.chat.channel, message.author_id),
                bool(suspicions(message.flags)),
            )
            for message in messages
            if message.role == Message.Role.USER and not message.ingested_at
        ]
    author = episode.participants[0] if episode.participants else ""
    return [
        SourceLine(line, author, episode.started_at)
        for line in episode.body.splitlines()
        if line.strip() and not _is_heading(line)
    ]


def read(
    episodes: Iterable[tuple[Episode, list[Message]]], *, speaker_of: SpeakerOf
) -> dict[int, Told]:
    """What the lines of each episode tell: all are heard together, side by side on the cores."""
    clean, kept_out = {}, {}
    for episode, messages in episodes:
        lines = lines_of(episode, messages, speaker_of)
        clean[episode] = [line for line in lines if not line.flagged]
        kept_out[episode] = len(lines) - len(clean[episode])
    talks = {episode: _pairs(lines) for episode, lines in clean.items() if not is_curated(episode)}
    heard = iter(hearing.hear_messages([pair for pairs in talks.values() for pair in pairs]))
    told = {}
    for episode, lines in clean.items():
        things = [next(heard) if episode in talks else [] for _line in lines]
        told[episode.pk] = Told(list(zip(lines, things, strict=True)), kept_out[episode])
    return told


def claims_of(
    episode: Episode, told: Told, *, complete: Callable[[str], str] | None = None
) -> tuple[list[Claim], int]:
    """The episode's claims, unsaved, one per saying, and how many lines the guards kept out."""
    found: dict[str, Claim] = {}
    kept_out = told.kept_out
    for line, heard in told.lines:
        # What failed last night does not last: trouble has its own phase.
        if not is_curated(episode) and (not heard or is_error(line.text)):
            continue
        # Most lines claim nothing, so the guards look at the few that do; a model must not see
        # what they would keep out.
        if guards.inspect(line.text).flags:
            kept_out += 1
            continue
        for claim in _claims(episode, line, heard, complete):
            found.setdefault(claim.key, claim)
    return list(found.values()), kept_out


def _pairs(lines: list[SourceLine]) -> list[tuple[str, str]]:
    """Each line with what somebody else said before it."""
    return [
        (line.text, before.text if before and before.author != line.author else "")
        for line, before in zip(lines, [None, *lines], strict=False)
    ]


def _claims(
    episode: Episode, line: SourceLine, heard: list, complete: Callable[[str], str] | None
) -> list[Claim]:
    if is_curated(episode):
        return [_verbatim(episode, text, line) for text in sentences_of(line.text)]
    language = detect_language(line.text) or episode.language
    return [
        _claim(episode, line, **{name: getattr(one, name) for name in STATED})
        for one in propose.propose(
            line.text, author=line.author, language=language, items=heard, complete=complete
        )
    ]


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


def _claim(episode: Episode, line: SourceLine, *, text: str, **fields: Any) -> Claim:
    return Claim(
        space_id=episode.space_id,
        chat_id=episode.chat_id,
        episode=episode,
        text=text,
        key=said_key(text),
        said_by=line.author[:120],
        speaker=line.speaker,
        said_at=line.at,
        **fields,
    )


def solution_claim(episode: Episode, problem: str, remedy: str, *, at: datetime) -> Claim:
    """A solved problem as a claim, so that a later night sees that it helped again."""
    told = {"quote": problem, "kind": Claim.SOLUTION, "language": episode.language}
    line = SourceLine(remedy, "", episode.started_at)
    return _claim(episode, line, text=remedy, settled_at=at, **told)


def habit_of(
    episode: Episode, messages: Iterable[Message], *, complete: Callable[[str], str] | None = None
) -> Habit | None:
    """The problem and its answer, told anywhere in the episode by people."""
    text = unsuspected(episode, messages)
    # A model is asked only about what went wrong: asking about small talk costs and finds nothing.
    if complete and is_error(text):
        told = budgeted_model.ask_habit(text, ask=complete)
        if told:
            problem = error_line(text)
            quotes = tuple(dict.fromkeys([problem, told.quote]))
            title = Solution(problem, told.response).title
            return Habit(
                title, told.trigger, told.response, told.confidence, quotes, complete.model
            )
    found = solution(text)
    if not found:
        return None
    return Habit(found.title, found.trigger, found.remedy, 0.6, (found.problem, found.answer))


def unsuspected(episode: Episode, messages: Iterable[Message]) -> str:
    """What people said in the episode and raised no suspicion; without messages its body.

    Each message was judged by itself when it came in, so what is left needs no second look.
    """
    messages = list(messages)
    if messages:
        people = (m for m in messages if m.role == Message.Role.USER and not suspicions(m.flags))
        return "\n".join(m.text for m in people)
    return "" if screen_transcript(episode.body).reasons else episode.body


def _is_heading(line: str) -> bool:
    bare = line.lstrip()
    return bare.startswith("#") and not any(dash in bare for dash in ("—", "–", " - ", "--"))


# Whole folded words or phrases; a phrase is looked up as such. English and Spanish side by side.
CUES: dict[str, tuple[float, tuple[str, ...]]] = {
    "error": (
        0.4,
        ("error", "errors", "fail", "fails", "failed", "failing", "failure", "crash", "crashed",
         "exception", "bug", "broken", "fallo", "falla", "fallaba", "fallan", "roto", "rota",
         "no funciona", "no jala", "excepcion", "se cayo"),
    ),
    "success": (
        0.3,
        ("success", "solved", "fixed", "works now", "it worked", "resolved", "solution", "exito",
         "resuelto", "solucion", "solucionado", "arreglado", "ya funciona", "funciono", "quedo"),
    ),
    "correction": (
        0.5,
        ("actually", "correction", "i was wrong", "not anymore", "no longer", "rather than",
         "instead", "en realidad", "correccion", "me equivoque", "ya no", "mas bien", "perdon"),
    ),
    "novelty": (
        0.3,
        ("new", "first time", "for the first time", "discovered", "nuevo", "nueva",
         "primera vez", "descubri", "descubrimos"),
    ),
    "about someone": (
        0.6,
        ("favorite", "favourite", "prefer", "prefers", "likes", "loves", "hates", "language",
         "lives in", "live in", "moved to", "works at", "work at", "timezone", "name is",
         "birthday", "allergic", "favorito", "favorita", "prefiere", "prefiero", "le gusta",
         "me gusta", "vive en", "vivo en", "se mudo", "me mude", "trabaja en", "trabajo en",
         "se llama", "me llamo", "cumpleanos", "alergico", "alergica", "zona horaria"),
    ),
    "decision": (
        0.4,
        ("decided", "agreed", "learned", "remember", "important", "decidio", "decidimos",
         "acordamos", "aprendi", "aprendimos", "recuerda", "importante"),
    ),
}  # fmt: skip
GOAL, PRAISE, COMPLAINT = 0.3, 0.3, 0.5


@dataclass(frozen=True)
class Salience:
    score: float
    reasons: tuple[str, ...]


def weigh(
    text: str,
    *,
    curated: bool = False,
    feedback: str = "",
    tags: Collection[str] = (),
    goals: Iterable[str] = (),
) -> Salience:
    """Score 0..1. What someone curated with a tag always passes, at 1."""
    flat = f" {' '.join(words(fold(text)))} "
    found = [
        (name, weight)
        for name, (weight, cues) in CUES.items()
        if any(f" {cue} " in flat for cue in cues)
    ]
    for tag in sorted({fold(tag) for tag in tags}):
        if tag in {"error", "success"} and tag not in dict(found):
            found.append((tag, CUES[tag][0]))
    if feedback:
        found.append((f"{feedback} feedback", PRAISE if feedback == "positive" else COMPLAINT))
    if near_goal(text, goals):
        found.append(("current goal", GOAL))
    reasons = tuple(name for name, _ in found)
    if curated:
        return Salience(1.0, ("curated", *reasons))
    return Salience(round(min(1.0, sum((weight for _, weight in found), 0.0)), 2), reasons)


def near_goal(text: str, goals: Iterable[str]) -> bool:
    """Whether the text shares two content words, or all of them, with something under way."""
    said = _stems(text)
    for goal in goals:
        wanted = {
            word
            for word in _stems(goal)
            if len(word) > 2 and word not in {"the", "que", "los", "las"}
        }
        if wanted and len(wanted & said) >= min(2, len(wanted)):
            return True
    return False


def _stems(text: str) -> set[str]:
    return {stem(fold(word), "en") for word in words(text)}
