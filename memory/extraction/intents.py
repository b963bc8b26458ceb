"""What somebody wants with a message, by its words alone, in English and Spanish. Pure."""

import re
from dataclasses import dataclass

from memory.extraction import rescheduling
from memory.extraction.rescheduling import DAY
from memory.text import asking
from memory.text import normalise as words
from memory.text.shorthand import written_out
from memory.text.summaries import without_lead_in

GREETINGS = """hi, hello, hey, heya, hiya, good morning, good afternoon, good evening, morning,
hola, holi, ey, buenas, buen día, buenos días, buenos dias, buenas tardes, buenas noches, qué onda,
que onda"""
HOW_ARE_YOU = """how are you, how are things, how's it going, how is it going, what's up, how do you
do, how was your day, cómo estás, como estas, qué tal, que tal, cómo te va, qué hay, cómo va todo,
qué haces, todo bien"""
LAUGHS = "haha, hahaha, lol, hehe, jaja, jajaja, jeje, ja ja"
PRAISE = """that's great, that is great, great, cool, nice, nice one, awesome, perfect, well done,
good job, you rock, you're the best, you're great, you're a star, you're a legend, you're a
lifesaver, i love you, good bot, genial, perfecto, qué bien, que bien, estupendo, muy bien, eres un
sol, eres genial, eres un crack, eres una crack, eres la leche, eres lo más, eres la mejor, eres el
mejor, te quiero, bien hecho, qué guay, bravo"""
AGREES = """ok, okay, all right, alright, fine, got it, i see, sure, yes, yeah, yep, no, nope, vale,
de acuerdo, entendido, sí, si, claro, ya veo, bueno, órale"""
JOKES = """tell me a joke, tell us a joke, do you know a joke, make me laugh, cuéntame un chiste,
cuentame un chiste, sabes un chiste, sabes algún chiste, hazme reír"""
THANKS = """thanks, thank you, thx, ty, cheers, many thanks, much appreciated, gracias, muchas
gracias, mil gracias, muchísimas gracias"""
GOODBYES = """bye, goodbye, see you, good night, adiós, adios, hasta luego, hasta mañana, hasta
pronto, chao, nos vemos"""
HELP = """what can you do, who are you, what are you, how do you work, can you help me, help, qué
puedes hacer, que puedes hacer, qué sabes hacer, quién eres, quien eres, cómo funcionas, puedes
ayudarme, ayuda"""
REMEMBER = """remember that, remember this, remember, note that, note, don't forget that, don't
forget, keep in mind that, keep in mind, make a note that, save this, save that, recuerda que,
recuerda esto, recuerda, acuérdate de que, acuérdate de, acuérdate que, no olvides que, no te
olvides de que, no olvides, apunta que, apunta, anota que, anota, ten en cuenta que, ten en cuenta,
toma nota de que, toma nota, guarda que, guarda esto"""
FORGET = """forget that, forget about, forget what, forget it, forget everything, forget my, forget,
delete that, delete what, olvida que, olvida lo, olvida eso, olvida mi, olvida, olvídate de que,
olvídate de, olvidate de, olvídalo, borra eso, borra lo, borra que"""
CORRECTIONS = """actually, wait, sorry, correction, i meant, that's wrong, that is wrong, that's not
right, not anymore, i beg your pardon, my mistake, my bad, scratch that, en realidad, corrección,
correccion, corrijo, quise decir, me equivoqué, me fijé mal, me confundí, eso no es así, perdón,
perdon, mejor dicho, espera, pará, aguarda"""
# How somebody wants to be talked to, which is a wish about Keno and not a fact.
MANNERS = """answer me, answer in, reply to me, reply in, talk to me, speak to me, write to me, call
me, keep it short, keep your answers short, be brief, be concise, be formal, be informal,
contéstame, respóndeme, responde en, háblame en, háblame de tú, háblame de usted, háblame sin,
escríbeme en, escríbeme siempre, escríbeme sin, escríbeme con, llámame, trátame, tutéame, sé breve,
sé conciso, sé formal"""
PLANS = """i'm working on, i am working on, we're working on, we are working on, i need to, i have
to, i want to, my task is, the next step is, estoy trabajando en, estamos trabajando en, tengo que,
necesito, hay que, mi tarea es, el siguiente paso es"""
# From where on words without a mark are taken for a question.
ASKS = 0.5
# So many words without a verb or a mark may be looked up, if one is longer than that.
BARE_WORDS, BARE_LETTERS = 4, 3

