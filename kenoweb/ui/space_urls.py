"""URLs of the pages of a space."""

from django.urls import reverse

from memory.models import Space


def space_url(name: str, space: Space, *args: object, **kwargs: object) -> str:
    """Return the URL of a page of the space."""
    if kwargs:
        return reverse(name, kwargs={"space": space.slug, **kwargs})
    return reverse(name, args=[space.slug, *args])
