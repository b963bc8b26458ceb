"""People and things that facts speak of: found when a fact is written, merged only by a person.

A name stands for one person within a chat, or within what the whole space knows. The same name in
two chats may be two people, so Keno asks. Only an account of a channel is one person everywhere.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import jobs
from memory.history import actors
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Entity, Fact, Mention, Message, Space
from memory.models.entity import key_of
from memory.models.fact import FactQuerySet
from memory.models.prepared import insert, prepared
from memory.models.space import once
from memory.spaces.chat_links import speaker_of
from memory.text import normalise as text
from memory.text.kinship import NOBODY, ONLY_ONE, PETS, Relative, relatives_in, ways_to

Kind, Role = Entity.Kind, Mention.Role
# Kinds whose name may mean another one in another chat.
SOMEBODY = (Kind.PERSON, Kind.PET)
MOST_WORDS, MAX_ALIASES, MAX_COMPARED = 4, 40, 5000
# Former facts are linked too; facts in quarantine are not.
LINKED = (Fact.Status.ACTIVE, Fact.Status.SUPERSEDED, Fact.Status.ARCHIVED)
# Every new fact writes its own mentions, and bulk_create would build its SQL each time.
MENTION = """
INSERT INTO memory_mention (fact_id, role, entity_id)
SELECT %s, role, entity FROM unnest(%s::varchar[], %s::bigint[]) AS found (role, entity)
ON CONFLICT DO NOTHING
"""
_NOT_FACTS = (Fact.Kind.PROCEDURE, Fact.Kind.CONCEPT, Fact.Kind.LESSON, Fact.Kind.LORE)
_ORGANISATIONS = frozenset(
    """
    inc ltd gmbh sa sl studio estudio clinic clinica hospital university universidad school escuela
    college instituto institute bank banco company empresa team equipo club church iglesia office
    """.split()
)


# What only a thing does, right after its name; "the port of Caddy" names a thing, too.
_DOES = re.compile(
    r",? (?:(?:also|always|now|\w+ly|ya|siempre|también) )?(?:renews?|renueva|reboots?|reinicia"
    r"|boots|sits (?:in front|behind)$|listens on|escucha en|runs on|corre en|crashe[sd]|compiles"
    r"|(?:is|was|está) (?:down|installed|deployed|hosted|caíd[oa]|instalad[oa]|desplegad[oa]))\b"
)
_PART_OF = re.compile(
    r"\b(?:port|version|url|password|server|license|puerto|versión|servidor|licencia) (?:of|de) "
)
_WORD, _EDGE = re.compile(r"\w"), re.compile(r"\b")


class CannotMerge(ValueError):
    """Only two different people of one space can be merged."""

    def __str__(self):
        return _("Choose somebody else of this space.")


@dataclass(frozen=True)
class _Scope:
    """Where a name stands: in one chat, or in what the whole space knows."""

    space: Space
    chat: Chat | None
    # The relatives that one fact names, each looked up once.
    relatives: dict[Relative, Entity | None] = field(default_factory=dict)

    def named(self, *names: str) -> list[Entity]:
        """Return who these names may mean here; people of the chat itself come first."""
        chat = self.chat.pk if self.chat else None
        keys = [key_of(name) for name in names]
        rows = _named_in(space=self.space.pk, chat=chat, keys=keys)
        fitting = [row for row in rows if self._fits(row)]
        own = [row for row in fitting if self.chat and row.chat_id == self.chat.pk]
        return [*own, *(row for row in fitting if row not in own)]

    def find_or_make(self, name: str, **fields: Any) -> Entity | None:
        """Return the entity of this name, made if it is new; None when it may mean several."""
        named = self.named(name)
        here = [row for row in named if self.chat and row.chat_id == self.chat.pk] or named
        if len({root(row).pk for row in here}) > 1:
            return None
        return here[0] if here else self.make(name, **fields)

    def make(self, name: str, **fields: Any) -> Entity:
        name = text.short(text.one_line(name), 120)
        entity = Entity(space=self.space, chat=self.chat, name=name, **fields)
        entity.set_keys()
        insert(entity)
        return entity

    def _fits(self, row: Entity) -> bool:
        if self.chat is None or row.chat_id == self.chat.pk or row.kind not in SOMEBODY:
            return True
        # A person of another chat is meant only where they speak, too.
        mark = f"{self.chat.channel}:"
        ids = [name.removeprefix(mark) for name in row.accounts if name.startswith(mark)]
        return bool(ids and _said_something(chat=self.chat.pk, authors=ids))


@prepared(chat="bigint", authors="varchar[]")
def _said_something(chat, authors):
    rows = Message.objects.filter(chat=chat, role=Message.Role.USER, author_id__any_of=authors)
    return rows.order_by().values_list("pk")[:1]


@prepared(space="bigint", chat="bigint", keys="varchar[]")
def _named_in(space, chat, keys):
    rows = Entity.objects.filter(space=space).in_scope(chat).filter(keys__overlap=keys)
    return rows.select_related("merged_into").order_by("pk")


def root(entity: Entity) -> Entity:
    return entity.merged_into or entity


def group(entity: Entity) -> list[int]:
    """Return the ids of the row and of all that were merged with it."""
    top = entity.merged_into_id or entity.pk
    rows = Entity.objects.filter(Q(pk=top) | Q(merged_into=top))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def facts_of(ids: Iterable[int], *roles: str) -> FactQuerySet:
    """Return the facts that these rows said, that are about them, or that name them."""
    linked = Mention.objects.filter(entity__in=list(ids), role__in=roles or [Role.ABOUT])
    return Fact.objects.filter(pk__in=linked.values("fact"))


def relatives(start: Iterable[Entity], path: Sequence[str], *, chat: Chat | None) -> list[Entity]:
    """Follow a path of kin, as ("sister", "husband"); return the people at its end with names."""
    here = list(start)
    for relation in path:
        ways = (_step_on(here, way, chat) for way in ways_to(relation))
        here = next(filter(None, ways), [])
    return [entity for entity in here if not entity.is_unnamed]


def _step_on(here: list[Entity], way: Sequence[Sequence[str]], chat: Chat | None) -> list[Entity]:
    for relations in way:
        owners = {pk for entity in here for pk in group(entity)}
        known = Entity.objects.whole().in_scope(chat) if chat else Entity.objects.whole()
        here = list(known.filter(owner__in=owners, relation__in=relations).order_by("pk"))
    return here


def known_as(space: Space, chat: Chat | None, name: str) -> list[Entity]:
    """Return who a name means here, without creating an entity."""
    return [root(entity) for entity in _Scope(space, chat).named(name)] if name else []


def speaker(message: Message) -> Entity | None:
    """Return who wrote the message, made when new; without an account, within this chat only."""
    if message.role != Message.Role.USER or not message.author:
        return None
    # Each of its facts asks for them again.
    return once(("speaker", message.pk), lambda: _speaker(message))


def _speaker(message: Message) -> Entity | None:
    if not message.author_id:
        return _Scope(message.space, message.chat).find_or_make(message.author)
    accounts = sorted(f"{channel}:{number}" for channel, number in speaker_of(message))
    rows = _with_accounts(space=message.space_id, accounts=accounts)
    if not rows:
        return _Scope(message.space, None).make(message.author, accounts=accounts)
    known = rows[0]
    new = [account for account in accounts if account not in known.accounts]
    if new and len(rows) == 1:
        _change(known, accounts=[*known.accounts, *new])
    if key_of(message.author) not in known.keys and len(known.aliases) < MAX_ALIASES:
        _change(known, aliases=[*known.aliases, message.author])
    return known


@prepared(space="bigint", accounts="varchar[]")
def _with_accounts(space, accounts):
    rows = Entity.objects.filter(space=space, accounts__overlap=accounts)
    rows = rows.select_related("merged_into")
    return rows.order_by(F("merged_into").asc(nulls_first=True), "pk")


def link(fact: Fact, *, is_new: bool = False) -> None:
    """Point the fact to who said it, who it is about and who else is named."""
    scope = _Scope(fact.space, fact.chat)
    author = _speaker_of_fact(fact)
    about = _find_subject(fact, scope, author)
    named = [
        row for row in _find_named(fact, scope, author) if about is None or root(row) != root(about)
    ]
    mentions = [(Role.ABOUT, about), *((Role.NAMED, row) for row in named)]
    mentions += [(Role.SPEAKER, author)] if author else []
    if not is_new:
        Mention.objects.filter(fact=fact).delete()
    rows = sorted({(role, row and row.pk) for role, row in mentions}, key=str)
    roles, pks = [str(role) for role, _pk in rows], [pk for _role, pk in rows]
    with connection.cursor() as cursor:
        cursor.execute(MENTION, [fact.pk, roles, pks])


def unfilled() -> QuerySet[Space]:
    """Return the spaces with unlinked facts, or whose speakers have not been looked for yet."""
    loose = Fact.objects.filter(status__in=LINKED, mentions=None).values("space")
    unknown = Q(entities=None) & Q(Exists(Message.objects.filter(space=OuterRef("pk"))))
    return Space.objects.filter(Q(pk__in=loose) | unknown)


def fill(space: Space, *, limit: int = 2000) -> int:
    """Link the unlinked facts: of an import, from before an upgrade, after an undo."""
    if not Entity.objects.filter(space=space).exists():
        find_speakers(space)
    rows = Fact.objects.filter(space=space, status__in=LINKED, mentions=None)
    rows = rows.select_related("space", "chat", "message__chat", "message__space")
    facts = list(rows.order_by("pk")[:limit])
    for fact in facts:
        with transaction.atomic(savepoint=False), history.change(by="system", why="find people"):
            link(fact, is_new=True)
    return len(facts)


def forget_unseen(ids: Iterable[int]) -> None:
    """Delete entities that nothing mentions any more, with history. For purge and erase only."""
    alone = {"mentions": None, "relatives": None, "merged": None, "accounts": [], "sticky": False}
    for entity in Entity.objects.filter(pk__in=list(ids), **alone):
        history.erase(entity)
        entity.delete()


def find_speakers(space: Space) -> None:
    """Make an entity of everyone who wrote a message, even if nothing was learned from it."""
    people = Message.objects.filter(space=space, role=Message.Role.USER).exclude(author="")
    # Without an account a name is a person of one chat.
    latest = people.exclude(author_id="").values("chat__channel", "author_id")
    unnamed = people.filter(author_id="").values("chat", "author")
    ids = [row["last"] for some in (latest, unnamed) for row in some.annotate(last=Max("pk"))]
    for message in Message.objects.filter(pk__in=ids).select_related("chat", "space"):
        speaker(message)


@transaction.atomic
def merge(entity: Entity, *, into: Entity, by: str, now: datetime | None = None) -> ChangeResult:
    """Make two rows one person. Each keeps its names and facts, so they can be parted again."""
    actors.require_person(by)
    into = root(into)
    if entity.space_id != into.space_id or root(entity) == into:
        raise CannotMerge
    with history.change(by=by, why="merge people") as context:
        for row in [entity, *Entity.objects.filter(merged_into=entity)]:
            _change(row, now=now, merged_into=into)
    jobs.ask_golden(into.space_id, "merge")
    return ChangeResult(into, context.id, outcome="merged")


@transaction.atomic
def part(entity: Entity, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Take a row out of the one it was merged into."""
    actors.require_person(by)
    if entity.merged_into_id is None:
        return ChangeResult(entity, outcome="unchanged")
    with history.change(by=by, why="part people") as context:
        _change(entity, now=now, merged_into=None)
    return ChangeResult(entity, context.id, outcome="parted")


