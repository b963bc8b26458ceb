import pytest

from memory.guards import screening


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

    def reasons(cleaned):
        return ("instruction",) if "ignore all previous" in cleaned.lower() else ()

    def redacted(cleaned):
        kept = cleaned.replace("sk-" + "ant-", "[redacted:key]")
        return kept, ("key",) if kept != cleaned else ()

    monkeypatch.setattr(screening, "_reasons", reasons)
    monkeypatch.setattr(screening, "_redacted", redacted)
