#!/usr/bin/env python3
"""Hook of Claude Code: recall before an answer, learn after it. Needs nothing but Python.

KENO_URL says where Keno is (http://127.0.0.1:8000), KENO_TOKEN holds an API token with the rights
read and write. Whatever goes wrong is said on standard error; the session goes on without memory.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path

TIMEOUT, TOKENS, LONGEST = 8, 800, 8_000


def main() -> None:
    event = json.load(sys.stdin)
    project = Path(event.get("cwd") or ".").name
    name = event.get("hook_event_name")
    if name == "SessionStart":
        recall(f"What is known about {project}?")
    elif name == "UserPromptSubmit":
        recall(event.get("prompt") or "")
    elif name == "Stop":
        learn(last_prompt(event.get("transcript_path") or ""), project=project)


def recall(query: str) -> None:
    """Print what Keno remembers; Claude Code puts it before the model as context."""
    if query.strip():
        asked = {"query": query[:LONGEST], "context": True, "budget": TOKENS}
        if found := call("/api/v1/recall", asked).get("context"):
            print(found)


def learn(said: str, *, project: str) -> None:
    """Send what the person said; the gate of the token decides whether it waits for them."""
    if said:
        turn = {"role": "user", "content": said[:LONGEST]}
        call("/v1/memories/", {"messages": [turn], "app_id": f"Claude Code: {project}"})


def last_prompt(transcript: str) -> str:
    """Return the last thing the person typed; results of tools have the same role, but no text."""
    lines = Path(transcript).read_text().splitlines() if transcript else []
    for line in reversed(lines):
        entry = json.loads(line)
        said = entry.get("message", {}).get("content")
        if entry.get("type") == "user" and isinstance(said, list):
            said = " ".join(part["text"] for part in said if part.get("type") == "text")
        if entry.get("type") == "user" and said:
            return said
    return ""


def call(path: str, given: dict) -> dict:
    request = urllib.request.Request(
        os.environ.get("KENO_URL", "http://127.0.0.1:8000").rstrip("/") + path,
        data=json.dumps(given).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['KENO_TOKEN']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        return json.load(response)


if __name__ == "__main__":
    try:
        main()
    except KeyError as missing:
        print(f"Keno: set {missing}.", file=sys.stderr)
    except (OSError, ValueError) as error:
        print(f"Keno: {error}", file=sys.stderr)
