"""Looks for what is broken in the memory: links into nowhere, walls crossed, odd states.

Exit code 0: nothing found. 1: faults, one a line. It changes nothing."""

import json

from django.core.management.base import BaseCommand, CommandError

from memory.operations import integrity


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument(
            "--only", metavar="CHECK", nargs="+", default=[], help=", ".join(integrity.CHECKS)
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object a line")
        parser.add_argument("--most", type=int, default=1000, help="stop after so many (1000)")

    def handle(self, *, only, most, **options):
        if unknown := set(only) - set(integrity.CHECKS):
            raise CommandError(f"There is no check called {', '.join(sorted(unknown))}.")
        count = 0
        for fault in integrity.run(only=only):
            count += 1
            self.stdout.write(json.dumps(vars(fault)) if options["json"] else str(fault))
            if count >= most:
                break
        if count:
            raise SystemExit(1)
        if not options["json"]:
            self.stdout.write(self.style.SUCCESS("All is well."))
