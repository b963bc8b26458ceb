"""What a second look at memory suggests: to share, to let go, to release, to do as people like."""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory import identity
from memory.models import Fact
from memory.text import fold
from sleep import measures, proposals
from sleep.apply import image, target
from sleep.models import Proposal
from sleep.sleeper import Sleeper

Kind = Proposal.Kind
# So many at once: a person should be able to look at each.
MOST = 5
# What an author must have told that is believed, before a doubt about them is doubted.
TRUSTED = 5
# The guard that judges by the sound of a line; the others name what is wrong with it.
BY_SOUND = ["learned"]
# So many people, or one so often, make a wish about replies a preference of the space.
PEOPLE, TIMES = 2, 3
_WISH = re.compile(
    r"^(?:A )?(?P<who>\S+) (?:likes?|prefers?|wants?|prefiere|quiere|le gustan?) "
    r"(?:(?:their|his|her|sus?) )?(?P<what>.*?\b(?P<of>answers|replies|reports|summaries|"
    r"respuestas|reportes|informes|resúmenes)\b.*)$"
)


def suggest(sleeper: Sleeper) -> int:
    """Propose what is worth it; how many are new."""
    made = [
        one for look in (_release, _promote, _retire_patterns, _prefer) for one in look(sleeper)
    ]
    return sum(map(bool, made))


def _release(sleeper: Sleeper) -> Iterable[Proposal | None]:
    """Kept out by its sound alone, from somebody whose other words are believed."""
    held = Fact.objects.filter(space=sleeper.space, status=Fact.Status.QUARANTINED)
    doubtful = set(held.exclude(flags=BY_SOUND).values_list("said_by", flat=True))
    rows = list(held.filter(flags=BY_SOUND).exclude(said_by="").order_by("pk"))
    if not rows:
        return
    live = Fact.objects.filter(space=sleeper.space, status=Fact.Status.ACTIVE)
    told = dict(live.values_list("said_by").annotate(n=Count("pk")).order_by())
    rows = [one for one in rows if one.said_by not in doubtful]
    for fact in [one for one in rows if told.get(one.said_by, 0) >= TRUSTED][:MOST]:
        yield proposals.propose(
            sleeper.space,
            Kind.RELEASE,
            key=proposals.key("release", fact.pk),
            night=sleeper.night,
            title=fact.text,
            targets=[target(fact)],
            before=image(fact),
            after={"count": 1},
            rationale=_(
                "It only sounds like an order; %(n)s other facts from %(who)s are believed."
            )
            % {"n": told[fact.said_by], "who": fact.said_by},
            evidence=_quotes([fact]),
            confidence=0.4,
            flags=[proposals.SUSPICIOUS],
        )


def _promote(sleeper: Sleeper) -> Iterable[Proposal | None]:
    """Several chats know the same, and the space does not."""
    live = Fact.objects.filter(space=sleeper.space, status=Fact.Status.ACTIVE)
    shared = live.filter(chat=None).values("said_key")
    alone = live.exclude(chat=None).exclude(said_key__in=shared).order_by()
    several = alone.values("said_key", "subject").annotate(n=Count("chat", distinct=True))
    keys = several.filter(n__gte=2).values_list("said_key", "subject").order_by("said_key")
    for said_key, subject in list(keys[:MOST]):
        rows = list(alone.filter(said_key=said_key, subject=subject).order_by("pk"))
        yield proposals.propose(
            sleeper.space,
            Kind.PROMOTE,
            key=proposals.key("promote", subject.casefold(), said_key),
            night=sleeper.night,
            title=rows[0].text,
            targets=[target(fact) for fact in rows],
            before=image(*rows),
            after={"count": len(rows)},
            rationale=_("%(n)s chats know it; approving lets the whole space know.")
            % {"n": len({fact.chat_id for fact in rows})},
            evidence=_quotes(rows),
            confidence=0.6,
            flags=["leaves its chat"],
        )


def _retire_patterns(sleeper: Sleeper) -> Iterable[Proposal | None]:
    """Patterns that nothing called for in a month; asked once a month."""
    rows = list(measures.unused_patterns(sleeper.space, now=sleeper.now).order_by("pk"))
    if not rows:
        return
    title = ngettext(
        "Retire %(n)s pattern that was never used",
        "Retire %(n)s patterns that were never used",
        len(rows),
    )
    yield proposals.propose(
        sleeper.space,
        Kind.RETIRE_PATTERN,
        key=proposals.key("unused-patterns", sleeper.now.strftime("%Y-%m")),
        night=sleeper.night,
        title=title % {"n": len(rows)},
        targets=[target(pattern) for pattern in rows],
        before=image(*rows),
        after={"count": len(rows)},
        rationale="\n".join(f"{one.trigger} → {one.response}" for one in rows[:20]),
        confidence=0.4,
    )


def _prefer(sleeper: Sleeper) -> Iterable[Proposal | None]:
    """How people like to be answered, said by several or again and again."""
    wishes = defaultdict(list)
    rows = Fact.objects.filter(
        space=sleeper.space,
        status=Fact.Status.ACTIVE,
        category=Fact.Category.PREFERENCE,
        last_seen_at__gt=sleeper.now - timedelta(days=90),
    )
    for fact in rows.order_by("pk"):
        if wish := _WISH.match(fact.text):
            wishes[fold(wish["of"])].append((fact, wish["what"]))
    named = {fold(one.key) for one in identity.preferences.active(sleeper.space)} if wishes else ()
    for name, some in sorted(wishes.items()):
        said = [fact for fact, _what in some]
        people, times = {fact.subject for fact in said}, max(fact.times_seen for fact in said)
        if name in named or (len(people) < PEOPLE and times < TIMES):
            continue
        told = some[0][1][:1].upper() + some[0][1][1:]
        yield proposals.propose(
            sleeper.space,
            Kind.PREFERENCE,
            key=proposals.key("preference", name),
            night=sleeper.night,
            title=told,
            after={"key": name.capitalize(), "value": told},
            rationale=_("%(who)s said so.") % {"who": ", ".join(sorted(people))},
            evidence=_quotes(said),
            confidence=0.6,
        )


def _quotes(rows: Iterable[Fact]) -> list[dict]:
    return [
        {
            "fact": fact.pk,
            "episode": fact.episode_id,
            "quote": fact.quote or fact.text,
            "by": fact.said_by,
            "at": fact.last_seen_at.isoformat(),
            "language": fact.language,
        }
        for fact in rows
    ]
