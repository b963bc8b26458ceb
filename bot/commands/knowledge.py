"""What Keno knows: told, corrected, ended, forgotten, and all of it taken back."""

import re
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bot.commands.asked import Answer, CommandCall, command, ended, forgotten, sentence_for
from bot.commands.talk import forget_episode
from memory import patterns
from memory.extraction import changes_of_mind, evidence, ingest
from memory.extraction.propose import HEURISTICS, Candidate
from memory.facts import service as facts
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Fact, Message
from memory.spaces.chat_links import said_by_same
from memory.text import normalise as text
from memory.text import shorthand

# How many replies back something that can be undone is looked for.
MAX_REPLIES_BACK = 50
MAX_FACTS = 400
# How many messages back words that are no fact are looked for.
MAX_MESSAGES = 2000
MAX_NOTED = 300
MAX_LISTED = 5
# Which part of the words a fact must hold to be meant, and how far behind the best it may be.
MATCH_SHARE, CLOSE_SHARE = 0.6, 0.8
_AGAINST = re.compile(
    r"\b(?:than|over|instead of|rather than|en vez de|en lugar de)\b"
    r"|\b(?:mas|menos|mejor|peor)\b.{0,30}?\bque\b"
)
NUMBER = re.compile(r"#(\d{1,12})\b\s*")
LAST = {"last", "ultimo", "ultima", "lo ultimo", "la ultima", "el ultimo"}
# How alike a fact must be to be the one that a new wording is about.
ABOUT = 0.34


@transaction.atomic
def undo_last(chat: Chat, *, by: str, now: datetime) -> str:
    """Take back what came with the newest reply that changed something; say what that was."""
    replies = Message.objects.filter(chat=chat, role=Message.Role.ASSISTANT).order_by("-pk")
    for reply in replies[:MAX_REPLIES_BACK]:
        standing = [entry for entry in reply.journal if _is_undoable(entry)]
        if standing:
            return _undo(reply, standing[-1], by=by, now=now)
    return _("There is nothing to take back in this chat.")


def _is_undoable(entry: object) -> bool:
    return isinstance(entry, dict) and bool(entry.get("changes")) and not entry.get("undone")


def _undo(reply: Message, entry: dict, *, by: str, now: datetime) -> str:
    ids = entry["changes"]
    try:
        with transaction.atomic():
            rows = history.undo_contexts(ids, by=by)
    except history.Conflict as conflict:
        rows = _discard_new_facts(ids, by=by, now=now)
        if not rows:
            return str(conflict)
    entry["undone"] = now.isoformat()
    reply.save(update_fields=["journal"])
    names = "\n".join(f"- {name}" for name in dict.fromkeys(map(_name, rows)) if name)
    return _("Undone:\n%(what)s") % {"what": names} if names else _("Undone.")


def _discard_new_facts(ids: Sequence[str], *, by: str, now: datetime) -> list[Fact]:
    """A fact that was said again meanwhile is not as it was; what was new of it still goes."""
    new = [
        step.object_id for step in history.changes_in(*ids) if step.model is Fact and step.is_create
    ]
    gone = []
    for fact in Fact.objects.filter(pk__in=new, status=Fact.Status.ACTIVE):
        gone += [fact] if facts.discard(fact, by=by, why="undo", now=now).changed else []
        for old in Fact.objects.filter(superseded_by=fact, status=Fact.Status.SUPERSEDED):
            facts.restore(old, by=by, now=now)
    return gone


def _name(row: object) -> str:
    words = (getattr(row, name, "") for name in ("text", "title", "trigger", "value", "task"))
    return text.short(next((word for word in words if word), ""), 120)


def facts_in_reach(call: CommandCall) -> QuerySet:
    """What this person may change from here: a curator all that the chat knows, anybody else
    what they said in this chat themselves, by their id."""
    facts = Fact.objects.in_scope(call.chat).live()
    if call.may_decide:
        return facts
    return facts.filter(said_by_same(call.message, prefix="message__"), chat=call.chat)


def last_learned(call: CommandCall) -> Fact | None:
    here = facts_in_reach(call).filter(message__chat=call.chat)
    return here.order_by("-created_at", "-pk").first()


def numbered(call: CommandCall) -> tuple[list[Fact] | None, str]:
    """The fact of a leading #12 (none when it is out of reach), and the words after it."""
    found = NUMBER.match(call.words)
    if not found:
        return None, call.words
    rest = call.words[found.end() :].strip("\"'“”«» ")
    return list(facts_in_reach(call).filter(pk=int(found[1]))), rest


