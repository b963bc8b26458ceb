"""The built-in provider: deterministic, no network, answers from what was recalled.

It says what was learned from the message and plainly what it cannot do.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from memory.calendar.resolve import resolve
from memory.extraction import intents
from memory.extraction.wording import quoted, told_to
from memory.facts import plans
from memory.guards.inspect import REDACTED
from memory.llm.providers import offline_answers
from memory.llm.request import Answer, Briefing, ProviderError, Recalled, Request
from memory.text import normalise as words

MAX_LISTED = 12
MAX_LENGTH = 400
# A reply so short says little without the question that it answers.
SHORT_REPLY = 40
# Lines of the working note before that stay when a new plan is noted.
OLD_LINES = 4
_LATIN = re.compile(r"[A-Za-zÀ-ÿ]")
_AGE = re.compile(r"\bhow old\b|\bcuantos anos (?:tengo|tiene|cumplo|cumple)\b|\bque edad\b")
_BIRTHDAY = re.compile(r"\b(?:birthday|born|cumpleanos|nacio|naci)\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_TEXTS = json.loads(Path(__file__).with_name("offline_phrases.json").read_text("utf-8"))
PHRASES: dict[str, dict[str, str]] = _TEXTS["phrases"]
# Natural answers to small talk, by what was said, another one each time; for grief a human word.
SMALL_TALK: dict[str, dict[str, list[str]]] = _TEXTS["small_talk"]


def ask(request: Request) -> Answer:
    if not isinstance(request.briefing, Briefing):
        raise ProviderError("The built-in provider answers chats only.", permanent=True, ours=True)
    text = reply(request.briefing)
    if request.stream:
        request.stream(text)
    return Answer(text, model="built-in")


def reply(briefing: Briefing) -> str:
    """Return the reply, with the tags for what to keep in mind; facts were learned before."""
    intent = intents.read(briefing.text)
    language = intents.language(briefing.text, usual=briefing.language)
    # What was left out of the message is not worth keeping around it either.
    is_secret = REDACTED in briefing.text
    main = say(language, "secret") if is_secret else _main(briefing, intent, language)
    tags = [_note(briefing)] if intent.plans and not is_secret else []
    if briefing.completes:
        tags.append("<bootstrap-complete/>")
    return _joined([briefing.script.strip(), main, "\n".join(filter(None, tags))])


def say(language: str, phrase: str, **values: Any) -> str:
    return PHRASES.get(language, PHRASES["en"])[phrase].format(**values)


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _note(briefing: Briefing) -> str:
    """Return the working note with the new plan; it is replaced whole, so the old goes along."""
    task = " ".join(intents.statements(briefing.text)).replace("<", "‹").replace(">", "›")
    before = [line for line in briefing.working.splitlines() if line.strip() and line not in task]
    note = json.dumps({"task": task, "context": before[:OLD_LINES]}, ensure_ascii=False)
    return f"<working-memory>{note}</working-memory>" if task else ""


def _main(briefing: Briefing, intent: intents.Intent, language: str) -> str:
    if intent.name in SMALL_TALK["en"]:
        return "" if briefing.script else _small_talk(briefing, intent.name, language)
    if intent.name in {"about_me", "about"} or briefing.days:
        return _list_of(briefing, intent, language)
    if intent.name == "forget":
        return say(language, "forget_all")
    sentences = [text for text in intents.statements(briefing.text) if not intents.small_talk(text)]
    grief = intents.grief(" ".join(sentences))
    parts = [
        _small_talk(briefing, grief, language) if grief else "",
        _learned(briefing, intent, language),
    ]
    if reminder := intents.reminder(briefing.text):
        plan = plans.read(reminder, said_at=briefing.now, language=language)
        # Only what was noted is said: not what is incognito, or waits in quarantine.
        is_set = plan is not None and bool(briefing.learned)
        parts.append(say(language, "reminder" if is_set else "no_reminder"))
    elif intent.questions:
        parts.append(_answer(briefing, intent.questions, language))
    elif not any(parts) and not briefing.script:
        parts.append(_looked_up(briefing, language) or say(language, _unlearned(briefing)))
    return _joined(parts)


def _small_talk(briefing: Briefing, kind: str, language: str) -> str:
    """Return one of the answers to small talk; another one each turn."""
    choices = SMALL_TALK.get(language, SMALL_TALK["en"])[kind]
    name = f", {briefing.person}" if briefing.person else ""
    return choices[briefing.now.minute % len(choices)].format(name=name)


def _learned(briefing: Briefing, intent: intents.Intent, language: str) -> str:
    facts = [words.as_sentence(told_to(briefing.person, fact)) for fact in briefing.learned]
    parts = [say(language, "noted", facts=" ".join(facts))] if facts else []
    if briefing.wishes:
        parts.append(say(language, "wish"))
    if not parts and intent.plans and not intents.reminder(briefing.text):
        parts.append(say(language, "planned"))
    return _joined(parts)


def _unlearned(briefing: Briefing) -> str:
    """Return the phrase for a message that nothing was learned from."""
    text = briefing.text
    if intents.is_request(text):
        return "cannot"
    if not _LATIN.search(text):
        return "other_language"
    if briefing.unread:
        return "unread"
    if briefing.known:
        return "known"
    is_fragment = len(text.split()) <= 2 and not words.detect_language(text) and text.islower()
    return "not_understood" if is_fragment else "heard"


def _answer(briefing: Briefing, questions: Sequence[str], language: str) -> str:
    text = " ".join(questions)
    if age := _age(briefing, text, language):
        return age
    answers = offline_answers.find(briefing, text)
    if not answers.memories or not answers.exact:
        elsewhere = offline_answers.find_in(briefing, briefing.elsewhere, text)
        is_near = not answers.memories and _names_its_person(elsewhere, briefing, text)
        if elsewhere.memories and (elsewhere.exact or is_near):
            return _elsewhere(elsewhere.memories[0], language)
    if not answers.memories and not (answers := offline_answers.closest(briefing, text)).memories:
        return say(language, _unknown(briefing, text))
    lines = _bullets([_line(memory, briefing, language) for memory in answers.memories])
    if not answers.exact:
        return say(language, "thought" if answers.is_likely else "nearest", lines=lines)
    if any(memory.opposed for memory in answers.memories):
        return say(language, "opposed", lines=lines)
    if len(answers.memories) == 1:
        return _single(answers.memories[0], briefing, language)
    return say(language, "answer_many", lines=lines)


def _looked_up(briefing: Briefing, language: str) -> str:
    """Return what holds all of a few bare words, "passports": they may ask for it."""
    if not intents.is_bare(briefing.text):
        return ""
    question = offline_answers.parse(briefing, briefing.text)
    if not question.topics and not question.names:
        return ""
    matches = [
        memory
        for memory in offline_answers.candidates(briefing)
        if offline_answers.is_about(memory, question) and question.covers_all(memory.text)
    ]
    if not matches:
        return ""
    best = min(matches, key=lambda memory: memory.kind != "fact")
    rest = [memory for memory in matches if not offline_answers.says_the_same(memory, best)]
    if not rest:
        return _single(best, briefing, language)
    shown = [best, *rest][: offline_answers.MAX_ANSWERS]
    lines = _bullets([_line(memory, briefing, language) for memory in shown])
    return say(language, "nearest", lines=lines)


def _names_its_person(answers: offline_answers.Answers, briefing: Briefing, text: str) -> bool:
    """Tell whether the nearest memory is at least about a person that the question names."""
    question = offline_answers.parse(briefing, text, answers.memories)
    nearest = answers.memories[:1]
    return bool(question.names) and any(offline_answers.is_about(one, question) for one in nearest)


def _elsewhere(memory: Recalled, language: str) -> str:
    sentence = say(language, "elsewhere", where=memory.place)
    return f"{sentence}\n{memory.link}" if memory.link else sentence


def _unknown(briefing: Briefing, text: str) -> str:
    """Return the phrase for a question that nothing answers: of ours, or about the world."""
    if intents.is_request(text):
        return "cannot"
    question = offline_answers.parse(briefing, text)
    is_of_us = question.is_mine or question.kin or question.is_about_us
    return "unknown" if is_of_us or question.names & question.known else "world"


def _list_of(briefing: Briefing, intent: intents.Intent, language: str) -> str:
    """Return everything about somebody, or of some days, each thing once."""
    rows = sorted(briefing.recalled, key=lambda memory: _is_foreign(memory, language))
    foreign = {_line(memory, briefing, language): _is_foreign(memory, language) for memory in rows}
    lines = list(foreign)[:MAX_LISTED]
    if lines:
        own, other = ([line for line in lines if foreign[line] is is_in] for is_in in (False, True))
        heading = say(language, "in_other") if other else ""
        rest = say(language, "and_more") if len(foreign) > MAX_LISTED else ""
        listed = "\n".join(filter(None, [_bullets(own), heading, _bullets(other), rest]))
        return say(language, intent.name, lines=listed, who=intent.rest, when=briefing.days)
    if briefing.elsewhere:
        return _elsewhere(briefing.elsewhere[0], language)
    if intent.name in ("about_me", "about"):
        return say(language, "stranger" if intent.name == "about_me" else "unknown")
    return say(language, f"{intent.name.removesuffix('_on')}_nothing", when=briefing.days)


def _age(briefing: Briefing, text: str, language: str) -> str:
    """Return the age of the person asked about, from a birthday with its year."""
    if not _AGE.search(words.fold(text)):
        return ""
    question = offline_answers.parse(briefing, text)
    for memory in offline_answers.candidates(briefing):
        # "How old is my son?" is not answered by a birthday of mine.
        fits = offline_answers.is_about(memory, question) and question.covers_all(memory.text)
        if born := _birth_date(memory, briefing) if fits else None:
            today = briefing.now.date()
            years = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
            name = next(iter(sorted(question.names)), "").capitalize()
            said = _text(memory, briefing, language)
            return say(language, "age" if name else "age_me", years=years, who=name, said=said)
    return ""


def _birth_date(memory: Recalled, briefing: Briefing) -> date | None:
    year = _YEAR.search(memory.text)
    if not year or not _BIRTHDAY.search(words.fold(memory.text)):
        return None
    language = words.detect_language(memory.text) or "en"
    said_at = memory.said_at or briefing.now
    times = resolve(memory.text, said_at=said_at, language=language, lean="past")
    days = (when.first for when in times if when.first and str(when.first.year) == year[0])
    return next(days, None)


def _single(memory: Recalled, briefing: Briefing, language: str) -> str:
    """Return the one memory that answers, with who and when where that is not plain."""
    when, foreign = _when(memory, briefing, language), _is_foreign(memory, language)
    if (memory.kind != "message" and not foreign) or not memory.said_by or not when:
        return _line(memory, briefing, language)
    # Their own words: two languages in one sentence are nobody's. A fact that cannot be
    # understood alone holds them with their sentence.
    quote = memory.quote if foreign and memory.quote not in memory.text else ""
    text = words.one_line(quote or _as_reply(memory, f"{memory.text} {memory.after}"))
    phrase = f"{'you' if memory.by_asker else 'who'}_said{'_in' if foreign else ''}"
    who = say(language, "you") if memory.by_asker else memory.said_by
    return say(language, phrase, who=who, when=when, said=words.short(text, MAX_LENGTH))


def _line(memory: Recalled, briefing: Briefing, language: str) -> str:
    """Return a memory with its source in brackets, unless the asker said it, or it was today."""
    when = _when(memory, briefing, language)
    day = when if when != say(language, "today") else ""
    if memory.stale:
        day = _as_of(memory.stale, briefing, language)
    source = ", ".join(filter(None, [memory.said_by if not memory.by_asker else "", day]))
    text = _text(memory, briefing, language)
    return f"{text} ({source})" if source else text


def _text(memory: Recalled, briefing: Briefing, language: str) -> str:
    # An episode's title is often how its body begins.
    lines = dict.fromkeys(_as_reply(memory, memory.text).splitlines())
    text = words.short("\n".join(lines), MAX_LENGTH)
    if memory.kind != "fact":
        sentence = words.as_sentence(text)
        return f"“{sentence}”" if memory.kind == "message" else sentence
    # In the name that the person had then; behind what led to it.
    person = (memory.said_by or briefing.person) if memory.by_asker else ""
    lead, main = (words.as_sentence(told_to(person, part)) for part in (memory.via, text))
    if person and memory.quote and re.search(rf"\b{re.escape(person)}\b", main):
        # Nobody is told of in the third person; their own words say it.
        main = quoted(words.as_sentence(memory.quote))
    as_lead = replace(memory, text=memory.via, quote="")
    adds = memory.via and not offline_answers.says_the_same(memory, as_lead)
    return f"{lead} {main}" if adds else main


def _as_reply(memory: Recalled, text: str) -> str:
    """Put a few words behind the question that they answer: "What is she called? – Momo"."""
    is_short = len(memory.text) <= SHORT_REPLY
    return f"{memory.replies_to} – {text}" if memory.replies_to and is_short else text


def _is_foreign(memory: Recalled, language: str) -> bool:
    """Tell whether it is in the other language: "Lucía likes jazz" is English."""
    names = [re.escape(name) for name in (memory.said_by, memory.subject) if name]
    text = re.sub(rf"\b(?:{'|'.join(names)})\b", "", memory.text) if names else memory.text
    return words.detect_language(text) not in ("", language)


def _when(memory: Recalled, briefing: Briefing, language: str) -> str:
    if memory.said_at is None:
        return ""
    # The briefing's clock is that of the space.
    at, today = memory.said_at.astimezone(briefing.now.tzinfo), briefing.now.date()
    days = (today - at.date()).days
    if days in (0, 1):
        return say(language, "yesterday" if days else "today")
    phrase = "date" if at.year == today.year else "date_of_year"
    return say(language, phrase, day=at.day, month=_month(at.month, language), year=at.year)


def _as_of(month: str, briefing: Briefing, language: str) -> str:
    """ "as of March": it was not checked since."""
    year, number = map(int, month.split("-"))
    phrase = "as_of" if year == briefing.now.year else "as_of_year"
    return say(language, phrase, month=_month(number, language), year=year)


def _month(number: int, language: str) -> str:
    return say(language, "months").split()[number - 1]


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
