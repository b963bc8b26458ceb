"""The built-in provider: deterministic, no network, answers from what was recalled.

It says what was learned from the message and plainly what it cannot do.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from memory.calendar.resolve import resolve
from memory.extraction import intents
from memory.extraction.wording import quoted, told_to
from memory.facts import plans
from memory.guards.inspect import REDACTED
from memory.llm.providers import offline_answers, offline_phrases
from memory.llm.providers.offline_phrases import say
from memory.llm.request import Answer, Briefing, ProviderError, Recalled, Request
from memory.text import normalise as words

MOST_LISTED = 12
# What is so short says little without the question that it answers.
SHORT_REPLY = 40
# Of the working note before, when a new plan is noted.
OLD_LINES = 4
_LATIN = re.compile(r"[A-Za-zÀ-ÿ]")
_AGE = re.compile(r"\bhow old\b|\bcuantos anos (?:tengo|tiene|cumplo|cumple)\b|\bque edad\b")
_BIRTHDAY = re.compile(r"\b(?:birthday|born|cumpleanos|nacio|naci)\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


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
    if REDACTED in briefing.text:
        # What was left out of the message is not worth keeping around it either.
        parts = [_script(briefing), say(language, "secret")]
    else:
        parts = [_script(briefing), _main(briefing, intent, language)]
    plans = intent.plans and REDACTED not in briefing.text
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
    if intent.name in offline_phrases.SMALL_TALK["en"]:
        return "" if briefing.script else _chat(briefing, intent.name, language)
    if intent.name in {"about_me", "about"} or briefing.days:
        return _list_of(briefing, intent, language)
    if intent.name == "forget":
        return say(language, "forget_all")
    told = [one for one in intents.told(briefing.text) if not intents.small_talk(one)]
    grief = intents.grief(" ".join(told))
    parts = [
        _chat(briefing, grief, language) if grief else "",
        _learned(briefing, intent, language),
    ]
    if wanted := intents.reminder(briefing.text):
        plan = plans.read(wanted, said_at=briefing.now, language=language)
        # Only what was noted is said: not what is incognito, or waits in quarantine.
        is_set = plan is not None and bool(briefing.learned)
        parts.append(say(language, "reminder" if is_set else "no_reminder"))
    elif intent.questions:
        parts.append(_answer(briefing, intent.questions, language))
    elif not any(parts) and not briefing.script:
        parts.append(_looked_up(briefing, language) or say(language, _unlearned(briefing)))
    return "\n\n".join(part for part in parts if part)


def _chat(briefing: Briefing, kind: str, language: str) -> str:
    turn = briefing.now.minute
    return offline_phrases.chat(language, kind, name=briefing.person, turn=turn)


def _learned(briefing: Briefing, intent: intents.Intent, language: str) -> str:
    told = [words.as_sentence(told_to(briefing.person, fact)) for fact in briefing.learned]
    parts = [say(language, "noted", facts=" ".join(told))] if told else []
    if briefing.wishes:
        parts.append(say(language, "wish"))
    if not parts and intent.plans and not intents.reminder(briefing.text):
        parts.append(say(language, "planned"))
    return "\n\n".join(parts)


def _unlearned(briefing: Briefing) -> str:
    """Which sentence fits a message that nothing was learned from."""
    said = briefing.text
    if intents.is_request(said):
        return "cannot"
    if not _LATIN.search(said):
        return "other_language"
    if briefing.unread:
        return "unread"
    if briefing.known:
        return "known"
    few = len(said.split()) <= 2 and not words.detect_language(said)
    return "not_understood" if few and said.islower() else "heard"


def _answer(briefing: Briefing, questions: Sequence[str], language: str) -> str:
    asked = " ".join(questions)
    if aged := _age(briefing, asked, language):
        return aged
    found = offline_answers.find(briefing, asked)
    if not found.memories or not found.exact:
        there = offline_answers.find_in(briefing, briefing.elsewhere, asked)
        near = not found.memories and _names_its_person(there, briefing, asked)
        if there.memories and (there.exact or near):
            return _elsewhere(there.memories[0], language)
    if not found.memories:
        return say(language, _unknown(briefing, asked))
    lines = [_line(one, briefing, language) for one in found.memories]
    if not found.exact:
        return say(language, "thought" if found.thought else "nearest", lines=_list(lines))
    if any(one.opposed for one in found.memories):
        return say(language, "opposed", lines=_list(lines))
    if len(lines) == 1:
        return _spoken(found.memories[0], briefing, language)
    return say(language, "answer_many", lines=_list(lines))


def _looked_up(briefing: Briefing, language: str) -> str:
    """What holds all of a few bare words, "passports": they may ask for it."""
    if not intents.is_bare(briefing.text):
        return ""
    asked = offline_answers.asked_of(briefing, briefing.text)
    found = offline_answers.candidates(briefing) if asked.topics or asked.names else []
    holding = [
        one for one in found if offline_answers.is_about(one, asked) and asked.covers_all(one.text)
    ]
    if not holding:
        return ""
    best = min(holding, key=lambda one: one.kind != "fact")
    rest = [one for one in holding if not offline_answers.says_the_same(one, best)]
    if not rest:
        return _spoken(best, briefing, language)
    lines = [_line(one, briefing, language) for one in [best, *rest][: offline_answers.MOST]]
    return say(language, "nearest", lines=_list(lines))


def _names_its_person(found: offline_answers.Found, briefing: Briefing, asked: str) -> bool:
    """Whether what is near is at least about whom the question names."""
    about = offline_answers.asked_of(briefing, asked, found.memories)
    return bool(about.names) and any(offline_answers.is_about(o, about) for o in found.memories[:1])


def _elsewhere(one: Recalled, language: str) -> str:
    known = say(language, "elsewhere", where=one.place)
    return f"{known}\n{one.link}" if one.link else known


def _unknown(briefing: Briefing, asked: str) -> str:
    """Which sentence fits a question that nothing answers; about the world nobody need tell us."""
    if intents.is_request(asked):
        return "cannot"
    about = offline_answers.asked_of(briefing, asked)
    is_ours = about.is_mine or about.kin or about.names & about.known or about.is_about_us
    return "unknown" if is_ours else "world"


def _list_of(briefing: Briefing, intent: intents.Intent, language: str) -> str:
    """Everything about somebody, or of some days, each thing once."""
    rows = sorted(briefing.recalled, key=lambda one: _is_foreign(one, language))
    told = {_line(one, briefing, language): _is_foreign(one, language) for one in rows}
    lines = list(told)[:MOST_LISTED]
    own, other = ([line for line in lines if told[line] is there] for there in (False, True))
    heading = say(language, "in_other") if other else ""
    rest = say(language, "and_more") if len(told) > MOST_LISTED else ""
    listed = "\n".join(filter(None, [_list(own), heading, _list(other), rest]))
    values = {"lines": listed, "who": intent.rest, "when": briefing.days}
    if lines:
        return say(language, intent.name, **values)
    if briefing.elsewhere:
        return _elsewhere(briefing.elsewhere[0], language)
    if intent.name in ("about_me", "about"):
        return say(language, "stranger" if intent.name == "about_me" else "unknown")
    return say(language, f"{intent.name.removesuffix('_on')}_nothing", when=briefing.days)


def _age(briefing: Briefing, asked: str, language: str) -> str:
    """The age of whom is asked for, from a birthday with its year."""
    if not _AGE.search(words.fold(asked)):
        return ""
    about = offline_answers.asked_of(briefing, asked)
    for one in offline_answers.candidates(briefing):
        # "How old is my son?" is not answered by a birthday of mine.
        fits = offline_answers.is_about(one, about) and about.covers_all(one.text)
        born = _born(one, briefing) if fits else None
        if born:
            today = briefing.now.date()
            years = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
            name = next(iter(sorted(about.names)), "").capitalize()
            given = {"years": years, "who": name, "said": _told(one, briefing, language)}
            return say(language, "age" if name else "age_me", **given)
    return ""


def _born(one: Recalled, briefing: Briefing) -> date | None:
    if not _BIRTHDAY.search(words.fold(one.text)) or not (year := _YEAR.search(one.text)):
        return None
    spoken = words.detect_language(one.text) or "en"
    times = resolve(one.text, said_at=one.said_at or briefing.now, language=spoken, lean="past")
    days = [when.first for when in times if when.first and str(when.first.year) == year[0]]
    return days[0] if days else None


def _spoken(one: Recalled, briefing: Briefing, language: str) -> str:
    """The one memory that answers, with who and when where that is not plain."""
    who, when = _who(one, language), _when(one, briefing, language)
    whose = "you" if one.by_asker and one.said_by else "who"
    foreign = _is_foreign(one, language)
    if (one.kind == "message" or foreign) and one.said_by and when:
        # Their own words: two languages in one sentence are nobody's. A fact that cannot be
        # understood alone holds them with their sentence.
        quote = "" if one.quote in one.text else one.quote
        said = (foreign and quote) or _as_reply(one, f"{one.text} {one.after}")
        phrase = f"{whose}_said_in" if foreign else f"{whose}_said"
        return say(
            language, phrase, who=who, when=when, said=words.short(words.one_line(said), 400)
        )
    return _line(one, briefing, language)


def _line(one: Recalled, briefing: Briefing, language: str) -> str:
    """One memory with its source in brackets, unless you said it yourself or it was today."""
    when = _when(one, briefing, language)
    days = when if when != say(language, "today") else ""
    if one.stale:
        days = _as_of(one.stale, briefing, language)
    parts = [one.said_by if not one.by_asker else "", days]
    source, said = ", ".join(part for part in parts if part), _told(one, briefing, language)
    return f"{said} ({source})" if source else said


def _told(one: Recalled, briefing: Briefing, language: str) -> str:
    # An episode's title is often how its body begins.
    told = words.short("\n".join(dict.fromkeys(_as_reply(one, one.text).splitlines())), 400)
    if one.kind != "fact":
        return f"“{words.as_sentence(told)}”" if one.kind == "message" else words.as_sentence(told)
    # In the name that the person had then; behind what led to it.
    person = (one.said_by or briefing.person) if one.by_asker else ""
    lead, main = (words.as_sentence(told_to(person, said)) for said in (one.via, told))
    if person and one.quote and re.search(rf"\b{re.escape(person)}\b", main):
        # Nobody is told of in the third person; their own words say it.
        main = quoted(words.as_sentence(one.quote))
    adds = one.via and not offline_answers.says_the_same(one, replace(one, text=one.via, quote=""))
    return f"{lead} {main}" if adds else main


def _as_reply(one: Recalled, said: str) -> str:
    """A few words behind the question that they answer: "What is she called? – Momo"."""
    is_short = len(one.text) <= SHORT_REPLY
    return f"{one.replies_to} – {said}" if one.replies_to and is_short else said


def _is_foreign(one: Recalled, language: str) -> bool:
    """Whether it was told in the other language: "Lucía likes jazz" is English."""
    names = [re.escape(name) for name in (one.said_by, one.subject) if name]
    told = re.sub(rf"\b(?:{'|'.join(names)})\b", "", one.text) if names else one.text
    return words.detect_language(told) not in ("", language)


def _who(one: Recalled, language: str) -> str:
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


def _as_of(month: str, briefing: Briefing, language: str) -> str:
    """ "as of March": it was not checked since."""
    year, number = (int(part) for part in month.split("-"))
    name = say(language, "months").split()[number - 1]
    phrase = "as_of" if year == briefing.now.year else "as_of_year"
    return say(language, phrase, month=name, year=year)


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
