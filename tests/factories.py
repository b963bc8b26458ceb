"""Rows for tests: functions with overrides."""

from itertools import count

from memory import text as words
from memory.models import Chat, Episode, Fact, Message, Pattern, Space

_n = count(1)


def make_space(slug: str = "", **given) -> Space:
    slug = slug or f"space-{next(_n)}"
    return Space.objects.create(**{"name": slug.title(), "slug": slug} | given)


def make_chat(space: Space, external_id: str = "", channel: str = "telegram", **given) -> Chat:
    external_id = external_id or str(next(_n))
    key = f"{channel}-{external_id}"
    return Chat.objects.create(
        **{"space": space, "channel": channel, "external_id": external_id, "key": key} | given
    )


def make_message(chat: Chat, text: str = "hello", **given) -> Message:
    return Message.objects.create(
        **{
            "space": chat.space,
            "chat": chat,
            "role": Message.Role.USER,
            "author": "Ana",
            "text": text,
            "external_id": str(next(_n)),
        }
        | given
    )


def make_fact(space: Space, text: str = "", **given) -> Fact:
    text = text or f"fact number {next(_n)}"
    return Fact.objects.create(
        **{"space": space, "text": text, "said_key": words.said_key(text), "subject": "Ana"} | given
    )


def make_episode(space: Space, **given) -> Episode:
    return Episode.objects.create(
        **{"space": space, "title": f"episode {next(_n)}", "body": "We talked.", "status": "closed"}
        | given
    )


def make_pattern(space: Space, **given) -> Pattern:
    n = next(_n)
    return Pattern.objects.create(
        **{"space": space, "slug": f"p{n}", "trigger": f"trigger{n}", "response": "answer"} | given
    )
