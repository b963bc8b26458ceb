"""What of a day is worth replaying: a score, and the reasons for it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from memory.text.normalise import fold, stem, words

# Whole folded words or phrases; a phrase is looked up as such. English and Spanish side by side.
CUES: dict[str, tuple[float, tuple[str, ...]]] = {
    "error": (
        0.4,
        ("error", "errors", "fail", "fails", "failed", "failing", "failure", "crash", "crashed",
         "exception", "bug", "broken", "fallo", "falla", "fallaba", "fallan", "roto", "rota",
         "no funciona", "no jala", "excepcion", "se cayo"),
    ),
    "success": (
        0.3,
        ("success", "solved", "fixed", "works now", "it worked", "resolved", "solution", "exito",
         "resuelto", "solucion", "solucionado", "arreglado", "ya funciona", "funciono", "quedo"),
    ),
    "correction": (
        0.5,
        ("actually", "correction", "i was wrong", "not anymore", "no longer", "rather than",
         "instead", "en realidad", "correccion", "me equivoque", "ya no", "mas bien", "perdon"),
    ),
    "novelty": (
        0.3,
        ("new", "first time", "for the first time", "discovered", "nuevo", "nueva",
         "primera vez", "descubri", "descubrimos"),
    ),
    "about someone": (
        0.6,
        ("favorite", "favourite", "prefer", "prefers", "likes", "loves", "hates", "language",
         "lives in", "live in", "moved to", "works at", "work at", "timezone", "name is",
         "birthday", "allergic", "favorito", "favorita", "prefiere", "prefiero", "le gusta",
         "me gusta", "vive en", "vivo en", "se mudo", "me mude", "trabaja en", "trabajo en",
         "se llama", "me llamo", "cumpleanos", "alergico", "alergica", "zona horaria"),
    ),
    "decision": (
        0.4,
        ("decided", "agreed", "learned", "remember", "important", "decidio", "decidimos",
         "acordamos", "aprendi", "aprendimos", "recuerda", "importante"),
    ),
}  # fmt: skip
GOAL, PRAISE, COMPLAINT = 0.3, 0.3, 0.5


@dataclass(frozen=True)
class Salience:
    score: float
    reasons: tuple[str, ...]


def weigh(
    text: str,
    *,
    curated: bool = False,
    feedback: str = "",
    tags: Collection[str] = (),
    goals: Iterable[str] = (),
) -> Salience:
    """Score 0..1. What someone curated with a tag always passes, at 1."""
    flat = f" {' '.join(words(fold(text)))} "
    found = [
        (name, weight)
        for name, (weight, cues) in CUES.items()
        if any(f" {cue} " in flat for cue in cues)
    ]
    for tag in sorted({fold(tag) for tag in tags}):
        if tag in {"error", "success"} and tag not in dict(found):
            found.append((tag, CUES[tag][0]))
    if feedback:
        found.append((f"{feedback} feedback", PRAISE if feedback == "positive" else COMPLAINT))
    if near_goal(text, goals):
        found.append(("current goal", GOAL))
    reasons = tuple(name for name, _ in found)
    if curated:
        return Salience(1.0, ("curated", *reasons))
    return Salience(round(min(1.0, sum((weight for _, weight in found), 0.0)), 2), reasons)


def near_goal(text: str, goals: Iterable[str]) -> bool:
    """Whether the text shares two content words, or all of them, with something under way."""
    said = _stems(text)
    for goal in goals:
        wanted = {
            word
            for word in _stems(goal)
            if len(word) > 2 and word not in {"the", "que", "los", "las"}
        }
        if wanted and len(wanted & said) >= min(2, len(wanted)):
            return True
    return False


def _stems(text: str) -> set[str]:
    return {stem(fold(word), "en") for word in words(text)}
