"""What readers yield: items to import and what they left out, each with its place."""

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

_ODD = re.compile(r"[^A-Za-z0-9_-]+")
EXTERNAL_LIMIT = 128
CHANNEL_LIMIT = 32


@dataclass(frozen=True, kw_only=True)
class Found:
    """A place in a file. Line 0 means the file as a whole, `part` an element of it."""

    kind: ClassVar[str] = ""

    path: str
    line: int = 0
    end: int = 0
    part: str = ""

    @property
    def where(self) -> str:
        lines = f"{self.line}-{self.end}" if self.end > self.line else str(self.line)
        return self.path + (f":{lines}" if self.line else "") + self.part


@dataclass(frozen=True, kw_only=True)
class Left(Found):
    """Something that is not imported, and why. `count` lines of a log are one Left."""

    kind = "left"

    reason: str
    text: str = ""
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Item(Found):
    """Something to import. An empty chat means the whole space."""

    chat: str = ""
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class FactItem(Item):
    kind = "fact"

    text: str
    quote: str = ""
    subject: str = ""
    fact_kind: str = "fact"
    category: str = "other"
    confidence: float = 0.7
    archived: bool = False
    said_by: str = ""
    # The external id of the message it came from, in the chat `message_chat`.
    message: str = ""
    message_chat: str = ""
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class EpisodeItem(Item):
    kind = "episode"

    title: str = ""
    body: str = ""
    tags: tuple[str, ...] = ()
    participants: tuple[str, ...] = ()
    ended_at: datetime | None = None
    discarded: bool = False
    discard_reason: str = ""
    feedback: str = ""
    # The file knows only the day and the minute, so a copy is recognised by them.
    to_the_minute: bool = False

    @property
    def text(self) -> str:
        return self.title or self.body


@dataclass(frozen=True, kw_only=True)
class PatternItem(Item):
    kind = "pattern"

    slug: str
    trigger: str
    response: str
    confidence: float = 0.6
    use_count: int = 0
    learned_from: str = ""

    @property
    def text(self) -> str:
        return f"{self.trigger}: {self.response}"


@dataclass(frozen=True, kw_only=True)
class WorkingItem(Item):
    kind = "working note"

    task: str = ""
    context: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    notes: str = ""

    @property
    def text(self) -> str:
        return self.task or self.notes


@dataclass(frozen=True, kw_only=True)
class MessageItem(Item):
    kind = "message"

    text: str
    role: str
    external_id: str
    author: str = ""
    author_id: str = ""
    reply_to: str = ""


@dataclass(frozen=True, kw_only=True)
class ChatItem(Item):
    """A chat's own data: what is known of it beside its messages."""

    kind = "chat"

    title: str = ""
    context: str = ""

    @property
    def text(self) -> str:
        return self.context or self.title


@dataclass(frozen=True, kw_only=True)
class CoreItem(Item):
    kind = "identity"

    text: str


@dataclass(frozen=True, kw_only=True)
class RuleItem(Item):
    kind = "rule"

    slug: str
    instruction: str
    category: str = "general"
    examples: tuple[dict | str, ...] = ()
    # {"phrase": …, "reason": …}
    forbidden: tuple[dict, ...] = ()

    @property
    def text(self) -> str:
        return self.instruction or ", ".join(each["phrase"] for each in self.forbidden)


@dataclass(frozen=True, kw_only=True)
class PreferenceItem(Item):
    kind = "preference"

    text: str
    section: str = ""


@dataclass(frozen=True)
class Place:
    """Where a reader is, in a file or at a part of it: makes Items and Lefts of that."""

    path: str
    chat: str = ""
    modified: datetime | None = None
    part: str = ""

    def at(self, part: str) -> "Place":
        return replace(self, part=part)

    @property
    def here(self) -> dict:
        """The keyword arguments that say where."""
        return {"path": self.path, "part": self.part}

    def left(self, reason: str, **more) -> Left:
        return Left(**self.here, reason=reason, **more)

    def __getitem__(self, span: tuple[int, int]) -> dict:
        """The same for some lines: place[3, 5]."""
        return {"path": self.path, "line": span[0], "end": span[1]}


def chat_key(channel: str, identity: str) -> str:
    """Return <channel>-<id> in the characters a key allows; different ids never share a key."""
    plain = _ODD.sub("-", identity)
    if plain != identity or not plain or len(plain) > EXTERNAL_LIMIT:
        digest = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:16]
        plain = f"{plain[:60].strip('-')}-{digest}".lstrip("-")
    return f"{channel}-{plain}"


def parts(key: str) -> tuple[str, str]:
    """Split a key into channel and external id: "telegram--499" is telegram and -499."""
    channel, _dash, identity = key.partition("-")
    if channel and identity and len(channel) <= CHANNEL_LIMIT and len(identity) <= EXTERNAL_LIMIT:
        return channel, identity
    return "import", chat_key("", key).removeprefix("-")
