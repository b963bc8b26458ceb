"""The identity as the model reads it: core, rules, preferences."""

from collections.abc import Collection

from memory.identity import core, preferences, rules
from memory.models import Rule, Space

RULE = "\n\n---\n\n"


def prompt(
    space: Space,
    *,
    with_preferences: bool = True,
    pairs: Collection[tuple[str, str]] | None = (),
) -> str:
    """Return the identity part of the prompt, for a person with these (channel, author id) pairs.

    Wishes of other people are left out; a first conversation has no preferences at all.
    """
    parts = [core.read(space), rules_section(rules.active(space, pairs=pairs))]
    if with_preferences:
        parts.append(preferences_section(space, pairs=pairs))
    return RULE.join(part for part in parts if part)


def rules_section(active: list[Rule]) -> str:
    parts = ["## Behavioral Guidelines"] if any(rule.instruction for rule in active) else []
    for category in dict.fromkeys(rule.category for rule in active):
        rules = (rule for rule in active if rule.category == category and rule.instruction)
        lines = [line for rule in rules for line in _lines(rule)]
        if lines:
            heading = " ".join(word.capitalize() for word in category.split("-"))
            parts.append("\n".join([f"### {heading}", *lines]))
    forbidden = [line for rule in active for line in _forbidden(rule)]
    if forbidden:
        parts.append("\n".join(["## Forbidden Patterns", *forbidden]))
    return "\n\n".join(parts)


def preferences_section(space: Space, *, pairs: Collection[tuple[str, str]] | None = ()) -> str:
    """Return the preferences that a person worded; others are data, and stand with the memory."""
    worded = list(filter(preferences.is_worded, preferences.active(space, pairs=pairs)))
    written = preferences.as_markdown(worded)
    body = written.removeprefix(preferences.HEADING).replace("\n## ", "\n### ").strip()
    return f"## Preferences\n\n{body}" if body else ""


def _lines(rule: Rule) -> list[str]:
    lines = [f"- {rule.instruction}"]
    if rule.examples:
        lines += ["  Examples:", *(f"  - {_example(example)}" for example in rule.examples)]
    return lines


def _example(example: dict | str) -> str:
    if isinstance(example, str):
        return example
    names = (("user", "User"), ("good", "Good"), ("bad", "Bad"))
    return " / ".join(f"{label}: {example[name]}" for name, label in names if example.get(name))


def _forbidden(rule: Rule) -> list[str]:
    return [
        f'- "{phrase["phrase"]}"' + (f" ({phrase['reason']})" if phrase.get("reason") else "")
        for phrase in rule.forbidden
    ]
