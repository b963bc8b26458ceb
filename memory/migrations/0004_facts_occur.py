import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

# The time of a fact in recall: when it happens, else since when it holds. What happens has one
# moment; what holds reaches from its beginning to when it was learned.
FUNCTION = """
CREATE OR REPLACE FUNCTION keno_unit_of_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keno_put_unit('fact', NEW.id, NEW.space_id, NEW.chat_id, NEW.episode_id, NEW.subject,
    coalesce({begin}), coalesce({end}), NEW.pinned, NEW.status = 'active',
    NEW.text, NEW.quote || ' ' || NEW.subject, NEW.language);
  RETURN NULL;
END $$;
DROP TRIGGER keno_unit_put ON memory_fact;
CREATE TRIGGER keno_unit_put AFTER INSERT OR UPDATE OF text, quote, subject, language, status,
  chat_id, space_id, episode_id, valid_from, created_at, {watched}pinned ON memory_fact
FOR EACH ROW EXECUTE FUNCTION keno_unit_of_fact();
"""
NEW = FUNCTION.format(
    begin="NEW.occurs_at, NEW.valid_from, NEW.created_at",
    end="NEW.occurs_at, NEW.created_at",
    watched="occurs_at, ",
)
OLD = FUNCTION.format(
    begin="NEW.valid_from, NEW.created_at", end="NEW.created_at", watched=""
)


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0003_event_ids_have_64_bits'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='fact',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='fact',
            name='update_update',
        ),
        migrations.AddField(
            model_name='fact',
            name='occurs_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='factevent',
            name='occurs_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='fact',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "memory_factevent" ("category", "chat_id", "confidence", "created_at", "episode_id", "evidence", "flags", "id", "kind", "language", "last_seen_at", "message_id", "mode", "occurs_at", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pinned", "quote", "said_by", "said_key", "source", "space_id", "status", "sticky", "subject", "superseded_by_id", "text", "times_seen", "trashed_at", "trust", "updated_at", "valid_from", "valid_to", "written_by") VALUES (NEW."category", NEW."chat_id", NEW."confidence", NEW."created_at", NEW."episode_id", NEW."evidence", NEW."flags", NEW."id", NEW."kind", NEW."language", NEW."last_seen_at", NEW."message_id", NEW."mode", NEW."occurs_at", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."pinned", NEW."quote", NEW."said_by", NEW."said_key", NEW."source", NEW."space_id", NEW."status", NEW."sticky", NEW."subject", NEW."superseded_by_id", NEW."text", NEW."times_seen", NEW."trashed_at", NEW."trust", NEW."updated_at", NEW."valid_from", NEW."valid_to", NEW."written_by"); RETURN NULL;', hash='ad3c02c8b7f79f93646c1f061213696f53a585cf', operation='INSERT', pgid='pgtrigger_insert_insert_0ba44', table='memory_fact', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='fact',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."category" IS DISTINCT FROM (NEW."category") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."confidence" IS DISTINCT FROM (NEW."confidence") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."episode_id" IS DISTINCT FROM (NEW."episode_id") OR OLD."evidence" IS DISTINCT FROM (NEW."evidence") OR OLD."flags" IS DISTINCT FROM (NEW."flags") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."language" IS DISTINCT FROM (NEW."language") OR OLD."last_seen_at" IS DISTINCT FROM (NEW."last_seen_at") OR OLD."message_id" IS DISTINCT FROM (NEW."message_id") OR OLD."mode" IS DISTINCT FROM (NEW."mode") OR OLD."occurs_at" IS DISTINCT FROM (NEW."occurs_at") OR OLD."pinned" IS DISTINCT FROM (NEW."pinned") OR OLD."quote" IS DISTINCT FROM (NEW."quote") OR OLD."said_by" IS DISTINCT FROM (NEW."said_by") OR OLD."said_key" IS DISTINCT FROM (NEW."said_key") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."space_id" IS DISTINCT FROM (NEW."space_id") OR OLD."status" IS DISTINCT FROM (NEW."status") OR OLD."sticky" IS DISTINCT FROM (NEW."sticky") OR OLD."subject" IS DISTINCT FROM (NEW."subject") OR OLD."superseded_by_id" IS DISTINCT FROM (NEW."superseded_by_id") OR OLD."text" IS DISTINCT FROM (NEW."text") OR OLD."times_seen" IS DISTINCT FROM (NEW."times_seen") OR OLD."trashed_at" IS DISTINCT FROM (NEW."trashed_at") OR OLD."trust" IS DISTINCT FROM (NEW."trust") OR OLD."updated_at" IS DISTINCT FROM (NEW."updated_at") OR OLD."valid_from" IS DISTINCT FROM (NEW."valid_from") OR OLD."valid_to" IS DISTINCT FROM (NEW."valid_to") OR OLD."written_by" IS DISTINCT FROM (NEW."written_by"))', func='INSERT INTO "memory_factevent" ("category", "chat_id", "confidence", "created_at", "episode_id", "evidence", "flags", "id", "kind", "language", "last_seen_at", "message_id", "mode", "occurs_at", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pinned", "quote", "said_by", "said_key", "source", "space_id", "status", "sticky", "subject", "superseded_by_id", "text", "times_seen", "trashed_at", "trust", "updated_at", "valid_from", "valid_to", "written_by") VALUES (NEW."category", NEW."chat_id", NEW."confidence", NEW."created_at", NEW."episode_id", NEW."evidence", NEW."flags", NEW."id", NEW."kind", NEW."language", NEW."last_seen_at", NEW."message_id", NEW."mode", NEW."occurs_at", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."pinned", NEW."quote", NEW."said_by", NEW."said_key", NEW."source", NEW."space_id", NEW."status", NEW."sticky", NEW."subject", NEW."superseded_by_id", NEW."text", NEW."times_seen", NEW."trashed_at", NEW."trust", NEW."updated_at", NEW."valid_from", NEW."valid_to", NEW."written_by"); RETURN NULL;', hash='f822b11e89e4aa080909fd5c42fce446f3601fd1', operation='UPDATE', pgid='pgtrigger_update_update_177f7', table='memory_fact', when='AFTER')),
        ),
        migrations.RunSQL(NEW, OLD),
    ]
