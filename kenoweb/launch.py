"""How a process of Keno begins: its folder, its key and its database first."""

import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from kenoweb import database, home

# Commands that touch no database, or bring it up themselves and say so.
ALONE = {
    *("help", "--help", "-h", "version", "--version", "check", "up"),
    *("collectstatic", "compilemessages", "makemessages", "makemigrations", "diffsettings"),
}


def manage(argv: list[str]) -> int:
    """Run one management command with the database it needs."""
    try:
        if len(argv) < 2 or argv[1] in ALONE:
            execute_from_command_line(argv)
            return 0
        home.prepare(home.path())
        with database.session():
            execute_from_command_line(argv)
    except (home.NotReady, ImproperlyConfigured) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
