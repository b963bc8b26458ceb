"""What Keno knows: told, corrected, ended, forgotten, and all of it taken back."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bot import taking_back
from bot.commands import finding
from bot.commands.asked import Answer, Asked, command, told
from bot.commands.talk import forget_episode
from memory import facts, patterns, text
from memory.history import Done
from memory.models import Fact

LAST = {"last", "ultimo", "ultima", "lo ultimo", "la ultima", "el ultimo"}
# How alike a fact must be to be the one that a new wording is about.
ABOUT = 0.34


@command(
    "remember",
    es="recuerda recordar",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("keep a fact, in your words"),
)
def remember(asked: Asked) -> Answer:
    return _keep(asked, kind=Fact.Kind.FACT, usage="/remember")


@command(
    "learn",
    es="aprende aprender",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("keep a piece of knowledge: “Bun installs faster than npm”"),
)
def learn(asked: Asked) -> Answer:
    return _keep(asked, kind=Fact.Kind.CONCEPT, usage="/learn")


@command(
    "update-fact",
    es="actualiza actualizar",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("say how it is now; the fact that it replaces keeps its history"),
)
def update_fact(asked: Asked) -> Answer:
    named, words = finding.numbered(asked)
    if not words:
        return Answer(_('Send /update-fact and how it is now, for example "Ana lives in Bilbao".'))
    if named == []:
        return Answer(finding.nothing())
    found = named or finding.meant(finding.reach(asked), words, at_least=ABOUT)
    if not found:
        return _keep(asked, kind=Fact.Kind.FACT, usage="/update-fact")
    if len(found) > 1:
        return Answer(finding.which(found, usage=f'/update-fact #{found[0].pk} "…"'))
    old = found[0].text
    done = facts.supersede(
        found[0], text=words, by=asked.by, now=asked.now, **_origin(asked, words)
    )
    said = _("Noted — %(new)s\nUntil now: %(old)s\n/undo takes it back.")
    return _learned(done, said % {"new": words, "old": old})


@command(
    "deprecate",
    es="obsoleto caduca",
    usage=gettext_lazy('"…"'),
    help=gettext_lazy("say that something holds no longer"),
)
def deprecate(asked: Asked) -> Answer:
    found = _found(asked)
    if found is None:
        return Answer(_("Send /deprecate and some words of what holds no longer."))
    if not found:
        return _unlearn(asked)
    if len(found) > 1:
        return Answer(finding.which(found, usage=f"/deprecate #{found[0].pk}"))
    done = facts.deprecate(found[0], by=asked.by, now=asked.now)
    return told(done, _("No longer: %(text)s\n/undo takes it back.") % {"text": found[0].text})


@command(
    "forget",
    es="olvida olvidar",
    usage=gettext_lazy("[last | words]"),
    help=gettext_lazy("discard this conversation, forget the last fact, or a certain one"),
)
def forget(asked: Asked) -> Answer:
    found = _found(asked)
    if found is None:
        return forget_episode(asked)
    if text.fold(asked.words) in LAST:
        newest = finding.last(asked)
        if newest is None:
            return Answer(_("There is nothing that I learned in this chat."))
        found = [newest]
    if not found:
        return Answer(finding.nothing())
    if len(found) > 1:
        return Answer(finding.which(found, usage=f"/forget #{found[0].pk}"))
    done = facts.forget(found[0], by=asked.by, why="/forget", now=asked.now)
    return told(done, _("Forgotten — %(text)s\n/undo brings it back.") % {"text": found[0].text})


@command(
    "undo",
    es="deshacer deshaz",
    help=gettext_lazy("take back what was last noted, changed or forgotten in this chat"),
)
def undo(asked: Asked) -> str:
    return taking_back.undo_last(asked.chat, by=asked.by, now=asked.now)


def _keep(asked: Asked, *, kind: str, usage: str) -> Answer:
    words = asked.words
    if not words:
        return Answer(_('Send %(usage)s and what I should keep, in quotes: "…"') % {"usage": usage})
    done = facts.remember(
        asked.space, text=words, by=asked.by, kind=kind, now=asked.now, **_origin(asked, words)
    )
    return _learned(done, _("Noted — %(text)s\n/undo takes it back.") % {"text": words})


def _learned(done: Done, said: str) -> Answer:
    if done.outcome == "quarantined":
        said = _("A person must look at this first (%(reason)s). It waits in quarantine.")
        said %= {"reason": done.reason}
    return told(done, said)


def _origin(asked: Asked, words: str) -> dict:
    author = asked.message.author
    named = bool(author) and text.fold(words).startswith(text.fold(author))
    about = {"subject": author} if named else {}
    return {"quote": words, "message": asked.message, "said_by": author} | about


def _found(asked: Asked) -> list[Fact] | None:
    """The facts that are meant; None when nothing was said."""
    named, words = finding.numbered(asked)
    if named is not None:
        return named
    return finding.meant(finding.reach(asked), words) if words else None


def _unlearn(asked: Asked) -> Answer:
    """Perhaps a habit is meant, not a fact. Those belong to the space: a curator ends them."""
    if not asked.may_decide:
        return Answer(finding.nothing())
    found = patterns.match(asked.space, said=asked.words, chat=asked.chat, at_least=0.3)
    if not found:
        return Answer(finding.nothing())
    pattern = found[0].pattern
    done = patterns.unlearn(pattern, by=asked.by, why="/deprecate", now=asked.now)
    return told(done, _("No longer: %(text)s\n/undo takes it back.") % {"text": pattern.trigger})
