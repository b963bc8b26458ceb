"""Decide where one episode ends and the next begins. Pure."""

import re
from datetime import datetime, timedelta
from math import sqrt
from zoneinfo import ZoneInfo

import numpy as np

from memory.text import normalise as text

# Below this likeness the talk has turned to something else.
SAME_TOPIC = 0.3
SILENCE = timedelta(hours=4)
# People jump between topics within a minute and come back; after a pause they rarely do.
PAUSE = timedelta(minutes=20)
NEW_TOPIC = re.compile(r"(?:^|\s)/(?:new-topic|nuevo-tema)(?=$|[\s.,!?])", re.IGNORECASE)
# Fewer words than this ("ok, thanks") belong to whatever was being talked about.
MIN_STEMS = 4
# Messages on either side of a change of topic that are compared, how unlike they are there, and the
# fewest that an episode has. Measured on talks of friends, families and colleagues.
BLOCK, CHANGED_TOPIC, MIN_MESSAGES = 3, 0.38, 5
MESSAGES_PER_CHANGE = 15


def boundary(
    message: str,
    *,
    at: datetime,
    last_at: datetime,
    zone: ZoneInfo,
    similarity: float | None = None,
) -> str:
    """Why this message begins a new episode: command, silence, day, topic; "" when it does not.

    `similarity` is to what the open episode says, 0..1; None when unknown. A topic that changes
    without a pause is found when the episode ends, by `topic_changes`.
    """
    if NEW_TOPIC.search(message):
        return "command"
    if at - last_at > SILENCE:
        return "silence"
    if at.astimezone(zone).date() != last_at.astimezone(zone).date():
        return "day"
    if similarity is not None and similarity < SAME_TOPIC and at - last_at >= PAUSE:
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


def says_something(message: str) -> bool:
    return len(text.stems(message)) >= MIN_STEMS


def topic_changes(vectors: np.ndarray) -> list[int]:
    """Return the positions of the messages that begin another topic, of messages in their order.

    At most two in a session of usual length: the clearest ones.
    """
    count = len(vectors)
    unlike = sorted(
        (_likeness(vectors[max(0, place - BLOCK) : place], vectors[place : place + BLOCK]), place)
        for place in range(MIN_MESSAGES, count - MIN_MESSAGES + 1)
    )
    changes: list[int] = []
    for likeness, place in unlike:
        if likeness >= CHANGED_TOPIC or len(changes) == max(2, count // MESSAGES_PER_CHANGE):
            break
        if all(abs(place - other) >= MIN_MESSAGES for other in changes):
            changes.append(place)
    return sorted(changes)


def _likeness(before: np.ndarray, after: np.ndarray) -> float:
    left, right = before.mean(axis=0), after.mean(axis=0)
    length = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / length if length else 0.0
