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
from memory.llm.providers.offline_fit import NEVER, fits_type, lacks_focus, tells_plainly
from memory.llm.providers.offline_questions import (
    FRAME_WORDS,
    PATTERNS,
    ParsedQuestion,
    bare_names,
    kin_among,
    replace_name_by_kin,
    search,
)
from memory.llm.request import Briefing, Recalled
from memory.retrieval import judge
from memory.retrieval.understand import (
    Question,
    asks_earlier,
    follow,
    in_plain_words,
    without_names,
)
from memory.text import kinship
from memory.text import normalise as words
from memory.text.normalise import folded_words
from memory.text.summaries import last_question, without_address
from memory.text.summaries import sentences as split_sentences
from memory.vectors import likeness as meaning

# What each part of `features` counts, by `python -m bench.answer_weights`.
WEIGHTS = {
    "bias": -5.72, "judge": 6.32, "like": 2.48, "all": 0.73, "lacks": 0.54, "theirs": 1.43,
    "plain": 1.7, "newer": -1.84, "recent": 1.52, "long": -0.42, "many": -0.48,
}  # fmt: skip
# The probability from which on a sentence answers, is likely to, and is near enough to be shown.
CERTAIN = 0.69
LIKELY = 0.63
NEAR = 0.28
# The same for what was found by the name of a person that the question only describes.
NEAR_BY_NAME = 0.2
# How far behind the best another may be and still be part of the answer.
BESIDE = 0.1
# A sentence of so few characters says little else.
MAX_PLAIN = 60
# The judge's opinion: "I broke my wrist" tells which bone, "Pickle is 4" not which colour.
IN_OTHER_WORDS = 0.88
# What the judge must think of something said later, and how far behind it may be, to count.
NEWER_FROM = 0.6
NEWER_BEHIND = 0.25
# What one has or is may be many things.
VAGUE_FRAMES = frozenset({"owns:pet", "job", "name", "employer", "home", "age"})
# How sure the recall must be that it has the answer for what it found to be shown, if nothing else.
SURE_RECALL = 0.9
MAX_SHOWN = 2
MAX_ANSWERS = 3
MAX_READ = 24
MAX_LEADS = 3
KENO = "keno"
_SPOUSES = ("wife", "husband", "partner")
_LIVE_AND_WORK = ("live", "home", "city", "town", "work", "job")


@dataclass(frozen=True)
class Answers:
    """The memories that answer; where they are not `exact` they are likely to, or only near."""

    memories: Sequence[Recalled] = ()
    exact: bool = True
    is_likely: bool = False


def find(briefing: Briefing, text: str) -> Answers:
    """Return the sentences that answer, the surest first; or those that are near."""
    memories = candidates(briefing)
    if asks_earlier(text):
        return _find_earlier(briefing, memories, text)
    answers = find_in(briefing, memories, text)
    own = "\n".join(memory.quote or memory.text for memory in memories if memory.by_asker)
    if not answers.exact and (by_kin := replace_name_by_kin(text, own)):
        others = find_in(briefing, memories, by_kin)
        return others if others.exact and others.memories else answers
    return answers


def _find_earlier(briefing: Briefing, memories: Sequence[Recalled], text: str) -> Answers:
    """Return what was so before it changed; what tells only the change is no sure answer."""
    earlier = find_in(briefing, [memory for memory in memories if memory.outdated], text)
    if earlier.memories:
        return earlier
    answers = find_in(briefing, memories, text)
    is_new = any(search("tells_change", words.fold(memory.text)) for memory in answers.memories)
    return replace(answers, exact=answers.exact and not is_new)


def closest(briefing: Briefing, text: str) -> Answers:
    """Return what the judge likes best of what was recalled, if the recall is sure to have it."""
    if briefing.confidence < SURE_RECALL or intents.is_request(text):
        return Answers()
    memories = candidates(briefing)[:MAX_READ]
    opinions = judge.opinions(text, [memory.text for memory in memories])
    best = sorted(zip(opinions, memories, strict=True), key=lambda pair: -pair[0])
    shown = _distinct([memory for _opinion, memory in best])[:MAX_SHOWN]
    return Answers(shown, exact=False)


