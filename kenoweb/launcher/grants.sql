-- What the role of web and worker may do.
GRANT USAGE ON SCHEMA public TO keno_app;
GRANT SELECT, INSERT, UPDATE, DELETE{maintain} ON ALL TABLES IN SCHEMA public TO keno_app;
GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO keno_app;
REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM keno_app;
REVOKE UPDATE, DELETE ON memory_auditentry, memory_auditseal FROM keno_app;
GRANT UPDATE (details) ON memory_auditentry TO keno_app;
GRANT UPDATE (salt) ON memory_auditseal TO keno_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO keno_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO keno_app;
