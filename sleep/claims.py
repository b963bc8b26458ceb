"""What an episode claims, who said it, and how much of it is worth replaying.

What the ingest job took from a message is a fact already and is not heard again: claims are made
of what nobody has read yet, and of entries that somebody wrote down on purpose.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from memory.extraction import hearing, propose
from memory.guards import inspect as guards
from memory.guards.screening import screen_transcript, suspicions
from memory.models import ChatLink, Episode, Fact, Message, Space
from memory.text.normalise import (
    detect_language,
    fold,
    folded_words,
    one_line,
    said_key,
    stem,
    words,
)
from sleep import budgeted_model
from sleep.budgeted_model import HEURISTICS, Ask
from sleep.error_patterns import error_line, is_error, sentences, solution, when
from sleep.models import Claim

SpeakerOf = Callable[[str, str], str]
MIN_SENTENCE_LENGTH = 11
# A heading of Markdown; with a dash it is a line with its time.
_HEADING = re.compile(r"\s*#(?!.*(?:—|–| - |--))")
# What a claim takes over from what was heard.
CLAIM_FIELDS = ("text", "quote", "subject", "kind", "category", "language", "mode")
# An episode somebody wrote down on purpose: its lines are claims as they stand.
CURATED_SOURCES = {"tag", "import", "person", "command"}


@dataclass(frozen=True)
class SourceLine:
    """One line of an episode."""

    text: str
    author: str
    at: datetime
    speaker: str = ""
    flagged: bool = False


class EpisodeText(NamedTuple):
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
    """Return a function from channel and author id to a key of the person, the same in every chat.

    The key is a linked member, else an account of a channel; empty when there is neither.
    """
    links = ChatLink.objects.filter(space=space, linked_at__isnull=False)
    members = {(link.channel, link.author_id): f"member:{link.member_id}" for link in links}

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
    """Return people's messages that nobody has read yet; without messages, the lines of the body.

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
        if line.strip() and not _HEADING.match(line)
    ]


def read(
    episodes: Iterable[tuple[Episode, list[Message]]], *, speaker_of: SpeakerOf
) -> dict[int, EpisodeText]:
    """Return what the lines of each episode say; all are heard together, in parallel."""
    clean, kept_out = {}, {}
    for episode, messages in episodes:
        lines = lines_of(episode, messages, speaker_of)
        clean[episode] = [line for line in lines if not line.flagged]
        kept_out[episode] = len(lines) - len(clean[episode])
    talks = {episode: _pairs(lines) for episode, lines in clean.items() if not is_curated(episode)}
    heard = iter(hearing.hear_messages([pair for pairs in talks.values() for pair in pairs]))
    return {
        episode.pk: EpisodeText(
            [(line, next(heard) if episode in talks else []) for line in lines], kept_out[episode]
        )
        for episode, lines in clean.items()
    }


def claims_of(
    episode: Episode, text: EpisodeText, *, complete: Ask | None = None
) -> tuple[list[Claim], int]:
    """Return the episode's claims, unsaved, and how many lines the guards kept out."""
    claims: dict[str, Claim] = {}
    kept_out = text.kept_out
    for line, statements in text.lines:
        # What failed last night does not last: trouble has its own phase.
        if not is_curated(episode) and (not statements or is_error(line.text)):
            continue
        # Most lines claim nothing, so the guards look at the few that do; a model must not see
        # what they would keep out.
        if guards.inspect(line.text).flags:
            kept_out += 1
            continue
        for claim in _claims(episode, line, statements, complete):
            claims.setdefault(claim.key, claim)
    return list(claims.values()), kept_out


def _pairs(lines: list[SourceLine]) -> list[tuple[str, str]]:
    """Pair each line with what somebody else said before it."""
    return [
        (line.text, before.text if before and before.author != line.author else "")
        for line, before in zip(lines, [None, *lines], strict=False)
    ]


def _claims(
    episode: Episode, line: SourceLine, statements: list, complete: Ask | None
) -> list[Claim]:
    if is_curated(episode):
        texts = [text for text in sentences(line.text) if len(text) >= MIN_SENTENCE_LENGTH]
        return [_verbatim(episode, text, line) for text in texts]
    language = detect_language(line.text) or episode.language
    return [
        _claim(episode, line, **{name: getattr(candidate, name) for name in CLAIM_FIELDS})
        for candidate in propose.propose(
            line.text, author=line.author, language=language, items=statements, complete=complete
        )
    ]


