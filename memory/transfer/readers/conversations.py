"""What the exports of ChatGPT and of Claude share: lists of conversations, memories beside them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from memory.transfer import containers
from memory.transfer.items import Found, Place
from memory.transfer.readers.json_values import Broken, elements, loads

CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json$")


@dataclass(frozen=True)
class Export:
    """Which of its files hold memories, and what reads a conversation, those, and other files."""

    memories: re.Pattern
    read_conversation: Callable[[Any, Place], Iterator[Found]]
    read_memories: Callable[[Any, Place], Iterator[Found]]
    # Why a file that is neither is left.
    reason_to_leave: Callable[[str], str]

    def opens(self, tree: containers.Tree) -> tuple[list[str], list[str]]:
        """Return the names read whole and those streamed; pictures and pages are never opened."""
        return (
            [name for name in tree.entries if self.memories.match(name)],
            [name for name in tree.entries if CONVERSATIONS.match(name)],
        )

    def read(self, tree: containers.Tree) -> Iterator[Found]:
        for name in sorted(tree.entries):
            place = Place(name, modified=tree.entries[name].modified)
            if self.memories.match(name):
                yield from self._memories(tree, place)
            elif CONVERSATIONS.match(name) or len(tree.entries) == 1:
                yield from self._conversations(tree, place)
            else:
                yield place.left(self.reason_to_leave(name))

    def _memories(self, tree: containers.Tree, place: Place) -> Iterator[Found]:
        try:
            data = loads(containers.read_text(tree, place.path))
        except Broken as error:
            yield place.left("broken JSON", text=str(error))
        else:
            yield from self.read_memories(data, place)

    def _conversations(self, tree: containers.Tree, place: Place) -> Iterator[Found]:
        number = 0
        with containers.stream(tree, place.path) as stream:
            try:
                for number, each in enumerate(elements(stream), 1):
                    yield from self.read_conversation(each, place.at(f"#{number}"))
            except Broken as error:
                yield place.at(f"#{number + 1}").left("broken JSON", text=str(error))