# How Keno agrees, refuses or greets; a reply that says little more is not worth recalling.
FORMULAS = """noted, got it, understood, ok, okay, sure, all right, alright, done, forgotten,
corrected, you're welcome, you are welcome, hello, hi, good to know, thanks, i'll remember, i will
remember, i don't remember, i do not remember, i don't know, i do not know, i can't, i cannot,
sorry, anotado, apuntado, entendido, vale, de acuerdo, claro, hecho, olvidado, corregido, de nada,
hola, gracias, lo recordaré, lo tengo en cuenta, no recuerdo, no lo sé, no sé, no puedo, perdón, lo
siento"""
# Where a sentence that asks begins to tell something first: "I moved to Porto, do you know…?"
TELLS = """i, i'm, i've, i'll, we, we're, we've, my, our, me, mi, mis, yo, nos, nuestro, nuestra,
soy, estoy, tengo, vivo, trabajo, voy, fui, estuve, somos, estamos, tenemos, vamos, fuimos, he,
hemos"""

POLITE = (
    r"(?:please|por favor|oye|hey|keno|ok|okay|vale|y|and|so|can you|could you|puedes|uy|ay|ah|oh"
    r"|ups|oops|huy|eh|hmm+)[\s,:]+"
)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


def _words(listed: str) -> str:
    """The phrases as alternatives, the longest first."""
    phrases = sorted((one.strip() for one in listed.replace("\n", " ").split(",")), key=len)
    # Many leave the apostrophe out.
    return "|".join(re.escape(one).replace("'", "'?") for one in reversed(phrases))


def begins(listed: str) -> re.Pattern:
    return re.compile(rf"^[\W_]*(?:{POLITE})*(?:{_words(listed)})\b(?P<rest>.*)", re.I | re.S)


def _holds(listed: str) -> re.Pattern:
    return re.compile(rf"\b(?:{_words(listed)})\b", re.I)


