"""A conversation inside Keno: its rows in the real database, its questions through recall()."""

import time
from dataclasses import dataclass

import numpy as np

from bench.measures import DEEPEST
from bench.questions import Conversation, Question
from memory.models import Chat, Episode, Fact, Message, Space
from memory.retrieval import features, lanes
from memory.retrieval.profiles import Profile
from memory.retrieval.recall import recall
from memory.retrieval.understand import understand
from memory.text import normalise as text
from memory.vectors import store as embeddings


@dataclass
class Held:
    """A space that holds one conversation; `ids` leads from owner ids back to memory ids."""

    conversation: Conversation
    space: Space
    chat: Chat | None
    ids: dict[int, str]

    def ask(self, question: Question, *, profile: Profile | str) -> tuple[list[str], float]:
        """The memories found, best first, and the milliseconds of the whole recall()."""
        began = time.perf_counter()
        result = recall(
            self.space,
            question.text,
            chat=self.chat,
            now=self.conversation.now,
            kinds=(self.conversation.kind,),
            limit=DEEPEST,
            profile=profile,
            # By the clock the judge would read less on a busy machine, and find less.
            settled=True,
        )
        ms = (time.perf_counter() - began) * 1000
        if result.error:
            raise RuntimeError(result.error)
        return [self.ids[one.unit.owner_id] for one in result.items], ms

    def weigh(self, question: Question) -> tuple[np.ndarray, list[str]]:
        """Features of every candidate and their ids: what weights are learned from."""
        from memory.vectors import embed

        scope, now, embedder = (
            lanes.Scope.of(self.space, self.chat),
            self.conversation.now,
            embeddings.active(),
        )
        asked = understand(question.text, scopes=scope.here, now=now)
        vectors = tuple(embed.embed_query(said, by=embedder) for said in (asked.bare, asked.text))
        found = lanes.collect(
            scope,
            asked,
            now=now,
            embedder=embedder,
            vectors=vectors,
            kinds=(self.conversation.kind,),
        )
        known = features.compute(asked, found, now=now, chat_id=self.chat and self.chat.pk)
        rows = [[known[unit.id][name] for name in features.NAMES] for unit in found.units]
        return np.array(rows), [self.ids[unit.owner_id] for unit in found.units]


def hold(conversation: Conversation, *, slug: str) -> Held:
    space = Space.objects.create(name=slug, slug=slug, language=conversation.language)
    if conversation.kind == "fact":
        return _facts(conversation, space)
    chat = Chat.objects.create(
        space=space, channel="import", external_id=slug, key=f"import-{slug}"
    )
    episodes = _episodes(conversation, chat)
    rows = [
        Message(
            space=space,
            chat=chat,
            episode=episodes[memory.session],
            role=Message.Role.USER,
            author=memory.speaker,
            text=memory.text,
            language=conversation.language,
            external_id=memory.id,
            sent_at=memory.at,
        )
        for memory in conversation.memories
    ]
    made = Message.objects.bulk_create(rows)
    embeddings.backfill(space=space)
    return Held(conversation, space, chat, {row.pk: row.external_id for row in made})


def _episodes(conversation: Conversation, chat: Chat) -> dict[int, Episode]:
    made = {}
    for memory in conversation.memories:
        if memory.session not in made:
            made[memory.session] = Episode.objects.create(
                space=chat.space,
                chat=chat,
                status="closed",
                started_at=memory.at,
                ended_at=memory.at,
            )
    return made


def _facts(conversation: Conversation, space: Space) -> Held:
    rows = [
        Fact(
            space=space,
            text=memory.text,
            said_key=text.said_key(memory.text),
            language=conversation.language,
            created_at=memory.at,
            updated_at=memory.at,
        )
        for memory in conversation.memories
    ]
    made = Fact.objects.bulk_create(rows)
    embeddings.backfill(space=space)
    ids = {row.pk: memory.id for row, memory in zip(made, conversation.memories, strict=True)}
    return Held(conversation, space, None, ids)
