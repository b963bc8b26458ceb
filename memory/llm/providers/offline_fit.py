"""Whether words hold what a question asks for, for the built-in provider."""

import re

from memory.calendar.words import ANY_MONTH, MONTH, MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from memory.extraction import edges, statements
from memory.extraction.frames.reading import frames_of
from memory.extraction.grammar.sentences import Sentence
from memory.extraction.rescheduling import DAY
from memory.extraction.subjects import small_name
from memory.llm.providers.offline_questions import (
    ASKED_OF,
    FRAME,
    HOW_TO,
    I_OR_ME,
    MINE,
    NAME,
    SENTENCE_START,
    Asked,
)
from memory.retrieval.understand import asks_when, says_when
from memory.text import kinship
from memory.text import normalise as words
from memory.text.shorthand import written_out
from memory.vectors import likeness as meaning
from memory.vectors.graphs import word_vectors

_IM = re.compile(r"\b(?:im|ive|id|ill)\b")
_OF_ME = re.compile(r"\b(?:i|i'm|im|ive|my|mine|me|yo|mi|mis|you|your|tu|tus)\b")
_NO_OWNERS = frozenset("this its always sometimes was has does yes less various".split())
_SOLVES = re.compile(
    r"\b(?:fix|solv|works? (?:now|again)|instead|must|want|arregl|solucion|hay que)"
)
_COST = re.compile(
    r"\b(?:how much|cost|price|what did (?:i|we|he|she|they|you) pay|precio"
    r"|cuanto (?:(?:me|te|le|nos|les) )?(?:cost|vale|cuesta|pag|compr|vend|cobr|sali))"
)
_WHAT_DOES = re.compile(
    r"\b(?:for a living|job|profession|what do(?:es)? [\w' ]+ do|dedic\w+|profesion|oficio"
    r"|que hac(?:e|es|en|o)|de que trabaj\w+|en que trabaj\w+)\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|to(?! \d)|from|on|near|with|under|behind|by|inside|en|al|cerca|con"
    r"|a (?:la|las|los|casa|mi|tu|su|un|una)"
    r"|debajo|detras|encima|dentro|junto|por(?! (?:fin|cierto|favor|suerte)))\b"
)
# "In the square of technology" does not tell where somebody is from.
_ASKS_FROM = re.compile(
    r"\bwhere (?:is|are|am|was|were|do|does)\b.* from\b"
    r"|\bde donde (?:es|son|soy|eres|era|vien\w+)\b"
)
_FROM = re.compile(
    r"\b(?:from|born|grew up|originally|naci\w*|natural de|criad[oa]"
    r"|(?:soy|es|eres|son|somos|era|vien\w+|veng\w+|llega\w*) (?:\w+ )?del?)\b"
    r"|(?:^|,) ?del? \w|^\w+$"
)
# What is asked for, by the words of the question -> what an answer holds.
_TYPES = (
    (re.compile(r"\b(?:where|donde|adonde|which (?:city|town|country)|que (?:ciudad|pais))\b"),
     _PLACE),
    (_WHAT_DOES,
     re.compile(r"(?:\b(?:is|was|am|are|as|being|become|becoming|im|hes|shes)|'s|'m|'re) an?\b"
                r"|\b(?:works?|working|job|teach\w*|runs? (?:an?|the|his|her|their|my)|stud\w+"
                r"|es|soy|eres|trabaj\w+|labur\w+|estudi\w+|dedic\w+)\b")),
)  # fmt: skip
# "My sister's boyfriend is called Theo" does not tell what he does.
_NAMES = re.compile(r"\b(?:called|named|name is|name's|se llaman?|me llamo|nombre es)\b")
_MARRIES = re.compile(
    r"\b(?:married|engaged) to (?!an?\b|the\b)\w|\bcasad[oa] con (?!un|el\b|la\b)\w"
)
# "Marc is Ana's husband", which "Marc is not my partner" does not tell.
_IS_SOMEBODYS = re.compile(
    r"\W*[A-ZÀ-Ý]\w+ (?:is|es) (?:my\b|our\b|mi\b|nuestr[oa]\b|[A-ZÀ-Ý]\w+['’]s |(?:el|la) \w+ de )"
)
_DENIES = re.compile(r"\b(?:is|was) not\b|\b(?:is|was)n['’]?t\b|\bno (?:es|era)\b")
# "Is the dentist on Tuesday?" is answered by another day.
_ASKS_WHETHER = re.compile(
    r"\W*(?:is|are|do|does|did|was|were|will|can|have|has|es|esta|tengo|voy)\b"
)
_DAYS = re.compile(r"\b(?:what|which|que|cuales) (?:days?|dias?)\b")
_A_DAY = re.compile(
    rf"\b(?:{DAY}|weekends?|fin(?:es)? de semana|findes?|every day|todos los dias|today|tomorrow"
    r"|hoy|manana|(?:the|el) \d{1,2}(?:st|nd|rd|th)?\b)",
    re.I,
)
_WHERE = {"home", "employer", "job"}
# "What do I like?" is not answered by what I hate.
_DISLIKES = re.compile(
    r"\b(?:hate[sd]?|dislike[sd]?|detest\w*|loathe[sd]?|(?:can'?t|cannot) (?:stand|eat)"
    r"|(?:not|dont|doesnt) (?:like|love|enjoy)|odi(?:o|a|as|an|amos)"
    r"|no (?:(?:me|te|le|les|nos) (?:gusta|encanta)\w*|soport\w+|aguant\w+"
    r"|(?:puedo|puede|debo|debe) comer|com[oe] ))\b|n't (?:\w+ )?(?:like|love|enjoy|stand)\b"
)
_LIKES = re.compile(
    r"\b(?:likes?|loves?|enjoys?|prefers?|favou?rite|gusta\w*|encanta\w*|prefier\w+|favorit[oa]s?)\b"
)
_PREPOSITION = frozenset(
    "in at on with to for from by of about as near en con de del por para sobre como".split()
)
_WH = re.compile(r"\b(?:where|what|which|who|whose|donde|que|cual|cuales|quien|quienes)\b")
_PAST = re.compile(
    r"\b(?:was|were|used to|before|era|eran|fue|antes|trabajaba|vivia|tenia|hacia)\b"
)
_NOT = re.compile(r"\b(?:not?|never|n't|nunca|jamas|sin|without|hate|dislike|odi\w+)\b|n't\b")
_NO_NAME = re.compile(r"\w+(?:ing|ed|ly)|still|allergic|left|due|next")
# "We have a girl, Lia" tells no age.
_AGE = re.compile(r"\b(?:how old|que edad|cuantos anos|cuantos meses)\b")
_YEARS = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w{3,}ty|dos|tres"
    r"|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|trece|catorce|quince|dieci\w+|veint\w+|\w+enta)\b"
)
_MONEY = re.compile(
    rf"{_YEARS.pattern}|[$€£]|\b(?:free|gratis|hundred|thousand|grand|quid|bucks|fiver|tenner"
    r"|cien\w*|mil|\w+cient[oa]s|pavos|lucas)\b"
)
_AGED = re.compile(
    rf"(?:\b(?:is|are|am|im|turn(?:s|ed|ing)?|aged?|tiene|tengo|tienen|cumpl\w+)|'s|'m|'re) "
    rf"(?:now |about |nearly |almost |casi |ya |only |just )*(?:{_YEARS.pattern})"
    rf"|(?:{_YEARS.pattern})[- ](?:years?|yrs?|months?|weeks?|anos?|meses)\b"
)
# "With 3 others" tells no age either.
_OF_OTHERS = re.compile(
    r"\b\w+ (?:others?|people|kids|children|of (?:us|them)|personas|hijos|mas)\b"
)
# A date is neither an age nor a price.
_DATED = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of |de )?{ANY_MONTH}\b(?:,? (?:at )?\d{{1,2}}[.:]\d\d\b)?"
    rf"|\b{ANY_MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b"
)
_NTH = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)\b")
_MANY = re.compile(r"\b(how many|how much|how old|how often|cuant[oa]s?|que edad|cuantas veces)\b")
_NUMBER = re.compile(
    r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|once|twice|un|una|dos|tres|cuatro|cinco|"
    r"seis|siete|ocho|nueve|diez|both|ambos|several|varios|no tengo|none|every)\b"
)
_ASKS_PHONE = re.compile(
    r"\b(?:phone|mobile|cell) number\b|\bnumero de (?:telefono|movil|celular)\b"
    r"|\b(?:telefono|movil|celular) (?:de|del)\b|\b(?:mi|mis) (?:telefono|movil|celular)\b"
)
_LONG_NUMBER = re.compile(r"\d(?:[ .-]?\d){5,}")
# "In December" does not tell at what time.
_ASKS_HOUR = re.compile(r"\b(?:what time|a que hora)\b")
_HOUR = re.compile(
    r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm|h|hrs?|o'?clock)\b"
    r"|\b(?:at|by|from|till?|until|before|after|around|a las?|las) "
    r"(?:about )?(?:\d{1,2}|half|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)\b"
    r"|\b(?:noon|midnight|morning|afternoon|evening|night|mediodia|medianoche|manana|tarde|noche)\b"
)
# "Since I moved" does not tell for how long.
_LASTS = re.compile(r"\b(?:how long|since when|desde cuando|cuanto tiempo|hace cuanto)\b")
_UNIT = (
    r"(?:years?|yrs?|months?|weeks?|days?|hours?|hrs?|minutes?|mins?|nights?|decades?|anos?|mes(?:es)?"
    r"|semanas?|dias?|horas?|minutos?|noches?|decadas?|semestres?)"
)
_SPAN = re.compile(
    rf"\b{_UNIT}\b|^\W*(?:{_NUMBER.pattern})\W*$|\b(?:in|en) (?:{MONTH}|\d{{4}})\b"
    rf"|\b(?:since|desde)\b(?=.{{0,20}}(?:\d|\b{MONTH}|\b(?:year|ano|summer|winter|school|child|kid"
    r"|nin[oa]|chic[oa]|pequen[oa])))"
    r"|\b(?:until|till|hasta|forever|always|siempre|toda la vida|all my life)\b"
)
# "Where is the code?" asks for no digits.
_ASKS_CODE = re.compile(
    r"^(?!\W*(?:a?donde|where|when|cuando|who|quien)\b).*"
    r"\b(?:code|pin(?! (?:that|which|of|from|my|for the))|combination|plate|rego|codigo|matricula"
    r"|placa|patente)\b(?! (?:in|with|en)\b)"
)
# A date is no birthday.
_ASKS_BIRTHDAY = re.compile(
    r"\b(?:when|what day|cuando|que dia)\b.*\b(?:birthday|bday|born|cumple\w*|naci\w*)\b"
)
_BIRTHDAY_OF = re.compile(
    r"(?i:cumple\w*|birthday) (?:de|of) (?P<a>(?!(?:la|el|mi|my|the)\b)\w+)"
    r"|(?P<b>[\w-]+)['’]s (?i:birthday|bday)"
)
_OWN_BIRTHDAY = re.compile(
    r"\bmy (?:birthday|bday)\b|\bwas i born\b|\bmi cumple\w*|\bcumplo\b|\bnaci\b"
)
_BIRTHDAY = re.compile(r"\b(?:birthday|bday|born|turn(?:s|ed|ing)?|cumple\w*|naci\w*)\b")
# "You take iron in the morning" does not tell why.
_ASKS_WHY = re.compile(r"^\W*(?:why|how come|por que)\b")
_REASON = re.compile(
    r"\b(?:because|cause|since|so that|so|due to|for|as|after|porque|ya que|por|para|pues|que)\b"
)
# "What size boots?": "a 9 in boots".
_MEASURED = frozenset("size sizes talla talle numero number".split())
_A_SIZE = re.compile(r"\d|\b(?:x{0,3}[sml]|small|medium|large|chic[oa]|median[oa]|grande)\b")
# From where on a word is one of a kind: "orange" of "colour".
OF_ITS_KIND = 0.28
# The same by the model, which knows more and costs more: for the few that may be the answer.
KIND_OF, MOST_COMPARED = 0.4, 8
_ASKS_WHO = re.compile(r"\b(?:name|called|named|surname|llama\w*|nombre|apellido|who|quien)\b")
# "Mum had her eye done" does not tell which, "Macarena marries in June" not whom.
_ASKS_SIDE = re.compile(
    r"\bwhich (?:eye|ear|arm|hand|leg|knee|foot|ankle|shoulder|hip|elbow|wrist|side)\b"
    r"|\b(?:que|cual) (?:ojo|oido|brazo|mano|pierna|rodilla|pie|tobillo|hombro|cadera|codo|lado)\b"
)
_SIDE = re.compile(r"\b(?:left|right|both|izquierd[oa]|derech[oa]|amb[oa]s|los dos|las dos)\b")
_ASKS_WITH = re.compile(r"\bcon quien(?:es)?\b|\bwho\b.* with\W*$|^\W*with whom\b")
_WITH = re.compile(r"\b(?:with|and|to|con|y|e|contigo) \w")
# What is asked for, what an answer holds, and how far from one the words are without it.
_NUMBERED = (
    (_AGE, _YEARS, -3.0),
    (_MANY, _NUMBER, -1.0),
    (_ASKS_PHONE, _LONG_NUMBER, -3.0),
    (_ASKS_HOUR, _HOUR, -3.0),
    (_LASTS, _SPAN, -3.0),
    (_ASKS_FROM, _FROM, -3.0),
    (_ASKS_CODE, re.compile(r"\d"), -3.0),
    (_ASKS_WHY, _REASON, -2.0),
    (_ASKS_BIRTHDAY, _BIRTHDAY, -3.0),
    (_ASKS_SIDE, _SIDE, -3.0),
    (_ASKS_WITH, _WITH, -3.0),
)
# "I taught at a school" does not tell what it was called.
_ASKS_NAME = re.compile(
    r"\bname of\b|'s name\b|^\W*what(?:'s| is|s)(?: the| my| our)? \w+s name\b"
    r"|\b(?:what|how)(?:'s| is| was| are| were)\b.*\b(?:called|named)\b"
    r"|\bcomo se llam\w+|\bnombre de\b"
)
_OWN_NAME = re.compile(
    r"^\W*(?:my name(?: is|['’]s)|i(?:['’]?m| am) called|me llamo|\w+['’]s name is|\w+ se llama"
    r"|mi nombre(?: completo)? es|el nombre de \w+ es)\b"
    r"|^\W*(?:(?:hi|hiya|hey|hello|hola|buenas)(?: (?-i:[A-ZÀ-Ý])\w+)?\W+)*"
    r"(?:my name(?: is|['’]s)\b|me llamo\b|(?:i(?:['’]?m| am)|soy|(?-i:[A-ZÀ-Ý])\w+ (?:is|es))"
    r" (?-i:[A-ZÀ-Ý])[\w'’-]+(?: (?-i:[A-ZÀ-Ý])[\w'’-]+)?(?:\W*$| and i['’]?m | y tengo ))",
    re.I,
)
# "Who is Imran marrying?"
_WHO_DOES = re.compile(r"^\W*(?:who(?: is| are| was|'s|s)|con quien) \w+ (?:\w+ing|se cas\w+)\b")
_SEVERAL_ASKED = re.compile(r"\b(?:are|were|names|llaman|nombres|(?:quienes|cuales) son)\b")
_LISTED = re.compile(r",|\b(?:and|y|e)\b")
_WHAT = re.compile(r"^\W*(?:what|whats|que)\b(?!'s)")
_WHO_IS = re.compile(r"^\W*(?:who(?: is| was| are|'s|s)|quien (?:es|era)|quienes son)\b")
_NAME_BEHIND = re.compile(r",? (?:is |es |called |named |se llama )*[A-ZÀ-Ý][a-zà-ÿ]+")
# What is to have a name, and how it stands in the words where it has none: "a tabby cat."
_TO_NAME = re.compile(
    r"(?P<called>[a-z]+) (?:called|named)\b"
    r"|\bname of (?:the |my |our |his |her |their )?(?P<of>[a-z]+)"
    r"|\bcomo se llam\w+ (?:el|la|los|las|mis?|tus?|sus?|nuestr[oa]s?)"
    r" (?P<spanish>[a-z]+)(?: (?!del?\b)(?P<like>[a-z]+))?"
)
_UNNAMED = (
    r"(?<!is my )(?<!is our )(?<!is the )(?<!es mi )(?<!es nuestro )(?<!es nuestra )(?<!es el )"
    r"(?<!es la )\b{noun}s?(?: {like})?(?=\W*$|[.;!?]"
    r"|, (?:an?|una?)\b| (?:with|in|at|on|for|from|and|of|to|that|which|near|con|en|del?|para|por"
    r"|y|que|cerca|last|this|next|yesterday|today|ayer|hoy)\b)"
)
# "El perro de Ana se llama Rex"
_NAMED_BEHIND = re.compile(
    r"(?: (?!(?:y|and|que|who|which)\b)\w+){0,4} (?:is|are|was|es|son|called|named|se llaman?)\b"
    r"|,? (?:que se llaman?|(?:which|who|that)(?: is|'s) (?:called|named))\b"
)
# "Who won?" is not answered where nobody is named.
_WHO = re.compile(
    r"^\W*(?:(?:a|de|con|para|por) )?(?:who|quien)(?! (?:is|are|was|were|es|son|era)\b)(?!'s) \w"
)
# "Subieron el arriendo" names nobody.
_DID = re.compile(r"\w+(?:aron|ieron|amos|imos)")
# "Neil moved out" does not tell where to.
_ASKS_GONE = re.compile(
    r"\bwhere\b.*\b(?:move[sd]?|moving|go|goes|going|gone|went)\b"
    r"|\ba?donde se (?:fue|mud\w+|van?|ha ido)\b"
)
# "Steve says I'm on 15.80" is about who tells it.
_REPORTED = (
    r"\b(?:{names}) (?:says|said|reckons|told me|dice|dijo)\b.*\b(?:i|i'm|im|my|me|mi|estoy)\b"
)
_SOMEBODY = re.compile(r"\b(?:he|she|they|him|her|them|his|my|ella|ellos|mis?)\b")
_WHO_DID = re.compile(r"^\W*who (?P<verb>[a-z]+)\b")
_WHICH_PLACE = re.compile(
    r"\b(?:what|which|que|cual) (?P<place>hotel|school|hospital|clinic|company|shop|restaurant"
    r"|church|university|college|bank|airline|colegio|escuela|clinica|empresa|tienda|iglesia|universidad"
    r"|banco|aerolinea|restaurante)\b"
)
_COUNT = re.compile(r"\b(?:how many|cuant[oa]s)\b(?! (?:anos|years|times|veces))")


