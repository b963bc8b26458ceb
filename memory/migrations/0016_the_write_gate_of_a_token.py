import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


def believe_as_before(apps, schema_editor):
    """Tokens of before wrote at once: they go on so until somebody changes that."""
    apps.get_model("memory", "ApiToken").objects.update(gate="believe")


class Migration(migrations.Migration):
    dependencies = [("memory", "0015_facts_are_checked")]
    operations = [
        migrations.AddField(
            "apitoken",
            "gate",
            models.CharField(
                choices=[
                    ("believe", "Believe: it is memory at once"),
                    ("hold", "Hold for me: it becomes a proposal"),
                    ("read_only", "Read only: it can ask, never write"),
                ],
                default="hold",
                max_length=9,
            ),
        ),
        migrations.CreateModel(
            "ApiCall",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("digest", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("body", models.JSONField(default=dict)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calls",
                        to="memory.apitoken",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("token", "key"), name="api_call_once")
                ]
            },
        ),
        migrations.RunPython(believe_as_before, migrations.RunPython.noop),
    ]
