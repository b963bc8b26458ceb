"""KENO_HOME: the folder with everything Keno keeps outside of a database server."""

import os
import secrets
from pathlib import Path

OURS = (".env", "secret_key", "postgres", "gate.lock", "users.lock", "lost+found")


class NotReady(Exception):
    """Why Keno cannot start, in one sentence that says what to do."""


def path() -> Path:
    return Path(os.environ.get("KENO_HOME", "").strip() or "~/.keno").expanduser().absolute()


def prepare(home: Path) -> None:
    """Make the folder and the key that signs cookies, both closed to everybody else."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        entries = [entry.name for entry in home.iterdir()]
        # To close a folder such as /tmp or a person's home would do harm.
        if entries and not any(name.startswith(OURS) for name in entries):
            raise NotReady(f"KENO_HOME ({home}) holds other things: choose an empty folder.")
        if home.stat().st_mode & 0o077:
            home.chmod(0o700)
        _ensure_secret(home / "secret_key")
    except OSError as error:
        raise NotReady(f"KENO_HOME ({home}) cannot be used: {error.strerror}.") from error


def read_secret(home: Path) -> str:
    """Return the key that `prepare` made, if it did."""
    try:
        return (home / "secret_key").read_text().strip()
    except OSError:
        return ""


def _ensure_secret(file: Path) -> None:
    if file.exists():
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)
        return
    part = file.with_name(f"secret_key.{secrets.token_hex(4)}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as new:
        new.write(secrets.token_urlsafe(64) + "\n")
    try:
        os.link(part, file)  # two first starts at once: one key wins, whole
    except FileExistsError:
        pass
    finally:
        part.unlink()
