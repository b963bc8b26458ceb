"""The space that a command was given by its short name."""

from django.core.management.base import CommandError

from memory.models import Space


def space_called(slug: str) -> Space:
    space = Space.objects.filter(slug=slug).first()
    if space is None:
        raise CommandError(f"There is no space called {slug}. See manage.py memory_status.")
    return space
