"""Django's migrate; an empty database gets all its tables at once."""

from django.core.management.commands.migrate import Command as Migrate
from django.db import DEFAULT_DB_ALIAS

from kenoweb.launcher import schema


class Command(Migrate):
    def handle(self, *args, **options):
        if not options["app_label"] and options["database"] == DEFAULT_DB_ALIAS:
            schema.load()
        return super().handle(*args, **options)