def find_in(briefing: Briefing, memories: Sequence[Recalled], text: str) -> Answers:
    memories = _with_leads(briefing, memories, text)
    question = parse(briefing, text, memories)
    if own := _own_answer(text, memories, briefing.person):
        return Answers([own])
    fitting = [memory for memory in memories if is_about(memory, question)]
    if not question.topics and not question.names and not question.is_mine:
        return Answers([memory for memory in fitting if memory.kind == "fact"][:MAX_ANSWERS])
    read = [one for one in memories if one in fitting or _may_be_about(one, question)][:MAX_READ]
    rows = features(question, read)
    weighed = sorted(zip(probabilities(rows), read, rows, strict=True), key=lambda row: -row[0])
    ranked = _without_leads([(chance, memory) for chance, memory, _row in weighed], question)
    possible = [memory for _chance, memory, row in weighed if _may_answer(memory, question, row)]
    best = [(chance, memory) for chance, memory in ranked if chance >= CERTAIN]
    best = [(chance, memory) for chance, memory in best if memory in possible]
    if best:
        near = [memory for chance, memory in best if chance >= best[0][0] - BESIDE]
        near = _ended([memory for _chance, memory in best], question) or near
        near = _newest(_distinct(near), question, fitting)
        if any(memory.opposed for memory in near):
            # With what contradicts it, where people have not decided.
            near += [memory for memory in fitting if memory.opposed and memory not in near]
        return Answers(near[:MAX_ANSWERS])
    if successor := _successor(fitting, question):
        return Answers([successor])
    first = ranked[0][1] if ranked and ranked[0][0] >= LIKELY else None
    is_likely = first is not None and first in possible and not _lacks_focus(first, question)
    near = [one for chance, one in ranked if chance >= (NEAR_BY_NAME if one.asked else NEAR)]
    # What holds every word that is asked for, and the kind of thing that is, is never denied.
    if not near and question.topics:
        near = [memory for _chance, memory, row in weighed if row["all"] and not row["lacks"]]
    # Who is asked about by a relation is not named by what only names the other; whether Pixel is
    # a dog is told by what names Pixel.
    by_kin = question.kin and not PATTERNS["asks_what_it_is"].fullmatch(text)
    near = near or _naming(fitting if by_kin else memories, question)
    near = _newest(_distinct(near), question, fitting)[:MAX_ANSWERS]
    return Answers(near, exact=False, is_likely=is_likely)


def _may_answer(memory: Recalled, question: ParsedQuestion, row: dict[str, float]) -> bool:
    """Leave out what lacks what is asked for and is not, for the judge, the same in other words."""
    if row["lacks"] <= NEVER or _is_of_others(memory, question):
        return False
    if search("whether_i_have", question.folded) and not row["all"]:
        return False
    is_in_other_words = row["judge"] >= IN_OTHER_WORDS or row["plain"] or row["all"]
    return bool(is_in_other_words) or not _lacks_focus(memory, question)


def _own_answer(text: str, memories: Sequence[Recalled], person: str) -> Recalled | None:
    """Return what answers by yes or by no: "do I like coffee?", "¿soy alérgica?"."""
    polar = PATTERNS["whether_i"].fullmatch(text.strip())
    if not polar:
        return None
    claim = polar["told"] or f"I {polar['am'] or ''} {polar['rest']}"
    keys = {frame.key for frame in frames_of(claim, subject=person)} - VAGUE_FRAMES
    mine = set(folded_words(person))
    own = [
        memory
        for memory in memories
        if (memory.by_asker or not memory.said_by)
        and set(folded_words(memory.subject)) <= mine
        and any(not holder for key, holder in _holders(memory, denied=True).items() if key in keys)
    ]
    return max(own, key=lambda memory: (_said_at(memory), memory.kind == "fact"), default=None)


def _is_of_others(memory: Recalled, question: ParsedQuestion) -> bool:
    holders = _holders_asked_for(memory, question)
    return bool(holders) and all(holders) and not _is_theirs(memory, question)


def _holders_asked_for(memory: Recalled, question: ParsedQuestion) -> list[set[str]]:
    """Return the people of whom it tells where they live or work, if that is asked."""
    return [_labels(holder) for key, holder in _holders(memory).items() if key in question.frames]


def _is_theirs(memory: Recalled, question: ParsedQuestion) -> bool:
    """Tell whether it is about the person of the question, and not about their cousin."""
    holders = _holders_asked_for(memory, question)
    # "My daughter Fiona is a vet" names Fiona as somebody's.
    pairs = re.finditer(r"\b(?P<kin>\w+),? (?P<name>\w+)", memory.text)
    kin = {words.fold(pair["name"]) for pair in pairs if kinship.kin(pair["kin"])}
    if holders and question.names & {*folded_words(memory.subject), *kin}:
        return True
    return any(holder & question.kin if question.kin else not holder for holder in holders)


