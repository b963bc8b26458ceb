"""Split a sentence into its facts, so that correcting one leaves the others."""

import re
from dataclasses import dataclass

from memory.extraction.grammar import english, spanish_verbs, spanish_words
from memory.extraction.grammar.answers import has_object
from memory.extraction.grammar.sentences import NOT_NAMES, Sentence, data_beside
from memory.extraction.grammar.spanish_words import name_end, phrase_end
from memory.text.kinship import kin
from memory.text.normalise import stems

_DATA = data_beside(__file__)

MAX_LENGTH = 400
_TOLD_OF = _DATA.shared_verbs | english.thirds().keys()
_POINTERS = {
    "en": frozenset("it that this them those these there so it's".split()),
    "es": frozenset("eso esto ese ahí allí lo".split()),
}
# Stems of verbs that say nothing alone: "I've stopped".
_LIGHT = ("switch", "stop", "learn", "did", "understand", "tri", "know", "mean", "think", "guess",
          "lov", "lik", "start", "sab", "dej", "vend", "volv", "sal", "creo", "cre")  # fmt: skip
_DAYS = "mon tues wednes thurs fri satur sun".split()


@dataclass(frozen=True)
class Part:
    """`quote` is verbatim; `clause` says the same as a sentence of its own."""

    quote: str
    clause: str
    is_of_another: bool = False


def split(quote: str, *, language: str) -> list[Part]:
    """Return the facts of the words; the words themselves when they state one."""
    if len(quote) > MAX_LENGTH:
        return [Part(quote, quote)]
    parts = _split_joined(quote, language)
    for split_further in (_split_relative, _split_companions):
        parts = [small for part in parts for small in split_further(part, language)]
    return parts


def _split_joined(quote: str, language: str) -> list[Part]:
    """Split clauses with a verb of their own: "I hate coriander but I love Thai food"."""
    parts = [Part(quote, quote)]
    start = 0
    complete = _clause_es if language == "es" else _clause_en
    for joint in _DATA.joint[language].finditer(quote):
        left, right = quote[start : joint.start()], quote[joint.end() :]
        if not left or not right:
            continue
        if not parts[-1].clause.endswith(parts[-1].quote):  # a pronoun was replaced
            break
        added = parts[-1].clause.removesuffix(parts[-1].quote)
        clause, is_joined = "", bool(joint[0].strip(" ,;.!"))
        if "?" not in right and all(_stands(part, language) for part in (left, right)):
            clause = with_name_of(left, right) or with_moved_verb(left, right, language)
            clause = clause or complete(added + left, right, is_joined=is_joined)
        if clause:
            parts[-1:] = [Part(left, added + left), Part(right, clause)]
            start = joint.end()
    return parts


def with_moved_verb(left: str, right: str, language: str) -> str:
    """Return the right part with the verb of what ended: "ahora trabajo en una clínica"."""
    over, now = _DATA.left[language].search(left), _DATA.now_there[language].match(right)
    if not over or not now:
        return ""
    if language == "en":
        who, verb = _subject_en(left) or _name_en(left), over["verb"] or "work"
        is_same = (who == "I") == (now["who"].upper() == "I")
        clause = f"{who} now {verb}{'' if who == 'I' else 's'} {_DATA.now.sub('', now['rest'])}"
        return clause.replace("studys", "studies") if who and is_same else ""
    verb = over["verb"] or "trabaj"
    ending = "o" if now["is"].lower() == "estoy" else "e" if verb == "viv" else "a"
    return f"ahora {verb}{ending} {now['rest']}"


def with_elided_noun(left: str, right: str, language: str) -> str:
    """Return the right part with the noun of the left one: "my birthday is …, my sister's is …"."""
    match, owned = _DATA.ellipsis[language].match(right), _DATA.owned[language].match(left)
    if not match or not owned:
        return ""
    rest, noun = f"{match['verb']} {match['rest']}", owned["noun"]
    if language == "es":
        return f"{match['the']} {noun} de {match['whose']} {rest}"
    return f"{match['whose']}{match['s']} {noun} {rest}"


def with_name_of(left: str, right: str) -> str:
    """Return the right part with the name of whom the left one calls somebody's."""
    match = _DATA.is_somebodys.fullmatch(left)
    relative = kin(match["kin"].lower()) if match else None
    if not match or not relative:
        return ""
    if pronoun := re.match(r"(he|she)(['’]s)?(?= \w)", right, re.IGNORECASE):
        gender = "m" if pronoun[1].lower() == "he" else "f"
        if relative.gender not in ("", gender):
            return ""
        return f"{match['name']}{' is' if pronoun[2] else ''}{right[pronoun.end() :]}"
    first = Sentence(right).words[:1]
    return f"{match['name']} {right}" if first and spanish_verbs.is_third(first[0]) else ""