def matching_facts(facts: QuerySet, words: str, *, at_least: float = MATCH_SHARE) -> list[Fact]:
    """The facts that hold these words, those that hold most of them first."""
    words = shorthand.written_out(words)
    wanted = text.stems(words) or set(text.words(words))
    # A stem is usually how its word begins; accents may differ, so the loose search is by vowels.
    holding = Q()
    for stem in wanted:
        holding |= Q(text__icontains=stem[:4]) | Q(text__iregex=text.loose_pattern(stem[:4]))
    ranked = []
    for fact in (
        facts.filter(holding).order_by("-last_seen_at", "-pk")[:MAX_FACTS] if wanted else []
    ):
        told = shorthand.written_out(fact.text)
        has = text.stems(told) or set(text.words(told))
        share = len(wanted & has) / len(wanted)
        if share >= at_least:
            ranked.append((share + 0.1 * len(wanted & has) / max(len(has), 1), fact))
    ranked.sort(key=lambda pair: -pair[0])
    return [fact for score, fact in ranked if score >= ranked[0][0] * CLOSE_SHARE]


def named(facts: Sequence[Fact], words: str) -> list[Fact]:
    """Those of the facts that hold these very words, and not only to compare something with them.

    "Bun is faster than npm for installing packages" does not name "npm install".
    """
    phrase = r"\W+".join(
        text.loose_pattern(word) + r"\w{0,3}" for word in text.words(text.fold(words))
    )
    holds = re.compile(rf"(?<!\w){phrase}(?!\w)", re.IGNORECASE)
    return [fact for fact in facts if holds.search(_AGAINST.split(text.fold(fact.text))[0])]


def as_list(facts: Sequence[Fact]) -> str:
    return "\n".join(f"#{fact.pk} {text.short(fact.text, 160)}" for fact in facts[:MAX_LISTED])


def ask_which(facts: Sequence[Fact], *, usage: str, otherwise: str = "") -> str:
    """Ask which one is meant; `otherwise` says what to send when it is none of them."""
    asks = _("Which one? Send %(usage)s:\n%(list)s") % {"usage": usage, "list": as_list(facts)}
    return f"{asks}\n{_('None of these: %(what)s') % {'what': otherwise}}" if otherwise else asks


def not_found() -> str:
    return _("I find no fact of this chat that says that.")


@command(
    "remember",
    es="recuerda recordar",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("keep a fact, in your words"),
)
def remember(call: CommandCall) -> Answer:
    return _keep(call, kind=Fact.Kind.FACT, usage="/remember")


@command(
    "learn",
    es="aprende aprender",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("keep a piece of knowledge: “Bun installs faster than npm”"),
)
def learn(call: CommandCall) -> Answer:
    return _keep(call, kind=Fact.Kind.CONCEPT, usage="/learn")


@command(
    "update-fact",
    es="actualiza actualizar",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("say how it is now; the fact that it replaces keeps its history"),
)
def update_fact(call: CommandCall) -> Answer:
    named, words = numbered(call)
    if not words:
        return Answer(_('Send /update-fact and how it is now, for example "Ana lives in Bilbao".'))
    if named == []:
        return Answer(not_found())
    found = named or _contradicted(call, words)
    if len(found) == 1:
        return _replace(call, found[0], words)
    near = found or matching_facts(facts_in_reach(call), words, at_least=ABOUT)
    if not near:
        return _keep(call, kind=Fact.Kind.FACT, usage="/update-fact")
    # Words in common are no proof: the person says which one it is, or that it is none.
    usage, otherwise = f'/update-fact #{near[0].pk} "…"', f'/remember "{words}"'
    return Answer(ask_which(near, usage=usage, otherwise=otherwise))


@command(
    "deprecate",
    es="obsoleto caduca",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("say that something holds no longer"),
)
def deprecate(call: CommandCall) -> Answer:
    picked, words = numbered(call)
    found = _found(call)
    if found is None:
        return Answer(_("Send /deprecate and some words of what holds no longer."))
    if not found:
        return _unlearn(call)
    sure = found if picked else named(found, words)
    if len(sure) == 1:
        return ended(facts.deprecate(sure[0], by=call.by, now=call.now), sure[0].text)
    asks = sure or found
    usage = f"/deprecate #{asks[0].pk}"
    return Answer(ask_which(asks, usage=usage, otherwise=_("send nothing, all of it stays.")))


@command(
    "forget",
    es="olvida olvidar",
    usage=gettext_lazy("[last | words]"),
    help=gettext_lazy("discard this episode, forget the last fact, or a certain one"),
)
def forget(call: CommandCall) -> Answer:
    found = _found(call)
    if found is None:
        return forget_episode(call)
    if text.fold(call.words) in LAST:
        newest = last_learned(call)
        if newest is None:
            return Answer(_("There is nothing that I learned in this chat."))
        found = [newest]
    if not found:
        return _forget_said(call) or Answer(not_found())
    if len(found) > 1:
        return Answer(ask_which(found, usage=f"/forget #{found[0].pk}"))
    done = facts.forget(found[0], by=call.by, why="/forget", now=call.now)
    return forgotten(done, found[0].text)


