"""Under a reply, what Keno learned from it: nothing is noted behind a person's back."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from memory.extraction import tags
from memory.extraction.apply import Applied
from memory.extraction.second_person import told_to
from memory.text import normalise as text

# Outcomes after which something is believed that was not believed before.
LEARNED_OUTCOMES = {"new", "restored", "done"}
SHOWN_TAGS = {tags.FACT, tags.CHAT, tags.USER, "lore"}
MAX_LINES = 4


def lines_below(reply: str, learned: Sequence[Applied]) -> str:
    """The lines to add below the reply; what it says itself is not said again."""
    fresh = [one.done.row for one in learned if one.tag in SHOWN_TAGS and _is_new(one)]
    if not fresh:
        return ""
    said = text.normalise(reply)
    words = [_words(row) for row in fresh]
    unsaid = [one for one, row in zip(words, fresh, strict=True) if not _is_in(said, one, row)]
    lines = [_("Noted — %(text)s") % {"text": one} for one in unsaid[:MAX_LINES]]
    if len(unsaid) > MAX_LINES:
        lines.append(_("… and %(n)d more.") % {"n": len(unsaid) - MAX_LINES})
    return "\n".join([*lines, _("(/undo takes it back)")])


def _is_new(one: Applied) -> bool:
    return bool(
        one.done and one.done.changed and one.done.outcome in LEARNED_OUTCOMES and one.done.row
    )


def _is_in(said: str, one: str, row: object) -> bool:
    said_by = getattr(row, "said_by", "")
    told = (one, told_to(said_by, one, said_by=said_by))
    return any(text.normalise(words) in said for words in told)


def _words(row: object) -> str:
    if hasattr(row, "value"):
        return text.short(f"{row.key}: {row.value}" if row.key != "learned" else row.value, 200)
    return text.short(getattr(row, "text", "") or getattr(row, "body", ""), 200)
