"""Text as Telegram takes it. Pure."""

import html
import re
from collections.abc import Callable

MAX_MESSAGE_LENGTH = 4000
_BLOCK = re.compile(r"```(?:\w+\n)?(.*?)```", re.S)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\((https?://[^\s)]{1,1000})\)")
_STRONG = re.compile(r"\*\*(?=\S)([^\n*]+?)(?<=\S)\*\*")
_SOFT = re.compile(r"(?<![\w*])\*(?=\S)([^\n*]+?)(?<=\S)\*(?![\w*])")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.M)
_HELD = re.compile("\x00(\\d+)\x00")


def chunks(text: str, *, longest: int = MAX_MESSAGE_LENGTH) -> list[str]:
    """The text in parts that Telegram takes: cut at the end of a line, else of a word."""
    parts, rest = [], text.strip()
    while len(rest) > longest:
        head = rest[: longest + 1]
        at = max(head.rfind("\n\n"), head.rfind("\n"))
        if at < longest // 2:
            at = max(at, head.rfind(" ")) if head.rfind(" ") > longest // 2 else longest
        at = at if at > 0 else longest
        parts.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    return [*parts, rest] if rest else parts


def as_html(text: str) -> str:
    """The little markdown that models write, as the HTML that Telegram understands."""
    held: list[str] = []

    def hold(tag: str) -> Callable[[re.Match], str]:
        def keep(found: re.Match) -> str:
            held.append(f"<{tag}>{html.escape(found[1], quote=False)}</{tag}>")
            return f"\x00{len(held) - 1}\x00"

        return keep

    bare = text.replace("\x00", "")
    bare = _CODE.sub(hold("code"), _BLOCK.sub(hold("pre"), bare))
    safe = html.escape(bare, quote=False)
    safe = _LINK.sub(lambda found: f'<a href="{html.escape(found[2])}">{found[1]}</a>', safe)
    safe = _SOFT.sub(r"<i>\1</i>", _STRONG.sub(r"<b>\1</b>", _HEADING.sub(r"<b>\1</b>", safe)))
    return _HELD.sub(lambda found: held[int(found[1])], safe)


def without_mention(text: str, *, bot: str) -> str:
    """What was said, without calling the bot by its name at either end."""
    name = re.escape(bot)
    said = re.sub(rf"^\s*@{name}\b[\s,:]*", "", text, flags=re.I)
    return re.sub(rf"[\s,]*@{name}\b\s*([?!.…]*)\s*$", r"\1", said, flags=re.I).strip()


def mentions(text: str, *, bot: str) -> bool:
    return bool(bot) and bool(re.search(rf"(?<![\w@])@{re.escape(bot)}\b", text, re.I))


def is_for_another_bot(text: str, *, bot: str) -> bool:
    """A command for another bot of the group: /why@OtherBot."""
    found = re.match(r"/[\w-]+@(\w+)", text)
    return bool(found) and found[1].lower() != bot.lower()
