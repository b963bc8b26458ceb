"""Who may talk. Pure: ids come in. Nobody may, until a list says so."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class AllowList:
    """A person of the list may talk anywhere; in a chat of the list anybody may."""

    people: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()

    @classmethod
    def of(cls, people: Iterable[object] = (), chats: Iterable[object] = ()) -> "AllowList":
        return cls(frozenset(map(str, people)), frozenset(map(str, chats)))

    def lets_in(self, *, person: object, chat: object) -> bool:
        return str(person) in self.people or str(chat) in self.chats