HELP_ONLY = re.compile(rf"^\W*(?:{POLITE})?(?:{_words(HELP)})\W*$", re.I)
# What a message may consist of and say nothing, and how many letters may follow the phrase:
# "Hola, ¿qué tal?" is two of them, "No tengo coche" is none.
CHATTER = {
    name: re.compile(
        rf"^[\W_]*(?:{POLITE})?(?:{_words(listed)})\b[^?¿.\n]{{0,{more}}}[\W_]*$", re.I
    )
    for name, listed, more in (
        ("joke", JOKES, 25), ("how", HOW_ARE_YOU, 25), ("thanks", THANKS, 25),
        ("bye", GOODBYES, 25), ("greeting", GREETINGS, 25), ("laugh", LAUGHS, 9),
        ("praise", PRAISE, 2), ("ok", AGREES, 2),
    )
}  # fmt: skip
# Questions that are answered with a list: about somebody, of a day, of what is new.
_ABOUT = re.compile(
    r"\b(?:(?:what|everything|all)\s+(?:that\s+)?(?:do\s+|have\s+)?you\s+"
    r"(?:know|remember|learned)\s+(?:about|of)|tell me (?:everything |all )?about"
    r"|(?:qu[eé]|q|k|lo que|todo lo que)\s+(?:sab[eé]s|recuerdas|record[aá]s)\s+"
    r"(?:de|sobre|acerca de)"
    r"|(?:cu[eé]ntame|dime) (?:todo )?(?:de|sobre))\s+(?P<rest>[^?.!\n]{1,60})",
    re.I,
)
# "de mí" is often written without its accent; "de mi abuela" is about somebody else.
_ME = re.compile(r"^(?:(?:me|mí|myself|yo)\b|mi\b(?!\s+\w))", re.I)
_TOLD = re.compile(
    r"\b(?:what (?:did|have) (?:i|we) (?:tell|told|say|said|mention)"
    r"|qu[eé] (?:te|os) (?:cont[eé]|dije|he (?:dicho|contado)))",
    re.I,
)
_PLANNED = re.compile(
    r"\b(?:what(?:'s| is)(?: planned| due| happening| going on)?"
    r"|what (?:do i have|do we have|am i doing|are we doing|are my plans)"
    r"(?: on| planned| due| happening| going on)?"
    r"|qu[eé] (?:planes |cosas |citas )?(?:tengo|tenemos|hay|hago|hacemos))"
    r"(?=\s+(?:on|for|next|this|tomorrow|today|tonight|el|la|para|este|esta|ma[nñ]ana|hoy|in)\b)",
    re.I,
)
_NEW = re.compile(
    r"\b(?:what(?:'s| is| has been)? new|hay de nuevo|novedades|what changed)\b", re.I
)
_LISTS = {"new": _NEW, "told_on": _TOLD, "planned_on": _PLANNED}
_SAD = re.compile(
    r"\b(?:sad|depressed|heartbroken|devastated|lonely|in (?:the )?hospital|cancer|broke up"
    r"|feel(?:ing)? (?:\w+ )?(?:awful|terrible|horrible|down|low|miserable|like crap)|rough day"
    r"|lost my job|triste|deprimid[oa]|destrozad[oa]|hospitalizad[oa]|en el hospital|c[aá]ncer"
    r"|me despidieron|hech[oa] polvo|me siento (?:\w+ )?(?:mal|fatal|sol[oa])|estoy mal)\b",
    re.I,
)
_DEATH = re.compile(
    r"\b(?:died|passed away|is dead|funeral|muri[oó]|ha muerto|falleci[oó]|ha fallecido)\b", re.I
)
_WORKS_THERE = re.compile(r"\b(?:works?|working|nurse|trabaj\w+|enfermer\w)\b", re.I)
_EVERYTHING = re.compile(r"\b(?:everything|all of it|todo)\b", re.I)
# "Holaaa", "thankss".
_STRETCHED = re.compile(r"(\w)\1+\b")
_CHUNK = re.compile(r"[.,;:!?¡¿…\n]+")
# "No, Marta" takes something back; "No tengo coche" and "No meat for me" only deny.
_NO = re.compile(
    rf"^[\W_]*(?:{POLITE})*no(?:oo*\b|\b\s*(?:[,.:;!—–-]"
    r"|(?=(?:(?:it|he|she|they)(?:['’]s|\s+is)|wait|sorry|actually|espera|perd[oó]n"
    r"|par[aá]|aguarda|i beg)\b)))(?P<rest>.*)",
    re.I | re.S,
)
ORDERS = {
    "forget": (begins(FORGET),),
    "remember": (begins(REMEMBER),),
    "correct": (_NO, begins(CORRECTIONS)),
}
# What takes more than a memory: the first are said to Keno, the others when an object follows.
_REMINDERS = re.compile(
    r"[\W_]*(?P<polite>(?:(?:please|por favor|can you|could you|would you|puedes|podr[ií]as)\W+)*)"
    r"(?:(?P<english>remind (?:me|us))|set (?:me )?a reminder|recu[eé]rda(?:me|nos)|recordarme"
    r"|av[ií]sa(?:me|nos)|avisarme|hazme acordar|p[oó]n(?:me)? un recordatorio)\b(?P<rest>.*)",
    re.I | re.S,
)
# "Remind me what she said" and "remind me of her name" ask.
_ASKED_BACK = re.compile(
    r"\W*(?:(?:of|de|about|sobre)\s+)?(?:what|who|whose|when|where|which|how|why|if|whether|qué"
    r"|qui[eé]n|cu[aá]ndo|d[oó]nde|c[oó]mo|cu[aá]l|por qué)\b",
    re.I,
)
_REMIND_OF = re.compile(
    r"\W*(?:to|that|about|on|at|in|by|for|before|every|each|tomorrow|tonight|next|this|today|daily"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.I,
)
_REMIND_LINK = re.compile(r"^\W*(?:to|that|about|for|que|de|para)\s+", re.I)
REQUESTS = """make me, give me, tell me a, help me, write me, translate, summarise, summarize,
calculate, look up, escríbeme, redacta, explícame, traduce, calcula, hazme, dame, cuéntame un,
cuéntame una, ayúdame, envíame, mándame"""
OBJECTS = """write, compose, explain, search, draw, send, book, order, buy, resume, escribe,
explica, busca, dibuja, envía, manda, reserva, compra"""
_REQUESTS = begins(REQUESTS)
_OBJECTS = begins(OBJECTS)
# "Send the mail" is said to Keno, "Book club is on Tuesday" is not.
_OBJECT = re.compile(
    r"^\s+(?:for|me|us|a|an|the|this|that|my|un|una|el|la|esto|eso|mi|qué|lo)\b", re.I
)
_PLANS = _holds(PLANS)
_MANNERS = begins(MANNERS)
_FORMULA = begins(FORMULAS)
_TELLS = re.compile(rf"^[\W_]*(?:{_words(TELLS)})\b", re.I)
# A reply longer than this says something besides.
FORMULA_WORDS = 14
# Before the question itself: a clause of so many words may tell something.
CLAUSE_WORDS = 3
_CLAUSE = re.compile(r"[,;:—–]\s+|\s+[-—–]\s+|(?=¿)|\s+(?:and|so|but|y|pero|así que)\s+")
# "/home/tom is full" is not one.
COMMAND = re.compile(r"/[^\W\d]+(?:-\w+)*(?:@\w+)?(?:\s|$)")
# Fingers on the keyboard: "asdfgh".
_MASHED = re.compile(r"\W*(?:asdf|sdfg|dfgh|qwer|hjkl|jkl[ñk]|zxcv|xcvb)\w*\W*", re.I)
# A correction of so many words names a value; a longer one says it all.
FRAGMENT = 3
LINKS = (
    r"is called|is named|lives in|works (?:at|for|as|in)|is on|is at|is|are|was|has|likes|prefers"
    r"|se llama|vive en|trabaja (?:en|como|para)|le gustan?|prefiere|tiene|es|son|está|era"
)
# Where the value of a fact begins: what comes after the last of these can be replaced.
_VALUE = re.compile(rf".*\b(?P<link>{LINKS})\s", re.IGNORECASE)
_PRONOUN = re.compile(
    rf"^(?!el {DAY})"
    r"(?:it's|its|it|he's|she's|he|she|they|that's|that|i meant|el|la|ella|él|eso)\s+"
    r"(?:(?:called|named|llamad[oa])\s+)?",
    re.I,
)
_AFTERWORD = re.compile(r"[\s,(]*(?:typo|oops|sorry|perdón|errata|lapsus)\W*$", re.I)
_NOT_THAT = re.compile(r"(?P<new>[^,]+),?\s+(?:not|y no|no)\s+(?P<old>[^,]+)", re.I)
_THAT_NO = re.compile(r"(?P<old>[^,]+)\s+no\s*,\s*(?P<new>[^,]+)", re.I)
# "It's not Monday, it's Tuesday at nine"; "la entrevista no es a las 3, es a las 4".
_NOT_BUT = re.compile(
    r"(?:.{0,60}?\b)??(?:(?:it['’]?s|it is|is|was|are) not|isn['’]?t|wasn['’]?t"
    r"|no (?:es|era|son|fue)) (?P<old>[^,]{1,60}?),?"
    r" (?:it['’]?s|it is|but|es|era|son|sino(?: que)?) (?P<new>[^,]{1,60})",
    re.I,
)
_LINK = re.compile(rf"^(?P<link>{LINKS})\s+", re.IGNORECASE)
_MERE = {"is", "are", "was", "es", "son", "era", "está"}


