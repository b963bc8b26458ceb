"""Make a demo space: three months of a believable memory, in English and Spanish."""

import gc
import time

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from kenoweb import demo


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("--remove", action="store_true", help="delete the demo space again")

    def handle(self, *, remove, **options):
        try:
            self._do(remove)
        except demo.NotTheDemo as error:
            raise CommandError(str(error)) from error

    def _do(self, remove):
        if remove:
            removed = demo.remove()
            self.stdout.write("The demo space is gone." if removed else "There is no demo space.")
            return
        gc.disable()  # it takes seconds only; collecting garbage would slow it down
        began = time.perf_counter()
        owners = User.objects.filter(is_active=True).order_by("pk")
        space = demo.make(owners=owners, now=timezone.now(), progress=self._progress)
        took = time.perf_counter() - began
        self.stdout.write(f"\rMade “{space.name}” in {took:.0f} s: open /s/{space.slug}/")
        if not owners:
            self.stdout.write("Nobody has an account yet: sign in first, then run this again.")

    def _progress(self, done: int, of: int) -> None:
        if self.stdout.isatty():
            full = done * 30 // of
            bar = "█" * full + "░" * (30 - full)
            self.stdout.write(f"\r{bar} {done * 100 // of} %", ending="")
            self.stdout.flush()
