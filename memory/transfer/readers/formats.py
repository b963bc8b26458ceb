"""The import formats: how each is recognised and read."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.transfer import containers
from memory.transfer.archive import files as archive
from memory.transfer.items import Found
from memory.transfer.kenobot import reader as kenobot
from memory.transfer.readers import chatgpt, clanker, claude, mem0
from memory.transfer.readers.conversations import CONVERSATIONS
from memory.transfer.readers.json_values import Broken, elements, loads

ARCHIVE = "keno"


@dataclass(frozen=True)
class Format:
    """An import format: `opens` lists files read whole and streamed, `read` yields items."""

    label: str
    fits: Callable[[containers.Tree, Path], bool]
    opens: Callable[[containers.Tree], tuple[list[str], list[str]]] = lambda tree: ([], [])
    read: Callable[..., Iterator[Found]] = lambda tree, path, **options: iter(())


def detect(tree: containers.Tree, path: Path) -> str:
    """Return the name of the format; raise Refused with the supported ones if none fits."""
    for name, format in FORMATS.items():
        if format.fits(tree, path):
            return name
    names = ", ".join(str(format.label) for format in FORMATS.values())
    sentence = _("Keno does not recognise this. It reads: %s. Name the format if you are sure.")
    raise containers.Refused("format", sentence % names)


def _first(tree: containers.Tree, name: str) -> object:
    """Return the first element of a JSON list, or the object itself."""
    with suppress(Broken, containers.Refused), containers.stream(tree, name) as stream:
        return next(elements(stream), None)
    with suppress(Broken, containers.Refused):
        return loads(containers.read_text(tree, name))
    return None


def _json(tree: containers.Tree, pattern) -> Iterator[object]:
    single = len(tree.entries) == 1
    for name in tree.entries:
        if pattern.match(name) or (single and name.lower().endswith(".json")):
            yield _first(tree, name)


def _is_claude(tree: containers.Tree, path: Path) -> bool:
    elements = [*_json(tree, CONVERSATIONS), *_json(tree, claude.MEMORIES)]
    return any(map(claude.recognises, elements))


def _is_mem0(tree: containers.Tree, path: Path) -> bool:
    name = next(iter(tree.entries), "")
    if len(tree.entries) != 1 or not name.lower().endswith(".json"):
        return False
    first = _first(tree, name)
    return mem0.recognises([first]) or mem0.recognises(first)


def _alone(read: Callable[[containers.Tree], Iterator[Found]]) -> Callable[..., Iterator[Found]]:
    """Wrap a reader that needs only the files, neither their path nor the options."""
    return lambda tree, path, **options: read(tree)


FORMATS = {
    ARCHIVE: Format(
        gettext_lazy("an archive of Keno"), lambda tree, path: archive.is_archive(tree)
    ),
    "clanker": Format(
        gettext_lazy("a Clanker database"), clanker.is_clanker, clanker.opens, clanker.read
    ),
    "chatgpt": Format(
        gettext_lazy("a ChatGPT export"),
        lambda tree, path: any(map(chatgpt.recognises, _json(tree, CONVERSATIONS))),
        chatgpt.EXPORT.opens,
        _alone(chatgpt.EXPORT.read),
    ),
    "claude": Format(
        gettext_lazy("a Claude export"), _is_claude, claude.EXPORT.opens, _alone(claude.EXPORT.read)
    ),
    "mem0": Format(gettext_lazy("a mem0 export"), _is_mem0, mem0.opens, _alone(mem0.read)),
    "kenobot": Format(
        gettext_lazy("a KenoBot folder"),
        lambda tree, path: kenobot.is_kenobot(tree.entries),
        kenobot.opens,
        _alone(kenobot.read),
    ),
}