def _is_plain(memory: Recalled, question: ParsedQuestion) -> bool:
    """Tell whether it says in few words just what is asked, about just that person."""
    if len(memory.text) > MAX_PLAIN or _is_of_others(memory, question):
        return False
    return _is_of_them(memory, question) and tells_plainly(question, memory.text)


def _is_of_them(memory: Recalled, question: ParsedQuestion) -> bool:
    """Tell whether it is about the very person who is asked about, and nobody of theirs."""
    if question.asks("own_name"):
        return True
    if question.names:
        return question.names <= bare_names(words.fold(f"{memory.subject} {memory.text}"))
    kin = kin_among(statements.Statement.of(memory.text).concepts)
    if question.kin:
        return kin <= question.kin
    is_of_us = question.is_mine or question.is_about_us
    return is_of_us and not kin and _is_of_speaker(memory.quote or memory.text)


def _is_of_speaker(text: str) -> bool:
    first = words.words(text)[:1]
    if first == ["no"]:
        return _is_of_speaker(text.strip()[2:])
    is_past = first and (spanish_verbs.first_person(first[0]) or spanish_verbs.bare_past(first[0]))
    return bool(PATTERNS["begins_with_me"].match(text) or is_past)


def _labels(holder: Iterable[str]) -> set[str]:
    return {label for word in holder for label in statements.concepts().of(word)}


def _without_leads(
    ranked: list[tuple[float, Recalled]], question: ParsedQuestion
) -> list[tuple[float, Recalled]]:
    """Drop what only led to an answer, which is told together with it.

    "My sister's husband is Dave" is no answer to what he does once "Dave is a plumber" is known.
    """
    leads = [
        replace(memory, text=memory.via, quote="")
        for place, (_chance, memory) in enumerate(ranked)
        if memory.via
        and (not place or fits_type(question, memory.text) > fits_type(question, memory.via))
    ]
    return [
        (chance, memory)
        for chance, memory in ranked
        if memory.via or not any(says_the_same(memory, lead) for lead in leads)
    ]


def _newest(
    near: list[Recalled], question: ParsedQuestion, fitting: Sequence[Recalled]
) -> list[Recalled]:
    """Keep of what one person said with all words of the question only the last: it changed.

    Where the frame of the answer is known, "I moved to Goa" comes after "I live in Pune".
    """
    keys = question.frames
    if keys and near:
        last = _last_told(near[0], keys, fitting)
        near = [last, *(memory for memory in near[1:] if not _is_older(memory, last, keys))]
    near = [memory for memory in near if not any(_has_older_number(memory, one) for one in near)]
    whole = [
        memory
        for memory in near
        if memory.said_at and (question.covers_all(memory.text) or keys & _holders(memory).keys())
    ]
    if len(whole) < 2 or len({memory.said_by for memory in whole}) > 1:
        return near
    return [max(whole, key=_said_at)]


def _ended(best: list[Recalled], question: ParsedQuestion) -> list[Recalled]:
    """Return what says that it is over, if the same person said so after the surest answer."""
    over = [
        memory
        for memory in best
        if edges.is_over(memory.text)
        and memory.said_by == best[0].said_by
        and _said_at(memory) > _said_at(best[0])
        and question.covers_all(memory.text)
    ]
    return [max(over, key=_said_at)] if over and not edges.is_over(best[0].text) else []


def _successor(fitting: Sequence[Recalled], question: ParsedQuestion) -> Recalled | None:
    """Return what came after what is over: "I left Google, I joined Netflix" of where I work."""
    over = [
        memory
        for memory in fitting
        if question.frames & _holders(memory).keys() and edges.is_over(memory.text)
    ]
    if not over:
        return None
    last = _last_told(max(over, key=_said_at), question.frames, fitting)
    return None if edges.is_over(last.text) else last


