"""When a person says that it is otherwise, the new fact takes the old one's place at once.

Only for an open correction ("actually, …", "no, es …"), and only of facts that cannot hold beside
it; what merely disagrees is left to the night, which proposes. Like every change it can be undone.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from memory.extraction import changes_of_mind, tags
from memory.extraction.apply import Applied
from memory.extraction.second_person import told_to
from memory.llm.providers import offline_intents as intents
from memory.models import Chat, Fact

A_MOMENT = timedelta(hours=1)
CORRECTED = "corrected"


def settle(chat: Chat, *, said: str, learned: Sequence[Applied], now: datetime) -> list[Applied]:
    """Retire what the person has just corrected; for each fact that went, its words until now."""
    if intents.read(said).name != "correct":
        return []
    gone = []
    for fact in _believed(learned):
        for old in _mistaken(fact, chat):
            done = changes_of_mind.give_way(old, new=fact, by="tag", now=now)
            gone += [Applied(CORRECTED, old.fact.text, done)] if done.changed else []
    return gone


def told(learned: Sequence[Applied], *, person: str) -> str:
    """What the reply adds when something gave way, and only then."""
    old = [told_to(person, one.said) for one in learned if one.tag == CORRECTED]
    return _("Corrected. Until now: %(old)s") % {"old": "; ".join(old)} if old else ""


def latest(chat: Chat, *, now: datetime) -> Fact | None:
    """The fact that was learned last in this chat, if that was a moment ago."""
    known = Fact.objects.in_scope(chat).live()
    since = known.filter(message__chat=chat, last_seen_at__gt=now - A_MOMENT, last_seen_at__lte=now)
    return since.order_by("-last_seen_at", "-pk").first()


def _believed(learned: Sequence[Applied]) -> list[Fact]:
    rows = [one.done.row for one in learned if one.tag == tags.FACT and one.done]
    return [row for row in rows if isinstance(row, Fact) and row.status == Fact.Status.ACTIVE]


def _mistaken(fact: Fact, chat: Chat) -> list[changes_of_mind.Superseded]:
    # Whoever may write to the whole space may correct there what they said themselves.
    return changes_of_mind.find_superseded(
        chat.space,
        chat,
        fact.text,
        fact.subject,
        whole_space=fact.chat_id is None,
        speaker=fact.message,
        correcting=True,
        ignore=fact,
    )