def fits_type(asked: Asked, said: str) -> float:
    """1 when the words hold the kind of answer that is asked for, below 0 when not, else 0."""
    said = written_out(said)
    plain = words.fold(said)
    for looks in (_fits_whom, _fits_amount, _fits_name, _fits_time, _fits_frame):
        fit = looks(asked, said, plain)
        if fit is not None:
            return fit
    return 0.0


def _fits_whom(asked: Asked, said: str, plain: str) -> float | None:
    """By whom they are about, and whether they name the one who is asked for."""
    if _is_of_speaker(asked, said, plain) or _is_of_another(asked, plain):
        return -3.0
    if _is_otherwise_liked(asked, plain):
        return -3.0
    if asked.asks_own_name:
        return 1.0 if _OWN_NAME.search(said) else -3.0
    if _OWN_BIRTHDAY.search(asked.folded) and (_is_of_kin(said) or _is_of_named(asked, said)):
        return -3.0
    if _asks_who_is(asked) and _DENIES.search(plain):
        return -3.0
    if _asks_who_is(asked) and _names_kin(asked, said):
        # "We got another cat named Bailey" does not name all of them.
        is_one = _SEVERAL_ASKED.search(asked.folded) and not _LISTED.search(plain)
        return -1.0 if is_one else 1.0
    if _asks_who_is(asked) and _leaves_kin_unnamed(asked, said):
        return -3.0
    return None