def _last_told(memory: Recalled, keys: set[str], fitting: Sequence[Recalled]) -> Recalled:
    """Return what was said last, by the same person about the same, in one of these frames."""
    holders = {key: holder for key, holder in _holders(memory).items() if key in keys}
    same = [
        other
        for other in fitting
        # An episode does not tell who said a line of it.
        if other.said_by == memory.said_by or "" in (other.said_by, memory.said_by)
        if any(holders.get(key) == holder for key, holder in _holders(other).items())
    ]
    # "I left Google, I joined Netflix": where somebody is now counts.
    return max([memory, *same], key=lambda other: (_said_at(other), not edges.is_over(other.text)))


def _is_older(memory: Recalled, last: Recalled, keys: set[str]) -> bool:
    """Tell whether the same person told anew what it tells in one of these frames."""
    holders, newer = _holders(memory), _holders(last)
    same = any(key in holders and holders[key] == newer.get(key) for key in keys)
    return same and memory.said_by in ("", last.said_by) and _said_at(memory) < _said_at(last)


def _holders(memory: Recalled, *, denied: bool = False) -> dict[str, frozenset[str]]:
    """Return the frames of what it says, also that it is over, with whose life that is."""
    frames = frames_of(memory.text, subject=memory.subject or memory.said_by)
    return {frame.key: frame.holder for frame in frames if denied or frame.polarity > 0}


def _said_at(memory: Recalled) -> float:
    return memory.said_at.timestamp() if memory.said_at else 0.0


def _with_leads(briefing: Briefing, memories: Sequence[Recalled], text: str) -> Sequence[Recalled]:
    """Note on each memory which other one names its person, if the question only describes them."""
    question = Question(text, folded_words=folded_words(text))
    speakers = _first_names(memory.said_by for memory in memories if memory.said_by)
    for lead in memories[:MAX_LEADS]:
        talk = None if lead.kind == "fact" else speakers
        if further := follow(question, lead.text, person=briefing.person, talk=talk):
            return [
                replace(memory, via=lead.text)
                if not memory.via
                and bare_names(words.fold(memory.text)) & set(further.names)
                and not says_the_same(memory, lead)
                else memory
                for memory in memories
            ]
    return memories


def _lacks_focus(memory: Recalled, question: ParsedQuestion) -> bool:
    """ "Malia does netball on Saturdays" may not be the position that she plays."""
    return question.has_noun and lacks_focus(question, words.fold(_all_words(memory)))


def _all_words(memory: Recalled) -> str:
    return f"{memory.via} {memory.text} {memory.quote}"


def _in_context(memory: Recalled) -> statements.Statement:
    """Read it with what it replies to, which tells what it is about and not what is so."""
    return statements.Statement.of(f"{memory.replies_to} {_all_words(memory)}")


def _naming(fitting: Sequence[Recalled], question: ParsedQuestion) -> list[Recalled]:
    """Return what has a name of the question that belongs to nobody who speaks here: Pixel."""
    speakers = {name for memory in fitting for name in folded_words(memory.said_by)[:1]}
    names = question.names - speakers
    return [memory for memory in fitting if names & set(folded_words(memory.text))]


def parse(
    briefing: Briefing, text: str, memories: Sequence[Recalled] | None = None
) -> ParsedQuestion:
    """Read the question, with the names of those who speak in the memories or stand in them."""
    memories = candidates(briefing) if memories is None else memories
    people = [name for memory in memories for name in (memory.said_by, memory.subject) if name]
    known = _first_names([*people, briefing.person])
    return ParsedQuestion(in_plain_words(text), briefing.person, known, _named(memories))


def probabilities(rows: Sequence[dict[str, float]]) -> list[float]:
    sums = [sum(WEIGHTS[name] * value for name, value in row.items()) for row in rows]
    return [1 / (1 + math.exp(-total)) for total in sums]


def features(question: ParsedQuestion, memories: Sequence[Recalled]) -> list[dict[str, float]]:
    """Return what speaks for each as the answer, by the names of the weights."""
    by_name = [_by_name(memory) for memory in memories]
    texts = [_as_judged(memory) for memory in memories]
    opinions = judge.opinions(question.text, texts) if memories else []
    judged = [max(pair) for pair in zip(opinions, (pair[0] for pair in by_name), strict=True)]
    alike = _likeness(question, memories)
    rows = []
    for place, memory in enumerate(memories):
        covered = question.covers(_in_context(memory), also=_implied(memory, question))
        lacks = min(0.0, fits_type(question, f"{memory.text} {memory.after}"))
        rows.append({
            "bias": 1.0, "judge": judged[place], "like": max(alike[place], by_name[place][1]),
            "all": float(covered == 1), "lacks": lacks,
            "theirs": float((covered == 1 or not question.topics) and _is_theirs(memory, question)),
            "plain": float(lacks == 0 and _is_plain(memory, question)),
            "newer": float(_has_newer(place, memories, judged)), "recent": float(memory.recent),
            "long": min(len(memory.text) / 100, 3.0), "many": len(memories) / 10,
        })  # fmt: skip
    return rows


