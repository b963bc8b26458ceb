"""The `claude` command, one shot per turn: the history goes in as a preamble, no tool may run."""

import json
import os
import re
import signal
import subprocess
import tempfile
from decimal import Decimal, InvalidOperation

from django.conf import settings

from memory.llm.request import Answer, ProviderError, Request
from memory.llm.transport import MAX_ANSWER_BYTES

# Never the whole environment: the database address and our keys are none of its business.
PASSED_ON = re.compile(
    "PATH|HOME|LANG|LC_ALL|TMPDIR|USER|SHELL|XDG_CONFIG_HOME|(?:CLAUDE|ANTHROPIC)_.*"
)


def ask(request: Request) -> Answer:
    with (
        tempfile.TemporaryDirectory(prefix="keno-claude-") as empty,
        tempfile.TemporaryFile() as out,
    ):
        _run(request, folder=empty, out=out)
        if out.tell() > MAX_ANSWER_BYTES:
            raise ProviderError("The claude command said more than an answer may hold.")
        out.seek(0)
        return _answer(out.read(), request)


def prompt(request: Request) -> str:
    """Return everything the command reads: instructions, the conversation and the message."""
    *before, last = request.messages
    conversation = "\n\n".join(
        f"{'Person' if turn['role'] == 'user' else 'You'}: {turn['content']}" for turn in before
    )
    parts = ["\n\n".join(part for part in request.system if part)]
    if conversation:
        parts.append(f"The conversation so far:\n\n{conversation}")
    return "\n\n---\n\n".join([*parts, last["content"]])


def command(request: Request) -> list[str]:
    return [
        settings.CLAUDE_COMMAND,
        "--print",
        "--output-format=json",
        f"--model={request.model}",
        "--tools=",
        "--no-session-persistence",
    ]


def _run(request: Request, *, folder: str, out) -> None:
    try:
        process = subprocess.Popen(
            command(request),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={name: os.environ[name] for name in os.environ if PASSED_ON.fullmatch(name)},
            start_new_session=True,
        )
    except OSError as error:
        raise ProviderError(
            f"The command {settings.CLAUDE_COMMAND} cannot be started.", permanent=True
        ) from error
    try:
        process.communicate(prompt(request).encode(), timeout=request.timeout)
    except subprocess.TimeoutExpired as error:
        raise ProviderError("The claude command did not answer in time.") from error
    finally:
        _end(process)
    if process.returncode:
        raise ProviderError(f"The claude command ended with code {process.returncode}.")


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        # The whole group: the command starts children of its own.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _answer(raw: bytes, request: Request) -> Answer:
    try:
        output = json.loads(raw)
        if output.get("is_error"):
            raise ProviderError("The claude command reported an error.")
        usage = output.get("usage") or {}
        text = str(output["result"])
        cost = Decimal(str(output.get("total_cost_usd") or 0))
    except (ValueError, LookupError, AttributeError, TypeError, InvalidOperation) as error:
        raise ProviderError("The claude command answered in a way Keno cannot read.") from error
    if request.stream:
        request.stream(text)
    cached = int(usage.get("cache_read_input_tokens") or 0)
    written = int(usage.get("cache_creation_input_tokens") or 0)
    return Answer(
        text=text,
        model=request.model,
        tokens_in=int(usage.get("input_tokens") or 0) + cached + written,
        tokens_out=int(usage.get("output_tokens") or 0),
        tokens_cached=cached,
        tokens_written=written,
        cost=cost,
    )
