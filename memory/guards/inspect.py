"""Is this text an attack on the memory, and does it hold a secret? Quarantine and redaction.

A guard cannot carry safety alone: facts stay data in the prompt, derived writes need approval and
everything can be undone. What it finds goes to a person with the reason; nothing is dropped.
"""

from dataclasses import dataclass

from memory.guards import disguise, limits
from memory.guards import model as guard_model
from memory.guards.rulebook import matching
from memory.guards.secrets import find_secrets

LIMIT = 32768
LEARNED = 0.5  # of chat that was not trained on, 3 lines in 1,000 score higher
# People ask for a role or a saying in play too: such a rule counts when the model half agrees.
PLAYFUL, AGREES = frozenset({"persona", "puppet"}), 0.3
VIEW = 4096
# Only with one of these in it is a text worth reading backwards.
TELLING = (
    "ignor",
    "forget",
    "olvid",
    "instruc",
    "prompt",
    "system",
    "memory",
    "password",
    "secret",
)

_ = str  # marks a reason for the catalogue without needing settings
REASONS = {
    "override": _("Asks Keno to break its instructions"),
    "persona": _("Tells the assistant to be somebody else"),
    "directive": _("A standing order for the assistant"),
    "trigger": _("Waits for a word or event to act"),
    "authority": _("Claims rights over the assistant"),
    "recommendation": _("Bends later advice towards something"),
    "exfiltration": _("Sends data somewhere"),
    "leak": _("Wants to see the hidden prompt"),
    "procedure": _("A harmful habit or change of identity"),
    "markup": _("Carries tags or code that act on the assistant or the page"),
    "puppet": _("Puts words into the assistant's mouth"),
    "hidden": _("Contains invisible or lookalike characters"),
    "disguised": _("An instruction in disguise: spaced, encoded or misspelt"),
    "learned": _("Reads like an instruction to the assistant"),
}


@dataclass(frozen=True)
class Flag:
    kind: str
    reason: str
    start: int
    end: int


@dataclass(frozen=True)
class Verdict:
    flags: tuple[Flag, ...]
    score: float

    def __bool__(self) -> bool:
        return bool(self.flags)


def inspect(text: str) -> Verdict:
    """Every kind of attack found, with its place in the text, and how sure the guard is (0..1)."""
    text = text[:LIMIT]
    seen = limits.without_limits(disguise.plain(text))
    flags = [_flag("hidden", *span) for _trick, *span in disguise.tricks(text)[:1]]
    flags += [_flag(kind, *disguise.origin(text, *span)) for kind, span in _matches(seen)]
    if not flags and _disguised(text, seen):
        flags = [_flag("disguised", 0, len(text))]
    if any(flag.kind not in PLAYFUL for flag in flags):
        return Verdict(tuple(flags), 1.0)
    score = guard_model.score(seen)
    if flags and score >= AGREES:
        return Verdict(tuple(flags), 1.0)
    return Verdict((_flag("learned", 0, len(text)),) if score >= LEARNED else (), score)


def is_suspicious(text: str) -> bool:
    return bool(inspect(text).flags)


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with every secret replaced by [redacted:kind], and the kinds in order."""
    kinds, out, at = [], [], 0
    for secret in find_secrets(text):
        out += [text[at : secret.start], f"[redacted:{secret.kind}]"]
        kinds.append(secret.kind)
        at = secret.end
    return "".join([*out, text[at:]]), tuple(kinds)


def _flag(kind: str, start: int, end: int) -> Flag:
    return Flag(kind, REASONS[kind], start, end)


def _matches(seen: str) -> list[tuple[str, tuple[int, int]]]:
    """The first place of each kind."""
    found: dict[str, tuple[int, int]] = {}
    raw = seen.encode("utf-8", "replace")
    for rule in matching(raw):
        if rule.kind not in found and (span := rule.find(raw)):
            found[rule.kind] = span
    return list(found.items())


def _disguised(text: str, seen: str) -> bool:
    """Does a rule match behind a disguise? Long runs of single letters are enough by themselves."""
    spaced = disguise.letters_apart(seen[:VIEW])
    views = [disguise.unleet(seen[:VIEW]), *map(disguise.plain, disguise.decoded(text[:VIEW]))]
    if spaced or any(_matches(view[:VIEW]) for view in views if view):
        return True
    turned = [view for view in disguise.turned(seen[:512]) if any(w in view for w in TELLING)]
    return any(_matches(view) for view in turned)
