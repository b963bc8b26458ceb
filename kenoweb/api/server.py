"""The operations as tools of the Model Context Protocol, over a pipe or over HTTP."""

import json
import logging
import os
import signal
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TextIO

import mcp_types as types
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from kenoweb.api.calls import Refused, rights
from kenoweb.api.operations import DATA_WARNING, OPERATIONS, Operation, perform
from kenoweb.launcher import mcp_pipe

TEXTS = tomllib.loads(Path(__file__).with_name("agent_texts.toml").read_text(encoding="utf-8"))
INSTRUCTIONS = f"{TEXTS['instructions']}{DATA_WARNING}\n"
PROMPTS = TEXTS["prompts"]
log = logging.getLogger(__name__)
# A file is not an answer for a model.
TOOLS = {name: operation for name, operation in OPERATIONS.items() if operation.gives}
JSON = "application/json"
FACTS_URI = "keno://space/facts"
ROW_URI = "keno://space/{kind}/{id}"
RESOURCES = {"facts", "person", "fact", "episode"}


def offer(tool: Operation) -> types.Tool:
    read = "" if tool.writes else DATA_WARNING
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=f"{tool.description or tool.title + '.'} {read}".strip(),
        input_schema=tool.takes.model_json_schema(),
        output_schema=tool.gives.model_json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=tool.method == "DELETE",
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def make(key: str, *, every: bool = False) -> Server:
    """Return a server for the holder of this key; with `every`, it offers all operations.

    What reads the database runs in the thread that keeps the connection to it.
    """

    async def list_tools(_context, _params) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await sync_to_async(list_offers)(key, every=every))

    async def call_tool(_context, params) -> types.CallToolResult:
        return await sync_to_async(call)(key, params.name, params.arguments or {})

    async def list_resources(_context, _params) -> types.ListResourcesResult:
        title = "The facts that were changed last"
        facts = types.Resource(uri=FACTS_URI, name="facts", title=title, mime_type=JSON)
        return types.ListResourcesResult(resources=[facts])

    async def list_templates(_context, _params) -> types.ListResourceTemplatesResult:
        title = "One person, fact or episode, by its id"
        row = types.ResourceTemplate(uri_template=ROW_URI, name="one", title=title)
        return types.ListResourceTemplatesResult(resource_templates=[row])

    async def read_resource(_context, params) -> types.ReadResourceResult:
        text = await sync_to_async(resource)(key, str(params.uri))
        content = types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(_context, _params) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_prompt(name) for name in PROMPTS])

    async def get_prompt(_context, params) -> types.GetPromptResult:
        return _fill_prompt(params.name, params.arguments or {})

    return Server(
        "keno",
        title="Keno",
        version=settings.VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def list_offers(key: str, *, every: bool = False) -> list[types.Tool]:
    try:
        tokens = rights(key)
    except (DatabaseError, InterfaceError) as error:
        log.exception("the database failed a list of the tools")
        raise MCPError(code=types.INTERNAL_ERROR, message=_no_database()) from error
    return [
        offer(tool)
        for tool in TOOLS.values()
        if (every or tool.agents)
        and tool.scope in tokens
        and (not tool.private or "private" in tokens)
        and not (tool.writes and tokens[tool.scope].gate == "read_only")
    ]


def call(key: str, name: str, arguments: dict) -> types.CallToolResult:
    """Call a tool. Never raises: a fault is a sentence for the agent and a line in our log."""
    try:
        result = _perform(key, name, arguments)
        content = [types.TextContent(type="text", text=result.model_dump_json())]
        values = result.model_dump(mode="json")
        return types.CallToolResult(content=content, structured_content=values)
    except Refused as refusal:
        return _error(str(refusal))
    except (DatabaseError, InterfaceError):
        log.exception("the database failed a call of %s", name[:40])
        return _error(_no_database())
    except Exception:
        log.exception("a call of %s failed", name[:40])
        return _error(_("Something went wrong inside Keno. Its log says what."))


def _perform(key: str, name: str, arguments: dict) -> BaseModel:
    tool = TOOLS.get(name)
    if tool is None:
        names = ", ".join(TOOLS)
        raise Refused(_("There is no such tool. There are: %(names)s.") % {"names": names})
    return perform(tool, key, lambda: _read_arguments(tool, arguments))


def _read_arguments(tool: Operation, arguments: dict) -> BaseModel:
    try:
        return tool.takes.model_validate(arguments)
    except ValidationError as invalid:
        # The values are not repeated: they may be long, or not meant to be seen.
        problems = {".".join(map(str, fault["loc"])): fault["msg"] for fault in invalid.errors()}
        wrong = "; ".join(f"{name[:40]}: {problem}" for name, problem in problems.items())
        values = {"tool": tool.name, "wrong": wrong, "names": ", ".join(tool.takes.model_fields)}
        sentence = _("Call %(tool)s again with this put right: %(wrong)s. It takes: %(names)s.")
        raise Refused(sentence % values) from None


def resource(key: str, uri: str) -> str:
    """Return what stands at the address, as JSON; raise an error of the protocol without it."""
    name, _slash, number = uri.removeprefix("keno://space/").partition("/")
    is_known = name in RESOURCES and (not number or number.isdecimal())
    if not is_known or bool(number) == (name == "facts"):
        raise MCPError(code=types.INVALID_PARAMS, message=_("There is nothing at this address."))
    result = call(key, name, {"id": int(number)} if number else {})
    if result.is_error:
        raise MCPError(code=types.INVALID_PARAMS, message=result.content[0].text)
    return json.dumps(result.structured_content, ensure_ascii=False)


def _prompt(name: str) -> types.Prompt:
    title, argument = PROMPTS[name]["title"], PROMPTS[name].get("argument")
    arguments = [types.PromptArgument(name=argument, required=True)] if argument else []
    return types.Prompt(name=name, title=title, description=title, arguments=arguments)


def _fill_prompt(name: str, arguments: dict) -> types.GetPromptResult:
    prompt = PROMPTS.get(name)
    argument = prompt.get("argument") if prompt else None
    if prompt is None or (argument and not arguments.get(argument)):
        raise MCPError(
            code=types.INVALID_PARAMS, message=_("There is no such prompt, or it lacks a word.")
        )
    text = prompt["text"]
    text = text.format(**{argument: arguments[argument]}) if argument else text
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt["title"], messages=[message])


