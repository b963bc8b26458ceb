"""Where the pages of a space are. Fast: a list asks for hundreds of addresses."""

from functools import lru_cache

from django.urls import NoReverseMatch, get_script_prefix, reverse

from memory.models import Space

# They stand where the numbers of rows and the name of the space go, in this order.
NUMBERS = ("9000000000000000001", "9000000000000000002")
SLUG = "-the-name-of-the-space-"


def address(name: str, space: Space, **which: int) -> str:
    """Where the page is, or nothing while nobody has built it."""
    try:
        return _filled(_named(get_script_prefix(), name, *which), space.slug, which.values())
    except NoReverseMatch:
        return ""


def address_of(name: str, slug: str, *pks: int) -> str:
    """The same when the numbers are known by their order in the address."""
    return _filled(_in_order(get_script_prefix(), name, len(pks)), slug, pks)


def _filled(shape: str, slug: str, pks) -> str:
    for stand, pk in zip(NUMBERS, pks, strict=False):
        shape = shape.replace(stand, str(pk))
    return shape.replace(SLUG, slug)


@lru_cache(maxsize=1024)
def _named(_prefix: str, name: str, *keys: str) -> str:
    return reverse(name, kwargs={"space": SLUG, **dict(zip(keys, NUMBERS, strict=False))})


@lru_cache(maxsize=1024)
def _in_order(_prefix: str, name: str, count: int) -> str:
    return reverse(name, args=[SLUG, *NUMBERS[:count]])
