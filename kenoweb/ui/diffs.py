"""What changed between two texts, by words."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

# Comparing is quadratic; beyond this many words a diff is not readable anyway.
LIMIT = 1200


@dataclass(frozen=True)
class Piece:
    kind: str  # "same", "del" or "ins"
    text: str


def words(before: str, after: str) -> list[Piece]:
    """The pieces in reading order; joining "same" and "ins" gives the text after."""
    old, new = _tokens(before), _tokens(after)
    if len(old) + len(new) > LIMIT * 2:
        whole = [Piece("del", before), Piece("ins", after)] if before != after else []
        return [piece for piece in whole if piece.text] or [Piece("same", after)]
    pieces = []
    for op, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if op == "equal":
            pieces.append(Piece("same", "".join(new[c:d])))
            continue
        if a < b:
            pieces.append(Piece("del", "".join(old[a:b])))
        if c < d:
            pieces.append(Piece("ins", "".join(new[c:d])))
    return _calm(pieces)


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def _calm(pieces: list[Piece]) -> list[Piece]:
    """Join changes that only a space or a comma keeps apart: one change reads better than five."""
    calm: list[Piece] = []
    for index, piece in enumerate(pieces):
        between = (
            piece.kind == "same"
            and 0 < index < len(pieces) - 1
            and not re.search(r"\w", piece.text)
        )
        for kind in ("del", "ins") if between else (piece.kind,):
            calm.append(Piece(kind, piece.text))
    return _merge(calm)


def _merge(pieces: list[Piece]) -> list[Piece]:
    merged: list[Piece] = []
    held = {"del": "", "ins": ""}

    def let_go():
        merged.extend(Piece(kind, text) for kind, text in held.items() if text.strip())
        held.update({"del": "", "ins": ""})

    for piece in pieces:
        if piece.kind == "same":
            let_go()
            merged.append(piece)
        else:
            held[piece.kind] += piece.text
    let_go()
    return merged
