"""Under a reply, what Keno learned from it: nothing is noted behind a person's back."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _

from memory.extraction import ingest, tags
from memory.extraction.apply import Applied
from memory.extraction.wording import told_to
from memory.models import Fact, Message
from memory.text import normalise as text

# Outcomes after which something is believed that was not believed before.
LEARNED_OUTCOMES = {"new", "restored", "done", "superseded"}
SHOWN_TAGS = {tags.FACT, tags.CHAT, "lore"}
MAX_LINES = 4


def facts_of(group: Sequence[Message]) -> list[Fact]:
    """The facts that were just learned from these messages, in their order."""
    lines = ingest.learned_from(group)
    pks = [line["fact"] for line in lines if line["outcome"] in LEARNED_OUTCOMES]
    found = Fact.objects.in_bulk(pks) if pks else {}
    return [found[pk] for pk in dict.fromkeys(pks) if pk in found]


def corrected(group: Sequence[Message], learned: Sequence[Applied], *, person: str) -> str:
    """What the reply adds when something gave way, and only then."""
    gone = [old["text"] for line in ingest.learned_from(group) for old in line.get("before", ())]
    gone += [old.text for old in _superseded_by(learned)]
    told = [told_to(person, old) for old in dict.fromkeys(gone)]
    return _("Corrected. Until now: %(old)s") % {"old": "; ".join(told)} if told else ""


def lines_below(reply: str, group: Sequence[Message], learned: Sequence[Applied]) -> str:
    """The lines to add below the reply; what it says itself is not said again."""
    rows = [*facts_of(group), *(one.done.row for one in learned if _is_new(one))]
    fresh = list({(type(row), row.pk): row for row in rows}.values())
    if not fresh:
        return ""
    said = text.normalise(reply)
    unsaid = [words for row in fresh if not _is_in(said, words := _words(row), row)]
    lines = [_("Noted — %(text)s") % {"text": one} for one in unsaid[:MAX_LINES]]
    if len(unsaid) > MAX_LINES:
        lines.append(_("… and %(n)d more.") % {"n": len(unsaid) - MAX_LINES})
    return "\n".join([*lines, _("(/undo takes it back)")])


def _superseded_by(learned: Sequence[Applied]) -> Iterable[Fact]:
    new = [one.done.row.pk for one in learned if one.tag == tags.FACT and _is_new(one)]
    return Fact.objects.filter(superseded_by__in=new).order_by("pk") if new else []


def _is_new(one: Applied) -> bool:
    is_new = one.done and one.done.changed and one.done.outcome in LEARNED_OUTCOMES
    return bool(is_new and one.done.row and one.tag in SHOWN_TAGS)


def _is_in(said: str, one: str, row: object) -> bool:
    told = (one, told_to(getattr(row, "said_by", ""), one))
    return any(text.normalise(words) in said for words in told)


def _words(row: object) -> str:
    return text.short(getattr(row, "text", "") or getattr(row, "body", ""), 200)
