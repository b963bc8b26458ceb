"""Memory's jobs."""

from procrastinate.contrib.django import app

from memory import embeddings
from memory.jobs import Backoff


@app.task(name="memory.ingest", retry=Backoff(first=5, longest=600, attempts=8))
def ingest(message_ids: list[int], reply_id: int, space_id: int) -> None:
    """Find facts in what was said, with guards, and embed them."""


@app.periodic(cron="*/5 * * * *")
@app.task(name="memory.embed_missing", queueing_lock="memory.embed_missing", pass_context=False)
def embed_missing(timestamp: int) -> None:
    """Embed what a failing provider, an import or raw SQL left without a vector."""
    embeddings.backfill(limit=2000)
