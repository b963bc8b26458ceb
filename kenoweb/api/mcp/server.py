"""One agent, one key, one pipe: every call is checked, done, noted and answered with data or with
a sentence."""

import logging
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, ListToolsResult, TextContent
from pydantic import BaseModel, ValidationError

from kenoweb.api.mcp.caller import Refused, admit, rights
from kenoweb.api.mcp.tools import INSTRUCTIONS, TOOLS, Offer, Tool
from memory.models import ApiToken
from memory.queue.rate_limit import RateLimit

log = logging.getLogger(__name__)


def make(key: str) -> Server:
    limits = RateLimit(settings.API_RATE_LIMIT)

    async def list_tools(_context, _params) -> ListToolsResult:
        return ListToolsResult(tools=await _beside(offered, key))

    async def call_tool(_context, asked) -> CallToolResult:
        return await _beside(call, key, asked.name, asked.arguments or {}, limits=limits)

    return Server(
        "keno",
        title="Keno",
        version=settings.VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _beside(do: Callable, *args: object, **more: object) -> object:
    """In the one thread of asgiref's that keeps the connection to the database."""

    def with_a_connection_that_lives():
        close_old_connections()
        return do(*args, **more)

    return await sync_to_async(with_a_connection_that_lives)()


def offered(key: str) -> list[Offer]:
    """The tools that the key may use now."""
    try:
        mine = rights(key)
    except (DatabaseError, InterfaceError) as error:
        log.exception("the database failed a list of the tools")
        raise MCPError(code=INTERNAL_ERROR, message=_no_database()) from error
    return [tool.offer() for tool in TOOLS.values() if tool.scope in mine]


def call(key: str, name: str, arguments: dict, *, limits: RateLimit) -> CallToolResult:
    """Never raises: what goes wrong is a sentence for the agent and a line in our log."""
    try:
        return _answer(_done(key, name, arguments, limits=limits))
    except Refused as no:
        return _error(str(no))
    except (DatabaseError, InterfaceError):
        log.exception("the database failed a call of %s", name[:40])
        return _error(_no_database())
    except Exception:
        log.exception("a call of %s failed", name[:40])
        return _error(_("Something went wrong inside Keno. Its log, on standard error, says what."))


def _done(key: str, name: str, arguments: dict, *, limits: RateLimit) -> BaseModel:
    tool = TOOLS.get(name)
    if tool is None:
        known = ", ".join(TOOLS)
        raise Refused(_("There is no such tool. There are: %(names)s.") % {"names": known})
    token = admit(key, scope=tool.scope)
    with translation.override(token.space.language):
        _slow_down(token, limits)
        return tool.do(token, _understood(tool, arguments))


def _slow_down(token: ApiToken, limits: RateLimit) -> None:
    now = timezone.now()
    if not limits.allow(token.pk, now=now):
        seconds = max(1, limits.wait(token.pk, now=now))
        raise Refused(
            _("This token calls too often. Wait %(n)s seconds, then call again.") % {"n": seconds}
        )


def _understood(tool: Tool, arguments: dict) -> BaseModel:
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


def _no_database() -> str:
    return _("The database does not answer as it should. Try again in a moment.")


def _answer(given: BaseModel) -> CallToolResult:
    content = [TextContent(type="text", text=given.model_dump_json())]
    return CallToolResult(content=content, structured_content=given.model_dump(mode="json"))


def _error(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)
