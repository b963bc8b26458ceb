"""Make text from people and programs storable, comparable and countable."""

import hashlib
import re
import threading
import unicodedata
from collections.abc import Collection
from functools import lru_cache

import snowballstemmer

MAX_LENGTH = 32768


def _listed(block: str) -> frozenset[str]:
    return frozenset(block.split())


_EN = """
a about above after again all almost also although always am an and any are aren't as at be
because been before being below between both but by can can't cannot could couldn't did didn't
do does doesn't doing don't done down during each either else enough etc even ever every few for
from further get gets getting give go goes going gonna got had hadn't has hasn't have haven't
having he he'd he'll he's her here here's hers herself him himself his how how's however i i'd
i'll i'm i've if in into is isn't it it's its itself just let let's like lot made make many may
maybe me might mine more most much must my myself need never no nor not now of off often ok okay
on once one only or other our ours ourselves out over own please quite rather really same say
says shall she she'd she'll she's should shouldn't since so some something still such sure take
tell than thanks that that's the their theirs them themselves then there there's these they
they'd they'll they're they've thing things this those though through to too under until up upon
us use used very was wasn't way we we'd we'll we're we've well were weren't what what's when
when's where where's which while who who's whom whose why will with without won't would wouldn't
yes yet you you'd you'll you're you've your yours yourself yourselves
"""
_ES = """
a acá ahí al algo alguien algún alguna algunas alguno algunos allá allí ambos ante antes aquel
aquella aquellas aquello aquellos aquí así aún aunque bajo bastante bien cada casi como cómo con
conmigo contigo contra cual cuál cuales cuáles cualquier cuando cuándo cuanto cuánto cuya cuyo
da dar de debe deben debo del dentro desde después di dice dicen digo donde dónde dos durante e
él el ella ellas ello ellos embargo en entonces entre era eran eras eres es esa esas ese eso
esos esta está están estaba estaban estado estamos estar estas estás este esto estos estoy etc
fue fueron fui gracias ha había habían haber hace hacer hacia hago han has hasta hay he hemos
hola hoy incluso jamás junto la las le les lo los luego mas más me mejor menos mi mí mía mías
mientras mío míos mis misma mismas mismo mismos mucha muchas mucho muchos muy nada nadie ni
ningún ninguna ninguno no nos nosotras nosotros nuestra nuestras nuestro nuestros nunca o os
otra otras otro otros para pero poca poco pocos podemos poder podría por porque porqué pues
puede pueden puedes puedo que qué quien quién quienes quiere quieres quiero quizá quizás sabe se
sea según ser será si sí sido siempre sin sino sobre sois solamente solo sólo somos son soy su
sus suya suyo tal también tampoco tan tanta tanto te tengo ti tiene tienen tienes toda todas
todavía todo todos tras tu tú tus tuya tuyo u un una unas uno unos usted ustedes va vamos van
vas ver vez vosotros voy y ya yo
"""
STOP_WORDS = {"en": _listed(_EN), "es": _listed(_ES)}


# Words of both languages, or of a third one as well, say nothing about the language.
_SHARED = (STOP_WORDS["en"] & STOP_WORDS["es"]) | _listed("in an so do am os u e da me")
TELLTALE = {
    "en": (STOP_WORDS["en"] - _SHARED)
    | _listed(
        """
        prefer prefers love loves hate work works live lives want wants name favourite
        favorite remember friend user new today yesterday time
        """
    ),
    "es": (STOP_WORDS["es"] - _SHARED)
    | _listed(
        """
        prefiero prefiere llamo llama vivo vive trabajo trabaja gusta gustan encanta odio
        odia recuerda nombre favorita favorito usuario amigo amiga nuevo nueva ayer mañana
        buenos buenas días tarde noche año años hijo hija
        """
    ),
    # Neighbours that would otherwise pass for one of the two.
    "": _listed(
        """
        não você uma umas uns isso meu minha seu sua dos das pelo pela são obrigado obrigada
        je il elle nous vous ils des une est et dans pas avec pour mais sur c'est j'ai mon
        ma être où ich du er sie wir ihr der die das und nicht ist ein eine einen auf für
        mit von zu wie habe bin auch dem den gli che è sono non per ho mia mio anche della
        nel questo ik je het een niet voor van zijn maar ook em eu
        """
    )
    - STOP_WORDS["es"]
    - STOP_WORDS["en"],
}


# The point behind these ends no sentence.
TITLES = ("Dr", "Dra", "Sr", "Sra", "Srta", "Mr", "Mrs", "Ms", "St", "Ing", "Lic")


