"""Where a page of the dashboard is, for people who read a message elsewhere."""

from django.conf import settings
from django.urls import NoReverseMatch, reverse


def page(name: str, *args: object) -> str:
    """The page's address, or its path when nobody said where the pages are; empty: no such page."""
    try:
        return settings.KENO_URL + reverse(name, args=args)
    except NoReverseMatch:
        return ""


def see(link: str, words: str) -> list[str]:
    """A line that leads there, when there is somewhere to lead to."""
    return [f"{words} {link}"] if link else []
