"""The built-in provider: deterministic, no network, answers from what was recalled.

It says what was learned from the message and plainly what it cannot do.
"""

import json
from collections.abc import Sequence

from memory.extraction import intents
from memory.extraction.wording import told_to
from memory.llm.providers import offline_answers
from memory.llm.providers.offline_answers import say
from memory.llm.request import Answer, Briefing, ProviderError, Recalled, Request
from memory.text import normalise as words

SECRET = "[redacted:"
SMALL_TALK = {"greeting", "thanks", "bye", "help"}
MOST = 3
MOST_ABOUT_ME = 8
# Of the working note before, when a new plan is noted.
OLD_LINES = 4
# How far below the best a memory may score and still be part of the answer.
NEAR_THE_BEST = 0.75


def ask(request: Request) -> Answer:
    if not isinstance(request.briefing, Briefing):
        raise ProviderError("The built-in provider answers chats only.", permanent=True, ours=True)
    said = reply(request.briefing)
    if request.stream:
        request.stream(said)
    return Answer(said, model="built-in")


def reply(briefing: Briefing) -> str:
    """What to say, with the tags for what to keep in mind; facts were learned before."""
    intent = intents.read(briefing.text)
    language = intents.language(briefing.text, usual=briefing.language)
    if SECRET in briefing.text:
        # What was left out of the message is not worth keeping around it either.
        parts = [_script(briefing), say(language, "secret")]
    else:
        parts = [_script(briefing), _main(briefing, intent, language)]
    plans = intent.plans and SECRET not in briefing.text
    tags = [note] if plans and (note := _note(briefing)) else []
    if briefing.completes:
        tags.append("<bootstrap-complete/>")
    return "\n\n".join(part for part in [*parts, "\n".join(tags)] if part)


def _note(briefing: Briefing) -> str:
    """The working note with what the person is at; it is replaced whole, so the old goes along."""
    told = " ".join(intents.told(briefing.text)).replace("<", "‹").replace(">", "›")
    before = [line for line in briefing.working.splitlines() if line.strip() and line not in told]
    note = {"task": told, "context": before[:OLD_LINES]}
    written = json.dumps(note, ensure_ascii=False)
    return f"<working-memory>{written}</working-memory>" if told else ""


def _script(briefing: Briefing) -> str:
    return briefing.script.strip()


def _main(briefing: Briefing, intent: intents.Intent, language: str) -> str:
    if intent.name in SMALL_TALK:
        name = f", {briefing.person}" if briefing.person else ""
        return "" if briefing.script else say(language, intent.name, name=name)
    if intent.name == "about_me":
        return _about_me(briefing, language)
    if intent.name == "forget":
        return _forget(briefing, language)
    parts = [_learned(briefing, intent, language)]
    if intent.questions:
        parts.append(_answer(briefing, intent.questions, language))
    elif not any(parts) and not briefing.script:
        parts.append(_chat(briefing, language))
    return "\n\n".join(part for part in parts if part)


def _learned(briefing: Briefing, intent: intents.Intent, language: str) -> str:
    told = [_sentence(told_to(briefing.person, fact)) for fact in briefing.learned]
    parts = [say(language, "noted", facts=" ".join(told))] if told else []
    if briefing.wishes:
        parts.append(say(language, "wish"))
    if not parts and intent.plans:
        parts.append(say(language, "planned"))
    return "\n\n".join(parts)


def _answer(briefing: Briefing, questions: Sequence[str], language: str) -> str:
    found = offline_answers.find(briefing, " ".join(questions))
    if not found.memories:
        return say(language, "unknown")
    lines = [_line(one, briefing, language) for one in found.memories]
    if not found.exact:
        return say(language, "nearest", lines=_list(lines))
    if len(lines) == 1:
        return _spoken(found.memories[0], briefing, language)
    return say(language, "answer_many", lines=_list(lines))


def _about_me(briefing: Briefing, language: str) -> str:
    mine = [one for one in briefing.recalled if one.kind == "fact"]
    lines = [_line(one, briefing, language) for one in mine[:MOST_ABOUT_ME]]
    return say(language, "about_me", lines=_list(lines)) if lines else say(language, "stranger")


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
    return say(language, "cannot" if intents.is_request(briefing.text) else "heard")


def _best(briefing: Briefing) -> list[Recalled]:
    facts = [one for one in briefing.recalled if one.kind == "fact"]
    ranked = sorted(facts, key=lambda one: -one.score)
    if not ranked:
        return []
    line = ranked[0].score * NEAR_THE_BEST
    return [one for one in ranked[:MOST] if one.score >= line]


def _spoken(one: Recalled, briefing: Briefing, language: str) -> str:
    """The one memory that answers, and where it comes from, as a person would say it."""
    who, when = _who(one, briefing, language), _when(one, briefing, language)
    whose = "you" if who == say(language, "you") else "who"
    foreign = _is_foreign(one, language)
    if (one.kind == "message" or foreign) and one.said_by and when:
        # Their own words: two languages in one sentence are nobody's.
        said = words.short(words.one_line((foreign and one.quote) or one.text), 400)
        return say(language, f"{whose}_said", who=who, when=when, said=said)
    said = _told(one, briefing, language)
    if not (one.said_by and when):
        return f"{said} ({when})" if when else said
    return f"{said} " + say(language, f"{whose}_told", who=who, when=when)


def _line(one: Recalled, briefing: Briefing, language: str) -> str:
    """One memory of several, with its source in brackets."""
    who, when = _who(one, briefing, language), _when(one, briefing, language)
    source = ", ".join(part for part in (who, when) if part and part != say(language, "you"))
    said = _told(one, briefing, language)
    return f"{said} ({source})" if source else said


def _told(one: Recalled, briefing: Briefing, language: str) -> str:
    # An episode's title is often how its body begins.
    told = words.short("\n".join(dict.fromkeys(one.text.splitlines())), 400)
    if one.kind != "fact" or _is_foreign(one, language):
        return _sentence(told)
    # In the name that the person had then.
    return _sentence(told_to((one.said_by or briefing.person) if one.by_asker else "", told))


def _is_foreign(one: Recalled, language: str) -> bool:
    return words.detect_language(one.text) not in ("", language)


def _who(one: Recalled, briefing: Briefing, language: str) -> str:
    return say(language, "you") if one.by_asker and one.said_by else one.said_by


def _when(one: Recalled, briefing: Briefing, language: str) -> str:
    if one.said_at is None:
        return ""
    # The briefing's clock is that of the space.
    at, today = one.said_at.astimezone(briefing.now.tzinfo), briefing.now.date()
    days = (today - at.date()).days
    if days in (0, 1):
        return say(language, "yesterday" if days else "today")
    month = say(language, "months").split()[at.month - 1]
    form = "date" if at.year == today.year else "date_of_year"
    return say(language, form, day=at.day, month=month, year=at.year)


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _sentence(said: str) -> str:
    line = words.one_line(said)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."
