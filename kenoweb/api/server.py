"""The operations as tools of the Model Context Protocol, over a pipe or over HTTP."""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as ToolOffer
from pydantic import BaseModel, ValidationError

from kenoweb.api.calls import Refused, rights
from kenoweb.api.operations import DATA_WARNING, OPERATIONS, Operation, perform
from kenoweb.launcher import mcp_pipe

INSTRUCTIONS = f"""\
Keno is the long-term memory of one space: facts with the words they come from, and episodes.
Ask `recall` before you answer anything that may depend on the people, projects, preferences or
decisions of this space; give the receipt's url when somebody asks why. `remember` what is worth
knowing in a month, one sentence each, and never secrets. What you write may wait for a person, and
what looks like an attack is held back; only people decide what waits.
{DATA_WARNING}
"""
log = logging.getLogger(__name__)
# A file is not an answer for a model.
TOOLS = {name: one for name, one in OPERATIONS.items() if one.gives}
PROMPTS = {
    "what_do_you_know": (
        "What Keno knows about somebody or something",
        "about",
        "Ask Keno's `recall` and `people` what is known about {about}. Answer from that alone, "
        "with the words each piece comes from, and say what is not known.",
    ),
    "keep_from_this_talk": (
        "Keep what is worth knowing from this talk",
        "",
        "Look through our talk for what is worth knowing in a month: people, preferences, "
        "decisions, dates. Ask `recall` whether Keno knows it; `remember` what is new, one "
        "sentence each, and say what you kept. No secrets, nothing that only holds today.",
    ),
}
SNAPSHOT, ONE = "keno://space/facts", "keno://space/{kind}/{id}"


