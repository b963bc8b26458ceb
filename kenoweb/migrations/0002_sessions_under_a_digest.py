"""Everybody signs in once more: from now on the table holds no key that a browser could send."""

from django.db import migrations


def end_all(apps, schema_editor):
    apps.get_model("sessions", "Session").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("kenoweb", "0001_accounts_and_links"), ("sessions", "0001_initial")]
    operations = [migrations.RunPython(end_all, migrations.RunPython.noop)]
