"""How much is remembered: facts, episodes, patterns, notes and messages of each space."""

from json import dumps

from django.core.management.base import BaseCommand, CommandError

from memory.models import Space
from memory.operations import metrics
from memory.operations.health import memory_health


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("--space", metavar="SLUG", help="only this space")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
        parser.add_argument(
            "--health", action="store_true", help="also say what is unwell; exit 1 if anything is"
        )

    def handle(self, *, space, json, health, **options):
        spaces = _spaces(space)
        counts = {row.slug: metrics.memory_counts(row) for row in spaces}
        ill = {row.slug: memory_health(row) for row in spaces} if health else {}
        if json:
            report = {slug: each | {"health": ill.get(slug)} for slug, each in counts.items()}
            self.stdout.write(dumps(report))
        else:
            self._print(counts, ill)
        if any(row["errors"] or row["warnings"] for row in ill.values()):
            raise SystemExit(1)

    def _print(self, counts: dict, ill: dict) -> None:
        for slug, numbers in counts.items():
            self.stdout.write(self.style.MIGRATE_HEADING(slug))
            for name, value in numbers.items():
                self.stdout.write(f"  {name:<10} {_in_words(value)}")
            for level in ("warnings", "errors"):
                for sentence in ill.get(slug, {}).get(level, []):
                    self.stdout.write(self.style.WARNING(f"  {level[:-1]}: {sentence}"))
        if not counts:
            self.stdout.write("There is no space yet: open the dashboard and make one.")


def _spaces(slug: str | None) -> list[Space]:
    spaces = Space.objects.order_by("slug")
    if slug and not spaces.filter(slug=slug).exists():
        slugs = ", ".join(spaces.values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no space called {slug}. There are: {slugs}.")
    return list(spaces.filter(slug=slug) if slug else spaces)


def _in_words(value: dict | int) -> str:
    if isinstance(value, int):
        return str(value)
    return ", ".join(f"{number} {name}" for name, number in value.items()) or "none"
