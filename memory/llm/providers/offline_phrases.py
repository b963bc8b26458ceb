"""What the built-in provider says, in English and Spanish."""

from collections.abc import Sequence
from typing import Any

# Natural answers to small talk, by what was said, another one each time; for grief a human word.
SMALL_TALK = {
    "en": {
        "greeting": [
            "Hello{name}! Tell me something to remember, or ask me about what you told me.",
            "Hi{name}! Good to hear from you.",
            "Hey{name}! What is new?",
        ],
        "how": [
            "All well here, thank you. And you?",
            "Fine, thanks: I have kept everything safe.",
            "Quiet and tidy, as a memory should be. How are you?",
        ],
        "thanks": ["You are welcome.", "Any time.", "My pleasure{name}."],
        "bye": [
            "See you soon. I keep what you told me.",
            "Bye{name}! It will all be here next time.",
            "Take care.",
        ],
        "joke": [
            "I am a memory, so I only know jokes that somebody told me. Tell me one and I keep it.",
            "Why did the memory go to bed? It had a lot to sleep on. That one is mine, sorry.",
        ],
        "laugh": ["Glad that made you laugh.", "Ha! Good one.", "😄"],
        "praise": ["That is kind of you.", "Thank you{name}!", "Happy to help."],
        "ok": ["All right.", "Good.", "OK."],
        "smile": ["🙂", "😊"],
        "help": [
            "I am Keno, a memory. I run without a language model here, so I cannot chat about just "
            "anything, reason or write texts. I can keep what you tell me, answer from what I "
            "remember and say where I know it from. Try “Remember that…”, ask a question, or send "
            "/help for the commands."
        ],
        "death": [
            "I am so sorry for your loss.",
            "I am very sorry{name}. That is a lot to carry.",
            "My condolences. I am here if you want to talk about them.",
        ],
        "sad": [
            "I am sorry to hear that. I hope it gets better soon.",
            "That sounds hard{name}. I am listening.",
            "I am sorry. Be gentle with yourself today.",
        ],
    },
    "es": {
        "greeting": [
            "¡Hola{name}! Cuéntame algo y lo recuerdo, o pregúntame por lo que sé de ti.",
            "¡Hola{name}! Qué bien leerte.",
            "¡Buenas{name}! ¿Qué hay de nuevo?",
        ],
        "how": [
            "Todo bien por aquí, gracias. ¿Y tú?",
            "Bien, gracias: lo tengo todo guardado.",
            "En orden y en calma, como toca a una memoria. ¿Y tú?",
        ],
        "thanks": ["De nada.", "Para eso estoy.", "Un placer{name}."],
        "bye": [
            "Hasta pronto. Guardo lo que me has contado.",
            "¡Hasta luego{name}! Aquí seguirá todo.",
            "Cuídate.",
        ],
        "joke": [
            "Soy una memoria: solo sé los chistes que me cuentan. Cuéntame uno y me lo guardo.",
            "¿Por qué se acostó la memoria? Quería consultarlo con la almohada. Es mío, perdón.",
        ],
        "laugh": ["Me alegra que te haga gracia.", "¡Ja! Muy bueno.", "😄"],
        "praise": ["Qué amable.", "¡Gracias{name}!", "Encantado de ayudar."],
        "ok": ["De acuerdo.", "Muy bien.", "Vale."],
        "smile": ["🙂", "😊"],
        "help": [
            "Soy Keno, una memoria. Aquí funciono sin modelo de lenguaje: no puedo conversar de "
            "cualquier cosa, razonar ni redactar. Puedo guardar lo que me cuentas, responder con "
            "lo que recuerdo y decir de dónde lo sé. Prueba con «Recuerda que…», hazme una "
            "pregunta o envía /ayuda para ver los comandos."
        ],
        "death": [
            "Lo siento muchísimo.",
            "Lo siento de verdad{name}. Es mucho lo que llevas encima.",
            "Te acompaño en el sentimiento. Aquí estoy si quieres hablar.",
        ],
        "sad": [
            "Lo siento. Espero que mejore pronto.",
            "Suena duro{name}. Te leo.",
            "Lo siento. Hoy trátate con cariño.",
        ],
    },
}
PHRASES = {
    "en": {
        "noted": "Noted: {facts}",
        "wish": "Whoever keeps this space decides how I talk. I have passed your wish on.",
        "planned": "I keep that in mind.",
        "reminder": "I will say it here at its time. /plans shows what is to come.",
        "no_reminder": (
            "I will not say that by myself: I need a day and an hour, as in “remind me on Friday "
            "at 9 to call Marta”. /plans shows what is to come."
        ),
        "opposed": "I was told two things, and nobody has decided which holds:\n{lines}",
        "answer_many": "This is what I remember:\n{lines}",
        "about_me": "This is what I remember about you:\n{lines}",
        "about": "This is what I remember about {who}:\n{lines}",
        "in_other": "In Spanish I was told:",
        "and_more": "… and more. Ask me for something in particular.",
        "stranger": "I know nothing about you yet. Tell me something, and I will.",
        "told_on": "You told me {when}:\n{lines}",
        "told_nothing": "I have nothing that you told me {when}.",
        "planned_on": "What I have for {when}:\n{lines}",
        "planned_nothing": "I have nothing for {when}.",
        "new": "New since {when}:\n{lines}",
        "new_nothing": "Nothing new since {when}.",
        "age_me": "You are {years}: {said}",
        "age": "{who} is {years}: {said}",
        "thought": "This may be it:\n{lines}",
        "nearest": "I do not remember exactly that. The nearest I have:\n{lines}",
        "unknown": (
            "I do not remember anything about that: nobody here has told me. Tell me, and I will."
        ),
        "world": ("I only know what people here have told me, and nobody has told me that."),
        "forget_all": (
            "I do not forget everything at once. Name what I should forget (“forget that…”), or "
            "let an owner erase it in the dashboard."
        ),
        "elsewhere": "I know something about that from {where}; it stays there.",
        "not_understood": "I did not understand that. Could you say it in other words?",
        "other_language": (
            "I understand English and Spanish. I keep your words as you wrote them, but I learn "
            "nothing from them."
        ),
        "cannot": (
            "I have no language model here, so that is beyond me. I keep what you tell me "
            "and answer from it."
        ),
        "unread": "OK. I will read that in a moment and keep what lasts.",
        "known": "I know that already.",
        "heard": "OK. I did not note that as a fact; say “Remember that…” and I will.",
        "secret": (
            "I keep no passwords, keys or card numbers: I left that out and did not note it."
        ),
        "you": "you",
        "you_said": "You said {when}: “{said}”",
        "who_said": "{who} said {when}: “{said}”",
        "you_said_in": "In Spanish you told me {when}: “{said}”",
        "who_said_in": "In Spanish {who} told me {when}: “{said}”",
        "today": "today",
        "yesterday": "yesterday",
        "months": "January February March April May June July August September October November "
        "December",
        "as_of": "as of {month}",
        "as_of_year": "as of {month} {year}",
        "date": "on {day} {month}",
        "date_of_year": "on {day} {month} {year}",
    },
    "es": {
        "noted": "Anotado: {facts}",
        "wish": "Cómo hablo lo decide quien cuida este espacio: le presento tu deseo.",
        "planned": "Lo tengo presente.",
        "reminder": "Lo diré aquí a su hora. /planes muestra lo que viene.",
        "no_reminder": (
            "No lo diré por mi cuenta: necesito un día y una hora, como en «recuérdame el viernes "
            "a las 9 llamar a Marta». /planes muestra lo que viene."
        ),
        "opposed": "Me contaron dos cosas y nadie ha decidido cuál vale:\n{lines}",
        "answer_many": "Esto es lo que recuerdo:\n{lines}",
        "about_me": "Esto es lo que recuerdo de ti:\n{lines}",
        "about": "Esto es lo que recuerdo de {who}:\n{lines}",
        "in_other": "En inglés me contaron:",
        "and_more": "… y más. Pregúntame por algo en particular.",
        "stranger": "Todavía no sé nada de ti. Cuéntame algo y lo recordaré.",
        "told_on": "Me contaste {when}:\n{lines}",
        "told_nothing": "No tengo nada que me contaras {when}.",
        "planned_on": "Lo que tengo para {when}:\n{lines}",
        "planned_nothing": "No tengo nada para {when}.",
        "new": "Nuevo desde {when}:\n{lines}",
        "new_nothing": "Nada nuevo desde {when}.",
        "age_me": "Tienes {years} años: {said}",
        "age": "{who} tiene {years} años: {said}",
        "thought": "Puede que sea esto:\n{lines}",
        "nearest": "No recuerdo exactamente eso. Lo más parecido que tengo:\n{lines}",
        "unknown": (
            "No recuerdo nada sobre eso: aquí nadie me lo ha contado. Cuéntamelo y lo recordaré."
        ),
        "world": ("Solo sé lo que me cuentan aquí, y eso no me lo ha contado nadie."),
        "forget_all": (
            "No lo olvido todo de golpe. Dime qué debo olvidar («olvida que…»), o pide a quien "
            "cuida este espacio que lo borre en el panel."
        ),
        "elsewhere": "Sé algo de eso por {where}; ahí se queda.",
        "not_understood": "No te he entendido. ¿Me lo dices con otras palabras?",
        "other_language": (
            "Entiendo español e inglés. Guardo tus palabras como las escribiste, pero no aprendo "
            "nada de ellas."
        ),
        "cannot": (
            "Aquí no tengo modelo de lenguaje, así que eso no sé hacerlo. Guardo lo que me cuentas "
            "y respondo con ello."
        ),
        "unread": "De acuerdo. Enseguida lo leo y guardo lo que importe.",
        "known": "Eso ya lo sabía.",
        "heard": "De acuerdo. No lo he anotado como un hecho; di «Recuerda que…» y lo hago.",
        "secret": (
            "No guardo contraseñas, claves ni números de tarjeta: lo he quitado y no lo he anotado."
        ),
        "you": "tú",
        "you_said": "Dijiste {when}: «{said}»",
        "who_said": "{who} dijo {when}: «{said}»",
        "you_said_in": "En inglés me dijiste {when}: «{said}»",
        "who_said_in": "En inglés me dijo {who} {when}: «{said}»",
        "today": "hoy",
        "yesterday": "ayer",
        "months": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
        "diciembre",
        "as_of": "a fecha de {month}",
        "as_of_year": "a fecha de {month} de {year}",
        "date": "el {day} de {month}",
        "date_of_year": "el {day} de {month} de {year}",
    },
}


def say(language: str, phrase: str, **values: Any) -> str:
    return PHRASES[_known(language)][phrase].format(**values)


def chat(language: str, kind: str, *, name: str = "", turn: int = 0) -> str:
    """One of the answers to small talk; another one each turn."""
    choices: Sequence[str] = SMALL_TALK[_known(language)][kind]
    return choices[turn % len(choices)].format(name=f", {name}" if name else "")


def _known(language: str) -> str:
    return "es" if language == "es" else "en"
