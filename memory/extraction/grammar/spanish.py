"""Spanish clauses of one person retold about that person, only where the grammar is certain."""

import re
from itertools import pairwise

from memory.extraction.grammar import spanish_verbs as verbs
from memory.extraction.grammar.kinship import USED_AS_NAMES
from memory.extraction.grammar.sentences import Sentence, capitalised
from memory.extraction.grammar.spanish_nouns import article, name_end, noun_place, phrase_end
from memory.extraction.grammar.spanish_words import (
    ADVERBS,
    CLITICS,
    ENCLITIC,
    FIRST,
    LISTS,
    MARKS,
    MINE,
    WE,
    YOU,
    first_form,
    has_enclitic,
    has_first_person,
    is_finite,
    is_third_here,
    is_we,
)
from memory.text.normalise import fold

_CONJUNCTIONS = LISTS["conjunctions"]
_DATIVE = frozenset(verbs.LISTS["dative"])
_DATIVE_WITH_OBJECT = frozenset(verbs.LISTS["dative_with_object"])
_WELL = frozenset("bien mal mejor genial fatal peor muy súper".split())
# "tengo que mudarme": the "que" brings in nobody else.
_HAVE_TO = frozenset("tengo tenía tuve hay había tendré tocó toca".split())
_AS_NAMES = frozenset(map(fold, USED_AS_NAMES))


def retell(clause: str, author: str) -> str:
    """The clause about its author: "vivo aquí" -> "Ana vive aquí"; "" when not certain."""
    clause, to_me = re.subn(r"^a m[ií],? (?=(?:\w+ ){0,4}me )", "", clause, flags=re.IGNORECASE)
    sentence = Sentence(clause)
    words = sentence.words
    if not words or MARKS.search(clause) or any(map(is_we, words)):
        return ""
    if set(words) & (YOU | WE | LISTS["you_verbs"]) or _has_you(words):
        return ""
    told = _retold(sentence, author)
    if not told or has_first_person(told, ignore=author) or (to_me and not told.startswith("A ")):
        return ""
    return capitalised(re.sub(r"\s+", " ", told).strip())


def _has_you(words: list[str]) -> bool:
    """ "si la dejas": a verb of the listener, not the noun it may be."""
    seconds = verbs.forms_of(verbs.SECOND)
    before_verb = {"si", "que", "cuando", "la", "lo", "le", "no"}
    return any(fold(word) in seconds and before in before_verb for before, word in pairwise(words))


def _retold(sentence: Sentence, author: str) -> str:
    if sentence.words[0] == "yo":
        return _of_yo(sentence, author)
    verb = _first_verb(sentence)
    if verb is None:
        return _of_others(sentence, author)
    if sentence.words[verb] == "me":
        return _done_to_speaker(sentence, verb, author)
    return _of_speaker(sentence, verb, author)


def _first_verb(sentence: Sentence) -> int | None:
    """Where the speaker's verb stands, or the "me" before it; None when others come first."""
    for place, word in enumerate(sentence.words):
        if word == "me" or first_form(sentence, place):
            return place
        if word in _CONJUNCTIONS or is_third_here(sentence, place):
            return None
    return None


def _of_yo(sentence: Sentence, author: str) -> str:
    """ "yo sin café no funciono" -> "Ana sin café no funciona"."""
    words = sentence.words
    verb = next((n for n in range(1, len(words)) if is_finite(sentence, n)), None)
    if verb is None or _CONJUNCTIONS & set(words[:verb]):
        return ""
    if not first_form(sentence, verb) and not _is_of_both(words[verb]):
        return ""
    sentence.put(0, author)
    return sentence.text if _rest(sentence, 1, author, is_speaker=True) else ""


def _of_speaker(sentence: Sentence, verb: int, author: str) -> str:
    """ "desde 2018 vivo en Madrid" -> "Desde 2018 Ana vive en Madrid"."""
    start = verb
    while start and sentence.words[start - 1] in ADVERBS | CLITICS | {"me"}:
        if "," in sentence.gap(start):
            break
        start -= 1
    if start and sentence.words[start - 1] == "yo":
        start -= 1
        sentence.drop(start)
        start += 1
    if (FIRST - {"yo"}) & set(sentence.words[:start]) or not _may_precede(sentence, start):
        return ""
    if author:
        word = sentence.written(start)
        sentence.put(start, f"{author} {word[0].lower()}{word[1:]}")
    return sentence.text if _rest(sentence, 0, author, is_speaker=True) else ""


def _may_precede(sentence: Sentence, end: int) -> bool:
    """Words that say when or where, or what; not who: "Lupe quedo con mi papá"."""
    words = sentence.words[:end]
    if not words:
        return True
    first = words[0]
    is_known = first in LISTS["before_subject"] | ADVERBS or first[0].isdigit()
    names = [n for n in range(1, end) if sentence.is_capitalised(n)]
    is_who = any(words[n - 1] in ("el", "la") and n == end - 1 for n in names)
    return is_known and not is_who


