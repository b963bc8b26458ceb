"""Talking to Keno in the browser. Words enter by the database; the worker answers into it."""

from django.contrib.auth.models import User
from django.db import transaction

from memory import chats, facts, history, inbox
from memory.history import Done
from memory.models import Chat, Fact, Message, Space
from memory.text import short

CHANNEL = "web"
# Seconds. In a browser a message is whole when it is sent; others on their way may still join it.
PAUSE = 0.4
TITLE = 60
TOOK_BACK = "take back"


def name_of(user: User) -> str:
    return user.get_full_name() or user.get_username()


@transaction.atomic
def begin(space: Space, *, user: User, text: str, key: str) -> Chat:
    """A new chat with its first message; the same key again is the same chat."""
    chat = chats.find_or_open(space, channel=CHANNEL, external_id=key, title=short(text, TITLE))
    say(chat, user=user, text=text, key="first")
    return chat


def say(chat: Chat, *, user: User, text: str, key: str) -> Message | None:
    """Keep the message and have it answered. None when this key was here before."""
    return inbox.take(
        chat,
        text=text,
        external_id=f"web-{key}",
        author=name_of(user),
        author_id=str(user.pk),
        silence=PAUSE,
    )


@transaction.atomic
def take_back(fact: Fact, *, by: str) -> Done:
    """Not learned after all: into the trash, and what it had replaced is believed again."""
    with history.change(by=by, why=TOOK_BACK) as context:
        done = facts.discard(fact, by=by)
        for old in Fact.objects.filter(superseded_by=fact, status=Fact.Status.SUPERSEDED):
            facts.restore(old, by=by)
    return Done(fact, context.id) if done.changed else done


@transaction.atomic
def take_again(fact: Fact, *, by: str) -> Done:
    """Learned all the same."""
    last = next(iter(history.history(fact, most=1)), None)
    if last is None or last.why != TOOK_BACK:
        return facts.restore(fact, by=by)
    try:
        with transaction.atomic(), history.change(by=by, why="redo") as context:
            history.undo_context(last.context_id, by=by)
    except history.Conflict:
        # What it had replaced was changed meanwhile and stays as it is now.
        return facts.restore(fact, by=by)
    fact.refresh_from_db()
    return Done(fact, context.id)
