"""Turn Spanish in the first person into the third, and back into the second."""

import re
from itertools import pairwise

from memory.calendar.words import WEEKDAYS
from memory.extraction.grammar import spanish_verbs as verbs
from memory.extraction.grammar.sentences import USED_AS_NAMES, Sentence, capitalised, data_beside
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
    article,
    first_form,
    gender_of,
    has_enclitic,
    has_first_person,
    is_finite,
    is_third_here,
    is_we,
    name_end,
    noun_place,
    phrase_end,
    skip_adverbs,
)
from memory.text.normalise import fold

_DATA = data_beside(__file__)

_CONJUNCTIONS = LISTS["conjunctions"]
_DATIVE = frozenset(verbs.LISTS["dative"])
_DATIVE_WITH_OBJECT = frozenset(verbs.LISTS["dative_with_object"])
_AS_NAMES = frozenset(map(fold, USED_AS_NAMES))


def retell(clause: str, author: str) -> str:
    """Return the clause about its author: "vivo aquí" -> "Ana vive aquí"; "" when not certain."""
    clause, to_me = re.subn(r"^a m[ií],? (?=(?:\w+ ){0,4}me )", "", clause, flags=re.IGNORECASE)
    sentence = Sentence(clause)
    words = sentence.words
    if not words or MARKS.search(clause) or any(map(is_we, words)):
        return ""
    if set(words) & (YOU | WE | LISTS["you_verbs"]) or _has_you(words):
        return ""
    retold = _retell(sentence, author)
    if has_first_person(retold, ignore=author) or (to_me and not retold.startswith("A ")):
        return ""
    return capitalised(re.sub(r"\s+", " ", retold).strip())


def _has_you(words: list[str]) -> bool:
    """Return whether a verb is of the listener ("si la dejas"), not the noun it may be."""
    seconds = verbs.forms_of(verbs.SECOND)
    before_verb = {"si", "que", "cuando", "la", "lo", "le", "no"}
    return any(fold(word) in seconds and before in before_verb for before, word in pairwise(words))


def _retell(sentence: Sentence, author: str) -> str:
    if sentence.words[0] == "yo":
        return _of_yo(sentence, author)
    verb = _first_verb(sentence)
    if verb is None:
        return _retell_others(sentence, author)
    if sentence.words[verb] == "me":
        return _done_to_speaker(sentence, verb, author)
    return _retell_speaker(sentence, verb, author)


def _first_verb(sentence: Sentence) -> int | None:
    """Return the place of the speaker's verb, or of "me" before it; None when others come first."""
    for place, word in enumerate(sentence.words):
        if word == "me" or first_form(sentence, place):
            return place
        if word in _CONJUNCTIONS or is_third_here(sentence, place):
            return None
    return None


def _of_yo(sentence: Sentence, author: str) -> str:
    """Tell of a "yo": "yo sin café no funciono" -> "Ana sin café no funciona"."""
    words = sentence.words
    verb = next((n for n in range(1, len(words)) if is_finite(sentence, n)), None)
    if verb is None or _CONJUNCTIONS & set(words[:verb]):
        return ""
    if not first_form(sentence, verb) and not _is_of_both(words[verb]):
        return ""
    sentence.put(0, author)
    return sentence.text if _rest(sentence, 1, author, is_speaker=True) else ""


def _retell_speaker(sentence: Sentence, verb: int, author: str) -> str:
    """Tell of the speaker: "desde 2018 vivo en Madrid" -> "Desde 2018 Ana vive en Madrid"."""
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
    """Return whether the words say when, where or what; not who: "Lupe quedo con mi papá"."""
    words = sentence.words[:end]
    if not words:
        return True
    first = words[0]
    is_known = first in LISTS["before_subject"] | ADVERBS or first[0].isdigit()
    names = [n for n in range(1, end) if sentence.is_capitalised(n)]
    is_who = any(words[n - 1] in ("el", "la") and n == end - 1 for n in names)
    return is_known and not is_who


