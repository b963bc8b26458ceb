"""Talking to Keno in the browser. Words enter by the database; the worker answers into it."""

from django.contrib.auth.models import User
from django.db import transaction

from memory.chats import inbox
from memory.chats import service as chats
from memory.facts import service as facts
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Fact, Message, Space
from memory.text.normalise import short

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
    return inbox.receive(
        chat,
        text=text,
        external_id=f"web-{key}",
        author=name_of(user),
        author_id=str(user.pk),
        silence=PAUSE,
    )


@transaction.atomic
def take_back(fact: Fact, *, by: str) -> ChangeResult:
    """Not learned after all: into the trash, and what it had replaced is believed again."""
    with history.change(by=by, why=TOOK_BACK) as context:
        done = facts.discard(fact, by=by)
        for old in Fact.objects.filter(superseded_by=fact, status=Fact.Status.SUPERSEDED):
            facts.restore(old, by=by)
    return ChangeResult(fact, context.id) if done.changed else done


@transaction.atomic
def take_again(fact: Fact, *, by: str) -> ChangeResult:
    """Learned all the same."""
    last = next(iter(history.history(fact, limit=1)), None)
    if last is None or last.why != TOOK_BACK:
        return facts.restore(fact, by=by)
    try:
        with transaction.atomic(), history.change(by=by, why="redo") as context:
            history.undo_context(last.context_id, by=by)
    except history.Conflict:
        # What it had replaced was changed meanwhile and stays as it is now.
        return facts.restore(fact, by=by)
    fact.refresh_from_db()
    return ChangeResult(fact, context.id)
