"""Serve the memory to an agent or editor over its standard input and output (MCP).

The environment variable KENO_TOKEN holds an API token, which says whose memory and which rights.
A Keno that runs (at KENO_URL, else on port 8000 here) is asked instead, by a process of a few
megabytes (kenoweb/launcher/mcp_pipe.py); without one it opens the database itself.
"""

import os
import sys

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.utils import translation

from kenoweb.api import calls
from kenoweb.environment import envsecret


class Command(BaseCommand):
    help = __doc__
    # Nothing but the protocol may stand on standard output.
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument("--alone", action="store_true", help="use no Keno that runs already")
        parser.add_argument("--all", action="store_true", help="offer every operation as a tool")

    def handle(self, **options):
        with translation.override(_language_of_the_terminal()):
            key = envsecret("KENO_TOKEN")
            if problem := _problem(key):
                self.stderr.write(problem)
                sys.exit(2)
        connection.close()
        # Imported here: it takes a second, which an invalid key should not cost.
        from kenoweb.api import server

        server.serve(key, every=options["all"])


def _problem(key: str) -> str:
    if not key:
        return str(calls.NO_KEY)
    try:
        return "" if calls.rights(key) else str(calls.INVALID_KEY)
    except DatabaseError as error:
        raise CommandError("The tables cannot be read: run manage.py migrate.") from error


def _language_of_the_terminal() -> str:
    values = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    language = next(filter(None, values), "")[:2].lower()
    return language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
