"""A disk that is really full while people talk: what is refused, and is anything lost or half done?

python -m bench.full_disk --messages 40

As root on Linux: the database lives on a small disk in memory, which a file fills to the last byte.
A worker answers before, meanwhile and after. What was taken in must be answered once, what was
refused must not be there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import talk
from bench.fresh_database import fresh_database

MEGABYTES, BLOCK = 400, 64 * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=40)
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    with small_disk() as disk:
        os.environ["KENO_POSTGRES_DIR"] = str(disk)
        with fresh_database("keno_full_disk"):
            found = measure(given, disk)
    print(json.dumps(found, indent=2))
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=2))
    sys.exit(any(found[name] for name in ("lost", "doubled", "given_up", "refused_but_there")))


@contextmanager
def small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="keno-disk-") as folder:
        size = f"size={MEGABYTES}m,mode=755"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def measure(given: argparse.Namespace, disk: Path) -> dict:
    os.environ["PROVIDER"] = "offline"
    rooms = talk._rooms(argparse.Namespace(chats=4))
    from memory.models import Message

    said: dict[str, list] = {"before": [], "meanwhile": [], "after": []}
    refused: list[str] = []
    with worker():
        _say(rooms, given.messages, said["before"], refused)
        _wait_for_answers()
        filled = _fill(disk / "ballast")
        _say(rooms, given.messages, said["meanwhile"], refused)
        (disk / "ballast").unlink()
        is_down = _start_again()
    with worker():
        _say(rooms, given.messages, said["after"], refused)
        _wait_for_answers()
        _wait_until_read()
    kept = {pk for some in said.values() for pk in some}
    replies = Message.objects.filter(role="assistant", reply_to__in=kept)
    answered = list(replies.values_list("reply_to", flat=True))
    journals = Message.objects.filter(pk__in=kept).values_list("journal", flat=True)
    return {
        **{f"taken_in_{when}": len(some) for when, some in said.items()},
        "refused": len(refused),
        "refused_with": sorted(set(refused)),
        "ballast_mb": round(filled / 1e6),
        "server_went_down": is_down,
        "lost": len(kept - set(answered)),
        "doubled": len(answered) - len(set(answered)),
        "given_up": sum("given up" in str(row) for row in journals),
        "refused_but_there": Message.objects.filter(role="user").exclude(pk__in=kept).count(),
    }


@contextmanager
def worker() -> Iterator[None]:
    command = [sys.executable, "manage.py", "runbot", "--jobs", "2"]
    process = subprocess.Popen(command, env=os.environ | {"LOG_LEVEL": "error"})
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _say(rooms: list, count: int, taken: list, refused: list[str]) -> None:
    from django.db import Error, connection

    for n in range(count):
        try:
            taken.append(talk._say(rooms, n).pk)
        except Error as error:
            refused.append(str(error).splitlines()[0].split('"')[0].strip())
            connection.close()
        time.sleep(0.2)


def _fill(file: Path) -> int:
    """Write until there is no room at all; a file that grows by itself is caught up with."""
    with file.open("wb") as out:
        try:
            while True:
                out.write(b"\0" * BLOCK)
                out.flush()
        except OSError:
            pass
    return file.stat().st_size


def _start_again() -> bool:
    """What `manage.py up` does when the database has ended; whether it had."""
    from django.conf import settings
    from django.db import Error, connection

    from kenoweb.launcher import embedded_postgres

    connection.close()
    try:
        connection.ensure_connection()
    except Error:
        embedded_postgres.start(Path(settings.KENO_HOME))
        return True
    return False


def _wait_for_answers() -> None:
    _wait_while(handled_at=None)


def _wait_until_read() -> None:
    """Read here what the worker has not read yet, as a night would."""
    from memory.extraction import ingest
    from memory.models import Space

    for space in Space.objects.all():
        ingest.ingest_waiting(space)
    _wait_while(ingested_at=None)


def _wait_while(**given: None) -> None:
    from memory.models import Message

    talk._until(lambda: not Message.objects.filter(role="user", **given).exists())


if __name__ == "__main__":
    main()