def _verbatim(episode: Episode, text: str, line: SourceLine) -> Claim:
    language = detect_language(text)
    candidates = propose.propose(text, author=line.author, language=language)
    fields: dict[str, Any] = {}
    if len(candidates) == 1:
        fields = {name: getattr(candidates[0], name) for name in ("subject", "kind", "category")}
    fields |= {"text": one_line(text), "quote": text, "language": language}
    return _claim(episode, line, curated=True, **fields)


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
    """Return a solved problem as a claim, so that a later night sees that it helped again."""
    fields = {"quote": problem, "kind": Claim.SOLUTION, "language": episode.language}
    line = SourceLine(remedy, "", episode.started_at)
    return _claim(episode, line, text=remedy, settled_at=at, **fields)


def habit_of(text: str, *, complete: Ask | None = None) -> Habit | None:
    """Return the problem and its answer that people tell anywhere in an episode's text."""
    # A model is asked only about what went wrong: asking about small talk costs and finds nothing.
    if complete and is_error(text) and (habit := budgeted_model.ask_habit(text, ask=complete)):
        problem = error_line(text)
        quotes = tuple(dict.fromkeys([problem, habit.quote]))
        named = (when(problem), habit.trigger, habit.response, habit.confidence)
        return Habit(*named, quotes, complete.model)
    if solved := solution(text):
        quotes = (solved.problem, solved.answer)
        return Habit(solved.title, solved.trigger, solved.remedy, 0.6, quotes)
    return None


def unsuspected(episode: Episode, messages: Iterable[Message]) -> str:
    """Return what people said in the episode without raising suspicion; without messages its body.

    Each message was judged by itself when it came in, so what is left needs no second look.
    """
    messages = list(messages)
    if messages:
        people = (m for m in messages if m.role == Message.Role.USER and not suspicions(m.flags))
        return "\n".join(m.text for m in people)
    return "" if screen_transcript(episode.body).reasons else episode.body


GOAL, PRAISE, COMPLAINT = 0.3, 0.3, 0.5


class Cue(NamedTuple):
    """A reason why an episode matters: its weight, and the words and phrases that show it."""

    weight: float
    words: frozenset[str]
    phrases: tuple[str, ...]


def _cues() -> dict[str, Cue]:
    path = Path(__file__).with_name("salience_cues.toml")
    return {
        name: Cue(
            cue["weight"],
            frozenset(said for said in cue["cues"] if " " not in said),
            tuple(f" {said} " for said in cue["cues"] if " " in said),
        )
        for name, cue in tomllib.loads(path.read_text("utf-8")).items()
    }


CUES = _cues()


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
    """Score an episode from 0 to 1; what someone curated always scores 1."""
    said = folded_words(text)
    flat = f" {' '.join(said)} "
    weights = {
        name: cue.weight
        for name, cue in CUES.items()
        if not cue.words.isdisjoint(said) or any(phrase in flat for phrase in cue.phrases)
    }
    for tag in sorted({"error", "success"} & {fold(tag) for tag in tags}):
        weights.setdefault(tag, CUES[tag].weight)
    if feedback:
        weights[f"{feedback} feedback"] = PRAISE if feedback == "positive" else COMPLAINT
    if near_goal(text, goals):
        weights["current goal"] = GOAL
    if curated:
        return Salience(1.0, ("curated", *weights))
    return Salience(round(min(1.0, sum(weights.values(), 0.0)), 2), tuple(weights))


def near_goal(text: str, goals: Iterable[str]) -> bool:
    """Whether the text shares two content words, or all of them, with something under way."""
    contents = [content for goal in goals if (content := _content(goal))]
    stems = _stems(text) if contents else set()
    return any(len(content & stems) >= min(2, len(content)) for content in contents)


@lru_cache
def _content(goal: str) -> set[str]:
    return {stem for stem in _stems(goal) if len(stem) > 2} - {"the", "que", "los", "las"}


def _stems(text: str) -> set[str]:
    return {stem(fold(word), "en") for word in words(text)}