def _stands(part: str, language: str) -> bool:
    """Return whether it says something by itself: not "I've stopped", not "la vendí"."""
    words = set(Sentence(part).words)
    if _DATA.hangs.match(part) or words & _POINTERS[language] or has_object(Sentence(part)):
        return False
    roots = {root for root in stems(part) if not root.startswith(_LIGHT)}
    return bool(roots) or bool(re.search(r"\d", part))


def _clause_en(left: str, right: str, *, is_joined: bool) -> str:
    """Return the right part as a sentence of its own; "" when it is none, or the left one is none.

    Behind "and" or "but" it can have the subject of the left one; behind a comma with few verbs.
    """
    if is_joined and _DATA.dated["en"].match(left) and _DATA.dated["en"].match(right):
        return right
    if is_joined and _tells_of_name_en(left) and _tells_of_name_en(right):
        return right
    subject = _subject_en(left)
    if is_joined and subject == "I" and _tells_of_name_en(right):
        return right
    if not subject or (
        is_joined and _DATA.ends_with_name.search(left) and _subject_en(right) == "I"
    ):
        return ""
    if _DATA.ellipsis["en"].match(right):
        return with_elided_noun(left, right, "en")
    if _subject_en(right):
        return right
    words = Sentence(right).words
    verb = english.skip_adverbs(words, 0)
    if subject == "we" or verb >= len(words) - 1:
        return ""
    if subject == "I":
        # "I'm going to stay and have a lift installed": nothing of it is so yet.
        is_shared = is_joined and not _DATA.ahead.search(left)
        is_shared = is_shared and bool(_DATA.shared_i.match(" ".join(words[verb:])))
        return f"I {right}" if is_shared else ""
    if pronoun := re.match(r"(he|she)(['’]s)?(?= \w)", right, re.IGNORECASE):
        is_same = _is_only_person(left, subject, {"he": "m", "she": "f"}[pronoun[1].lower()])
        # "She's moved" has, "she's a midwife" is.
        unclear = words[1:2] and words[1] in english.participles()
        verb_form = pronoun[2] if unclear and pronoun[2] else " is" if pronoun[2] else ""
        return f"{subject}{verb_form}{right[pronoun.end() :]}" if is_same else ""
    shares = words[verb] in _DATA.shared_verbs if is_joined else words[0] in _DATA.told_on
    return f"{subject} {right}" if shares else ""


def _is_only_person(text: str, subject: str, gender: str) -> bool:
    """Return whether the pronoun can be nobody else: not in "my mum told my dad and he…"."""
    relatives = [person for word in Sentence(text).words if (person := kin(word))]
    named = [person for word in Sentence(subject).words if (person := kin(word))]
    return len(relatives) == len(named) and all(person.gender in ("", gender) for person in named)


def _subject_en(text: str) -> str:
    """Return what a clause is about, when a verb follows: "My sister Elena", "I"."""
    sentence = Sentence(text)
    words = sentence.words
    if not words:
        return ""
    if words[0] in english.SUBJECTS:
        return "I" if len(words) > 1 else ""
    if words[0] in ("we", "we're", "we've"):
        return "we" if len(words) > 2 else ""
    if words[0] != "my" or len(words) < 3:
        return ""
    end = next((n for n in range(2, min(len(words), 6)) if english.is_finite(words[n])), None)
    if end is None or re.search("[,;]", "".join(sentence.gap(n) for n in range(1, end + 1))):
        return ""
    return " ".join(sentence.written(n) for n in range(end))


def _name_en(text: str) -> str:
    """Return "Sam" of "Sam left Acme", where only a name can stand."""
    words = Sentence(text).words
    is_told = len(words) > 1 and english.is_finite(words[1]) and words[0] not in english.ADVERBS
    return Sentence(text).written(0) if is_told and Sentence(text).is_capitalised(0) else ""


def _tells_of_name_en(text: str) -> bool:
    """Return whether it tells of a name: "Rory's coeliac", not "Isla's cat is ill"."""
    sentence = Sentence(text)
    name, _, ending = sentence.words[0].partition("'") if sentence.words else ("", "", "")
    if len(sentence.words) < 2 or not sentence.is_capitalised(0) or name in NOT_NAMES:
        return False
    if ending:
        later = range(2, len(sentence.words))
        return ending == "s" and not any(english.is_sure_verb(sentence.words, n) for n in later)
    return english.is_finite(sentence.words[1]) and sentence.words[0] not in english.ADVERBS


def _tells_of_name_es(text: str) -> bool:
    """Return whether it tells of a name: "Marta es vegana"."""
    sentence = Sentence(text)
    if len(sentence.words) < 3 or not sentence.is_capitalised(0):
        return False
    no_names = NOT_NAMES | spanish_words.ADVERBS | spanish_words.CLITICS | {"ya", "no"}
    verb = spanish_words.skip_adverbs(sentence.words, 1, also={"ya", "no"})
    is_told = verb < len(sentence.words) and spanish_words.is_third_here(sentence, verb)
    return is_told and sentence.words[0] not in no_names


