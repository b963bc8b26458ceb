"""Claude by its own API."""

import re

import anthropic

from memory.llm import transport
from memory.llm.request import ROOM_TO_THINK, Answer, ProviderError, Request, Round, ToolCall
from memory.spaces import connections

# These think without being asked; for talk and short lists a little of it is enough.
_THINKS = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-(?:[5-9]|\d\d)\b")


def ask(request: Request) -> Answer:
    key, base = connections.values("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    if not key:
        raise ProviderError("ANTHROPIC_API_KEY is not set.", permanent=True)
    with (
        transport.client(timeout=request.timeout) as http,
        transport.provider_errors(anthropic, "Anthropic"),
    ):
        client = anthropic.Anthropic(
            api_key=key,
            base_url=base or None,
            http_client=http,
            max_retries=0,
        )
        return _streamed(client, request) if request.stream else _whole(client, request)


def _whole(client: anthropic.Anthropic, request: Request) -> Answer:
    message = client.messages.create(**_payload(request))
    if not message.stop_reason:
        raise ProviderError("Anthropic sent an answer without an end.", again=True)
    return _answer(message)


def _streamed(client: anthropic.Anthropic, request: Request) -> Answer:
    text, ended = "", False
    with client.messages.stream(**_payload(request)) as stream:
        for event in stream:
            if event.type == "text":
                text += event.text
                request.stream(text)
            ended = ended or event.type == "message_stop"
        if not ended:
            raise ProviderError("Anthropic's answer broke off.", again=True)
        return _answer(stream.get_final_message())


def _payload(request: Request) -> dict:
    payload = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "system": [_part(text, first=n == 0) for n, text in enumerate(request.system) if text],
        "messages": [
            *request.messages,
            *(turn for round in request.rounds for turn in (round.turn, _results(round))),
        ],
    }
    if request.tools:
        payload["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        payload["tool_choice"] = {"type": "none" if request.must_answer else "auto"}
    if _THINKS.match(request.model):
        payload["max_tokens"] += ROOM_TO_THINK
        payload["extra_body"] = {"output_config": {"effort": "low"}}
    return payload


def _results(round: Round) -> dict:
    return {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": result}
            for call, result in zip(round.calls, round.results, strict=True)
        ],
    }


def _part(text: str, *, first: bool) -> dict:
    # The stable part is the same in every turn of a space: paid once, then read from the cache.
    cache = {"cache_control": {"type": "ephemeral"}} if first else {}
    return {"type": "text", "text": text} | cache


def _back(block: anthropic.types.ContentBlock) -> dict:
    """Return a block as the API wants it back; also what the model thought, or it refuses."""
    if block.type == "text":
        return {"type": "text", "text": block.text} if block.text else {}
    if block.type == "tool_use":
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    return block.to_dict(mode="json")


def _answer(message: anthropic.types.Message) -> Answer:
    usage = message.usage
    cached = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    blocks = message.content
    return Answer(
        text="".join(block.text for block in blocks if block.type == "text"),
        calls=[ToolCall(b.id, b.name, b.input) for b in blocks if b.type == "tool_use"],
        turn={"role": "assistant", "content": list(filter(None, map(_back, blocks)))},
        model=message.model,
        tokens_in=usage.input_tokens + cached + written,
        tokens_out=usage.output_tokens,
        tokens_cached=cached,
        tokens_written=written,
    )
