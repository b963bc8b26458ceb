"""Keno's settings in a home of the tests' own: nothing of the person at the keyboard is touched."""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

if "KENO_TEST_HOME" not in os.environ:
    if "--reuse-db" in sys.argv:
        # Kept from run to run: `pytest --reuse-db` finds its database with all tables in it.
        mark = hashlib.sha256(str(Path(__file__).resolve()).encode()).hexdigest()[:8]
        folder = Path(tempfile.gettempdir()) / f"keno-kept-test-{os.getuid()}-{mark}"
        folder.mkdir(exist_ok=True)
    else:
        folder = Path(tempfile.mkdtemp(prefix="keno-test-"))
    folder.chmod(0o755)  # as root, Postgres runs as another account that must get through
    os.environ["KENO_TEST_HOME"] = str(folder)  # parallel workers share it

TEST_HOME = Path(os.environ["KENO_TEST_HOME"])
TEST_HOME_IS_KEPT = TEST_HOME.name.startswith("keno-kept-test-")
os.environ["KENO_HOME"] = str(TEST_HOME / "home")
os.environ["KENO_POSTGRES_DIR"] = str(TEST_HOME / "pg")
os.environ["KENO_SECRET_KEY"] = "for tests only, never a secret " * 2
for name in (
    "KENO_DEBUG",
    "KENO_HOSTS",
    "KENO_TRUSTED_ORIGINS",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "PROVIDER",
    "MODEL",
    "TELEGRAM_BOT_TOKEN",
    "DISCORD_BOT_TOKEN",
    "HTTP_ENABLED",
):
    os.environ.pop(name, None)

from kenoweb.settings.base import *  # noqa: E402, F403

# Argon2 is slow on purpose; tests/kenoweb/test_accounts.py looks at the real list.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *PASSWORD_HASHERS]  # noqa: F405
# However busy the machine is: what a message teaches is there when it is answered.
READ_SECONDS = 60
# Static files are found where they lie; no test collects them first.
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = True
STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"  # noqa: F405