def _clause_es(left: str, right: str, *, is_joined: bool) -> str:
    before, sentence = Sentence(left), Sentence(right)
    if is_joined and _DATA.dated["es"].match(left) and _DATA.dated["es"].match(right):
        return right
    if is_joined and _tells_of_name_es(left) and _tells_of_name_es(right):
        return right
    if not any(spanish_words.is_finite(before, n) for n in range(len(before.words))):
        return ""
    if _DATA.ellipsis["es"].match(right):
        return with_elided_noun(left, right, "es")
    if _subject_es(right):
        return right
    if _DATA.ago_es.fullmatch(right):
        return ""
    verb = spanish_words.skip_adverbs(sentence.words, also={"me", "yo"})
    if verb == len(sentence.words):
        return ""
    likes = sentence.words[verb - 1 : verb] == ["me"] and _DATA.likes.match(sentence.words[verb])
    is_we = sentence.words[verb].endswith("mos") and spanish_verbs.is_we(sentence.words[verb])
    if spanish_words.first_form(sentence, verb) or is_we or likes:
        return right if _is_of_speaker(before) or _subject_es(left) else ""
    subject = _subject_es(left) if is_joined or verb == 0 else ""
    return f"{subject} {right}" if subject and _may_share(before, sentence, verb) else ""


def _may_share(before: Sentence, sentence: Sentence, verb: int) -> bool:
    """Return whether the subject is the same: not in "mi hermano tiene novia, se llama Ximena"."""
    word = sentence.words[verb]
    if word == "llama" or verb + 1 >= len(sentence.words) or any(map(kin, before.words[2:])):
        return False
    is_third = spanish_words.is_third_here(sentence, verb)
    return is_third and spanish_verbs.is_singular_third(word)


def _is_of_speaker(sentence: Sentence) -> bool:
    places = range(len(sentence.words))
    return "me" in sentence.words or any(spanish_words.first_form(sentence, n) for n in places)


def _subject_es(text: str) -> str:
    """Return "Mi suegra", when a verb follows."""
    sentence = Sentence(text)
    words = sentence.words
    if len(words) < 3 or words[0] not in ("mi", "mis") or not kin(words[1]):
        return ""
    end = name_end(sentence, phrase_end(sentence, 1))
    verb = spanish_words.skip_adverbs(words, end)
    if verb >= len(words) or not spanish_verbs.is_third(words[verb]):
        return ""
    return " ".join(sentence.written(n) for n in range(end))


def _split_relative(part: Part, language: str) -> list[Part]:
    """Split "I live here with my son Mateo, who is 7": who lives here, and how old Mateo is."""
    match = _DATA.who.fullmatch(part.clause.strip().rstrip(".!"))
    if not match or not kin(match["noun"]):
        return [part]
    clause = f"is {match['told']}" if match["is"] else match["told"]
    verb = Sentence(clause).words[0]
    is_verb = spanish_verbs.is_third(verb) if language == "es" else verb in _TOLD_OF
    if not is_verb:
        return [part]
    quote = part.clause[match.start("name") :]
    whole = part.quote
    head = match["head"] if match["head"] in whole else whole
    about = quote if quote in whole else whole
    alone = _DATA.only_with.fullmatch(match["head"])
    companion = _companion(alone["whom"], language) if alone else None
    return [
        companion or Part(head, match["head"]),
        Part(about, f"{match['name']} {clause}", is_of_another=True),
    ]


def _split_companions(part: Part, language: str) -> list[Part]:
    """Split "I live in Valencia with my partner Marc": where, and who the partner is."""
    match = _DATA.lives.fullmatch(part.clause.strip().rstrip(".!"))
    if not match:
        return [part]
    items = _DATA.item_joint.split(match["with"])
    others = [other for item in items if (other := _companion(item, language))]
    if len(others) < len(items) or len(match["main"].split()) < 3:
        return [part]
    main = match["main"].strip()
    return [Part(main if main in part.quote else part.quote, main), *others]


def _companion(item: str, language: str) -> Part | None:
    """State who lives there: "my partner Marc" -> "my partner is Marc"."""
    is_spanish = language == "es"
    if (match := _DATA.named.fullmatch(item)) and kin(match["noun"]):
        whose, verb = ("mi", "es") if is_spanish else ("my", "is")
        return Part(item, f"{whose} {match['noun']} {verb} {match['name']}")
    if (match := _DATA.counted.fullmatch(item)) and kin(match["many"].split()[1].strip(",:")):
        return Part(item, f"{'tengo' if is_spanish else 'I have'} {match['many']}")
    return None