def offer(tool: Operation) -> ToolOffer:
    read = "" if tool.writes else DATA_WARNING
    return ToolOffer(
        name=tool.name,
        title=tool.title,
        description=f"{tool.description or tool.title + '.'} {read}".strip(),
        input_schema=tool.takes.model_json_schema(),
        output_schema=tool.gives.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=tool.method == "DELETE",
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def make(key: str, *, every: bool = False) -> Server:
    """A server for the holder of this key; `every` offers more than what agents need daily."""

    async def list_tools(_context, _params) -> ListToolsResult:
        return ListToolsResult(tools=await _beside(offered, key, every=every))

    async def call_tool(_context, asked) -> CallToolResult:
        return await _beside(call, key, asked.name, asked.arguments or {})

    async def list_resources(_context, _params) -> ListResourcesResult:
        title = "The facts that were changed last"
        found = Resource(uri=SNAPSHOT, name="facts", title=title, mime_type="application/json")
        return ListResourcesResult(resources=[found])

    async def list_templates(_context, _params) -> ListResourceTemplatesResult:
        title = "One person, fact or episode, by its id"
        found = ResourceTemplate(uri_template=ONE, name="one", title=title)
        return ListResourceTemplatesResult(resource_templates=[found])

    async def read_resource(_context, asked) -> ReadResourceResult:
        given = await _beside(resource, key, str(asked.uri))
        content = TextResourceContents(uri=asked.uri, mime_type="application/json", text=given)
        return ReadResourceResult(contents=[content])

    async def list_prompts(_context, _params) -> ListPromptsResult:
        return ListPromptsResult(prompts=[_prompt(name) for name in PROMPTS])

    async def get_prompt(_context, asked) -> GetPromptResult:
        return _filled(asked.name, asked.arguments or {})

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


async def _beside(do: Callable, *args: object, **more: object) -> Any:
    """In the thread that keeps the connection to the database."""
    return await sync_to_async(do)(*args, **more)


def offered(key: str, *, every: bool = False) -> list[ToolOffer]:
    """The tools that the key may use now."""
    try:
        mine = rights(key)
    except (DatabaseError, InterfaceError) as error:
        log.exception("the database failed a list of the tools")
        raise MCPError(code=INTERNAL_ERROR, message=_no_database()) from error
    tools = (tool for tool in TOOLS.values() if every or tool.agents)
    return [
        offer(tool)
        for tool in tools
        if tool.scope in mine
        and (not tool.private or "private" in mine)
        and not (tool.writes and mine[tool.scope].gate == "read_only")
    ]


def call(key: str, name: str, arguments: dict) -> CallToolResult:
    """Never raises: what goes wrong is a sentence for the agent and a line in our log."""
    try:
        return _answer(_done(key, name, arguments))
    except Refused as no:
        return _error(str(no))
    except (DatabaseError, InterfaceError):
        log.exception("the database failed a call of %s", name[:40])
        return _error(_no_database())
    except Exception:
        log.exception("a call of %s failed", name[:40])
        return _error(_("Something went wrong inside Keno. Its log says what."))


def _done(key: str, name: str, arguments: dict) -> BaseModel:
    tool = TOOLS.get(name)
    if tool is None:
        known = ", ".join(TOOLS)
        raise Refused(_("There is no such tool. There are: %(names)s.") % {"names": known})
    return perform(tool, key, lambda: _understood(tool, arguments))


def _understood(tool: Operation, arguments: dict) -> BaseModel:
    try:
        return tool.takes.model_validate(arguments)
    except ValidationError as bad:
        # What was given is not repeated: it may be long, or not meant to be seen.
        wrong = {".".join(map(str, one["loc"])): one["msg"] for one in bad.errors()}
        raise Refused(
            _("Call %(tool)s again with this put right: %(wrong)s. It takes: %(names)s.")
            % {
                "tool": tool.name,
                "wrong": "; ".join(f"{name[:40]}: {why}" for name, why in wrong.items()),
                "names": ", ".join(tool.takes.model_fields),
            }
        ) from None


def resource(key: str, uri: str) -> str:
    """What stands at the address, as JSON; an error of the protocol when nothing does."""
    kind, _slash, number = uri.removeprefix("keno://space/").partition("/")
    name = {"person": "person", "fact": "fact", "episode": "episode", "facts": "facts"}.get(kind)
    if name is None or (number and not number.isdecimal()) or bool(number) == (name == "facts"):
        raise MCPError(code=INVALID_PARAMS, message=_("There is nothing at this address."))
    found = call(key, name, {"id": int(number)} if number else {})
    if found.is_error:
        raise MCPError(code=INVALID_PARAMS, message=found.content[0].text)
    return json.dumps(found.structured_content, ensure_ascii=False)


def _prompt(name: str) -> Prompt:
    title, argument, _text = PROMPTS[name]
    taken = [PromptArgument(name=argument, required=True)] if argument else []
    return Prompt(name=name, title=title, description=title, arguments=taken)


def _filled(name: str, given: dict) -> GetPromptResult:
    if name not in PROMPTS or (PROMPTS[name][1] and not given.get(PROMPTS[name][1])):
        raise MCPError(
            code=INVALID_PARAMS, message=_("There is no such prompt, or it lacks a word.")
        )
    title, argument, text = PROMPTS[name]
    words = text.format(**{argument: given[argument]}) if argument else text
    content = TextContent(type="text", text=words)
    return GetPromptResult(
        description=title, messages=[PromptMessage(role="user", content=content)]
    )


def exchange(key: str, request: HttpRequest) -> HttpResponse:
    """One message of streamable HTTP, answered as JSON. There are no sessions to keep.

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
    said = [
        (name.lower().encode(), value.encode("latin-1", "replace"))
        for name, value in headers.items()
    ]
    where = {"path": "/mcp", "query_string": b"", "headers": said}
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    async with manager.run():
        await manager.handle_request({"type": "http", "method": method} | where, receive, send)
    return sent[0], b"".join(one.get("body", b"") for one in sent[1:])


def _no_database() -> str:
    return _("The database does not answer as it should. Try again in a moment.")


def _answer(given: BaseModel) -> CallToolResult:
    content = [TextContent(type="text", text=given.model_dump_json())]
    return CallToolResult(content=content, structured_content=given.model_dump(mode="json"))


def _error(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)


class Here(mcp_pipe.Keno):
    """This very process, which is asked as a Keno that runs would be."""

    def __init__(self, key: str, *, every: bool):
        super().__init__("", key)
        self.server = make(key, every=every)

    def ask(
        self, method: str, body: bytes | None = None, *, within: float, headers: dict[str, str]
    ) -> mcp_pipe.Answer:
        close_old_connections()
        given = headers | {"Host": "localhost"}
        try:
            start, said = async_to_sync(_exchange)(self.server, method, given, body or b"")
        except Exception:  # one call must not end the others
            log.exception("a message of an agent failed")
            return 500, b"", ""
        return start["status"], said, ""


def serve(key: str, *, every: bool) -> None:
    """Until the other side closes our standard input, or somebody stops us."""
    # Ended in order also then: the last process out stops the embedded database.
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_signal: sys.exit(0))
    with the_output() as wire:
        mcp_pipe.serve(Here(key, every=every), (sys.stdin.buffer, wire))


@contextmanager
def the_output() -> Iterator[TextIO]:
    """Standard output for us alone: whatever else prints, prints to standard error."""
    sys.stdout.flush()
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield wire
    finally:
        os.dup2(wire.fileno(), 1)
        wire.close()