def _done_to_speaker(sentence: Sentence, me: int, author: str) -> str:
    """ "me gusta el té" -> "A Ana le gusta el té"; "me mudé" -> "Ana se mudó"."""
    verb = _behind_clitics(sentence.words, me)
    if verb is not None and first_form(sentence, verb):
        return _of_speaker(sentence, me, author)
    is_apart = any("," in sentence.gap(n) for n in range(1, me + 1))
    if is_apart or not _rest(sentence, 0, author, is_speaker=True):
        return ""
    text = sentence.text.strip()
    known = LISTS["before_subject"] | ADVERBS | CLITICS | FIRST
    if sentence.words[0] in known:
        text = f"{text[0].lower()}{text[1:]}"
    return f"A {author} {text}" if author else capitalised(text)


def _behind_clitics(words: list[str], place: int) -> int | None:
    return next((n for n in range(place + 1, len(words)) if words[n] not in CLITICS), None)


def _rest(sentence: Sentence, start: int, author: str, *, is_speaker: bool) -> bool:
    """Change every word of the first person; False when one of them is not certain."""
    words = sentence.words
    # "su" would be the speaker's, and was somebody else's.
    if is_speaker and {"su", "sus", "suyo", "suya", "suyos", "suyas"} & set(words):
        return False
    return all(
        _changed(sentence, place, author, is_speaker=is_speaker)
        for place in range(start, len(words))
    )


def _changed(sentence: Sentence, place: int, author: str, *, is_speaker: bool) -> bool:
    word = sentence.words[place]
    if word in ("mi", "mis"):
        put = _put_su if is_speaker else _put_article
        return place + 1 < len(sentence.words) and put(sentence, place, author)
    if word == "me":
        return is_speaker and _put_me(sentence, place)
    if word in ("mí", "yo"):
        return not sentence.written(place)
    if word in MINE or word == "conmigo":
        return not is_speaker and _put_owner(sentence, place, author)
    if (found := ENCLITIC.fullmatch(word)) and has_enclitic(word):
        return is_speaker and _put_se(sentence, place, f"{found[1]}se{found[2] or ''}")
    return _put_verb(sentence, place, is_speaker=is_speaker)


def _put_verb(sentence: Sentence, place: int, *, is_speaker: bool) -> bool:
    form, word = first_form(sentence, place), sentence.words[place]
    if form is None or (not is_speaker and _may_be_speaker(sentence.words, place)):
        return False
    # "Pregunto al director, jugaba con mi padre": who played?
    is_imperfect = word.endswith(("aba", "ía", "era", "iba")) and _is_of_both(word)
    if is_speaker and is_imperfect and "," in sentence.gap(place):
        return False
    third = verbs.shifted(form, verbs.FIRST, verbs.THIRD) if form else ""
    if third and is_speaker:
        _put_last(sentence, place, third)
    return not form or (bool(third) and is_speaker)


def _may_be_speaker(words: list[str], place: int) -> bool:
    """ "mi mujer quiere que deje el café": of the speaker or of her."""
    before = words[place - 1] if place else ""
    return before in ("que", "si", "cuando") and _is_of_both(words[place])


def _is_of_both(word: str) -> bool:
    """ "vivía", "deje": of the speaker or of others."""
    return verbs.shifted(word, verbs.FIRST, verbs.THIRD) == word


def _put_last(sentence: Sentence, place: int, word: str) -> None:
    """Change the word that stands here, not the name that was put before it."""
    before, space, _ = sentence.written(place).rpartition(" ")
    sentence.put(place, before + space + word)


def _put_su(sentence: Sentence, place: int, author: str) -> bool:
    _put_last(sentence, place, "sus" if sentence.words[place] == "mis" else "su")
    return True


def _put_se(sentence: Sentence, place: int, word: str) -> bool:
    """ "quiero mudarme": of the speaker, unless somebody else comes in between ("que")."""
    before = sentence.words[:place]
    others = [n for n, w in enumerate(before) if w == "que" and before[n - 1] not in _HAVE_TO]
    if others:
        return False
    _put_last(sentence, place, word)
    return True


def _put_me(sentence: Sentence, place: int) -> bool:
    words = sentence.words
    verb = _behind_clitics(words, place)
    if verb is None:
        return False
    if first_form(sentence, verb):
        _put_last(sentence, place, "se")
        return True
    if words[place + 1] == "se" or not _takes_le(sentence, verb):
        return False
    _put_last(sentence, place, "se" if verb > place + 1 else "le")
    return True