def _has_newer(place: int, memories: Sequence[Recalled], judged: Sequence[float]) -> bool:
    """Tell whether something else that may answer as well was said later."""
    memory, least = memories[place], max(NEWER_FROM, judged[place] - NEWER_BEHIND)
    return any(
        opinion >= least
        and _said_at(other) > _said_at(memory)
        and other.text[:40].lower() != memory.text[:40].lower()
        for other, opinion in zip(memories, judged, strict=True)
    )


def _likeness(question: ParsedQuestion, memories: Sequence[Recalled]) -> list[float]:
    """Return how near each is in meaning, without names, which are near to all that has them."""
    names = sorted(question.known | question.names)
    bare = [without_names(memory.text, names) for memory in memories]
    # "Where do I live?" is nearer to "I live in Rome" than to "Ana lives in Rome".
    own = [memory.quote or told_to(memory.said_by, memory.text) for memory in memories]
    asked = without_names(question.text, sorted(question.names))
    alike = meaning.table([asked], [*bare, *own]) if memories else None
    if alike is None:
        return [0.5] * len(memories)
    return [float(max(alike[0][place :: len(memories)])) for place in range(len(memories))]


def _by_name(memory: Recalled) -> tuple[float, float]:
    """Return the judge's opinion and the likeness to the question by name that it was found by."""
    if not memory.asked:
        return 0.0, 0.0
    likeness = meaning.likeness(memory.asked, memory.text) or 0.0
    return judge.opinions(memory.asked, [memory.text])[0], likeness


def candidates(briefing: Briefing) -> list[Recalled]:
    """Return what somebody other than Keno told, by sentences, in the order of the recall."""
    asks_past = asks_earlier(briefing.text) or bool(search("asks_past", briefing.text))
    since = min((_said_at(memory) for memory in briefing.heard), default=math.inf)
    current = [memory for memory in briefing.recalled if asks_past or not memory.outdated]
    sentences = [
        replace(sentence, recent=_said_at(sentence) >= since)
        for memory in (*current, *reversed(briefing.heard))
        for sentence in _sentences(memory)
        if words.fold(sentence.said_by) != KENO and not intents.is_question(sentence.text)
    ]
    return list({(sentence.text, sentence.said_by): sentence for sentence in sentences}.values())


def is_about(memory: Recalled, question: ParsedQuestion) -> bool:
    """Tell whether it has the people the question names: as speaker, subject or in the words."""
    if memory.asked:
        return True
    # A dog does not answer for a cat, in whatever language.
    has_kin = question.kin & _in_context(memory).concepts
    if question.kin and not has_kin and not _is_spouse(memory, question):
        return False
    text = memory.text if memory.kind == "fact" else without_address(memory.text, question.known)
    names = bare_names(words.fold(f"{memory.via} {text}"))
    names |= {*folded_words(memory.said_by)[:1], *folded_words(memory.subject)}
    if question.names:
        return question.names <= names or (len(question.names) > 1 and bool(question.names & names))
    if question.is_mine:
        mine = set(folded_words(question.person)[:1])
        if question.is_of_me_alone and memory.kind == "fact" and _is_of_other(memory, mine):
            return False
        return memory.by_asker or not memory.said_by or bool(mine & names)
    return True


def _may_be_about(memory: Recalled, question: ParsedQuestion) -> bool:
    """Tell whether it may be of one the question only describes: "Barb's boy" is my nephew."""
    if question.names or not question.kin:
        return False
    others = statements.Statement.of(f"{memory.text} {memory.quote}").concepts - question.kin
    return not (kin_among(others) and search("says_my", memory.quote or memory.text))


def _implied(memory: Recalled, question: ParsedQuestion) -> Set[str]:
    """Return the concepts it tells without their word: a spouse, an address."""
    if _is_spouse(memory, question):
        return question.kin
    # "We live at 7 Rowan Crescent" is an address, and "I moved to Goa" where one lives.
    has_address = "home" in question.frames and search("lives_at", memory.text)
    address = _labels(["address"]) if has_address else set()
    is_told = question.frames and question.frames & _holders(memory).keys()
    return address | (_labels(_LIVE_AND_WORK) if is_told else set())


