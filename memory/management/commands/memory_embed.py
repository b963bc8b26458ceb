"""Embed what has no vector yet, or change to the model that the settings name, while Keno runs."""

from django.core.management.base import BaseCommand, CommandError

from memory.models import EmbeddingModel, Unit
from memory.vectors import embed
from memory.vectors import store as embeddings

WIDTH = 30
# Another model takes over when it knows nearly everything: what it lacks is found by words alone.
ENOUGH = 0.95


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("--status", action="store_true", help="only say what is missing")
        parser.add_argument("--limit", type=int, help="embed at most so many")
        parser.add_argument(
            "--drop-old", action="store_true", help="then delete other models' vectors"
        )

    def handle(self, *, status, limit, drop_old, **options):
        if not embed.enabled():
            raise CommandError("Embeddings are switched off: set EMBEDDING_ENABLED=true.")
        model = embed.current()
        left = embeddings.missing(model.name).count()
        self.stdout.write(f"{model.name}: {left} without a vector.")
        if status:
            return
        stored = self._fill(model, left if limit is None else min(left, limit), limit)
        if limit is not None and limit < left:
            return
        if left and not stored:
            raise CommandError(
                "The provider gave no usable vector; nothing was changed. See the log."
            )
        self._switch(model)
        if drop_old:
            self._drop(model)

    def _fill(self, model, total, limit):
        def show(done):
            part = min(done / total, 1) if total else 1
            bar = "█" * int(part * WIDTH)
            self.stdout.write(f"\r{bar:░<{WIDTH}} {part:4.0%} {done}/{total}", ending="")
            self.stdout.flush()

        stored = embeddings.backfill(by=model, limit=limit, progress=show)
        if total:
            self.stdout.write("")
        self.stdout.write(f"{stored} embedded.")
        return stored

    def _switch(self, model):
        now = embeddings.active()
        if now.name != model.name:
            self._refuse_too_few(model, now)
        embeddings.build_index(model)
        # What was said while the index was built.
        embeddings.backfill(by=model)
        embeddings.switch(model)
        if now.name != model.name:
            self.stdout.write(f"Recall now compares by {model.name} instead of {now.name}.")

    def _refuse_too_few(self, model, now):
        total = Unit.objects.filter(live=True).count()
        left = embeddings.missing(model.name).count()
        if total - left < ENOUGH * total:
            raise CommandError(
                f"{left} of {total} have no vector by {model.name} yet, so recall stays with "
                f"{now.name}. See the log, then run this again: it goes on where it stopped."
            )

    def _drop(self, model):
        for row in EmbeddingModel.objects.exclude(name=model.name):
            gone = embeddings.drop(row.name)
            self.stdout.write(f"{gone} vectors of {row.name} deleted.")