def _takes_le(sentence: Sentence, place: int) -> bool:
    """What is done to the speaker takes "le": "me dieron una beca", not "me operaron"."""
    words = sentence.words
    known = verbs.infinitives(words[place])
    if not verbs.is_third(words[place]):
        return False
    after = words[place + 1 : place + 3]
    if known & {"haber", "estar"}:
        return bool(after) and _is_of(after[0], _DATIVE)
    if "ir" in known:
        return bool(set(after[:1]) & _WELL) or (len(after) > 1 and _is_of(after[1], _DATIVE))
    if known & _DATIVE:
        return True
    has_object = bool(after) and (after[0] in LISTS["determiners"] or after[0][0].isdigit())
    # "que me ponga": of the speaker or of somebody else.
    is_sure = has_object and not _is_of_both(words[place])
    return bool(known & _DATIVE_WITH_OBJECT) and is_sure


def _is_of(word: str, known: frozenset[str]) -> bool:
    """A participle, gerund or infinitive of one of these verbs."""
    irregular = {"dicho": "decir", "escrito": "escribir"}
    if word in irregular:
        return irregular[word] in known
    found = re.fullmatch(r"(\w+?)(?:ado|ido|ando|iendo|[aei]r)", word)
    return found is not None and any(found[1] + end in known for end in ("ar", "er", "ir"))


def _put_owner(sentence: Sentence, place: int, author: str) -> bool:
    preposition = "con" if sentence.words[place] == "conmigo" else "de"
    sentence.put(place, f"{preposition} {author}")
    return bool(author)


def _put_article(sentence: Sentence, place: int, author: str) -> bool:
    """ "mi hermano Memo es" -> "el hermano de Ana, Memo, es"."""
    words = sentence.words
    noun = noun_place(sentence, place + 1)
    if noun is None:
        return False
    the = article(words[noun], many=words[place] == "mis")
    if not the or not author or sentence.is_capitalised(noun):  # "mi Toño"
        return False
    sentence.put(place, the)
    if the == "el" and place and words[place - 1] in ("de", "a"):
        sentence.put(place - 1, {"de": "del", "a": "al"}[words[place - 1]])
        sentence.drop(place)
    end = phrase_end(sentence, noun)
    name = name_end(sentence, end)
    opens = name > end and "," not in sentence.gap(end)
    closes = opens and name < len(words) and "," not in sentence.gap(name)
    sentence.put(end - 1, f"{sentence.written(end - 1)} de {author}{',' if opens else ''}")
    if closes:
        sentence.put(name - 1, f"{sentence.written(name - 1)},")
    return True


def _of_others(sentence: Sentence, author: str) -> str:
    """ "Mi hermana vive conmigo" -> "La hermana de Ana vive con Ana"."""
    words = sentence.words
    as_name = fold(words[0]) in _AS_NAMES
    if not (as_name or FIRST & set(words)) or not _is_statement(sentence):
        return ""
    if not _rest(sentence, 0, author, is_speaker=False):
        return ""
    if not as_name:
        return sentence.text
    the = article(words[0], many=False)
    return f"{the} {words[0]} de {author}{sentence.text[len(words[0]) :]}" if the and author else ""


def _is_statement(sentence: Sentence) -> bool:
    """Has a verb, and what it is about stands before it or is a "mi …" right behind it."""
    words = sentence.words
    if words[0] in _CONJUNCTIONS | {"con"} or words[:2] in (["desde", "que"], ["hasta", "que"]):
        return False
    if words[0] in ("mi", "mis", "mí") and not _has_subject(sentence):
        return False
    verb = next((n for n in range(len(words)) if _is_main_verb(sentence, n)), None)
    if verb is None:
        return False
    if not _begins(words, verb):
        return True
    # "falleció mi abuela", but not "es mi cuñado".
    has_subject = words[verb + 1 : verb + 2] in (["mi"], ["mis"])
    return has_subject and "ser" not in verbs.infinitives(words[verb])


def _is_main_verb(sentence: Sentence, place: int) -> bool:
    """Not of a "que" that only says more about a noun: "mi suegra, que vive abajo"."""
    start = place
    while start and sentence.words[start - 1] in ADVERBS | CLITICS:
        start -= 1
    hangs = start and sentence.words[start - 1] in ("que", "quien", "donde", "cuando")
    return is_finite(sentence, place) and not hangs


def _begins(words: list[str], verb: int) -> bool:
    """No subject stands before the verb: "vive conmigo"."""
    return all(word in ADVERBS | CLITICS | {"antes", "ayer"} for word in words[:verb])


def _has_subject(sentence: Sentence) -> bool:
    """Behind "mi hermana mayor Lucía" comes a known verb, and nothing else."""
    words = sentence.words
    noun = noun_place(sentence, 1)
    if noun is None or not article(words[noun], many=words[0] == "mis"):
        return False
    place = name_end(sentence, phrase_end(sentence, noun))
    while place < len(words) and words[place] in ADVERBS | CLITICS:
        place += 1
    return place < len(words) and verbs.is_third(words[place])