def _done_to_speaker(sentence: Sentence, me: int, author: str) -> str:
    """Tell of a "me": "me gusta el té" -> "A Ana le gusta el té"; "me mudé" -> "Ana se mudó"."""
    verb = _behind_clitics(sentence.words, me)
    if verb is not None and first_form(sentence, verb):
        return _retell_speaker(sentence, me, author)
    is_apart = any("," in sentence.gap(n) for n in range(1, me + 1))
    if is_apart or not _rest(sentence, 0, author, is_speaker=True):
        return ""
    text = sentence.text.strip()
    beginnings = LISTS["before_subject"] | ADVERBS | CLITICS | FIRST
    if sentence.words[0] in beginnings:
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
    if (match := ENCLITIC.fullmatch(word)) and has_enclitic(word):
        return is_speaker and _put_se(sentence, place, f"{match[1]}se{match[2] or ''}")
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
    """Return whether speaker or other may be meant: "mi mujer quiere que deje el café"."""
    before = words[place - 1] if place else ""
    return before in ("que", "si", "cuando") and _is_of_both(words[place])


def _is_of_both(word: str) -> bool:
    """Return whether the form is of the speaker and of others: "vivía", "deje"."""
    return verbs.shifted(word, verbs.FIRST, verbs.THIRD) == word


def _put_last(sentence: Sentence, place: int, word: str) -> None:
    """Change the word that stands here, not the name that was put before it."""
    before, space, _ = sentence.written(place).rpartition(" ")
    sentence.put(place, before + space + word)


def _put_su(sentence: Sentence, place: int, author: str) -> bool:
    _put_last(sentence, place, "sus" if sentence.words[place] == "mis" else "su")
    return True


def _put_se(sentence: Sentence, place: int, word: str) -> bool:
    """Change "quiero mudarme", unless somebody else comes in between ("que")."""
    before = sentence.words[:place]
    others = [n for n, w in enumerate(before) if w == "que" and before[n - 1] not in _DATA.have_to]
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
    """Return whether the speaker takes "le": "me dieron una beca", not "me operaron"."""
    words = sentence.words
    infinitives = verbs.infinitives(words[place])
    if not verbs.is_third(words[place]):
        return False
    after = words[place + 1 : place + 3]
    if infinitives & {"haber", "estar"}:
        return bool(after) and _is_of(after[0], _DATIVE)
    if "ir" in infinitives:
        return bool(set(after[:1]) & _DATA.well) or (len(after) > 1 and _is_of(after[1], _DATIVE))
    if infinitives & _DATIVE:
        return True
    has_object = bool(after) and (after[0] in LISTS["determiners"] or after[0][0].isdigit())
    # "que me ponga": of the speaker or of somebody else.
    is_sure = has_object and not _is_of_both(words[place])
    return bool(infinitives & _DATIVE_WITH_OBJECT) and is_sure


def _is_of(word: str, infinitives: frozenset[str]) -> bool:
    """Return whether it is a participle, gerund or infinitive of one of these verbs."""
    irregular = {"dicho": "decir", "escrito": "escribir"}
    if word in irregular:
        return irregular[word] in infinitives
    match = re.fullmatch(r"(\w+?)(?:ado|ido|ando|iendo|[aei]r)", word)
    return match is not None and any(match[1] + end in infinitives for end in ("ar", "er", "ir"))


def _put_owner(sentence: Sentence, place: int, author: str) -> bool:
    preposition = "con" if sentence.words[place] == "conmigo" else "de"
    sentence.put(place, f"{preposition} {author}")
    return bool(author)


def _put_article(sentence: Sentence, place: int, author: str) -> bool:
    """Change "mi hermano Memo es" to "el hermano de Ana, Memo, es"."""
    words = sentence.words
    noun = noun_place(sentence, place + 1)
    if noun is None:
        return False
    the = article(words[noun], many=words[place] == "mis")
    # "Pablo es mi dentista" tells whose dentist he is without a gender: "es dentista de Ana".
    is_bare = not the and place > 0 and words[place - 1] in ("es", "era", "fue")
    if not (the or is_bare) or not author or sentence.is_capitalised(noun):  # "mi Toño"
        return False
    if the:
        sentence.put(place, the)
    else:
        sentence.drop(place)
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