def _fits_amount(asked: Asked, said: str, plain: str) -> float | None:
    """By what is written in numbers, and what stands beside the verb: a price, an age, a way."""
    if _ASKS_GONE.search(asked.folded) and not _PLACE.search(plain):
        return -3.0
    if _COST.search(asked.folded):
        return 1.0 if _MONEY.search(_NTH.sub(" ", _DATED.sub(" ", plain))) else -3.0
    if HOW_TO.match(asked.folded):
        return 1.0 if _SOLVES.search(plain) else -1.0
    if _COUNT.search(asked.folded):
        return 1.0 if _is_counted(asked, plain) else -1.0
    for asks, answers, otherwise in _NUMBERED:
        if asks.search(asked.folded):
            held = _OF_OTHERS.sub(" ", _DATED.sub(" ", plain)) if asks is _AGE else plain
            return 1.0 if answers.search(held) else otherwise
    return None


def _fits_name(asked: Asked, said: str, plain: str) -> float | None:
    if _leaves_unnamed(asked, plain) or _leaves_unsaid_which(asked, plain):
        return -3.0
    who = _WHO.match(asked.folded) or _WHO_DOES.match(asked.folded)
    if who and _names_nobody(asked, said):
        return -3.0
    if _ASKS_NAME.search(asked.folded) and not _holds_name(asked, said):
        # Who types all small types names small, too.
        return -0.5 if said == said.lower() else -2.0
    return None


