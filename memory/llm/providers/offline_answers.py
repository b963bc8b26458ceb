"""Which sentence of what was recalled answers a question, for the built-in provider.

A recall brings whatever may help a model. Somebody who asks wants the one sentence they asked for,
or to hear that it is not known. Each sentence gets the probability that it answers: by the judge,
by meaning without names, by the words that the two share, and by what kind of answer is asked for.
The weights were fitted on talks that strangers wrote and on the first half of the questions of
`bench.answers`.
"""

import math
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import zip_longest

from memory.extraction import edges, intents, statements
from memory.extraction.frames.reading import frames_of
from memory.extraction.grammar import spanish_verbs
from memory.extraction.wording import told_to
from memory.llm.providers.offline_fit import fits_type, leaves_focus, tells_plainly
from memory.llm.providers.offline_questions import FRAME, NAME, Asked, asked_by_kin, bare_names
from memory.llm.request import Briefing, Recalled
from memory.retrieval import judge
from memory.retrieval.understand import Question, follow, in_plain_words, without_names
from memory.text import kinship
from memory.text import normalise as words
from memory.text.summaries import last_question, without_address
from memory.text.summaries import sentences as split_sentences
from memory.vectors import likeness as meaning

# What each part of `features` counts, by `python -m bench.answer_weights`.
WEIGHTS = {
    "bias": -5.72, "judge": 6.32, "like": 2.48, "all": 0.73, "lacks": 0.54, "theirs": 1.43,
    "plain": 1.7, "newer": -1.84, "recent": 1.52, "long": -0.42, "many": -0.48,
}  # fmt: skip
# From where on a sentence is the answer, is thought to be, and is near enough to be shown as such.
CERTAIN, THOUGHT, NEAR = 0.69, 0.63, 0.28
# A sentence of so few characters says little else.
PLAIN = 60
# What holds nothing of the kind that is asked for is never certain: an age without a number.
NEVER = -3.0
# "I broke my wrist" tells which bone, "Pickle is 4" not which colour.
IN_OTHER_WORDS = 0.88
# Who is meant is known there, whichever words the question has for them.
NEAR_BY_NAME = 0.2
# So likely something said later must be, and so little behind, to stand instead.
LIKELY, BEHIND = 0.6, 0.25
# "Where did I live before?" is answered by what is over.
_ASKS_PAST = re.compile(
    r"\b(?:before|used to|previous\w*|former\w*|originally|was|were|did|had|antes|era|fue|ten[ií]a"
    r"|viv[ií]a|trabajaba|anterior\w*)\b",
    re.I,
)
_WHETHER_I = re.compile(
    r"(?i:(?:and |so |but )?(?:(?P<am>am)|do|did|have|can) i (?:still |really |even )?"
    r"(?P<rest>(?!know|remember|tell)[^?]+)\??"
    r"|[¿\s]*(?P<told>(?:(?:todav[ií]a|a[uú]n|ya) )?(?:me (?:gust|encant)\w+|soy|como"
    r"|bebo|fumo|tomo) [^?]+|fumo)\?)"
)
_WHETHER_I_HAVE = re.compile(
    r"\W*(?:(?:y|and) )?(?:do i have|have i got|tengo|tenemos|do we have)\b"
)
# What one has or is may be many things.
VAGUE_FRAMES = frozenset({"owns:pet", "job", "name", "employer", "home", "age"})
_IS_A = re.compile(
    r"\W*(?:(?:is|was|es|era) \w+|\w+ (?:es|era)) (?:an?|my|una?|mi) \w+\W*", re.IGNORECASE
)
# How far behind the best another may be and still be part of the answer.
BESIDE = 0.1
MOST, MOST_READ, MOST_LEADS = 3, 24, 3
KENO = "keno"
_SPOUSES = ("wife", "husband", "partner")
_MARRIED = re.compile(
    r"(?:i['’]?m |i am |i got |we got )?(?:happily )?married to\b|(?:estoy |soy )?casad[oa] con\b",
    re.I,
)
_LIVE_AND_WORK = ("live", "home", "city", "town", "work", "job")
_MINE = re.compile(r"\b(?:my|our|mis?|nuestr[oa]s?)\b", re.I)
_OF_ME = re.compile(r"\W*(?:i|i['’]?m|i['’]?ve|we|we['’]re|yo|me|soy|estoy|tengo|nos)\b", re.I)
_LIVES_AT = re.compile(r"\b(?:live[sd]?|living|viv(?:o|e|es|imos|en))\b.*\d", re.I)
_TURN = re.compile(r"^\s*-?\s*(?P<who>[^:\n]{1,40}):\s+(?P<said>.+)$")
_PHOTO = re.compile(r"\s*\[shares [^\]]*\]")


