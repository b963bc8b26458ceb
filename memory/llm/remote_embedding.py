"""Embeddings over HTTP: servers that speak OpenAI's protocol, and Gemini's."""

import time
from collections.abc import Callable

import httpx

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
        rows = []
        for start in range(0, len(texts), self.batch):
            rows += self._batch(texts[start : start + self.batch], query=query)
        return rows

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
