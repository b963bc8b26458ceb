"""Check the audit: every entry is in its chain, unchanged, and no head that was kept is missing."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.history import audit
from memory.models import AuditEntry


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        usual = settings.KENO_HOME / "audit-heads"
        parser.add_argument("--heads", metavar="FILE", type=Path, default=usual, help="kept heads")
        parser.add_argument("--anchor", action="store_true", help="add the head to that file")

    def handle(self, *, heads, anchor, **options):
        broken = audit.verify(heads)
        number, digest = audit.head()
        for line in broken:
            self.stderr.write(self.style.ERROR(line))
        if broken:
            raise CommandError(f"The audit was tampered with: {len(broken)} places.")
        waiting = AuditEntry.objects.filter(seal=None).count()
        self.stdout.write(f"{number} entries, unchanged and in order. {waiting} not sealed yet.")
        if erased := audit.erased_details():
            self.stdout.write(f"Of {erased} the details were redacted by an erasure.")
        self.stdout.write(f"Head: {digest}")
        if anchor:
            self.stdout.write(f"Kept in {heads}: {audit.anchor(heads, now=timezone.now())}")
