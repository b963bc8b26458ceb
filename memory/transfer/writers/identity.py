"""Write imported identity, rules and preferences: fill what is empty, replace nothing."""

from memory import notices
from memory.guards.screening import ORDERS, redacted, screen
from memory.history import actors
from memory.identity import core as cores
from memory.identity import preferences, rules
from memory.models import Identity, Preference, Rule
from memory.text import normalise as text
from memory.transfer.items import CoreItem, PreferenceItem, RuleItem
from memory.transfer.reports import Verdict
from memory.transfer.session import Session
from memory.transfer.writers.outcomes import KNOWN, Outcome, outcome


def core(session: Session, item: CoreItem) -> Outcome:
    """Write the core identity, only for a person and only if it is still empty."""
    existing = Identity.objects.filter(space=session.space).first()
    if existing and existing.core.strip():
        same = existing.core == redacted(item.text)
        return KNOWN if same else (Verdict.SKIPPED, "own identity", "")
    return _by_a_person(
        session, item, lambda: cores.write(session.space, text=item.text, by=session.by)
    )


def rule(session: Session, item: RuleItem) -> Outcome:
    standing = Rule.objects.filter(
        space=session.space, slug=item.slug, status=Rule.Status.ACTIVE
    ).first()
    if standing:
        same = standing.instruction == redacted(item.instruction)
        return KNOWN if same else (Verdict.SKIPPED, "own rule", "")
    return _by_a_person(
        session,
        item,
        lambda: rules.put(
            session.space,
            by=session.by,
            slug=item.slug,
            instruction=item.instruction,
            category=item.category,
            examples=list(item.examples),
            forbidden=list(item.forbidden),
        ),
    )


def _by_a_person(session: Session, item: CoreItem | RuleItem, write) -> Outcome:
    if not actors.is_person(session.by):
        return Verdict.SKIPPED, "needs a person", ""
    # Every prompt carries these words, so a suspicious one goes to the owner instead.
    if reasons := screen(f"{item.text}\n{getattr(item, 'examples', '')}", ignore=ORDERS).reasons:
        done = notices.set_aside(session.space, what=item.kind, text=item.text, reasons=reasons)
        return outcome(done)
    return outcome(write())


def preference(session: Session, item: PreferenceItem) -> Outcome:
    said = item.text.replace("**", "")
    keyed = preferences.KEYED.fullmatch(said)
    key, value = (keyed[1], keyed[2]) if keyed else (preferences.LEARNED, said)
    section = text.short(text.one_line(item.section), 80)
    value = screen(value, single_line=True).text
    standing = Preference.objects.filter(
        space=session.space, status=Preference.Status.ACTIVE, key=key.strip(), section=section
    )
    if standing.filter(value=value).exists():
        return KNOWN
    if key != preferences.LEARNED and standing.exists():
        return Verdict.SKIPPED, "own preference", ""
    done = preferences.put(
        session.space, key=key, value=value, section=section, by=session.writer, now=item.at
    )
    return outcome(done)
