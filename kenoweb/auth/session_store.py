"""Sessions in the database, each under a digest of its key."""

import hashlib

from django.contrib.sessions.backends import db


class SessionStore(db.SessionStore):
    """Store digests only, so that nobody can sign in with a copy of the database."""

    def _get_session_from_db(self):
        key, self._session_key = self._session_key, digest(self._session_key)
        session = super()._get_session_from_db()
        self._session_key = key if session else None
        return session

    def exists(self, session_key):
        return super().exists(digest(session_key))

    def create_model_instance(self, data):
        row = super().create_model_instance(data)
        row.session_key = digest(row.session_key)
        return row

    def delete(self, session_key=None):
        key = session_key or self.session_key
        if key:
            super().delete(digest(key))


def digest(key: str) -> str:
    """Return what stands in the table instead of the key; the column holds 40 letters."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40]
