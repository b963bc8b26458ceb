"""One small file per provider; each has `ask(request) -> Answer` and raises ProviderError.

What is needed before a provider is loaded is defined here, because the SDKs take long to load.
"""

from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True)
class Provider:
    """A provider's module and its default models."""

    module: str
    model: str
    fast_model: str
    aliases: dict[str, str] = field(default_factory=dict)
    # Whether its protocol lets a model ask for tools.
    tools: bool = False


CLAUDE = {
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
    "opus": "claude-opus-5-5",
}
PROVIDERS = {
    "anthropic": Provider("anthropic", CLAUDE["sonnet"], CLAUDE["haiku"], CLAUDE, tools=True),
    "openai": Provider("openai_compatible", "gpt-5.2", "gpt-5-mini", tools=True),
    "claude-cli": Provider("claude_cli", "sonnet", "haiku"),
    "offline": Provider("offline", "built-in", "built-in"),
}


def load(name: str) -> ModuleType:
    return import_module(f"memory.llm.providers.{PROVIDERS[name].module}")
