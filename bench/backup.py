"""How long a backup of much memory takes, how large it is, and whether it comes back equal.

python -m bench.backup --facts 100000 --episodes 20000 --json OUT

After the backup a chat is erased; the restored database must lose it too, by the list of erasures.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import django

from bench.fresh_database import fresh_database


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    with fresh_database("keno_backup_bench"):
        found = measure(given)
    print(json.dumps(found, indent=2))
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=2))
    sys.exit(0 if found["equal"] and not found["erased_words_left"] else 1)


def measure(given: argparse.Namespace) -> dict:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from bench import pages_data
    from memory.operations import backup, erasing
    from memory.vectors import embed

    call_command("migrate", verbosity=0)
    now = timezone.now()
    with pages_data.without_indexes():
        much = {"facts": given.facts, "episodes": given.episodes, "now": now}
        space = pages_data.fill(**much, say=lambda what: None)
        pages_data.give_vectors(space, embed.current())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        database = cursor.fetchone()[0]
    path = Path(settings.KENO_BACKUPS) / backup.file_name(now)
    began = time.perf_counter()
    manifest = backup.write(path, now=timezone.now())
    written = time.perf_counter() - began
    chat = space.chats.order_by("pk").first()
    typed = erasing.name_of(chat)
    erasing.run(erasing.start(space, "chat", chat, typed=typed, by="person:bench"))
    found = {
        "facts": space.facts.count(),
        "episodes": space.episodes.count(),
        "rows": sum(table["rows"] for table in manifest["tables"].values()),
        "database_mb": round(database / 1e6),
        "backup_mb": round(path.stat().st_size / 1e6),
        "backup_s": round(written, 1),
    }
    return found | _restored(path, chat.pk)


def _restored(path: Path, chat: int) -> dict:
    """Into a new database, by the command that an owner would type."""
    import psycopg

    with fresh_database("keno_restore_bench") as url:
        began = time.perf_counter()
        command = [sys.executable, "manage.py", "keno_restore", str(path)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        took = time.perf_counter() - began
        with psycopg.connect(url) as connection:
            left = connection.execute("SELECT count(*) FROM memory_chat WHERE id = %s", [chat])
            [(count,)] = left.fetchall()
    return {
        "restore_and_check_s": round(took, 1),
        "equal": "Every table is as it was." in said,
        "erased_again": "Erased again" in said,
        "erased_words_left": count,
    }


if __name__ == "__main__":
    main()
