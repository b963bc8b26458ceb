"""Decide where one episode ends and the next begins. Pure."""

import re
from datetime import datetime, timedelta
from math import sqrt
from zoneinfo import ZoneInfo

from memory.text import normalise as text

# Below this likeness the talk has turned to something else.
SAME_TOPIC = 0.3
SILENCE = timedelta(hours=4)
NEW_TOPIC = re.compile(r"(?:^|\s)/(?:new-topic|nuevo-tema)(?=$|[\s.,!?])", re.IGNORECASE)
# Fewer words than this ("ok, thanks") belong to whatever was being talked about.
MIN_STEMS = 4


def boundary(
    message: str,
    *,
    at: datetime,
    last_at: datetime,
    zone: ZoneInfo,
    similarity: float | None = None,
) -> str:
    """Why this message begins a new episode: command, silence, day, topic; "" when it does not.

    `similarity` is to what the open episode says, 0..1; None when unknown.
    """
    if NEW_TOPIC.search(message):
        return "command"
    if at - last_at > SILENCE:
        return "silence"
    if at.astimezone(zone).date() != last_at.astimezone(zone).date():
        return "day"
    if similarity is not None and similarity < SAME_TOPIC:
        return "topic"
    return ""


def similarity(message: str, episode: str) -> float | None:
    """Return the similarity by words, when there are no vectors; None when there are too few words.

    People rarely repeat themselves within a topic, so one shared word of meaning is enough to stay.
    """
    mine, theirs = text.stems(message), text.stems(episode)
    if len(mine) < MIN_STEMS or len(theirs) < MIN_STEMS:
        return None
    shared = len(mine & theirs)
    return max(SAME_TOPIC, shared / sqrt(len(mine) * len(theirs))) if shared else 0.0
