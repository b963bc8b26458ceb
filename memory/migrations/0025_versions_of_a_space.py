from django.db import migrations, models

# Whatever a worker keeps in memory of a space holds as long as its version does; a counter that
# only goes up, also when somebody saves a space that was read before.
COUNT = """
CREATE FUNCTION keno_count_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER keno_count_version BEFORE UPDATE ON memory_space
  FOR EACH ROW EXECUTE FUNCTION keno_count_version();
CREATE FUNCTION keno_new_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE memory_space SET version = version WHERE id = coalesce(NEW.space_id, OLD.space_id);
  RETURN NULL;
END $$;
"""
NO_COUNT = """
DROP FUNCTION keno_new_version() CASCADE;
DROP FUNCTION keno_count_version() CASCADE;
"""
# Of which tables, and which updates of them count: a habit is counted with every use.
WATCHED = {
    "memory_rule": "UPDATE",
    "memory_preference": "UPDATE",
    "memory_identity": "UPDATE",
    "memory_ruling": "UPDATE OF status, kind",
    "memory_pattern": "UPDATE OF status",
}
TRIGGER = """
CREATE TRIGGER keno_new_version AFTER INSERT OR DELETE OR {updates} ON {table}
  FOR EACH ROW EXECUTE FUNCTION keno_new_version();
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0024_golden_questions")]

    operations = [
        migrations.AddField(
            model_name="space",
            name="version",
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name="recall",
            name="left_out",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.RunSQL(COUNT, NO_COUNT),
        *(
            migrations.RunSQL(
                TRIGGER.format(table=table, updates=updates), migrations.RunSQL.noop
            )
            for table, updates in WATCHED.items()
        ),
    ]
