"""Facts out of thin air, in English and Spanish, with common and rare words as real ones have."""

import random
from collections.abc import Iterator

import numpy as np

from bench.night_data import CITIES, COSAS, FIRST, LAST, THINGS

ENGLISH = (
    "{name} likes {thing} with {other} in {city}",
    "{name} moved to {city} because of {thing} and the {rare} project",
    "{name} met {other} at the {thing} club in {city} last spring",
    "{name} keeps the notes about {thing} under {rare} in the shared folder",
    "{name} always drinks coffee before {thing} and calls {other} afterwards",
    "The meeting about {rare} with {name} was moved to {city}",
)
SPANISH = (
    "A {name} le gusta {cosa} y viaja a {city} con {other}",
    "{name} se mudó a {city} por {cosa} y el proyecto {rare}",
    "{name} conoció a {other} en {city} gracias a {cosa}",
    "{name} guarda las notas de {cosa} con el nombre {rare}",
    "La reunión sobre {rare} con {name} se pasó a {city}",
)
ASKED = (
    "Where did {name} move because of {thing}?",
    "What does {name} like to do in {city}?",
    "Who keeps the notes about {rare}?",
    "¿Por qué se mudó {name} a {city}?",
    "¿A quién conoció {name} en {city}?",
    "When was the meeting about {rare}?",
)
SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi xo zu bra cle dri flo gru".split()


def facts(count: int, *, seed: int) -> Iterator[tuple[str, str, str]]:
    """(text, subject, language)."""
    rng = random.Random(seed)
    for _ in range(count):
        language = "es" if rng.random() < 0.4 else "en"
        words = _words(rng, count)
        template = rng.choice(SPANISH if language == "es" else ENGLISH)
        yield template.format(**words), words["name"], language


def questions(count: int, *, of: int, seed: int) -> list[str]:
    rng = random.Random(seed + 1)
    return [rng.choice(ASKED).format(**_words(rng, of)) for _ in range(count)]


def vectors(count: int, base: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Real vectors, each moved a little: clustered as text is, and made in no time."""
    chosen = base[rng.integers(0, len(base), count)]
    moved = chosen + rng.normal(0, 0.6 / np.sqrt(base.shape[1]), chosen.shape)
    return (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)


def _words(rng: random.Random, of: int) -> dict[str, str]:
    # As many code names as there are tens of facts: rare words stay rare when memory grows.
    code = rng.randrange(max(10, of // 10))
    return {
        "name": rng.choice(FIRST),
        "other": f"{rng.choice(FIRST)} {rng.choice(LAST)}",
        "thing": rng.choice(THINGS),
        "cosa": rng.choice(COSAS),
        "city": rng.choice(CITIES),
        "rare": "".join(SYLLABLES[(code // 20**n) % 20] for n in range(4)),
    }
