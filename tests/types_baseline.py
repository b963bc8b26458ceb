"""Check the types of memory, sleep and bot against the errors that are still allowed.

`python -m tests.types_baseline` fails when a file has more errors than the baseline allows, and
says so when it has fewer: then the baseline can shrink (`--write`). The rooms of NONE have none.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

BASELINE = Path(__file__).with_name("types_baseline.txt")
NONE = ("memory/history", "memory/facts", "memory/retrieval", "sleep/proposals")
ERROR = re.compile(r"^(?P<file>[^:]+\.py):\d+: error: ", re.M)


def errors() -> tuple[Counter[str], str]:
    """Return how many errors mypy finds in each file, and its whole output."""
    run = subprocess.run([sys.executable, "-m", "mypy"], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(run.stdout + run.stderr)
    return Counter(ERROR.findall(run.stdout)), run.stdout


def allowed() -> Counter[str]:
    lines = BASELINE.read_text().split("\n") if BASELINE.exists() else []
    pairs = (line.split() for line in lines if line.strip())
    return Counter({file: int(count) for count, file in pairs})


def main() -> int:
    counts, output = errors()
    if "--write" in sys.argv:
        BASELINE.write_text("".join(f"{n} {file}\n" for file, n in sorted(counts.items())))
        return 0
    known = allowed()
    worse = {file: n for file, n in counts.items() if n > known[file] or file.startswith(NONE)}
    better = {file: n for file, n in known.items() if n > counts[file]}
    if worse:
        print("\n".join(line for line in output.split("\n") if line.split(":")[0] in worse))
        print("New type errors; mend them:", ", ".join(sorted(worse)))
    elif better:
        print("Fewer type errors than allowed: python -m tests.types_baseline --write")
    else:
        print(f"Types: {sum(counts.values())} known errors, none new")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
