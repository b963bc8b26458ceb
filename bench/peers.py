"""Peers that install with pip and need no language model, on the same memories and vectors.

They get an environment of their own (their dependencies and ours would not agree), made once under
~/.cache or where KENO_PEERS points, and are run by bench/peers_inside.py. A peer that cannot be
installed or fails is reported and left out.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

from bench.measures import Tally
from bench.questions import ANSWERABLE, Conversation

PEERS = {
    "mem0": ["mem0ai", "qdrant-client"],
    "chromadb": ["chromadb"],
    "txtai": ["txtai", "faiss-cpu"],
}
INSIDE = Path(__file__).with_name("peers_inside.py")


def compare(talks: list[Conversation]) -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="keno-peers-") as folder:
        _write(Path(folder), talks)
        for name, packages in PEERS.items():
            try:
                python = _environment(name, packages)
                rows += _run(python, name, Path(folder), talks)
            except (subprocess.CalledProcessError, OSError) as error:
                print(f"{name} was left out: {error}", file=sys.stderr)
    return rows


def _environment(name: str, packages: list[str]) -> Path:
    home = Path(os.environ.get("KENO_PEERS", "~/.cache/keno-peers")).expanduser() / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "numpy", *packages], check=True)
        (home / "ready").touch()
    return python


def _write(folder: Path, talks: list[Conversation]) -> None:
    from bench.rivals import vectors_of
    from memory.vectors import embed

    held, vectors = [], {}
    for number, talk in enumerate(talks):
        asked = [q.text for q in talk.questions if q.category in ANSWERABLE]
        held.append({"texts": [m.spoken for m in talk.memories], "questions": asked})
        vectors[f"m{number}"] = vectors_of(talk.memories)
        vectors[f"q{number}"] = np.stack([embed.embed_query(one) for one in asked])
    (folder / "talks.json").write_text(json.dumps(held))
    np.savez(folder / "vectors.npz", **vectors)


def _run(python: Path, name: str, folder: Path, talks: list[Conversation]) -> list[dict]:
    quiet = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
    env = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | quiet
    env |= {"OPENAI_API_KEY": "unused", "MEM0_DIR": str(folder / "mem0"), "HOME": str(folder)}
    subprocess.run([python, INSIDE, name, folder], check=True, env=env)
    rows = []
    for way in json.loads((folder / f"{name}.json").read_text()):
        tally = Tally(way["name"])
        found = iter(way["found"])
        for talk in talks:
            for question in talk.questions:
                if question.category in ANSWERABLE:
                    places, ms = next(found)
                    tally.add(question, [talk.memories[n].id for n in places], ms)
        rows.append(tally.row())
    return rows