# After these a word names a thing: what a tag may be.
BEFORE_NOUN = _listed(
    """
    the a an my our your his her their this that these those some any every each of in on at for
    with from about by into el la los las un una unos unas mi mis tu tus su sus nuestro nuestra
    nuestros nuestras este esta estos estas ese esa esos esas cada de del al en con por para sobre
    otro otra
    """
)


# They name nothing in particular, or how something is and not what.
VAGUE = _listed(
    """
    thing things stuff lot lots bit kind sort way time times day days week weeks weekend month
    months year years today tomorrow yesterday tonight morning evening afternoon night nights
    moment while one ones someone everyone anyone everything anything nothing something people
    person guy guys man woman folks rest part end start point case side place idea question
    answer reason number couple few little big new old good great nice best last next first
    second third other same whole long short right left sure amazing awesome cool fun love
    lovely beautiful perfect happy sad glad proud sorry thank thanks keno know think feel look
    looking looks make making made want wanted need needed keep kept went come came coming going
    gone tell told said talk talking hear heard see seen saw try trying tried work works working
    help helps hope wish guess mind matter sense deal stop start started happen happened really
    actually maybe always never still even ever just yet too also then here there back monday
    tuesday wednesday thursday friday saturday sunday january february march april june july
    august september october november december hour hours minute minutes later early soon
    different recently finished finally together extra special important interesting hard easy
    half two three four five six seven eight nine ten hundred thousand error somewhere anywhere
    nowhere cosa cosas tipo vez veces
    rato día dias semana semanas fin mes meses año años hoy mañana ayer noche noches tarde
    tardes momento gente persona personas alguien nadie algo nada todo parte lado lugar idea
    pregunta respuesta razón número par poco mucho bien mal mejor peor nuevo nueva nuevos nuevas
    viejo vieja bueno buena buen gran grande pequeño último última primer primero primera
    segundo próximo siguiente otro otra mismo misma verdad vida mundo favor culpa ganas caso
    tema forma manera medio mitad resto único lunes martes miércoles jueves viernes sábado
    domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
    diciembre hora horas minuto minutos luego pronto temprano dos tres cuatro cinco seis siete
    ocho nueve diez cien mil creo sabes digo dijo dice hacer hecho decir saber tener poder ir
    venir dar ver querer
    """
)


def _class_of(category_prefix: str, *spans: tuple[int, int]) -> str:
    """Return the code points of these spans in the category, for a regex character class."""
    codes = [c for low, high in spans for c in range(low, high)]
    return "".join(
        chr(c) for c in codes if unicodedata.category(chr(c)).startswith(category_prefix)
    )


_MARKS = _class_of("M", (0x300, 0x3100), (0xA800, 0xAC00), (0xFE20, 0xFE30))


# One character is one word in scripts that write without spaces.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


# Postgres refuses NUL and lone surrogates; the other controls break terminals, JSON logs and XML.
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?|\x85|\u2028|\u2029")


# Canonical ordering is quadratic in a run of marks (zalgo): the stream-safe form of UAX 15 breaks
# a run after 30 with an invisible joiner.
_STACKED = f"[{_MARKS}]".replace("\u034f", "")
_LONG_MARKS = re.compile(f"({_STACKED}{{30}})(?={_STACKED})")
_ACCENTS = re.compile("[\u0300-\u036f]")
_SPACES = re.compile(r"\s+")
_LIST_MARKS = re.compile(r"(?:(?:#{1,6}|[-*+•]|>(?!\s*\d))(?:\s+|$))+")
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_QUOTES = re.compile("[\"“”„«»‘`´]|'(?!\\w)|(?<!\\w)'|(?<=\\s)-(?=\\s)")


# Between two word characters a point is part of the word ("3.5", "node.js"); elsewhere it is not.
_STOPS = re.compile(r"[.,;:!?¡¿…()\[\]{}]+(?!\w)|(?<!\w)[.,;:!?¡¿…()\[\]{}]+")
_WORD = re.compile(
    f"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}])[^\\W_])(?:(?![{_IDEOGRAPHS}])[^\\W_]|[{_MARKS}]|['’](?=[^\\W_]))*"
)
_ENDING = {
    "es": re.compile(r"\w(?:ción|ciones|dad|mente|ando|iendo)$|[ñáíóú]"),
    "en": re.compile(r"\w\w(?:ing|tion|ness|n't|ly)$"),
}


def clean(text: str, *, limit: int | None = MAX_LENGTH) -> str:
    """Return the text as it may be stored: NFC, no controls, at most `limit` characters."""
    if text.isascii() and text.isprintable():
        return text[:limit]
    text = _UNSTORABLE.sub("", _LINE_ENDS.sub("\n", text[:limit]))
    return _break_marks(unicodedata.normalize("NFC", _break_marks(text)))[:limit]