@transaction.atomic
def revise(
    entity: Entity,
    *,
    by: str,
    now: datetime | None = None,
    name: str,
    aliases: list[str],
    kind: str,
) -> ChangeResult:
    """Set by hand the name, the other names and the kind."""
    actors.require_person(by)
    name = text.short(text.one_line(name), 120)
    if not name or kind not in Kind.values:
        raise ValueError(_("A name is needed, and one of the kinds."))
    distinct = dict.fromkeys(text.short(text.one_line(alias), 120) for alias in aliases)
    others = [alias for alias in distinct if alias and alias != name][:MAX_ALIASES]
    values = {"name": name, "aliases": others, "kind": kind}
    if all(getattr(entity, field) == value for field, value in values.items()):
        return ChangeResult(entity, outcome="unchanged")
    with history.change(by=by, why="name people") as context:
        _change(entity, now=now, sticky=True, **values)
    return ChangeResult(entity, context.id)


def alike(space: Space) -> Iterator[tuple[Entity, Entity]]:
    """Yield pairs that may be one: a name in two chats, a first name, "her sister" and Elena."""
    rows = Entity.objects.filter(space=space, kind__in=SOMEBODY).whole()
    rows = rows.filter(mentions__isnull=False).distinct().select_related("owner")
    by_name: dict[str | tuple, list[Entity]] = {}
    for row in rows.order_by("pk")[:MAX_COMPARED]:
        # "Marta's grandmother" is not called Marta.
        names = [] if row.is_unnamed else row.keys
        for key in dict.fromkeys([*names, *(key.partition(" ")[0] for key in names)]):
            by_name.setdefault(key, []).append(row)
        if row.relation:
            by_name.setdefault((row.owner_id, row.relation), []).append(row)
    seen: set[tuple[int, int]] = set()
    for name, namesakes in by_name.items():
        # Ana Ruiz and Ana Gil are two; somebody who is only called Ana may be either.
        if isinstance(name, str) and not any(name in row.keys for row in namesakes):
            continue
        for entity, other in combinations(namesakes, 2):
            if (entity.pk, other.pk) not in seen and _may_be_one(entity, other):
                seen.add((entity.pk, other.pk))
                yield entity, other