def _fits_time(asked: Asked, said: str, plain: str) -> float | None:
    if not _ASKS_WHETHER.match(asked.folded) and _is_of_another_day(asked.folded, plain):
        return -3.0
    if _DAYS.search(asked.folded):
        return 1.0 if _A_DAY.search(plain) or _DATED.search(plain) else -3.0
    if asks_when(asked.text):
        return 1.0 if says_when(said) else -1.0
    if _wants_what_is(asked) and edges.is_over(said):
        return -2.0
    return None


def _is_of_another_day(asked: str, said: str) -> bool:
    """ "My Monday stops are …" tells nothing of Wednesday."""
    wanted, told = _weekdays(asked), _weekdays(said)
    return bool(wanted and told) and not wanted & told


def _weekdays(plain: str) -> set[int]:
    said = (word.removesuffix("'s") for word in words.words(plain))
    days = (WEEKDAYS.get(word, WEEKDAYS.get(word.removesuffix("s"))) for word in said)
    return {day for day in days if day is not None}


def _fits_frame(asked: Asked, said: str, plain: str) -> float | None:
    """By where somebody lives, works or comes from, and as what."""
    told = {frame.key for frame in frames_of(said)} if asked.frames else set()
    if told & _WHERE:
        return 1.0 if told & asked.frames else -2.0
    for asks, answers in _TYPES:
        if asks.search(asked.folded):
            fits = 1.0 if answers.search(plain) else -1.0
            return -3.0 if asks is _WHAT_DOES and _NAMES.search(plain) else fits
    return None


