"""Where a page of the dashboard is, for people who read a message elsewhere."""

from django.conf import settings
from django.urls import reverse


def page(name: str, *args: object) -> str:
    """Return the address of the page, or only its path when KENO_URL is not set."""
    return settings.KENO_URL + reverse(name, args=args)
