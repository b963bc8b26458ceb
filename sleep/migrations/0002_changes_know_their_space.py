import django.db.models.deletion
from django.db import migrations, models

SPACE = dict(
    on_delete=django.db.models.deletion.CASCADE, related_name="night_changes", to="memory.space"
)


class Migration(migrations.Migration):
    dependencies = [("sleep", "0001_nights_and_proposals")]
    operations = [
        migrations.AddField("nightchange", "space", models.ForeignKey(null=True, **SPACE)),
        migrations.RunSQL(
            "UPDATE sleep_nightchange c SET space_id = n.space_id"
            " FROM sleep_night n WHERE n.id = c.night_id",
            migrations.RunSQL.noop,
        ),
        # The filled column has pending checks until the transaction ends.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AlterField("nightchange", "space", models.ForeignKey(**SPACE)),
    ]
