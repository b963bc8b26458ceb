"""OpenAI and every server that speaks its protocol: Ollama, vLLM, Gemini's compatible endpoint."""

import re
from collections.abc import Sequence

import openai
from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall

from memory.llm import transport
from memory.llm.request import ROOM_TO_THINK, Answer, ProviderError, Request, Round, ToolCall
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
    wanted = [call for call in choice.message.tool_calls or () if call.type == "function"]
    calls = [ToolCall(call.id, call.function.name, call.function.arguments) for call in wanted]
    text = choice.message.content or ""
    return _answer(text, model=done.model, usage=done.usage, calls=calls)


def _streamed(client: openai.OpenAI, request: Request, payload: dict) -> Answer:
    text, model, usage, ended = "", request.model, None, False
    calls: dict[int, ToolCall] = {}
    payload |= {"stream": True, "stream_options": {"include_usage": True}}
    with client.chat.completions.create(**payload) as stream:
        for chunk in stream:
            model, usage = chunk.model or model, chunk.usage or usage
            for choice in chunk.choices[:1]:
                if choice.delta.content:
                    text += choice.delta.content
                    request.stream(text)
                for part in choice.delta.tool_calls or ():
                    calls[part.index] = _longer(calls.get(part.index), part)
                ended = ended or bool(choice.finish_reason)
    if not ended:
        raise ProviderError("The server's answer broke off.", again=True)
    return _answer(text, model=model, usage=usage, calls=[calls[n] for n in sorted(calls)])


def _longer(call: ToolCall | None, part: ChoiceDeltaToolCall) -> ToolCall:
    """Add a piece of a streamed call: the first one names it, the others go on."""
    call, function = call or ToolCall("", "", ""), part.function
    return ToolCall(
        call.id or part.id or "",
        call.name or (function and function.name) or "",
        call.arguments + ((function and function.arguments) or ""),
    )


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
            *(turn for round in request.rounds for turn in (round.turn, *_results(round))),
        ],
        limit: request.max_tokens + (ROOM_TO_THINK if thinks else 0),
        **({"reasoning_effort": "low"} if thinks else {}),
        **(_tools(request) if request.tools else {}),
    }


def _tools(request: Request) -> dict:
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in request.tools
    ]
    return {
        "tools": [{"type": "function", "function": function} for function in functions],
        "tool_choice": "none" if request.must_answer else "auto",
    }


def _results(round: Round) -> list[dict]:
    return [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(round.calls, round.results, strict=True)
    ]


def _answer(
    text: str,
    *,
    model: str,
    usage: openai.types.CompletionUsage | None,
    calls: Sequence[ToolCall] = (),
) -> Answer:
    wanted = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments or "{}"},
        }
        for call in calls
    ]
    details = usage.prompt_tokens_details if usage else None
    return Answer(
        text=text,
        calls=calls,
        turn={"role": "assistant", "content": text or None, "tool_calls": wanted} if calls else {},
        model=model,
        tokens_in=usage.prompt_tokens if usage else 0,
        tokens_out=usage.completion_tokens if usage else 0,
        tokens_cached=(details.cached_tokens or 0) if details else 0,
    )
