from importlib import import_module

from django.db import migrations

# Keno names a chat of the pages by what is talked about there, not always by its first message: as
# with episodes a title that shares a word with what is silent now gives way to the day and time.
before = import_module("memory.migrations.0030_titles_hide_what_was_forgotten")
BY_KENO = """(
    SELECT e.pgh_label = 'insert' OR coalesce(c.metadata ->> 'by', '') NOT LIKE 'person:%'
    FROM memory_chatevent e LEFT JOIN pghistory_context c ON c.id = e.pgh_context_id
    WHERE e.pgh_obj_id = NEW.id AND e.title = made ORDER BY e.pgh_id LIMIT 1)"""
SILENT = """m.chat_id = NEW.id AND CASE
      WHEN NEW.channel <> 'web' THEN
        starts_with(regexp_replace(btrim(m.text), '\\s+', ' ', 'g'), rtrim(made, '…'))
      WHEN made LIKE 'keno-enc:%' THEN true
      ELSE tsvector_to_array(keno_words(made, m.language))
        && tsvector_to_array(keno_words(m.text, m.language)) END"""


def replaced(made: str) -> str:
    """The function alone, in place of the one that is there."""
    function = made.partition("CREATE TRIGGER")[0]
    return function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


CHAT = before.RETITLE.format(
    table="chat",
    time=before.TIME,
    at="created_at",
    history="pgtrigger_update_update_403b4",
    by_keno=BY_KENO,
    silent=SILENT,
)


class Migration(migrations.Migration):
    dependencies = [("memory", "0030_titles_hide_what_was_forgotten")]

    operations = [
        migrations.RunSQL(replaced(CHAT), replaced(before.CHAT)),
        migrations.RunSQL(before.ALREADY_SILENT.format(table="chat"), migrations.RunSQL.noop),
    ]
