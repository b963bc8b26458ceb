"""Own lines to train the guard on: templates in guard_lines/, spun into many sentences."""

import random
import re
from pathlib import Path

FOLDER = Path(__file__).with_name("guard_lines")
_CHOICE = re.compile(r"\{([^{}]*)\}")
OPEN, CLOSE = "\ue000", "\ue001"  # braces that are meant, while the others are spun


def slots() -> dict[str, list[str]]:
    lines = (FOLDER / "slots.txt").read_text("utf-8").splitlines()
    pairs = [line.split(" = ", 1) for line in lines if " = " in line and not line.startswith("#")]
    return {name.strip(): [c.strip() for c in choices.split(" | ")] for name, choices in pairs}


def spin(template: str, known: dict[str, list[str]], rng: random.Random) -> str:
    """One sentence of the template: {a|b} takes one, {name} or a choice called name its slot."""

    def one(match: re.Match) -> str:
        inside = match.group(1)
        if "|" not in inside and inside not in known:
            return OPEN + inside + CLOSE
        chosen = rng.choice(inside.split("|"))
        return rng.choice(known[chosen]) if chosen in known else chosen

    while _CHOICE.search(template):
        template = _CHOICE.sub(one, template)
    return template.replace(OPEN, "{").replace(CLOSE, "}")


def lines(*, per_template: int, seed: int = 1) -> list[dict]:
    """Rows {text, kind, lang, attack, template}: every template spun into different sentences."""
    rng, known, rows = random.Random(seed), slots(), []
    for file in sorted(FOLDER.glob("*.*.txt")):
        side, lang = file.name.split(".")[:2]
        for number, line in enumerate(file.read_text("utf-8").splitlines()):
            kind, template = line.split(" | ", 1)
            spun = {spin(template, known, rng) for _ in range(per_template)}
            rows += [
                {"text": text, "kind": kind, "lang": lang, "attack": side == "attack",
                 "template": f"{file.name}:{number}"}
                for text in sorted(spun)
            ]  # fmt: skip
    return rows
