"""A question as the built-in provider reads it: whom it is about, and what about."""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property

from memory.extraction import statements
from memory.extraction.grammar import spanish_verbs
from memory.retrieval.understand import without_names
from memory.text import kinship
from memory.text import normalise as words

# What frames a question and is not what it is about.
FRAME = frozenset(
    words.fold(
        """remember recall know tell remind told say said recuerdas acuerdas sabes dime dije conte
        what what's which who whom whose where when why how does did do is are was were have has had
        can could will would should my mine your our me we i you it its that this there thing kind
        type name called named call many much long old often the a an of for from at in on with and
        or to by as que quien cual cuales donde cuando como cuanto cuantos cuanta cuantas por para
        llama llaman llamo se es son era fue hay tiene tengo tienes mi mis tu tus nuestro nuestra su
        sus me te le nos now ahora today hoy about sobre anything algo nada use uses go goes going
        get gets got be been being make made any el la los las un una de del al en y o con years
        anos please favor want wants quiero quiere ever day dia tell voy vas va vamos van ir iba
        iremos fuimos hace hago haces hacen hacer dedica dedico dedicas esta estan estoy estas ser
        quien quienes living remind recuerda people someone anyone alguien again
        whats whos wheres whens hows dont doesnt didnt tenia tenias tenemos teniamos tuve queria
        queriamos days dias don't doesn't didn't isn't aren't wasn't can't
        adonde desde aca aqui here since edad puedo puede puedes podemos pueden age"""
    ).split()
)
MINE = re.compile(r"\b(?:i|i'm|me|my|mine|myself|yo|mi|mis|m[ií]o|m[ií]a|soy|estoy)\b", re.I)
_ASKING = (
    "what",
    "whats",
    "where",
    "when",
    "which",
    "who",
    "how",
    "donde",
    "cuando",
    "quien",
    "cual",
)
# "Where do I live?" is about whoever asks and nobody else; "where is my dog?" is not.
I_OR_ME = re.compile(r"\b(?:i|i'm|i've|me|yo)\b", re.I)
_MY = re.compile(r"\b(?:my|mi|mis|our|nuestr[oa]s?)\b", re.I)
_US = re.compile(r"\b(?:we|our|us|nuestr[oa]s?|nosotr[oa]s|\w+[aei]mos)\b")
# Forms of the first person that are mostly other words.
_NOT_VERBS = frozenset("como sobre bajo caso uso rio gusto creo entre cuando".split())
_BEFORE_NOUN = frozenset("el un mi tu su del al de este ese otro cada".split())
# "How do I fix it?" is not about whoever asks.
HOW_TO = re.compile(
    r"^\W*(?:how (?:do|can|should|did) (?:i|we)|como (?:puedo|hago|se arregl|arregl|solucion))"
)
# Questions whose answer has a frame of its own: "I moved to Bristol for work" is not an employer.
_FRAMES = (
    (re.compile(r"\b(?:where|which (?:city|town|country)|donde|en que (?:ciudad|pais))\b.*"
                r"\b(?:live[sd]?|living|viv(?:o|e|es|en|imos|iendo))\b"
                r"|^\W*en que (?:ciudad|pais|pueblo) esta\b"), {"home"}),
    (re.compile(r"\b(?:where|who|what|donde|para quien|en que|de que)\b.*"
                r"\b(?:work(?:s|ing)?|trabaj(?:o|a|as|an|amos|ando)|chambe(?:o|a)|labur(?:o|a)|job"
                r"|profession|for a living)\b|\b(?:mi|su|tu) (?:profesion|oficio|trabajo)\b"),
     {"employer", "job"}),
    (re.compile(r"^\W*what do(?:es)? (?:i|[\w' ]+) do(?: for (?:work|money|a job))?\W*$"
                r"|^\W*a que (?:me|te|se) dedic\w+"), {"employer", "job"}),
    (re.compile(r"\b(?:my|our) (?:home )?address\b|\b(?:mi|nuestra) direccion\b(?! de correo)"),
     {"home"}),
)  # fmt: skip
# What such a question calls it, and the answer does not: "which town do I live in?".
_FRAME_WORDS = frozenset(
    """town city country place village job profession work works company employer ciudad pais pueblo
    lugar trabajo trabaja profesion empresa oficio chambeo chambea laburo labura""".split()
)
ASKED_OF = re.compile(r"\b(?:does|did|is|was|has|can|will)\s+(?P<name>[a-z]{2,})\b")
SENTENCE_START = re.compile(r"(?:^|[.!?¿¡:]\s*)\W*\w+")
NAME = re.compile(r"(?<![\w'’])[A-ZÀ-Ý][\wà-ÿ-]+")
# What a number stands for without saying so: "Tom's phone is 600 123 456".
_NUMBERS = frozenset("number numero".split())
_PHONES = frozenset("phone mobile cell telefono movil celular".split())
_PHONE_NUMBER = re.compile(r"\b(?:number|numero|número)\b.{0,12}?\d(?:[ -]?\d){7,}", re.I)
# "What position does she play?" asks for a position; a name, an hour or a number says so itself.
_FOCUS = re.compile(
    r"\b(?:what|which|whats|que|cual|de que|en que|a que) (?:the |is the |es el |es la |son los "
    r"|(?:sort|kind|type) of |kinda |(?:tipo|clase) de )?(?P<noun>[a-z]{3,})\b(?!')"
)
# "Where did I put the passport?" is answered by where it is.
_ASKS_WHERE = re.compile(r"^\W*(?:where|wheres|a?donde)\b")
_PUT = frozenset(
    """put left leave keep kept store stored hide hid guarde guardo guardamos deje dejo dejamos puse
    pongo metimos meti tengo tenemos esta estan""".split()
)
_NOUNS_TOO = frozenset("marca toma pesca compra visita cuenta cocina musica".split())
_NOT_FOCUS = FRAME | frozenset(
    words.fold(
        """sort time date year month hora fecha lo toca pasa happened am they tipo clase
        dijo dije haces"""
    ).split()
)
_ASKS_OWN_NAME = re.compile(
    r"^\W*(?:(?:and|so|ok|y|a ver)\W+)*(?:what(?:'s| is|s) my name|who am i|como me llamo"
    r"|cual es mi nombre|quien soy)(?: (?:then|again|entonces|yo))?\W*$"
)
# "Our son, Antek"; "mi hermana se llama Lucía".
_HAS_KIN = re.compile(
    r"\b(?i:my|our|one|an?|mi|nuestr[oa]|un|una) (?P<kin>\w+)"
    r"(?:,| is| called| named| es| se llama)? (?P<name>[A-ZÀ-Ý][\w'’-]+)"
)
# Who is meant by a word for several.
_SEVERAL = {
    "mother father": "parents padres", "brother sister": "siblings hermanos",
    "son daughter": "children kids hijos", "dog cat": "pets mascotas",
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A question: whom it is about, what about, and what kind of answer it wants."""

    text: str
    person: str = ""
    # First names, folded, of those who speak or are spoken of in what was recalled.
    known: frozenset[str] = frozenset()
    # First names, folded, that stand inside of its sentences: "two kids, Leo and Anya".
    named: frozenset[str] = frozenset()

    @cached_property
    def folded(self) -> str:
        return words.fold(self.text)

    @cached_property
    def names(self) -> set[str]:
        """Whom it names: what is written as a name, or known as one, or stands where one does."""
        first = SENTENCE_START.match(self.text)
        written = {words.fold(one[0].removesuffix("'s")) for one in NAME.finditer(self.text)
                   if not first or one.start() >= first.end()}  # fmt: skip
        listed = bare_names(self.folded)
        stands = {one["name"] for one in ASKED_OF.finditer(self.folded)} - FRAME
        known = self.known | self.named
        stands = {one for one in stands if one in known}
        return {one for one in written | (listed & known) | stands if one not in FRAME}

    @cached_property
    def is_mine(self) -> bool:
        is_told = bool(MINE.search(self.text)) or self._has_first_verb
        return is_told and not HOW_TO.match(self.folded)

    @property
    def is_about_us(self) -> bool:
        return bool(_US.search(self.folded))

    @cached_property
    def is_of_me_alone(self) -> bool:
        """About whoever asks, not about somebody or something of theirs."""
        is_told = bool(I_OR_ME.search(self.text)) or self._has_first_verb
        return self.is_mine and is_told and not _MY.search(self.text) and not self.kin

    @cached_property
    def _has_first_verb(self) -> bool:
        """ "¿Dónde trabajo?" says "I" by the verb alone."""
        if words.detect_language(self.text) != "es":
            return False
        said = words.words(self.text.lower())
        pairs = zip(["", *said], said, strict=False)
        return any(
            bool(spanish_verbs.first_person(word)) and words.fold(word) not in _NOT_VERBS
            for before, word in pairs
            if before not in _BEFORE_NOUN
        )

    @cached_property
    def bare(self) -> str:
        return without_names(self.text, sorted(self.names))

    @cached_property
    def statement(self) -> statements.Statement:
        return statements.Statement.of(self.text)

    @cached_property
    def kin(self) -> set[str]:
        """People and animals that it asks about: nobody else can stand for them."""
        asked = {one for one in self.statement.concepts if statements.kind(one) == "kin"}
        return asked | _members(self.statement.words)

    @cached_property
    def topics(self) -> list[tuple[set[str], set[str]]]:
        """What it is about: each word as its stems and what it stands for."""
        spoken = self.statement
        standing = {place: several for place, _size, several in spoken.labels}
        about = [(n, word) for n, word in enumerate(spoken.words) if not self._is_frame(n, word)]
        # Somebody's name is looked at apart; a place or a thing is what it is about.
        people = self.names & self.known
        about = [(n, word) for n, word in about if len(word) > 2 and word not in people]
        # Where the frame is known, it says what is asked for.
        if self.frames:
            bare = {one for name in self.names for one in (name, f"{name}'s", f"{name}s")}
            about = [(n, word) for n, word in about if word not in _FRAME_WORDS | bare]
        if _ASKS_WHERE.match(self.folded):
            about = [(n, word) for n, word in about if word not in _PUT]
        return [
            (statements.stems(word), standing.get(n, set()) | _members([word])) for n, word in about
        ]

    @staticmethod
    def _is_frame(place: int, word: str) -> bool:
        """Also a question word with two letters swapped, at the beginning: "waht is my job?"."""
        typed = place == 0 and any(sorted(word) == sorted(one) for one in _ASKING)
        return word in FRAME or typed

    def covers(self, said: statements.Statement, *, also: Set[str] = frozenset()) -> float:
        """The share of what it is about that the words have; `also` is what they stand for."""
        has_phone = bool(_PHONE_NUMBER.search(said.text))
        held = [
            bool(roots & said.forms or labels & (said.concepts | also))
            or bool(roots & _NUMBERS and said.quantities.numbers)
            or bool(has_phone and roots & _PHONES)
            for roots, labels in self.topics
        ]
        return sum(held) / len(held) if held else 0.5

    def covers_all(self, said: str) -> bool:
        return not self.topics or self.covers(statements.Statement.of(said)) == 1

    @cached_property
    def asks_own_name(self) -> bool:
        return bool(_ASKS_OWN_NAME.match(self.folded))

    @cached_property
    def focus(self) -> str:
        """The noun that an answer has or is: "position" of "what position does she play?"."""
        nouns = (found["noun"] for found in _FOCUS.finditer(self.folded))
        return next((noun for noun in nouns if noun not in _NOT_FOCUS), "")

    @cached_property
    def has_noun(self) -> bool:
        """Whether an answer lacks something without that noun: "¿en qué anda?" asks for none."""
        if not self.focus or self.focus in FRAME | {"ano"}:
            return False
        if self.frames and self.focus in _FRAME_WORDS:
            return False
        is_verb = spanish_verbs.is_third(self.focus) and words.detect_language(self.text) == "es"
        return not is_verb or self.focus in _NOUNS_TOO

    @cached_property
    def frames(self) -> set[str]:
        """The frames of what it asks for, where that is known: where somebody lives or works."""
        asked = (keys for asks, keys in _FRAMES if asks.search(self.folded))
        return next(asked, set())


def asked_by_kin(question: str, told: str) -> str:
    """The question after Antek as one after "my son", where the asker told "our son, Antek"."""
    named = [one for one in _HAS_KIN.finditer(told) if kinship.kin(one["kin"])]
    for one in named:
        same = {other["name"] for other in named if other["kin"] == one["kin"]}
        name = rf"\b{re.escape(one['name'])}\b(?P<of>['’]?s\b)?"
        # Of two sisters "my sister" is neither.
        if len(same) == 1 and re.search(name, question):
            my = "mi" if words.detect_language(one[0]) == "es" else "my"
            return re.sub(name, rf"{my} {one['kin']}\g<of>", question)
    return ""


def bare_names(folded: str) -> set[str]:
    """The words, also without the ending of whom something belongs to: "niko's", "nikos"."""
    said = set(words.words(folded))
    return {word.removesuffix("'s") for word in said} | {
        word[:-1] for word in said if word.endswith("s") and len(word) > 3
    }


def _members(said: Iterable[str]) -> set[str]:
    """What the concepts call those whom a word for several means: "parents"."""
    meant = [one for one, several in _SEVERAL.items() if set(several.split()) & set(said)]
    known = statements.concepts()
    return {label for one in meant for word in one.split() for label in known.of(word)}