def _break_marks(text: str) -> str:
    return _LONG_MARKS.sub("\\1\u034f", text)


def one_line(text: str) -> str:
    """Return one line, without the marks of a heading, a list item or a quote."""
    line = _SPACES.sub(" ", clean(text, limit=None)).strip()
    return _LIST_MARKS.sub("", line, count=1) if _LIST_MARKS.match(line) else line


def fold(text: str) -> str:
    """Return the text in lower case without accents: "Árbol" becomes "arbol"."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFD", clean(text, limit=None).lower())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


def as_sentence(said: str) -> str:
    """Return the words on one line, ended as a sentence ends."""
    line = one_line(said)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def loose_pattern(name: str) -> str:
    """Return a regular expression for the words with accents or without them."""
    accented = "aáàâäã cç eéèêë iíìîï nñ oóòôöõ uúùûü".split()
    forms = {signs[0]: f"[{signs}]" for signs in accented}
    return "".join(forms.get(sign, re.escape(sign)) for sign in fold(name))


def normalise(text: str) -> str:
    """Return the same form for texts that say the same; never empty for non-empty text."""
    wide = unicodedata.normalize("NFKC", clean(text, limit=None)).casefold().replace("’", "'")
    bare = _QUOTES.sub(" ", _DASHES.sub("-", _IGNORABLE.sub("", wide)))
    return _SPACES.sub(" ", _STOPS.sub(" ", bare)).strip() or wide.strip() or ascii(text)[1:-1]


def said_key(text: str) -> str:
    """Return a digest that is the same for texts that say the same."""
    return hashlib.sha256(normalise(text).encode("utf-8")).hexdigest()


def words(text: str) -> list[str]:
    """Return the lower-case words of any script; "don't" is one, "node.js" two."""
    return [word.replace("’", "'") for word in _WORD.findall(clean(text, limit=None).lower())]


def folded_words(text: str) -> list[str]:
    return words(fold(text))


_stemmers = threading.local()  # a stemmer keeps its state in itself


@lru_cache(maxsize=65536)
def stem(word: str, language: str) -> str:
    """Return the word's stem; the word itself in other languages than English and Spanish."""
    name = {"en": "english", "es": "spanish"}.get(language)
    if not name:
        return word
    if not hasattr(_stemmers, name):
        setattr(_stemmers, name, snowballstemmer.stemmer(name))
    return getattr(_stemmers, name).stemWord(word)


def stems(text: str) -> set[str]:
    """Stems of the words that carry meaning, the same whichever language the text turns out to be.

    Through both stemmers: short texts are too short to tell their language reliably.
    """
    return {root for word in words(text) if (root := _root(word))}


@lru_cache(maxsize=65536)
def _root(word: str) -> str:
    """Return the word's root; empty for a stop word."""
    if any(word in stop for stop in STOP_WORDS.values()):
        return ""
    return stem(stem(fold(word), "en"), "es")


def detect_language(text: str) -> str:
    """Return en or es by common words and endings; empty when neither is likely."""
    tokens = words(text[:2000])[:200]
    scores = {
        lang: float(sum(w in vocabulary for w in tokens)) for lang, vocabulary in TELLTALE.items()
    }
    for lang, ending in _ENDING.items():
        scores[lang] += 0.4 * sum(bool(ending.search(w)) for w in tokens)
    scores["es"] += 2 * any(char in text[:2000] for char in "¿¡")
    best = max(("en", "es"), key=lambda lang: scores[lang])
    other = max(score for lang, score in scores.items() if lang != best)
    return best if scores[best] > other else ""


def jaccard(a: str | Collection[str], b: str | Collection[str]) -> float:
    """Return shared words over all words, 0..1; 0 for two empty texts."""
    left, right = (set(words(x)) if isinstance(x, str) else set(x) for x in (a, b))
    return len(left & right) / len(left | right) if left | right else 0.0


def short(text: str, n: int) -> str:
    """Return one line of at most n characters, cut between words where that loses little."""
    line = _SPACES.sub(" ", text).strip()
    if len(line) <= n:
        return line
    cut = line[: max(n - 1, 0)]
    head = cut.rsplit(" ", 1)[0] if line[len(cut) : len(cut) + 1] != " " else cut
    return ((head if len(head) > n * 0.6 else cut).rstrip(" ,;:.-") + "…")[:n]


def token_estimate(text: str) -> int:
    """Estimate the tokens: four bytes each, which also fits accents, Cyrillic and CJK."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
