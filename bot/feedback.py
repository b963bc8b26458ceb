"""Under a reply, what Keno learned from it: nothing is noted behind a person's back."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from memory import text
from memory.extraction import tags
from memory.extraction.apply import Applied
from memory.extraction.second_person import told_to

# Outcomes after which something is believed that was not believed before.
LEARNED = {"new", "restored", "done"}
TOLD = {tags.FACT, tags.CHAT, tags.USER, "lore"}
MOST = 4


def under(reply: str, learned: Sequence[Applied]) -> str:
    """The lines to add below the reply; what it says itself is not said again."""
    fresh = [one.done.row for one in learned if one.tag in TOLD and _is_new(one)]
    if not fresh:
        return ""
    said = text.normalise(reply)
    words = [_words(row) for row in fresh]
    unsaid = [one for one, row in zip(words, fresh, strict=True) if not _is_in(said, one, row)]
    lines = [_("Noted — %(text)s") % {"text": one} for one in unsaid[:MOST]]
    if len(unsaid) > MOST:
        lines.append(_("… and %(n)d more.") % {"n": len(unsaid) - MOST})
    return "\n".join([*lines, _("(/undo takes it back)")])


def _is_new(one: Applied) -> bool:
    return bool(one.done and one.done.changed and one.done.outcome in LEARNED and one.done.row)


def _is_in(said: str, one: str, row: object) -> bool:
    told = (one, told_to(getattr(row, "said_by", ""), one))
    return any(text.normalise(words) in said for words in told)


def _words(row: object) -> str:
    if hasattr(row, "value"):
        return text.short(f"{row.key}: {row.value}" if row.key != "learned" else row.value, 200)
    return text.short(getattr(row, "text", "") or getattr(row, "body", ""), 200)
