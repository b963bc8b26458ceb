"""Keno's settings: Django reads this package, the values stand in its modules."""

from kenoweb.settings.base import *  # noqa: F403
