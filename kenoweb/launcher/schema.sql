-- fc4e94f57a7b4dd425766db55e2ae47383632b5619aab8163f4899a20f15df10
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE TYPE public.procrastinate_job_event_type AS ENUM (
    'deferred',
    'started',
    'deferred_for_retry',
    'failed',
    'succeeded',
    'cancelled',
    'abort_requested',
    'aborted',
    'scheduled',
    'retried'
);
CREATE TYPE public.procrastinate_job_status AS ENUM (
    'todo',
    'doing',
    'succeeded',
    'failed',
    'cancelled',
    'aborting',
    'aborted'
);
CREATE TYPE public.procrastinate_job_to_defer_v1 AS (
	queue_name character varying,
	task_name character varying,
	priority integer,
	lock text,
	queueing_lock text,
	args jsonb,
	scheduled_at timestamp with time zone
);
CREATE FUNCTION public._pgh_attach_context() RETURNS uuid
    LANGUAGE plpgsql
    AS $$
                    DECLARE
                        _pgh_context_id UUID;
                        _pgh_context_metadata JSONB;
                    BEGIN
                        BEGIN
                            SELECT INTO _pgh_context_id
                                CURRENT_SETTING('pghistory.context_id');
                            SELECT INTO _pgh_context_metadata
                                CURRENT_SETTING('pghistory.context_metadata');
                            EXCEPTION WHEN OTHERS THEN
                        END;
                        IF _pgh_context_id IS NOT NULL AND _pgh_context_metadata IS NOT NULL THEN
                            INSERT INTO pghistory_context (id, metadata, created_at, updated_at)
                                VALUES (_pgh_context_id, _pgh_context_metadata, NOW(), NOW())
                                ON CONFLICT (id) DO UPDATE
                                    SET metadata = EXCLUDED.metadata,
                                        updated_at = EXCLUDED.updated_at
                                    WHERE pghistory_context.metadata != EXCLUDED.metadata;
                            RETURN _pgh_context_id;
                        ELSE
                            RETURN NULL;
                        END IF;
                    END;
                $$;
CREATE FUNCTION public._pgtrigger_should_ignore(trigger_name name) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
                DECLARE
                    _pgtrigger_ignore TEXT[];
                    _result BOOLEAN;
                BEGIN
                    BEGIN
                        SELECT INTO _pgtrigger_ignore
                            CURRENT_SETTING('pgtrigger.ignore');
                        EXCEPTION WHEN OTHERS THEN
                    END;
                    IF _pgtrigger_ignore IS NOT NULL THEN
                        SELECT trigger_name = ANY(_pgtrigger_ignore)
                        INTO _result;
                        RETURN _result;
                    ELSE
                        RETURN FALSE;
                    END IF;
                END;
            $$;
