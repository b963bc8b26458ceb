"""Several facts of one sentence, each by itself, so that correcting one leaves the others."""

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
    """The facts of the words; the words themselves when they state one."""
    if len(quote) > MAX_LENGTH:
        return [Part(quote, quote)]
    parts = [small for part in _joined(quote, language) for small in _relative(part, language)]
    return [small for part in parts for small in _companions(part, language)]


def _joined(quote: str, language: str) -> list[Part]:
    """Clauses with a verb of their own: "I hate coriander but I love Thai food"."""
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
        is_free = "?" not in right and all(_stands(part, language) for part in (left, right))
        is_joined = bool(joint[0].strip(" ,;.!"))
        clause = (of_named(left, right) or moved(left, right, language)) if is_free else ""
        if is_free and (clause := clause or complete(added + left, right, is_joined=is_joined)):
            parts[-1:] = [Part(left, added + left), Part(right, clause)]
            start = joint.end()
    return parts


def moved(left: str, right: str, language: str) -> str:
    """The right part with the verb of what ended: "ahora trabajo en una clínica"."""
    over, now = _DATA.left[language].search(left), _DATA.now_there[language].match(right)
    if not over or not now:
        return ""
    if language == "en":
        who, verb = _subject_en(left) or _name_en(left), over["verb"] or "work"
        is_same = (who == "I") == (now["who"].upper() == "I")
        told = f"{who} now {verb}{'' if who == 'I' else 's'} {_DATA.now.sub('', now['rest'])}"
        return told.replace("studys", "studies") if who and is_same else ""
    verb = over["verb"] or "trabaj"
    ending = "o" if now["is"].lower() == "estoy" else "e" if verb == "viv" else "a"
    return f"ahora {verb}{ending} {now['rest']}"


def elided(left: str, right: str, language: str) -> str:
    """The right part with the noun of the left one: "my birthday is …, my sister's is …"."""
    found, owned = _DATA.ellipsis[language].match(right), _DATA.owned[language].match(left)
    if not found or not owned:
        return ""
    rest, noun = f"{found['verb']} {found['rest']}", owned["noun"]
    if language == "es":
        return f"{found['the']} {noun} de {found['whose']} {rest}"
    return f"{found['whose']}{found['s']} {noun} {rest}"


def of_named(left: str, right: str) -> str:
    """The right part with the name of whom the left one calls somebody's."""
    found = _DATA.is_somebodys.fullmatch(left)
    relative = kin(found["kin"].lower()) if found else None
    if not found or not relative:
        return ""
    if told := re.match(r"(he|she)(['’]s)?(?= \w)", right, re.IGNORECASE):
        gender = "m" if told[1].lower() == "he" else "f"
        is_same = relative.gender in ("", gender)
        return f"{found['name']}{' is' if told[2] else ''}{right[told.end() :]}" if is_same else ""
    first = Sentence(right).words[:1]
    return f"{found['name']} {right}" if first and spanish_verbs.is_third(first[0]) else ""


def _stands(part: str, language: str) -> bool:
    """Says something by itself: not "I've stopped", not "la vendí"."""
    words = set(Sentence(part).words)
    if _DATA.hangs.match(part) or words & _POINTERS[language] or has_object(Sentence(part)):
        return False
    said = {root for root in stems(part) if not root.startswith(_LIGHT)}
    return bool(said) or bool(re.search(r"\d", part))


