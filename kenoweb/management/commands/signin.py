"""Print a one-time link: it makes the first owner, or signs the owner in."""

from django.core.management.base import BaseCommand

from kenoweb.auth import accounts


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument(
            "--url", default="http://127.0.0.1:8000", help="where people reach Keno with a browser"
        )

    def handle(self, *args, url, **options):
        self.stdout.write(accounts.sign_in_link(url))
