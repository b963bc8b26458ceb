"""Tell Keno facts, correct, end and forget them, and take all of that back."""

import re
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bot.commands.registry import (
    Answer,
    CommandCall,
    command,
    say_ended,
    say_forgotten,
    sentence_for,
)
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

# How many replies /undo looks through.
MAX_REPLIES_BACK = 50
MAX_FACTS = 400
# How many messages /forget looks through when no fact matches.
MAX_MESSAGES = 2000
MAX_NOTED = 300
MAX_LISTED = 5
# The share of the words that a fact must have to match, and how far behind the best it may be.
MATCH_SHARE, CLOSE_SHARE = 0.6, 0.8
_AGAINST = re.compile(
    r"\b(?:than|over|instead of|rather than|en vez de|en lugar de)\b"
    r"|\b(?:mas|menos|mejor|peor)\b.{0,30}?\bque\b"
)
NUMBER = re.compile(r"#(\d{1,12})\b\s*")
LAST = {"last", "ultimo", "ultima", "lo ultimo", "la ultima", "el ultimo"}
# The share of the words that a fact must have for a new wording to be about it.
ABOUT_SHARE = 0.34


@transaction.atomic
def undo_last(chat: Chat, *, by: str, now: datetime) -> str:
    """Take back what came with the newest reply that changed something; say what that was."""
    replies = Message.objects.filter(chat=chat, role=Message.Role.ASSISTANT).order_by("-pk")
    for reply in replies[:MAX_REPLIES_BACK]:
        for entry in reversed(reply.journal):
            if isinstance(entry, dict) and entry.get("changes") and not entry.get("undone"):
                return _undo(reply, entry, by=by, now=now)
    return _("There is nothing to take back in this chat.")


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
    """Discard the new facts of changes that cannot be undone as a whole; return them."""
    steps = history.changes_in(*ids)
    new = [step.object_id for step in steps if step.model is Fact and step.is_create]
    discarded = []
    for fact in Fact.objects.filter(pk__in=new, status=Fact.Status.ACTIVE):
        if facts.discard(fact, by=by, why="undo", now=now).changed:
            discarded.append(fact)
        for old in Fact.objects.filter(superseded_by=fact, status=Fact.Status.SUPERSEDED):
            facts.restore(old, by=by, now=now)
    return discarded


def _name(row: object) -> str:
    words = (getattr(row, name, "") for name in ("text", "title", "trigger", "value", "task"))
    return text.short(next((word for word in words if word), ""), 120)


def facts_in_reach(call: CommandCall) -> QuerySet:
    """Return the facts this person may change: a curator all that the chat knows, anybody else
    what they said in this chat themselves."""
    facts = Fact.objects.in_scope(call.chat).live()
    if call.may_decide:
        return facts
    return facts.filter(said_by_same(call.message, prefix="message__"), chat=call.chat)


def split_number(call: CommandCall) -> tuple[list[Fact] | None, str]:
    """Return the fact of a leading #12 (none when it is out of reach), and the words after it."""
    match = NUMBER.match(call.words)
    if not match:
        return None, call.words
    rest = call.words[match.end() :].strip("\"'“”«» ")
    return list(facts_in_reach(call).filter(pk=int(match[1]))), rest


def _stems(words: str) -> set[str]:
    words = shorthand.written_out(words)
    return text.stems(words) or set(text.words(words))


def matching_facts(facts: QuerySet, words: str, *, at_least: float = MATCH_SHARE) -> list[Fact]:
    """Return the facts with these words, those with most of them first."""
    stems = _stems(words)
    if not stems:
        return []
    # A stem is usually how its word begins; accents may differ, so the loose search is by vowels.
    has_stem = Q()
    for stem in stems:
        has_stem |= Q(text__icontains=stem[:4]) | Q(text__iregex=text.loose_pattern(stem[:4]))
    ranked = []
    for fact in facts.filter(has_stem).order_by("-last_seen_at", "-pk")[:MAX_FACTS]:
        own = _stems(fact.text)
        share = len(stems & own) / len(stems)
        if share >= at_least:
            ranked.append((share + 0.1 * len(stems & own) / max(len(own), 1), fact))
    ranked.sort(key=lambda pair: -pair[0])
    return [fact for score, fact in ranked if score >= ranked[0][0] * CLOSE_SHARE]