def _may_be_one(entity: Entity, other: Entity) -> bool:
    # Two accounts of one channel are two people, until someone links them.
    mine, theirs = ({a.partition(":")[0] for a in row.accounts} for row in (entity, other))
    are_apart = mine & theirs and not set(entity.accounts) & set(other.accounts)
    if entity.kind != other.kind or are_apart:
        return False
    if entity.owner_id == other.pk or other.owner_id == entity.pk:
        return False
    if entity.is_unnamed or other.is_unnamed:
        same_place = (entity.owner_id, entity.relation) == (other.owner_id, other.relation)
        return same_place and bool(entity.relation) and entity.is_unnamed != other.is_unnamed
    if set(entity.keys) & set(other.keys):
        return True
    pairs = [(a, b) for a in entity.keys for b in other.keys]
    return any(a.partition(" ")[0] == b or a == b.partition(" ")[0] for a, b in pairs)


def _speaker_of_fact(fact: Fact) -> Entity | None:
    """Return who said it; None for words that were only passed on."""
    message = fact.message
    is_own = message and key_of(fact.said_by or message.author) == key_of(message.author)
    return speaker(message) if message and is_own else None


def _find_subject(fact: Fact, scope: _Scope, author: Entity | None) -> Entity | None:
    if not fact.subject or fact.subject == Fact.LORE:
        return None
    if author and key_of(fact.subject) in author.keys:
        return author
    mentioned = relatives_in(fact.text)
    if fact.subject.lower() in NOBODY:
        return _relative(mentioned[0], scope, author) if len(mentioned) == 1 else author
    if label := next((kin for kin in relatives_in(fact.subject) if not kin.name), None):
        return _relative(_with_name(label, mentioned), scope, author)
    for relative in mentioned:
        if key_of(relative.name) == key_of(fact.subject):
            return _relative(relative, scope, author)
    kind = _kind_of(fact)
    entity = scope.find_or_make(fact.subject, kind=kind)
    # An entity that was taken for a person by its name alone turns out to be a thing.
    guessed = entity and entity.kind == Kind.PERSON and not (entity.accounts or entity.relation)
    if entity and guessed and kind == Kind.THING and not entity.sticky:
        _change(entity, kind=kind)
    return entity


