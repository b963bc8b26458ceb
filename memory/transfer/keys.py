"""Keys of imported chats."""

import hashlib
import re

_ODD = re.compile(r"[^A-Za-z0-9_-]+")
EXTERNAL_LIMIT = 128
CHANNEL_LIMIT = 32


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