@dataclass(frozen=True)
class Intent:
    """What one message wants; several may hold."""

    name: str = "statement"
    # What is to be remembered, forgotten or corrected, in the person's words.
    rest: str = ""
    questions: tuple[str, ...] = ()
    plans: bool = False


def read(text: str) -> Intent:
    line = without_lead_in(written_out(text.strip().replace("’", "'")))
    sentences = [part for part in _SENTENCE.split(line) if part.strip()]
    questions = tuple(part for part in sentences if is_question(part))
    if HELP_ONLY.search(line):
        return Intent("help", questions=questions)
    if (found := listed(line))[0]:
        return Intent(found[0], found[1], questions or (line,))
    if chatter := small_talk(line):
        return Intent(chatter, questions=questions)
    plans = any(_PLANS.search(part) for part in sentences if part not in questions)
    for name, patterns in ORDERS.items():
        told = next((one for pattern in patterns if (one := pattern.match(line))), None)
        if told and not is_question(line):
            rest = told["rest"].strip(" \t\n,:;.-—¡!")
            # "No wait, sorry, Friday" takes back once.
            while name == "correct" and (more := patterns[-1].match(rest)) and more["rest"].strip():
                rest = more["rest"].strip(" \t\n,:;.-—¡!")
            return Intent(name, rest, questions, plans)
    asks_only = bool(sentences) and len(questions) == len(sentences)
    return Intent("question" if asks_only else "statement", "", questions, plans)


