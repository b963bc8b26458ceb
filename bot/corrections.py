"""When a person says that it is otherwise, the new fact takes the old one's place at once.

Only for an open correction ("actually, …", "no, es …") of a fact that cannot hold beside it; what
merely disagrees is left to the night, which proposes. Like every change it can be undone.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import QuerySet

from memory import facts, meaning, text
from memory.extraction import intents, tags
from memory.extraction.apply import Applied
from memory.history import Done
from memory.models import Chat, Fact
from sleep.conflicts import contradict, relation

A_MOMENT = timedelta(hours=1)
# How many words the fact of a moment ago must share with its correction.
ALIKE = 0.5
# How near "el perro de Ana" must be to "Ana's dog"; a son and a daughter are .87 alike.
SAME_THING = 0.9
MOST = 200


def settle(chat: Chat, *, said: str, learned: Sequence[Applied], now: datetime) -> list[Done]:
    """Retire what the person has just corrected; the facts that went, as Done(new fact)."""
    if intents.read(said).name != "correct":
        return []
    new = [one.done.row for one in learned if one.tag == tags.FACT and _is_believed(one)]
    return [
        facts.supersede(old, by="tag", new=fact, now=now)
        for fact in new
        for old in _mistaken(fact, chat, now=now)
    ]


def latest(chat: Chat, *, now: datetime) -> Fact | None:
    """The fact that was learned last in this chat, if that was a moment ago."""
    return _fresh(Fact.objects.in_scope(chat).live(), chat, now=now)


def _is_believed(one: Applied) -> bool:
    row = one.done.row if one.done else None
    return row is not None and row.status == Fact.Status.ACTIVE


def _mistaken(fact: Fact, chat: Chat, *, now: datetime) -> list[Fact]:
    known = Fact.objects.in_scope(chat).live().filter(pinned=False).exclude(pk=fact.pk)
    about = known.filter(subject=fact.subject).order_by("-last_seen_at", "-pk")[:MOST]
    wrong = [old for old in about if _disagree(old, fact)]
    last = _fresh(known, chat, now=now)
    if last and last not in wrong and last.subject == fact.subject:
        wrong += [last] if text.jaccard(last.text, fact.text) >= ALIKE else []
    return wrong


def _disagree(old: Fact, new: Fact) -> bool:
    if contradict(old.text, new.text, subject=new.subject):
        return True
    left, right = relation(old.text, old.subject), relation(new.text, new.subject)
    if not (left and right) or left.attribute != right.attribute or left.value & right.value:
        return False
    # The same thing told in the other language.
    return (meaning.likeness(left.subject, right.subject) or 0) >= SAME_THING


def _fresh(known: QuerySet, chat: Chat, *, now: datetime) -> Fact | None:
    since = known.filter(message__chat=chat, last_seen_at__gt=now - A_MOMENT, last_seen_at__lte=now)
    return since.order_by("-last_seen_at", "-pk").first()
