"""Which database Keno uses, and the key that signs its cookies."""

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit


def settings_for(url: str, home: Path) -> dict:
    """Django's settings for the given address, or for the embedded server under home."""
    if not url:
        from kenoweb import embedded

        url = embedded.url(home)
    return parse(url) | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}


def parse(url: str) -> dict:
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ValueError("DATABASE_URL must begin with postgresql://.")
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "keno",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": options.pop("port", "") or str(parts.port or ""),
        "OPTIONS": options,
    }


def read_secret(home: Path) -> str:
    """The secret key that `manage.py up` made in the data folder, if it did."""
    try:
        return (home / "secret_key").read_text().strip()
    except OSError:
        return ""
