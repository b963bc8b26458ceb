"""The short form of every benchmark, in a database of its own that is thrown away.

python -m bench            all of them
python -m bench night      one of them; the full form is python -m bench.night
"""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from kenoweb.launcher import embedded_postgres

SHORT = {
    "night": ["--episodes", "500", "--kills", "1"],
    "embedding": ["--texts", "300"],
    "scale": ["--facts", "5000", "--spaces", "1", "50", "--questions", "60"],
    "talk": ["--messages", "120"],
    "chaos": ["--messages", "200", "--chats", "10", "--kills", "5"],
}


def main(names: list[str]) -> int:
    if unknown := set(names) - set(SHORT):
        print(f"There is no {', '.join(sorted(unknown))}: choose from {', '.join(SHORT)}.")
        return 2
    with house() as env:
        python = [sys.executable, "-m"]
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], env=env, check=True)
        codes = [
            subprocess.run([*python, f"bench.{name}", *SHORT[name]], env=env).returncode
            for name in names or SHORT
        ]
    return max(codes)


@contextmanager
def house():
    """A home and an embedded server for as long as it takes; DATABASE_URL is left alone."""
    folder = Path(tempfile.mkdtemp(prefix="keno-bench-"))
    folder.chmod(0o755)  # as root, Postgres runs as another account that must get through
    os.environ |= {"KENO_HOME": str(folder / "home"), "KENO_POSTGRES_DIR": str(folder / "pg")}
    try:
        with embedded_postgres.session(folder / "home") as url:
            yield os.environ | {"DATABASE_URL": url}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
