"""Move the edges of a span in a message: to its whole clause, without fillers."""

from memory.extraction.grammar.sentences import data_beside

_DATA = data_beside(__file__)
_INSIDE_WORDS = ("'", "’", "-")
# A run-on without punctuation is not one clause: a span grows by so many words at an edge.
MAX_GROWTH = 6
# By more where the edge is in the middle of a phrase: "in the trunk of the | red car".
MAX_GROWTH_IN_PHRASE = 10
MAX_TAILS = 3
# Enough of the text before a place to see the comma or the word that joins.
_LOOK_BACK = 10


def widen(message: str, start: int, end: int) -> tuple[int, int]:
    """Grow a span to the clause it stands in, without greetings, fillers and the next clause."""
    before = [match.end() for match in _DATA.before.finditer(message, 0, start)]
    after = _DATA.after.search(message, end)
    left = message[before[-1] if before else 0 : start]
    right = message[end : after.start() if after else len(message)]
    is_cut = _DATA.in_phrase.search(left) or _DATA.headless.match(message, start)
    most = MAX_GROWTH_IN_PHRASE if is_cut else MAX_GROWTH
    start -= len(left.lstrip()) if len(left.split()) <= most else 0
    named = (
        _DATA.name_before.search(message, 0, start) if _DATA.apposed.match(message, start) else None
    )
    start = named.start(1) if named else start
    # "In the box of | the red shoes": the space stands for the end of the word.
    most = MAX_GROWTH_IN_PHRASE if _DATA.in_phrase.search(f"{message[:end]} ") else MAX_GROWTH
    end += len(right.rstrip()) if len(right.split()) <= most else 0
    ruled_out = _DATA.contrast.match(message, end)
    return start, ruled_out.end() if ruled_out else end


def tail_end(message: str, end: int) -> int:
    """Return the end of what still belongs to a span: ", who is six", ", in Leeds"."""
    for _ in range(MAX_TAILS):
        tail = _DATA.tail.match(message, end)
        end = tail.end() if tail else end
    return end


def trim(message: str, start: int, end: int) -> tuple[int, int]:
    """Leave out spaces, punctuation, emoji and fillers at the edges; keep a quotation whole."""
    words = message[start:end]
    bare = _DATA.filler.sub("", _DATA.edge_before.sub("", words), count=1)
    start += len(words) - len(bare)
    end = start + len(_DATA.edge_after.sub("", bare))
    return start, _quotation_end(message, start, end)


def is_inside_word(message: str, place: int) -> bool:
    """Return whether the character continues a word: "do|n't", "semi-|final"."""
    left, right = message[place - 1 : place], message[place : place + 1]
    if left in _INSIDE_WORDS:
        left = message[place - 2 : place - 1]
    elif right in _INSIDE_WORDS:
        right = message[place + 1 : place + 2]
    return left.isalnum() and right.isalnum()


def is_joined(message: str, place: int) -> bool:
    """Return whether a comma, a full stop, "and" or the like stands before the place."""
    return bool(_DATA.joined.search(message[max(0, place - _LOOK_BACK) : place]))


def begins_sentence(message: str, place: int) -> bool:
    """Return whether a sentence ends before the place."""
    return bool(_DATA.sentence.search(message[max(0, place - _LOOK_BACK) : place]))


def has_boundary(words: str) -> bool:
    """Return whether a clause ends in these words."""
    return bool(_DATA.after.search(words))


def is_lead(words: str) -> bool:
    """Return whether the words only tell when or where: "Every year until last year"."""
    return bool(_DATA.lead.fullmatch(words))


def is_piece(words: str) -> bool:
    """Return whether a few words belong to the clause before: "from contemporary to hip-hop"."""
    return bool(_DATA.piece.fullmatch(words))


def names(before: str, after: str) -> bool:
    """Return whether the first is only the name of whom the second tells: "Andrés, el menor, …"."""
    return bool(_DATA.name_before.fullmatch(before) and _DATA.apposed.match(after))


def is_about_now(message: str, place: int) -> bool:
    """Return whether the clause that begins here tells how things are now.

    "She left in May, she has a shop now": two facts, and only the first is over.
    """
    return bool(_DATA.now.match(message, place))


def goes_on(words: str) -> bool:
    """Return whether the words tell of something that began and did not end: "since 2018"."""
    return bool(_DATA.goes_on.search(words) and not _DATA.ended.search(words))


def states(words: str) -> bool:
    """Return whether very few words begin like a statement: "I'm vegan", "soy zurda"."""
    return bool(_DATA.states.match(words))


def was_so(words: str) -> bool:
    """Return whether the words tell of former times: "used to", "antes"."""
    return bool(_DATA.was.search(words))


def is_over(words: str) -> bool:
    """Return whether the words tell what was so and is so no longer: "used to", "ya no"."""
    return was_so(words) or bool(_DATA.over.search(words))


def _quotation_end(message: str, start: int, end: int) -> int:
    """Return the end of the quotation or bracket that begins in the span and goes on behind it."""
    is_open = {
        '"': message.count('"', start, end) % 2 == 1,
        ")": message.count("(", start, end) > message.count(")", start, end),
    }
    closing = [message.find(mark, end) for mark, still in is_open.items() if still]
    return max([end, *(place + 1 for place in closing)])