def tells_plainly(asked: Asked, said: str) -> bool:
    """Whether the words tell all that is asked for: "Leo plays the drums" of what Leo plays."""
    if _AGE.search(asked.folded) and not _AGED.search(words.fold(said)):
        return False
    if not asked.topics:
        return _may_have_no_topic(asked) and _fits(asked, said)
    told, plain = statements.Statement.of(said), words.fold(said)
    for roots, labels in asked.topics:
        is_focus = asked.has_noun and bool(roots & statements.stems(asked.focus))
        if is_focus and leaves_focus(asked, plain):
            if not _has_of_kind(asked, plain):
                return False
        elif not (roots & told.forms or labels & told.concepts):
            return False
    return not _WHAT.match(asked.folded) or _has_object(asked, said)


def _may_have_no_topic(asked: Asked) -> bool:
    """ "How old is Rex?" wants just an age; "where am I going?" more than any place of mine."""
    asks = _AGE.search(asked.folded) or _WHAT_DOES.search(asked.folded)
    return bool(asked.names or asked.kin or asked.asks_own_name or asks)


def _fits(asked: Asked, said: str) -> bool:
    if fits_type(asked, said) > 0:
        return True
    return bool(_ASKS_NAME.search(asked.folded)) and _holds_name(asked, said)


