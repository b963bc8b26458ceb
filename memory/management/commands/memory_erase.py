"""Erases a message, chat, person, member, import or the whole space for good, after showing what
would go and asking; or erases again what a restored backup brought back, with the receipts."""

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from memory.history import actors
from memory.management.spaces import space_called
from memory.models import Erasure, Space
from memory.operations import erasing

BY = actors.person("console")


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("space", metavar="SPACE", help="the space's short name (slug)")
        parser.add_argument("kind", nargs="?", choices=Erasure.Kind.values, help="what it is")
        parser.add_argument("number", nargs="?", type=int, help="its number, as in its address")
        parser.add_argument("--dry-run", action="store_true", help="only show what would go")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument(
            "--replay", metavar="FILE", nargs="+", help="receipts to erase again by"
        )

    def handle(self, *, space, kind, number, replay, **options):
        row = space_called(space)
        if replay:
            return self._replay(row, replay)
        number = row.pk if kind == Erasure.Kind.SPACE else number
        thing = erasing.find(row, kind, number) if kind and number else None
        if thing is None:
            raise CommandError("Say what to erase: its kind and a number that this space has.")
        preview = erasing.preview(row, kind, thing, by=BY)
        for name, count in preview.counts.items():
            self.stdout.write(f"{name:<24} {count:>7}")
        for why, count, _some in preview.stays:
            self.stdout.write(f"stays: {count} {why}")
        if options["dry_run"]:
            return None
        word = preview.name or "erase"
        if not options["yes"] and input(f"Type {word} to go on: ").strip() != word:
            raise CommandError("Nothing was erased.")
        record = erasing.run(erasing.start(row, kind, thing, typed=preview.name, by=BY))
        self.stdout.write(json.dumps(erasing.receipt(record), indent=1))
        return None

    def _replay(self, space: Space, files: list[str]) -> None:
        try:
            receipts = [json.loads(Path(file).read_text()) for file in files]
            counts = erasing.replay(space, by=BY, receipts=receipts)
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"That is not a receipt of an erasure: {error}") from error
        self.stdout.write(f"{sum(counts.values())} rows were erased again.")