CREATE FUNCTION public.keno_count_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;
CREATE FUNCTION public.keno_drop_unit() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  DELETE FROM memory_unit WHERE kind = TG_ARGV[0] AND owner_id = OLD.id;
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_fold(said text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT regexp_replace(
    lower(regexp_replace(normalize(left(said, 20000), NFD), '[\u0300-\u036f]+', '', 'g')),
    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+', ' ', 'g')
$$;
CREATE FUNCTION public.keno_names_of_fact(of_fact bigint, in_chat bigint) RETURNS text
    LANGUAGE sql STABLE
    AS $$
  SELECT coalesce(string_agg(array_to_string(e.name || e.aliases, ' '), ' ' ORDER BY e.id), '')
  FROM memory_mention m
  JOIN memory_entity own ON own.id = m.entity_id
  JOIN memory_entity e ON e.id = coalesce(own.merged_into_id, own.id)
    OR e.merged_into_id = coalesce(own.merged_into_id, own.id)
  WHERE m.fact_id = of_fact AND m.role = 'about' AND (e.chat_id IS NULL OR e.chat_id = in_chat)
$$;
CREATE FUNCTION public.keno_new_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE memory_space SET version = version WHERE id = coalesce(NEW.space_id, OLD.space_id);
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_put_unit(of_kind text, of_owner bigint, in_space bigint, in_chat bigint, in_episode bigint, said_by text, from_time timestamp with time zone, to_time timestamp with time zone, is_pinned boolean, is_live boolean, meaning text, other_words text, in_language text) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
    CASE WHEN is_live
      AND strpos(meaning || ' ' || other_words, 'keno-enc:') = 0 THEN keno_words(meaning || ' ' || other_words, in_language) END,
    digest)
  ON CONFLICT (kind, owner_id) DO UPDATE SET
    space_id = excluded.space_id, chat_id = excluded.chat_id, scope = excluded.scope,
    episode_id = excluded.episode_id, speaker = excluded.speaker, at = excluded.at,
    until = excluded.until, pinned = excluded.pinned, live = excluded.live,
    words = excluded.words, text_hash = excluded.text_hash
  RETURNING unit.id INTO put;
  -- A vector of other words is stale; one of the same words moves with its unit.
  IF current_setting('keno.same_words', true) = 'on' THEN
    UPDATE memory_embedding SET text_hash = digest WHERE unit_id = put AND text_hash <> digest;
  END IF;
  DELETE FROM memory_embedding WHERE unit_id = put AND text_hash <> digest;
  UPDATE memory_embedding SET live = is_live, scope = here, space_id = in_space
  WHERE unit_id = put AND (live, scope, space_id) IS DISTINCT FROM (is_live, here, in_space);
END $$;
CREATE FUNCTION public.keno_query(word text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT plainto_tsquery('pg_catalog.english', keno_fold(word))
      || plainto_tsquery('pg_catalog.spanish', keno_fold(word))
      || plainto_tsquery('pg_catalog.simple', keno_fold(word))
$$;
CREATE FUNCTION public.keno_retitle_chat() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
DECLARE
  ignored text := coalesce(nullif(current_setting('pgtrigger.ignore', true), ''), '{}');
  made text := NEW.title;
  shown text;
BEGIN
  IF current_setting('keno.same_words', true) = 'on'
    OR current_setting('keno.erasing', true) = 'on' THEN RETURN NULL; END IF;
  IF made ~ '^\d{4}-\d\d-\d\d \d\d:\d\d$' THEN
    SELECT title INTO made FROM memory_chatevent
      WHERE pgh_obj_id = NEW.id AND title !~ '^\d{4}-\d\d-\d\d \d\d:\d\d$' ORDER BY pgh_id DESC LIMIT 1;
  END IF;
  IF coalesce(made, '') = '' THEN RETURN NULL; END IF;
  shown := made;
  IF (
    SELECT e.pgh_label = 'insert' OR coalesce(c.metadata ->> 'by', '') NOT LIKE 'person:%'
    FROM memory_chatevent e LEFT JOIN pghistory_context c ON c.id = e.pgh_context_id
    WHERE e.pgh_obj_id = NEW.id AND e.title = made ORDER BY e.pgh_id LIMIT 1) AND EXISTS (
    SELECT FROM memory_silencedmessage s JOIN memory_message m ON m.id = s.message_id
    WHERE m.role = 'user' AND m.chat_id = NEW.id AND CASE
      WHEN NEW.channel <> 'web' THEN
        starts_with(regexp_replace(btrim(m.text), '\s+', ' ', 'g'), rtrim(made, '…'))
      WHEN made LIKE 'keno-enc:%' THEN true
      ELSE tsvector_to_array(keno_words(made, m.language))
        && tsvector_to_array(keno_words(m.text, m.language)) END
  ) THEN
    shown := keno_time_title(NEW.created_at, NEW.space_id);
  END IF;
  IF shown <> NEW.title THEN
    PERFORM set_config('pgtrigger.ignore', '{pgtrigger_update_update_403b4}', true);
    UPDATE memory_chat SET title = shown WHERE id = NEW.id;
    PERFORM set_config('pgtrigger.ignore', ignored, true);
  END IF;
  RETURN NULL;
END $_$;
CREATE FUNCTION public.keno_retitle_episode() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
DECLARE
  ignored text := coalesce(nullif(current_setting('pgtrigger.ignore', true), ''), '{}');
  made text := NEW.title;
  shown text;
BEGIN
  IF current_setting('keno.same_words', true) = 'on'
    OR current_setting('keno.erasing', true) = 'on' THEN RETURN NULL; END IF;
  IF made ~ '^\d{4}-\d\d-\d\d \d\d:\d\d$' THEN
    SELECT title INTO made FROM memory_episodeevent
      WHERE pgh_obj_id = NEW.id AND title !~ '^\d{4}-\d\d-\d\d \d\d:\d\d$' ORDER BY pgh_id DESC LIMIT 1;
  END IF;
  IF coalesce(made, '') = '' THEN RETURN NULL; END IF;
  shown := made;
  IF NOT NEW.sticky AND EXISTS (
    SELECT FROM memory_silencedmessage s JOIN memory_message m ON m.id = s.message_id
    WHERE m.role = 'user' AND (m.episode_id = NEW.id
      OR NEW.source <> 'split' AND m.episode_id = ANY(NEW.summary_of))
      AND (made LIKE 'keno-enc:%' OR tsvector_to_array(keno_words(made, m.language))
        && tsvector_to_array(keno_words(m.text, m.language)))
  ) THEN
    shown := keno_time_title(NEW.started_at, NEW.space_id);
  END IF;
  IF shown <> NEW.title THEN
    PERFORM set_config('pgtrigger.ignore', '{pgtrigger_update_update_39c89}', true);
    UPDATE memory_episode SET title = shown WHERE id = NEW.id;
    PERFORM set_config('pgtrigger.ignore', ignored, true);
  END IF;
  RETURN NULL;
END $_$;
CREATE FUNCTION public.keno_silence() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
  UPDATE memory_chat SET title = title WHERE id IN (
    SELECT chat_id FROM memory_message WHERE id = ANY(touched) AND role = 'user');
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_suspicious(flags jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT jsonb_typeof(flags) = 'array' AND EXISTS (
    SELECT FROM jsonb_array_elements_text(flags) AS flag
    WHERE flag NOT LIKE 'redacted:%' AND flag NOT LIKE 'truncated:%'
      AND flag NOT IN ('hedging', 'unanswered'))
$$;
CREATE FUNCTION public.keno_tell() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  told text := TG_ARGV[0];
BEGIN
  IF current_setting('keno.same_words', true) = 'on' THEN RETURN NULL; END IF;
  IF NEW.space_id IS NULL THEN RETURN NULL; END IF;
  IF told IN ('fact', 'pattern') THEN
    IF NEW.status = 'quarantined' THEN told := 'quarantine'; END IF;
  END IF;
  PERFORM pg_notify('keno', NEW.space_id || ' ' || told);
  INSERT INTO memory_webhookevent (webhook_id, event, action, object_id, at)
    SELECT hook.id, told, CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'changed' END, NEW.id, now()
    FROM memory_webhook hook WHERE hook.space_id = NEW.space_id AND told = ANY(hook.events);
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_time_title(at timestamp with time zone, space bigint) RETURNS text
    LANGUAGE plpgsql
    AS $$
BEGIN
  RETURN to_char(at AT TIME ZONE (SELECT timezone FROM memory_space WHERE id = space),
    'YYYY-MM-DD HH24:MI');
EXCEPTION WHEN invalid_parameter_value THEN
  RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI');
END $$;
CREATE FUNCTION public.keno_unit_of_episode() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM keno_put_unit('episode', NEW.id, NEW.space_id, NEW.chat_id, NEW.id, '',
    NEW.started_at, NEW.ended_at, false,
    NEW.status IN ('open', 'closed') AND NEW.title || NEW.body <> ''
      AND NOT keno_suspicious(NEW.flags) AND NOT EXISTS (
        SELECT FROM memory_silencedmessage s JOIN memory_message m ON m.id = s.message_id
        WHERE m.episode_id = NEW.id AND m.role = 'user'),
    btrim(NEW.title || E'\n' || NEW.body), array_to_string(NEW.tags, ' '), NEW.language);
  -- What was said in a discarded episode is discarded with it.
  IF TG_OP = 'UPDATE' AND (OLD.status = 'discarded') <> (NEW.status = 'discarded') THEN
    UPDATE memory_message SET episode_id = episode_id WHERE episode_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_unit_of_fact() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM keno_put_unit('fact', NEW.id, NEW.space_id, NEW.chat_id, NEW.episode_id, NEW.subject,
    coalesce(NEW.occurs_at, NEW.valid_from, NEW.created_at),
    coalesce(NEW.occurs_at, NEW.created_at), NEW.pinned, NEW.status = 'active',
    NEW.text, NEW.quote || ' ' || NEW.subject || ' ' || keno_names_of_fact(NEW.id, NEW.chat_id), NEW.language);
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_unit_of_message() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM keno_put_unit('message', NEW.id, NEW.space_id, NEW.chat_id, NEW.episode_id, NEW.author,
    NEW.sent_at, NEW.sent_at, false,
    NEW.role <> 'system' AND coalesce(NEW.not_recalled, '') = '' AND NOT keno_suspicious(NEW.flags) AND NOT EXISTS (
      SELECT FROM memory_episode WHERE id = NEW.episode_id AND status = 'discarded')
    AND NOT EXISTS (SELECT FROM memory_silencedmessage WHERE message_id = NEW.id),
    NEW.text, '', NEW.language);
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_unlink_fact() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF current_setting('keno.same_words', true) = 'on' THEN RETURN NULL; END IF;
  DELETE FROM memory_mention WHERE fact_id = NEW.id;
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_words(said text, language text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT CASE language
    WHEN 'en' THEN to_tsvector('pg_catalog.english', keno_fold(said))
    WHEN 'es' THEN to_tsvector('pg_catalog.spanish', keno_fold(said))
    ELSE to_tsvector('pg_catalog.english', keno_fold(said))
      || to_tsvector('pg_catalog.spanish', keno_fold(said))
  END
$$;
CREATE FUNCTION public.keno_words_of_entity() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE memory_fact SET subject = subject WHERE id IN (
    SELECT m.fact_id FROM memory_mention m JOIN memory_entity e ON e.id = m.entity_id
    WHERE m.role = 'about' AND coalesce(e.merged_into_id, e.id) IN (
      OLD.id, NEW.id, OLD.merged_into_id, NEW.merged_into_id));
  RETURN NULL;
END $$;
CREATE FUNCTION public.keno_words_of_mention() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.role = 'about' AND EXISTS (
    SELECT FROM memory_entity e WHERE e.id = NEW.entity_id AND
      (e.merged_into_id IS NOT NULL OR e.aliases <> '{}' OR EXISTS (
        SELECT FROM memory_entity other WHERE other.merged_into_id = e.id)))
  THEN
    UPDATE memory_fact SET subject = subject WHERE id = NEW.fact_id;
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION public.pgtrigger_append_only_03ac4() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_append_only_96b01() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_00189() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_ruleevent" ("author_id", "category", "channel", "created_at", "examples", "forbidden", "id", "instruction", "person", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "slug", "space_id", "status", "updated_at") VALUES (NEW."author_id", NEW."category", NEW."channel", NEW."created_at", NEW."examples", NEW."forbidden", NEW."id", NEW."instruction", NEW."person", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."position", NEW."slug", NEW."space_id", NEW."status", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_0ba44() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_factevent" ("category", "chat_id", "confidence", "confirmed_at", "created_at", "episode_id", "evidence", "flags", "forgotten", "id", "kind", "language", "last_seen_at", "message_id", "mode", "occurs_at", "occurs_until", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pinned", "quote", "said_by", "said_key", "source", "space_id", "status", "sticky", "subject", "superseded_by_id", "tags", "text", "times_seen", "trashed_at", "trust", "updated_at", "valid_from", "valid_to", "written_by") VALUES (NEW."category", NEW."chat_id", NEW."confidence", NEW."confirmed_at", NEW."created_at", NEW."episode_id", NEW."evidence", NEW."flags", NEW."forgotten", NEW."id", NEW."kind", NEW."language", NEW."last_seen_at", NEW."message_id", NEW."mode", NEW."occurs_at", NEW."occurs_until", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."pinned", NEW."quote", NEW."said_by", NEW."said_key", NEW."source", NEW."space_id", NEW."status", NEW."sticky", NEW."subject", NEW."superseded_by_id", NEW."tags", NEW."text", NEW."times_seen", NEW."trashed_at", NEW."trust", NEW."updated_at", NEW."valid_from", NEW."valid_to", NEW."written_by"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_38455() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_workingnoteevent" ("chat_id", "context", "id", "notes", "pending", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "space_id", "task", "updated_at") VALUES (NEW."chat_id", NEW."context", NEW."id", NEW."notes", NEW."pending", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."space_id", NEW."task", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_42495() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_preferenceevent" ("author_id", "channel", "created_at", "id", "key", "person", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "section", "source", "space_id", "status", "sticky", "updated_at", "value") VALUES (NEW."author_id", NEW."channel", NEW."created_at", NEW."id", NEW."key", NEW."person", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."position", NEW."section", NEW."source", NEW."space_id", NEW."status", NEW."sticky", NEW."updated_at", NEW."value"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_5b4a4() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_rulingevent" ("by", "created_at", "fact_id", "id", "kind", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "said_key", "space_id", "status", "text") VALUES (NEW."by", NEW."created_at", NEW."fact_id", NEW."id", NEW."kind", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."reason", NEW."said_key", NEW."space_id", NEW."status", NEW."text"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_74936() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "sleep_proposalevent" ("after", "applied_as", "before", "confidence", "cost", "created_at", "decided_at", "decided_by_id", "decided_name", "digest", "evidence", "flags", "id", "key", "kind", "mode", "night_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "rationale", "reason", "space_id", "status", "targets", "title") VALUES (NEW."after", NEW."applied_as", NEW."before", NEW."confidence", NEW."cost", NEW."created_at", NEW."decided_at", NEW."decided_by_id", NEW."decided_name", NEW."digest", NEW."evidence", NEW."flags", NEW."id", NEW."key", NEW."kind", NEW."mode", NEW."night_id", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."rationale", NEW."reason", NEW."space_id", NEW."status", NEW."targets", NEW."title"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_77153() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_episodeevent" ("body", "chat_id", "consolidated_at", "created_at", "discard_reason", "discarded_at", "ended_at", "feedback", "flags", "id", "language", "participants", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "source", "space_id", "started_at", "status", "sticky", "summary_of", "tags", "title", "trust", "updated_at") VALUES (NEW."body", NEW."chat_id", NEW."consolidated_at", NEW."created_at", NEW."discard_reason", NEW."discarded_at", NEW."ended_at", NEW."feedback", NEW."flags", NEW."id", NEW."language", NEW."participants", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."source", NEW."space_id", NEW."started_at", NEW."status", NEW."sticky", NEW."summary_of", NEW."tags", NEW."title", NEW."trust", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_9dbe7() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_identityevent" ("core", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "space_id", "updated_at") VALUES (NEW."core", NEW."id", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."space_id", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_9e2b4() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_goldenquestionevent" ("asked_at", "by", "chat_id", "created_at", "found", "id", "person", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "question", "space_id", "status", "unfound", "unsaid") VALUES (NEW."asked_at", NEW."by", NEW."chat_id", NEW."created_at", NEW."found", NEW."id", NEW."person", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."question", NEW."space_id", NEW."status", NEW."unfound", NEW."unsaid"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_a640c() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_patternevent" ("chat_id", "confidence", "created_at", "evidence", "flags", "id", "language", "learned_from", "mode", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "response", "slug", "space_id", "status", "sticky", "trashed_at", "trigger", "updated_at") VALUES (NEW."chat_id", NEW."confidence", NEW."created_at", NEW."evidence", NEW."flags", NEW."id", NEW."language", NEW."learned_from", NEW."mode", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."response", NEW."slug", NEW."space_id", NEW."status", NEW."sticky", NEW."trashed_at", NEW."trigger", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_e5663() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_spaceevent" ("archived_at", "id", "language", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "settings", "timezone") VALUES (NEW."archived_at", NEW."id", NEW."language", NEW."name", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."settings", NEW."timezone"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_e94b6() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_entityevent" ("accounts", "aliases", "chat_id", "created_at", "id", "kind", "merged_into_id", "name", "owner_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "relation", "space_id", "sticky", "updated_at") VALUES (NEW."accounts", NEW."aliases", NEW."chat_id", NEW."created_at", NEW."id", NEW."kind", NEW."merged_into_id", NEW."name", NEW."owner_id", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."relation", NEW."space_id", NEW."sticky", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_f234a() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_chatevent" ("context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "title") VALUES (NEW."context", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."title"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_no_truncate_49cfc() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'no_truncate: the audit is never emptied';
                END;
            $$;
CREATE FUNCTION public.pgtrigger_no_truncate_85f60() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'no_truncate: the audit is never emptied';
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_0741e() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "sleep_proposalevent" ("after", "applied_as", "before", "confidence", "cost", "created_at", "decided_at", "decided_by_id", "decided_name", "digest", "evidence", "flags", "id", "key", "kind", "mode", "night_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "rationale", "reason", "space_id", "status", "targets", "title") VALUES (NEW."after", NEW."applied_as", NEW."before", NEW."confidence", NEW."cost", NEW."created_at", NEW."decided_at", NEW."decided_by_id", NEW."decided_name", NEW."digest", NEW."evidence", NEW."flags", NEW."id", NEW."key", NEW."kind", NEW."mode", NEW."night_id", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."rationale", NEW."reason", NEW."space_id", NEW."status", NEW."targets", NEW."title"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_14681() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_goldenquestionevent" ("asked_at", "by", "chat_id", "created_at", "found", "id", "person", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "question", "space_id", "status", "unfound", "unsaid") VALUES (NEW."asked_at", NEW."by", NEW."chat_id", NEW."created_at", NEW."found", NEW."id", NEW."person", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."question", NEW."space_id", NEW."status", NEW."unfound", NEW."unsaid"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_177f7() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_factevent" ("category", "chat_id", "confidence", "confirmed_at", "created_at", "episode_id", "evidence", "flags", "forgotten", "id", "kind", "language", "last_seen_at", "message_id", "mode", "occurs_at", "occurs_until", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pinned", "quote", "said_by", "said_key", "source", "space_id", "status", "sticky", "subject", "superseded_by_id", "tags", "text", "times_seen", "trashed_at", "trust", "updated_at", "valid_from", "valid_to", "written_by") VALUES (NEW."category", NEW."chat_id", NEW."confidence", NEW."confirmed_at", NEW."created_at", NEW."episode_id", NEW."evidence", NEW."flags", NEW."forgotten", NEW."id", NEW."kind", NEW."language", NEW."last_seen_at", NEW."message_id", NEW."mode", NEW."occurs_at", NEW."occurs_until", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."pinned", NEW."quote", NEW."said_by", NEW."said_key", NEW."source", NEW."space_id", NEW."status", NEW."sticky", NEW."subject", NEW."superseded_by_id", NEW."tags", NEW."text", NEW."times_seen", NEW."trashed_at", NEW."trust", NEW."updated_at", NEW."valid_from", NEW."valid_to", NEW."written_by"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_2dec6() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_workingnoteevent" ("chat_id", "context", "id", "notes", "pending", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "space_id", "task", "updated_at") VALUES (NEW."chat_id", NEW."context", NEW."id", NEW."notes", NEW."pending", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."space_id", NEW."task", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_31b0e() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_spaceevent" ("archived_at", "id", "language", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "settings", "timezone") VALUES (NEW."archived_at", NEW."id", NEW."language", NEW."name", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."settings", NEW."timezone"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_39c89() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_episodeevent" ("body", "chat_id", "consolidated_at", "created_at", "discard_reason", "discarded_at", "ended_at", "feedback", "flags", "id", "language", "participants", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "source", "space_id", "started_at", "status", "sticky", "summary_of", "tags", "title", "trust", "updated_at") VALUES (NEW."body", NEW."chat_id", NEW."consolidated_at", NEW."created_at", NEW."discard_reason", NEW."discarded_at", NEW."ended_at", NEW."feedback", NEW."flags", NEW."id", NEW."language", NEW."participants", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."source", NEW."space_id", NEW."started_at", NEW."status", NEW."sticky", NEW."summary_of", NEW."tags", NEW."title", NEW."trust", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_3d1ee() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_rulingevent" ("by", "created_at", "fact_id", "id", "kind", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "said_key", "space_id", "status", "text") VALUES (NEW."by", NEW."created_at", NEW."fact_id", NEW."id", NEW."kind", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."reason", NEW."said_key", NEW."space_id", NEW."status", NEW."text"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_403b4() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_chatevent" ("context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "title") VALUES (NEW."context", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."title"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_7fcc6() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_patternevent" ("chat_id", "confidence", "created_at", "evidence", "flags", "id", "language", "learned_from", "mode", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "response", "slug", "space_id", "status", "sticky", "trashed_at", "trigger", "updated_at") VALUES (NEW."chat_id", NEW."confidence", NEW."created_at", NEW."evidence", NEW."flags", NEW."id", NEW."language", NEW."learned_from", NEW."mode", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."response", NEW."slug", NEW."space_id", NEW."status", NEW."sticky", NEW."trashed_at", NEW."trigger", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_8a2c2() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_entityevent" ("accounts", "aliases", "chat_id", "created_at", "id", "kind", "merged_into_id", "name", "owner_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "relation", "space_id", "sticky", "updated_at") VALUES (NEW."accounts", NEW."aliases", NEW."chat_id", NEW."created_at", NEW."id", NEW."kind", NEW."merged_into_id", NEW."name", NEW."owner_id", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."relation", NEW."space_id", NEW."sticky", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_dc2d1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_ruleevent" ("author_id", "category", "channel", "created_at", "examples", "forbidden", "id", "instruction", "person", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "slug", "space_id", "status", "updated_at") VALUES (NEW."author_id", NEW."category", NEW."channel", NEW."created_at", NEW."examples", NEW."forbidden", NEW."id", NEW."instruction", NEW."person", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."position", NEW."slug", NEW."space_id", NEW."status", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_e8c56() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_identityevent" ("core", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "space_id", "updated_at") VALUES (NEW."core", NEW."id", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."space_id", NEW."updated_at"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_eb2a9() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "memory_preferenceevent" ("author_id", "channel", "created_at", "id", "key", "person", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "section", "source", "space_id", "status", "sticky", "updated_at", "value") VALUES (NEW."author_id", NEW."channel", NEW."created_at", NEW."id", NEW."key", NEW."person", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."position", NEW."section", NEW."source", NEW."space_id", NEW."status", NEW."sticky", NEW."updated_at", NEW."value"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.procrastinate_cancel_job_v1(job_id bigint, abort boolean, delete_job boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status = 'todo'
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        IF abort THEN
            UPDATE procrastinate_jobs
            SET abort_requested = true,
                status = CASE status
                    WHEN 'todo' THEN 'cancelled'::procrastinate_job_status ELSE status
                END
            WHERE id = job_id AND status IN ('todo', 'doing')
            RETURNING id INTO _job_id;
        ELSE
            UPDATE procrastinate_jobs
            SET status = 'cancelled'::procrastinate_job_status
            WHERE id = job_id AND status = 'todo'
            RETURNING id INTO _job_id;
        END IF;
    END IF;
    RETURN _job_id;
END;
$$;
CREATE FUNCTION public.procrastinate_defer_jobs_v1(jobs public.procrastinate_job_to_defer_v1[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    job_ids bigint[];
BEGIN
    WITH inserted_jobs AS (
        INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
        SELECT (job).queue_name,
               (job).task_name,
               (job).priority,
               (job).lock,
               (job).queueing_lock,
               (job).args,
               (job).scheduled_at
        FROM unnest(jobs) AS job
        RETURNING id
    )
    SELECT array_agg(id) FROM inserted_jobs INTO job_ids;

    RETURN job_ids;
END;
$$;
CREATE FUNCTION public.procrastinate_defer_periodic_job_v2(_queue_name character varying, _lock character varying, _queueing_lock character varying, _task_name character varying, _priority integer, _periodic_id character varying, _defer_timestamp bigint, _args jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	_job_id bigint;
	_defer_id bigint;
BEGIN
    INSERT
        INTO procrastinate_periodic_defers (task_name, periodic_id, defer_timestamp)
        VALUES (_task_name, _periodic_id, _defer_timestamp)
        ON CONFLICT DO NOTHING
        RETURNING id into _defer_id;

    IF _defer_id IS NULL THEN
        RETURN NULL;
    END IF;

    UPDATE procrastinate_periodic_defers
        SET job_id = (
            SELECT COALESCE((
                SELECT unnest(procrastinate_defer_jobs_v1(
                    ARRAY[
                        ROW(
                            _queue_name,
                            _task_name,
                            _priority,
                            _lock,
                            _queueing_lock,
                            _args,
                            NULL::timestamptz
                        )
                    ]::procrastinate_job_to_defer_v1[]
                ))
            ), NULL)
        )
        WHERE id = _defer_id
        RETURNING job_id INTO _job_id;

    DELETE
        FROM procrastinate_periodic_defers
        USING (
            SELECT id
            FROM procrastinate_periodic_defers
            WHERE procrastinate_periodic_defers.task_name = _task_name
            AND procrastinate_periodic_defers.periodic_id = _periodic_id
            AND procrastinate_periodic_defers.defer_timestamp < _defer_timestamp
            ORDER BY id
            FOR UPDATE
        ) to_delete
        WHERE procrastinate_periodic_defers.id = to_delete.id;

    RETURN _job_id;
END;
$$;
CREATE TABLE public.procrastinate_jobs (
    id bigint NOT NULL,
    queue_name character varying(128) NOT NULL,
    task_name character varying(128) NOT NULL,
    lock text,
    args jsonb DEFAULT '{}'::jsonb NOT NULL,
    status public.procrastinate_job_status DEFAULT 'todo'::public.procrastinate_job_status NOT NULL,
    scheduled_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    queueing_lock text,
    priority integer DEFAULT 0 NOT NULL,
    abort_requested boolean DEFAULT false NOT NULL,
    worker_id bigint,
    CONSTRAINT check_not_todo_abort_requested CHECK ((NOT ((status = 'todo'::public.procrastinate_job_status) AND (abort_requested = true))))
);
CREATE FUNCTION public.procrastinate_fetch_job_v2(target_queue_names character varying[], p_worker_id bigint) RETURNS public.procrastinate_jobs
    LANGUAGE plpgsql
    AS $$
DECLARE
	found_jobs procrastinate_jobs;
BEGIN
    WITH candidate AS (
        SELECT jobs.*
            FROM procrastinate_jobs AS jobs
            WHERE
                -- reject the job if its lock has earlier or higher priority jobs
                NOT EXISTS (
                    SELECT 1
                        FROM procrastinate_jobs AS other_jobs
                        WHERE
                            jobs.lock IS NOT NULL
                            AND other_jobs.lock = jobs.lock
                            AND (
                                -- job with same lock is already running
                                other_jobs.status = 'doing'
                                OR
                                -- job with same lock is waiting and has higher priority (or same priority but was queued first)
                                (
                                    other_jobs.status = 'todo'
                                    AND (
                                        other_jobs.priority > jobs.priority
                                        OR (
                                        other_jobs.priority = jobs.priority
                                        AND other_jobs.id < jobs.id
                                        )
                                    )
                                )
                            )
                )
                AND jobs.status = 'todo'
                AND (target_queue_names IS NULL OR jobs.queue_name = ANY( target_queue_names ))
                AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now())
            ORDER BY jobs.priority DESC, jobs.id ASC LIMIT 1
            FOR UPDATE OF jobs SKIP LOCKED
    )
    UPDATE procrastinate_jobs
        SET status = 'doing', worker_id = p_worker_id
        FROM candidate
        WHERE procrastinate_jobs.id = candidate.id
        RETURNING procrastinate_jobs.* INTO found_jobs;

 RETURN found_jobs;
END;
$$;
CREATE FUNCTION public.procrastinate_finish_job_v1(job_id bigint, end_status public.procrastinate_job_status, delete_job boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF end_status NOT IN ('succeeded', 'failed', 'aborted') THEN
        RAISE 'End status should be either "succeeded", "failed" or "aborted" (job id: %)', job_id;
    END IF;
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = end_status,
            abort_requested = false,
            attempts = CASE status
                WHEN 'doing' THEN attempts + 1 ELSE attempts
            END
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" or "todo" status (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_notify_queue_abort_job_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'abort_job_requested', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_notify_queue_job_inserted_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_prune_stalled_workers_v1(seconds_since_heartbeat double precision) RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    DELETE FROM procrastinate_workers
    WHERE last_heartbeat < NOW() - (seconds_since_heartbeat || 'SECOND')::INTERVAL
    RETURNING procrastinate_workers.id;
END;
$$;
CREATE FUNCTION public.procrastinate_register_worker_v1() RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    INSERT INTO procrastinate_workers DEFAULT VALUES
    RETURNING procrastinate_workers.id;
END;
$$;
CREATE FUNCTION public.procrastinate_retry_job_v1(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
BEGIN
    SELECT abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status = 'doing'
    FOR UPDATE
    INTO _abort_requested;
    IF _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    END IF;

    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" status (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_retry_job_v2(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
    _current_status procrastinate_job_status;
BEGIN
    SELECT status, abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status IN ('doing', 'failed')
    FOR UPDATE
    INTO _current_status, _abort_requested;
    IF _current_status = 'doing' AND _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status IN ('doing', 'failed')
        RETURNING id INTO _job_id;
    END IF;

    IF _job_id IS NULL THEN
        RAISE 'Job was not found or has an invalid status to retry (job id: %)', job_id;
    END IF;

END;
$$;
CREATE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'abort_requested'::procrastinate_job_event_type);
    RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type, at)
        VALUES (NEW.id, 'scheduled'::procrastinate_job_event_type, NEW.scheduled_at);

	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'deferred'::procrastinate_job_event_type);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_status_events_update_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH t AS (
        SELECT CASE
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND NEW.status = 'doing'::procrastinate_job_status
                THEN 'started'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'deferred_for_retry'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'failed'::procrastinate_job_status
                THEN 'failed'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'succeeded'::procrastinate_job_status
                THEN 'succeeded'::procrastinate_job_event_type
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND (
                    NEW.status = 'cancelled'::procrastinate_job_status
                    OR NEW.status = 'failed'::procrastinate_job_status
                    OR NEW.status = 'succeeded'::procrastinate_job_status
                )
                THEN 'cancelled'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'aborted'::procrastinate_job_status
                THEN 'aborted'::procrastinate_job_event_type
            WHEN OLD.status = 'failed'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'retried'::procrastinate_job_event_type
            ELSE NULL
        END as event_type
    )
    INSERT INTO procrastinate_events(job_id, type)
        SELECT NEW.id, t.event_type
        FROM t
        WHERE t.event_type IS NOT NULL;
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_unlink_periodic_defers_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_periodic_defers
    SET job_id = NULL
    WHERE job_id = OLD.id;
    RETURN OLD;
END;
$$;
CREATE FUNCTION public.procrastinate_unregister_worker_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM procrastinate_workers
    WHERE id = worker_id;
END;
$$;
CREATE FUNCTION public.procrastinate_update_heartbeat_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_workers
    SET last_heartbeat = NOW()
    WHERE id = worker_id;
END;
$$;
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user (
    id integer NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    username character varying(150) NOT NULL,
    first_name character varying(150) NOT NULL,
    last_name character varying(150) NOT NULL,
    email character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    is_active boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL
);
CREATE TABLE public.auth_user_groups (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.auth_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.auth_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user_user_permissions (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);
CREATE TABLE public.kenoweb_account (
    user_id integer NOT NULL,
    language character varying(8) NOT NULL,
    theme character varying(8) NOT NULL,
    epoch integer NOT NULL,
    recovery jsonb NOT NULL,
    totp_secret character varying(255) NOT NULL,
    totp_step bigint NOT NULL,
    CONSTRAINT kenoweb_account_epoch_check CHECK ((epoch >= 0))
);
CREATE TABLE public.kenoweb_oidcaccount (
    id bigint NOT NULL,
    issuer character varying(300) NOT NULL,
    subject character varying(255) NOT NULL,
    linked_at timestamp with time zone NOT NULL,
    user_id integer NOT NULL
);
ALTER TABLE public.kenoweb_oidcaccount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.kenoweb_oidcaccount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.kenoweb_onetimelink (
    id bigint NOT NULL,
    kind character varying(7) NOT NULL,
    digest character varying(64) NOT NULL,
    role character varying(8) NOT NULL,
    label character varying(120) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    made_by_id integer,
    space_id bigint,
    user_id integer,
    CONSTRAINT invitation_leads_somewhere CHECK (((NOT ((kind)::text = 'invite'::text)) OR ((space_id IS NOT NULL) AND (NOT ((role)::text = ''::text))))),
    CONSTRAINT sign_in_link_is_for_somebody CHECK (((NOT ((kind)::text = 'sign_in'::text)) OR (user_id IS NOT NULL)))
);
ALTER TABLE public.kenoweb_onetimelink ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.kenoweb_onetimelink_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.kenoweb_passkey (
    id bigint NOT NULL,
    name character varying(60) NOT NULL,
    credential_id character varying(1400) NOT NULL,
    public_key text NOT NULL,
    counter bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    user_id integer NOT NULL
);
ALTER TABLE public.kenoweb_passkey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.kenoweb_passkey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.kenoweb_tokenbucket (
    key character varying(64) NOT NULL,
    tokens double precision NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.memory_apicall (
    id bigint NOT NULL,
    key character varying(255) NOT NULL,
    digest character varying(64) NOT NULL,
    status smallint NOT NULL,
    body jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    token_id bigint NOT NULL,
    CONSTRAINT memory_apicall_status_check CHECK ((status >= 0))
);
ALTER TABLE public.memory_apicall ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_apicall_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_apitoken (
    id bigint NOT NULL,
    name character varying(80) NOT NULL,
    prefix character varying(16) NOT NULL,
    digest character varying(64) NOT NULL,
    scopes character varying(32)[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    user_id integer NOT NULL,
    space_id bigint NOT NULL,
    gate character varying(9) NOT NULL,
    client character varying(255) NOT NULL
);
ALTER TABLE public.memory_apitoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_apitoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_auditentry (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor character varying(160) NOT NULL,
    action character varying(64) NOT NULL,
    object_type character varying(32) NOT NULL,
    object_id character varying(64) NOT NULL,
    before_digest character varying(64) NOT NULL,
    after_digest character varying(64) NOT NULL,
    ip inet,
    details jsonb NOT NULL,
    space_id bigint
);
ALTER TABLE public.memory_auditentry ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_auditentry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_auditseal (
    id bigint NOT NULL,
    salt character varying(32) NOT NULL,
    details_digest character varying(64) NOT NULL,
    digest character varying(64) NOT NULL,
    entry_id bigint NOT NULL
);
ALTER TABLE public.memory_auditseal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_auditseal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_breaker (
    id bigint NOT NULL,
    provider character varying(32) NOT NULL,
    failures integer NOT NULL,
    failing_since timestamp with time zone,
    opened_at timestamp with time zone,
    probed_at timestamp with time zone,
    last_error character varying(300) NOT NULL,
    model character varying(120) NOT NULL,
    CONSTRAINT memory_breaker_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.memory_breaker ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_breaker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_chat (
    id bigint NOT NULL,
    channel character varying(32) NOT NULL,
    external_id character varying(128) NOT NULL,
    key character varying(161) NOT NULL,
    title text NOT NULL,
    context text NOT NULL,
    language character varying(8) NOT NULL,
    thread character varying(128) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_message_at timestamp with time zone,
    space_id bigint NOT NULL,
    incognito_since timestamp with time zone,
    is_private boolean NOT NULL,
    owner_id bigint,
    CONSTRAINT chat_key_characters CHECK (((key)::text ~ '^[A-Za-z0-9_-]+$'::text))
);
ALTER TABLE public.memory_chat ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_chat_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_chatevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    title text NOT NULL,
    context text NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL
);
ALTER TABLE public.memory_chatevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_chatevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_chatlink (
    id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    channel character varying(32) NOT NULL,
    author_id character varying(128) NOT NULL,
    author character varying(120) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    linked_at timestamp with time zone,
    member_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_chatlink ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_chatlink_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_chatsummary (
    id bigint NOT NULL,
    text text NOT NULL,
    until bigint NOT NULL,
    messages integer NOT NULL,
    checksum bigint NOT NULL,
    mode character varying(64) NOT NULL,
    made_at timestamp with time zone NOT NULL,
    chat_id bigint NOT NULL,
    space_id bigint NOT NULL,
    CONSTRAINT memory_chatsummary_messages_check CHECK ((messages >= 0))
);
ALTER TABLE public.memory_chatsummary ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_chatsummary_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_connection (
    name character varying(40) NOT NULL,
    sealed text NOT NULL,
    by character varying(160) NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
CREATE TABLE public.memory_deadletter (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    task character varying(128) NOT NULL,
    args jsonb NOT NULL,
    error character varying(300) NOT NULL,
    attempts integer NOT NULL,
    at timestamp with time zone NOT NULL,
    retried_at timestamp with time zone,
    retried_by character varying(160) NOT NULL,
    space_id bigint,
    CONSTRAINT memory_deadletter_attempts_check CHECK ((attempts >= 0))
);
ALTER TABLE public.memory_deadletter ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_deadletter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_draft (
    chat_id bigint NOT NULL,
    text text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.memory_embedding (
    id bigint NOT NULL,
    model character varying(160) NOT NULL,
    dims smallint NOT NULL,
    scope bigint NOT NULL,
    live boolean NOT NULL,
    text_hash character varying(32) NOT NULL,
    vector public.vector NOT NULL,
    space_id bigint NOT NULL,
    unit_id bigint NOT NULL,
    kind character varying(7) NOT NULL,
    CONSTRAINT memory_embedding_dims_check CHECK ((dims >= 0))
);
ALTER TABLE public.memory_embedding ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_embedding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_embeddingmodel (
    id bigint NOT NULL,
    name character varying(160) NOT NULL,
    provider character varying(16) NOT NULL,
    model character varying(120) NOT NULL,
    dims integer NOT NULL,
    active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT memory_embeddingmodel_dims_check CHECK ((dims >= 0))
);
ALTER TABLE public.memory_embeddingmodel ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_embeddingmodel_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_entity (
    id bigint NOT NULL,
    name character varying(120) NOT NULL,
    aliases character varying(120)[] NOT NULL,
    keys character varying(120)[] NOT NULL,
    kind character varying(12) NOT NULL,
    relation character varying(32) NOT NULL,
    accounts character varying(161)[] NOT NULL,
    sticky boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    merged_into_id bigint,
    owner_id bigint,
    space_id bigint NOT NULL,
    CONSTRAINT entity_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT entity_not_its_own CHECK ((NOT ((merged_into_id = id) AND (merged_into_id IS NOT NULL))))
);
ALTER TABLE public.memory_entity ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_entity_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_entityevent (
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    pgh_id bigint NOT NULL,
    id bigint NOT NULL,
    name character varying(120) NOT NULL,
    aliases character varying(120)[] NOT NULL,
    kind character varying(12) NOT NULL,
    relation character varying(32) NOT NULL,
    accounts character varying(161)[] NOT NULL,
    sticky boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    merged_into_id bigint,
    owner_id bigint,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_entityevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_entityevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_episode (
    id bigint NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    language character varying(8) NOT NULL,
    tags text[] NOT NULL,
    participants character varying(120)[] NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    status character varying(9) NOT NULL,
    discard_reason text NOT NULL,
    discarded_at timestamp with time zone,
    feedback character varying(8) NOT NULL,
    trust double precision NOT NULL,
    flags jsonb NOT NULL,
    salience double precision,
    salience_reasons jsonb NOT NULL,
    consolidated_at timestamp with time zone,
    summary_of bigint[] NOT NULL,
    source character varying(16) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    space_id bigint NOT NULL,
    sticky boolean NOT NULL,
    CONSTRAINT episode_ends_after_start CHECK ((ended_at >= started_at)),
    CONSTRAINT episode_feedback_known CHECK (((feedback)::text = ANY ((ARRAY[''::character varying, 'positive'::character varying, 'negative'::character varying])::text[])))
);
ALTER TABLE public.memory_episode ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_episode_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_episodeevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    language character varying(8) NOT NULL,
    tags text[] NOT NULL,
    participants character varying(120)[] NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    status character varying(9) NOT NULL,
    discard_reason text NOT NULL,
    discarded_at timestamp with time zone,
    feedback character varying(8) NOT NULL,
    trust double precision NOT NULL,
    flags jsonb NOT NULL,
    consolidated_at timestamp with time zone,
    summary_of bigint[] NOT NULL,
    source character varying(16) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL,
    sticky boolean NOT NULL
);
ALTER TABLE public.memory_episodeevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_episodeevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_erasure (
    id bigint NOT NULL,
    kind character varying(7) NOT NULL,
    object_id bigint NOT NULL,
    status character varying(7) NOT NULL,
    by character varying(160) NOT NULL,
    counts jsonb NOT NULL,
    salt character varying(32) NOT NULL,
    digests jsonb NOT NULL,
    done integer NOT NULL,
    total integer NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    done_at timestamp with time zone,
    space_id bigint,
    CONSTRAINT memory_erasure_done_check CHECK ((done >= 0)),
    CONSTRAINT memory_erasure_total_check CHECK ((total >= 0))
);
ALTER TABLE public.memory_erasure ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_erasure_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_fact (
    id bigint NOT NULL,
    subject character varying(120) NOT NULL,
    text text NOT NULL,
    said_key text NOT NULL,
    quote text NOT NULL,
    language character varying(8) NOT NULL,
    kind character varying(9) NOT NULL,
    category character varying(12) NOT NULL,
    confidence double precision NOT NULL,
    trust double precision NOT NULL,
    pinned boolean NOT NULL,
    status character varying(11) NOT NULL,
    flags jsonb NOT NULL,
    valid_from timestamp with time zone,
    valid_to timestamp with time zone,
    source character varying(7) NOT NULL,
    evidence jsonb NOT NULL,
    said_by character varying(120) NOT NULL,
    written_by character varying(64) NOT NULL,
    mode character varying(64) NOT NULL,
    sticky boolean NOT NULL,
    use_count integer NOT NULL,
    last_used_at timestamp with time zone,
    times_seen integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    trashed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    episode_id bigint,
    superseded_by_id bigint,
    message_id bigint,
    space_id bigint NOT NULL,
    occurs_at timestamp with time zone,
    forgotten boolean NOT NULL,
    tags character varying(40)[] NOT NULL,
    confirmed_at timestamp with time zone,
    lasts character varying(6) NOT NULL,
    occurs_until timestamp with time zone,
    upheld_at timestamp with time zone,
    decisive integer DEFAULT 0 NOT NULL,
    harmful integer DEFAULT 0 NOT NULL,
    helpful integer DEFAULT 0 NOT NULL,
    idle integer DEFAULT 0 NOT NULL,
    CONSTRAINT fact_confidence_0_1 CHECK (((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision))),
    CONSTRAINT fact_says_something CHECK ((NOT (text = ''::text))),
    CONSTRAINT fact_trust_0_1 CHECK (((trust >= (0.0)::double precision) AND (trust <= (1.0)::double precision))),
    CONSTRAINT fact_valid_in_order CHECK (((valid_to IS NULL) OR (valid_from IS NULL) OR (valid_to >= valid_from))),
    CONSTRAINT memory_fact_decisive_check CHECK ((decisive >= 0)),
    CONSTRAINT memory_fact_harmful_check CHECK ((harmful >= 0)),
    CONSTRAINT memory_fact_helpful_check CHECK ((helpful >= 0)),
    CONSTRAINT memory_fact_idle_check CHECK ((idle >= 0)),
    CONSTRAINT memory_fact_times_seen_check CHECK ((times_seen >= 0)),
    CONSTRAINT memory_fact_use_count_check CHECK ((use_count >= 0))
);
ALTER TABLE public.memory_fact ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_fact_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_factevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    subject character varying(120) NOT NULL,
    text text NOT NULL,
    said_key text NOT NULL,
    quote text NOT NULL,
    language character varying(8) NOT NULL,
    kind character varying(9) NOT NULL,
    category character varying(12) NOT NULL,
    confidence double precision NOT NULL,
    trust double precision NOT NULL,
    pinned boolean NOT NULL,
    status character varying(11) NOT NULL,
    flags jsonb NOT NULL,
    valid_from timestamp with time zone,
    valid_to timestamp with time zone,
    source character varying(7) NOT NULL,
    evidence jsonb NOT NULL,
    said_by character varying(120) NOT NULL,
    written_by character varying(64) NOT NULL,
    mode character varying(64) NOT NULL,
    sticky boolean NOT NULL,
    times_seen integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    trashed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    episode_id bigint,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    superseded_by_id bigint,
    message_id bigint,
    space_id bigint NOT NULL,
    occurs_at timestamp with time zone,
    forgotten boolean NOT NULL,
    tags character varying(40)[] NOT NULL,
    confirmed_at timestamp with time zone,
    occurs_until timestamp with time zone,
    CONSTRAINT memory_factevent_times_seen_check CHECK ((times_seen >= 0))
);
ALTER TABLE public.memory_factevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_factevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_goldenquestion (
    id bigint NOT NULL,
    question text NOT NULL,
    person character varying(120) NOT NULL,
    found jsonb NOT NULL,
    unfound jsonb NOT NULL,
    unsaid text[] NOT NULL,
    by character varying(160) NOT NULL,
    status character varying(7) NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    state character varying(5) NOT NULL,
    broke jsonb NOT NULL,
    checked_at timestamp with time zone,
    green_at timestamp with time zone,
    chat_id bigint,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_goldenquestion ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_goldenquestion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_goldenquestionevent (
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    pgh_id bigint NOT NULL,
    id bigint NOT NULL,
    question text NOT NULL,
    person character varying(120) NOT NULL,
    found jsonb NOT NULL,
    unfound jsonb NOT NULL,
    unsaid text[] NOT NULL,
    by character varying(160) NOT NULL,
    status character varying(7) NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    chat_id bigint,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_goldenquestionevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_goldenquestionevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_goldenrun (
    id bigint NOT NULL,
    why character varying(8) NOT NULL,
    green integer NOT NULL,
    red integer NOT NULL,
    at timestamp with time zone NOT NULL,
    space_id bigint NOT NULL,
    CONSTRAINT memory_goldenrun_green_check CHECK ((green >= 0)),
    CONSTRAINT memory_goldenrun_red_check CHECK ((red >= 0))
);
ALTER TABLE public.memory_goldenrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_goldenrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_heartbeat (
    id bigint NOT NULL,
    name character varying(120) NOT NULL,
    version character varying(32) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    beat_at timestamp with time zone NOT NULL,
    channels jsonb NOT NULL
);
ALTER TABLE public.memory_heartbeat ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_heartbeat_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_identity (
    id bigint NOT NULL,
    core text NOT NULL,
    bootstrap jsonb,
    updated_at timestamp with time zone NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_identity ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_identity_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_identityevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    core text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_identityevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_identityevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_lease (
    name character varying(120) NOT NULL,
    holder character varying(120) NOT NULL,
    until timestamp with time zone NOT NULL
);
CREATE TABLE public.memory_llmcall (
    id bigint NOT NULL,
    night_id bigint,
    purpose character varying(9) NOT NULL,
    provider character varying(32) NOT NULL,
    model character varying(120) NOT NULL,
    tokens_in integer NOT NULL,
    tokens_out integer NOT NULL,
    tokens_cached integer NOT NULL,
    cost numeric(12,6),
    ms integer NOT NULL,
    attempts smallint NOT NULL,
    ok boolean NOT NULL,
    error text NOT NULL,
    trace character varying(32) NOT NULL,
    at timestamp with time zone NOT NULL,
    chat_id bigint,
    message_id bigint,
    space_id bigint NOT NULL,
    answer text NOT NULL,
    prompt text NOT NULL,
    CONSTRAINT memory_llmcall_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT memory_llmcall_ms_check CHECK ((ms >= 0)),
    CONSTRAINT memory_llmcall_tokens_cached_check CHECK ((tokens_cached >= 0)),
    CONSTRAINT memory_llmcall_tokens_in_check CHECK ((tokens_in >= 0)),
    CONSTRAINT memory_llmcall_tokens_out_check CHECK ((tokens_out >= 0))
);
ALTER TABLE public.memory_llmcall ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_llmcall_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_member (
    id bigint NOT NULL,
    role character varying(8) NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    user_id integer NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_member ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_member_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_mention (
    id bigint NOT NULL,
    role character varying(7) NOT NULL,
    entity_id bigint,
    fact_id bigint NOT NULL
);
ALTER TABLE public.memory_mention ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_mention_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_message (
    id bigint NOT NULL,
    role character varying(9) NOT NULL,
    author character varying(120) NOT NULL,
    author_id character varying(128) NOT NULL,
    text text NOT NULL,
    language character varying(8) NOT NULL,
    external_id character varying(128) NOT NULL,
    trace character varying(8) NOT NULL,
    flags jsonb NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    handled_at timestamp with time zone,
    ingested_at timestamp with time zone,
    chat_id bigint NOT NULL,
    episode_id bigint,
    reply_to_id bigint,
    space_id bigint NOT NULL,
    journal jsonb NOT NULL,
    received_at timestamp with time zone NOT NULL,
    not_recalled character varying(10)
);
ALTER TABLE public.memory_message ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_notice (
    id bigint NOT NULL,
    kind character varying(48) NOT NULL,
    level character varying(7) NOT NULL,
    text text NOT NULL,
    link character varying(300) NOT NULL,
    key text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    seen_at timestamp with time zone,
    space_id bigint NOT NULL,
    words jsonb NOT NULL
);
ALTER TABLE public.memory_notice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_notice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_outboxitem (
    id bigint NOT NULL,
    kind character varying(8) NOT NULL,
    text text NOT NULL,
    key character varying(160) NOT NULL,
    attempts smallint NOT NULL,
    error text NOT NULL,
    external_id character varying(128) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    failed_at timestamp with time zone,
    chat_id bigint NOT NULL,
    message_id bigint,
    space_id bigint NOT NULL,
    CONSTRAINT memory_outboxitem_attempts_check CHECK ((attempts >= 0))
);
ALTER TABLE public.memory_outboxitem ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_outboxitem_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_parcel (
    id bigint NOT NULL,
    way character varying(3) NOT NULL,
    status character varying(8) NOT NULL,
    name text NOT NULL,
    size bigint NOT NULL,
    asked character varying(16) NOT NULL,
    format character varying(16) NOT NULL,
    guild character varying(80) NOT NULL,
    language character varying(8) NOT NULL,
    by character varying(160) NOT NULL,
    problem text NOT NULL,
    counts jsonb NOT NULL,
    change character varying(36) NOT NULL,
    done integer NOT NULL,
    total integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    space_id bigint NOT NULL,
    CONSTRAINT memory_parcel_done_check CHECK ((done >= 0)),
    CONSTRAINT memory_parcel_total_check CHECK ((total >= 0))
);
ALTER TABLE public.memory_parcel ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_parcel_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_parcelline (
    id bigint NOT NULL,
    number integer NOT NULL,
    place text NOT NULL,
    kind character varying(40) NOT NULL,
    verdict character varying(12) NOT NULL,
    text text NOT NULL,
    why text NOT NULL,
    count integer NOT NULL,
    parcel_id bigint NOT NULL,
    CONSTRAINT memory_parcelline_count_check CHECK ((count >= 0)),
    CONSTRAINT memory_parcelline_number_check CHECK ((number >= 0))
);
ALTER TABLE public.memory_parcelline ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_parcelline_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_parcelpiece (
    id bigint NOT NULL,
    number integer NOT NULL,
    data bytea NOT NULL,
    parcel_id bigint NOT NULL,
    CONSTRAINT memory_parcelpiece_number_check CHECK ((number >= 0))
);
ALTER TABLE public.memory_parcelpiece ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_parcelpiece_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_pattern (
    id bigint NOT NULL,
    slug text NOT NULL,
    trigger text NOT NULL,
    response text NOT NULL,
    language character varying(8) NOT NULL,
    confidence double precision NOT NULL,
    use_count integer NOT NULL,
    last_used_at timestamp with time zone,
    learned_from text NOT NULL,
    evidence jsonb NOT NULL,
    flags jsonb NOT NULL,
    mode character varying(64) NOT NULL,
    status character varying(11) NOT NULL,
    trashed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    space_id bigint NOT NULL,
    sticky boolean NOT NULL,
    CONSTRAINT memory_pattern_use_count_check CHECK ((use_count >= 0)),
    CONSTRAINT pattern_confidence_0_1 CHECK (((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision)))
);
ALTER TABLE public.memory_pattern ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_pattern_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_patternevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    slug text NOT NULL,
    trigger text NOT NULL,
    response text NOT NULL,
    language character varying(8) NOT NULL,
    confidence double precision NOT NULL,
    learned_from text NOT NULL,
    evidence jsonb NOT NULL,
    flags jsonb NOT NULL,
    mode character varying(64) NOT NULL,
    status character varying(11) NOT NULL,
    trashed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL,
    sticky boolean NOT NULL
);
ALTER TABLE public.memory_patternevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_patternevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_preference (
    id bigint NOT NULL,
    section text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    source character varying(64) NOT NULL,
    sticky boolean NOT NULL,
    "position" integer NOT NULL,
    status character varying(8) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    space_id bigint NOT NULL,
    author_id character varying(128) NOT NULL,
    channel character varying(32) NOT NULL,
    person character varying(120) NOT NULL,
    CONSTRAINT memory_preference_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.memory_preference ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_preference_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_preferenceevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    section text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    source character varying(64) NOT NULL,
    sticky boolean NOT NULL,
    "position" integer NOT NULL,
    status character varying(8) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL,
    author_id character varying(128) NOT NULL,
    channel character varying(32) NOT NULL,
    person character varying(120) NOT NULL,
    CONSTRAINT memory_preferenceevent_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.memory_preferenceevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_preferenceevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_recall (
    id bigint NOT NULL,
    query text NOT NULL,
    person character varying(120) NOT NULL,
    language character varying(8) NOT NULL,
    keywords text[] NOT NULL,
    expansion text[] NOT NULL,
    names text[] NOT NULL,
    cue jsonb NOT NULL,
    mode character varying(8) NOT NULL,
    profile character varying(40) NOT NULL,
    profile_version integer NOT NULL,
    strict boolean NOT NULL,
    confidence double precision NOT NULL,
    level character varying(6) NOT NULL,
    candidates integer NOT NULL,
    tokens integer NOT NULL,
    budget integer NOT NULL,
    ms jsonb NOT NULL,
    sections jsonb NOT NULL,
    error text NOT NULL,
    at timestamp with time zone NOT NULL,
    chat_id bigint,
    message_id bigint,
    reply_id bigint,
    space_id bigint NOT NULL,
    left_out jsonb NOT NULL,
    weighed boolean DEFAULT false NOT NULL,
    CONSTRAINT memory_recall_budget_check CHECK ((budget >= 0)),
    CONSTRAINT memory_recall_candidates_check CHECK ((candidates >= 0)),
    CONSTRAINT memory_recall_profile_version_check CHECK ((profile_version >= 0)),
    CONSTRAINT memory_recall_tokens_check CHECK ((tokens >= 0))
);
ALTER TABLE public.memory_recall ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_recall_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_recallitem (
    id bigint NOT NULL,
    kind character varying(7) NOT NULL,
    rank integer NOT NULL,
    score double precision NOT NULL,
    confidence double precision NOT NULL,
    parts jsonb NOT NULL,
    lanes character varying(10)[] NOT NULL,
    injected boolean NOT NULL,
    cut character varying(6) NOT NULL,
    tokens integer NOT NULL,
    episode_id bigint,
    fact_id bigint,
    message_id bigint,
    pattern_id bigint,
    recall_id bigint NOT NULL,
    mark character varying(12) NOT NULL,
    CONSTRAINT memory_recallitem_rank_check CHECK ((rank >= 0)),
    CONSTRAINT memory_recallitem_tokens_check CHECK ((tokens >= 0))
);
ALTER TABLE public.memory_recallitem ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_recallitem_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_recallprofile (
    id bigint NOT NULL,
    name character varying(40) NOT NULL,
    version integer NOT NULL,
    formula character varying(16) NOT NULL,
    weights jsonb NOT NULL,
    settings jsonb NOT NULL,
    note character varying(300) NOT NULL,
    made_by character varying(160) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    space_id bigint,
    CONSTRAINT memory_recallprofile_version_check CHECK ((version >= 0))
);
ALTER TABLE public.memory_recallprofile ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_recallprofile_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_reminder (
    id bigint NOT NULL,
    next_at timestamp with time zone,
    every character varying(8) NOT NULL,
    said_at timestamp with time zone,
    chat_id bigint NOT NULL,
    fact_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_reminder ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_reminder_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_rule (
    id bigint NOT NULL,
    slug text NOT NULL,
    category character varying(60) NOT NULL,
    instruction text NOT NULL,
    examples jsonb NOT NULL,
    forbidden jsonb NOT NULL,
    "position" integer NOT NULL,
    status character varying(8) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    space_id bigint NOT NULL,
    author_id character varying(128) NOT NULL,
    channel character varying(32) NOT NULL,
    person character varying(120) NOT NULL,
    CONSTRAINT memory_rule_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.memory_rule ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_rule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_ruleevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    slug text NOT NULL,
    category character varying(60) NOT NULL,
    instruction text NOT NULL,
    examples jsonb NOT NULL,
    forbidden jsonb NOT NULL,
    "position" integer NOT NULL,
    status character varying(8) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL,
    author_id character varying(128) NOT NULL,
    channel character varying(32) NOT NULL,
    person character varying(120) NOT NULL,
    CONSTRAINT memory_ruleevent_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.memory_ruleevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_ruleevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_ruling (
    id bigint NOT NULL,
    kind character varying(14) NOT NULL,
    text text NOT NULL,
    said_key text NOT NULL,
    reason text NOT NULL,
    by character varying(160) NOT NULL,
    status character varying(6) NOT NULL,
    times_obeyed integer NOT NULL,
    last_obeyed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    fact_id bigint,
    space_id bigint NOT NULL,
    CONSTRAINT memory_ruling_times_obeyed_check CHECK ((times_obeyed >= 0)),
    CONSTRAINT ruling_says_something CHECK ((NOT (text = ''::text)))
);
ALTER TABLE public.memory_ruling ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_ruling_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_rulingevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    kind character varying(14) NOT NULL,
    text text NOT NULL,
    said_key text NOT NULL,
    reason text NOT NULL,
    by character varying(160) NOT NULL,
    status character varying(6) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    fact_id bigint,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_rulingevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_rulingevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_selfcheck (
    id bigint NOT NULL,
    quality character varying(9) NOT NULL,
    score double precision NOT NULL,
    signals jsonb NOT NULL,
    forbidden jsonb NOT NULL,
    reply_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_selfcheck ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_selfcheck_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_silencedmessage (
    id bigint NOT NULL,
    fact_id bigint,
    message_id bigint NOT NULL
);
ALTER TABLE public.memory_silencedmessage ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_silencedmessage_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_space (
    id bigint NOT NULL,
    name character varying(80) NOT NULL,
    slug character varying(40) NOT NULL,
    language character varying(8) NOT NULL,
    timezone character varying(64) NOT NULL,
    settings jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    audit_key character varying(32) NOT NULL,
    archived_at timestamp with time zone,
    version bigint NOT NULL
);
ALTER TABLE public.memory_space ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_space_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_spaceencryption (
    id bigint NOT NULL,
    version integer,
    status character varying(10) NOT NULL,
    "position" jsonb NOT NULL,
    done integer NOT NULL,
    total integer NOT NULL,
    by character varying(160) NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    done_at timestamp with time zone,
    space_id bigint NOT NULL,
    CONSTRAINT memory_spaceencryption_done_check CHECK ((done >= 0)),
    CONSTRAINT memory_spaceencryption_total_check CHECK ((total >= 0)),
    CONSTRAINT memory_spaceencryption_version_check CHECK ((version >= 0))
);
ALTER TABLE public.memory_spaceencryption ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_spaceencryption_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_spaceevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    name character varying(80) NOT NULL,
    language character varying(8) NOT NULL,
    timezone character varying(64) NOT NULL,
    settings jsonb NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    archived_at timestamp with time zone
);
ALTER TABLE public.memory_spaceevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_spaceevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_spacekey (
    id bigint NOT NULL,
    version integer NOT NULL,
    salt character varying(32) NOT NULL,
    wrapped text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    space_id bigint NOT NULL,
    CONSTRAINT memory_spacekey_version_check CHECK ((version >= 0))
);
ALTER TABLE public.memory_spacekey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_spacekey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_unit (
    id bigint NOT NULL,
    kind character varying(7) NOT NULL,
    owner_id bigint NOT NULL,
    scope bigint NOT NULL,
    scopes bigint[] GENERATED ALWAYS AS (ARRAY[scope, (('-2'::integer * space_id) - 1)]) STORED,
    episode_id bigint,
    speaker character varying(120) NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    pinned boolean NOT NULL,
    live boolean NOT NULL,
    words tsvector,
    text_hash character varying(32) NOT NULL,
    chat_id bigint,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_unit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_unit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_webhook (
    id bigint NOT NULL,
    url character varying(500) NOT NULL,
    events character varying(10)[] NOT NULL,
    secret text NOT NULL,
    by character varying(160) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_webhook ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_webhook_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_webhookdelivery (
    id bigint NOT NULL,
    told jsonb NOT NULL,
    attempts smallint NOT NULL,
    status smallint NOT NULL,
    error character varying(300) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    failed_at timestamp with time zone,
    webhook_id bigint NOT NULL,
    CONSTRAINT memory_webhookdelivery_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT memory_webhookdelivery_status_check CHECK ((status >= 0))
);
ALTER TABLE public.memory_webhookdelivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_webhookdelivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_webhookevent (
    id bigint NOT NULL,
    event character varying(10) NOT NULL,
    action character varying(8) NOT NULL,
    object_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    webhook_id bigint NOT NULL
);
ALTER TABLE public.memory_webhookevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_webhookevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_workingnote (
    id bigint NOT NULL,
    task text NOT NULL,
    context text[] NOT NULL,
    pending text[] NOT NULL,
    notes text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_workingnote ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_workingnote_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_workingnoteevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    task text NOT NULL,
    context text[] NOT NULL,
    pending text[] NOT NULL,
    notes text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    chat_id bigint NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.memory_workingnoteevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_workingnoteevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_accesstoken (
    id bigint NOT NULL,
    token text NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    application_id bigint,
    user_id integer,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    source_refresh_token_id bigint,
    id_token_id bigint,
    token_checksum character varying(64) NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_accesstoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_accesstoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_application (
    id bigint NOT NULL,
    client_id character varying(255) NOT NULL,
    redirect_uris text NOT NULL,
    client_type character varying(32) NOT NULL,
    authorization_grant_type character varying(44) NOT NULL,
    client_secret character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    user_id integer,
    skip_authorization boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    algorithm character varying(5) NOT NULL,
    post_logout_redirect_uris text NOT NULL,
    hash_client_secret boolean NOT NULL,
    allowed_origins text NOT NULL,
    registration_source character varying(32) NOT NULL,
    cimd_expires_at timestamp with time zone
);
ALTER TABLE public.oauth2_provider_application ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_application_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_devicegrant (
    id bigint NOT NULL,
    device_code character varying(100) NOT NULL,
    user_code character varying(100) NOT NULL,
    scope text NOT NULL,
    "interval" integer NOT NULL,
    expires timestamp with time zone NOT NULL,
    status character varying(64) NOT NULL,
    client_id character varying(100) NOT NULL,
    last_checked timestamp with time zone NOT NULL,
    user_id integer
);
ALTER TABLE public.oauth2_provider_devicegrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_devicegrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_grant (
    id bigint NOT NULL,
    code character varying(255) NOT NULL,
    expires timestamp with time zone NOT NULL,
    redirect_uri text NOT NULL,
    scope text NOT NULL,
    application_id bigint NOT NULL,
    user_id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    code_challenge character varying(128) NOT NULL,
    code_challenge_method character varying(10) NOT NULL,
    nonce character varying(255) NOT NULL,
    claims text NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_grant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_grant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_idtoken (
    id bigint NOT NULL,
    jti uuid NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    application_id bigint,
    user_id integer
);
ALTER TABLE public.oauth2_provider_idtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_idtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_refreshtoken (
    id bigint NOT NULL,
    token text NOT NULL,
    access_token_id bigint,
    application_id bigint NOT NULL,
    user_id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    revoked timestamp with time zone,
    token_family uuid,
    token_checksum character varying(64) NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_refreshtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_refreshtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.pghistory_context (
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    metadata jsonb NOT NULL
);
CREATE TABLE public.procrastinate_events (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    type public.procrastinate_job_event_type,
    at timestamp with time zone DEFAULT now()
);
CREATE SEQUENCE public.procrastinate_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_events_id_seq OWNED BY public.procrastinate_events.id;
CREATE SEQUENCE public.procrastinate_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_jobs_id_seq OWNED BY public.procrastinate_jobs.id;
CREATE TABLE public.procrastinate_periodic_defers (
    id bigint NOT NULL,
    task_name character varying(128) NOT NULL,
    defer_timestamp bigint,
    job_id bigint,
    periodic_id character varying(128) DEFAULT ''::character varying NOT NULL
);
CREATE SEQUENCE public.procrastinate_periodic_defers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_periodic_defers_id_seq OWNED BY public.procrastinate_periodic_defers.id;
CREATE TABLE public.procrastinate_workers (
    id bigint NOT NULL,
    last_heartbeat timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.procrastinate_workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.procrastinate_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sleep_claim (
    id bigint NOT NULL,
    subject character varying(120) NOT NULL,
    text text NOT NULL,
    key text NOT NULL,
    quote text NOT NULL,
    said_by character varying(120) NOT NULL,
    language character varying(8) NOT NULL,
    kind character varying(9) NOT NULL,
    category character varying(12) NOT NULL,
    curated boolean NOT NULL,
    mode character varying(64) NOT NULL,
    said_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    chat_id bigint,
    episode_id bigint NOT NULL,
    space_id bigint NOT NULL,
    speaker character varying(170) NOT NULL
);
ALTER TABLE public.sleep_claim ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sleep_claim_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sleep_night (
    id bigint NOT NULL,
    local_date date NOT NULL,
    status character varying(7) NOT NULL,
    phase character varying(16) NOT NULL,
    run smallint NOT NULL,
    asked_by character varying(160) NOT NULL,
    mode character varying(64) NOT NULL,
    error text NOT NULL,
    attempts smallint NOT NULL,
    cost numeric(12,6) NOT NULL,
    cost_estimate numeric(12,6) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    undone_at timestamp with time zone,
    space_id bigint NOT NULL,
    held boolean NOT NULL,
    CONSTRAINT sleep_night_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT sleep_night_run_check CHECK ((run >= 0))
);
ALTER TABLE public.sleep_night ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sleep_night_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sleep_nightchange (
    id bigint NOT NULL,
    phase character varying(16) NOT NULL,
    kind character varying(32) NOT NULL,
    text text NOT NULL,
    context uuid NOT NULL,
    evidence jsonb NOT NULL,
    mode character varying(64) NOT NULL,
    at timestamp with time zone NOT NULL,
    undone_at timestamp with time zone,
    undone_by character varying(160) NOT NULL,
    night_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.sleep_nightchange ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sleep_nightchange_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sleep_phaserun (
    id bigint NOT NULL,
    run smallint NOT NULL,
    phase character varying(16) NOT NULL,
    "position" smallint NOT NULL,
    status character varying(7) NOT NULL,
    plan jsonb NOT NULL,
    cursor integer NOT NULL,
    counts jsonb NOT NULL,
    lines jsonb NOT NULL,
    error text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    night_id bigint NOT NULL,
    CONSTRAINT sleep_phaserun_cursor_check CHECK ((cursor >= 0)),
    CONSTRAINT sleep_phaserun_position_check CHECK (("position" >= 0)),
    CONSTRAINT sleep_phaserun_run_check CHECK ((run >= 0))
);
ALTER TABLE public.sleep_phaserun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sleep_phaserun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sleep_proposal (
    id bigint NOT NULL,
    kind character varying(14) NOT NULL,
    key text NOT NULL,
    title text NOT NULL,
    targets jsonb NOT NULL,
    before jsonb NOT NULL,
    after jsonb NOT NULL,
    digest text NOT NULL,
    rationale text NOT NULL,
    evidence jsonb NOT NULL,
    confidence double precision NOT NULL,
    flags jsonb NOT NULL,
    mode character varying(64) NOT NULL,
    cost numeric(12,6) NOT NULL,
    status character varying(8) NOT NULL,
    decided_name character varying(160) NOT NULL,
    decided_at timestamp with time zone,
    reason text NOT NULL,
    applied_as uuid,
    created_at timestamp with time zone NOT NULL,
    decided_by_id bigint,
    night_id bigint,
    space_id bigint NOT NULL,
    CONSTRAINT proposal_confidence_0_1 CHECK (((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision)))
);
ALTER TABLE public.sleep_proposal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sleep_proposal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sleep_proposalevent (
    pgh_id bigint NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    kind character varying(14) NOT NULL,
    key text NOT NULL,
    title text NOT NULL,
    targets jsonb NOT NULL,
    before jsonb NOT NULL,
    after jsonb NOT NULL,
    digest text NOT NULL,
    rationale text NOT NULL,
    evidence jsonb NOT NULL,
    confidence double precision NOT NULL,
    flags jsonb NOT NULL,
    mode character varying(64) NOT NULL,
    cost numeric(12,6) NOT NULL,
    status character varying(8) NOT NULL,
    decided_name character varying(160) NOT NULL,
    decided_at timestamp with time zone,
    reason text NOT NULL,
    applied_as uuid,
    created_at timestamp with time zone NOT NULL,
    decided_by_id bigint,
    night_id bigint,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.sleep_proposalevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sleep_proposalevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sleep_reflection (
    id bigint NOT NULL,
    numbers jsonb NOT NULL,
    insights jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    night_id bigint NOT NULL,
    space_id bigint NOT NULL
);
ALTER TABLE public.sleep_reflection ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sleep_reflection_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.procrastinate_events ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_events_id_seq'::regclass);
ALTER TABLE ONLY public.procrastinate_jobs ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_jobs_id_seq'::regclass);
ALTER TABLE ONLY public.procrastinate_periodic_defers ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_periodic_defers_id_seq'::regclass);
ALTER TABLE ONLY public.memory_apicall
    ADD CONSTRAINT api_call_once UNIQUE (token_id, key);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_group_id_94350c0c_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_permission_id_14a6b632_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_username_key UNIQUE (username);
ALTER TABLE ONLY public.memory_breaker
    ADD CONSTRAINT breaker_once UNIQUE (provider, model);
ALTER TABLE ONLY public.memory_chat
    ADD CONSTRAINT chat_key_once UNIQUE (space_id, key);
ALTER TABLE ONLY public.memory_chat
    ADD CONSTRAINT chat_once_per_channel UNIQUE (space_id, channel, external_id);
ALTER TABLE ONLY public.sleep_claim
    ADD CONSTRAINT claim_once_per_episode UNIQUE (episode_id, key);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.memory_embedding
    ADD CONSTRAINT embedding_once_per_model UNIQUE (unit_id, model);
ALTER TABLE ONLY public.kenoweb_account
    ADD CONSTRAINT kenoweb_account_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.kenoweb_oidcaccount
    ADD CONSTRAINT kenoweb_oidcaccount_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.kenoweb_onetimelink
    ADD CONSTRAINT kenoweb_onetimelink_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.kenoweb_onetimelink
    ADD CONSTRAINT kenoweb_onetimelink_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.kenoweb_passkey
    ADD CONSTRAINT kenoweb_passkey_credential_id_key UNIQUE (credential_id);
ALTER TABLE ONLY public.kenoweb_passkey
    ADD CONSTRAINT kenoweb_passkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.kenoweb_tokenbucket
    ADD CONSTRAINT kenoweb_tokenbucket_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.memory_parcelline
    ADD CONSTRAINT line_once UNIQUE (parcel_id, number);
ALTER TABLE ONLY public.memory_member
    ADD CONSTRAINT member_once_per_space UNIQUE (space_id, user_id);
ALTER TABLE ONLY public.memory_apicall
    ADD CONSTRAINT memory_apicall_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_apitoken
    ADD CONSTRAINT memory_apitoken_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.memory_apitoken
    ADD CONSTRAINT memory_apitoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_auditentry
    ADD CONSTRAINT memory_auditentry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_auditseal
    ADD CONSTRAINT memory_auditseal_entry_id_key UNIQUE (entry_id);
ALTER TABLE ONLY public.memory_auditseal
    ADD CONSTRAINT memory_auditseal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_breaker
    ADD CONSTRAINT memory_breaker_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_chat
    ADD CONSTRAINT memory_chat_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_chatevent
    ADD CONSTRAINT memory_chatevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_chatlink
    ADD CONSTRAINT memory_chatlink_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.memory_chatlink
    ADD CONSTRAINT memory_chatlink_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_chatsummary
    ADD CONSTRAINT memory_chatsummary_chat_id_key UNIQUE (chat_id);
ALTER TABLE ONLY public.memory_chatsummary
    ADD CONSTRAINT memory_chatsummary_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_connection
    ADD CONSTRAINT memory_connection_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.memory_deadletter
    ADD CONSTRAINT memory_deadletter_job_id_key UNIQUE (job_id);
ALTER TABLE ONLY public.memory_deadletter
    ADD CONSTRAINT memory_deadletter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_draft
    ADD CONSTRAINT memory_draft_pkey PRIMARY KEY (chat_id);
ALTER TABLE ONLY public.memory_embedding
    ADD CONSTRAINT memory_embedding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_embeddingmodel
    ADD CONSTRAINT memory_embeddingmodel_name_key UNIQUE (name);
ALTER TABLE ONLY public.memory_embeddingmodel
    ADD CONSTRAINT memory_embeddingmodel_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_entityevent
    ADD CONSTRAINT memory_entityevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_episode
    ADD CONSTRAINT memory_episode_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_episodeevent
    ADD CONSTRAINT memory_episodeevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_erasure
    ADD CONSTRAINT memory_erasure_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_factevent
    ADD CONSTRAINT memory_factevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_goldenquestion
    ADD CONSTRAINT memory_goldenquestion_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_goldenquestionevent
    ADD CONSTRAINT memory_goldenquestionevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_goldenrun
    ADD CONSTRAINT memory_goldenrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_heartbeat
    ADD CONSTRAINT memory_heartbeat_name_key UNIQUE (name);
ALTER TABLE ONLY public.memory_heartbeat
    ADD CONSTRAINT memory_heartbeat_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_identity
    ADD CONSTRAINT memory_identity_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_identity
    ADD CONSTRAINT memory_identity_space_id_key UNIQUE (space_id);
ALTER TABLE ONLY public.memory_identityevent
    ADD CONSTRAINT memory_identityevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_lease
    ADD CONSTRAINT memory_lease_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.memory_llmcall
    ADD CONSTRAINT memory_llmcall_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_member
    ADD CONSTRAINT memory_member_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_mention
    ADD CONSTRAINT memory_mention_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_notice
    ADD CONSTRAINT memory_notice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_outboxitem
    ADD CONSTRAINT memory_outboxitem_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_parcel
    ADD CONSTRAINT memory_parcel_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_parcelline
    ADD CONSTRAINT memory_parcelline_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_parcelpiece
    ADD CONSTRAINT memory_parcelpiece_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_pattern
    ADD CONSTRAINT memory_pattern_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_patternevent
    ADD CONSTRAINT memory_patternevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_preference
    ADD CONSTRAINT memory_preference_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_preferenceevent
    ADD CONSTRAINT memory_preferenceevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_recallitem
    ADD CONSTRAINT memory_recallitem_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_recallprofile
    ADD CONSTRAINT memory_recallprofile_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_reminder
    ADD CONSTRAINT memory_reminder_fact_id_key UNIQUE (fact_id);
ALTER TABLE ONLY public.memory_reminder
    ADD CONSTRAINT memory_reminder_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_rule
    ADD CONSTRAINT memory_rule_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_ruleevent
    ADD CONSTRAINT memory_ruleevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_ruling
    ADD CONSTRAINT memory_ruling_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_rulingevent
    ADD CONSTRAINT memory_rulingevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_selfcheck
    ADD CONSTRAINT memory_selfcheck_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_selfcheck
    ADD CONSTRAINT memory_selfcheck_reply_id_key UNIQUE (reply_id);
ALTER TABLE ONLY public.memory_silencedmessage
    ADD CONSTRAINT memory_silencedmessage_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_space
    ADD CONSTRAINT memory_space_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_space
    ADD CONSTRAINT memory_space_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.memory_spaceencryption
    ADD CONSTRAINT memory_spaceencryption_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_spaceencryption
    ADD CONSTRAINT memory_spaceencryption_space_id_key UNIQUE (space_id);
ALTER TABLE ONLY public.memory_spaceevent
    ADD CONSTRAINT memory_spaceevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_spacekey
    ADD CONSTRAINT memory_spacekey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_unit
    ADD CONSTRAINT memory_unit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_webhook
    ADD CONSTRAINT memory_webhook_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_webhookdelivery
    ADD CONSTRAINT memory_webhookdelivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_webhookevent
    ADD CONSTRAINT memory_webhookevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_workingnote
    ADD CONSTRAINT memory_workingnote_chat_id_key UNIQUE (chat_id);
ALTER TABLE ONLY public.memory_workingnote
    ADD CONSTRAINT memory_workingnote_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_workingnoteevent
    ADD CONSTRAINT memory_workingnoteevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.memory_mention
    ADD CONSTRAINT mention_once UNIQUE (fact_id, role, entity_id);
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT message_once_per_chat UNIQUE (chat_id, external_id);
ALTER TABLE ONLY public.sleep_night
    ADD CONSTRAINT night_once_per_date UNIQUE (space_id, local_date);
ALTER TABLE ONLY public.memory_notice
    ADD CONSTRAINT notice_told_once UNIQUE (space_id, key);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_id_token_id_key UNIQUE (id_token_id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_source_refresh_token_id_key UNIQUE (source_refresh_token_id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_token_checksum_85319a26_uniq UNIQUE (token_checksum);
ALTER TABLE ONLY public.oauth2_provider_application
    ADD CONSTRAINT oauth2_provider_application_client_id_key UNIQUE (client_id);
ALTER TABLE ONLY public.oauth2_provider_application
    ADD CONSTRAINT oauth2_provider_application_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_unique_device_code UNIQUE (device_code);
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_code_key UNIQUE (code);
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_jti_key UNIQUE (jti);
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refresht_token_checksum_revoked_46c81d1d_uniq UNIQUE (token_checksum, revoked);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_access_token_id_key UNIQUE (access_token_id);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.kenoweb_oidcaccount
    ADD CONSTRAINT oidc_subject_once UNIQUE (issuer, subject);
ALTER TABLE ONLY public.kenoweb_oidcaccount
    ADD CONSTRAINT oidc_user_once UNIQUE (issuer, user_id);
ALTER TABLE ONLY public.memory_outboxitem
    ADD CONSTRAINT outbox_once UNIQUE (chat_id, key);
ALTER TABLE ONLY public.pghistory_context
    ADD CONSTRAINT pghistory_context_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sleep_phaserun
    ADD CONSTRAINT phase_once_per_run UNIQUE (night_id, run, phase);
ALTER TABLE ONLY public.memory_parcelpiece
    ADD CONSTRAINT piece_once UNIQUE (parcel_id, number);
ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_unique UNIQUE (task_name, periodic_id, defer_timestamp);
ALTER TABLE ONLY public.procrastinate_workers
    ADD CONSTRAINT procrastinate_workers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sleep_proposal
    ADD CONSTRAINT proposal_once UNIQUE (space_id, key);
ALTER TABLE ONLY public.memory_recallitem
    ADD CONSTRAINT recall_item_rank_once UNIQUE (recall_id, rank);
ALTER TABLE ONLY public.memory_recallprofile
    ADD CONSTRAINT recall_profile_version_once UNIQUE NULLS NOT DISTINCT (space_id, name, version);
ALTER TABLE ONLY public.memory_silencedmessage
    ADD CONSTRAINT silenced_once UNIQUE (fact_id, message_id);
ALTER TABLE ONLY public.sleep_claim
    ADD CONSTRAINT sleep_claim_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sleep_night
    ADD CONSTRAINT sleep_night_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sleep_nightchange
    ADD CONSTRAINT sleep_nightchange_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sleep_phaserun
    ADD CONSTRAINT sleep_phaserun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sleep_proposal
    ADD CONSTRAINT sleep_proposal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sleep_proposalevent
    ADD CONSTRAINT sleep_proposalevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.sleep_reflection
    ADD CONSTRAINT sleep_reflection_night_id_key UNIQUE (night_id);
ALTER TABLE ONLY public.sleep_reflection
    ADD CONSTRAINT sleep_reflection_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_spacekey
    ADD CONSTRAINT space_key_version_once UNIQUE (space_id, version);
ALTER TABLE ONLY public.memory_unit
    ADD CONSTRAINT unit_once_per_owner UNIQUE (kind, owner_id);
CREATE UNIQUE INDEX a_client_is_connected_once ON public.memory_apitoken USING btree (user_id, client) WHERE ((revoked_at IS NULL) AND (NOT ((client)::text = ''::text)));
CREATE INDEX audit_imports ON public.memory_auditentry USING btree (space_id, at DESC) WHERE ((action)::text = ANY ((ARRAY['import'::character varying, 'import.undone'::character varying])::text[]));
CREATE INDEX audit_recent ON public.memory_auditentry USING btree (space_id, at DESC);
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX auth_user_groups_group_id_97559544 ON public.auth_user_groups USING btree (group_id);
CREATE INDEX auth_user_groups_user_id_6a12ed8b ON public.auth_user_groups USING btree (user_id);
CREATE INDEX auth_user_user_permissions_permission_id_1fbb5f2c ON public.auth_user_user_permissions USING btree (permission_id);
CREATE INDEX auth_user_user_permissions_user_id_a95ead1b ON public.auth_user_user_permissions USING btree (user_id);
CREATE INDEX auth_user_username_6821ab7c_like ON public.auth_user USING btree (username varchar_pattern_ops);
CREATE UNIQUE INDEX chat_link_once ON public.memory_chatlink USING btree (space_id, channel, author_id) WHERE (linked_at IS NOT NULL);
CREATE INDEX chat_private ON public.memory_chat USING btree (space_id) WHERE is_private;
CREATE INDEX chat_recent ON public.memory_chat USING btree (space_id, last_message_at DESC);
CREATE INDEX claim_open ON public.sleep_claim USING btree (space_id, episode_id) WHERE (settled_at IS NULL);
CREATE INDEX claim_recent ON public.sleep_claim USING btree (space_id, said_at);
CREATE INDEX dead_letter_recent ON public.memory_deadletter USING btree (space_id, at DESC);
CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX embedding_by_scope ON public.memory_embedding USING btree (space_id, scope, model) WHERE live;
CREATE INDEX embedding_hnsw_60875a9a ON public.memory_embedding USING hnsw (((vector)::public.vector(384)) public.vector_cosine_ops) WHERE ((model)::text = 'minilm-en-es-384@60875a9a'::text);
CREATE UNIQUE INDEX embedding_one_active ON public.memory_embeddingmodel USING btree (active) WHERE active;
CREATE INDEX entity_accounts ON public.memory_entity USING gin (accounts);
CREATE INDEX entity_by_name ON public.memory_entity USING btree (space_id, name, id);
CREATE INDEX entity_keys ON public.memory_entity USING gin (keys);
CREATE INDEX episode_by_chat ON public.memory_episode USING btree (chat_id, started_at DESC, id DESC);
CREATE INDEX episode_by_day ON public.memory_episode USING btree (space_id, started_at DESC, id DESC);
CREATE INDEX episode_flagged ON public.memory_episode USING btree (space_id, updated_at DESC, id DESC) WHERE (NOT (flags = '[]'::jsonb));
CREATE INDEX episode_made_of ON public.memory_episode USING gin (summary_of);
CREATE UNIQUE INDEX episode_one_open_per_chat ON public.memory_episode USING btree (chat_id) WHERE ((status)::text = 'open'::text);
CREATE INDEX episode_tags ON public.memory_episode USING gin (tags);
CREATE INDEX episode_then ON public.memory_episodeevent USING btree (space_id, started_at DESC, pgh_obj_id DESC);
CREATE INDEX episode_unconsolidated ON public.memory_episode USING btree (space_id, started_at) WHERE ((consolidated_at IS NULL) AND ((status)::text = 'closed'::text));
CREATE INDEX episode_words_away ON public.memory_episode USING gin (((to_tsvector('english'::regconfig, regexp_replace(lower(regexp_replace(NORMALIZE("left"(((title || ' '::text) || body), 20000), NFD), '[\u0300-\u036f]+'::text, ''::text, 'g'::text)), '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'::text, ' '::text, 'g'::text)) || to_tsvector('spanish'::regconfig, regexp_replace(lower(regexp_replace(NORMALIZE("left"(((title || ' '::text) || body), 20000), NFD), '[\u0300-\u036f]+'::text, ''::text, 'g'::text)), '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'::text, ' '::text, 'g'::text))))) WHERE (((status)::text = ANY (ARRAY[('archived'::character varying)::text, ('discarded'::character varying)::text])) OR (flags <> '[]'::jsonb));
CREATE INDEX erasure_recent ON public.memory_erasure USING btree (space_id, asked_at DESC);
CREATE INDEX fact_by_age ON public.memory_fact USING btree (space_id, created_at DESC);
CREATE INDEX fact_by_chat ON public.memory_fact USING btree (chat_id) WHERE (chat_id IS NOT NULL);
CREATE INDEX fact_by_confidence ON public.memory_fact USING btree (space_id, confidence DESC, id DESC) WHERE ((status)::text = 'active'::text);
CREATE INDEX fact_by_subject ON public.memory_fact USING btree (space_id, subject);
CREATE INDEX fact_by_use ON public.memory_fact USING btree (space_id, COALESCE(last_used_at, '1970-01-01 00:00:00+00'::timestamp with time zone) DESC, id DESC) WHERE ((status)::text = 'active'::text);
CREATE INDEX fact_evidence ON public.memory_fact USING gin (evidence jsonb_path_ops) WHERE (NOT (evidence = '[]'::jsonb));
CREATE INDEX fact_lasts ON public.memory_fact USING btree (space_id, lasts, last_seen_at) WHERE (((status)::text = 'active'::text) AND (NOT ((lasts)::text = ''::text)));
CREATE INDEX fact_recent ON public.memory_fact USING btree (space_id, status, updated_at DESC, id DESC);
CREATE INDEX fact_recent_any ON public.memory_fact USING btree (space_id, updated_at DESC, id DESC);
CREATE UNIQUE INDEX fact_said_once ON public.memory_fact USING btree (space_id, chat_id, subject, said_key) NULLS NOT DISTINCT WHERE ((status)::text = 'active'::text);
CREATE INDEX fact_tags ON public.memory_fact USING gin (tags);
CREATE INDEX fact_then ON public.memory_factevent USING btree (space_id, pgh_created_at DESC, pgh_obj_id DESC);
CREATE INDEX fact_unused ON public.memory_fact USING btree (space_id, last_used_at) WHERE ((status)::text = 'active'::text);
CREATE INDEX fact_words_away ON public.memory_fact USING gin (((to_tsvector('english'::regconfig, regexp_replace(lower(regexp_replace(NORMALIZE("left"(((((text || ' '::text) || quote) || ' '::text) || (subject)::text), 20000), NFD), '[\u0300-\u036f]+'::text, ''::text, 'g'::text)), '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'::text, ' '::text, 'g'::text)) || to_tsvector('spanish'::regconfig, regexp_replace(lower(regexp_replace(NORMALIZE("left"(((((text || ' '::text) || quote) || ' '::text) || (subject)::text), 20000), NFD), '[\u0300-\u036f]+'::text, ''::text, 'g'::text)), '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'::text, ' '::text, 'g'::text))))) WHERE ((status)::text <> 'active'::text);
CREATE INDEX golden_recent ON public.memory_goldenquestion USING btree (space_id, status, created_at DESC);
CREATE INDEX golden_run_recent ON public.memory_goldenrun USING btree (space_id, at DESC);
CREATE INDEX idx_procrastinate_jobs_worker_not_null ON public.procrastinate_jobs USING btree (worker_id) WHERE ((worker_id IS NOT NULL) AND (status = 'doing'::public.procrastinate_job_status));
CREATE INDEX idx_procrastinate_workers_last_heartbeat ON public.procrastinate_workers USING btree (last_heartbeat);
CREATE INDEX kenoweb_oidcaccount_user_id_ab0cac52 ON public.kenoweb_oidcaccount USING btree (user_id);
CREATE INDEX kenoweb_onetimelink_digest_8a4e9f90_like ON public.kenoweb_onetimelink USING btree (digest varchar_pattern_ops);
CREATE INDEX kenoweb_onetimelink_made_by_id_86621eeb ON public.kenoweb_onetimelink USING btree (made_by_id);
CREATE INDEX kenoweb_onetimelink_space_id_b82ab608 ON public.kenoweb_onetimelink USING btree (space_id);
CREATE INDEX kenoweb_onetimelink_user_id_76fda9db ON public.kenoweb_onetimelink USING btree (user_id);
CREATE INDEX kenoweb_passkey_credential_id_3c0869e7_like ON public.kenoweb_passkey USING btree (credential_id varchar_pattern_ops);
CREATE INDEX kenoweb_passkey_user_id_c1744d6c ON public.kenoweb_passkey USING btree (user_id);
CREATE INDEX kenoweb_tokenbucket_key_cb647938_like ON public.kenoweb_tokenbucket USING btree (key varchar_pattern_ops);
CREATE INDEX line_by_verdict ON public.memory_parcelline USING btree (parcel_id, verdict, number);
CREATE INDEX llm_call_at ON public.memory_llmcall USING btree (at);
CREATE INDEX llm_call_recent ON public.memory_llmcall USING btree (space_id, at DESC);
CREATE INDEX memory_apicall_token_id_10e99fe1 ON public.memory_apicall USING btree (token_id);
CREATE INDEX memory_apitoken_digest_a680bbec_like ON public.memory_apitoken USING btree (digest varchar_pattern_ops);
CREATE INDEX memory_apitoken_space_id_6a8357cc ON public.memory_apitoken USING btree (space_id);
CREATE INDEX memory_apitoken_user_id_260af621 ON public.memory_apitoken USING btree (user_id);
CREATE INDEX memory_auditentry_space_id_7132511f ON public.memory_auditentry USING btree (space_id);
CREATE UNIQUE INDEX memory_chat_of_space ON public.memory_chat USING btree (space_id, id);
CREATE INDEX memory_chat_owner_id_bbab4df7 ON public.memory_chat USING btree (owner_id);
CREATE INDEX memory_chat_space_id_a866b0be ON public.memory_chat USING btree (space_id);
CREATE INDEX memory_chatevent_pgh_context_id_064f8bab ON public.memory_chatevent USING btree (pgh_context_id);
CREATE INDEX memory_chatevent_pgh_obj_id_30b87116 ON public.memory_chatevent USING btree (pgh_obj_id);
CREATE INDEX memory_chatlink_digest_17e94450_like ON public.memory_chatlink USING btree (digest varchar_pattern_ops);
CREATE INDEX memory_chatlink_member_id_b411081d ON public.memory_chatlink USING btree (member_id);
CREATE INDEX memory_chatlink_space_id_5701f402 ON public.memory_chatlink USING btree (space_id);
CREATE INDEX memory_chatsummary_space_id_bff57301 ON public.memory_chatsummary USING btree (space_id);
CREATE INDEX memory_connection_name_c0d17a44_like ON public.memory_connection USING btree (name varchar_pattern_ops);
CREATE INDEX memory_deadletter_space_id_c37870a1 ON public.memory_deadletter USING btree (space_id);
CREATE INDEX memory_embeddingmodel_name_bf7fc2c0_like ON public.memory_embeddingmodel USING btree (name varchar_pattern_ops);
CREATE INDEX memory_entity_chat_id_e4fb9485 ON public.memory_entity USING btree (chat_id);
CREATE INDEX memory_entity_merged_into_id_53d76991 ON public.memory_entity USING btree (merged_into_id);
CREATE UNIQUE INDEX memory_entity_of_space ON public.memory_entity USING btree (space_id, id);
CREATE INDEX memory_entity_owner_id_bebeb644 ON public.memory_entity USING btree (owner_id);
CREATE INDEX memory_entity_space_id_4bc85999 ON public.memory_entity USING btree (space_id);
CREATE INDEX memory_entityevent_chat_id_ee149a6d ON public.memory_entityevent USING btree (chat_id);
CREATE INDEX memory_entityevent_merged_into_id_78a5bd08 ON public.memory_entityevent USING btree (merged_into_id);
CREATE INDEX memory_entityevent_owner_id_7d399c61 ON public.memory_entityevent USING btree (owner_id);
CREATE INDEX memory_entityevent_pgh_context_id_1576218a ON public.memory_entityevent USING btree (pgh_context_id);
CREATE INDEX memory_entityevent_pgh_obj_id_1c307a99 ON public.memory_entityevent USING btree (pgh_obj_id);
CREATE INDEX memory_entityevent_space_id_4d5aa565 ON public.memory_entityevent USING btree (space_id);
CREATE INDEX memory_episode_chat_id_6fa9c8c5 ON public.memory_episode USING btree (chat_id);
CREATE UNIQUE INDEX memory_episode_of_space ON public.memory_episode USING btree (space_id, id);
CREATE INDEX memory_episode_space_id_6e5c7532 ON public.memory_episode USING btree (space_id);
CREATE INDEX memory_episodeevent_chat_id_f4299c7e ON public.memory_episodeevent USING btree (chat_id);
CREATE INDEX memory_episodeevent_pgh_context_id_f35e15ea ON public.memory_episodeevent USING btree (pgh_context_id);
CREATE INDEX memory_episodeevent_pgh_obj_id_2fde827d ON public.memory_episodeevent USING btree (pgh_obj_id);
CREATE INDEX memory_episodeevent_space_id_f613c2a9 ON public.memory_episodeevent USING btree (space_id);
CREATE INDEX memory_erasure_space_id_1fe7baec ON public.memory_erasure USING btree (space_id);
CREATE INDEX memory_fact_chat_id_abffb781 ON public.memory_fact USING btree (chat_id);
CREATE INDEX memory_fact_episode_id_bf6616a0 ON public.memory_fact USING btree (episode_id);
CREATE INDEX memory_fact_message_id_b71357dd ON public.memory_fact USING btree (message_id);
CREATE UNIQUE INDEX memory_fact_of_space ON public.memory_fact USING btree (space_id, id);
CREATE INDEX memory_fact_space_id_1f7e1807 ON public.memory_fact USING btree (space_id);
CREATE INDEX memory_fact_superseded_by_id_d0528491 ON public.memory_fact USING btree (superseded_by_id);
CREATE INDEX memory_factevent_chat_id_7e341f65 ON public.memory_factevent USING btree (chat_id);
CREATE INDEX memory_factevent_episode_id_db58a913 ON public.memory_factevent USING btree (episode_id);
CREATE INDEX memory_factevent_message_id_2d8c32d6 ON public.memory_factevent USING btree (message_id);
CREATE INDEX memory_factevent_pgh_context_id_011bc656 ON public.memory_factevent USING btree (pgh_context_id);
CREATE INDEX memory_factevent_pgh_obj_id_707cb8cc ON public.memory_factevent USING btree (pgh_obj_id);
CREATE INDEX memory_factevent_space_id_2095ac06 ON public.memory_factevent USING btree (space_id);
CREATE INDEX memory_factevent_superseded_by_id_9b8f82e3 ON public.memory_factevent USING btree (superseded_by_id);
CREATE INDEX memory_goldenquestion_chat_id_d201756a ON public.memory_goldenquestion USING btree (chat_id);
CREATE INDEX memory_goldenquestion_space_id_677d4ec2 ON public.memory_goldenquestion USING btree (space_id);
CREATE INDEX memory_goldenquestionevent_chat_id_7bc6f35b ON public.memory_goldenquestionevent USING btree (chat_id);
CREATE INDEX memory_goldenquestionevent_pgh_context_id_d8be50f0 ON public.memory_goldenquestionevent USING btree (pgh_context_id);
CREATE INDEX memory_goldenquestionevent_pgh_obj_id_e36e47bb ON public.memory_goldenquestionevent USING btree (pgh_obj_id);
CREATE INDEX memory_goldenquestionevent_space_id_c4ebe10c ON public.memory_goldenquestionevent USING btree (space_id);
CREATE INDEX memory_heartbeat_beat_at_053da9ad ON public.memory_heartbeat USING btree (beat_at);
CREATE INDEX memory_heartbeat_name_fa1db1c8_like ON public.memory_heartbeat USING btree (name varchar_pattern_ops);
CREATE INDEX memory_identityevent_pgh_context_id_123061ea ON public.memory_identityevent USING btree (pgh_context_id);
CREATE INDEX memory_identityevent_pgh_obj_id_1f1c5446 ON public.memory_identityevent USING btree (pgh_obj_id);
CREATE INDEX memory_identityevent_space_id_e756c500 ON public.memory_identityevent USING btree (space_id);
CREATE INDEX memory_lease_name_1b475b9a_like ON public.memory_lease USING btree (name varchar_pattern_ops);
CREATE INDEX memory_llmcall_chat_id_ba4f28f3 ON public.memory_llmcall USING btree (chat_id);
CREATE INDEX memory_llmcall_message_id_c472d7a0 ON public.memory_llmcall USING btree (message_id);
CREATE INDEX memory_llmcall_night_id_50bd3a09 ON public.memory_llmcall USING btree (night_id);
CREATE INDEX memory_llmcall_space_id_33384fce ON public.memory_llmcall USING btree (space_id);
CREATE UNIQUE INDEX memory_member_of_space ON public.memory_member USING btree (space_id, id);
CREATE INDEX memory_member_space_id_02857f69 ON public.memory_member USING btree (space_id);
CREATE INDEX memory_member_user_id_d8377cc7 ON public.memory_member USING btree (user_id);
CREATE INDEX memory_mention_entity_id_33496c50 ON public.memory_mention USING btree (entity_id);
CREATE INDEX memory_mention_fact_id_adcc1b34 ON public.memory_mention USING btree (fact_id);
CREATE INDEX memory_message_chat_id_97cafdbe ON public.memory_message USING btree (chat_id);
CREATE INDEX memory_message_episode_id_a6774d4d ON public.memory_message USING btree (episode_id);
CREATE UNIQUE INDEX memory_message_of_space ON public.memory_message USING btree (space_id, id);
CREATE INDEX memory_message_reply_to_id_b4928304 ON public.memory_message USING btree (reply_to_id);
CREATE INDEX memory_message_space_id_0f7867e4 ON public.memory_message USING btree (space_id);
CREATE INDEX memory_notice_space_id_0be33090 ON public.memory_notice USING btree (space_id);
CREATE INDEX memory_outboxitem_chat_id_2f505af8 ON public.memory_outboxitem USING btree (chat_id);
CREATE INDEX memory_outboxitem_message_id_190bef36 ON public.memory_outboxitem USING btree (message_id);
CREATE INDEX memory_outboxitem_space_id_8ff274b3 ON public.memory_outboxitem USING btree (space_id);
CREATE INDEX memory_parcel_space_id_95a44412 ON public.memory_parcel USING btree (space_id);
CREATE INDEX memory_parcelline_parcel_id_e8147e8f ON public.memory_parcelline USING btree (parcel_id);
CREATE INDEX memory_parcelpiece_parcel_id_1254a2c4 ON public.memory_parcelpiece USING btree (parcel_id);
CREATE INDEX memory_pattern_chat_id_391d2d46 ON public.memory_pattern USING btree (chat_id);
CREATE INDEX memory_pattern_space_id_ee88ef41 ON public.memory_pattern USING btree (space_id);
CREATE INDEX memory_patternevent_chat_id_bfe4a682 ON public.memory_patternevent USING btree (chat_id);
CREATE INDEX memory_patternevent_pgh_context_id_319ad828 ON public.memory_patternevent USING btree (pgh_context_id);
CREATE INDEX memory_patternevent_pgh_obj_id_6a902113 ON public.memory_patternevent USING btree (pgh_obj_id);
CREATE INDEX memory_patternevent_space_id_5e464488 ON public.memory_patternevent USING btree (space_id);
CREATE INDEX memory_preference_space_id_60fcc138 ON public.memory_preference USING btree (space_id);
CREATE INDEX memory_preferenceevent_pgh_context_id_093a43ac ON public.memory_preferenceevent USING btree (pgh_context_id);
CREATE INDEX memory_preferenceevent_pgh_obj_id_5c280ce1 ON public.memory_preferenceevent USING btree (pgh_obj_id);
CREATE INDEX memory_preferenceevent_space_id_2ff88b42 ON public.memory_preferenceevent USING btree (space_id);
CREATE INDEX memory_recall_message_id_bd140f53 ON public.memory_recall USING btree (message_id);
CREATE INDEX memory_recall_reply_id_0fe238e1 ON public.memory_recall USING btree (reply_id);
CREATE INDEX memory_recallitem_episode_id_0a1de9a0 ON public.memory_recallitem USING btree (episode_id);
CREATE INDEX memory_recallitem_fact_id_b63d0d38 ON public.memory_recallitem USING btree (fact_id);
CREATE INDEX memory_recallitem_message_id_6e50534e ON public.memory_recallitem USING btree (message_id);
CREATE INDEX memory_recallitem_pattern_id_325aec5b ON public.memory_recallitem USING btree (pattern_id);
CREATE INDEX memory_recallprofile_space_id_d0e7da2f ON public.memory_recallprofile USING btree (space_id);
CREATE INDEX memory_reminder_chat_id_7a7c72d8 ON public.memory_reminder USING btree (chat_id);
CREATE INDEX memory_reminder_next_at_ae7f6d55 ON public.memory_reminder USING btree (next_at);
CREATE INDEX memory_reminder_space_id_f6d88349 ON public.memory_reminder USING btree (space_id);
CREATE INDEX memory_rule_space_id_d866520b ON public.memory_rule USING btree (space_id);
CREATE INDEX memory_ruleevent_pgh_context_id_b0fb7703 ON public.memory_ruleevent USING btree (pgh_context_id);
CREATE INDEX memory_ruleevent_pgh_obj_id_36cb93d3 ON public.memory_ruleevent USING btree (pgh_obj_id);
CREATE INDEX memory_ruleevent_space_id_16013471 ON public.memory_ruleevent USING btree (space_id);
CREATE INDEX memory_ruling_fact_id_f460fa48 ON public.memory_ruling USING btree (fact_id);
CREATE INDEX memory_ruling_space_id_46b92cca ON public.memory_ruling USING btree (space_id);
CREATE INDEX memory_rulingevent_fact_id_7a5cb083 ON public.memory_rulingevent USING btree (fact_id);
CREATE INDEX memory_rulingevent_pgh_context_id_bb79be08 ON public.memory_rulingevent USING btree (pgh_context_id);
CREATE INDEX memory_rulingevent_pgh_obj_id_2c3c5855 ON public.memory_rulingevent USING btree (pgh_obj_id);
CREATE INDEX memory_rulingevent_space_id_81c153cb ON public.memory_rulingevent USING btree (space_id);
CREATE INDEX memory_selfcheck_space_id_2c7d185f ON public.memory_selfcheck USING btree (space_id);
CREATE INDEX memory_silencedmessage_fact_id_0bd0e867 ON public.memory_silencedmessage USING btree (fact_id);
CREATE INDEX memory_silencedmessage_message_id_c8ea9f6e ON public.memory_silencedmessage USING btree (message_id);
CREATE INDEX memory_space_slug_7edce344_like ON public.memory_space USING btree (slug varchar_pattern_ops);
CREATE INDEX memory_spaceevent_pgh_context_id_3aa9ad9d ON public.memory_spaceevent USING btree (pgh_context_id);
CREATE INDEX memory_spaceevent_pgh_obj_id_6b258b1e ON public.memory_spaceevent USING btree (pgh_obj_id);
CREATE INDEX memory_spacekey_space_id_033197f3 ON public.memory_spacekey USING btree (space_id);
CREATE INDEX memory_webhook_space_id_9e53b926 ON public.memory_webhook USING btree (space_id);
CREATE INDEX memory_webhookdelivery_webhook_id_10885ff0 ON public.memory_webhookdelivery USING btree (webhook_id);
CREATE INDEX memory_webhookevent_webhook_id_a720304c ON public.memory_webhookevent USING btree (webhook_id);
CREATE INDEX memory_workingnote_space_id_73bcfa71 ON public.memory_workingnote USING btree (space_id);
CREATE INDEX memory_workingnoteevent_chat_id_67bfc4fd ON public.memory_workingnoteevent USING btree (chat_id);
CREATE INDEX memory_workingnoteevent_pgh_context_id_cde8aa16 ON public.memory_workingnoteevent USING btree (pgh_context_id);
CREATE INDEX memory_workingnoteevent_pgh_obj_id_acb42a76 ON public.memory_workingnoteevent USING btree (pgh_obj_id);
CREATE INDEX memory_workingnoteevent_space_id_5cde6e7e ON public.memory_workingnoteevent USING btree (space_id);
CREATE INDEX mention_by_entity ON public.memory_mention USING btree (entity_id, role);
CREATE INDEX message_by_chat ON public.memory_message USING btree (chat_id, sent_at DESC, id DESC);
CREATE INDEX message_by_space ON public.memory_message USING btree (space_id, sent_at DESC);
CREATE INDEX message_to_read ON public.memory_message USING btree (space_id, chat_id) WHERE ((ingested_at IS NULL) AND ((role)::text = 'user'::text));
CREATE INDEX message_undecided ON public.memory_message USING btree (id) WHERE (not_recalled IS NULL);
CREATE INDEX message_unhandled ON public.memory_message USING btree (chat_id, id) WHERE ((handled_at IS NULL) AND ((role)::text = 'user'::text));
CREATE INDEX night_recent ON public.sleep_night USING btree (space_id, local_date DESC);
CREATE INDEX notice_recent ON public.memory_notice USING btree (space_id, created_at DESC);
CREATE INDEX oauth2_prov_token_f_996e8a_idx ON public.oauth2_provider_refreshtoken USING btree (token_family);
CREATE INDEX oauth2_provider_accesstoken_application_id_b22886e1 ON public.oauth2_provider_accesstoken USING btree (application_id);
CREATE INDEX oauth2_provider_accesstoken_token_checksum_85319a26_like ON public.oauth2_provider_accesstoken USING btree (token_checksum varchar_pattern_ops);
CREATE INDEX oauth2_provider_accesstoken_user_id_6e4c9a65 ON public.oauth2_provider_accesstoken USING btree (user_id);
CREATE INDEX oauth2_provider_application_client_id_03f0cc84_like ON public.oauth2_provider_application USING btree (client_id varchar_pattern_ops);
CREATE INDEX oauth2_provider_application_client_secret_53133678 ON public.oauth2_provider_application USING btree (client_secret);
CREATE INDEX oauth2_provider_application_client_secret_53133678_like ON public.oauth2_provider_application USING btree (client_secret varchar_pattern_ops);
CREATE INDEX oauth2_provider_application_user_id_79829054 ON public.oauth2_provider_application USING btree (user_id);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d ON public.oauth2_provider_devicegrant USING btree (client_id);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d_like ON public.oauth2_provider_devicegrant USING btree (client_id varchar_pattern_ops);
CREATE INDEX oauth2_provider_devicegrant_user_id_1cec5156 ON public.oauth2_provider_devicegrant USING btree (user_id);
CREATE INDEX oauth2_provider_grant_application_id_81923564 ON public.oauth2_provider_grant USING btree (application_id);
CREATE INDEX oauth2_provider_grant_code_49ab4ddf_like ON public.oauth2_provider_grant USING btree (code varchar_pattern_ops);
CREATE INDEX oauth2_provider_grant_user_id_e8f62af8 ON public.oauth2_provider_grant USING btree (user_id);
CREATE INDEX oauth2_provider_idtoken_application_id_08c5ff4f ON public.oauth2_provider_idtoken USING btree (application_id);
CREATE INDEX oauth2_provider_idtoken_user_id_dd512b59 ON public.oauth2_provider_idtoken USING btree (user_id);
CREATE INDEX oauth2_provider_refreshtoken_application_id_2d1c311b ON public.oauth2_provider_refreshtoken USING btree (application_id);
CREATE INDEX oauth2_provider_refreshtoken_user_id_da837fce ON public.oauth2_provider_refreshtoken USING btree (user_id);
CREATE INDEX outbox_recent ON public.memory_outboxitem USING btree (space_id, created_at DESC);
CREATE INDEX outbox_waiting ON public.memory_outboxitem USING btree (created_at) WHERE ((delivered_at IS NULL) AND (failed_at IS NULL));
CREATE INDEX parcel_recent ON public.memory_parcel USING btree (space_id, created_at DESC);
CREATE INDEX pattern_recent ON public.memory_pattern USING btree (space_id, status, updated_at DESC);
CREATE UNIQUE INDEX pattern_slug_once ON public.memory_pattern USING btree (space_id, slug) WHERE ((status)::text = 'active'::text);
CREATE INDEX preference_in_force ON public.memory_preference USING btree (space_id, status);
CREATE INDEX procrastinate_events_job_id_fkey_v1 ON public.procrastinate_events USING btree (job_id);
CREATE INDEX procrastinate_jobs_id_lock_idx_v1 ON public.procrastinate_jobs USING btree (id, lock) WHERE (status = ANY (ARRAY['todo'::public.procrastinate_job_status, 'doing'::public.procrastinate_job_status]));
CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON public.procrastinate_jobs USING btree (lock) WHERE (status = 'doing'::public.procrastinate_job_status);
CREATE INDEX procrastinate_jobs_priority_idx_v1 ON public.procrastinate_jobs USING btree (priority DESC, id) WHERE (status = 'todo'::public.procrastinate_job_status);
CREATE INDEX procrastinate_jobs_queue_name_idx_v1 ON public.procrastinate_jobs USING btree (queue_name);
CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON public.procrastinate_jobs USING btree (queueing_lock) WHERE (status = 'todo'::public.procrastinate_job_status);
CREATE INDEX procrastinate_periodic_defers_job_id_fkey_v1 ON public.procrastinate_periodic_defers USING btree (job_id);
CREATE INDEX proposal_by_night ON public.sleep_proposal USING btree (night_id);
CREATE INDEX proposal_queue ON public.sleep_proposal USING btree (space_id, status, created_at);
CREATE INDEX recall_by_chat ON public.memory_recall USING btree (chat_id, at DESC, id DESC);
CREATE INDEX recall_recent ON public.memory_recall USING btree (space_id, at DESC, id DESC);
CREATE UNIQUE INDEX rule_slug_once ON public.memory_rule USING btree (space_id, slug) WHERE ((status)::text = 'active'::text);
CREATE INDEX ruling_in_force ON public.memory_ruling USING btree (space_id, kind, status);
CREATE UNIQUE INDEX ruling_once ON public.memory_ruling USING btree (space_id, kind, said_key, fact_id) NULLS NOT DISTINCT WHERE ((status)::text = 'active'::text);
CREATE INDEX selfcheck_quality ON public.memory_selfcheck USING btree (space_id, quality);
CREATE INDEX sleep_claim_chat_id_fbd23131 ON public.sleep_claim USING btree (chat_id);
CREATE INDEX sleep_claim_episode_id_a8e42689 ON public.sleep_claim USING btree (episode_id);
CREATE INDEX sleep_claim_space_id_8bf18952 ON public.sleep_claim USING btree (space_id);
CREATE UNIQUE INDEX sleep_night_of_space ON public.sleep_night USING btree (space_id, id);
CREATE INDEX sleep_night_space_id_11e6df00 ON public.sleep_night USING btree (space_id);
CREATE INDEX sleep_nightchange_night_id_2ccc5972 ON public.sleep_nightchange USING btree (night_id);
CREATE INDEX sleep_nightchange_space_id_1e2c0f41 ON public.sleep_nightchange USING btree (space_id);
CREATE INDEX sleep_phaserun_night_id_627eadc0 ON public.sleep_phaserun USING btree (night_id);
CREATE INDEX sleep_proposal_decided_by_id_fbbc5a44 ON public.sleep_proposal USING btree (decided_by_id);
CREATE INDEX sleep_proposal_night_id_c90a63ba ON public.sleep_proposal USING btree (night_id);
CREATE INDEX sleep_proposal_space_id_13dab7a6 ON public.sleep_proposal USING btree (space_id);
CREATE INDEX sleep_proposalevent_decided_by_id_b02ee42c ON public.sleep_proposalevent USING btree (decided_by_id);
CREATE INDEX sleep_proposalevent_night_id_6534be5c ON public.sleep_proposalevent USING btree (night_id);
CREATE INDEX sleep_proposalevent_pgh_context_id_4582f078 ON public.sleep_proposalevent USING btree (pgh_context_id);
CREATE INDEX sleep_proposalevent_pgh_obj_id_ec0d6339 ON public.sleep_proposalevent USING btree (pgh_obj_id);
CREATE INDEX sleep_proposalevent_space_id_4c5497d5 ON public.sleep_proposalevent USING btree (space_id);
CREATE INDEX sleep_reflection_space_id_59fc173a ON public.sleep_reflection USING btree (space_id);
CREATE INDEX unit_by_episode ON public.memory_unit USING btree (episode_id, at, id) WHERE (((kind)::text = 'message'::text) AND live);
CREATE INDEX unit_by_first_name ON public.memory_unit USING btree (scope, split_part((speaker)::text, ' '::text, 1)) WHERE (live AND (NOT ((speaker)::text = ''::text)));
CREATE INDEX unit_by_space ON public.memory_unit USING btree (space_id);
CREATE INDEX unit_pinned ON public.memory_unit USING btree (scope) WHERE (live AND pinned);
CREATE INDEX unit_recent ON public.memory_unit USING btree (scope, kind, at DESC) WHERE live;
CREATE INDEX unit_words ON public.memory_unit USING gin (scopes, words) WITH (fastupdate=off);
CREATE INDEX webhook_recent ON public.memory_webhookdelivery USING btree (webhook_id, created_at DESC);
CREATE INDEX working_recent ON public.memory_workingnote USING btree (space_id, updated_at DESC);
CREATE TRIGGER keno_count_version BEFORE UPDATE ON public.memory_space FOR EACH ROW EXECUTE FUNCTION public.keno_count_version();
CREATE TRIGGER keno_new_version AFTER INSERT OR DELETE OR UPDATE ON public.memory_identity FOR EACH ROW EXECUTE FUNCTION public.keno_new_version();
CREATE TRIGGER keno_new_version AFTER INSERT OR DELETE OR UPDATE OF status ON public.memory_pattern FOR EACH ROW EXECUTE FUNCTION public.keno_new_version();
CREATE TRIGGER keno_new_version AFTER INSERT OR DELETE OR UPDATE ON public.memory_preference FOR EACH ROW EXECUTE FUNCTION public.keno_new_version();
CREATE TRIGGER keno_new_version AFTER INSERT OR DELETE OR UPDATE ON public.memory_rule FOR EACH ROW EXECUTE FUNCTION public.keno_new_version();
CREATE TRIGGER keno_new_version AFTER INSERT OR DELETE OR UPDATE OF status, kind ON public.memory_ruling FOR EACH ROW EXECUTE FUNCTION public.keno_new_version();
CREATE TRIGGER keno_retitle AFTER INSERT OR UPDATE OF title ON public.memory_chat FOR EACH ROW EXECUTE FUNCTION public.keno_retitle_chat();
CREATE TRIGGER keno_retitle AFTER INSERT OR UPDATE OF title ON public.memory_episode FOR EACH ROW EXECUTE FUNCTION public.keno_retitle_episode();
CREATE TRIGGER keno_silence_new AFTER INSERT ON public.memory_fact FOR EACH ROW WHEN (new.forgotten) EXECUTE FUNCTION public.keno_silence();
CREATE TRIGGER keno_silence_put AFTER UPDATE OF forgotten ON public.memory_fact FOR EACH ROW WHEN ((old.forgotten IS DISTINCT FROM new.forgotten)) EXECUTE FUNCTION public.keno_silence();
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.memory_chat FOR EACH ROW WHEN ((old.title IS DISTINCT FROM new.title)) EXECUTE FUNCTION public.keno_tell('chat');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.memory_episode FOR EACH ROW WHEN (((old.title IS DISTINCT FROM new.title) OR ((old.status)::text IS DISTINCT FROM (new.status)::text))) EXECUTE FUNCTION public.keno_tell('episode');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.memory_erasure FOR EACH ROW WHEN (((old.status)::text IS DISTINCT FROM (new.status)::text)) EXECUTE FUNCTION public.keno_tell('erasure');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.memory_fact FOR EACH ROW WHEN (((old.text IS DISTINCT FROM new.text) OR ((old.subject)::text IS DISTINCT FROM (new.subject)::text) OR ((old.status)::text IS DISTINCT FROM (new.status)::text) OR (old.valid_from IS DISTINCT FROM new.valid_from) OR (old.valid_to IS DISTINCT FROM new.valid_to) OR (old.pinned IS DISTINCT FROM new.pinned))) EXECUTE FUNCTION public.keno_tell('fact');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.memory_notice FOR EACH ROW WHEN ((old.seen_at IS DISTINCT FROM new.seen_at)) EXECUTE FUNCTION public.keno_tell('notice');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.memory_parcel FOR EACH ROW WHEN ((((old.status)::text IS DISTINCT FROM (new.status)::text) OR (old.done IS DISTINCT FROM new.done))) EXECUTE FUNCTION public.keno_tell('progress');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.memory_pattern FOR EACH ROW WHEN (((old.response IS DISTINCT FROM new.response) OR ((old.status)::text IS DISTINCT FROM (new.status)::text))) EXECUTE FUNCTION public.keno_tell('pattern');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.sleep_night FOR EACH ROW WHEN (((old.status)::text IS DISTINCT FROM (new.status)::text)) EXECUTE FUNCTION public.keno_tell('night');
CREATE TRIGGER keno_tell_change AFTER UPDATE ON public.sleep_proposal FOR EACH ROW WHEN (((old.status)::text IS DISTINCT FROM (new.status)::text)) EXECUTE FUNCTION public.keno_tell('proposal');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.memory_chat FOR EACH ROW EXECUTE FUNCTION public.keno_tell('chat');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.memory_episode FOR EACH ROW EXECUTE FUNCTION public.keno_tell('episode');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.memory_erasure FOR EACH ROW EXECUTE FUNCTION public.keno_tell('erasure');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.memory_fact FOR EACH ROW EXECUTE FUNCTION public.keno_tell('fact');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.memory_notice FOR EACH ROW EXECUTE FUNCTION public.keno_tell('notice');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.memory_parcel FOR EACH ROW EXECUTE FUNCTION public.keno_tell('progress');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.memory_pattern FOR EACH ROW EXECUTE FUNCTION public.keno_tell('pattern');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.sleep_night FOR EACH ROW EXECUTE FUNCTION public.keno_tell('night');
CREATE TRIGGER keno_tell_new AFTER INSERT ON public.sleep_proposal FOR EACH ROW EXECUTE FUNCTION public.keno_tell('proposal');
CREATE TRIGGER keno_unit_drop AFTER DELETE ON public.memory_episode FOR EACH ROW EXECUTE FUNCTION public.keno_drop_unit('episode');
CREATE TRIGGER keno_unit_drop AFTER DELETE ON public.memory_fact FOR EACH ROW EXECUTE FUNCTION public.keno_drop_unit('fact');
CREATE TRIGGER keno_unit_drop AFTER DELETE ON public.memory_message FOR EACH ROW EXECUTE FUNCTION public.keno_drop_unit('message');
CREATE TRIGGER keno_unit_put AFTER INSERT OR UPDATE OF title, body, tags, language, status, flags, chat_id, space_id, started_at, ended_at ON public.memory_episode FOR EACH ROW EXECUTE FUNCTION public.keno_unit_of_episode();
CREATE TRIGGER keno_unit_put AFTER INSERT OR UPDATE OF text, quote, subject, language, status, chat_id, space_id, episode_id, valid_from, created_at, occurs_at, pinned ON public.memory_fact FOR EACH ROW EXECUTE FUNCTION public.keno_unit_of_fact();
CREATE TRIGGER keno_unit_put AFTER INSERT OR UPDATE OF text, author, language, role, flags, chat_id, space_id, episode_id, not_recalled, sent_at ON public.memory_message FOR EACH ROW EXECUTE FUNCTION public.keno_unit_of_message();
CREATE TRIGGER keno_unlink AFTER UPDATE OF text, subject, chat_id ON public.memory_fact FOR EACH ROW WHEN ((((old.text IS DISTINCT FROM new.text) OR ((old.subject)::text IS DISTINCT FROM (new.subject)::text)) OR (old.chat_id IS DISTINCT FROM new.chat_id))) EXECUTE FUNCTION public.keno_unlink_fact();
CREATE TRIGGER keno_words AFTER UPDATE OF name, aliases, merged_into_id, chat_id ON public.memory_entity FOR EACH ROW WHEN ((((((old.name)::text IS DISTINCT FROM (new.name)::text) OR (old.aliases IS DISTINCT FROM new.aliases)) OR (old.merged_into_id IS DISTINCT FROM new.merged_into_id)) OR (old.chat_id IS DISTINCT FROM new.chat_id))) EXECUTE FUNCTION public.keno_words_of_entity();
CREATE TRIGGER keno_words AFTER INSERT ON public.memory_mention FOR EACH ROW EXECUTE FUNCTION public.keno_words_of_mention();
CREATE TRIGGER pgtrigger_append_only_03ac4 BEFORE DELETE OR UPDATE ON public.memory_auditseal FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_03ac4();
COMMENT ON TRIGGER pgtrigger_append_only_03ac4 ON public.memory_auditseal IS 'fc468a3e63ab00faf0c83b594bec06dd646d696b';
CREATE TRIGGER pgtrigger_append_only_96b01 BEFORE DELETE OR UPDATE ON public.memory_auditentry FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_96b01();
COMMENT ON TRIGGER pgtrigger_append_only_96b01 ON public.memory_auditentry IS 'df84d1635ac009d2b22b5493fdb88caa0ef14040';
CREATE TRIGGER pgtrigger_insert_insert_00189 AFTER INSERT ON public.memory_rule FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_00189();
COMMENT ON TRIGGER pgtrigger_insert_insert_00189 ON public.memory_rule IS '7ba38df8d642c559f226e2b6797fd609b432c025';
CREATE TRIGGER pgtrigger_insert_insert_0ba44 AFTER INSERT ON public.memory_fact FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_0ba44();
COMMENT ON TRIGGER pgtrigger_insert_insert_0ba44 ON public.memory_fact IS '31623d124fd1102e7d34ef7133ed358df9c49fb9';
CREATE TRIGGER pgtrigger_insert_insert_38455 AFTER INSERT ON public.memory_workingnote FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_38455();
COMMENT ON TRIGGER pgtrigger_insert_insert_38455 ON public.memory_workingnote IS '8513775057fc9dee72c0e5869a5739e11a17b7b6';
CREATE TRIGGER pgtrigger_insert_insert_42495 AFTER INSERT ON public.memory_preference FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_42495();
COMMENT ON TRIGGER pgtrigger_insert_insert_42495 ON public.memory_preference IS '9c74b21a88d2057d3369f3a42e38058606022cb5';
CREATE TRIGGER pgtrigger_insert_insert_5b4a4 AFTER INSERT ON public.memory_ruling FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_5b4a4();
COMMENT ON TRIGGER pgtrigger_insert_insert_5b4a4 ON public.memory_ruling IS '80c032b3ea8c643338171ad8c39f514b437ca7b0';
CREATE TRIGGER pgtrigger_insert_insert_74936 AFTER INSERT ON public.sleep_proposal FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_74936();
COMMENT ON TRIGGER pgtrigger_insert_insert_74936 ON public.sleep_proposal IS '058cee3454097c48919de9ecf5ced3a6ffff46de';
CREATE TRIGGER pgtrigger_insert_insert_77153 AFTER INSERT ON public.memory_episode FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_77153();
COMMENT ON TRIGGER pgtrigger_insert_insert_77153 ON public.memory_episode IS 'e4fce1ba1015abc26abd162f51ac96a07f3fa623';
CREATE TRIGGER pgtrigger_insert_insert_9dbe7 AFTER INSERT ON public.memory_identity FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_9dbe7();
COMMENT ON TRIGGER pgtrigger_insert_insert_9dbe7 ON public.memory_identity IS '0ae833267c0cdb2c31351ca7564d3283338c2076';
CREATE TRIGGER pgtrigger_insert_insert_9e2b4 AFTER INSERT ON public.memory_goldenquestion FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_9e2b4();
COMMENT ON TRIGGER pgtrigger_insert_insert_9e2b4 ON public.memory_goldenquestion IS '844508408cacdab2fa1d346b1c97567f9d4a4086';
CREATE TRIGGER pgtrigger_insert_insert_a640c AFTER INSERT ON public.memory_pattern FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_a640c();
COMMENT ON TRIGGER pgtrigger_insert_insert_a640c ON public.memory_pattern IS 'aa143b8a4a4b81ac77a2d94a080b1dc79b9c3362';
CREATE TRIGGER pgtrigger_insert_insert_e5663 AFTER INSERT ON public.memory_space FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_e5663();
COMMENT ON TRIGGER pgtrigger_insert_insert_e5663 ON public.memory_space IS '1d05c01481b2463b2e2b78fef2bd420964906765';
CREATE TRIGGER pgtrigger_insert_insert_e94b6 AFTER INSERT ON public.memory_entity FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_e94b6();
COMMENT ON TRIGGER pgtrigger_insert_insert_e94b6 ON public.memory_entity IS 'c787112d8b14d5672ccae575ccd43d35a18202b3';
CREATE TRIGGER pgtrigger_insert_insert_f234a AFTER INSERT ON public.memory_chat FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_f234a();
COMMENT ON TRIGGER pgtrigger_insert_insert_f234a ON public.memory_chat IS '66a976b7ccc61fd7e7e2588f030d55474382fd34';
CREATE TRIGGER pgtrigger_no_truncate_49cfc BEFORE TRUNCATE ON public.memory_auditentry FOR EACH STATEMENT EXECUTE FUNCTION public.pgtrigger_no_truncate_49cfc();
COMMENT ON TRIGGER pgtrigger_no_truncate_49cfc ON public.memory_auditentry IS 'da12b6e019ba367045e8f8c34ab145754acff364';
CREATE TRIGGER pgtrigger_no_truncate_85f60 BEFORE TRUNCATE ON public.memory_auditseal FOR EACH STATEMENT EXECUTE FUNCTION public.pgtrigger_no_truncate_85f60();
COMMENT ON TRIGGER pgtrigger_no_truncate_85f60 ON public.memory_auditseal IS 'e27b0cb2eb426e83eb7d455a15cfc0363f7e57a8';
CREATE TRIGGER pgtrigger_update_update_0741e AFTER UPDATE ON public.sleep_proposal FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.pgtrigger_update_update_0741e();
COMMENT ON TRIGGER pgtrigger_update_update_0741e ON public.sleep_proposal IS '62beeeae90da767ed8c012119c8e72864712691c';
CREATE TRIGGER pgtrigger_update_update_14681 AFTER UPDATE ON public.memory_goldenquestion FOR EACH ROW WHEN (((old.asked_at IS DISTINCT FROM new.asked_at) OR ((old.by)::text IS DISTINCT FROM (new.by)::text) OR (old.chat_id IS DISTINCT FROM new.chat_id) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.found IS DISTINCT FROM new.found) OR (old.id IS DISTINCT FROM new.id) OR ((old.person)::text IS DISTINCT FROM (new.person)::text) OR (old.question IS DISTINCT FROM new.question) OR (old.space_id IS DISTINCT FROM new.space_id) OR ((old.status)::text IS DISTINCT FROM (new.status)::text) OR (old.unfound IS DISTINCT FROM new.unfound) OR (old.unsaid IS DISTINCT FROM new.unsaid))) EXECUTE FUNCTION public.pgtrigger_update_update_14681();
CREATE TRIGGER pgtrigger_update_update_177f7 AFTER UPDATE ON public.memory_fact FOR EACH ROW WHEN ((((old.category)::text IS DISTINCT FROM (new.category)::text) OR (old.chat_id IS DISTINCT FROM new.chat_id) OR (old.confidence IS DISTINCT FROM new.confidence) OR (old.confirmed_at IS DISTINCT FROM new.confirmed_at) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.episode_id IS DISTINCT FROM new.episode_id) OR (old.evidence IS DISTINCT FROM new.evidence) OR (old.flags IS DISTINCT FROM new.flags) OR (old.forgotten IS DISTINCT FROM new.forgotten) OR (old.id IS DISTINCT FROM new.id) OR ((old.kind)::text IS DISTINCT FROM (new.kind)::text) OR ((old.language)::text IS DISTINCT FROM (new.language)::text) OR (old.last_seen_at IS DISTINCT FROM new.last_seen_at) OR (old.message_id IS DISTINCT FROM new.message_id) OR ((old.mode)::text IS DISTINCT FROM (new.mode)::text) OR (old.occurs_at IS DISTINCT FROM new.occurs_at) OR (old.occurs_until IS DISTINCT FROM new.occurs_until) OR (old.pinned IS DISTINCT FROM new.pinned) OR (old.quote IS DISTINCT FROM new.quote) OR ((old.said_by)::text IS DISTINCT FROM (new.said_by)::text) OR (old.said_key IS DISTINCT FROM new.said_key) OR ((old.source)::text IS DISTINCT FROM (new.source)::text) OR (old.space_id IS DISTINCT FROM new.space_id) OR ((old.status)::text IS DISTINCT FROM (new.status)::text) OR (old.sticky IS DISTINCT FROM new.sticky) OR ((old.subject)::text IS DISTINCT FROM (new.subject)::text) OR (old.superseded_by_id IS DISTINCT FROM new.superseded_by_id) OR (old.tags IS DISTINCT FROM new.tags) OR (old.text IS DISTINCT FROM new.text) OR (old.times_seen IS DISTINCT FROM new.times_seen) OR (old.trashed_at IS DISTINCT FROM new.trashed_at) OR (old.trust IS DISTINCT FROM new.trust) OR (old.updated_at IS DISTINCT FROM new.updated_at) OR (old.valid_from IS DISTINCT FROM new.valid_from) OR (old.valid_to IS DISTINCT FROM new.valid_to) OR ((old.written_by)::text IS DISTINCT FROM (new.written_by)::text))) EXECUTE FUNCTION public.pgtrigger_update_update_177f7();
CREATE TRIGGER pgtrigger_update_update_2dec6 AFTER UPDATE ON public.memory_workingnote FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.pgtrigger_update_update_2dec6();
COMMENT ON TRIGGER pgtrigger_update_update_2dec6 ON public.memory_workingnote IS '33fa8964fa1d3c4cddf2d13a5a32165ea37da485';
CREATE TRIGGER pgtrigger_update_update_31b0e AFTER UPDATE ON public.memory_space FOR EACH ROW WHEN (((old.archived_at IS DISTINCT FROM new.archived_at) OR (old.id IS DISTINCT FROM new.id) OR ((old.language)::text IS DISTINCT FROM (new.language)::text) OR ((old.name)::text IS DISTINCT FROM (new.name)::text) OR (old.settings IS DISTINCT FROM new.settings) OR ((old.timezone)::text IS DISTINCT FROM (new.timezone)::text))) EXECUTE FUNCTION public.pgtrigger_update_update_31b0e();
COMMENT ON TRIGGER pgtrigger_update_update_31b0e ON public.memory_space IS '3ab39e7ad4d91d780a73e291005650066489b8fa';
CREATE TRIGGER pgtrigger_update_update_39c89 AFTER UPDATE ON public.memory_episode FOR EACH ROW WHEN (((old.body IS DISTINCT FROM new.body) OR (old.chat_id IS DISTINCT FROM new.chat_id) OR (old.consolidated_at IS DISTINCT FROM new.consolidated_at) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.discard_reason IS DISTINCT FROM new.discard_reason) OR (old.discarded_at IS DISTINCT FROM new.discarded_at) OR (old.ended_at IS DISTINCT FROM new.ended_at) OR ((old.feedback)::text IS DISTINCT FROM (new.feedback)::text) OR (old.flags IS DISTINCT FROM new.flags) OR (old.id IS DISTINCT FROM new.id) OR ((old.language)::text IS DISTINCT FROM (new.language)::text) OR (old.participants IS DISTINCT FROM new.participants) OR ((old.source)::text IS DISTINCT FROM (new.source)::text) OR (old.space_id IS DISTINCT FROM new.space_id) OR (old.started_at IS DISTINCT FROM new.started_at) OR ((old.status)::text IS DISTINCT FROM (new.status)::text) OR (old.sticky IS DISTINCT FROM new.sticky) OR (old.summary_of IS DISTINCT FROM new.summary_of) OR (old.tags IS DISTINCT FROM new.tags) OR (old.title IS DISTINCT FROM new.title) OR (old.trust IS DISTINCT FROM new.trust) OR (old.updated_at IS DISTINCT FROM new.updated_at))) EXECUTE FUNCTION public.pgtrigger_update_update_39c89();
CREATE TRIGGER pgtrigger_update_update_3d1ee AFTER UPDATE ON public.memory_ruling FOR EACH ROW WHEN ((((old.by)::text IS DISTINCT FROM (new.by)::text) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.fact_id IS DISTINCT FROM new.fact_id) OR (old.id IS DISTINCT FROM new.id) OR ((old.kind)::text IS DISTINCT FROM (new.kind)::text) OR (old.reason IS DISTINCT FROM new.reason) OR (old.said_key IS DISTINCT FROM new.said_key) OR (old.space_id IS DISTINCT FROM new.space_id) OR ((old.status)::text IS DISTINCT FROM (new.status)::text) OR (old.text IS DISTINCT FROM new.text))) EXECUTE FUNCTION public.pgtrigger_update_update_3d1ee();
CREATE TRIGGER pgtrigger_update_update_403b4 AFTER UPDATE ON public.memory_chat FOR EACH ROW WHEN (((old.context IS DISTINCT FROM new.context) OR (old.title IS DISTINCT FROM new.title))) EXECUTE FUNCTION public.pgtrigger_update_update_403b4();
CREATE TRIGGER pgtrigger_update_update_7fcc6 AFTER UPDATE ON public.memory_pattern FOR EACH ROW WHEN (((old.chat_id IS DISTINCT FROM new.chat_id) OR (old.confidence IS DISTINCT FROM new.confidence) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.evidence IS DISTINCT FROM new.evidence) OR (old.flags IS DISTINCT FROM new.flags) OR (old.id IS DISTINCT FROM new.id) OR ((old.language)::text IS DISTINCT FROM (new.language)::text) OR (old.learned_from IS DISTINCT FROM new.learned_from) OR ((old.mode)::text IS DISTINCT FROM (new.mode)::text) OR (old.response IS DISTINCT FROM new.response) OR (old.slug IS DISTINCT FROM new.slug) OR (old.space_id IS DISTINCT FROM new.space_id) OR ((old.status)::text IS DISTINCT FROM (new.status)::text) OR (old.sticky IS DISTINCT FROM new.sticky) OR (old.trashed_at IS DISTINCT FROM new.trashed_at) OR (old.trigger IS DISTINCT FROM new.trigger) OR (old.updated_at IS DISTINCT FROM new.updated_at))) EXECUTE FUNCTION public.pgtrigger_update_update_7fcc6();
CREATE TRIGGER pgtrigger_update_update_8a2c2 AFTER UPDATE ON public.memory_entity FOR EACH ROW WHEN (((old.accounts IS DISTINCT FROM new.accounts) OR (old.aliases IS DISTINCT FROM new.aliases) OR (old.chat_id IS DISTINCT FROM new.chat_id) OR (old.created_at IS DISTINCT FROM new.created_at) OR (old.id IS DISTINCT FROM new.id) OR ((old.kind)::text IS DISTINCT FROM (new.kind)::text) OR (old.merged_into_id IS DISTINCT FROM new.merged_into_id) OR ((old.name)::text IS DISTINCT FROM (new.name)::text) OR (old.owner_id IS DISTINCT FROM new.owner_id) OR ((old.relation)::text IS DISTINCT FROM (new.relation)::text) OR (old.space_id IS DISTINCT FROM new.space_id) OR (old.sticky IS DISTINCT FROM new.sticky) OR (old.updated_at IS DISTINCT FROM new.updated_at))) EXECUTE FUNCTION public.pgtrigger_update_update_8a2c2();
COMMENT ON TRIGGER pgtrigger_update_update_8a2c2 ON public.memory_entity IS 'aba3a83de98187980f52378f354607ae92d511f4';
CREATE TRIGGER pgtrigger_update_update_dc2d1 AFTER UPDATE ON public.memory_rule FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.pgtrigger_update_update_dc2d1();
COMMENT ON TRIGGER pgtrigger_update_update_dc2d1 ON public.memory_rule IS '0653b31c865f187c48c31ebb4724c430ae3f857d';
CREATE TRIGGER pgtrigger_update_update_e8c56 AFTER UPDATE ON public.memory_identity FOR EACH ROW WHEN (((old.core IS DISTINCT FROM new.core) OR (old.id IS DISTINCT FROM new.id) OR (old.space_id IS DISTINCT FROM new.space_id) OR (old.updated_at IS DISTINCT FROM new.updated_at))) EXECUTE FUNCTION public.pgtrigger_update_update_e8c56();
COMMENT ON TRIGGER pgtrigger_update_update_e8c56 ON public.memory_identity IS '0131ca5ef722324ee0dbdbf61a91b55f4cef077b';
CREATE TRIGGER pgtrigger_update_update_eb2a9 AFTER UPDATE ON public.memory_preference FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.pgtrigger_update_update_eb2a9();
COMMENT ON TRIGGER pgtrigger_update_update_eb2a9 ON public.memory_preference IS 'e43148e4a9df58991494726e2f4bd138af7a5b73';
CREATE TRIGGER procrastinate_jobs_notify_queue_job_aborted_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN (((old.abort_requested = false) AND (new.abort_requested = true) AND (new.status = 'doing'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_notify_queue_abort_job_v1();
CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_notify_queue_job_inserted_v1();
CREATE TRIGGER procrastinate_trigger_abort_requested_events_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.abort_requested = true)) EXECUTE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1();
CREATE TRIGGER procrastinate_trigger_delete_jobs_v1 BEFORE DELETE ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_unlink_periodic_defers_v1();
CREATE TRIGGER procrastinate_trigger_scheduled_events_v1 AFTER INSERT OR UPDATE ON public.procrastinate_jobs FOR EACH ROW WHEN (((new.scheduled_at IS NOT NULL) AND (new.status = 'todo'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1();
CREATE TRIGGER procrastinate_trigger_status_events_insert_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1();
CREATE TRIGGER procrastinate_trigger_status_events_update_v1 AFTER UPDATE OF status ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_update_v1();
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_group_id_97559544_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_6a12ed8b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permi_permission_id_1fbb5f2c_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_a95ead1b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_embedding
    ADD CONSTRAINT embedding_of_unit FOREIGN KEY (unit_id) REFERENCES public.memory_unit(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.kenoweb_account
    ADD CONSTRAINT kenoweb_account_user_id_f0fdd544_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.kenoweb_oidcaccount
    ADD CONSTRAINT kenoweb_oidcaccount_user_id_ab0cac52_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.kenoweb_onetimelink
    ADD CONSTRAINT kenoweb_onetimelink_made_by_id_86621eeb_fk_auth_user_id FOREIGN KEY (made_by_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.kenoweb_onetimelink
    ADD CONSTRAINT kenoweb_onetimelink_space_id_b82ab608_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.kenoweb_onetimelink
    ADD CONSTRAINT kenoweb_onetimelink_user_id_76fda9db_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.kenoweb_passkey
    ADD CONSTRAINT kenoweb_passkey_user_id_c1744d6c_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_apicall
    ADD CONSTRAINT memory_apicall_token_id_10e99fe1_fk_memory_apitoken_id FOREIGN KEY (token_id) REFERENCES public.memory_apitoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_apitoken
    ADD CONSTRAINT memory_apitoken_space_id_6a8357cc_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_apitoken
    ADD CONSTRAINT memory_apitoken_user_id_260af621_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chat
    ADD CONSTRAINT memory_chat_owner_id_bbab4df7_fk_memory_member_id FOREIGN KEY (owner_id) REFERENCES public.memory_member(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chat
    ADD CONSTRAINT memory_chat_owner_id_of_space FOREIGN KEY (space_id, owner_id) REFERENCES public.memory_member(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chat
    ADD CONSTRAINT memory_chat_space_id_a866b0be_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chatlink
    ADD CONSTRAINT memory_chatlink_member_id_b411081d_fk_memory_member_id FOREIGN KEY (member_id) REFERENCES public.memory_member(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chatlink
    ADD CONSTRAINT memory_chatlink_member_id_of_space FOREIGN KEY (space_id, member_id) REFERENCES public.memory_member(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chatlink
    ADD CONSTRAINT memory_chatlink_space_id_5701f402_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chatsummary
    ADD CONSTRAINT memory_chatsummary_chat_id_9e5fbfb6_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chatsummary
    ADD CONSTRAINT memory_chatsummary_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_chatsummary
    ADD CONSTRAINT memory_chatsummary_space_id_bff57301_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_deadletter
    ADD CONSTRAINT memory_deadletter_space_id_c37870a1_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_draft
    ADD CONSTRAINT memory_draft_chat_id_50a6e667_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_embedding
    ADD CONSTRAINT memory_embedding_space_id_a2eeca27_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_chat_id_e4fb9485_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_merged_into_id_53d76991_fk_memory_entity_id FOREIGN KEY (merged_into_id) REFERENCES public.memory_entity(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_merged_into_id_of_space FOREIGN KEY (space_id, merged_into_id) REFERENCES public.memory_entity(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_owner_id_bebeb644_fk_memory_entity_id FOREIGN KEY (owner_id) REFERENCES public.memory_entity(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_owner_id_of_space FOREIGN KEY (space_id, owner_id) REFERENCES public.memory_entity(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_entity
    ADD CONSTRAINT memory_entity_space_id_4bc85999_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_episode
    ADD CONSTRAINT memory_episode_chat_id_6fa9c8c5_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_episode
    ADD CONSTRAINT memory_episode_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_episode
    ADD CONSTRAINT memory_episode_space_id_6e5c7532_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_erasure
    ADD CONSTRAINT memory_erasure_space_id_1fe7baec_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_chat_id_abffb781_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_episode_id_bf6616a0_fk_memory_episode_id FOREIGN KEY (episode_id) REFERENCES public.memory_episode(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_episode_id_of_space FOREIGN KEY (space_id, episode_id) REFERENCES public.memory_episode(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_message_id_b71357dd_fk_memory_message_id FOREIGN KEY (message_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_message_id_of_space FOREIGN KEY (space_id, message_id) REFERENCES public.memory_message(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_space_id_1f7e1807_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_superseded_by_id_d0528491_fk_memory_fact_id FOREIGN KEY (superseded_by_id) REFERENCES public.memory_fact(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_fact
    ADD CONSTRAINT memory_fact_superseded_by_id_of_space FOREIGN KEY (space_id, superseded_by_id) REFERENCES public.memory_fact(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_goldenquestion
    ADD CONSTRAINT memory_goldenquestion_chat_id_d201756a_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_goldenquestion
    ADD CONSTRAINT memory_goldenquestion_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_goldenquestion
    ADD CONSTRAINT memory_goldenquestion_space_id_677d4ec2_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_goldenrun
    ADD CONSTRAINT memory_goldenrun_space_id_c7a9e2af_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_identity
    ADD CONSTRAINT memory_identity_space_id_6f51ef2d_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_llmcall
    ADD CONSTRAINT memory_llmcall_chat_id_ba4f28f3_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_llmcall
    ADD CONSTRAINT memory_llmcall_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_llmcall
    ADD CONSTRAINT memory_llmcall_message_id_c472d7a0_fk_memory_message_id FOREIGN KEY (message_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_llmcall
    ADD CONSTRAINT memory_llmcall_message_id_of_space FOREIGN KEY (space_id, message_id) REFERENCES public.memory_message(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_llmcall
    ADD CONSTRAINT memory_llmcall_space_id_33384fce_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_member
    ADD CONSTRAINT memory_member_space_id_02857f69_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_member
    ADD CONSTRAINT memory_member_user_id_d8377cc7_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_mention
    ADD CONSTRAINT memory_mention_entity_id_33496c50_fk_memory_entity_id FOREIGN KEY (entity_id) REFERENCES public.memory_entity(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_mention
    ADD CONSTRAINT memory_mention_fact_id_adcc1b34_fk_memory_fact_id FOREIGN KEY (fact_id) REFERENCES public.memory_fact(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_chat_id_97cafdbe_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_episode_id_a6774d4d_fk_memory_episode_id FOREIGN KEY (episode_id) REFERENCES public.memory_episode(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_episode_id_of_space FOREIGN KEY (space_id, episode_id) REFERENCES public.memory_episode(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_reply_to_id_b4928304_fk_memory_message_id FOREIGN KEY (reply_to_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_reply_to_id_of_space FOREIGN KEY (space_id, reply_to_id) REFERENCES public.memory_message(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_message
    ADD CONSTRAINT memory_message_space_id_0f7867e4_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_notice
    ADD CONSTRAINT memory_notice_space_id_0be33090_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_outboxitem
    ADD CONSTRAINT memory_outboxitem_chat_id_2f505af8_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_outboxitem
    ADD CONSTRAINT memory_outboxitem_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_outboxitem
    ADD CONSTRAINT memory_outboxitem_message_id_190bef36_fk_memory_message_id FOREIGN KEY (message_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_outboxitem
    ADD CONSTRAINT memory_outboxitem_message_id_of_space FOREIGN KEY (space_id, message_id) REFERENCES public.memory_message(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_outboxitem
    ADD CONSTRAINT memory_outboxitem_space_id_8ff274b3_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_parcel
    ADD CONSTRAINT memory_parcel_space_id_95a44412_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_parcelline
    ADD CONSTRAINT memory_parcelline_parcel_id_e8147e8f_fk_memory_parcel_id FOREIGN KEY (parcel_id) REFERENCES public.memory_parcel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_parcelpiece
    ADD CONSTRAINT memory_parcelpiece_parcel_id_1254a2c4_fk_memory_parcel_id FOREIGN KEY (parcel_id) REFERENCES public.memory_parcel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_pattern
    ADD CONSTRAINT memory_pattern_chat_id_391d2d46_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_pattern
    ADD CONSTRAINT memory_pattern_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_pattern
    ADD CONSTRAINT memory_pattern_space_id_ee88ef41_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_preference
    ADD CONSTRAINT memory_preference_space_id_60fcc138_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_chat_id_810e2385_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_message_id_bd140f53_fk_memory_message_id FOREIGN KEY (message_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_message_id_of_space FOREIGN KEY (space_id, message_id) REFERENCES public.memory_message(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_reply_id_0fe238e1_fk_memory_message_id FOREIGN KEY (reply_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_reply_id_of_space FOREIGN KEY (space_id, reply_id) REFERENCES public.memory_message(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recall
    ADD CONSTRAINT memory_recall_space_id_a0a20942_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recallitem
    ADD CONSTRAINT memory_recallitem_episode_id_0a1de9a0_fk_memory_episode_id FOREIGN KEY (episode_id) REFERENCES public.memory_episode(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recallitem
    ADD CONSTRAINT memory_recallitem_fact_id_b63d0d38_fk_memory_fact_id FOREIGN KEY (fact_id) REFERENCES public.memory_fact(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recallitem
    ADD CONSTRAINT memory_recallitem_message_id_6e50534e_fk_memory_message_id FOREIGN KEY (message_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recallitem
    ADD CONSTRAINT memory_recallitem_pattern_id_325aec5b_fk_memory_pattern_id FOREIGN KEY (pattern_id) REFERENCES public.memory_pattern(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recallitem
    ADD CONSTRAINT memory_recallitem_recall_id_10e5cd06_fk_memory_recall_id FOREIGN KEY (recall_id) REFERENCES public.memory_recall(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_recallprofile
    ADD CONSTRAINT memory_recallprofile_space_id_d0e7da2f_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_reminder
    ADD CONSTRAINT memory_reminder_chat_id_7a7c72d8_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_reminder
    ADD CONSTRAINT memory_reminder_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_reminder
    ADD CONSTRAINT memory_reminder_fact_id_e8e2efd4_fk_memory_fact_id FOREIGN KEY (fact_id) REFERENCES public.memory_fact(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_reminder
    ADD CONSTRAINT memory_reminder_fact_id_of_space FOREIGN KEY (space_id, fact_id) REFERENCES public.memory_fact(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_reminder
    ADD CONSTRAINT memory_reminder_space_id_f6d88349_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_rule
    ADD CONSTRAINT memory_rule_space_id_d866520b_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_ruling
    ADD CONSTRAINT memory_ruling_fact_id_f460fa48_fk_memory_fact_id FOREIGN KEY (fact_id) REFERENCES public.memory_fact(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_ruling
    ADD CONSTRAINT memory_ruling_fact_id_of_space FOREIGN KEY (space_id, fact_id) REFERENCES public.memory_fact(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_ruling
    ADD CONSTRAINT memory_ruling_space_id_46b92cca_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_selfcheck
    ADD CONSTRAINT memory_selfcheck_reply_id_54fd79cd_fk_memory_message_id FOREIGN KEY (reply_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_selfcheck
    ADD CONSTRAINT memory_selfcheck_reply_id_of_space FOREIGN KEY (space_id, reply_id) REFERENCES public.memory_message(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_selfcheck
    ADD CONSTRAINT memory_selfcheck_space_id_2c7d185f_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_silencedmessage
    ADD CONSTRAINT memory_silencedmessage_fact_id_0bd0e867_fk_memory_fact_id FOREIGN KEY (fact_id) REFERENCES public.memory_fact(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_silencedmessage
    ADD CONSTRAINT memory_silencedmessage_message_id_c8ea9f6e_fk_memory_message_id FOREIGN KEY (message_id) REFERENCES public.memory_message(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_spaceencryption
    ADD CONSTRAINT memory_spaceencryption_space_id_9a8ee1de_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_spacekey
    ADD CONSTRAINT memory_spacekey_space_id_033197f3_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_unit
    ADD CONSTRAINT memory_unit_chat_id_4fe38478_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_unit
    ADD CONSTRAINT memory_unit_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_unit
    ADD CONSTRAINT memory_unit_space_id_7111981d_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_webhook
    ADD CONSTRAINT memory_webhook_space_id_9e53b926_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_webhookdelivery
    ADD CONSTRAINT memory_webhookdelivery_webhook_id_10885ff0_fk_memory_webhook_id FOREIGN KEY (webhook_id) REFERENCES public.memory_webhook(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_webhookevent
    ADD CONSTRAINT memory_webhookevent_webhook_id_a720304c_fk_memory_webhook_id FOREIGN KEY (webhook_id) REFERENCES public.memory_webhook(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_workingnote
    ADD CONSTRAINT memory_workingnote_chat_id_e0b7ebb8_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_workingnote
    ADD CONSTRAINT memory_workingnote_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.memory_workingnote
    ADD CONSTRAINT memory_workingnote_space_id_73bcfa71_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_application_id_b22886e1_fk_oauth2_pr FOREIGN KEY (application_id) REFERENCES public.oauth2_provider_application(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_id_token_id_85db651b_fk_oauth2_pr FOREIGN KEY (id_token_id) REFERENCES public.oauth2_provider_idtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_source_refresh_token_e66fbc72_fk_oauth2_pr FOREIGN KEY (source_refresh_token_id) REFERENCES public.oauth2_provider_refreshtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_user_id_6e4c9a65_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_application
    ADD CONSTRAINT oauth2_provider_application_user_id_79829054_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_user_id_1cec5156_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_gran_application_id_81923564_fk_oauth2_pr FOREIGN KEY (application_id) REFERENCES public.oauth2_provider_application(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_user_id_e8f62af8_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idto_application_id_08c5ff4f_fk_oauth2_pr FOREIGN KEY (application_id) REFERENCES public.oauth2_provider_application(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_user_id_dd512b59_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refr_access_token_id_775e84e8_fk_oauth2_pr FOREIGN KEY (access_token_id) REFERENCES public.oauth2_provider_accesstoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refr_application_id_2d1c311b_fk_oauth2_pr FOREIGN KEY (application_id) REFERENCES public.oauth2_provider_application(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_user_id_da837fce_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES public.procrastinate_workers(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id);
ALTER TABLE ONLY public.sleep_claim
    ADD CONSTRAINT sleep_claim_chat_id_fbd23131_fk_memory_chat_id FOREIGN KEY (chat_id) REFERENCES public.memory_chat(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_claim
    ADD CONSTRAINT sleep_claim_chat_id_of_space FOREIGN KEY (space_id, chat_id) REFERENCES public.memory_chat(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_claim
    ADD CONSTRAINT sleep_claim_episode_id_a8e42689_fk_memory_episode_id FOREIGN KEY (episode_id) REFERENCES public.memory_episode(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_claim
    ADD CONSTRAINT sleep_claim_episode_id_of_space FOREIGN KEY (space_id, episode_id) REFERENCES public.memory_episode(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_claim
    ADD CONSTRAINT sleep_claim_space_id_8bf18952_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_night
    ADD CONSTRAINT sleep_night_space_id_11e6df00_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_nightchange
    ADD CONSTRAINT sleep_nightchange_night_id_2ccc5972_fk_sleep_night_id FOREIGN KEY (night_id) REFERENCES public.sleep_night(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_nightchange
    ADD CONSTRAINT sleep_nightchange_night_id_of_space FOREIGN KEY (space_id, night_id) REFERENCES public.sleep_night(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_nightchange
    ADD CONSTRAINT sleep_nightchange_space_id_1e2c0f41_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_phaserun
    ADD CONSTRAINT sleep_phaserun_night_id_627eadc0_fk_sleep_night_id FOREIGN KEY (night_id) REFERENCES public.sleep_night(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_proposal
    ADD CONSTRAINT sleep_proposal_decided_by_id_fbbc5a44_fk_memory_member_id FOREIGN KEY (decided_by_id) REFERENCES public.memory_member(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_proposal
    ADD CONSTRAINT sleep_proposal_decided_by_id_of_space FOREIGN KEY (space_id, decided_by_id) REFERENCES public.memory_member(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_proposal
    ADD CONSTRAINT sleep_proposal_night_id_c90a63ba_fk_sleep_night_id FOREIGN KEY (night_id) REFERENCES public.sleep_night(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_proposal
    ADD CONSTRAINT sleep_proposal_night_id_of_space FOREIGN KEY (space_id, night_id) REFERENCES public.sleep_night(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_proposal
    ADD CONSTRAINT sleep_proposal_space_id_13dab7a6_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_reflection
    ADD CONSTRAINT sleep_reflection_night_id_d540417e_fk_sleep_night_id FOREIGN KEY (night_id) REFERENCES public.sleep_night(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_reflection
    ADD CONSTRAINT sleep_reflection_night_id_of_space FOREIGN KEY (space_id, night_id) REFERENCES public.sleep_night(space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.sleep_reflection
    ADD CONSTRAINT sleep_reflection_space_id_59fc173a_fk_memory_space_id FOREIGN KEY (space_id) REFERENCES public.memory_space(id) DEFERRABLE INITIALLY DEFERRED;
