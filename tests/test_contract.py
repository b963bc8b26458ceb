"""Public words are a contract: routes, commands, settings, fields and the archive."""

from tests import contract


def test_no_public_word_changed_by_accident():
    """Run `python -m tests.contract --write` when it is meant, and say so in the changelog."""
    assert contract.generated() == contract.written()


def test_a_change_would_be_noticed(monkeypatch):
    monkeypatch.setattr(contract, "commands", lambda: [*contract.written().split()[:1], "new"])
    assert contract.generated() != contract.written()


def test_every_kind_of_word_is_there():
    assert len(contract.routes()) > 100
    assert len(contract.settings_read()) > 40
    assert contract.http_fields()
    assert contract.mcp_shapes()
    assert contract.archive_files()
