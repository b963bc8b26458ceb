"""Talk to Keno in this terminal; the same as runbot --console, without the log."""

import logging

from bot.management.commands import runbot


class Command(runbot.Command):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("--name", default="", help="who you are")
        parser.add_argument("--space", default="", help="slug of the space")

    def handle(self, *, name, space, **_options):
        logging.disable(logging.WARNING)
        super().handle(once=False, console=True, name=name, space=space, jobs=4, only=True)
