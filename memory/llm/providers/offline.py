"""The built-in provider: deterministic, no network."""

from memory.llm.request import Answer, Request


def ask(request: Request) -> Answer:
    return Answer("I have no language model, so I only keep what you tell me.", model="built-in")
