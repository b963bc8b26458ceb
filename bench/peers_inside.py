"""Run by bench/peers.py inside a peer's own environment: knows nothing of Keno.

    python peers_inside.py NAME FOLDER

Times are those of the search alone: vectors of the questions are given.
"""

import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

DEEP = 20


class Chromadb:
    def __init__(self):
        import chromadb

        self.name = f"chromadb {version('chromadb')}"
        self.client = chromadb.PersistentClient(tempfile.mkdtemp())

    def hold(self, number, texts, vectors):
        self.all = self.client.create_collection(
            f"talk{number}", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        ids = [str(n) for n in range(len(texts))]
        self.all.add(ids=ids, embeddings=vectors.tolist(), documents=texts)

    def ask(self, question, vector):
        found = self.all.query(query_embeddings=[vector.tolist()], n_results=DEEP)
        return [int(one) for one in found["ids"][0]]


class Txtai:
    def __init__(self, hybrid):
        self.hybrid = hybrid
        self.name = f"txtai {version('txtai')}{' hybrid' if hybrid else ''}"
        self.known = {}

    def hold(self, number, texts, vectors):
        from txtai import Embeddings

        self.known |= dict(zip(texts, vectors, strict=True))
        self.all = Embeddings(
            method="external",
            transform=lambda some: np.array([self.known[one] for one in some], dtype=np.float32),
            hybrid=self.hybrid,
            content=False,
            backend="faiss",
        )
        self.all.index([(n, text, None) for n, text in enumerate(texts)])

    def ask(self, question, vector):
        self.known[question] = vector
        return [int(number) for number, _ in self.all.search(question, DEEP)]


class Mem0:
    """Its memory without its language model (infer=False), over its default vector store."""

    def __init__(self):
        from mem0 import Memory
        from mem0.utils import factory

        self.name = f"mem0 {version('mem0ai')} infer=False"
        self.known = known = {}

        class Given:
            config = type("Config", (), {"embedding_dims": 384})()

            def embed(self, text, *args, **kwargs):
                return known[text.strip()].tolist()

            def embed_batch(self, texts, *args, **kwargs):
                return [known[text.strip()].tolist() for text in texts]

        factory.EmbedderFactory.create = classmethod(lambda cls, *a, **k: Given())
        store = {"path": tempfile.mkdtemp(), "collection_name": "m", "embedding_model_dims": 384}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store | {"on_disk": False}},
                "embedder": {"provider": "huggingface", "config": {"model": "x"}},
                "llm": {"provider": "openai", "config": {"api_key": "unused"}},
                "history_db_path": f"{tempfile.mkdtemp()}/history.db",
            }
        )

    def hold(self, number, texts, vectors):
        self.user = f"talk{number}"
        # It strips what it is asked.
        self.known |= {text.strip(): one for text, one in zip(texts, vectors, strict=True)}
        for place, text in enumerate(texts):
            self.memory.add(
                [{"role": "user", "content": text}],
                user_id=self.user,
                infer=False,
                metadata={"place": place},
            )

    def ask(self, question, vector):
        self.known[question.strip()] = vector
        found = self.memory.search(
            question, top_k=DEEP, filters={"user_id": self.user}, threshold=0.0
        )
        return [one["metadata"]["place"] for one in found["results"]]


WAYS = {
    "chromadb": [Chromadb],
    "txtai": [lambda: Txtai(False), lambda: Txtai(True)],
    "mem0": [Mem0],
}


def main(name: str, folder: Path) -> None:
    talks = json.loads((folder / "talks.json").read_text())
    vectors = np.load(folder / "vectors.npz")
    ways = [_measure(make(), talks, vectors) for make in WAYS[name]]
    (folder / f"{name}.json").write_text(json.dumps(ways))


def _measure(peer, talks, vectors) -> dict:
    found = []
    for number, talk in enumerate(talks):
        peer.hold(number, talk["texts"], vectors[f"m{number}"])
        for question, vector in zip(talk["questions"], vectors[f"q{number}"], strict=True):
            began = time.perf_counter()
            places = peer.ask(question, vector)
            found.append((places, (time.perf_counter() - began) * 1000))
    return {"name": peer.name, "found": found}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
