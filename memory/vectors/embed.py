"""Embed texts as vectors, by the provider in the settings."""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import httpx
import numpy as np
from django.conf import settings

from memory.vectors.graphs import EmbeddedModel

MAX_TEXT_LENGTH = 8000


class EmbeddingFailed(Exception):
    """The embedding provider gave no usable vectors; words still find everything."""


class Embedder(Protocol):
    provider: str
    model: str
    name: str
    dims: int

    def embed(self, texts: list[str], *, query: bool = False) -> Sequence: ...

    def __hash__(self) -> int: ...


def enabled() -> bool:
    return settings.EMBEDDING_ENABLED


def current() -> Embedder:
    """Return the embedder of the settings; the same object as long as they do not change."""
    return embedder(
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS
    )


def embedder(provider: str, model: str, dims: int) -> Embedder:
    """Return an embedder by name; its URL and key come from the settings."""
    return _embedder(provider, model, dims, settings.EMBEDDING_BASE_URL, settings.EMBEDDING_API_KEY)


@lru_cache(maxsize=4)
def _embedder(provider: str, model: str, dims: int, base_url: str, key: str) -> Embedder:
    remote = {"openai": OpenAI, "gemini": Gemini}.get(provider)
    if remote is None:
        return EmbeddedModel()
    return remote(model=model, dims=dims, base_url=base_url, key=key)


def embed(texts: list[str], *, query: bool = False, by: Embedder | None = None) -> Sequence:
    """Return one row per text, in order. Rows may be bad: pass each through good_vector()."""
    if not texts:
        return []
    if not enabled():
        raise EmbeddingFailed("Embeddings are switched off (EMBEDDING_ENABLED).")
    try:
        rows = (by or current()).embed([text[:MAX_TEXT_LENGTH] for text in texts], query=query)
    except Exception as error:
        # Whatever a provider does wrong (network, JSON, shapes), a memory is never lost by it.
        raise EmbeddingFailed(f"{type(error).__name__}: {error}"[:300]) from error
    if len(rows) != len(texts):
        raise EmbeddingFailed(f"Asked for {len(texts)} vectors, got {len(rows)}.")
    return rows


def embed_query(text: str, *, by: Embedder | None = None) -> np.ndarray:
    """Return the vector of a question, embedded alone: a batch would change its third decimal."""
    by = by or current()
    vector = good_vector(embed([text], query=True, by=by)[0], dims=by.dims)
    if vector is None:
        raise EmbeddingFailed("The provider's vector for the question is unusable.")
    return vector


def good_vector(values: object, *, dims: int) -> np.ndarray | None:
    """Return the vector with length 1; None when it has the wrong size, is zero or not finite."""
    try:
        vector = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    if vector.shape != (dims,) or not np.isfinite(vector).all():
        return None
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-6 else None


TRY_AGAIN = {408, 409, 429, 500, 502, 503, 504, 529}
PAUSES = (1, 2, 4)
# A question is asked while a person waits: one try, and words answer alone if it fails.
QUERY_SECONDS = 4
WRITE_SECONDS = 30


class Remote:
    """What both protocols share: batches, time limits and patience with a busy server."""

    provider = ""
    default_model = ""
    default_dims = 0
    default_url = ""
    batch = 100

    def __init__(self, *, model: str, dims: int, base_url: str, key: str):
        self.model = model or self.default_model
        self.wanted_dims = dims
        self.dims = dims or self.default_dims
        self.base_url = (base_url or self.default_url).rstrip("/")
        self.key = key
        self.pause: Callable[[float], None] = time.sleep
        self.name = f"{self.provider}:{self.model}:{self.dims}"

    def embed(self, texts: list[str], *, query: bool = False) -> list[list[float]]:
        starts = range(0, len(texts), self.batch)
        batches = (texts[start : start + self.batch] for start in starts)
        return [row for batch in batches for row in self._batch(batch, query=query)]

    def _batch(self, texts: list[str], *, query: bool) -> list[list[float]]:
        raise NotImplementedError

    def _post(self, path: str, body: dict, *, headers: dict, query: bool) -> dict:
        for pause in (*(() if query else PAUSES), None):
            try:
                answer = httpx.post(
                    self.base_url + path,
                    json=body,
                    headers=headers,
                    timeout=QUERY_SECONDS if query else WRITE_SECONDS,
                )
                if answer.status_code not in TRY_AGAIN or pause is None:
                    return answer.raise_for_status().json()
            except httpx.TransportError:
                if pause is None:
                    raise
            self.pause(pause)
        raise AssertionError("the last try returns or raises")


class OpenAI(Remote):
    """OpenAI, Ollama, vLLM and other servers with POST /embeddings."""

    provider = "openai"
    default_model = "text-embedding-3-small"
    default_dims = 1536
    default_url = "https://api.openai.com/v1"

    def _batch(self, texts, *, query):
        body = {"model": self.model, "input": texts}
        if self.wanted_dims:
            body["dimensions"] = self.wanted_dims
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        answer = self._post("/embeddings", body, headers=headers, query=query)
        return [row["embedding"] for row in sorted(answer["data"], key=lambda row: row["index"])]


class Gemini(Remote):
    """Google's own protocol: it tells questions from documents."""

    provider = "gemini"
    default_model = "gemini-embedding-001"
    default_dims = 768
    default_url = "https://generativelanguage.googleapis.com/v1beta"

    def _batch(self, texts, *, query):
        task = "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"
        requests = [
            {
                "model": f"models/{self.model}",
                "content": {"parts": [{"text": text}]},
                "taskType": task,
                "outputDimensionality": self.dims,
            }
            for text in texts
        ]
        path = f"/models/{self.model}:batchEmbedContents"
        headers = {"x-goog-api-key": self.key}
        answer = self._post(path, {"requests": requests}, headers=headers, query=query)
        return [row["values"] for row in answer["embeddings"]]
