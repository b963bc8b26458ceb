"""An agent as it is: the SDK's own client, and `manage.py mcp` in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from anyio.from_thread import BlockingPortal, start_blocking_portal
from django.db import connection
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.database_url import url_of

ROOT = Path(__file__).resolve().parent.parent.parent
URL = "https://keno.example.org"


class Agent:
    def __init__(self, portal: BlockingPortal, client: Client, log: Path):
        self.portal, self.client, self.log = portal, client, log

    def tools(self) -> dict:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, name: str, **arguments) -> dict:
        """What the tool gives; it must not fail."""
        answer = self.portal.call(self.client.call_tool, name, arguments)
        assert not answer.is_error, answer.content[0].text
        return answer.structured_content

    def refused(self, name: str, **arguments) -> str:
        """The sentence with which the tool fails; it must."""
        answer = self.portal.call(self.client.call_tool, name, arguments)
        assert answer.is_error, answer.structured_content
        assert "Traceback" not in answer.content[0].text
        return answer.content[0].text


def environment(**given: str) -> dict[str, str]:
    kept = ("KENO_HOME", "KENO_POSTGRES_DIR", "KENO_SECRET_KEY")
    return {name: os.environ[name] for name in kept} | {
        "DATABASE_URL": url_of(connection.settings_dict),
        "KENO_URL": URL,
        "API_RATE_LIMIT": "600",
        **given,
    }


def start(*, stdin: int | IO[str] = subprocess.PIPE, **given: str) -> subprocess.Popen:
    """The bare process, for those who speak to it by hand."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "mcp", "--alone"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | environment(**given),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def agent(key: str, *, log: Path, url: str = "") -> Iterator[Agent]:
    """Over a pipe; with a `url`, to a Keno that runs there."""
    given = {"command": sys.executable, "cwd": ROOT}
    given["args"] = ["manage.py", "mcp", *([] if url else ["--alone"])]
    server = StdioServerParameters(**given, env=environment(KENO_TOKEN=key, KENO_URL=url or URL))
    with start_blocking_portal() as portal, log.open("w") as said:
        client = Client(stdio_client(server, errlog=said))
        with portal.wrap_async_context_manager(client) as connected:
            yield Agent(portal, connected, log)


@contextmanager
def agent_over_http(url: str, key: str, tools: str = "", *, log: Path) -> Iterator[Agent]:
    """The same client, over streamable HTTP to a Keno that runs."""
    with start_blocking_portal() as portal:
        http = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
        with portal.wrap_async_context_manager(http):
            client = Client(streamable_http_client(f"{url}/mcp{tools}", http_client=http))
            with portal.wrap_async_context_manager(client) as connected:
                yield Agent(portal, connected, log)