def _is_spouse(memory: Recalled, question: ParsedQuestion) -> bool:
    """ "I'm married to Priya" names a wife, a husband or a partner, as it may be."""
    is_married = PATTERNS["married"].match(memory.quote or memory.text)
    return bool(question.kin & _labels(_SPOUSES) and is_married)


def _is_of_other(memory: Recalled, mine: set[str]) -> bool:
    """Tell whether a fact is about somebody else: "Beth lives in York", said by the asker."""
    subject = set(folded_words(memory.subject))
    return not mine & subject and bool(subject & set(folded_words(memory.text)[:6]))


def _named(memories: Iterable[Recalled]) -> frozenset[str]:
    """Return the names inside of the sentences: "two kids, Leo and Anya"."""
    texts = [memory.quote or memory.text for memory in memories if memory.kind != "episode"]
    return _first_names(
        name[0]
        for text in texts
        for name in PATTERNS["name"].finditer(text)
        if name.start() > 1 and text[name.start() - 2] not in ".!?:"
    )


def _first_names(names: Iterable[str]) -> frozenset[str]:
    firsts = [folded_words(name.removesuffix("'s"))[:1] for name in names]
    return frozenset(name for first in firsts for name in first if name not in FRAME_WORDS)


def _as_judged(memory: Recalled) -> str:
    text = f"{memory.via} {memory.text}".strip()
    if memory.kind == "fact" or not memory.said_by:
        return text
    return f"{memory.replies_to} {memory.said_by}: {text}".lstrip()


def _sentences(memory: Recalled) -> list[Recalled]:
    """Return a fact as it stands; a message, or the lines of an episode, by sentences."""
    if memory.kind == "fact":
        return [memory]
    sentences: list[Recalled] = []
    asker, question = "", ""
    for line in memory.text.splitlines():
        turn = PATTERNS["said_by_turn"].match(line) if memory.kind == "episode" else None
        who = turn["who"].strip() if turn else memory.said_by
        text = PATTERNS["photo"].sub("", turn["said"] if turn else line.strip(" -"))
        replies_to = memory.replies_to or (question if who != asker else "")
        whole = replace(
            memory,
            kind="message" if who else memory.kind,
            said_by=who,
            by_asker=memory.by_asker and bool(who),
            replies_to=replies_to,
        )
        asker, question = (who, last_question(text)) if turn else ("", "")
        # Of a line that was only a photo nothing is left.
        parts = split_sentences(text)
        sentences += [
            replace(whole, text=part, after=after)
            for part, after in zip_longest(parts, parts[1:], fillvalue="")
        ]
    return sentences


def _distinct(near: Sequence[Recalled]) -> list[Recalled]:
    """Drop what says the same as a better one; a fact stands for what was said."""
    distinct: list[Recalled] = []
    for memory in near:
        pairs = enumerate(distinct)
        same = next((place for place, other in pairs if says_the_same(memory, other)), None)
        if same is None:
            distinct.append(memory)
        elif memory.kind == "fact" and distinct[same].kind != "fact":
            distinct[same] = memory
    return distinct


def says_the_same(memory: Recalled, other: Recalled) -> bool:
    # "Anna is not vegan any more" has all words of "Anna is vegan".
    if edges.is_over(memory.text) != edges.is_over(other.text):
        return False
    mine, theirs = _stems(memory), _stems(other)
    return len(mine & theirs) >= 0.7 * min(len(mine), len(theirs) or 1)


def _has_older_number(memory: Recalled, other: Recalled) -> bool:
    """ "Mateo, que tiene 7 años", once the same person said "Mateo tiene 8 años"."""
    stems, newer = _stems(memory), _stems(other)
    numbers, new_numbers = ({stem for stem in row if stem.isdigit()} for row in (stems, newer))
    if not numbers or not new_numbers or numbers & new_numbers:
        return False
    is_later = _said_at(memory) < _said_at(other) and memory.said_by in ("", other.said_by)
    return is_later and newer - new_numbers <= stems


def _stems(memory: Recalled) -> set[str]:
    """Return the stems besides those of the speaker: "Sam es alérgica" is "soy alérgica"."""
    return set(words.stems(f"{memory.text} {memory.quote}")) - set(words.stems(memory.said_by))
