from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0012_facts_by_age")]

    operations = [
        migrations.AddField(
            model_name="embedding",
            name="kind",
            field=models.CharField(default="", max_length=7),
        ),
        migrations.RunSQL(
            "UPDATE memory_embedding e SET kind = u.kind FROM memory_unit u WHERE u.id = e.unit_id",
            migrations.RunSQL.noop,
        ),
        migrations.RemoveIndex(model_name="unit", name="unit_recent"),
        migrations.AddIndex(
            model_name="unit",
            index=models.Index(
                condition=models.Q(("live", True)),
                fields=["scope", "kind", "-at"],
                name="unit_recent",
            ),
        ),
    ]