def _has_of_kind(asked: Asked, plain: str) -> bool:
    """Whether a word means something of the kind that is asked for: "drums" of "instrument"."""
    others = {one for one in words.words(plain) if len(one) > 2} - FRAME
    others -= {*words.words(asked.folded), *asked.known, *asked.named, *asked.names}
    others = {one for one in others if not _is_plain_kin(one)}
    alike = meaning.table([asked.focus], sorted(others)[:MOST_COMPARED])
    return alike is not None and float(alike.max()) >= KIND_OF


def _has_object(asked: Asked, said: str) -> bool:
    """ "Ines studies in Leeds" does not tell what."""
    question, told = words.words(asked.folded), words.words(words.fold(said))
    # The noun behind "what", or the verb at the end.
    roots = statements.stems(question[-1]) | statements.stems(question[:2][-1])
    places = [n for n, word in enumerate(told) if statements.stems(word) & roots]
    if question[-1] in _PREPOSITION or not places:
        return True
    return any(n + 1 < len(told) and told[n + 1] not in _PREPOSITION for n in places)


def _is_otherwise_liked(asked: Asked, plain: str) -> bool:
    wanted, told = (_liking(one) for one in (asked.folded, plain))
    return bool(wanted and told and wanted != told)


def _asks_who_is(asked: Asked) -> bool:
    return bool(asked.kin and (_ASKS_NAME.search(asked.folded) or _WHO_IS.match(asked.folded)))


