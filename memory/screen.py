"""What happens to every text before it becomes durable: cleaned, redacted, judged."""

from dataclasses import dataclass, field

from memory import text


@dataclass(frozen=True)
class Screened:
    """The text as it may be stored, what was taken out of it, and why it is suspicious."""

    text: str
    redacted: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    @property
    def flags(self) -> list[str]:
        return [*self.reasons, *(f"redacted:{kind}" for kind in self.redacted)]


def screen(said: str, *, line: bool = False) -> Screened:
    """`line` for what must be one line (a fact, a title); else breaks and indents are kept."""
    kept = text.clean(said)
    return Screened(text.one_line(kept) if line else kept.strip())
