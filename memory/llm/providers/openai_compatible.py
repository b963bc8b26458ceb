"""OpenAI and every server that speaks its protocol: Ollama, vLLM, Gemini's compatible endpoint."""

import re

import openai

from memory.llm import transport
from memory.llm.request import ROOM_TO_THINK, Answer, ProviderError, Request
from memory.spaces import connections

# OpenAI's own that think before they answer; for talk a little of it is enough.
_THINKS = re.compile(r"(?:gpt-[5-9]|o\d)(?!.*\bchat\b)")


def ask(request: Request) -> Answer:
    key, base = connections.values("OPENAI_API_KEY", "OPENAI_BASE_URL")
    if not key and not base:
        raise ProviderError("Neither OPENAI_API_KEY nor OPENAI_BASE_URL is set.", permanent=True)
    with (
        transport.client(timeout=request.timeout) as http,
        transport.provider_errors(openai, "The server"),
    ):
        client = openai.OpenAI(
            # Local servers want some key, any key.
            api_key=key or "none",
            base_url=base or None,
            http_client=http,
            max_retries=0,
        )
        payload = _payload(request, own=not base)
        return _streamed(client, request, payload) if request.stream else _whole(client, payload)


def _whole(client: openai.OpenAI, payload: dict) -> Answer:
    done = client.chat.completions.create(**payload)
    choice = done.choices[0]
    if not choice.finish_reason:
        raise ProviderError("The server sent an answer without an end.", again=True)
    return _answer(choice.message.content or "", model=done.model, usage=done.usage)


def _streamed(client: openai.OpenAI, request: Request, payload: dict) -> Answer:
    text, model, usage, ended = "", request.model, None, False
    payload |= {"stream": True, "stream_options": {"include_usage": True}}
    with client.chat.completions.create(**payload) as stream:
        for chunk in stream:
            model, usage = chunk.model or model, chunk.usage or usage
            for choice in chunk.choices[:1]:
                if choice.delta.content:
                    text += choice.delta.content
                    request.stream(text)
                ended = ended or bool(choice.finish_reason)
    if not ended:
        raise ProviderError("The server's answer broke off.", again=True)
    return _answer(text, model=model, usage=usage)


def _payload(request: Request, *, own: bool) -> dict:
    system = "\n\n".join(part for part in request.system if part)
    # OpenAI's own newer models refuse max_tokens, the compatible servers know nothing else.
    limit = "max_completion_tokens" if own else "max_tokens"
    thinks = own and _THINKS.match(request.model)
    return {
        "model": request.model,
        "messages": [
            *([{"role": "system", "content": system}] if system else []),
            *request.messages,
        ],
        limit: request.max_tokens + (ROOM_TO_THINK if thinks else 0),
    } | ({"reasoning_effort": "low"} if thinks else {})


def _answer(text: str, *, model: str, usage: openai.types.CompletionUsage | None) -> Answer:
    details = usage.prompt_tokens_details if usage else None
    return Answer(
        text=text,
        model=model,
        tokens_in=usage.prompt_tokens if usage else 0,
        tokens_out=usage.completion_tokens if usage else 0,
        tokens_cached=(details.cached_tokens or 0) if details else 0,
    )
