"""Where one episode ends and the next begins. Pure: words and times in, a reason out."""

import re
from datetime import datetime, timedelta
from math import sqrt
from zoneinfo import ZoneInfo

from memory import text

# Below this likeness the talk has turned to something else.
SAME_TOPIC = 0.3
SILENCE = timedelta(hours=4)
NEW_TOPIC = re.compile(r"(?:^|\s)/(?:new-topic|nuevo-tema)(?=$|[\s.,!?])", re.IGNORECASE)
# Fewer words than this ("ok, thanks") belong to whatever was being talked about.
TELLING = 4


def boundary(
    said: str,
    *,
    at: datetime,
    last_at: datetime,
    zone: ZoneInfo,
    similarity: float | None = None,
) -> str:
    """Why this message begins a new episode: command, silence, day, topic; "" when it does not.

    `similarity` is to what the open episode says, 0..1; None when nobody can tell.
    """
    if NEW_TOPIC.search(said):
        return "command"
    if at - last_at > SILENCE:
        return "silence"
    if at.astimezone(zone).date() != last_at.astimezone(zone).date():
        return "day"
    if similarity is not None and similarity < SAME_TOPIC:
        return "topic"
    return ""


def similarity(said: str, episode: str) -> float | None:
    """Likeness by words, for when there are no vectors; None when there are too few to tell.

    People rarely repeat themselves within a topic, so one shared word of meaning is enough to stay.
    """
    mine, theirs = text.stems(said), text.stems(episode)
    if len(mine) < TELLING or len(theirs) < TELLING:
        return None
    shared = len(mine & theirs)
    return max(SAME_TOPIC, shared / sqrt(len(mine) * len(theirs))) if shared else 0.0
