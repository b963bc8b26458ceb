from django.db import migrations

# Lower case without accents and punctuation, as memory/text/normalise.py folds. NFD first: lower() of a
# C-locale database knows ASCII only, and after NFD every Latin letter is ASCII plus marks.
FOLD = r"""
CREATE FUNCTION keno_fold(said text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT regexp_replace(
    lower(regexp_replace(normalize(left(said, 20000), NFD), '[\u0300-\u036f]+', '', 'g')),
    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+', ' ', 'g')
$$;
"""

# Stems of the row's language; of both when nobody said which it is.
WORDS = """
CREATE FUNCTION keno_words(said text, language text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE language
    WHEN 'en' THEN to_tsvector('pg_catalog.english', keno_fold(said))
    WHEN 'es' THEN to_tsvector('pg_catalog.spanish', keno_fold(said))
    ELSE to_tsvector('pg_catalog.english', keno_fold(said))
      || to_tsvector('pg_catalog.spanish', keno_fold(said))
  END
$$;
"""

# A word of a question in each form it may stand in the index. plainto never fails on its text.
QUERY = """
CREATE FUNCTION keno_query(word text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT plainto_tsquery('pg_catalog.english', keno_fold(word))
      || plainto_tsquery('pg_catalog.spanish', keno_fold(word))
      || plainto_tsquery('pg_catalog.simple', keno_fold(word))
$$;
"""

# Flags that a guard raised. What was cut off or redacted, and what Keno remarks about a message (it
# hedged, it is not answered yet), is not a suspicion.
SUSPICIOUS = """
CREATE FUNCTION keno_suspicious(flags jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT jsonb_typeof(flags) = 'array' AND EXISTS (
    SELECT FROM jsonb_array_elements_text(flags) AS flag
    WHERE flag NOT LIKE 'redacted:%' AND flag NOT LIKE 'truncated:%'
      AND flag NOT IN ('hedging', 'unanswered'))
$$;
"""

PUT = """
CREATE FUNCTION keno_put_unit(
  of_kind text, of_owner bigint, in_space bigint, in_chat bigint, in_episode bigint,
  said_by text, from_time timestamptz, to_time timestamptz, is_pinned boolean, is_live boolean,
  meaning text, other_words text, in_language text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  here bigint := coalesce(in_chat, -2 * in_space);
  digest text := md5(meaning);
  put bigint;
BEGIN
  INSERT INTO memory_unit AS unit (kind, owner_id, space_id, chat_id, scope, episode_id, speaker,
    at, until, pinned, live, words, text_hash)
  VALUES (of_kind, of_owner, in_space, in_chat, here, in_episode,
    left(btrim(keno_fold(said_by)), 120), from_time, greatest(from_time, to_time), is_pinned,
    is_live,
    CASE WHEN is_live THEN keno_words(meaning || ' ' || other_words, in_language) END, digest)
  ON CONFLICT (kind, owner_id) DO UPDATE SET
    space_id = excluded.space_id, chat_id = excluded.chat_id, scope = excluded.scope,
    episode_id = excluded.episode_id, speaker = excluded.speaker, at = excluded.at,
    until = excluded.until, pinned = excluded.pinned, live = excluded.live,
    words = excluded.words, text_hash = excluded.text_hash
  RETURNING unit.id INTO put;
  -- A vector of other words is stale; one of the same words moves with its unit.
  DELETE FROM memory_embedding WHERE unit_id = put AND text_hash <> digest;
  UPDATE memory_embedding SET live = is_live, scope = here, space_id = in_space
  WHERE unit_id = put AND (live, scope, space_id) IS DISTINCT FROM (is_live, here, in_space);
END $$;
"""

FACT = """
CREATE FUNCTION keno_unit_of_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keno_put_unit('fact', NEW.id, NEW.space_id, NEW.chat_id, NEW.episode_id, NEW.subject,
    coalesce(NEW.valid_from, NEW.created_at), NEW.created_at, NEW.pinned, NEW.status = 'active',
    NEW.text, NEW.quote || ' ' || NEW.subject, NEW.language);
  RETURN NULL;
END $$;
"""

MESSAGE = """
CREATE FUNCTION keno_unit_of_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keno_put_unit('message', NEW.id, NEW.space_id, NEW.chat_id, NEW.episode_id, NEW.author,
    NEW.sent_at, NEW.sent_at, false,
    NEW.role <> 'system' AND NOT keno_suspicious(NEW.flags) AND NOT EXISTS (
      SELECT FROM memory_episode WHERE id = NEW.episode_id AND status = 'discarded'),
    NEW.text, '', NEW.language);
  RETURN NULL;
END $$;
"""