def _with_name(label: Relative, mentioned: list[Relative]) -> Relative:
    """Return "Ana's boss" with the name that the fact gives: "Ana's boss is Irene"."""
    same = (kin for kin in mentioned if kin.name and key_of(kin.owner) == key_of(label.owner))
    return next((kin for kin in same if kin.noun.startswith(label.noun)), label)


def _relative(relative: Relative, scope: _Scope, author: Entity | None) -> Entity | None:
    """Return a person known as the relative of another, with a name or without."""
    if relative not in scope.relatives:
        scope.relatives[relative] = _find_relative(relative, scope, author)
    return scope.relatives[relative]


def _find_relative(relative: Relative, scope: _Scope, author: Entity | None) -> Entity | None:
    is_own = not relative.owner or (author and key_of(relative.owner) in author.keys)
    owner = author if is_own else scope.find_or_make(relative.owner)
    if owner is None:
        return None
    rows = Entity.objects.filter(space=scope.space, chat=scope.chat, relation=relative.relation)
    top = owner.merged_into_id or owner.pk
    of_owner = rows.filter(Q(owner=top) | Q(owner__merged_into=top))
    candidates = list(of_owner.select_related("merged_into").order_by("pk"))
    is_only = relative.relation in ONLY_ONE | PETS and len(candidates) == 1
    if relative.name:
        return _named_relative(relative, scope, owner, candidates, is_only)
    if is_only:
        return candidates[0]
    unnamed = [row for row in candidates if row.is_unnamed]
    return unnamed[0] if unnamed else scope.make(relative.label, **_kin_fields(relative, owner))


