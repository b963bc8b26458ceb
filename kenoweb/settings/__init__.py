"""Keno's settings: Django reads this package, the values stand in its modules."""

from kenoweb import data_dir
from kenoweb.environment import read_file

read_file(data_dir.path() / ".env")

from kenoweb.settings.base import *  # noqa: E402, F403