@dataclass(frozen=True)
class Found:
    """What answers; where it is not `exact` it is thought to, or is only near."""

    memories: Sequence[Recalled] = ()
    exact: bool = True
    thought: bool = False


def find(briefing: Briefing, question: str) -> Found:
    """The sentences that answer, the surest first; or those that are near."""
    spoken = candidates(briefing)
    found = find_in(briefing, spoken, question)
    own = "\n".join(one.quote or one.text for one in spoken if one.by_asker)
    if not found.exact and (by_kin := asked_by_kin(question, own)):
        again = find_in(briefing, spoken, by_kin)
        return again if again.exact and again.memories else found
    return found


def find_in(briefing: Briefing, spoken: Sequence[Recalled], question: str) -> Found:
    spoken = _followed(briefing, spoken, question)
    asked = asked_of(briefing, question, spoken)
    if told := _told_of_asker(question, spoken, briefing.person):
        return Found([told])
    fitting = [one for one in spoken if is_about(one, asked)]
    if not asked.topics and not asked.names and not asked.is_mine:
        return Found([one for one in fitting if one.kind == "fact"][:MOST])
    read = [one for one in spoken if one in fitting or _may_be_about(one, asked)][:MOST_READ]
    rows = features(asked, read)
    weighed = sorted(zip(probabilities(rows), read, rows, strict=True), key=lambda row: -row[0])
    ranked = _without_leads([(sure, one) for sure, one, _row in weighed], asked)
    may_be = [
        one
        for _sure, one, row in weighed
        if row["lacks"] > NEVER
        and not _is_of_others(one, asked)
        and not _only_near(one, asked, row)
    ]
    best = [(sure, one) for sure, one in ranked if sure >= CERTAIN and one in may_be]
    if best:
        near = [one for sure, one in best if sure >= best[0][0] - BESIDE]
        near = _ended([one for _sure, one in best], asked) or near
        return Found(_both_sides(_newest(_apart(near), asked, fitting), fitting)[:MOST])
    if now := _begun(fitting, asked):
        return Found([now])
    thought = bool(ranked) and ranked[0][0] >= THOUGHT and ranked[0][1] in may_be
    thought = thought and not _leaves_unsaid(ranked[0][1], asked)
    near = [one for sure, one in ranked if sure >= (NEAR_BY_NAME if one.asked else NEAR)]
    # What holds every word that is asked for, and the kind of thing that is, is never denied.
    holds = [one for _sure, one, row in weighed if row["all"] and not row["lacks"]]
    near = near or (holds if asked.topics else [])
    # Who is asked about by a relation is not named by what only names the other; whether Pixel is
    # a dog is told by what names Pixel.
    by_kin = asked.kin and not _IS_A.fullmatch(question)
    near = near or _naming(fitting if by_kin else spoken, asked)
    near = _newest(_apart(near), asked, fitting)[:MOST]
    return Found(near, exact=False, thought=thought)