def small_talk(text: str) -> str:
    """Return which small talk the whole message is, or nothing; the weightiest of its parts."""
    if not re.search(r"\w", text):
        return "smile" if text.strip() else ""
    parts = [one for one in _CHUNK.split(text) if re.search(r"\w", one)]
    parts = [one for one in parts if one.strip().lower() != "keno"] or parts
    found = [_chatter(one) or _chatter(_STRETCHED.sub(r"\1", one)) for one in parts[:4]]
    if not all(found) or len(parts) > 4:
        return ""
    return min(found, key=list(CHATTER).index, default="")


def _chatter(part: str) -> str:
    return next((name for name, pattern in CHATTER.items() if pattern.match(part)), "")


def listed(text: str) -> tuple[str, str]:
    """Return which list answers it (about_me, about, told_on, planned_on, new) and about whom."""
    line = text.strip().replace("’", "'")
    found = _ABOUT.search(line)
    if found:
        rest = found["rest"].strip(" ,;:")
        return ("about_me", "") if _ME.match(rest) else ("about", rest)
    return next(((name, "") for name, one in _LISTS.items() if one.search(line)), ("", ""))


def to_forget(text: str) -> str:
    """Return what somebody asks to forget, in their words; "last" for what was noted last."""
    intent = read(text)
    if intent.name != "forget" or _EVERYTHING.search(text):
        return ""
    return intent.rest or "last"


def grief(text: str) -> str:
    """Return "death" or "sad" when somebody tells of it, else nothing."""
    if is_question(text) or _WORKS_THERE.search(text):
        return ""
    return "death" if _DEATH.search(text) else "sad" if _SAD.search(text) else ""


def told(text: str) -> list[str]:
    """The sentences that tell something."""
    parts = (part.strip() for part in _SENTENCE.split(text))
    return [words.one_line(part) for part in parts if part and not is_question(part)]


def manners(text: str) -> list[str]:
    """The sentences that tell Keno how to talk: "answer me in French", "sé breve"."""
    parts = (words.one_line(part).rstrip(".! ") for part in _SENTENCE.split(text))
    return [part for part in parts if _MANNERS.match(part) and not is_question(part)]


def mend(fact: str, rest: str, *, latest: bool = True, lately: bool = False) -> str:
    """The fact with another value, when a correction only names that.

    "May, not June" and "Quito no, Lima" replace the value that they name. "No, Marta" replaces the
    last value of the fact that was learned `latest`; "no, Friday" and "no, at 5" the day and the
    hour of one that was learned `lately`, with it.
    """
    line = rescheduling.without_same(words.one_line(rest))
    value = _PRONOUN.sub("", _AFTERWORD.sub("", line).rstrip(".! "))
    for pattern in (_NOT_THAT, _THAT_NO):
        named = pattern.fullmatch(value)
        if named and (mended := _swapped(fact, named["old"], named["new"])):
            return mended
    if named := _NOT_BUT.fullmatch(line.rstrip(".! ")):
        if mended := _swapped(fact, named["old"], named["new"]):
            return mended
        value, lately = named["new"], lately or words.fold(named["old"]) in words.fold(fact)
    times = [one for one in (value, *sentences(value)[:1]) if rescheduling.names_only_times(one)]
    if times:
        return rescheduling.retimed(fact, times[0]) if latest or lately else ""
    if not latest:
        return ""
    head, link = _VALUE.match(fact), _LINK.match(value)
    if head and link and link["link"].lower() not in {*_MERE, head["link"].lower()}:
        return ""
    value = _LINK.sub("", value)
    is_value = 0 < len(value.split()) <= FRAGMENT and words.fold(value) not in words.fold(fact)
    # A long value is more than a name: what part of it is meant nobody knows.
    is_short = bool(head) and len(fact[head.end() :].split()) <= FRAGMENT
    return head[0] + value if is_short and is_value else ""


