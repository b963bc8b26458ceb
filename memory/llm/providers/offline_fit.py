"""Whether words hold what a question asks for, for the built-in provider."""

import re

from memory.calendar.words import MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from memory.extraction import edges, statements
from memory.extraction.frames.reading import frames_of
from memory.extraction.grammar.sentences import Sentence
from memory.extraction.subjects import small_name
from memory.llm.providers.offline_questions import (
    FRAME_WORDS,
    PATTERNS,
    ParsedQuestion,
    kin_among,
    names_inside,
    search,
)
from memory.retrieval.understand import asks_when, says_when
from memory.text import kinship
from memory.text import normalise as words
from memory.text.shorthand import written_out
from memory.vectors import likeness as meaning
from memory.vectors.graphs import word_vectors

# The fit of a text without anything of the kind that is asked for: an age without a number.
NEVER = -3.0
_DATE_NAMES = {*WEEKDAYS, *SHORT_WEEKDAYS, *MONTHS}
_NO_OWNERS = frozenset("this its always sometimes was has does yes less various".split())
_PREPOSITIONS = frozenset(
    "in at on with to for from by of about as near en con de del por para sobre como".split()
)
# "What size boots?": "a 9 in boots".
_MEASURED = frozenset("size sizes talla talle numero number".split())
# From where on a word is one of a kind: "orange" of "colour".
OF_ITS_KIND = 0.28
# The same by the model, which knows more and costs more: for the few that may be the answer.
KIND_OF = 0.4
MAX_COMPARED = 8
# What a question asks for, what an answer holds, and the fit of a text without it.
_ANSWERS = (
    ("age", "years", NEVER),
    ("amount", "number", -1.0),
    ("phone", "long_number", NEVER),
    ("hour", "says_hour", NEVER),
    ("span", "span", NEVER),
    ("from", "says_from", NEVER),
    ("code", "digit", NEVER),
    ("why", "says_why", -2.0),
    ("birthday", "says_birthday", NEVER),
    ("side", "says_side", NEVER),
    ("with", "says_with", NEVER),
)
_UNNAMED = (
    r"(?<!is my )(?<!is our )(?<!is the )(?<!es mi )(?<!es nuestro )(?<!es nuestra )(?<!es el )"
    r"(?<!es la )\b{noun}s?(?: {like})?(?=\W*$|[.;!?]"
    r"|, (?:an?|una?)\b| (?:with|in|at|on|for|from|and|of|to|that|which|near|con|en|del?|para|por"
    r"|y|que|cerca|last|this|next|yesterday|today|ayer|hoy)\b)"
)
# "Steve says I'm on 15.80" is about who tells it.
_REPORTED = (
    r"\b(?:{names}) (?:says|said|reckons|told me|dice|dijo)\b.*\b(?:i|i'm|im|my|me|mi|estoy)\b"
)


def fits_type(question: ParsedQuestion, text: str) -> float:
    """Return 1 when the text has the kind of answer that is asked for, below 0 when not, else 0."""
    text = written_out(text)
    folded = words.fold(text)
    for fits in (_fits_whom, _fits_amount, _fits_name, _fits_time, _fits_frame):
        fit = fits(question, text, folded)
        if fit is not None:
            return fit
    return 0.0


def _fits_whom(question: ParsedQuestion, text: str, folded: str) -> float | None:
    """Return the fit by the people in the text: the right ones, and named where that is asked."""
    if (
        _is_of_speaker(question, text, folded)
        or _is_of_another(question, folded)
        # "What do I like?" is not answered by what I hate.
        or _liking(question.folded) * _liking(folded) < 0
        or _goes_the_other_way(question, folded)
    ):
        return NEVER
    if question.asks("own_name"):
        return 1.0 if search("says_own_name", text) else NEVER
    if question.asks("own_birthday") and (_is_of_kin(text) or _is_of_named(question, text)):
        return NEVER
    if not question.kin or not (question.asks("name") or question.asks("who_is")):
        return None
    if search("denies", folded):
        return NEVER
    if _names_kin(question, text):
        # "We got another cat named Bailey" does not name all of them.
        is_one = question.asks("several") and not search("lists", folded)
        return -1.0 if is_one else 1.0
    # My own name is nobody else's.
    is_other = search("says_own_name", text) or _leaves_kin_unnamed(question, text)
    return NEVER if is_other else None