def _retell_others(sentence: Sentence, author: str) -> str:
    """Tell of others: "Mi hermana vive conmigo" -> "La hermana de Ana vive con Ana"."""
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
    """Return whether what a verb is about stands before it, or a "mi …" right behind it."""
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
    """Return whether no "que" makes it say more about a noun: "mi suegra, que vive abajo"."""
    start = place
    while start and sentence.words[start - 1] in ADVERBS | CLITICS:
        start -= 1
    hangs = start and sentence.words[start - 1] in ("que", "quien", "donde", "cuando")
    return is_finite(sentence, place) and not hangs


def _begins(words: list[str], verb: int) -> bool:
    """Return whether no subject stands before the verb: "vive conmigo"."""
    return all(word in ADVERBS | CLITICS | {"antes", "ayer"} for word in words[:verb])


def _has_subject(sentence: Sentence) -> bool:
    """Return whether behind "mi hermana mayor Lucía" comes a known verb, and nothing else."""
    words = sentence.words
    noun = noun_place(sentence, 1)
    if noun is None or not article(words[noun], many=words[0] == "mis"):
        return False
    place = skip_adverbs(words, name_end(sentence, phrase_end(sentence, noun)))
    return place < len(words) and verbs.is_third(words[place])


_YOURS = {"me": "te", "mi": "tu", "mis": "tus", "mí": "ti", "conmigo": "contigo", "yo": "tú"}
_BACK = {"su": "tu", "sus": "tus", "consigo": "contigo"}


_TIMES = frozenset({*WEEKDAYS, *"manana tarde noche dia semana mes ano verano finde".split()})


def address(clause: str) -> str:
    """Say first-person words back: "vivo con mi madre" -> "Vives con tu madre"."""
    sentence = Sentence(re.sub(r"^a mi(?=,? (?:\w+ ){0,4}me )", "a mí", clause, flags=re.I))
    words = sentence.words
    if not words or (YOU | WE | MINE) & set(words) or any(map(is_we, words)):
        return ""
    if _DATA.told_to_us.search(clause):
        return ""
    if MARKS.search(clause) or not all(_addressed(sentence, n) for n in range(len(words))):
        return ""
    retold = re.sub(r"\s+", " ", sentence.text).strip()
    return "" if has_first_person(retold) else capitalised(retold)


def _addressed(sentence: Sentence, place: int) -> bool:
    """Put the word that stands here into the second person; False when that is not certain."""
    words = sentence.words
    word = words[place]
    if word == "mi" and place and words[place - 1] in ("a", "para", "por"):
        has_noun = place + 1 < len(words) and gender_of(words[place + 1])
        sentence.put(place, "tu" if has_noun else "ti")
    elif word in _YOURS:
        sentence.put(place, _YOURS[word])
    elif (match := ENCLITIC.fullmatch(word)) and has_enclitic(word):
        sentence.put(place, f"{match[1]}te{match[2] or ''}")
    else:
        return _addressed_verb(sentence, place)
    return True


def _addressed_verb(sentence: Sentence, place: int) -> bool:
    form = first_form(sentence, place)
    if form and _may_be_past(sentence.words, place):
        return False
    if form:
        second = verbs.shifted(form, verbs.FIRST, verbs.SECOND)
        sentence.put(place, second)
        return bool(second)
    # "vivía", "era": of the speaker or of somebody else.
    word = sentence.words[place]
    of_both = verbs.shifted(word, verbs.FIRST, verbs.THIRD) == word
    return form is not None and not (of_both and is_third_here(sentence, place))


def _may_be_past(words: list[str], place: int) -> bool:
    """Return whether the accent of "cobró" may be missing: "la veterinaria cobro 95 mil"."""
    if not words[place].endswith("o"):
        return False
    before = place - 1
    while before > 0 and words[before] in _DATA.before_verb:
        before -= 1
    plain = fold(words[before])
    is_time = plain in _TIMES or plain.removesuffix("s") in _TIMES
    return before > 0 and words[before - 1] in _DATA.determiners and not is_time


