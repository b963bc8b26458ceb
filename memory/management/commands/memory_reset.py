"""Empties tiers of one space's memory, after showing what would go and asking.

Facts, episodes and patterns go to the trash and can be taken back with --undo; messages are
deleted for good. Groups: memory (facts, episodes, patterns, working, context), identity (core,
rules, preferences), all."""

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from memory.history import actors
from memory.history import changes as history
from memory.management.spaces import space_called
from memory.models import Space
from memory.operations import reset

BY = actors.person("console")


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("space", metavar="SPACE", help="the space's short name (slug)")
        parser.add_argument(
            "--tier",
            nargs="+",
            default=[],
            choices=[*reset.TIERS, *reset.GROUPS],
            help="what to empty",
        )
        parser.add_argument("--dry-run", action="store_true", help="only show what would go")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--undo", metavar="ID", help="take back the reset with this id")

    def handle(self, *, space, tier, undo, **options):
        row = space_called(space)
        if undo:
            return self._undo(undo)
        if not tier:
            raise CommandError("Say what to empty with --tier, for example --tier facts episodes.")
        self._preview(row, tier)
        if options["dry_run"]:
            return None
        if not options["yes"] and input(f"Type {space} to go on: ").strip() != space:
            raise CommandError("Nothing was changed.")
        done = reset.reset(row, names=tier, by=BY)
        self.stdout.write(f"Done, {done.count} rows. To take it back:")
        self.stdout.write(f"  manage.py memory_reset {space} --undo {done.change_id}")
        return None

    def _preview(self, space: Space, names: list[str]) -> None:
        for name, count in reset.preview(space, names).items():
            self.stdout.write(f"{name:<12} {count:>7}  {reset.TIERS[name].effect}")

    def _undo(self, change_id: str) -> None:
        try:
            back = history.undo_context(change_id, by=BY)
        except (history.Conflict, ValidationError, ValueError) as error:
            raise CommandError(f"It cannot be taken back: {error}") from error
        self.stdout.write(f"{len(back)} rows are back as they were.")
