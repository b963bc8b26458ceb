from importlib import import_module

from django.db import migrations

told = import_module("memory.migrations.0018_webhooks")
TABLES = {
    "sleep_proposal": ("proposal", "status"),
    "sleep_night": ("night", "status"),
}


class Migration(migrations.Migration):
    dependencies = [("sleep", "0004_proposals_about_people"), ("memory", "0018_webhooks")]
    operations = [
        migrations.RunSQL(told.triggers(table, *given), told.no_triggers(table))
        for table, given in TABLES.items()
    ]