def address_retold(fact: str, name: str) -> str:
    """Return a fact about the person said to them: "Ana vive aquí" -> "Vives aquí"."""
    named = rf"(?<!\w)(?i:{re.escape(name)})(?!\w)"
    if match := re.fullmatch(rf"A\s+{named}\s+(.+)", fact, re.DOTALL):
        return _experienced(match[1])
    if re.search(rf"\b(?:el|la|los|las)\s+(?:\S+\s+){{1,4}}?(?:de|con)\s+{named}", fact, re.I):
        return _owned(fact, named)
    match = re.fullmatch(rf"((?:[\w ]+ )?){named}\s+(.+)", fact, re.DOTALL)
    if not match or not (predicate := _third(match[2])):
        return ""
    return capitalised(match[1] + predicate)


def _owned(fact: str, named: str) -> str:
    """Tell what is theirs: "La hermana de Ana vive con Ana" -> "Tu hermana vive contigo"."""
    # What is theirs is what stands nearest: "el cumple de la madre de Ana" is that of their mother.
    word = r"(?!(?:el|la|los|las|del|al)\b)\w+"
    phrase = rf"((?:{word} ){{0,3}}?{word})"
    fact = re.sub(rf"\b(de|a)l (?={phrase} de {named})", r"\1 el ", fact)
    text = re.sub(rf"\b(?:el|la) {phrase} de {named}, ([^,]+),", r"tu \1 \2", fact, flags=re.I)
    text = re.sub(rf"\b(?:el|la) {phrase} de {named}", r"tu \1", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(?:los|las) {phrase} de {named}", r"tus \1", text, flags=re.IGNORECASE)
    text = re.sub(rf"\bcon {named}", "contigo", text)
    return "" if re.search(named, text) else capitalised(text)


def _experienced(rest: str) -> str:
    """Tell what they feel: "no le gusta" -> "No te gusta"."""
    sentence = Sentence(rest)
    places = [n for n, word in enumerate(sentence.words) if word in ("le", "se")]
    if len(places) != 1 or _has_joined_verb(sentence, places[0] + 1):
        return ""
    sentence.put(places[0], "te")
    _put_back(sentence)
    return capitalised(sentence.text)


def _put_back(sentence: Sentence) -> None:
    for place, word in enumerate(sentence.words):
        if word in _BACK:
            sentence.put(place, _BACK[word])


def _third(rest: str) -> str:
    """Return the verb of a fact about the person, in the second person."""
    sentence = Sentence(rest)
    words = sentence.words
    verb = skip_adverbs(words)
    if verb == len(words) or _has_joined_verb(sentence, verb):
        return ""
    second = verbs.shifted(words[verb], verbs.THIRD, verbs.SECOND)
    if not second:
        return ""
    sentence.put(verb, second)
    for place in range(verb):
        if words[place] == "se":
            sentence.put(place, "te")
    for place in range(verb + 1, len(words)):
        if match := _DATA.enclitic_se.fullmatch(words[place]):
            sentence.put(place, f"{match[1]}te{match[2] or ''}")
    _put_back(sentence)
    return sentence.text


def _has_joined_verb(sentence: Sentence, main: int) -> bool:
    """Return whether another verb or pronoun may be about the person, too."""
    words = sentence.words
    joins = ("y", "pero", "e", "ni", "o", "que", "porque", "pues", "ahora", "ya", "no", "lo")
    # "… un perro que se llama Max" is about the dog.
    end = next(
        (n for n in range(main + 2, len(words)) if words[n] == "que" and _is_noun(sentence, n - 1)),
        len(words),
    )
    return any(
        words[n] in ("se", "le") or (words[n - 1] in joins and is_third_here(sentence, n))
        for n in range(main + 1, end)
    )


def _is_noun(sentence: Sentence, place: int) -> bool:
    """Return whether it is a name, or stands behind an article or a number: not "dice que"."""
    before = sentence.words[place - 1]
    return sentence.is_capitalised(place) or before in _DATA.before_noun
