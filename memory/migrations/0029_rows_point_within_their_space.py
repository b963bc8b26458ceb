"""A row of one space cannot point to a row of another: Postgres itself refuses to write it."""

from django.db import migrations

POINTED_AT = ["chat", "entity", "episode", "fact", "member", "message"]
POINTS = [
    ("chat", "owner_id", "member"),
    ("chatlink", "member_id", "member"),
    ("chatsummary", "chat_id", "chat"),
    ("entity", "chat_id", "chat"),
    ("entity", "merged_into_id", "entity"),
    ("entity", "owner_id", "entity"),
    ("episode", "chat_id", "chat"),
    ("fact", "chat_id", "chat"),
    ("fact", "episode_id", "episode"),
    ("fact", "message_id", "message"),
    ("fact", "superseded_by_id", "fact"),
    ("goldenquestion", "chat_id", "chat"),
    ("llmcall", "chat_id", "chat"),
    ("llmcall", "message_id", "message"),
    ("message", "chat_id", "chat"),
    ("message", "episode_id", "episode"),
    ("message", "reply_to_id", "message"),
    ("outboxitem", "chat_id", "chat"),
    ("outboxitem", "message_id", "message"),
    ("pattern", "chat_id", "chat"),
    ("recall", "chat_id", "chat"),
    ("recall", "message_id", "message"),
    ("recall", "reply_id", "message"),
    ("reminder", "chat_id", "chat"),
    ("reminder", "fact_id", "fact"),
    ("ruling", "fact_id", "fact"),
    ("selfcheck", "reply_id", "message"),
    ("unit", "chat_id", "chat"),
    ("workingnote", "chat_id", "chat"),
]
# An index is made without keeping readers away, as a constraint would.
INDEX = "CREATE UNIQUE INDEX {table}_of_space ON {table} (space_id, id)"
POINT = """
ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (space_id, {column})
  REFERENCES {target} (space_id, id) DEFERRABLE INITIALLY DEFERRED NOT VALID
"""
# Rows that an older Keno wrote wrongly stop no upgrade; `memory_check` tells of them.
VALIDATE = """
DO $$ BEGIN
  ALTER TABLE {table} VALIDATE CONSTRAINT {name};
EXCEPTION WHEN foreign_key_violation THEN
  RAISE WARNING '%', SQLERRM;
END $$
"""


def within_space(app: str, points: list[tuple[str, str, str]]) -> list[migrations.RunSQL]:
    """Add the constraints to tables of the app; names without an app are of this one."""
    made = []
    for table, column, target in points:
        names = {
            "table": f"{app}_{table}",
            "column": column,
            "target": target if "_" in target else f"{app}_{target}",
            "name": f"{app}_{table}_{column}_of_space",
        }
        drop = "ALTER TABLE {table} DROP CONSTRAINT {name}"
        made.append(migrations.RunSQL(POINT.format(**names), drop.format(**names)))
        made.append(migrations.RunSQL(VALIDATE.format(**names), migrations.RunSQL.noop))
    return made


def indexes(app: str, tables: list[str]) -> list[migrations.RunSQL]:
    names = [f"{app}_{table}" for table in tables]
    return [
        migrations.RunSQL(INDEX.format(table=name), f"DROP INDEX {name}_of_space") for name in names
    ]


class Migration(migrations.Migration):
    dependencies = [("memory", "0028_encryption_of_content")]

    operations = [*indexes("memory", POINTED_AT), *within_space("memory", POINTS)]