def _goes_the_other_way(question: ParsedQuestion, folded: str) -> bool:
    """Return whether the asker lent what the question says they borrowed, or the reverse."""
    lent, borrowed = search("says_i_lent", folded), search("says_i_borrowed", folded)
    if question.asks("i_borrowed"):
        return bool(lent) and not borrowed
    return bool(question.asks("i_lent") and borrowed and not lent)


def _fits_amount(question: ParsedQuestion, text: str, folded: str) -> float | None:
    """Return the fit by numbers and by what stands beside the verb: a price, an age, a way."""
    undated = PATTERNS["dated"].sub(" ", folded)
    if question.asks("gone") and not search("says_place", folded):
        return NEVER
    if question.asks("cost"):
        return 1.0 if search("money", PATTERNS["nth"].sub(" ", undated)) else NEVER
    if question.asks("how_to"):
        return 1.0 if search("says_solution", folded) else -1.0
    if question.asks("count"):
        return 1.0 if _is_counted(question, folded) else -1.0
    for kind, answer, otherwise in _ANSWERS:
        if question.asks(kind):
            said = PATTERNS["of_others"].sub(" ", undated) if kind == "age" else folded
            return 1.0 if search(answer, said) else otherwise
    return None


def _fits_name(question: ParsedQuestion, text: str, folded: str) -> float | None:
    if _leaves_unnamed(question, folded) or _leaves_place_open(question, folded):
        return NEVER
    asks_who = question.asks("who_did") or question.asks("whom_they_marry")
    if asks_who and _names_nobody(question, text):
        return NEVER
    if question.asks("name") and not _has_name(question, text):
        # People who write everything in lower case write names so, too.
        return -0.5 if text == text.lower() else -2.0
    return None


def _fits_time(question: ParsedQuestion, text: str, folded: str) -> float | None:
    # "My Monday stops are …" tells nothing of Wednesday.
    days, other_days = _weekdays(question.folded), _weekdays(folded)
    if days and other_days and not days & other_days and not question.asks("yes_or_no"):
        return NEVER
    if question.asks("days"):
        return 1.0 if search("a_day", folded) or search("dated", folded) else NEVER
    if asks_when(question.text):
        return 1.0 if says_when(text) else -1.0
    # "Where do I work?" is not answered by where it is no longer.
    is_past = question.asks("negated") or question.asks("about_past")
    return -2.0 if question.asks("what") and not is_past and edges.is_over(text) else None


def _weekdays(folded: str) -> set[int]:
    written = (word.removesuffix("'s") for word in words.words(folded))
    days = (WEEKDAYS.get(word, WEEKDAYS.get(word.removesuffix("s"))) for word in written)
    return {day for day in days if day is not None}


def _fits_frame(question: ParsedQuestion, text: str, folded: str) -> float | None:
    """Return the fit by where somebody lives, works or comes from, and as what."""
    keys = {frame.key for frame in frames_of(text)} if question.frames else set()
    if keys & {"home", "employer", "job"}:
        return 1.0 if keys & question.frames else -2.0
    if question.asks("place"):
        return 1.0 if search("says_place", folded) else -1.0
    if question.asks("job"):
        # "My sister's boyfriend is called Theo" does not tell what he does.
        fit = 1.0 if search("says_job", folded) else -1.0
        return NEVER if search("says_name", folded) else fit
    return None


def tells_plainly(question: ParsedQuestion, text: str) -> bool:
    """Tell whether the text has all that is asked for: "Leo plays the drums" of what Leo plays."""
    folded = words.fold(text)
    if question.asks("age") and not search("aged", folded):
        return False
    if not question.topics:
        # "How old is Rex?" wants just an age; "where am I going?" more than any place of mine.
        needs_none = question.asks("own_name") or question.asks("age") or question.asks("job")
        if not (question.names or question.kin or needs_none):
            return False
        return fits_type(question, text) > 0 or (
            bool(question.asks("name")) and _has_name(question, text)
        )
    statement = statements.Statement.of(text)
    for roots, labels in question.topics:
        is_focus = question.has_noun and bool(roots & statements.stems(question.focus))
        if is_focus and lacks_focus(question, folded):
            if not _has_of_kind(question, folded):
                return False
        elif not (roots & statement.forms or labels & statement.concepts):
            return False
    return not question.asks("just_what") or _has_object(question, folded)


