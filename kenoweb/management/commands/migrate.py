"""Django's migrate; an empty database gets all its tables at once."""

from django.core.management.commands.migrate import Command as Migrate
from django.db import DEFAULT_DB_ALIAS

from kenoweb.launcher import schema

# With these it is to tell, note or tidy, not to make tables.
OTHERWISE = ("app_label", "plan", "check_unapplied", "fake", "prune")


class Command(Migrate):
    def handle(self, *args, **options):
        asked = any(options[name] for name in OTHERWISE)
        if not asked and options["database"] == DEFAULT_DB_ALIAS:
            schema.load()
        return super().handle(*args, **options)