def _told_of_asker(question: str, spoken: Sequence[Recalled], person: str) -> Recalled | None:
    """What says whether it is so, by yes or by no: "do I like coffee?", "¿soy alérgica?"."""
    polar = _WHETHER_I.fullmatch(question.strip())
    if not polar:
        return None
    so = polar["told"] or f"I {polar['am'] or ''} {polar['rest']}"
    keys = {frame.key for frame in frames_of(so, subject=person)} - VAGUE_FRAMES
    mine = set(words.words(words.fold(person)))
    told = [
        one
        for one in spoken
        if (one.by_asker or not one.said_by)
        and set(words.words(words.fold(one.subject))) <= mine
        and any(not holder for key, holder in _framed(one).items() if key in keys)
    ]
    return max(told, key=lambda one: (_said_at(one), one.kind == "fact"), default=None)


def _only_near(one: Recalled, asked: Asked, row: dict[str, float]) -> bool:
    """Whether it lacks what is asked for, and the judge does not see it in other words."""
    if _WHETHER_I_HAVE.match(asked.folded) and not row["all"]:
        return True
    sees = row["judge"] >= IN_OTHER_WORDS or row["plain"] or row["all"]
    return not sees and _leaves_unsaid(one, asked)


def _is_of_others(one: Recalled, asked: Asked) -> bool:
    holders = _holders(one, asked)
    return bool(holders) and all(holders) and not _is_theirs(one, asked)


def _holders(one: Recalled, asked: Asked) -> list[set[str]]:
    """Of whom it tells what is asked for: where somebody lives or works has a frame of its own."""
    return [_labels(holder) for key, holder in _told(one).items() if key in asked.frames]


def _is_theirs(one: Recalled, asked: Asked) -> bool:
    """Whether it is told of whom the question is about, and not of their cousin."""
    holders = _holders(one, asked)
    if holders and asked.names & (set(words.words(words.fold(one.subject))) | _kin_named(one.text)):
        return True
    return any(holder & asked.kin if asked.kin else not holder for holder in holders)


def _kin_named(said: str) -> set[str]:
    """Who is told of by name and as somebody's: "my daughter Fiona is a vet"."""
    found = re.finditer(r"\b(?P<kin>\w+),? (?P<name>\w+)", said)
    return {words.fold(one["name"]) for one in found if kinship.kin(one["kin"])}


def _is_plain(one: Recalled, asked: Asked) -> bool:
    """Whether it tells in few words just that of just them."""
    if len(one.text) > PLAIN or _is_of_others(one, asked):
        return False
    return _is_of_them(one, asked) and tells_plainly(asked, one.text)


def _is_of_them(one: Recalled, asked: Asked) -> bool:
    """Whether it is told of the very person who is asked about, and of nobody of theirs."""
    if asked.asks_own_name:
        return True
    if asked.names:
        return asked.names <= _said(f"{one.subject} {one.text}")
    told = statements.Statement.of(one.text).concepts
    kin = {label for label in told if statements.kind(label) == "kin"}
    if asked.kin:
        return kin <= asked.kin
    is_of_us = asked.is_mine or asked.is_about_us
    return is_of_us and not kin and _is_of_speaker(one.quote or one.text)


def _is_of_speaker(said: str) -> bool:
    first = words.words(said)[:1]
    if first == ["no"]:
        return _is_of_speaker(said.strip()[2:])
    is_past = first and (spanish_verbs.first_person(first[0]) or spanish_verbs.bare_past(first[0]))
    return bool(_OF_ME.match(said) or is_past)


def _labels(holder: Iterable[str]) -> set[str]:
    return {label for word in holder for label in statements.concepts().of(word)}


def _without_leads(
    ranked: list[tuple[float, Recalled]], asked: Asked
) -> list[tuple[float, Recalled]]:
    """Without what only led to an answer, which is told together with it.

    "My sister's husband is Dave" is no answer to what he does once "Dave is a plumber" is known.
    """
    led = [
        one
        for place, (_, one) in enumerate(ranked)
        if one.via and (not place or fits_type(asked, one.text) > fits_type(asked, one.via))
    ]
    leads = [replace(one, text=one.via, quote="") for one in led]
    return [
        (sure, one)
        for sure, one in ranked
        if one.via or not any(says_the_same(one, lead) for lead in leads)
    ]


