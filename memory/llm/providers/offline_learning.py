"""What the built-in provider keeps of a message: the same tags a model would write."""

from dataclasses import dataclass

from memory.llm.briefing import Briefing
from memory.llm.providers.offline_intents import Intent


@dataclass(frozen=True)
class Lesson:
    """One thing to keep. `kind` is the tag's name; `text` is empty when nothing need be said."""

    kind: str
    content: str
    text: str = ""

    @property
    def tag(self) -> str:
        return f"<{self.kind}>{self.content}</{self.kind}>"


def lessons(briefing: Briefing, intent: Intent, language: str) -> list[Lesson]:
    return []