def exchange(key: str, request: HttpRequest) -> HttpResponse:
    """Answer one message of streamable HTTP as JSON. There are no sessions to keep.

    The SDK's own session manager speaks the protocol; it lives as long as the request and runs in
    the request's thread, so that what it does has the request's connection to the database.
    """
    server = make(key, every=request.GET.get("tools") == "all")
    headers = dict(request.headers)
    start, body = async_to_sync(_exchange)(server, request.method, headers, request.body)
    response = HttpResponse(body, status=start["status"])
    for name, value in start.get("headers", []):
        response[name.decode()] = value.decode("latin-1")
    return response


async def _exchange(
    server: Server, method: str, headers: dict[str, str], body: bytes
) -> tuple[dict, bytes]:
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    scope = {
        "type": "http",
        "method": method,
        "path": "/mcp",
        "query_string": b"",
        "headers": [
            (name.lower().encode(), value.encode("latin-1", "replace"))
            for name, value in headers.items()
        ],
    }
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    async with manager.run():
        await manager.handle_request(scope, receive, send)
    return sent[0], b"".join(message.get("body", b"") for message in sent[1:])


def _no_database() -> str:
    return _("The database does not answer as it should. Try again in a moment.")


def _error(sentence: str) -> types.CallToolResult:
    content = [types.TextContent(type="text", text=sentence)]
    return types.CallToolResult(content=content, is_error=True)


class ThisProcess(mcp_pipe.Keno):
    """A Keno that answers in this process, where the pipe would ask one that runs."""

    def __init__(self, key: str, *, every: bool):
        super().__init__("", key)
        self.server = make(key, every=every)

    def ask(
        self, method: str, body: bytes | None = None, *, within: float, headers: dict[str, str]
    ) -> mcp_pipe.Answer:
        close_old_connections()
        headers = headers | {"Host": "localhost"}
        try:
            start, answer = async_to_sync(_exchange)(self.server, method, headers, body or b"")
        except Exception:  # one call must not end the others
            log.exception("a message of an agent failed")
            return 500, b"", ""
        return start["status"], answer, ""


def serve(key: str, *, every: bool) -> None:
    """Answer until the other side closes our standard input, or a signal stops us."""
    # A signal must end the process in order: the last one out stops the embedded database.
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_signal: sys.exit(0))
    with the_output() as wire:
        mcp_pipe.serve(ThisProcess(key, every=every), (sys.stdin.buffer, wire))


@contextmanager
def the_output() -> Iterator[TextIO]:
    """Keep standard output for the protocol; whatever else prints, prints to standard error."""
    sys.stdout.flush()
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield wire
    finally:
        os.dup2(wire.fileno(), 1)
        wire.close()
