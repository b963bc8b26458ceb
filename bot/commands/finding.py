"""Which fact somebody means by a few words."""

import re
from collections.abc import Sequence

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from bot.commands.asked import CommandCall
from memory.models import Fact
from memory.spaces.chat_links import said_by_same
from memory.text import normalise as text

MAX_FACTS = 400
MAX_LISTED = 5
# Which part of the words a fact must hold to be meant, and how far behind the best it may be.
MATCH_SHARE, CLOSE_SHARE = 0.6, 0.8
_AGAINST = re.compile(
    r"\b(?:than|over|instead of|rather than|en vez de|en lugar de)\b"
    r"|\b(?:mas|menos|mejor|peor)\b.{0,30}?\bque\b"
)
NUMBER = re.compile(r"#(\d{1,12})\b\s*")


def facts_in_reach(call: CommandCall) -> QuerySet:
    """What this person may change from here: a curator all that the chat knows, anybody else
    what they said in this chat themselves, by their id."""
    facts = Fact.objects.in_scope(call.chat).live()
    if call.may_decide:
        return facts
    return facts.filter(said_by_same(call.message, prefix="message__"), chat=call.chat)


def last_learned(call: CommandCall) -> Fact | None:
    """What was learned last in this chat."""
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
    wanted = text.stems(words) or set(text.words(words))
    # A stem is usually how its word begins; accents may differ, so the loose search is by vowels.
    holding = Q()
    for stem in wanted:
        holding |= Q(text__icontains=stem[:4]) | Q(text__iregex=_loose(stem[:4]))
    ranked = []
    for fact in (
        facts.filter(holding).order_by("-last_seen_at", "-pk")[:MAX_FACTS] if wanted else []
    ):
        has = text.stems(fact.text) or set(text.words(fact.text))
        share = len(wanted & has) / len(wanted)
        if share >= at_least:
            ranked.append((share + 0.1 * len(wanted & has) / max(len(has), 1), fact))
    ranked.sort(key=lambda pair: -pair[0])
    return [fact for score, fact in ranked if score >= ranked[0][0] * CLOSE_SHARE]


def named(facts: Sequence[Fact], words: str) -> list[Fact]:
    """Those of the facts that hold these very words, and not only to compare something with them.

    "Bun is faster than npm for installing packages" does not name "npm install".
    """
    phrase = r"\W+".join(_loose(word) + r"\w{0,3}" for word in text.words(text.fold(words)))
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


def _loose(stem: str) -> str:
    vowels = {"a": "[aá]", "e": "[eé]", "i": "[ií]", "o": "[oó]", "u": "[uúü]", "n": "[nñ]"}
    return "".join(vowels.get(sign, re.escape(sign)) for sign in stem)
