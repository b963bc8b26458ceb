"""What the built-in provider says, in English and Spanish.

Not through gettext: the language is that of the message, and these are its words, not a page's.
"""

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
        "noted_chat": "Noted for this chat: {facts}",
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
        "noted_chat": "Anotado en este chat: {facts}",
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


def say(language: str, phrase: str, **values: object) -> str:
    return PHRASES["es" if language == "es" else "en"][phrase].format(**values)
