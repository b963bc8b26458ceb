"""What the first conversation says, in the language of the person, not of a page."""

from memory.identity.profile import UNKNOWN, Profile

PHRASES = {
    "en": {
        "begin": "Let us get to know each other: just talk to me. After a few messages I say how I"
        " read you, and you correct me.",
        "checkpoint": "By the way, this is how I read you so far: {traits}. Is that right, or"
        " should I be different?",
        "boundaries": "Thank you. One more thing: is there anything I should never do, or a topic"
        " I should leave alone?",
        "complete": "Good, I keep that: {traits}. You can change it at any time, here"
        " (/bootstrap) or on the Identity page.",
        "tone": {
            "casual": "a casual tone",
            "formal": "a formal tone",
            "direct": "direct words",
            "playful": "a playful tone",
        },
        "verbosity": {"concise": "short answers", "detailed": "detailed answers"},
        "language": {"en": "English", "es": "Spanish"},
        "emoji": {"frequent": "with emoji", "none": "without emoji"},
        "tech": "you work with {tech}",
        "keys": "Tone Verbosity Language Emoji Tech Correction Boundaries".split(),
        # No value of these means that there is nothing to tell, not that it is unknown.
        "quiet": {"Emoji", "Correction"},
        "section": "Profile",
        "nothing": {"no", "nope", "none", "nothing", "no thanks", "all good", "nothing really"},
        "yes": {"yes", "yep", "yeah", "right", "correct", "that is right", "ok", "exactly"},
    },
    "es": {
        "begin": "Vamos a conocernos: habla conmigo sin más. Tras unos mensajes te digo"
        " qué impresión me das, y tú me corriges.",
        "checkpoint": "Por cierto, esta es la impresión que tengo: {traits}. ¿Es así, o debería"
        " ser de otra manera?",
        "boundaries": "Gracias. Una cosa más: ¿hay algo que nunca deba hacer, o un tema que deba"
        " dejar en paz?",
        "complete": "Bien, lo guardo: {traits}. Puedes cambiarlo cuando quieras, aquí"
        " (/conoceme) o en la página Identidad.",
        "tone": {
            "casual": "un tono informal",
            "formal": "un tono formal",
            "direct": "palabras directas",
            "playful": "un tono juguetón",
        },
        "verbosity": {"concise": "respuestas breves", "detailed": "respuestas detalladas"},
        "language": {"en": "inglés", "es": "español"},
        "emoji": {"frequent": "con emojis", "none": "sin emojis"},
        "tech": "trabajas con {tech}",
        "keys": "Tono Extensión Idioma Emojis Técnica Corrección Límites".split(),
        "quiet": {"Emojis", "Corrección"},
        "section": "Perfil",
        "nothing": {"no", "nada", "ninguno", "ninguna", "no gracias", "todo bien", "nada mas"},
        "yes": {"si", "correcto", "exacto", "asi es", "vale", "ok", "eso es", "claro"},
    },
}


def traits(profile: Profile) -> str:
    """The profile as a person reads it: emoji only when it is telling, tools only when known."""
    phrases = PHRASES[profile.language]
    parts = [
        phrases["tone"][profile.tone],
        phrases["verbosity"][profile.verbosity],
        phrases["language"][profile.language],
        phrases["emoji"].get(profile.emoji, ""),
        phrases["tech"].format(tech=profile.tech) if profile.tech != UNKNOWN else "",
    ]
    return ", ".join(part for part in parts if part)


def say(phrase: str, profile: Profile) -> str:
    return PHRASES[profile.language][phrase].format(traits=traits(profile))