def _newest(near: list[Recalled], asked: Asked, fitting: Sequence[Recalled]) -> list[Recalled]:
    """Of what one person said with all words of the question only the last: it changed.

    Where the frame of the answer is known, "I moved to Goa" comes after "I live in Pune".
    """
    if asked.frames and near:
        last = _last_told(near[0], asked.frames, fitting)
        near = [last, *(one for one in near[1:] if not _tells_older(one, last, asked.frames))]
    near = [one for one in near if not any(_counts_older(one, other) for other in near)]
    whole = [
        one
        for one in near
        if one.said_at and (asked.covers_all(one.text) or asked.frames & _told(one).keys())
    ]
    if len(whole) < 2 or len({one.said_by for one in whole}) > 1:
        return near
    return [max(whole, key=_said_at)]


def _ended(best: list[Recalled], asked: Asked) -> list[Recalled]:
    """Return what says that it is over, if the same person said so after the surest answer."""
    over = [
        one
        for one in best
        if edges.is_over(one.text)
        and one.said_by == best[0].said_by
        and _said_at(one) > _said_at(best[0])
        and asked.covers_all(one.text)
    ]
    return [max(over, key=_said_at)] if over and not edges.is_over(best[0].text) else []


def _begun(fitting: Sequence[Recalled], asked: Asked) -> Recalled | None:
    """What took the place of what is over: "I left Google, I joined Netflix" of where I work."""
    told = [one for one in fitting if asked.frames & _told(one).keys()]
    over = [one for one in told if edges.is_over(one.text)]
    if not over:
        return None
    last = _last_told(max(over, key=_said_at), asked.frames, fitting)
    return None if edges.is_over(last.text) else last


def _last_told(one: Recalled, keys: set[str], fitting: Sequence[Recalled]) -> Recalled:
    """Return what was said last, by the same person about the same, in one of these frames."""
    holders = {key: holder for key, holder in _told(one).items() if key in keys}
    same = [
        other
        for other in fitting
        # An episode does not tell who said a line of it.
        if other.said_by == one.said_by or "" in (other.said_by, one.said_by)
        if any(holders.get(key) == holder for key, holder in _told(other).items())
    ]
    # "I left Google, I joined Netflix": where somebody is now counts.
    return max([one, *same], key=lambda other: (_said_at(other), not edges.is_over(other.text)))


def _tells_older(one: Recalled, last: Recalled, keys: set[str]) -> bool:
    """Whether it tells in one of these frames what the same person told anew."""
    told, newer = _told(one), _told(last)
    same = any(key in told and told[key] == newer.get(key) for key in keys)
    return same and one.said_by in ("", last.said_by) and _said_at(one) < _said_at(last)


def _told(one: Recalled) -> dict[str, frozenset[str]]:
    """What it says of somebody's life, also that it is over, with whose life that is."""
    read = frames_of(one.text, subject=one.subject or one.said_by)
    return {frame.key: frame.holder for frame in read if frame.polarity > 0}


def _framed(one: Recalled) -> dict[str, frozenset[str]]:
    """What it says of somebody's life, whether it is so or not."""
    read = frames_of(one.text, subject=one.subject or one.said_by)
    return {frame.key: frame.holder for frame in read}


def _said_at(one: Recalled) -> float:
    return one.said_at.timestamp() if one.said_at else 0.0


def _followed(briefing: Briefing, spoken: Sequence[Recalled], question: str) -> Sequence[Recalled]:
    """What is known of somebody whom another memory names and the question only describes."""
    plain = Question(question, folded_words=words.words(words.fold(question)))
    speakers = _first_names(one.said_by for one in spoken if one.said_by)
    for lead in spoken[:MOST_LEADS]:
        talk = None if lead.kind == "fact" else speakers
        if more := follow(plain, lead.text, person=briefing.person, talk=talk):
            named = set(more.names)
            return [
                replace(one, via=lead.text)
                if not one.via and named & _said(one.text) and not says_the_same(one, lead)
                else one
                for one in spoken
            ]
    return spoken


