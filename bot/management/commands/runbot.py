"""Talk to people: runs the channels and the job worker until stopped."""

import asyncio
import gc

from django.core.management.base import BaseCommand, CommandError
from django.db.backends.signals import connection_created

from bot import channels, worker
from bot.channels.console import ConsoleChannel
from bot.commands import REGISTRY
from memory.models import Space


def limit_statements(connection, **signal):
    """End statements that hang; nights and erasures take far less time."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '15min'")


class Command(BaseCommand):
    help = __doc__
    # The others would load every page of the dashboard; a killed worker should be back soon.
    requires_system_checks = ["security"]

    def add_arguments(self, parser):
        parser.add_argument("--once", action="store_true", help="do what is due now, then stop")
        parser.add_argument("--console", action="store_true", help="talk in this terminal")
        parser.add_argument("--name", default="", help="who you are in the terminal")
        parser.add_argument("--space", default="", help="slug of the space new chats belong to")
        parser.add_argument("--jobs", type=int, default=4, help="jobs at the same time")

    def handle(self, *, once, console, name, space, jobs, only=False, **_options):
        connection_created.connect(limit_statements)
        channels.use(*channels.configured_channels(), commands=REGISTRY)
        if console:
            channels.use(ConsoleChannel(name))
        spaces = Space.objects.order_by("pk")
        chosen = spaces.filter(slug=space).first() if space else spaces.first()
        if space and chosen is None:
            raise CommandError(f"There is no space called {space}.")
        if console and chosen is None:
            raise CommandError("There is no space yet. Begin with make run, and open its link.")
        opened = [] if once else channels.open_channels()
        if only:
            opened = [channel for channel in opened if channel.name == "console"]
        gc.freeze()  # what is loaded stays: the collector need not look through it
        options = {"channels": opened, "concurrency": jobs, "once": once}
        asyncio.run(worker.run(chosen, **options, watched=not (once or console)))
