"""The built-in provider: deterministic, no network, answers from what was recalled.

It writes the same tags a model would, so that everything behind it works the same, and says
plainly what it cannot do.
"""

from collections.abc import Sequence
from datetime import datetime

from memory import text as words
from memory.extraction import intents
from memory.llm.briefing import Briefing, Recalled
from memory.llm.errors import ProviderError
from memory.llm.providers.offline_learning import Lesson, lessons
from memory.llm.providers.offline_phrases import say
from memory.llm.request import Answer, Request

SMALL_TALK = {"greeting", "thanks", "bye", "help"}
MOST = 3
MOST_ABOUT_ME = 8
# How far below the best a memory may score and still be part of the answer.
NEAR_THE_BEST = 0.75
# How many of the question's words of meaning an answer in the same language must hold.
COVERED = 0.6
META = words.stems(
    "remember recall know tell remind told say said recuerdas acuerdas sabes dime dije"
)


def ask(request: Request) -> Answer:
    if not isinstance(request.briefing, Briefing):
        raise ProviderError("The built-in provider answers chats only.", permanent=True, ours=True)
    said = reply(request.briefing)
    if request.stream:
        request.stream(said)
    return Answer(said, model="built-in")


def reply(briefing: Briefing) -> str:
    """What to say, with the tags for what to keep."""
    intent = intents.read(briefing.said)
    language = intents.language(briefing.said, usual=briefing.language)
    learned = [] if intent.name in {*SMALL_TALK, "forget"} else lessons(briefing, intent, language)
    parts = [_script(briefing), _main(briefing, intent, language, learned)]
    tags = [lesson.tag for lesson in learned]
    if briefing.completes:
        tags.append("<bootstrap-complete/>")
    return "\n\n".join(part for part in [*parts, "\n".join(tags)] if part)


def _script(briefing: Briefing) -> str:
    return briefing.script.strip()


def _main(briefing: Briefing, intent: intents.Intent, language: str, learned: list[Lesson]) -> str:
    if intent.name in SMALL_TALK:
        name = f", {briefing.person}" if briefing.person else ""
        return "" if briefing.script else say(language, intent.name, name=name)
    if intent.name == "about_me":
        return _about_me(briefing, language)
    if intent.name == "forget":
        return _forget(briefing, language)
    parts = [_learned(briefing, intent, language, learned)]
    if intent.questions:
        parts.append(_answer(briefing, intent.questions, language))
    elif not learned and not briefing.script:
        parts.append(_chat(briefing, language))
    return "\n\n".join(part for part in parts if part)


def _learned(
    briefing: Briefing, intent: intents.Intent, language: str, learned: list[Lesson]
) -> str:
    shown = [lesson for lesson in learned if lesson.text]
    if not shown:
        return say(language, "planned") if learned else ""
    facts = " ".join(_sentence(lesson.text) for lesson in shown)
    if intent.name != "correct":
        everywhere = any(lesson.kind in {"memory", "user"} for lesson in shown)
        return say(language, "noted" if everywhere else "noted_chat", facts=facts)
    lines = [say(language, "corrected", facts=facts)]
    if briefing.level in {"medium", "high"} and briefing.recalled:
        lines.append(
            say(language, "instead_of", old=_line(briefing.recalled[0], briefing, language))
        )
    return "\n".join(lines)


def _answer(briefing: Briefing, questions: Sequence[str], language: str) -> str:
    asked = " ".join(questions)
    best = _best(briefing) if briefing.level != "none" else []
    fitting = [one for one in best if _fits(one, asked)]
    if not fitting and (heard := _just_heard(briefing, asked)):
        return _line(heard, briefing, language)
    if not best:
        return say(language, "unknown")
    lines = [_line(one, briefing, language) for one in fitting or best]
    if not fitting:
        return say(language, "nearest", lines=_list(lines))
    if briefing.level == "low":
        return say(language, "maybe", lines=_list(lines))
    if len(lines) == 1:
        return say(language, "answer_one", line=lines[0])
    return say(language, "answer_many", lines=_list(lines))


def _fits(one: Recalled, question: str) -> bool:
    """Whether the memory speaks of what was asked: "my cat" is not answered by the dog.

    Between languages words cannot tell, and the recall is trusted.
    """
    memory = f"{one.text} {one.quote}"
    asked = words.stems(question) - META
    spoken = words.detect_language(question), words.detect_language(memory)
    if not asked or (all(spoken) and spoken[0] != spoken[1]):
        return True
    return len(asked & words.stems(memory)) / len(asked) >= COVERED


def _just_heard(briefing: Briefing, question: str) -> Recalled | None:
    """What somebody said a moment ago and holds every word that matters."""
    asked = words.stems(question) - META
    return next(
        (
            one
            for one in reversed(briefing.heard)
            if asked and not intents.is_question(one.text) and asked <= words.stems(one.text)
        ),
        None,
    )


def _about_me(briefing: Briefing, language: str) -> str:
    mine = [one for one in briefing.recalled if one.kind == "fact"] or list(briefing.recalled)
    lines = [_line(one, briefing, language) for one in mine[:MOST_ABOUT_ME]]
    return say(language, "about_me", lines=_list(lines)) if lines else say(language, "unknown")


def _forget(briefing: Briefing, language: str) -> str:
    best = _best(briefing)
    if not best or briefing.level == "none":
        return say(language, "forget_none")
    lines = [_line(one, briefing, language) for one in best]
    return say(language, "forget_found", lines=_list(lines))


def _chat(briefing: Briefing, language: str) -> str:
    best = _best(briefing)
    if best and briefing.level in {"medium", "high"}:
        lines = [_line(one, briefing, language) for one in best]
        return say(language, "related", lines=_list(lines))
    return say(language, "cannot")


def _best(briefing: Briefing) -> list[Recalled]:
    ranked = sorted(briefing.recalled, key=lambda one: -one.score)
    if not ranked:
        return []
    line = ranked[0].score * NEAR_THE_BEST
    return [one for one in ranked[:MOST] if one.score >= line]


def _line(one: Recalled, briefing: Briefing, language: str) -> str:
    """The memory and where it comes from."""
    source = _source(one, briefing, language)
    # An episode's title is often how its body begins.
    told = "\n".join(dict.fromkeys(one.text.splitlines()))
    said = _sentence(words.short(told, 400))
    return f"{said} ({source})" if source else said


def _source(one: Recalled, briefing: Briefing, language: str) -> str:
    mine = one.said_by and words.fold(one.said_by) == words.fold(briefing.person)
    who = say(language, "you") if mine else one.said_by
    date = _date(one.said_at, language) if one.said_at else ""
    return say(language, "said_on", who=who, date=date) if who and date else who or date


def _date(at: datetime, language: str) -> str:
    month = say(language, "months").split()[at.month - 1]
    return say(language, "date", day=at.day, month=month, year=at.year)


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _sentence(said: str) -> str:
    line = words.one_line(said)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."