EPISODE = """
CREATE FUNCTION keno_unit_of_episode() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keno_put_unit('episode', NEW.id, NEW.space_id, NEW.chat_id, NEW.id, '',
    NEW.started_at, NEW.ended_at, false,
    NEW.status IN ('open', 'closed') AND NEW.title || NEW.body <> ''
      AND NOT keno_suspicious(NEW.flags),
    btrim(NEW.title || E'\\n' || NEW.body), array_to_string(NEW.tags, ' '), NEW.language);
  -- What was said in a discarded episode is discarded with it.
  IF TG_OP = 'UPDATE' AND (OLD.status = 'discarded') <> (NEW.status = 'discarded') THEN
    UPDATE memory_message SET episode_id = episode_id WHERE episode_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;
"""

DROP = """
CREATE FUNCTION keno_drop_unit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM memory_unit WHERE kind = TG_ARGV[0] AND owner_id = OLD.id;
  RETURN NULL;
END $$;
"""

# The columns that a unit shows: counting a use must not write it again.
WATCHED = {
    "fact": "text, quote, subject, language, status, chat_id, space_id, episode_id, valid_from, "
    "created_at, pinned",
    "message": "text, author, language, role, flags, chat_id, space_id, episode_id, sent_at",
    "episode": "title, body, tags, language, status, flags, chat_id, space_id, started_at, ended_at",
}


def triggers(kind: str) -> str:
    return f"""
CREATE TRIGGER keno_unit_put AFTER INSERT OR UPDATE OF {WATCHED[kind]} ON memory_{kind}
FOR EACH ROW EXECUTE FUNCTION keno_unit_of_{kind}();
CREATE TRIGGER keno_unit_drop AFTER DELETE ON memory_{kind}
FOR EACH ROW EXECUTE FUNCTION keno_drop_unit('{kind}');
"""


def undo(kind: str) -> str:
    return f"""
DROP TRIGGER keno_unit_put ON memory_{kind};
DROP TRIGGER keno_unit_drop ON memory_{kind};
DROP FUNCTION keno_unit_of_{kind}();
"""


# On the empty table: later it would take a minute per 100,000 vectors.
EMBEDDED_INDEX = """
ALTER TABLE memory_embedding ADD CONSTRAINT embedding_of_unit
  FOREIGN KEY (unit_id) REFERENCES memory_unit (id) ON DELETE CASCADE;
CREATE INDEX embedding_hnsw_60875a9a ON memory_embedding
  USING hnsw ((vector::vector(384)) vector_cosine_ops)
  WHERE model = 'minilm-en-es-384@60875a9a';
"""

def folded_words(column):
    """Spell out keno_words for an unknown language: an index may only call built-in functions."""
    folded = (
        f"regexp_replace(lower(regexp_replace(normalize(left({column}, 20000), NFD), "
        r"'[\u0300-\u036f]+', '', 'g')), "
        r"'[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+', ' ', 'g')"
    )
    return (
        f"(to_tsvector('pg_catalog.english', {folded}) || to_tsvector('pg_catalog.spanish', {folded}))"
    )


# What is not live has no words in its unit; people still search for it.
WORDS_AWAY = f"""
CREATE INDEX fact_words_away ON memory_fact
  USING gin ({folded_words("text || ' ' || quote || ' ' || subject")})
  WHERE status <> 'active';
CREATE INDEX episode_words_away ON memory_episode
  USING gin ({folded_words("title || ' ' || body")})
  WHERE status IN ('archived', 'discarded') OR flags <> '[]'::jsonb;
"""

FUNCTIONS = {
    "keno_fold(text)": FOLD,
    "keno_words(text, text)": WORDS,
    "keno_query(text)": QUERY,
    "keno_suspicious(jsonb)": SUSPICIOUS,
    "keno_put_unit": PUT,
    "keno_drop_unit()": DROP,
}


class Migration(migrations.Migration):
    replaces = [("memory", "0009_keep_units_by_trigger")]
    dependencies = [("memory", "0001_initial")]
    operations = [
        *(
            migrations.RunSQL(sql, f"DROP FUNCTION {name}")
            for name, sql in FUNCTIONS.items()
        ),
        migrations.RunSQL(
            EMBEDDED_INDEX,
            "DROP INDEX embedding_hnsw_60875a9a;"
            "ALTER TABLE memory_embedding DROP CONSTRAINT embedding_of_unit;",
        ),
        *(
            migrations.RunSQL(sql + triggers(kind), undo(kind))
            for kind, sql in {"fact": FACT, "message": MESSAGE, "episode": EPISODE}.items()
        ),
        migrations.RunSQL(WORDS_AWAY, "DROP INDEX fact_words_away; DROP INDEX episode_words_away;"),
    ]
