"""Memory's jobs."""

from procrastinate.contrib.django import app

from memory.jobs import Backoff


@app.task(name="memory.ingest", retry=Backoff(first=5, longest=600, attempts=8))
def ingest(message_ids: list[int], reply_id: int, space_id: int) -> None:
    """Find facts in what was said, with guards, and embed them."""