def facts_naming(facts: Sequence[Fact], words: str) -> list[Fact]:
    """Return the facts with these very words, and not only to compare something with them.

    "Bun is faster than npm for installing packages" does not name "npm install".
    """
    parts = [text.loose_pattern(word) + r"\w{0,3}" for word in text.words(text.fold(words))]
    phrase = re.compile(r"(?<!\w)" + r"\W+".join(parts) + r"(?!\w)", re.IGNORECASE)
    return [fact for fact in facts if phrase.search(_AGAINST.split(text.fold(fact.text))[0])]


def ask_which(facts: Sequence[Fact], *, usage: str, otherwise: str = "") -> str:
    """Ask which one is meant; `otherwise` says what to send when it is none of them."""
    rows = "\n".join(f"#{fact.pk} {text.short(fact.text, 160)}" for fact in facts[:MAX_LISTED])
    asks = _("Which one? Send %(usage)s:\n%(list)s") % {"usage": usage, "list": rows}
    return f"{asks}\n{_('None of these: %(what)s') % {'what': otherwise}}" if otherwise else asks


def not_found() -> str:
    return _("I find no fact of this chat that says that.")


@command(
    "remember",
    "recuerda recordar",
    gettext_lazy("keep a fact, in your words"),
    usage=gettext_lazy('"…"'),
)
def remember(call: CommandCall) -> Answer:
    return _keep(call, kind=Fact.Kind.FACT, usage="/remember")


@command(
    "learn",
    "aprende aprender",
    gettext_lazy("keep a piece of knowledge: “Bun installs faster than npm”"),
    usage=gettext_lazy('"…"'),
)
def learn(call: CommandCall) -> Answer:
    return _keep(call, kind=Fact.Kind.CONCEPT, usage="/learn")


@command(
    "update-fact",
    "actualiza actualizar",
    gettext_lazy("say how it is now; the fact that it replaces keeps its history"),
    usage=gettext_lazy('"…"'),
)
def update_fact(call: CommandCall) -> Answer:
    picked, words = split_number(call)
    if not words:
        return Answer(_('Send /update-fact and how it is now, for example "Ana lives in Bilbao".'))
    if picked == []:
        return Answer(not_found())
    old = picked or _contradicted(call, words)
    if len(old) == 1:
        return _replace(call, old[0], words)
    near = old or matching_facts(facts_in_reach(call), words, at_least=ABOUT_SHARE)
    if not near:
        return _keep(call, kind=Fact.Kind.FACT, usage="/update-fact")
    # Words in common prove nothing: the person says which one it is, or that it is none.
    usage, otherwise = f'/update-fact #{near[0].pk} "…"', f'/remember "{words}"'
    return Answer(ask_which(near, usage=usage, otherwise=otherwise))


@command(
    "deprecate",
    "obsoleto caduca",
    gettext_lazy("say that something holds no longer"),
    usage=gettext_lazy('"…"'),
)
def deprecate(call: CommandCall) -> Answer:
    picked, words = split_number(call)
    matches = _matches(call)
    if matches is None:
        return Answer(_("Send /deprecate and some words of what holds no longer."))
    if not matches:
        return _unlearn(call)
    sure = matches if picked else facts_naming(matches, words)
    if len(sure) == 1:
        return say_ended(facts.deprecate(sure[0], by=call.by, now=call.now), sure[0].text)
    choices = sure or matches
    usage = f"/deprecate #{choices[0].pk}"
    return Answer(ask_which(choices, usage=usage, otherwise=_("send nothing, all of it stays.")))


@command(
    "forget",
    "olvida olvidar",
    gettext_lazy("discard this episode, forget the last fact, or a certain one"),
    usage=gettext_lazy("[last | words]"),
)
def forget(call: CommandCall) -> Answer:
    if text.fold(call.words) in LAST:
        here = facts_in_reach(call).filter(message__chat=call.chat)
        matches: list[Fact] | None = list(here.order_by("-created_at", "-pk")[:1])
        if not matches:
            return Answer(_("There is nothing that I learned in this chat."))
    else:
        matches = _matches(call)
    if matches is None:
        return forget_episode(call)
    if not matches:
        return _forget_messages(call) or Answer(not_found())
    if len(matches) > 1:
        return Answer(ask_which(matches, usage=f"/forget #{matches[0].pk}"))
    done = facts.forget(matches[0], by=call.by, why="/forget", now=call.now)
    return say_forgotten(done, matches[0].text)


