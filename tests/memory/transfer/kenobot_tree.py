"""KenoBot trees as its own code and documents write them, in all three layouts."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

DAY = "2026-02-13"
CHAT = "telegram-123456789"
GROUP = "telegram--4990985512"
WRITTEN = datetime(2026, 2, 14, 9, 30, tzinfo=UTC)

MEMORY_MD = """\
# MEMORY.md - Long-Term Memory 🧠

*My curated memory. If it's not here, I probably forgot it.*

---

## 👤 My Human
<!-- Key facts about who you serve -->
- **Name:** Adrian
- **Timezone:** (pending)
- **Preferences:** (to be learned)

## About Adrian
- Language: Spanish (primary), English (technical)
- Style: direct
  - no filler phrases

## User Preferences
- Prefers concise responses

## Consolidated — 2026-02-15
- n8n webhooks want the token in the query
- Prefiere español para lo cotidiano

## Compacted memories
- Birthday: March 15
"""
# Two-line form of the documents, `--` of the compactor, any dash, several lines, an em dash.
DAILY = """\
## 10:30 - User preference learned
User prefers concise responses

## 14:15 — n8n webhooks: use query params

## 15:02 -- compacted form

## 16:40 – medio guion
con una segunda línea
y una tercera

"""
CHAT_DAILY = """\
---
timestamp: 2026-02-13T14:30:00Z
session: telegram-123456789
participants: [Adrian]
tags: [n8n, debugging, webhook, 401]
---

## Conversation about n8n webhook auth

Adrian was configuring webhook to receive GitHub events.
1. Bearer token in header → failed
2. Query param ?token=X → worked

---
timestamp: 2026-02-13T18:00:00Z
session: telegram-123456789
status: DISCARDED  # <- Marks episode as discardable
discard_reason: "Suggested a wrong solution"
---

## A wrong turn

We tried headers again.
"""
PATTERNS = [
    {
        "id": "n8n_auth_401",
        "trigger": "n8n + 401 error",
        "response": "First check if webhook expects ?token= in query params",
        "confidence": 0.95,
        "usageCount": 5,
        "learnedFrom": "consolidation",
        "createdAt": "2026-02-15T04:00:00.000Z",
    },
    {"id": "broken", "trigger": "no response"},
]
RULES = {
    "rules": [
        {
            "id": "no_filler",
            "instruction": "Skip filler phrases.",
            "forbidden_patterns": ["Excelente pregunta", "Con gusto te ayudo"],
            "examples": [{"user": "How?", "bad": "Great question!", "good": "apt install nodejs"}],
        },
    ]
}
OLD_RULES = {
    "behavioral": [{"category": "tone", "instruction": "Be brief", "examples": ["Yes.", "No."]}],
    "forbidden": [{"pattern": "as an AI", "reason": "empty words"}],
}
PREFERENCES = """\
# User Preferences

## Communication Style (observed)
- Length: concise
- Emojis: (pending)

## Boundaries (explicitly stated)
- Never send emails without confirmation