def _leaves_unsaid(one: Recalled, asked: Asked) -> bool:
    """ "Malia does netball on Saturdays" may not be the position that she plays."""
    return asked.has_noun and leaves_focus(asked, words.fold(_all_said(one)))


def _all_said(one: Recalled) -> str:
    return f"{one.via} {one.text} {one.quote}"


def _in_talk(one: Recalled) -> str:
    """The same with what it replies to, which tells what it is about and not what is so."""
    return f"{one.replies_to} {_all_said(one)}"


def _said(text: str) -> set[str]:
    return bare_names(words.fold(text))


def _both_sides(near: list[Recalled], fitting: Sequence[Recalled]) -> list[Recalled]:
    """With what contradicts it, where people have not decided."""
    if not any(one.opposed for one in near):
        return near
    return [*near, *(one for one in fitting if one.opposed and one not in near)]


def _naming(fitting: Sequence[Recalled], asked: Asked) -> list[Recalled]:
    """What has a name of the question that belongs to nobody who speaks here: Pixel."""
    speakers = {name for one in fitting for name in words.words(words.fold(one.said_by))[:1]}
    names = asked.names - speakers
    said = [(one, set(words.words(words.fold(one.text)))) for one in fitting]
    return [one for one, held in said if names and names & held]


def asked_of(briefing: Briefing, question: str, spoken: Sequence[Recalled] | None = None) -> Asked:
    told = candidates(briefing) if spoken is None else spoken
    plain = in_plain_words(question)
    return Asked(plain, briefing.person, _known(briefing, told), _named(told))


def probabilities(rows: Sequence[dict[str, float]]) -> list[float]:
    sums = [sum(WEIGHTS[name] * value for name, value in row.items()) for row in rows]
    return [1 / (1 + math.exp(-total)) for total in sums]


def features(asked: Asked, spoken: Sequence[Recalled]) -> list[dict[str, float]]:
    """What speaks for each as the answer, by the names of the weights."""
    opinions = judge.opinions(asked.text, [_as_read(one) for one in spoken]) if spoken else []
    by_name = [_by_name(one) for one in spoken]
    judged = [max(pair) for pair in zip(opinions, (one[0] for one in by_name), strict=True)]
    alike = _likeness(asked, spoken)
    rows = []
    for place, one in enumerate(spoken):
        covered = asked.covers(statements.Statement.of(_in_talk(one)), also=_stands_for(one, asked))
        lacks = min(0.0, fits_type(asked, f"{one.text} {one.after}"))
        rows.append({
            "bias": 1.0, "judge": judged[place], "like": max(alike[place], by_name[place][1]),
            "all": float(covered == 1), "lacks": lacks,
            "theirs": float((covered == 1 or not asked.topics) and _is_theirs(one, asked)),
            "plain": float(lacks == 0 and _is_plain(one, asked)),
            "newer": float(_has_newer(place, spoken, judged)), "recent": float(one.recent),
            "long": min(len(one.text) / 100, 3.0), "many": len(spoken) / 10,
        })  # fmt: skip
    return rows


def _has_newer(place: int, spoken: Sequence[Recalled], judged: Sequence[float]) -> bool:
    """Whether something else that may answer as well was said later."""
    one, least = spoken[place], max(LIKELY, judged[place] - BEHIND)
    return any(
        thought >= least
        and _said_at(other) > _said_at(one)
        and other.text[:40].lower() != one.text[:40].lower()
        for other, thought in zip(spoken, judged, strict=True)
    )