def _swapped(latest: str, old: str, new: str) -> str:
    """The fact with one word of it replaced, if it holds that word once."""
    # "Rex is 12, not 11".
    if old.isdigit() and len(numbers := re.findall(r"\d+", new)) == 1:
        new = numbers[0]
    found = re.findall(rf"(?<!\w){re.escape(old)}(?!\w)", latest, re.I)
    if len(found) != 1 or len(new.split()) > FRAGMENT:
        return ""
    at_start = latest.startswith(found[0])
    return latest.replace(found[0], new[:1].upper() + new[1:] if at_start else new)


def is_request(text: str) -> bool:
    """Whether something is to be done that takes more than a memory."""
    line = text.strip()
    found = _OBJECTS.match(line)
    return bool(_REQUESTS.match(line) or (found and _OBJECT.match(found["rest"])))


def is_question(text: str) -> bool:
    line = plain(text)
    if reminder(line):
        return False
    asked_back = (found := _REMINDERS.match(line)) and _ASKED_BACK.match(found["rest"])
    is_marked = line.endswith("?") or "¿" in line
    return bool(is_marked or asked_back or asks_plainly(line))


def plain(text: str) -> str:
    """The words as they are read: shorthand written out, without what leads to a question."""
    return without_lead_in(written_out(text.strip()))


def asks_plainly(text: str) -> bool:
    """Whether the words themselves ask, mark or no mark: "whats my wife called"."""
    return asking.probability(plain(text)) >= ASKS


def is_bare(text: str) -> bool:
    """Whether few words may ask for what they name: "passports", "hora insulina mama"."""
    found = words.words(text)
    names_something = any(len(word) > BARE_LETTERS for word in found)
    is_few = 0 < len(found) <= BARE_WORDS and not re.search(r"[\d,.!]", text)
    return is_few and names_something and read(text).name == "statement"


def reminder(text: str) -> str:
    """Return what somebody wants to be reminded of, in their words; the time may come first."""
    line = text.strip()
    found = _REMINDERS.match(line)
    if not found or _ASKED_BACK.match(found["rest"]):
        return ""
    asks = line.endswith("?") and not found["polite"]
    if asks or (found["english"] and not _REMIND_OF.match(found["rest"])):
        return ""
    return _REMIND_LINK.sub("", found["rest"]).strip(" \t\n,:;.-—¡!?¿")


def sentences(text: str) -> list[str]:
    return [one for one in _SENTENCE.split(text.strip()) if one.strip()]


def not_memory(text: str, *, to_keno: bool = True) -> str:
    """Return why a person's words are not memory (command, small_talk, question), or nothing.

    A question that also tells something is memory, and so is one that people ask each other.
    """
    intent = read(text)
    if COMMAND.match(text.strip()) or intent.name == "forget":
        return "command"
    if intent.name in {*CHATTER, "smile", "help"} or _MASHED.fullmatch(text):
        return "small_talk"
    asks = bool(listed(text)[0]) or is_request(text) or all(map(is_question, sentences(text)))
    return "question" if to_keno and asks and not told_in_passing(text) else ""


def told_in_passing(text: str) -> bool:
    """Whether a clause before the question tells something: "I moved to Porto, do you know…?" """
    clauses = [one for one in _CLAUSE.split(text.strip()) if one.strip()][:-1]
    long = [one for one in clauses if len(one.split()) >= CLAUSE_WORDS]
    return any(_TELLS.match(one) and not is_question(one) for one in long)


def is_formula(text: str) -> bool:
    """Whether a reply only agrees, refuses or greets."""
    return len(text.split()) <= FORMULA_WORDS and bool(_FORMULA.match(text))


def language(text: str, *, usual: str = "en") -> str:
    return words.detect_language(text) or (usual if usual in {"en", "es"} else "en")