- learned: likes bullet points
"""
WORKING = {
    "session": CHAT,
    "task": "Debugging n8n webhook 401 error",
    "context": ["Bearer token in header failed"],
    "pending": ["Check the URL"],
    "notes": "User seems frustrated",
    "updated": "2026-02-13T18:00:00Z",
}
BOOTSTRAP_STATE = {"bootstrapState": {"phase": "observing", "messageCount": 3}}
SESSION = """\
{"role":"user","content":"hello","timestamp":1707235200000}
{"role":"assistant","content":"Hi! What are we doing today?","timestamp":1707235201000}
{"role":"user","content":"cut in the mid
{"role":"tool","content":"exit 0","timestamp":1707235202000}
{"role":"user","content":[{"type":"text","text":"¿y ahora?"}],"timestamp":1707235203000}
"""


def write_flat(root: Path) -> Path:
    """The layout of the code: everything below memory/, sessions below data/."""
    memory, data = root / "memory", root / "data"
    put(memory / "MEMORY.md", MEMORY_MD)
    put(memory / f"{DAY}.md", DAILY)
    put(memory / "identity/core.md", "# Core Identity\n\nKenoBot: Adrian's assistant\n")
    put(memory / "identity/rules.json", json.dumps(RULES))
    put(memory / "identity/preferences.md", PREFERENCES)
    put(memory / "identity/BOOTSTRAP.md", "# First conversation\n")
    put(memory / f"chats/{CHAT}/MEMORY.md", "# Chat\n\n- This chat is about KenoBot\n")
    put(memory / f"chats/{CHAT}/context.md", "Type: Work group (backend team)\nTone: Technical\n")
    put(memory / f"chats/{CHAT}/{DAY}.md", CHAT_DAILY)
    put(memory / f"working/{CHAT}.json", json.dumps(WORKING))
    put(memory / f"working/{GROUP}.md", "Waiting for the electrician\n")
    put(memory / "working/telegram-7.json", json.dumps(BOOTSTRAP_STATE))
    put(memory / "procedural/patterns.json", json.dumps(PATTERNS))
    put(memory / "embeddings/semantic.jsonl", '{"id":"semantic-1","vector":[0.1]}\n')
    put(data / f"sessions/{CHAT}.jsonl", SESSION)
    _not_memory(root, data)
    return root


def write_old(root: Path) -> Path:
    """The first layout: data/memory with two kinds of files."""
    memory = root / "data/memory"
    put(memory / "MEMORY.md", MEMORY_MD)
    put(memory / f"{DAY}.md", DAILY)
    put(root / f"data/sessions/{CHAT}.jsonl", SESSION)
    put(root / "identities/kenobot.md", "# KenoBot\n")
    return root


def write_planned(root: Path) -> Path:
    """The layout of the design: episodic/ and semantic/ folders, {"patterns": […]}."""
    memory = root / "memory"
    put(memory / "semantic/facts.md", "# Facts\n\n## About Adrian\n- Name: Adrian\n")
    put(memory / "semantic/concepts.md", "# Concepts\n\n- n8n uses auth in query params\n")
    put(
        memory / "semantic/procedures.md",
        "# Procedures\n\n## How to debug n8n webhooks 401\n1. Check the query\n2. Check headers\n",
    )
    put(
        memory / "semantic/errors.md",
        "# Errors and Lessons\n\n## 2026-02-13: Assumed Bearer token\n"
        "**Error**: Suggested it unseen\n**Lesson**: Read the docs first\n",
    )
    put(memory / f"episodic/shared/{DAY}.md", DAILY)
    put(memory / f"episodic/chats/{GROUP}/facts.md", "- In this chat we talk about n8n\n")
    put(memory / f"episodic/chats/{GROUP}/{DAY}.md", "## 09:00 — The VPS was slow\n\n")
    put(memory / f"episodic/chats/{GROUP}/summary.md", "# Summary\n\nMostly n8n.\n")
    snake = {"usageCount": "usage_count", "learnedFrom": "learned_from", "createdAt": "created_at"}
    renamed = [{snake.get(key, key): value for key, value in p.items()} for p in PATTERNS]
    put(memory / "procedural/patterns.json", json.dumps({"patterns": renamed}))
    put(memory / "identity/rules.json", json.dumps(OLD_RULES))
    put(
        memory / f"working/{GROUP}.json", json.dumps({"content": "Old", "updatedAt": 1739000000000})
    )
    put(memory / f"trash/{DAY}.md", "## 08:00 — gone\n")
    put(root / "sleep/proposals/2026-02-14.md", "# Sleep Cycle Proposals — 2026-02-14\n")
    put(root / "sleep/logs/2026-02-14.log", "ok\n")
    return root


LAYOUTS = {"flat": write_flat, "old": write_old, "planned": write_planned}


def _not_memory(root: Path, data: Path) -> None:
    put(root / "config/.env", "PROVIDER=claude-cli\n")
    put(data / "logs/kenobot-2026-02-14.log", '{"level":"info"}\n')
    put(data / "scheduler/tasks.json", "[]")
    put(data / "sleep/proposals/2026-02-14.md", "# Sleep Cycle Proposals — 2026-02-14\n")
    put(data / "nervous/signals/2026-02-14.jsonl", "{}\n")
    put(data / "motor/tasks/1.jsonl", "{}\n")
    put(data / "kenobot.pid", "1234")
    put(root / "backups/old.tar", "x")
    put(root / "notes.txt", "what is this?")


def put(path: Path, words: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words, encoding="utf-8")
    os.utime(path, (WRITTEN.timestamp(), WRITTEN.timestamp()))