def _likeness(asked: Asked, spoken: Sequence[Recalled]) -> list[float]:
    """How near each is in meaning, without names: a name is near to everything that has it."""
    names = sorted(asked.known | asked.names)
    bare = [without_names(one.text, names) for one in spoken]
    # "Where do I live?" is nearer to "I live in Rome" than to "Ana lives in Rome".
    own = [one.quote or told_to(one.said_by, one.text) for one in spoken]
    alike = meaning.table([asked.bare], [*bare, *own]) if spoken else None
    if alike is None:
        return [0.5] * len(spoken)
    return [float(max(alike[0][place :: len(spoken)])) for place in range(len(spoken))]


def _by_name(one: Recalled) -> tuple[float, float]:
    """What the judge and the meaning say of it as an answer to the question by name."""
    if not one.asked:
        return 0.0, 0.0
    return judge.opinions(one.asked, [one.text])[0], meaning.likeness(one.asked, one.text) or 0.0


def candidates(briefing: Briefing) -> list[Recalled]:
    """Everything that tells something, sentence by sentence, in the order of the recall."""
    asks_past = bool(_ASKS_PAST.search(briefing.text))
    holding = [one for one in briefing.recalled if asks_past or not one.outdated]
    told = [line for one in holding for line in _sentences(one)]
    told += [line for one in reversed(briefing.heard) for line in _sentences(one)]
    since = min((_said_at(one) for one in briefing.heard), default=math.inf)
    told = [replace(one, recent=_said_at(one) >= since) for one in told]
    return list({(one.text, one.said_by): one for one in told if _tells(one)}.values())


def is_about(one: Recalled, asked: Asked) -> bool:
    """Whether it is about whom the question names: as speaker, as subject or in the words."""
    if one.asked:
        return True
    # A dog does not answer for a cat, in whatever language.
    concepts = statements.Statement.of(_in_talk(one)).concepts
    if asked.kin and not asked.kin & concepts and not _is_spouse(one, asked):
        return False
    told = one.text if one.kind == "fact" else without_address(one.text, asked.known)
    said = _said(f"{one.via} {told}")
    who = {*words.words(words.fold(one.said_by))[:1], *words.words(words.fold(one.subject)), *said}
    if asked.names:
        return asked.names <= who or (len(asked.names) > 1 and bool(asked.names & who))
    if asked.is_mine:
        mine = set(words.words(words.fold(asked.person))[:1])
        if asked.is_of_me_alone and one.kind == "fact" and _is_of_other(one, mine):
            return False
        return one.by_asker or not one.said_by or bool(mine & who)
    return True


def _may_be_about(one: Recalled, asked: Asked) -> bool:
    """Whether it may be of somebody the question only describes: "Barb's boy" is my nephew."""
    if asked.names or not asked.kin:
        return False
    concepts = statements.Statement.of(f"{one.text} {one.quote}").concepts
    of_others = {one for one in concepts - asked.kin if statements.kind(one) == "kin"}
    return not (of_others and _MINE.search(one.quote or one.text))


def _stands_for(one: Recalled, asked: Asked) -> Set[str]:
    """What it tells without the word: whom one is married to, and where one lives."""
    if _is_spouse(one, asked):
        return asked.kin
    # "We live at 7 Rowan Crescent" is an address, and "I moved to Goa" where one lives.
    lives = "home" in asked.frames and _LIVES_AT.search(one.text)
    address = statements.concepts().of("address") if lives else frozenset()
    is_told = asked.frames and asked.frames & _told(one).keys()
    return address | (_labels(_LIVE_AND_WORK) if is_told else frozenset())


def _is_spouse(one: Recalled, asked: Asked) -> bool:
    """ "I'm married to Priya" names a wife, a husband or a partner, as it may be."""
    spouses = {label for word in _SPOUSES for label in statements.concepts().of(word)}
    return bool(asked.kin & spouses and _MARRIED.match(one.quote or one.text))