def _has_of_kind(question: ParsedQuestion, folded: str) -> bool:
    """Tell whether a word is one of the kind that is asked for: "drums" of "instrument"."""
    others = _other_words(question, folded) - question.known - question.named - question.names
    others = {word for word in others if not _is_plain_kin(word)}
    alike = meaning.table([question.focus], sorted(others)[:MAX_COMPARED])
    return alike is not None and float(alike.max()) >= KIND_OF


def _other_words(question: ParsedQuestion, folded: str) -> set[str]:
    """Return the words of meaning that the question does not have."""
    written = {word for word in words.words(folded) if len(word) > 2}
    return written - FRAME_WORDS - set(words.words(question.folded))


def _has_object(question: ParsedQuestion, folded: str) -> bool:
    """ "Ines studies in Leeds" does not tell what."""
    asked, written = words.words(question.folded), words.words(folded)
    # The noun behind "what", or the verb at the end.
    roots = statements.stems(asked[-1]) | statements.stems(asked[:2][-1])
    places = [place for place, word in enumerate(written) if statements.stems(word) & roots]
    if asked[-1] in _PREPOSITIONS or not places:
        return True
    behind = (written[place + 1 : place + 2] for place in places)
    return any(word and word[0] not in _PREPOSITIONS for word in behind)


def _names_kin(question: ParsedQuestion, text: str) -> bool:
    """Tell whether a name stands behind the relative: "my son Leo", "my son leo is 4"."""
    concepts, sentence = statements.concepts(), Sentence(text)
    return any(
        concepts.of(words.fold(word[0])) & question.kin
        and PATTERNS["name_behind"].match(text, word.end())
        for word in re.finditer(r"\w+", text)
    ) or any(
        concepts.of(words.fold(word)) & question.kin and small_name(sentence, place + 1)
        for place, word in enumerate(sentence.words)
    )


def _is_of_named(question: ParsedQuestion, text: str) -> bool:
    """ "El cumpleaños de Daniela" is not that of who asks."""
    names = (match["a"] or match["b"] for match in PATTERNS["birthday_of"].finditer(text))
    return any(words.fold(name) != words.fold(question.person) for name in names)


def _is_of_kin(text: str) -> bool:
    return bool(kin_among(statements.Statement.of(text).concepts))


def _leaves_kin_unnamed(question: ParsedQuestion, text: str) -> bool:
    """ "My mother is 84 and takes Sintrom" has a name that is not hers."""
    is_lower = text == text.lower()
    if is_lower or search("says_name", words.fold(text)) or search("is_somebodys", text):
        return False
    return bool(statements.Statement.of(text).concepts & question.kin)


def lacks_focus(question: ParsedQuestion, folded: str) -> bool:
    """Tell whether the text has neither what is asked for nor anything of its kind."""
    focus = question.focus
    if not focus or question.asks("name_or_who") or focus[:4] in folded:
        return False
    if focus in _MEASURED:
        return not search("a_size", folded)
    others = _other_words(question, folded)
    alike = word_vectors().of([focus, *sorted(others)])
    return not others or float((alike[1:] @ alike[0]).max()) < OF_ITS_KIND


def _has_name(question: ParsedQuestion, text: str) -> bool:
    """Tell whether somebody is called so, or has a name that the question does not have."""
    folded = words.fold(text)
    if search("says_name", folded) or search("says_spouse", folded):
        return True
    if PATTERNS["is_somebodys"].match(text):
        return True
    person = set(words.words(words.fold(question.person)))
    return bool(names_inside(text) - person - question.names - _DATE_NAMES)