def _forget_messages(call: CommandCall) -> Answer | None:
    """Forget what was said here in these words; None when no message has all of them.

    What never became a fact is noted and forgotten: so it is in the trash, and can be brought
    back.
    """
    stems = text.stems(call.words)
    if not stems or NUMBER.match(call.words):
        return None
    messages = Message.objects.filter(chat=call.chat, role=Message.Role.USER)
    messages = messages.filter(pk__lt=call.message.pk, not_recalled="", silenced_by=None)
    messages = messages if call.may_decide else messages.filter(said_by_same(call.message))
    recent = messages.order_by("-pk")[:MAX_MESSAGES]
    matches = [message for message in recent if stems <= text.stems(message.text)][:MAX_LISTED]
    rows = [row for message in matches for row in _facts_from(message, call, stems)]
    results = [facts.forget(row, by=call.by, why="/forget", now=call.now) for row in rows]
    if not results:
        return None
    texts = "\n".join(row.text for row in rows)
    return Answer(
        _("Forgotten — %(text)s\n/undo brings it back.") % {"text": texts},
        changes=[done.change_id for done in results if done.change_id],
    )


def _facts_from(message: Message, call: CommandCall, stems: set[str]) -> list[Fact]:
    """Return the facts that rest on these words of the message, or note the words as a new one."""
    facts = facts_in_reach(call).filter(message=message)
    if rows := [fact for fact in facts if stems <= text.stems(fact.quote)]:
        return rows
    words = text.short(text.one_line(message.text), MAX_NOTED)
    candidate = Candidate(
        words, words, subject=evidence.speaker(message), kind=Fact.Kind.FACT, category="other",
        confidence=0.9, language=message.language, mode=HEURISTICS,
    )  # fmt: skip
    done = ingest.remember(message, candidate, by=call.by, now=call.now)
    return [done.row] if done.row else []


@command(
    "undo",
    "deshacer deshaz",
    gettext_lazy("take back what was last noted, changed or forgotten in this chat"),
)
def undo(call: CommandCall) -> str:
    return undo_last(call.chat, by=call.by, now=call.now)


def _keep(call: CommandCall, *, kind: str, usage: str) -> Answer:
    words = call.words
    if not words:
        return Answer(_('Send %(usage)s and what I should keep, in quotes: "…"') % {"usage": usage})
    fields = {"kind": kind} | _origin(call, words)
    done = facts.remember(call.space, text=words, by=call.by, now=call.now, **fields)
    return _noted(done, _("Noted — %(text)s\n/undo takes it back.") % {"text": words})


def _noted(done: ChangeResult, sentence: str) -> Answer:
    if done.outcome == "quarantined":
        sentence = _("A person must look at this first (%(reason)s). It waits in quarantine.")
        sentence %= {"reason": done.reason}
    return sentence_for(done, sentence)


def _contradicted(call: CommandCall, words: str) -> list[Fact]:
    near = facts_in_reach(call).order_by("-last_seen_at", "-pk")[: changes_of_mind.MAX_CANDIDATES]
    own = {"", text.fold(call.message.author)}
    folded = text.fold(words)
    # "I" is whoever sends the command; of anybody else the words must say the name.
    about = [f for f in near if text.fold(f.subject) in own or text.fold(f.subject) in folded]
    return [change.fact for change in changes_of_mind.judge(about, words, correcting=True)]


def _replace(call: CommandCall, old: Fact, words: str) -> Answer:
    # A fact of the whole space stays one: only a curator can replace it from here.
    fields = _origin(call, words) | {"chat": old.chat}
    done = facts.supersede(old, text=words, by=call.by, now=call.now, **fields)
    sentence = _("Noted — %(new)s\nUntil now: %(old)s\n/undo takes it back.")
    return _noted(done, sentence % {"new": words, "old": old.text})


def _origin(call: CommandCall, words: str) -> dict:
    author = call.message.author
    origin = {"quote": words, "message": call.message, "said_by": author, "chat": call.chat}
    if author and text.fold(words).startswith(text.fold(author)):
        origin["subject"] = author
    return origin


def _matches(call: CommandCall) -> list[Fact] | None:
    """Return the facts that are meant; None when the command has no words."""
    picked, words = split_number(call)
    if picked is not None:
        return picked
    return matching_facts(facts_in_reach(call), words) if words else None


def _unlearn(call: CommandCall) -> Answer:
    """End a habit, when the words mean one. Habits belong to the space: only a curator may."""
    if not call.may_decide:
        return Answer(not_found())
    matches = patterns.match(call.space, text=call.words, chat=call.chat, at_least=0.3)
    if not matches:
        return Answer(not_found())
    pattern = matches[0].pattern
    done = patterns.unlearn(pattern, by=call.by, why="/deprecate", now=call.now)
    return say_ended(done, pattern.trigger)
