import pytest

from memory import chats, episodes, fact_rows, facts, patterns, text, working
from memory import screen as screens
from memory.identity import preferences
from memory.transfer import write_identity, write_memories, write_messages
from memory.transfer.archive import screening

_WRITERS = [chats, episodes, fact_rows, facts, patterns, preferences, working]
_WRITERS += [screening, write_identity, write_memories, write_messages]


@pytest.fixture
def real_guard():
    """For a test that wants the guard as it is."""


@pytest.fixture(autouse=True)
def toy_guard(request, monkeypatch):
    """A guard whose judgement is plain: what it holds back, an import must hold back.

    Which words the real guard suspects is tested where it lives; here it would only move the goal.
    """
    if "real_guard" in request.fixturenames:
        return

    def screen(said, *, line=False, but=frozenset()):
        whole = text.clean(said)
        whole = text.one_line(whole) if line else whole.strip()
        kept = whole.replace("sk-" + "ant-", "[redacted:key]")
        redacted = ["key"] if kept != whole else []
        reasons = ["instruction"] if "ignore all previous" in kept.lower() else []
        return screens.Screened(kept, redacted, reasons)

    for module in _WRITERS:
        monkeypatch.setattr(module, "screen", screen)
