"""Read untrusted JSON: whole, line by line, or one element of a huge list at a time."""

import codecs
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BufferedReader

from django.utils.translation import gettext as _

from memory.transfer.containers import MB, Refused

# One conversation, one row: nothing honest is larger.
ELEMENT_LIMIT = 8 * MB
LINE_LIMIT = 4 * MB
_CHUNK = 256 * 1024
_SPACE = " \t\r\n"


class Broken(ValueError):
    """This is not valid JSON."""


def loads(text: str) -> object:
    """Parse like json.loads, with NaN and Infinity as null because Postgres rejects them."""
    try:
        return json.loads(text, parse_constant=lambda name: None)
    except RecursionError as error:
        raise Broken(_("It is nested too deeply.")) from error
    except ValueError as error:
        raise Broken(str(error)) from error


def lines(stream: BufferedReader) -> Iterator[tuple[int, str | None]]:
    """Yield numbered lines; None for a line over the limit."""
    number = 0
    while raw := stream.readline(LINE_LIMIT + 1):
        number += 1
        if len(raw) > LINE_LIMIT and not raw.endswith(b"\n"):
            while (rest := stream.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
                pass
            yield number, None
        else:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace")


def elements(stream: BufferedReader) -> Iterator[object]:
    """Yield the elements of a JSON list with never more than one in memory."""
    text = _Text(stream)
    if text.take() != "[":
        raise Broken(_("It is not a list."))
    if text.skip() == "]":
        return
    while True:
        yield text.value()
        char = text.take()
        if char == "]":
            return
        if char != ",":
            raise Broken(_("The list breaks off."))
        text.skip()


class _Text:
    """The part of the stream that is in memory, and how to get more."""

    def __init__(self, stream: BufferedReader):
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._decoder = json.JSONDecoder(parse_constant=lambda name: None)
        self._text, self._at, self._ended = "", 0, False

    def _more(self) -> bool:
        # Twice as much each time: an element is looked at log(n) times, not n.
        data = self._stream.read(max(_CHUNK, len(self._text) - self._at))
        self._ended = not data
        self._text = self._text[self._at :] + self._decode(data, self._ended)
        self._at = 0
        return not self._ended

    def skip(self) -> str:
        """Return the next character that is not space without consuming it; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self) -> str:
        """Return the next character that is not space and consume it."""
        char = self.skip()
        self._at += len(char)
        return char

    def value(self) -> object:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise Broken(_("It is nested too deeply.")) from error
            except json.JSONDecodeError as error:
                # An error well before the end: more text would not help.
                is_certain = error.pos < len(self._text) - 16
                if self._ended or (is_certain and not error.msg.startswith("Unterminated string")):
                    raise Broken(str(error)) from error
            except ValueError as error:  # a number of thousands of digits
                raise Broken(str(error)) from error
            else:
                # A number at the edge of what is read may go on.
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if len(self._text) - self._at > ELEMENT_LIMIT:
                sentence = _("One element is larger than %d MB.")
                raise Refused("size", sentence % (ELEMENT_LIMIT // MB))
            self._more()


def text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""


def text_list(value: object) -> tuple[str, ...]:
    """Return the strings of a list; a single string counts as a list of one."""
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if not isinstance(value, list):
        return ()
    return tuple(str(each) for each in value if isinstance(each, str | int | float) and str(each))


def number_in_range(value: object, default: float, *, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return default
    return float(min(max(value, low), high))


def parse_time(value: object) -> datetime | None:
    """Parse ISO text, seconds or milliseconds since 1970 as UTC; None if it is not a time."""
    try:
        if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
            when = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
            when = when if when.tzinfo else when.replace(tzinfo=UTC)
            return _is_possible(when.astimezone(UTC))
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        number = float(value)
        # Seconds until the year 5138 are fewer than this; milliseconds since 1973 are more.
        seconds = number / 1000 if abs(number) >= 1e11 else number
        return _is_possible(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _is_possible(when: datetime) -> datetime | None:
    return when if 1970 <= when.year <= 9000 else None
