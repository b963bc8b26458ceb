"""Which fact somebody means by a few words."""

import re
from collections.abc import Sequence

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from bot.commands.asked import Asked
from memory import text
from memory.models import Fact

MOST = 400
LISTED = 5
# Which part of the words a fact must hold to be meant, and how far behind the best it may be.
MEANT, NEAR = 0.6, 0.8
NUMBER = re.compile(r"#(\d{1,12})\b\s*")


def reach(asked: Asked) -> QuerySet:
    """What this person may change from here: a curator all that the chat knows, anybody else
    what was said in this chat."""
    known = Fact.objects.in_scope(asked.chat).live()
    if asked.may_decide:
        return known
    return known.filter(Q(chat=asked.chat) | Q(message__chat=asked.chat))


def last(asked: Asked) -> Fact | None:
    """What was learned last in this chat."""
    here = Fact.objects.in_scope(asked.chat).live().filter(message__chat=asked.chat)
    return here.order_by("-created_at", "-pk").first()


def numbered(asked: Asked) -> tuple[list[Fact] | None, str]:
    """The fact of a leading #12 (none when it is out of reach), and the words after it."""
    found = NUMBER.match(asked.words)
    if not found:
        return None, asked.words
    rest = asked.words[found.end() :].strip("\"'“”«» ")
    return list(reach(asked).filter(pk=int(found[1]))), rest


def meant(known: QuerySet, words: str, *, at_least: float = MEANT) -> list[Fact]:
    """The facts that hold these words, those that hold most of them first."""
    wanted = text.stems(words) or set(text.words(words))
    # A stem is usually how its word begins; accents may differ, so the loose search is by vowels.
    holding = Q()
    for stem in wanted:
        holding |= Q(text__icontains=stem[:4]) | Q(text__iregex=_loose(stem[:4]))
    ranked = []
    for fact in known.filter(holding).order_by("-last_seen_at", "-pk")[:MOST] if wanted else []:
        has = text.stems(fact.text) or set(text.words(fact.text))
        share = len(wanted & has) / len(wanted)
        if share >= at_least:
            ranked.append((share + 0.1 * len(wanted & has) / max(len(has), 1), fact))
    ranked.sort(key=lambda pair: -pair[0])
    return [fact for score, fact in ranked if score >= ranked[0][0] * NEAR]


def listed(facts: Sequence[Fact]) -> str:
    return "\n".join(f"#{fact.pk} {text.short(fact.text, 160)}" for fact in facts[:LISTED])


def which(facts: Sequence[Fact], *, usage: str) -> str:
    """Ask which one, when there are several."""
    return _("Which one? Send %(usage)s:\n%(list)s") % {"usage": usage, "list": listed(facts)}


def nothing() -> str:
    return _("I find no fact of this chat that says that.")


def _loose(stem: str) -> str:
    vowels = {"a": "[aá]", "e": "[eé]", "i": "[ií]", "o": "[oó]", "u": "[uúü]", "n": "[nñ]"}
    return "".join(vowels.get(sign, re.escape(sign)) for sign in stem)
