from datetime import UTC, datetime, timedelta

import pytest

from bot import channels
from bot.channels import Channel, Outgoing, SendFailed
from memory.llm import providers
from memory.llm.request import Answer, ProviderError, Request
from tests.factories import make_chat, make_space

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


class Scripted:
    """A provider that says what the test wants: texts, or errors to raise."""

    def __init__(self):
        self.script: list[str | ProviderError] = []
        self.usual = "All right."
        self.asked: list[Request] = []

    def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        says = self.script.pop(0) if self.script else self.usual
        if isinstance(says, ProviderError):
            raise says
        return Answer(says, model="scripted", tokens_in=10, tokens_out=5)


class FakeChannel(Channel):
    """Keeps what was sent, and fails on command."""

    name = "fake"

    def __init__(self):
        self.sent: list[Outgoing] = []
        self.failures: list[SendFailed] = []

    async def send(self, outgoing: Outgoing) -> str:
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append(outgoing)
        return f"there-{len(self.sent)}"


@pytest.fixture
def llm(monkeypatch, settings):
    scripted = Scripted()
    settings.PROVIDER = "anthropic"
    settings.ANTHROPIC_API_KEY = "not-a-key"
    monkeypatch.setattr(providers, "load", lambda name: scripted)
    return scripted


@pytest.fixture
def fake(monkeypatch):
    channel = FakeChannel()
    monkeypatch.setitem(channels._open, "fake", channel)
    return channel


@pytest.fixture
def space(db):
    return make_space("home")


@pytest.fixture
def chat(space, fake):
    return make_chat(space, channel="fake")
