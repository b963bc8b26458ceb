"""Every address of the project, read from the URL patterns themselves."""

import re
from dataclasses import dataclass

from django.urls import get_resolver, reverse
from django.urls.resolvers import URLPattern


@dataclass(frozen=True)
class Address:
    name: str
    role: str
    arguments: tuple[str, ...]
    csrf_exempt: bool = False
    sudo: bool = False

    @property
    def in_space(self) -> bool:
        return "space" in self.arguments

    @property
    def has_object(self) -> bool:
        # The name of a channel is the same in every space.
        return self.in_space and bool(set(self.arguments) - {"space", "name"})

    def path(self, slug: str, things: dict[str, dict]) -> str:
        """The path into the space of this slug, to the things with these ids."""
        noun = self.name.split(":")[0]
        known = {"space": slug} | things.get(noun, {}) | things.get(self.name, {})
        missing = set(self.arguments) - set(known)
        assert not missing, f"{self.name}: add {missing} to factories.one_of_everything"
        return reverse(self.name, kwargs={name: known[name] for name in self.arguments})


def every_address() -> list[Address]:
    return sorted(_walk(get_resolver().url_patterns, "", ()), key=lambda found: found.name)


def _walk(patterns, prefix: str, arguments: tuple[str, ...]):
    for entry in patterns:
        # From the route's text: Django shares the converters of equal routes between includes.
        here = arguments + tuple(re.findall(r"<(?:\w+:)?(\w+)>", str(entry.pattern)))
        if isinstance(entry, URLPattern):
            role = getattr(entry.callback, "keno_role", "")
            exempt = getattr(entry.callback, "csrf_exempt", False)
            sudo = getattr(entry.callback, "keno_sudo", False)
            yield Address(f"{prefix}{entry.name}", role, here, exempt, sudo)
        else:
            inner = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            yield from _walk(entry.url_patterns, inner, here)
