"""Which of the recalled memories answer a question, for the built-in provider.

A recall brings whatever may help a model. Somebody who asks wants the one thing they asked for, or
to hear that it is not known.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory.extraction import intents
from memory.llm.request import Briefing, Recalled
from memory.text import normalise as words
from memory.vectors import likeness as meaning

# How near a memory must be to the question to answer it, and to be worth a mention. Measured on
# questions in English and Spanish: what answers scores .66 to .84, what does not up to .64.
FITS, NEARLY = 0.655, 0.6
NAME = "Ana"
# Holding the words is not enough for one that is about somebody else entirely.
FAR = 0.4
# How far behind the nearest another may be and still be part of the answer.
BESIDE = 0.06
# How many of the question's words of meaning an answer in the same language must hold.
COVERED = 0.6
MOST = 3
KENO = "keno"
META = words.stems(
    "remember recall know tell remind told say said recuerdas acuerdas sabes dime dije"
)
_TURN = re.compile(r"^\s*-?\s*(?P<who>[^:\n]{1,40}):\s+(?P<said>.+)$")
PHRASES = {
    "en": {
        "greeting": "Hello{name}! Tell me something to remember, or ask me about what you told me.",
        "thanks": "You are welcome.",
        "bye": "See you soon. I keep what you told me.",
        "help": (
            "I am Keno, a memory. I run without a language model here, so I cannot chat about just "
            "anything, reason or write texts. I can keep what you tell me, answer from what I "
            "remember and say where I know it from. Try “Remember that…”, ask a question, or send "
            "/help for the commands."
        ),
        "noted": "Noted: {facts}",
        "wish": "Whoever keeps this space decides how I talk. I have passed your wish on.",
        "planned": "I keep in mind what you are working on.",
        "answer_many": "This is what I remember:\n{lines}",
        "about_me": "This is what I remember about you:\n{lines}",
        "stranger": "I know nothing about you yet. Tell me something, and I will.",
        "nearest": "I do not remember exactly that. The nearest I have:\n{lines}",
        "unknown": "I do not remember anything about that. Tell me, and I will.",
        "forget_found": (
            "I cannot forget on my own. Is it this?\n{lines}\nSend /forget with a few of its words "
            "and I put it away; you can take that back."
        ),
        "forget_none": (
            "I find nothing like that in my memory. /forget last takes back what I learned last."
        ),
        "cannot": (
            "I have no language model here, so that is beyond me. I keep what you tell me "
            "and answer from it."
        ),
        "heard": "All right. I keep that in our conversation.",
        "secret": (
            "I keep no passwords, keys or card numbers: I left that out and did not note it."
        ),
        "related": "That reminds me:\n{lines}",
        "you": "you",
        "you_told": "You told me {when}.",
        "who_told": "{who} told me {when}.",
        "you_said": "You said {when}: “{said}”",
        "who_said": "{who} said {when}: “{said}”",
        "today": "today",
        "yesterday": "yesterday",
        "months": "January February March April May June July August September October November "
        "December",
        "date": "on {day} {month}",
        "date_of_year": "on {day} {month} {year}",
    },
    "es": {
        "greeting": "¡Hola{name}! Cuéntame algo y lo recuerdo, o pregúntame por lo que sé de ti.",
        "thanks": "De nada.",
        "bye": "Hasta pronto. Guardo lo que me has contado.",
        "help": (
            "Soy Keno, una memoria. Aquí funciono sin modelo de lenguaje: no puedo conversar de "
            "cualquier cosa, razonar ni redactar. Puedo guardar lo que me cuentas, responder con "
            "lo que recuerdo y decir de dónde lo sé. Prueba con «Recuerda que…», hazme una "
            "pregunta o envía /ayuda para ver los comandos."
        ),
        "noted": "Anotado: {facts}",
        "wish": "Cómo hablo lo decide quien cuida este espacio: le presento tu deseo.",
        "planned": "Tengo presente en qué estás trabajando.",
        "answer_many": "Esto es lo que recuerdo:\n{lines}",
        "about_me": "Esto es lo que recuerdo de ti:\n{lines}",
        "stranger": "Todavía no sé nada de ti. Cuéntame algo y lo recordaré.",
        "nearest": "No recuerdo exactamente eso. Lo más parecido que tengo:\n{lines}",
        "unknown": "No recuerdo nada sobre eso. Cuéntamelo y lo recordaré.",
        "forget_found": (
            "No puedo olvidar por mi cuenta. ¿Es esto?\n{lines}\nEnvía /olvida con algunas de sus "
            "palabras y lo aparto; se puede deshacer."
        ),
        "forget_none": (
            "No encuentro nada así en mi memoria. /olvida último deshace lo último que aprendí."
        ),
        "cannot": (
            "Aquí no tengo modelo de lenguaje, así que eso no sé hacerlo. Guardo lo que me cuentas "
            "y respondo con ello."
        ),
        "heard": "De acuerdo. Queda en nuestra conversación.",
        "secret": (
            "No guardo contraseñas, claves ni números de tarjeta: lo he quitado y no lo he anotado."
        ),
        "related": "Eso me recuerda:\n{lines}",
        "you": "tú",
        "you_told": "Me lo dijiste {when}.",
        "who_told": "Me lo dijo {who} {when}.",
        "you_said": "Dijiste {when}: «{said}»",
        "who_said": "{who} dijo {when}: «{said}»",
        "today": "hoy",
        "yesterday": "ayer",
        "months": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
        "diciembre",
        "date": "el {day} de {month}",
        "date_of_year": "el {day} de {month} de {year}",
    },
}


@dataclass(frozen=True)
class Found:
    """What answers; not `exact` when it is only the nearest there is."""

    memories: Sequence[Recalled] = ()
    exact: bool = True


def find(briefing: Briefing, question: str) -> Found:
    """Facts before what was said, and that before what an episode tells of it."""
    facts = [one for one in briefing.recalled if one.kind == "fact"]
    said = [one for one in briefing.recalled if one.kind == "message" and _tells(one)]
    if not words.stems(question) - META:
        return Found(sorted(facts, key=lambda one: -one.score)[:MOST])
    for memories in (facts, said, _just_heard(briefing, question), _told_in_episodes(briefing)):
        near = _nearness(memories, briefing, question)
        if fitting := [(like, one) for like, one in near if _fits(like, one, briefing, question)]:
            return Found(_best(fitting))
    near = _nearness([*facts, *said], briefing, question)
    return Found(_best([pair for pair in near if (pair[0] or 0) >= NEARLY]), exact=False)


def _nearness(
    memories: Iterable[Recalled], briefing: Briefing, question: str
) -> list[tuple[float | None, Recalled]]:
    """ "My dog" is Ana's dog in a fact: then the question gets a name too. It is the same name for
    everybody, because names pull in directions of their own."""
    me, near = briefing.person, []
    mine = re.compile(rf"\b{re.escape(me)}\b", re.I)
    for one in memories:
        named = bool(me) and (one.kind == "fact" or mine.search(one.text) is not None)
        asked = f"{NAME}: {question}" if named else question
        text = mine.sub(NAME, one.text) if named else one.text
        near.append((meaning.likeness(asked, text), one))
    return near


def _fits(like: float | None, one: Recalled, briefing: Briefing, question: str) -> bool:
    asked = words.stems(question) - META
    if like is not None and (like >= FITS or like < FAR):
        return like >= FITS
    spoken = words.detect_language(question), words.detect_language(one.text)
    if like is None and all(spoken) and spoken[0] != spoken[1]:
        # Between languages words cannot tell, and the recall is trusted.
        return briefing.level in {"medium", "high"}
    return len(asked & words.stems(one.text)) / len(asked) >= COVERED


def _best(found: list[tuple[float | None, Recalled]]) -> list[Recalled]:
    ranked = sorted(found, key=lambda pair: (-(pair[0] or 0), -pair[1].score))
    line = (ranked[0][0] or 0) - BESIDE if ranked else 0
    return [one for like, one in ranked[:MOST] if (like or 0) >= line]


def _tells(one: Recalled) -> bool:
    """Somebody said it who is not Keno, and did not ask."""
    return words.fold(one.said_by) != KENO and not intents.is_question(one.text)


def _just_heard(briefing: Briefing, question: str) -> list[Recalled]:
    """What somebody said a moment ago and holds every word that matters."""
    asked = words.stems(question) - META
    told = [one for one in reversed(briefing.heard) if _tells(one)]
    return [one for one in told if asked and asked <= words.stems(one.text)][:1]


def _told_in_episodes(briefing: Briefing) -> list[Recalled]:
    """The lines of the episodes, each for itself: nobody wants to hear a whole day."""
    made = []
    for one in briefing.recalled:
        if one.kind == "episode":
            made += [_line_of(one, line) for line in one.text.splitlines() if line.strip()]
    return [line for line in made if _tells(line)][:20]


def _line_of(episode: Recalled, line: str) -> Recalled:
    turn = _TURN.match(line)
    if not turn:
        return replace(episode, text=line.strip(" -"))
    return replace(episode, kind="message", text=turn["said"].strip(), said_by=turn["who"].strip())


def say(language: str, phrase: str, **values: Any) -> str:
    return PHRASES["es" if language == "es" else "en"][phrase].format(**values)
