"""What Keno knows: told, corrected, ended, forgotten, and all of it taken back."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bot import chat_undo
from bot.commands import finding
from bot.commands.asked import Answer, CommandCall, command, sentence_for
from bot.commands.talk import forget_episode
from memory import patterns
from memory.extraction import changes_of_mind
from memory.facts import service as facts
from memory.history.changes import ChangeResult
from memory.models import Fact
from memory.text import normalise as text

LAST = {"last", "ultimo", "ultima", "lo ultimo", "la ultima", "el ultimo"}
# How alike a fact must be to be the one that a new wording is about.
ABOUT = 0.34


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
    named, words = finding.numbered(call)
    if not words:
        return Answer(_('Send /update-fact and how it is now, for example "Ana lives in Bilbao".'))
    if named == []:
        return Answer(finding.not_found())
    found = named or _contradicted(call, words)
    if len(found) == 1:
        return _replace(call, found[0], words)
    near = found or finding.matching_facts(finding.facts_in_reach(call), words, at_least=ABOUT)
    if not near:
        return _keep(call, kind=Fact.Kind.FACT, usage="/update-fact")
    # Words in common are no proof: the person says which one it is, or that it is none.
    usage, otherwise = f'/update-fact #{near[0].pk} "…"', f'/remember "{words}"'
    return Answer(finding.ask_which(near, usage=usage, otherwise=otherwise))


@command(
    "deprecate",
    es="obsoleto caduca",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("say that something holds no longer"),
)
def deprecate(call: CommandCall) -> Answer:
    numbered, words = finding.numbered(call)
    found = _found(call)
    if found is None:
        return Answer(_("Send /deprecate and some words of what holds no longer."))
    if not found:
        return _unlearn(call)
    sure = found if numbered else finding.named(found, words)
    if len(sure) == 1:
        done = facts.deprecate(sure[0], by=call.by, now=call.now)
        return sentence_for(
            done, _("No longer: %(text)s\n/undo takes it back.") % {"text": sure[0].text}
        )
    asks = sure or found
    usage = f"/deprecate #{asks[0].pk}"
    return Answer(
        finding.ask_which(asks, usage=usage, otherwise=_("send nothing, all of it stays."))
    )


@command(
    "forget",
    es="olvida olvidar",
    usage=gettext_lazy("[last | words]"),
    help=gettext_lazy("discard this conversation, forget the last fact, or a certain one"),
)
def forget(call: CommandCall) -> Answer:
    found = _found(call)
    if found is None:
        return forget_episode(call)
    if text.fold(call.words) in LAST:
        newest = finding.last_learned(call)
        if newest is None:
            return Answer(_("There is nothing that I learned in this chat."))
        found = [newest]
    if not found:
        return Answer(finding.not_found())
    if len(found) > 1:
        return Answer(finding.ask_which(found, usage=f"/forget #{found[0].pk}"))
    done = facts.forget(found[0], by=call.by, why="/forget", now=call.now)
    return sentence_for(
        done, _("Forgotten — %(text)s\n/undo brings it back.") % {"text": found[0].text}
    )


@command(
    "undo",
    es="deshacer deshaz",
    help=gettext_lazy("take back what was last noted, changed or forgotten in this chat"),
)
def undo(call: CommandCall) -> str:
    return chat_undo.undo_last(call.chat, by=call.by, now=call.now)


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
    near = finding.facts_in_reach(call).order_by("-last_seen_at", "-pk")[
        : changes_of_mind.MAX_CANDIDATES
    ]
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
    named, words = finding.numbered(call)
    if named is not None:
        return named
    return finding.matching_facts(finding.facts_in_reach(call), words) if words else None


def _unlearn(call: CommandCall) -> Answer:
    """Perhaps a habit is meant, not a fact. Those belong to the space: a curator ends them."""
    if not call.may_decide:
        return Answer(finding.not_found())
    found = patterns.match(call.space, text=call.words, chat=call.chat, at_least=0.3)
    if not found:
        return Answer(finding.not_found())
    pattern = found[0].pattern
    done = patterns.unlearn(pattern, by=call.by, why="/deprecate", now=call.now)
    return sentence_for(
        done, _("No longer: %(text)s\n/undo takes it back.") % {"text": pattern.trigger}
    )