def _clause_en(left: str, right: str, *, is_joined: bool) -> str:
    """The right part as a sentence of its own; "" when it is none, or the left one is none.

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
        return elided(left, right, "en")
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
    if found := re.match(r"(he|she)(['’]s)?(?= \w)", right, re.IGNORECASE):
        is_same = _is_only_person(left, subject, {"he": "m", "she": "f"}[found[1].lower()])
        # "She's moved" has, "she's a midwife" is.
        unclear = words[1:2] and words[1] in english.participles()
        told = found[2] if unclear and found[2] else " is" if found[2] else ""
        return f"{subject}{told}{right[found.end() :]}" if is_same else ""
    shares = words[verb] in _DATA.shared_verbs if is_joined else words[0] in _DATA.told_on
    return f"{subject} {right}" if shares else ""


def _is_only_person(text: str, subject: str, gender: str) -> bool:
    """The pronoun can be nobody else: not so in "my mum told my dad and he…"."""
    relatives = [one for word in Sentence(text).words if (one := kin(word))]
    named = [one for word in Sentence(subject).words if (one := kin(word))]
    return len(relatives) == len(named) and all(one.gender in ("", gender) for one in named)


def _subject_en(text: str) -> str:
    """What a clause is about, when a verb follows: "My sister Elena", "I"."""
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
    """ "Sam" of "Sam left Acme", where only a name can stand."""
    words = Sentence(text).words
    is_told = len(words) > 1 and english.is_finite(words[1]) and words[0] not in english.ADVERBS
    return Sentence(text).written(0) if is_told and Sentence(text).is_capitalised(0) else ""


def _tells_of_name_en(text: str) -> bool:
    """ "Rory's coeliac", "Isla has a cat"; not "Isla's cat is ill", which is about the cat."""
    sentence = Sentence(text)
    name, _, ending = sentence.words[0].partition("'") if sentence.words else ("", "", "")
    if len(sentence.words) < 2 or not sentence.is_capitalised(0) or name in NOT_NAMES:
        return False
    if ending:
        later = range(2, len(sentence.words))
        return ending == "s" and not any(english.is_sure_verb(sentence.words, n) for n in later)
    return english.is_finite(sentence.words[1]) and sentence.words[0] not in english.ADVERBS


def _tells_of_name_es(text: str) -> bool:
    """ "Marta es vegana"."""
    sentence = Sentence(text)
    if len(sentence.words) < 3 or not sentence.is_capitalised(0):
        return False
    skipped = spanish_words.ADVERBS | spanish_words.CLITICS | {"ya", "no"}
    later = range(1, len(sentence.words))
    verb = next((n for n in later if sentence.words[n] not in skipped), None)
    is_told = verb is not None and spanish_words.is_third_here(sentence, verb)
    return is_told and sentence.words[0] not in NOT_NAMES | skipped


def _clause_es(left: str, right: str, *, is_joined: bool) -> str:
    before, sentence = Sentence(left), Sentence(right)
    if is_joined and _DATA.dated["es"].match(left) and _DATA.dated["es"].match(right):
        return right
    if is_joined and _tells_of_name_es(left) and _tells_of_name_es(right):
        return right
    if not any(spanish_words.is_finite(before, n) for n in range(len(before.words))):
        return ""
    if _DATA.ellipsis["es"].match(right):
        return elided(left, right, "es")
    if _subject_es(right):
        return right
    if _DATA.ago_es.fullmatch(right):
        return ""
    skipped = spanish_words.ADVERBS | spanish_words.CLITICS | {"me", "yo"}
    verb = next((n for n, word in enumerate(sentence.words) if word not in skipped), None)
    if verb is None:
        return ""
    likes = sentence.words[verb - 1 : verb] == ["me"] and _DATA.likes.match(sentence.words[verb])
    is_we = sentence.words[verb].endswith("mos") and spanish_verbs.is_we(sentence.words[verb])
    if spanish_words.first_form(sentence, verb) or is_we or likes:
        return right if _is_of_speaker(before) or _subject_es(left) else ""
    subject = _subject_es(left) if is_joined or verb == 0 else ""
    return f"{subject} {right}" if subject and _may_share(before, sentence, verb) else ""


def _may_share(before: Sentence, sentence: Sentence, verb: int) -> bool:
    """Not so in "mi hermano tiene novia, se llama Ximena": no longer about the brother."""
    word = sentence.words[verb]
    if word == "llama" or verb + 1 >= len(sentence.words) or any(map(kin, before.words[2:])):
        return False
    is_third = spanish_words.is_third_here(sentence, verb)
    return is_third and spanish_verbs.is_singular_third(word)


def _is_of_speaker(sentence: Sentence) -> bool:
    places = range(len(sentence.words))
    return "me" in sentence.words or any(spanish_words.first_form(sentence, n) for n in places)


def _subject_es(text: str) -> str:
    """ "Mi suegra", when a verb follows."""
    sentence = Sentence(text)
    words = sentence.words
    if len(words) < 3 or words[0] not in ("mi", "mis") or not kin(words[1]):
        return ""
    end = name_end(sentence, phrase_end(sentence, 1))
    verb = end
    while verb < len(words) and words[verb] in spanish_words.ADVERBS | spanish_words.CLITICS:
        verb += 1
    if verb >= len(words) or not spanish_verbs.is_third(words[verb]):
        return ""
    return " ".join(sentence.written(n) for n in range(end))


def _relative(part: Part, language: str) -> list[Part]:
    """ "I live here with my son Mateo, who is 7": who lives here, and how old Mateo is."""
    found = _DATA.who.fullmatch(part.clause.strip().rstrip(".!"))
    if not found or not kin(found["noun"]):
        return [part]
    told = f"is {found['told']}" if found["is"] else found["told"]
    verb = Sentence(told).words[0]
    is_verb = spanish_verbs.is_third(verb) if language == "es" else verb in _TOLD_OF
    if not is_verb:
        return [part]
    quote = part.clause[found.start("name") :]
    whole = part.quote
    head = found["head"] if found["head"] in whole else whole
    about = quote if quote in whole else whole
    alone = _DATA.only_with.fullmatch(found["head"])
    companion = _companion(alone["whom"], language) if alone else None
    return [
        companion or Part(head, found["head"]),
        Part(about, f"{found['name']} {told}", is_of_another=True),
    ]


def _companions(part: Part, language: str) -> list[Part]:
    """ "I live in Valencia with my partner Marc": where, and who the partner is."""
    found = _DATA.lives.fullmatch(part.clause.strip().rstrip(".!"))
    if not found:
        return [part]
    items = _DATA.item_joint.split(found["with"])
    others = [other for item in items if (other := _companion(item, language))]
    if len(others) < len(items) or len(found["main"].split()) < 3:
        return [part]
    main = found["main"].strip()
    return [Part(main if main in part.quote else part.quote, main), *others]


def _companion(item: str, language: str) -> Part | None:
    """ "my partner Marc" -> "my partner is Marc"; "our two cats" -> "I have two cats"."""
    is_spanish = language == "es"
    if (found := _DATA.named.fullmatch(item)) and kin(found["noun"]):
        whose, verb = ("mi", "es") if is_spanish else ("my", "is")
        return Part(item, f"{whose} {found['noun']} {verb} {found['name']}")
    if (found := _DATA.counted.fullmatch(item)) and kin(found["many"].split()[1].strip(",:")):
        return Part(item, f"{'tengo' if is_spanish else 'I have'} {found['many']}")
    return None
