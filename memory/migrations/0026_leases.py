from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0025_versions_of_a_space")]
    operations = [
        migrations.CreateModel(
            name="Lease",
            fields=[
                ("name", models.CharField(max_length=120, primary_key=True, serialize=False)),
                ("holder", models.CharField(max_length=120)),
                ("until", models.DateTimeField()),
            ],
        ),
    ]
