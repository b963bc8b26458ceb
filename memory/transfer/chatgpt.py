"""ChatGPT's data export: conversations as trees of messages, and what it noted in its memory."""

import re
from collections.abc import Iterator

from memory import text
from memory.transfer import safe
from memory.transfer.items import ChatItem, FactItem, Found, MessageItem, Place
from memory.transfer.json_reading import Broken, a_text, a_time, elements, loads
from memory.transfer.keys import chat_key

CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json$")
MEMORIES = re.compile(r"(?:.*/)?(?:memory|memories)\.json$")
_ACCOUNT = re.compile(
    r"(?:.*/)?(?:user|user_settings|message_feedback|model_comparisons|shared_conversations"
    r"|export_manifest|group_chats|shopping|sora|tool_messages)\.json$"
)
_PAGE = re.compile(r"(?:.*/)?chat\.html$")
_ROLES = {"user": "user", "assistant": "assistant"}
_WORDS = {"text", "multimodal_text", "code"}


def recognises(first: object) -> bool:
    """Whether an element of conversations.json is ChatGPT's."""
    return isinstance(first, dict) and isinstance(first.get("mapping"), dict)


def opens(names: list[str]) -> tuple[list[str], list[str]]:
    """Pictures and pages are never opened, so their size does not matter."""
    return (
        [name for name in names if MEMORIES.match(name)],
        [name for name in names if CONVERSATIONS.match(name)],
    )


def read(tree: safe.Tree) -> Iterator[Found]:
    for name in sorted(tree.entries):
        place = Place(name, modified=tree.entries[name].modified)
        if CONVERSATIONS.match(name) or len(tree.entries) == 1:
            yield from _conversations(tree, place)
        elif MEMORIES.match(name):
            yield from _memories(safe.read_text(tree, name), place)
        elif _PAGE.match(name):
            yield place.left("page")
        else:
            yield place.left("account" if _ACCOUNT.match(name) else "media")


def _conversations(tree: safe.Tree, place: Place) -> Iterator[Found]:
    with safe.stream(tree, place.path) as stream:
        number = 0
        try:
            for number, each in enumerate(elements(stream), 1):
                yield from _conversation(each, f"#{number}", place)
        except Broken as error:
            yield place.left("broken JSON", part=f"#{number + 1}", text=str(error))


def _conversation(given: object, part: str, place: Place) -> Iterator[Found]:
    if not recognises(given):
        yield place.left("not a message", part=part, text=text.short(str(given), 80))
        return
    title = a_text(given.get("title"))
    identity = a_text(given.get("conversation_id")) or a_text(given.get("id"))
    key = chat_key("chatgpt", identity or f"{title}|{given.get('create_time')}")
    started = a_time(given.get("create_time"))
    yield ChatItem(path=place.path, part=part, chat=key, title=title, at=started)
    path = _shown(given)
    order = [*path, *sorted(set(given["mapping"]) - set(path))]
    for number, node in enumerate(order, 1):
        spot = {"path": place.path, "part": f"{part}.{number}"}
        yield from _message(given["mapping"][node], node, node in path, key, started, spot)


def _shown(given: dict) -> dict[str, None]:
    """The ids from the root to the message the person saw last; all when that is not told."""
    mapping, node = given["mapping"], given.get("current_node")
    path: dict[str, None] = {}
    while isinstance(node, str) and node in mapping and node not in path:
        path[node] = None
        parent = mapping[node]
        node = parent.get("parent") if isinstance(parent, dict) else None
    return dict.fromkeys(reversed(path)) if path else dict.fromkeys(mapping)


def _message(node: object, name: str, shown: bool, key: str, started, spot: dict):
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict):
        return  # the empty root of the tree
    place = Place(spot["path"])
    author = message.get("author") if isinstance(message.get("author"), dict) else {}
    words, role = _said(message.get("content")), _ROLES.get(a_text(author.get("role")))
    at = a_time(message.get("create_time")) or started
    if message.get("recipient") == "bio" and words.strip():
        # What it told its own memory: each line is one thing it meant to keep.
        yield from _noted(words, key, at, spot)
    elif not shown:
        yield place.left("other branch", part=spot["part"], text=text.short(words, 80))
    elif role is None:
        yield place.left("unknown role", part=spot["part"], text=a_text(author.get("role")))
    elif not words.strip():
        yield place.left("empty message", part=spot["part"])
    elif message.get("recipient", "all") not in ("all", None):
        yield place.left("hidden", part=spot["part"], text=text.short(words, 80))
    else:
        identity = a_text(message.get("id")) or name
        made = {"chat": key, "at": at, "role": role, "text": words}
        yield MessageItem(**spot, **made, external_id=identity)


def _noted(words: str, key: str, at, spot: dict) -> Iterator[FactItem]:
    for line in words.split("\n"):
        if line.strip():
            yield FactItem(**spot, text=line.strip(), quote=line.strip(), at=at, confidence=0.6)


def _said(content: object) -> str:
    if not isinstance(content, dict) or content.get("content_type", "text") not in _WORDS:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return a_text(content.get("text"))
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _memories(words: str, place: Place) -> Iterator[Found]:
    try:
        given = loads(words)
    except Broken as error:
        yield place.left("broken JSON", text=str(error))
        return
    if isinstance(given, dict):
        given = given.get("memories") or given.get("results") or []
    for number, each in enumerate(given if isinstance(given, list) else [given], 1):
        yield _memory(each, f"#{number}", place)


def _memory(given: object, part: str, place: Place) -> Found:
    entry = given if isinstance(given, dict) else {"content": given}
    said = next(
        (a_text(entry.get(key)) for key in ("content", "text", "memory") if entry.get(key)), ""
    )
    if not said.strip():
        return place.left("not a memory", part=part, text=text.short(str(given), 80))
    if entry.get("enabled") is False:
        return place.left("switched off", part=part, text=text.short(said, 80))
    made = {"text": said.strip(), "quote": said.strip()}
    return FactItem(path=place.path, part=part, at=a_time(entry.get("created_at")), **made)
