import pytest

from memory import chats, episodes, facts, patterns, working
from memory import screen as screens
from memory.transfer import write_identity, write_memories, write_messages
from memory.transfer.archive import screening

_WRITERS = [chats, episodes, facts, patterns, working]
_WRITERS += [screening, write_identity, write_memories, write_messages]


@pytest.fixture
def toy_guard(monkeypatch):
    """A guard whose judgement is plain: what it holds back, an import must hold back."""
    real = screens.screen

    def screen(said, *, line=False):
        found = real(said, line=line)
        kept = found.text.replace("sk-" + "ant-", "[redacted:key]")
        redacted = ["key"] if kept != found.text else []
        reasons = ["instruction"] if "ignore all previous" in kept.lower() else []
        return screens.Screened(kept, redacted, reasons)

    for module in _WRITERS:
        monkeypatch.setattr(module, "screen", screen)
