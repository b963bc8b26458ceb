from django.db import migrations

# A title that was made from words that are silent now gives way to the day and time; when they are
# heard again it comes back from the history. Hiding and showing is no change of its own: an undo of
# the forgetting brings the title back, whatever was done with the row meanwhile.
TIME = r"^\d{4}-\d\d-\d\d \d\d:\d\d$"
TIME_OF = """
CREATE FUNCTION keno_time_title(at timestamptz, space bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN to_char(at AT TIME ZONE (SELECT timezone FROM memory_space WHERE id = space),
    'YYYY-MM-DD HH24:MI');
EXCEPTION WHEN invalid_parameter_value THEN
  RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI');
END $$;
"""
RETITLE = """
CREATE FUNCTION keno_retitle_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ignored text := coalesce(nullif(current_setting('pgtrigger.ignore', true), ''), '{{}}');
  made text := NEW.title;
  shown text;
BEGIN
  IF current_setting('keno.same_words', true) = 'on'
    OR current_setting('keno.erasing', true) = 'on' THEN RETURN NULL; END IF;
  IF made ~ '{time}' THEN
    SELECT title INTO made FROM memory_{table}event
      WHERE pgh_obj_id = NEW.id AND title !~ '{time}' ORDER BY pgh_id DESC LIMIT 1;
  END IF;
  IF coalesce(made, '') = '' THEN RETURN NULL; END IF;
  shown := made;
  IF {by_keno} AND EXISTS (
    SELECT FROM memory_silencedmessage s JOIN memory_message m ON m.id = s.message_id
    WHERE m.role = 'user' AND {silent}
  ) THEN
    shown := keno_time_title(NEW.{at}, NEW.space_id);
  END IF;
  IF shown <> NEW.title THEN
    PERFORM set_config('pgtrigger.ignore', '{{{history}}}', true);
    UPDATE memory_{table} SET title = shown WHERE id = NEW.id;
    PERFORM set_config('pgtrigger.ignore', ignored, true);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keno_retitle AFTER INSERT OR UPDATE OF title ON memory_{table}
FOR EACH ROW EXECUTE FUNCTION keno_retitle_{table}();
"""
# What stands under the key of a space cannot be compared: there one silent message is enough.
EPISODE = RETITLE.format(
    table="episode",
    time=TIME,
    at="started_at",
    history="pgtrigger_update_update_39c89",
    by_keno="NOT NEW.sticky",
    silent="""(m.episode_id = NEW.id
      OR NEW.source <> 'split' AND m.episode_id = ANY(NEW.summary_of))
      AND (made LIKE 'keno-enc:%' OR tsvector_to_array(keno_words(made, m.language))
        && tsvector_to_array(keno_words(m.text, m.language)))""",
)
CHAT = RETITLE.format(
    table="chat",
    time=TIME,
    at="created_at",
    history="pgtrigger_update_update_403b4",
    by_keno="""EXISTS (SELECT FROM memory_chatevent
      WHERE pgh_obj_id = NEW.id AND pgh_label = 'insert' AND title = made)""",
    silent="""m.chat_id = NEW.id AND CASE WHEN made LIKE 'keno-enc:%'
      THEN NEW.channel = 'web' AND m.id = (
        SELECT min(id) FROM memory_message WHERE chat_id = NEW.id AND role = 'user')
      ELSE starts_with(regexp_replace(btrim(m.text), '\\s+', ' ', 'g'), rtrim(made, '…'))
      END""",
)
NO_RETITLE = """
DROP TRIGGER keno_retitle ON memory_{table};
DROP FUNCTION keno_retitle_{table}();
"""
# As before, and the chats look at their titles again.
SILENCE = """
CREATE OR REPLACE FUNCTION keno_silence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  touched bigint[];
BEGIN
  IF NEW.forgotten THEN
    WITH rested AS (
      SELECT NEW.message_id AS id
      UNION SELECT m.id FROM memory_message m WHERE m.reply_to_id = NEW.message_id
      UNION SELECT (e ->> 'message')::bigint FROM jsonb_array_elements(NEW.evidence) AS e
        WHERE jsonb_typeof(e -> 'message') = 'number'
      UNION SELECT r.reply_id FROM memory_recallitem i JOIN memory_recall r ON r.id = i.recall_id
        WHERE i.fact_id = NEW.id AND i.injected
    ), silenced AS (
      INSERT INTO memory_silencedmessage (fact_id, message_id)
      SELECT NEW.id, m.id FROM memory_message m JOIN rested ON rested.id = m.id
      WHERE m.space_id = NEW.space_id
      ON CONFLICT DO NOTHING RETURNING message_id
    )
    SELECT array_agg(message_id) INTO touched FROM silenced;
  ELSE
    WITH woken AS (
      DELETE FROM memory_silencedmessage WHERE fact_id = NEW.id RETURNING message_id
    )
    SELECT array_agg(message_id) INTO touched FROM woken;
  END IF;
  -- Writing the rows again lets their own triggers decide whether recall sees them.
  UPDATE memory_message SET episode_id = episode_id WHERE id = ANY(touched);
  UPDATE memory_episode SET title = title WHERE id IN (
    SELECT episode_id FROM memory_message WHERE id = ANY(touched) AND role = 'user');
{chats}  RETURN NULL;
END $$;
"""
CHATS = """  UPDATE memory_chat SET title = title WHERE id IN (
    SELECT chat_id FROM memory_message WHERE id = ANY(touched) AND role = 'user');
"""
ALREADY_SILENT = """
UPDATE memory_{table} SET title = title WHERE id IN (
  SELECT m.{table}_id FROM memory_message m JOIN memory_silencedmessage s ON s.message_id = m.id);
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0029_rows_point_within_their_space")]

    operations = [
        migrations.RunSQL(TIME_OF, "DROP FUNCTION keno_time_title(timestamptz, bigint)"),
        migrations.RunSQL(EPISODE, NO_RETITLE.format(table="episode")),
        migrations.RunSQL(CHAT, NO_RETITLE.format(table="chat")),
        migrations.RunSQL(SILENCE.replace("{chats}", CHATS), SILENCE.replace("{chats}", "")),
        *(
            migrations.RunSQL(ALREADY_SILENT.format(table=table), migrations.RunSQL.noop)
            for table in ("episode", "chat")
        ),
    ]