def _is_of_other(one: Recalled, mine: set[str]) -> bool:
    """Whether a fact is told of somebody else: "Beth lives in York", said by whoever asks."""
    about = set(words.words(words.fold(one.subject)))
    begins = set(words.words(words.fold(one.text))[:6])
    return bool(about) and not mine & about and bool(about & begins)


def _known(briefing: Briefing, spoken: Iterable[Recalled]) -> frozenset[str]:
    names = [part for one in spoken for part in (one.said_by, one.subject) if part]
    return _first_names([*names, briefing.person])


def _named(spoken: Iterable[Recalled]) -> frozenset[str]:
    """Whom the words name inside of them: "two kids, Leo and Anya"."""
    told = [one.quote or one.text for one in spoken if one.kind != "episode"]
    found = [(said, name) for said in told for name in NAME.finditer(said) if name.start() > 1]
    inside = [name[0] for said, name in found if said[name.start() - 2] not in ".!?:"]
    return _first_names(inside)


def _first_names(names: Iterable[str]) -> frozenset[str]:
    firsts = [words.words(words.fold(name.removesuffix("'s")))[:1] for name in names]
    return frozenset(name for first in firsts for name in first if name not in FRAME)


def _as_read(one: Recalled) -> str:
    said = f"{one.via} {one.text}".strip()
    if one.kind == "fact" or not one.said_by:
        return said
    return f"{one.replies_to} {one.said_by}: {said}".lstrip()


def _sentences(one: Recalled) -> list[Recalled]:
    """A fact as it stands; what was said, and the lines of an episode, sentence by sentence."""
    if one.kind == "fact":
        return [one]
    made: list[Recalled] = []
    asker, asked = "", ""
    for line in one.text.splitlines():
        turn = _TURN.match(line) if one.kind == "episode" else None
        who = turn["who"].strip() if turn else one.said_by
        said = _PHOTO.sub("", turn["said"] if turn else line.strip(" -"))
        replies_to = one.replies_to or (asked if who != asker else "")
        whole = replace(
            one, kind="message" if who else one.kind, said_by=who, replies_to=replies_to
        )
        asker, asked = (who, last_question(said)) if turn else ("", "")
        parts = split_sentences(said)
        made += [
            replace(whole, text=part, after=after)
            # Of a line that was only a photo nothing is left.
            for part, after in zip_longest(parts, parts[1:], fillvalue="")
        ]
    return made  # fmt: skip


def _tells(one: Recalled) -> bool:
    """Somebody said it who is not Keno, and did not ask."""
    return words.fold(one.said_by) != KENO and not intents.is_question(one.text)


def _apart(near: Sequence[Recalled]) -> list[Recalled]:
    """Without those that say the same as a better one; a fact stands for what was said."""
    kept: list[Recalled] = []
    for one in near:
        same = next((n for n, other in enumerate(kept) if says_the_same(one, other)), None)
        if same is None:
            kept.append(one)
        elif one.kind == "fact" and kept[same].kind != "fact":
            kept[same] = one
    return kept


def says_the_same(one: Recalled, other: Recalled) -> bool:
    # "Anna is not vegan any more" has all words of "Anna is vegan".
    if edges.is_over(one.text) != edges.is_over(other.text):
        return False
    mine, theirs = _stems(one), _stems(other)
    return len(mine & theirs) >= 0.7 * min(len(mine), len(theirs) or 1)


def _counts_older(one: Recalled, other: Recalled) -> bool:
    """ "Mateo, que tiene 7 años", once the same person said "Mateo tiene 8 años"."""
    told, newer = _stems(one), _stems(other)
    numbers, news = ({word for word in row if word.isdigit()} for row in (told, newer))
    is_later = _said_at(one) < _said_at(other) and one.said_by in ("", other.said_by)
    return is_later and bool(numbers and news and not numbers & news) and newer - news <= told


def _stems(one: Recalled) -> set[str]:
    """What its words say besides who speaks: "Sam es alérgica" is "soy alérgica"."""
    return set(words.stems(f"{one.text} {one.quote}")) - set(words.stems(one.said_by))