def _forget_said(call: CommandCall) -> Answer | None:
    """Forget what was said here in these words; None when nothing has all of them.

    What never became a fact is noted and forgotten: it stands in the trash, and can be brought
    back.
    """
    wanted = text.stems(call.words)
    said = Message.objects.filter(chat=call.chat, role=Message.Role.USER, pk__lt=call.message.pk)
    said = said.filter(not_recalled="", silenced_by=None)
    said = said if call.may_decide else said.filter(said_by_same(call.message))
    lately = said.order_by("-pk")[:MAX_MESSAGES] if wanted and not NUMBER.match(call.words) else ()
    meant = [one for one in lately if wanted <= text.stems(one.text)][:MAX_LISTED]
    rows = [row for one in meant for row in _told_in(one, call, wanted)]
    gone = [facts.forget(row, by=call.by, why="/forget", now=call.now) for row in rows]
    if not gone:
        return None
    told = "\n".join(row.text for row in rows)
    return Answer(
        _("Forgotten — %(text)s\n/undo brings it back.") % {"text": told},
        changes=[done.change_id for done in gone if done.change_id],
    )


def _told_in(message: Message, call: CommandCall, wanted: set[str]) -> list[Fact]:
    """The facts that rest on these words of the message, or the words as one that is new."""
    known = facts_in_reach(call).filter(message=message)
    if rows := [fact for fact in known if wanted <= text.stems(fact.quote)]:
        return rows
    said = text.short(text.one_line(message.text), MAX_NOTED)
    one = Candidate(
        said, said, subject=evidence.speaker(message), kind=Fact.Kind.FACT, category="other",
        confidence=0.9, language=message.language, mode=HEURISTICS,
    )  # fmt: skip
    done = ingest.remember(message, one, by=call.by, now=call.now)
    return [done.row] if done.row else []


@command(
    "undo",
    es="deshacer deshaz",
    help=gettext_lazy("take back what was last noted, changed or forgotten in this chat"),
)
def undo(call: CommandCall) -> str:
    return undo_last(call.chat, by=call.by, now=call.now)


def _keep(call: CommandCall, *, kind: str, usage: str) -> Answer:
    words = call.words
    if not words:
        return Answer(_('Send %(usage)s and what I should keep, in quotes: "…"') % {"usage": usage})
    done = facts.remember(
        call.space, text=words, by=call.by, kind=kind, now=call.now, **_origin(call, words)
    )
    return _learned(done, _("Noted — %(text)s\n/undo takes it back.") % {"text": words})


def _learned(done: ChangeResult, said: str) -> Answer:
    if done.outcome == "quarantined":
        said = _("A person must look at this first (%(reason)s). It waits in quarantine.")
        said %= {"reason": done.reason}
    return sentence_for(done, said)


def _contradicted(call: CommandCall, words: str) -> list[Fact]:
    """The facts within reach that cannot hold beside the new words."""
    near = facts_in_reach(call).order_by("-last_seen_at", "-pk")[: changes_of_mind.MAX_CANDIDATES]
    own = {"", text.fold(call.message.author)}
    folded = text.fold(words)
    # "I" is whoever sends the command; of anybody else the words must say the name.
    about = [f for f in near if text.fold(f.subject) in own or text.fold(f.subject) in folded]
    return [found.fact for found in changes_of_mind.judge(about, words, correcting=True)]


def _replace(call: CommandCall, old: Fact, words: str) -> Answer:
    # What the whole space knew it still does: only a curator reaches that here.
    given = _origin(call, words) | {"chat": old.chat}
    done = facts.supersede(old, text=words, by=call.by, now=call.now, **given)
    said = _("Noted — %(new)s\nUntil now: %(old)s\n/undo takes it back.")
    return _learned(done, said % {"new": words, "old": old.text})


def _origin(call: CommandCall, words: str) -> dict:
    author = call.message.author
    named = bool(author) and text.fold(words).startswith(text.fold(author))
    about = {"subject": author} if named else {}
    origin = {"quote": words, "message": call.message, "said_by": author, "chat": call.chat}
    return origin | about


def _found(call: CommandCall) -> list[Fact] | None:
    """The facts that are meant; None when nothing was said."""
    named, words = numbered(call)
    if named is not None:
        return named
    return matching_facts(facts_in_reach(call), words) if words else None


def _unlearn(call: CommandCall) -> Answer:
    """Perhaps a habit is meant, not a fact. Those belong to the space: a curator ends them."""
    if not call.may_decide:
        return Answer(not_found())
    found = patterns.match(call.space, text=call.words, chat=call.chat, at_least=0.3)
    if not found:
        return Answer(not_found())
    pattern = found[0].pattern
    done = patterns.unlearn(pattern, by=call.by, why="/deprecate", now=call.now)
    return ended(done, pattern.trigger)