def _names_kin(asked: Asked, said: str) -> bool:
    """Whether a name stands behind the one who is asked about: "my son Leo", "my son leo is 4"."""
    known, sentence = statements.concepts(), Sentence(said)
    return any(
        known.of(words.fold(one[0])) & asked.kin and _NAME_BEHIND.match(said, one.end())
        for one in re.finditer(r"\w+", said)
    ) or any(
        known.of(words.fold(word)) & asked.kin and small_name(sentence, place + 1)
        for place, word in enumerate(sentence.words)
    )


def _is_of_named(asked: Asked, said: str) -> bool:
    """ "El cumpleaños de Daniela" is not that of who asks."""
    names = (one["a"] or one["b"] for one in _BIRTHDAY_OF.finditer(said))
    return any(words.fold(name) != words.fold(asked.person) for name in names)


def _is_of_kin(said: str) -> bool:
    return any(statements.kind(one) == "kin" for one in statements.Statement.of(said).concepts)


def _leaves_kin_unnamed(asked: Asked, said: str) -> bool:
    """ "My mother is 84 and takes Sintrom" has a name that is not hers."""
    plain = words.fold(said)
    if said == said.lower() or _NAMES.search(plain) or _IS_SOMEBODYS.search(said):
        return False
    return bool(statements.Statement.of(said).concepts & asked.kin)


def leaves_focus(asked: Asked, told: str) -> bool:
    """Whether the folded words have neither what is asked for nor anything of its kind."""
    if not asked.focus or _ASKS_WHO.search(asked.folded) or asked.focus[:4] in told:
        return False
    if asked.focus in _MEASURED:
        return not _A_SIZE.search(told)
    others = {one for one in words.words(told) if len(one) > 2} - FRAME
    others -= set(words.words(asked.folded))
    alike = word_vectors().of([asked.focus, *sorted(others)])
    return not others or float((alike[1:] @ alike[0]).max()) < OF_ITS_KIND


def _holds_name(asked: Asked, said: str) -> bool:
    """Somebody or something is called so, or has a name that the question does not have."""
    plain = words.fold(said)
    if _NAMES.search(plain) or _MARRIES.search(plain) or _IS_SOMEBODYS.match(said):
        return True
    first = SENTENCE_START.match(said)
    inside = {
        words.fold(one[0].removesuffix("'s"))
        for one in NAME.finditer(said)
        if not first or one.start() >= first.end()
    }
    person = set(words.words(words.fold(asked.person)))
    return bool(inside - person - asked.names - {*WEEKDAYS, *SHORT_WEEKDAYS, *MONTHS})


def _is_of_speaker(asked: Asked, said: str, plain: str) -> bool:
    """ "I'm a size 9" tells nothing of Hemi, nor does what Hemi says of me."""
    names = "|".join(map(re.escape, sorted(asked.names)))
    if names and not asked.is_mine and re.search(_REPORTED.format(names=names), plain):
        return True
    stands = {one["name"] for one in ASKED_OF.finditer(asked.folded)}
    # Whoever is known is told apart by who said it.
    unknown = stands - FRAME - asked.known - asked.named
    others = {one for one in unknown if not _NO_NAME.fullmatch(one)}
    if (
        not others
        or MINE.search(asked.text)
        or any(statements.concepts().of(one) for one in others)
    ):
        return False
    return bool(I_OR_ME.search(said) or _IM.search(plain)) and not others & set(words.words(plain))


