from django.db import migrations

# What Keno remarks about a message (it hedged, it is not answered yet) is no suspicion either.
NOW = """
CREATE OR REPLACE FUNCTION keno_suspicious(flags jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT jsonb_typeof(flags) = 'array' AND EXISTS (
    SELECT FROM jsonb_array_elements_text(flags) AS flag
    WHERE flag NOT LIKE 'redacted:%' AND flag NOT LIKE 'truncated:%'
      AND flag NOT IN ('hedging', 'unanswered'))
$$;
UPDATE memory_message SET flags = flags WHERE flags <> '[]';
"""
BEFORE = """
CREATE OR REPLACE FUNCTION keno_suspicious(flags jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT jsonb_typeof(flags) = 'array' AND EXISTS (
    SELECT FROM jsonb_array_elements_text(flags) AS flag
    WHERE flag NOT LIKE 'redacted:%' AND flag NOT LIKE 'truncated:%')
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0013_vectors_know_their_kind")]
    operations = [migrations.RunSQL(NOW, BEFORE)]