def _is_of_speaker(question: ParsedQuestion, text: str, folded: str) -> bool:
    """ "I'm a size 9" tells nothing of Hemi, nor does what Hemi says of me."""
    names = "|".join(map(re.escape, sorted(question.names)))
    if names and not question.is_mine and re.search(_REPORTED.format(names=names), folded):
        return True
    # Known people are told apart by their messages.
    named = {match["name"] for match in PATTERNS["asked_of"].finditer(question.folded)}
    unknown = named - FRAME_WORDS - question.known - question.named
    others = {name for name in unknown if not PATTERNS["no_name"].fullmatch(name)}
    if not others or search("says_mine", question.text):
        return False
    if any(statements.concepts().of(name) for name in others):
        return False
    says_me = search("i_or_me", text) or search("bare_i", folded)
    return bool(says_me) and not others & set(words.words(folded))


def _is_of_another(question: ParsedQuestion, folded: str) -> bool:
    """ "Terrys tablets are amlodipine" does not tell which tablets I take."""
    if not question.is_of_me_alone or not question.focus:
        return False
    if re.search(rf"\b{question.focus} del? (?:mi|su|la|el|nuestr[oa]) \w", folded):
        return True
    if search("tells_of_me", folded):
        return False
    owner = re.search(rf"\b(?P<who>his|her|their|[a-z]{{3,}}'?s) {question.focus}\b", folded)
    return owner is not None and owner["who"] not in _NO_OWNERS


def _leaves_unnamed(question: ParsedQuestion, folded: str) -> bool:
    """ "She has a tabby cat" does not tell what it is called."""
    match = question.asks("name_of_thing")
    if not match:
        return False
    noun = match["called"] or match["of"] or match["spanish"]
    unnamed = re.search(_UNNAMED.format(noun=noun, like=match["like"] or noun), folded)
    if noun in FRAME_WORDS or not unnamed:
        return False
    return not PATTERNS["named_behind"].match(folded, unnamed.end())


def _leaves_place_open(question: ParsedQuestion, folded: str) -> bool:
    """ "He works in a hotel" does not tell in which."""
    match = question.asks("which_place")
    if not match:
        return False
    is_any = re.search(rf"\b(?:an?|una?|some) {match['place']}\b", folded)
    return bool(is_any) or not (search("says_place", folded) or match["place"] in folded)


def _names_nobody(question: ParsedQuestion, text: str) -> bool:
    """ "Cribbage is on Fridays", "she stitched up my thumb"."""
    # "They check Sam's eyes" names who asks, and not who does it.
    owned = rf"(?i:\b(?:a|de|of|to|for|para|con) {re.escape(question.person)}\b)"
    others = re.sub(rf"{owned}|\b{re.escape(question.person)}['’]s\b", " ", text)
    names = {words.fold(match[0].removesuffix("'s")) for match in PATTERNS["name"].finditer(others)}
    names = {name for name in names if not PATTERNS["past_verb"].fullmatch(name)}
    if names - FRAME_WORDS - _DATE_NAMES - set(words.words(question.folded)):
        return False
    folded, asked = words.fold(text), question.asks("who_verb")
    if asked and re.search(rf"\b(?:he|she|they) {asked['verb']}\b", folded):
        return True
    # People who write everything in lower case write names so, too.
    return text != text.lower() and not search("somebody", folded) and not _is_of_kin(text)


def _is_counted(question: ParsedQuestion, folded: str) -> bool:
    """Find a number before what is counted, or a list behind it: "my cats are A and B"."""
    written = words.words(folded)
    roots = {root for several, _labels in question.topics for root in several}
    places = [place for place, word in enumerate(written) if statements.stems(word) & roots]
    before = (word for place in places for word in written[max(0, place - 3) : place])
    return any(PATTERNS["number"].match(word) for word in before) or any(
        set(written[place:]) & {"and", "y"} for place in places
    )


def _is_plain_kin(word: str) -> bool:
    """A dog is not a breed, a Labrador is one."""
    kin = kinship.kin(word)
    return kin is not None and word in (kin.relation, kinship.relation_word(kin.relation, "es"))


def _liking(folded: str) -> int:
    """Return 1 where somebody likes something, -1 where they do not, 0 where neither is told."""
    dislikes = search("dislikes", folded)
    likes = search("likes", PATTERNS["dislikes"].sub(" ", folded))
    # "I like green and hate onions" answers both.
    return 0 if dislikes and likes else -1 if dislikes else int(bool(likes))
