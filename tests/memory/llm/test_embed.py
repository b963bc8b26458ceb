"""Embedding: two languages, one space of meaning; bad vectors are caught."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from memory.vectors import embed, graphs
from memory.vectors import embed as remote_embedding
from memory.vectors import graphs as embedded

STORED_VECTORS = Path(__file__).parents[2] / "data" / "stored_vectors.json"


def test_the_embedded_model_needs_no_setting_and_gives_unit_vectors():
    rows = embed.embed(["Ana likes tea", "", "¿Dónde vive?"])
    assert rows.shape == (3, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)


def test_what_was_embedded_a_moment_ago_is_not_embedded_again(monkeypatch):
    """A turn needs its words for recall, for the topic and for their row."""
    model, runs = embedded.EmbeddedModel(), []
    run = graphs._run_one
    monkeypatch.setattr(graphs, "_run_one", lambda *args: runs.append(1) or run(*args))
    first, again = model.embed(["Ana likes tea"]), model.embed(["Ana likes tea", "Bo does not"])
    assert len(runs) == 2
    assert np.array_equal(first[0], again[0])
    again[0] = 0
    assert np.array_equal(first, model.embed(["Ana likes tea"]))


def test_spanish_and_english_meet():
    ask = embed.embed_query("¿Dónde vive mi hermana?")
    near, far = embed.embed(["My sister lives in Seville.", "The build failed on Friday."])
    assert ask @ near > ask @ far + 0.2


def test_many_texts_give_what_single_texts_give():
    texts = ["short", "a somewhat longer line about the weather", "otra línea en español"]
    texts += [f"{text}, said {n} times" for n in range(22) for text in texts]
    alone = np.vstack([embed.embed([text]) for text in texts])
    assert np.array_equal(embedded.EmbeddedModel().embed(texts), alone)
    assert embedded.EmbeddedModel().embed([]).shape == (0, embedded.DIMENSIONS)


def test_vectors_that_existing_homes_stored_under_this_name_are_still_equal():
    stored = json.loads(STORED_VECTORS.read_text())
    assert embed.current().name == stored["name"]
    for text, vector in stored["vectors"].items():
        # Another kind of processor rounds the small integers otherwise.
        assert embed.embed_query(text) @ np.array(vector) > 0.98, text


def test_it_is_loaded_once():
    assert embed.current() is embed.current()


@pytest.mark.parametrize(
    "bad",
    [
        [0.0] * 4,
        [float("nan"), 1, 1, 1],
        [float("inf"), 1, 1, 1],
        [1.0] * 3,
        [1.0] * 3072,
        ["a", "b", "c", "d"],
        "text",
        None,
        [[1.0] * 4],
        [1e-9] * 4,
    ],
    ids=lambda bad: str(bad)[:20],
)
def test_t23_a_bad_vector_is_no_vector(bad):
    assert embed.good_vector(bad, dims=4) is None


def test_t23_a_good_vector_gets_length_one():
    assert np.allclose(embed.good_vector([3, 0, 4, 0], dims=4), [0.6, 0, 0.8, 0])


def test_switched_off_it_says_so(settings):
    settings.EMBEDDING_ENABLED = False
    with pytest.raises(embed.EmbeddingFailed, match="EMBEDDING_ENABLED"):
        embed.embed(["x"])


class Provider(BaseHTTPRequestHandler):
    """Speaks both wire protocols; `script` holds the status codes to answer with first."""

    script: list[int] = []
    seen: list[tuple[str, dict, dict]] = []
    make = staticmethod(lambda text: [float(len(text)), 1.0, 0.0])

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, body, dict(self.headers)))
        status = self.script.pop(0) if self.script else 200
        answer = self._answer(body) if status == 200 else {"error": {"message": "no"}}
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def _answer(self, body):
        if self.path.endswith(":batchEmbedContents"):
            texts = [r["content"]["parts"][0]["text"] for r in body["requests"]]
            return {"embeddings": [{"values": self.make(text)} for text in texts]}
        rows = [{"index": i, "embedding": self.make(t)} for i, t in enumerate(body["input"])]
        return {"data": rows[::-1]}

    def log_message(self, *args):
        pass


@pytest.fixture
def provider():
    Provider.script, Provider.seen = [], []
    Provider.make = staticmethod(lambda text: [float(len(text)), 1.0, 0.0])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def remote(provider, settings):
    def choose(name):
        settings.EMBEDDING_PROVIDER = name
        settings.EMBEDDING_DIMENSIONS = 3
        settings.EMBEDDING_BASE_URL = f"http://127.0.0.1:{provider.server_port}/v1"
        settings.EMBEDDING_API_KEY = "a-key"
        embedder = embed.current()
        embedder.pauses = []
        embedder.pause = embedder.pauses.append
        return embedder

    return choose


def test_an_openai_compatible_server_answers_in_order(remote):
    remote("openai")
    assert [row[0] for row in embed.embed(["a", "bbb", "cc"])] == [1, 3, 2]
    path, body, headers = Provider.seen[0]
    assert path == "/v1/embeddings"
    assert body == {"model": "text-embedding-3-small", "input": ["a", "bbb", "cc"], "dimensions": 3}
    assert headers["Authorization"] == "Bearer a-key"


def test_gemini_tells_questions_from_documents(remote):
    assert remote("gemini").name == "gemini:gemini-embedding-001:3"
    embed.embed(["a fact"])
    embed.embed_query("a question")
    kinds = [body["requests"][0]["taskType"] for _, body, _ in Provider.seen]
    assert kinds == ["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"]
    assert Provider.seen[0][1]["requests"][0]["outputDimensionality"] == 3
    assert "a-key" not in Provider.seen[0][0]


def test_many_texts_go_in_batches(remote):
    remote("openai")
    assert len(embed.embed([f"text {i}" for i in range(250)])) == 250
    assert [len(body["input"]) for _, body, _ in Provider.seen] == [100, 100, 50]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again_with_patience(remote, status):
    embedder = remote("openai")
    Provider.script = [status, status]
    assert len(embed.embed(["x"])) == 1
    assert embedder.pauses == [1, 2]


def test_a_server_that_stays_busy_is_a_failure_that_says_why(remote):
    embedder = remote("openai")
    Provider.script = [429] * 9
    with pytest.raises(embed.EmbeddingFailed, match="429"):
        embed.embed(["x"])
    assert embedder.pauses == [1, 2, 4]


def test_a_refusal_is_not_repeated(remote):
    embedder = remote("openai")
    Provider.script = [401]
    with pytest.raises(embed.EmbeddingFailed, match="401"):
        embed.embed(["x"])
    assert embedder.pauses == []


def test_a_question_does_not_wait_for_a_busy_server(remote):
    embedder = remote("openai")
    Provider.script = [503]
    with pytest.raises(embed.EmbeddingFailed):
        embed.embed_query("x")
    assert embedder.pauses == []


def test_nobody_listening_is_a_failure_not_a_crash(settings):
    settings.EMBEDDING_PROVIDER = "openai"
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    with pytest.raises(embed.EmbeddingFailed):
        embed.embed_query("x")


def test_a_hanging_server_is_left_after_the_time_limit(monkeypatch, settings):
    monkeypatch.setattr(remote_embedding, "QUERY_SECONDS", 0.05)
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as silent:  # accepts, never answers
        settings.EMBEDDING_PROVIDER = "gemini"
        settings.EMBEDDING_BASE_URL = f"http://127.0.0.1:{silent.server_port}"
        with pytest.raises(embed.EmbeddingFailed, match="Timeout"):
            embed.embed_query("x")


@pytest.mark.parametrize(
    "make", [lambda t: [0, 0, 0], lambda t: [1], lambda t: ["a"], lambda t: None]
)
def test_t23_a_question_with_a_bad_vector_fails_cleanly(remote, make):
    remote("openai")
    Provider.make = staticmethod(make)
    with pytest.raises(embed.EmbeddingFailed):
        embed.embed_query("x")