def _is_of_another(asked: Asked, plain: str) -> bool:
    """ "Terrys tablets are amlodipine" does not tell which tablets I take."""
    if not asked.is_of_me_alone or not asked.focus:
        return False
    if re.search(rf"\b{asked.focus} del? (?:mi|su|la|el|nuestr[oa]) \w", plain):
        return True
    if _OF_ME.search(plain):
        return False
    owner = re.search(rf"\b(?P<who>his|her|their|[a-z]{{3,}}'?s) {asked.focus}\b", plain)
    return owner is not None and owner["who"] not in _NO_OWNERS


def _leaves_unnamed(asked: Asked, plain: str) -> bool:
    """ "She has a tabby cat" does not tell what it is called."""
    found = _TO_NAME.search(asked.folded)
    if not found:
        return False
    noun = found["called"] or found["of"] or found["spanish"]
    stands = re.search(_UNNAMED.format(noun=noun, like=found["like"] or noun), plain)
    if noun in FRAME or not stands:
        return False
    return not _NAMED_BEHIND.match(plain, stands.end())


def _leaves_unsaid_which(asked: Asked, plain: str) -> bool:
    """ "He works in a hotel" does not tell in which."""
    found = _WHICH_PLACE.search(asked.folded)
    if not found:
        return False
    is_any = re.search(rf"\b(?:an?|una?|some) {found['place']}\b", plain)
    return bool(is_any) or not (_PLACE.search(plain) or found["place"] in plain)


def _names_nobody(asked: Asked, said: str) -> bool:
    """ "Cribbage is on Fridays", "she stitched up my thumb"."""
    # "They check Sam's eyes" names who asks, and not who does it.
    owned = rf"(?i:\b(?:a|de|of|to|for|para|con) {re.escape(asked.person)}\b)"
    told = re.sub(rf"{owned}|\b{re.escape(asked.person)}['’]s\b", " ", said)
    named = {words.fold(one[0].removesuffix("'s")) for one in NAME.finditer(told)}
    named = {one for one in named if not _DID.fullmatch(one)}
    if named - FRAME - {*words.words(asked.folded), *WEEKDAYS, *SHORT_WEEKDAYS, *MONTHS}:
        return False
    plain, did = words.fold(said), _WHO_DID.match(asked.folded)
    if did and re.search(rf"\b(?:he|she|they) {did['verb']}\b", plain):
        return True
    # Who types all small types names small, too.
    if said == said.lower() or _SOMEBODY.search(plain):
        return False
    return not _is_of_kin(said)


def _is_counted(asked: Asked, plain: str) -> bool:
    """A number stands before what is counted, or a list behind it: "my cats are A and B"."""
    said = words.words(plain)
    roots = {root for several, _labels in asked.topics for root in several}
    places = [n for n, word in enumerate(said) if statements.stems(word) & roots]
    numbers = any(_NUMBER.match(one) for n in places for one in said[max(0, n - 3) : n])
    return numbers or any(set(said[n:]) & {"and", "y"} for n in places)


def _wants_what_is(asked: Asked) -> bool:
    """ "Where do I work?" is not answered by where it is no longer."""
    if _NOT.search(asked.folded) or _PAST.search(asked.folded):
        return False
    return bool(_WH.search(asked.folded))


def _is_plain_kin(word: str) -> bool:
    """What somebody is does not tell of what kind: a dog is no breed, a Labrador is one."""
    kin = kinship.kin(word)
    return kin is not None and word in (kin.relation, kinship.relation_word(kin.relation, "es"))


def _liking(folded: str) -> int:
    """1 where somebody likes something, -1 where they do not, 0 where it is about nothing so."""
    dislikes, likes = _DISLIKES.search(folded), _LIKES.search(_DISLIKES.sub(" ", folded))
    # "I like green and hate onions" answers both.
    return 0 if dislikes and likes else -1 if dislikes else int(bool(likes))
