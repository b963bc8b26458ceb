"""The answer so far, shown while it is being written, without a tag in it."""

import time
from collections.abc import Callable

from bot import channels
from memory.extraction import tags
from memory.llm.request import Stream
from memory.models import Chat, Draft

# Faster than people read, slow enough for the database and for Telegram's limits.
SECONDS_BETWEEN = 0.7


def stream_to(chat: Chat, *, clock: Callable[[], float] = time.monotonic) -> Stream | None:
    """What to pass to a provider so that the chat sees the answer grow; None where it cannot."""
    channel = channels.get(chat.channel)
    if channel is None or not channel.streams:
        return None
    last = [clock() - SECONDS_BETWEEN]

    def show(so_far: str) -> None:
        if clock() - last[0] >= SECONDS_BETWEEN:
            last[0] = clock()
            channel.draft(chat, visible(so_far))

    return show


def drop(chat: Chat) -> None:
    """The reply is there: nobody needs its draft any more."""
    channel = channels.get(chat.channel)
    if channel and channel.streams:
        Draft.objects.filter(chat=chat).delete()


def visible(so_far: str) -> str:
    """The text up to the first tag that is not closed yet; closed ones are taken out."""
    whole = so_far
    opened = whole.rfind("<")
    if opened >= 0 and ">" not in whole[opened:]:
        # Half a tag, perhaps: what follows decides.
        whole = whole[:opened]
    starts = [_unclosed(whole.lower(), name) for name in tags.NAMES if name != tags.DONE]
    return tags.split(whole[: min([len(whole), *starts])]).text


def _unclosed(text: str, name: str) -> int:
    """Where the tag of this name opens that nothing closes; the end of the text if none does."""
    start = text.rfind(f"<{name}")
    return start if start >= 0 and f"</{name}>" not in text[start:] else len(text)
