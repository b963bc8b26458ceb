"""Who did it. `by` is "person:ana" for a person; anything else is a machine.

Machines in use: tag, extraction, command, night, import, api, bot, system; details after a colon.
"""

PERSON = "person"


def person(name: object) -> str:
    """Return the `by` of a person, from the account or its name."""
    return f"{PERSON}:{getattr(name, 'username', name)}"


def is_person(by: str) -> bool:
    return by.startswith(f"{PERSON}:") and len(by) > len(PERSON) + 1


def kind(by: str) -> str:
    """Return the kind of actor for a row's `written_by`: person, tag, night, import …"""
    return by.partition(":")[0][:64] or "system"


def name(by: str) -> str:
    return by.partition(":")[2] if is_person(by) else by


class Refusal(Exception):
    """What cannot be done; the docstring of each kind is what a person reads."""

    def __str__(self):
        return self.__doc__


class PersonNeeded(Refusal):
    """Only a person may do this."""


def require_person(by: str) -> None:
    if not is_person(by):
        raise PersonNeeded