def _named_relative(
    relative: Relative, scope: _Scope, owner: Entity, candidates: list[Entity], is_only: bool
) -> Entity | None:
    for row in candidates:
        if key_of(relative.name) in row.keys:
            return row
    if is_only and candidates[0].is_unnamed:
        row = candidates[0]
        _change(row, name=text.short(relative.name, 120), aliases=[*row.aliases, row.name])
        return row
    fields = _kin_fields(relative, owner)
    found = scope.find_or_make(relative.name, **fields)
    if found and not found.relation and scope.chat and found.chat_id == scope.chat.pk:
        _change(found, **fields)
    return found


def _kin_fields(relative: Relative, owner: Entity) -> dict:
    kind = Kind.PET if relative.relation in PETS else Kind.PERSON
    return {"owner": owner, "relation": relative.relation, "kind": kind}


def _find_named(fact: Fact, scope: _Scope, author: Entity | None) -> list[Entity]:
    """Return everyone whom the fact names, as far as they are known here."""
    kin = [_relative(relative, scope, author) for relative in relatives_in(fact.text)]
    words = [word for part in fact.text[:2000].split() for word in key_of(part).split()]
    names = {
        " ".join(words[start : start + size])
        for size in range(1, MOST_WORDS + 1)
        for start in range(len(words) - size + 1)
    }
    found = [*filter(None, kin), *(scope.named(*names) if names else [])]
    return list({row.pk: row for row in found}.values())


def _kind_of(fact: Fact) -> str:
    """Guess the kind of a name."""
    name = fact.subject
    if set(key_of(name).split()) & _ORGANISATIONS:
        return Kind.ORGANISATION
    if fact.kind in _NOT_FACTS or not name[:1].isupper() or _is_thing(name, fact.text):
        return Kind.PROJECT if fact.category == Fact.Category.PROJECT else Kind.THING
    return Kind.PERSON


def _is_thing(name: str, sentence: str) -> bool:
    # One pattern with the name in it would be compiled anew for every name.
    said, name = sentence.strip(" .").lower(), name.lower()
    before, _name, after = said.partition(name)
    if not _WORD.search(before) and _DOES.match(after):
        return True
    ends = [part.end() + len(name) for part in _PART_OF.finditer(said)]
    return any(said[:end].endswith(name) and bool(_EDGE.match(said, end)) for end in ends)


def _change(entity: Entity, *, now: datetime | None = None, **values: Any) -> None:
    values["updated_at"] = now or timezone.now()
    for name, value in values.items():
        setattr(entity, name, value)
    entity.save(update_fields=list(values))
