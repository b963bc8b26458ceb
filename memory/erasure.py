"""Erasure: take words out of the whole space for good, wherever they were written down.

`PLACES` is the table of where words live; a test fails when a column that can hold words is not
in it, unless the test lists it as wordless. Whoever erases something (a fact, messages, an episode)
names its rows; everything that repeats their words is found through the table, in every row and its
history. What only points at them stays: a message keeps its place and says "[erased]".
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pgtrigger
from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Cast, Length, Lower, RTrim, StrIndex

from memory import lineage, people
from memory.episodes import grouping
from memory.history import audit
from memory.history import changes as history
from memory.models import (
    AuditEntry,
    AuditSeal,
    Chat,
    ChatLink,
    ChatSummary,
    Embedding,
    Entity,
    Episode,
    Fact,
    Mention,
    Message,
    Parcel,
    Preference,
    Recall,
    Rule,
    Ruling,
    SilencedMessage,
    Space,
    encryption,
)
from memory.models.entity import key_of
from memory.text import normalise as text

ERASED = "[erased]"
# Shorter words are said by chance: "yes" in one message is not "yes" in another.
SHORTEST = 12
# So many rows are written at once.
BATCH = 2000
# With more phrases than this every row is read: the database would compare each with each.
FEW_PHRASES = 40
# A preview of more messages counts what is named, and leaves the search for the words to the job.
MANY_MESSAGES = 500
# A telephone number, or letters and digits as in a code; a date is not one.
CODE = re.compile(r"\+?\d[\d .()-]{5,}\d|(?<![\w-])(?=(?:[\w-]*\d){3})(?=[\w-]*[^\W\d_])[\w-]{5,}")
DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[ T][\d:.]+)?")
PIECES = re.compile(r"(\n|(?<=[.!?…])\s+)")
SAID_BY = re.compile(r"^(?:[-*•]\s*)?(?:[^:\n]{1,60}:\s+)?")
# Words of ours inside JSON: what kind of line it is, never what somebody said.
CODES = {"outcome", "kind", "category", "type", "changes", "mode", "language", "heard_as", "by"}


@dataclass(frozen=True)
class Place:
    """One table and its columns that may hold somebody's words."""

    model: str
    fields: tuple[str, ...]
    # The way to the space; empty for a table that all spaces share.
    space: str = "space"
    # The columns that point at a message: such a row is erased whole.
    messages: tuple[str, ...] = ()
    # A row that is nothing but its words goes.
    delete: bool = False

    @property
    def table(self) -> Any:
        return apps.get_model(self.model)


PLACES = [
    Place("memory.Message", ("text", "journal"), messages=("pk",)),
    Place("memory.Chat", ("title", "context")),
    Place("memory.Draft", ("text",), space="chat__space", delete=True),
    Place("memory.ChatSummary", ("text",), delete=True),
    Place("memory.WorkingNote", ("task", "context", "pending", "notes")),
    Place("memory.Episode", ("title", "body", "tags", "discard_reason", "salience_reasons")),
    Place("memory.Fact", ("quote", "evidence", "flags", "tags")),
    Place("memory.Entity", ("name", "aliases", "keys")),
    Place("memory.Pattern", ("slug", "trigger", "response", "learned_from", "evidence", "flags")),
    Place("memory.Identity", ("core", "bootstrap")),
    Place("memory.Rule", ("slug", "category", "instruction", "examples", "forbidden")),
    Place("memory.Preference", ("section", "key", "value")),
    Place("memory.Ruling", ("text", "reason")),
    Place(
        "memory.Recall",
        ("query", "keywords", "expansion", "names", "cue", "error"),
        messages=("message", "reply"),
    ),
    Place("memory.GoldenQuestion", ("question", "found", "unfound", "unsaid", "broke")),
    Place("memory.SelfCheck", ("forbidden",), messages=("reply",)),
    Place("memory.OutboxItem", ("text", "error"), messages=("message",)),
    Place("memory.DeadLetter", ("args", "error")),
    Place("memory.Notice", ("text", "words", "link", "key")),
    Place("memory.Parcel", ("name", "problem", "guild")),
    Place("memory.ParcelLine", ("place", "text", "why"), space="parcel__space"),
    Place("memory.LlmCall", ("error", "prompt", "answer")),
    Place("memory.AuditEntry", ("details",)),
    Place("memory.ApiCall", ("body",), space="token__space", delete=True),
    Place("sleep.Night", ("error",)),
    Place("sleep.PhaseRun", ("plan", "lines", "error"), space="night__space"),
    Place("sleep.NightChange", ("text", "evidence")),
    Place("sleep.Claim", ("subject", "text", "quote"), delete=True),
    Place("sleep.Proposal", ("title", "before", "after", "rationale", "evidence", "reason")),
    Place("sleep.Reflection", ("insights",)),
    Place("pghistory.Context", ("metadata",), space=""),
]


@dataclass
class Sweep:
    """What is erased: the rows that were named, and the words by which others are found."""

    space: Space
    facts: set[int] = field(default_factory=set)
    messages: set[int] = field(default_factory=set)
    episodes: set[int] = field(default_factory=set)
    # Whole chats, and people with everything that names them.
    chats: set[int] = field(default_factory=set)
    people: set[int] = field(default_factory=set)
    # Accounts of channels, ("telegram", "7"), whose rules, preferences and links go.
    accounts: set[tuple[str, str]] = field(default_factory=set)
    # Further rows that go with their history.
    rows: list[models.Model] = field(default_factory=list)
    # Somebody's own words and no others: what other people said stays, also when it is the same.
    own: bool = False
    # Facts and episodes that rest on it among other things: they stay, without its words.
    shared: set[int] = field(default_factory=set)
    around: set[int] = field(default_factory=set)
    # Wordings, quotes and codes of the facts, in lower case.
    words: set[str] = field(default_factory=set)
    # What the erased messages said, in lower case.
    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    # Episodes that were described anew, with their tags.
    described: dict[int, list[str]] = field(default_factory=dict)
    counts: Counter = field(default_factory=Counter)

    @cached_property
    def phrases(self) -> list[str]:
        found = (*self.words, *self.texts)
        return [one for one in found if len(one) >= SHORTEST or CODE.fullmatch(one)]

    @property
    def is_short(self) -> bool:
        """Whether the database can look for the phrases; else every row is read."""
        return len(self.phrases) <= FEW_PHRASES and not encryption.has_keys(self.space.pk)

    @cached_property
    def heads(self) -> dict[str, list[str]]:
        """The phrases by how they begin: a text is read once, however many they are."""
        heads: dict[str, list[str]] = {}
        for phrase in self.phrases:
            heads.setdefault(phrase[:SHORTEST], []).append(phrase)
        return heads

    @cached_property
    def sizes(self) -> set[int]:
        return {len(head) for head in self.heads}

    @cached_property
    def haystack(self) -> str:
        return "\n".join((*self.words, *self.texts))

    @cached_property
    def slices(self) -> set[str]:
        return {self.haystack[at : at + SHORTEST] for at in range(len(self.haystack))}

    def repeats(self, value: str) -> bool:
        """Tell whether the value holds erased words, or is a part of them."""
        lower = value.lower()
        if self.holds(lower):
            return True
        bare = SAID_BY.sub("", lower).strip(" .…\"'“”«»")
        is_near = len(bare) >= SHORTEST and bare[:SHORTEST] in self.slices
        return is_near and bare in self.haystack

    def holds(self, lower: str) -> bool:
        return any(
            lower.startswith(phrase, at)
            for size in self.sizes
            for at in range(len(lower) - size + 1)
            for phrase in self.heads.get(lower[at : at + size], ())
        )


# What may hold other people's own words: only what rests on erased rows is looked at.
OTHERS: dict[Any, Callable[[Sweep], Q]] = {
    Fact: lambda one: Q(pk__in=one.shared),
    Episode: lambda one: Q(pk__in=one.around),
    Entity: lambda one: Q(pk__in=one.people),
}
Progress = Callable[[int, int], None]


@transaction.atomic
def erase(
    space: Space,
    *,
    by: str,
    preview: bool = False,
    of: models.Model | None = None,
    tell: Progress = lambda done, total: None,
    note: Callable[[Sweep], None] = lambda one: None,
    **named: Any,
) -> dict[str, int]:
    """Erase these rows and what repeats their words, for good; return how many rows by table.

    `named` are the fields of a Sweep: facts, messages, episodes, chats, people … A preview does the
    same and takes it back. The caller has asked first. `of` is the row that the audit names, `note`
    is told what goes before it goes, `tell` how far it is.
    """
    given: dict[str, Any] = {n: v if n in ("own", "rows") else set(v) for n, v in named.items()}
    one = Sweep(space, **given)
    total = 2 * len(PLACES) + 2
    _collect(one)
    note(one)
    if preview and len(one.messages) > MANY_MESSAGES:
        transaction.set_rollback(True)
        return _named_only(one)
    with (
        history.change(by=by, why="erase"),
        pgtrigger.ignore("memory.AuditEntry:append_only"),
        _titles_stay(one),
    ):
        for number, place in enumerate(PLACES, 1):
            _redact_place(one, place)
            tell(number, total)
        _describe_again(one)
        # A model said it in other words: no search would find them. It is made anew.
        ChatSummary.objects.filter(chat__messages__in=one.messages).delete()
        _forget_people(one)
        _delete(one)
        tell(len(PLACES) + 1, total)
        # Undo of what came before must not bring a word back, nor may this change tell of one.
        for number, place in enumerate(PLACES, len(PLACES) + 2):
            _redact_history(one, place)
            tell(number, total)
        _forget_past_tags(one)
    if preview:
        transaction.set_rollback(True)
    else:
        if not one.own:
            action = f"{of._meta.model_name}.purged" if of else "words.erased"
            audit.record(action, actor=by, space=space, obj=of, **dict[str, Any](one.counts))
        _analyze(one)
    return dict(one.counts)


def _named_only(one: Sweep) -> dict[str, int]:
    named = {"Message": one.messages, "Fact": one.facts, "Episode": one.episodes, "Chat": one.chats}
    return {f"memory.{name}": len(pks) for name, pks in named.items() if pks}


def purge(row: Fact | Episode, *, by: str, preview: bool = False) -> dict[str, int]:
    """Erase one fact or episode with the messages it rests on; see erase()."""
    what: dict[str, Any] = {"facts" if isinstance(row, Fact) else "episodes": [row.pk]}
    return erase(row.space, by=by, preview=preview, of=row, **what)


def _collect(one: Sweep) -> None:
    """Find every message and fact that goes, and the words by which the rest is found."""
    one.messages |= set(_messages(one).values_list("pk", flat=True))
    if one.own:
        _follow(one)
    facts = list(Fact.objects.filter(space=one.space, pk__in=one.facts))
    one.words |= set(_wordings(facts))
    Fact.objects.filter(pk__in=one.facts).update(forgotten=True)  # names what they rest on
    rested = _rested_on(facts)
    one.words |= {code.lower() for said in tuple(one.words) for code in codes(said)}
    one.words -= {""}
    if one.own:
        _leave_to_others(one, rested)
    else:
        one.messages |= rested
        # The same was also said elsewhere, or is believed once more.
        one.messages |= _holding(one, Message)
        one.facts |= _holding(one, Fact)
    replies = Message.objects.filter(space=one.space, reply_to__in=one.messages)
    one.messages |= set(replies.exclude(role=Message.Role.USER).values_list("pk", flat=True))
    gone = Message.objects.filter(space=one.space, pk__in=one.messages)
    # Not what Keno answered: the same sentence of ours stands under many messages.
    said_by_people = gone.filter(role=Message.Role.USER).values_list("text", flat=True)
    one.texts |= {said.lower() for said in said_by_people if said}
    for name in ("phrases", "heads", "sizes"):  # there are more now
        vars(one).pop(name, None)
    if one.own:
        others = Message.objects.filter(space=one.space, role=Message.Role.USER)
        theirs = others.exclude(pk__in=one.messages).values_list("text", flat=True)
        said = {words.lower() for words in theirs.iterator()}
        one.texts, one.words = one.texts - said, one.words - said


def _follow(one: Sweep) -> None:
    """Take along what nothing else tells, unless it is about somebody else."""
    roots = {("message", pk) for pk in one.messages} | {("episode", pk) for pk in one.episodes}
    found = lineage.descent(one.space, roots | {("fact", pk) for pk in one.facts})
    alone = found.ids("fact")
    theirs = about_others(alone - one.facts, one.people) if one.people else set()
    one.shared = found.ids("fact", shared=True) | theirs
    one.facts |= alone - theirs
    one.around = found.ids("episode") | found.ids("episode", shared=True)
    one.episodes |= found.ids("episode")
    for kind, model in lineage.MADE_BY_PROPOSALS.items():
        one.rows += model._default_manager.filter(space=one.space, pk__in=found.ids(kind))


def about_others(facts: Iterable[int], people: Iterable[int]) -> set[int]:
    """Those of the facts that are about somebody who is not one of these people."""
    about = Mention.objects.filter(fact__in=list(facts), role=Mention.Role.ABOUT)
    return set(about.exclude(entity=None).exclude(entity__in=people).values_list("fact", flat=True))


def _leave_to_others(one: Sweep, rested: set[int]) -> None:
    """Of the messages that the facts rest on only Keno's replies go: people keep their words."""
    replies = Message.objects.filter(pk__in=rested).exclude(role=Message.Role.USER)
    one.messages |= set(replies.values_list("pk", flat=True))
    mine = Entity.objects.filter(space=one.space, pk__in=one.people)
    names = {name for row in mine for name in (row.name, *row.aliases)}
    one.names = {name for name in names if len(name) > 1}


def _messages(one: Sweep) -> models.QuerySet:
    named = Q(pk__in=one.messages) | Q(episode__in=one.episodes)
    return Message.objects.filter(named, space=one.space)


def _wordings(facts: list[Fact]) -> Iterator[str]:
    """What the facts say and said, and the words they were taken from."""
    past = history.events_of(Fact).filter(pgh_obj_id__in=[fact.pk for fact in facts])
    for row in (*facts, *past.only("text", "quote")):
        yield from (row.text.lower(), row.quote.lower())
    for fact in facts:
        yield from (str(proof.get("quote", "")).lower() for proof in fact.evidence)


def _rested_on(facts: list[Fact]) -> set[int]:
    """The messages that the database found them to rest on; a reply only given one stays."""
    by_pk = {fact.pk: fact for fact in facts}
    stems = {pk: text.stems(fact.text) - text.stems(fact.subject) for pk, fact in by_pk.items()}
    found = set()
    for silenced in SilencedMessage.objects.filter(fact__in=by_pk).select_related("message"):
        message, fact = silenced.message, by_pk[silenced.fact_id or 0]
        answers = message.reply_to_id == fact.message_id
        is_said = message.role == Message.Role.USER or answers
        if is_said or stems[fact.pk] & text.stems(message.text):
            found.add(message.pk)
    return found


def codes(said: str) -> list[str]:
    """Return the numbers and codes in it: what is enough alone to be erased everywhere."""
    return [code.strip() for code in CODE.findall(DATE.sub(" ", said))]


def _holding(one: Sweep, model: type[models.Model]) -> set[int]:
    """The rows whose text holds the words."""
    rows = model._default_manager.filter(space=one.space)
    if one.is_short:
        wanted = Q(pk__in=[])
        for phrase in one.phrases:
            wanted |= Q(text__icontains=phrase)
        return set(rows.filter(wanted).values_list("pk", flat=True))
    found = rows.values_list("pk", "text").iterator(chunk_size=BATCH)
    return {pk for pk, said in found if one.holds(said.lower())}


@contextmanager
def _titles_stay(one: Sweep) -> Iterator[None]:
    """Let hidden titles come back from their history only when the words are out of it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('keno.erasing', 'on', true)")
        yield
        cursor.execute("SELECT set_config('keno.erasing', 'off', true)")
    for model in (Chat, Episode):
        held = model.objects.filter(space=one.space, messages__in=one.messages)
        model.objects.filter(pk__in=held.values("pk")).update(title=F("title"))


def _redact_place(one: Sweep, place: Place) -> None:
    rows = place.table._base_manager.all()
    if place.space:
        rows = rows.filter(**{place.space: one.space.pk})
    if place.table is Message:
        # Two people may ask the same: of other messages only a reply can be a quotation.
        rows = rows.filter(Q(pk__in=one.messages) | Q(role=Message.Role.ASSISTANT))
    if one.own and place.table in OTHERS:
        rows = rows.filter(OTHERS[place.table](one))
    whole = _of_messages(one, rows, place) if place.messages else set()
    if place.model == "sleep.Proposal":
        whole |= _proposals(one, rows)
    maybe = _repeating(one, rows, place)
    found = rows
    if maybe is not None:
        found = rows.filter(Q(pk__in=whole) | Q(pk__in=maybe.values("pk")))
    if place.delete:
        gone = [row.pk for row in found if row.pk in whole or _redact(one, row, place, whole=False)]
        one.counts[place.model] += rows.filter(pk__in=gone).delete()[0]
        return
    one.counts[place.model] += _write(one, found, place, whole)


def _of_messages(one: Sweep, rows: models.QuerySet, place: Place) -> set[int]:
    own = Q(pk__in=[])
    for name in place.messages:
        own |= Q(**{f"{name}__in": one.messages})
    return set(rows.filter(own).values_list("pk", flat=True))


def _write(one: Sweep, rows: models.QuerySet, place: Place, whole: Container[int] = ()) -> int:
    """Put "[erased]" into the rows, many at once; return how many changed."""
    read = rows.only("pk", *place.fields)
    # What the database found is few, or all of it is written: a cursor is two statements more.
    some = read if one.is_short else read.iterator(chunk_size=BATCH)
    changed = [row for row in some if _redact(one, row, place, whole=row.pk in whole)]
    rows.model._base_manager.bulk_update(changed, place.fields, batch_size=BATCH)
    if rows.model is AuditEntry:  # its chain holds without these details, and guards nothing more
        with pgtrigger.ignore("memory.AuditSeal:append_only"):
            AuditSeal.objects.filter(entry__in=changed).update(salt="")
    return len(changed)


def _repeating(one: Sweep, rows: models.QuerySet, place: Place) -> models.QuerySet | None:
    """The rows that hold a phrase, or whose text is a part of what is erased; None for all."""
    if not one.is_short:
        return None
    wanted = Q(pk__in=[])
    for name in place.fields:
        column = place.table._meta.get_field(name)
        rows = rows.alias(**{f"said_{name}": Cast(name, models.TextField())})
        spelled = {json.dumps(phrase, ensure_ascii=False)[1:-1] for phrase in one.phrases}
        for phrase in {*one.phrases, *spelled}:
            wanted |= Q(**{f"said_{name}__icontains": phrase})
        if isinstance(column, models.CharField | models.TextField) and one.haystack:
            bare = models.Func(RTrim(Lower(name)), Value(" .…"), function="rtrim")
            rows = rows.alias(
                **{f"in_{name}": StrIndex(Value(one.haystack), bare), f"long_{name}": Length(name)}
            )
            wanted |= Q(**{f"in_{name}__gt": 0, f"long_{name}__gte": SHORTEST})
    return rows.filter(wanted)


def _proposals(one: Sweep, rows: models.QuerySet) -> set[int]:
    """Those that would change, or rest on, what is erased; nobody can approve them any more."""
    gone = {("fact", pk) for pk in one.facts} | {("message", pk) for pk in one.messages}
    gone |= {("entity", pk) for pk in one.people}
    found = set()
    for pk, targets, evidence in rows.values_list("pk", "targets", "evidence").iterator():
        named = {(aim.get("type"), aim.get("id")) for aim in targets}
        named |= {(kind, e.get(kind)) for e in evidence for kind in ("fact", "message")}
        if named & gone:
            found.add(pk)
    rows.filter(pk__in=found, status="pending").update(status="expired")
    return found


def _redact(one: Sweep, row: Any, place: Place, *, whole: bool) -> bool:
    """Put "[erased]" in place of its words, not yet in the database; return whether it changed."""
    has_changed = False
    for name in place.fields:
        column = row._meta.get_field(name)
        was = getattr(row, name)
        now = _redacted(one, was, column, whole=whole)
        if now != was:
            # Names that are unique stay so.
            is_unique = name in ("slug", "key") and now == ERASED
            setattr(row, name, f"erased-{row.pk}" if is_unique else now)
            has_changed = True
    return has_changed


def _redacted(one: Sweep, value: Any, column: models.Field, *, whole: bool) -> Any:
    if isinstance(column, ArrayField):
        return [] if whole else [said for said in value or () if not one.repeats(said)]
    if isinstance(value, str) and value:
        return ERASED if whole else _redacted_text(one, value)
    return _redacted_json(one, value, whole=whole)


def _redacted_text(one: Sweep, value: str) -> str:
    """Erase the sentences that repeat what is erased; all of it when none does by itself."""
    pieces = (ERASED if one.repeats(piece) else piece for piece in PIECES.split(value))
    redacted = "".join(pieces)
    return ERASED if one.repeats(redacted) else redacted


def _redacted_json(one: Sweep, value: Any, *, whole: bool, name: str = "") -> Any:
    if isinstance(value, dict):
        return {
            key: _redacted_json(one, inner, whole=whole, name=key) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_redacted_json(one, inner, whole=whole, name=name) for inner in value]
    if not isinstance(value, str) or not value or name in CODES - ({"by"} if whole else set()):
        return value
    return ERASED if whole else _redacted_text(one, value)


def _describe_again(one: Sweep) -> None:
    """Make title, summary and tags of the episodes anew from what is left in them."""
    held = Episode.objects.filter(space=one.space, messages__in=one.messages)
    for episode in held.exclude(pk__in=one.episodes).distinct():
        left = grouping.messages_of(episode).exclude(text=ERASED)
        said = grouping.said_by_people(left)
        made = grouping.describe(said) if said else {"title": ERASED, "body": "", "tags": []}
        values = {name: made[name] for name in ("title", "body", "tags")}
        if episode.sticky or episode.status == Episode.Status.OPEN:
            values = {"tags": values["tags"]}  # the rest is a person's, or empty still
        Episode.objects.filter(pk=episode.pk).update(**values)
        one.counts["memory.Episode"] += 1
        one.described[episode.pk] = list(values["tags"])


def _forget_past_tags(one: Sweep) -> None:
    """Take the erased words out of the tags that these episodes had before."""
    events = history.events_of(Episode)
    gone = set(text.words(text.fold("\n".join((*one.words, *one.texts)))))
    changed = []
    for event in events.filter(pgh_obj_id__in=one.described).only("pk", "pgh_obj", "tags"):
        kept = {*one.described[event.pgh_obj_id]}
        tags = [tag for tag in event.tags if tag in kept or text.fold(tag) not in gone]
        if tags != event.tags:
            event.tags = tags
            changed.append(event)
    events.model._base_manager.bulk_update(changed, ["tags"], batch_size=BATCH)
    one.counts["history"] += len(changed)


def _forget_people(one: Sweep) -> None:
    """Take the names of people who are erased out of what stays, and their own rows away."""
    if not one.people and not one.accounts:
        return
    said = Message.objects.filter(pk__in=one.messages, role=Message.Role.USER)
    said.update(author=ERASED, author_id="")
    Recall.objects.filter(space=one.space, message__in=one.messages).update(person="")
    mine = Q(pk__in=[])
    for channel, author_id in one.accounts:
        mine |= Q(channel=channel, author_id=author_id)
    ChatLink.objects.filter(mine, space=one.space).delete()
    one.rows += [row for m in (Rule, Preference) for row in m.objects.filter(mine, space=one.space)]
    _take_names_out(one)
    for row in Entity.objects.filter(space=one.space, owner__in=one.people):
        if row.pk not in one.people:
            history.erase(row)
            row.owner, row.relation = None, ""
            row.aliases = [name for name in row.aliases if not _names(one).search(name)]
            row.save(update_fields=["owner", "relation", "aliases"])
    one.rows += Entity.objects.filter(space=one.space, pk__in=one.people)


def _names(one: Sweep) -> re.Pattern:
    names = sorted(map(re.escape, one.names), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)" if names else r"(?!)", re.IGNORECASE)


def _take_names_out(one: Sweep) -> None:
    """Facts about others that name them, who said a fact, and who took part in an episode."""
    named, keys = _names(one), {key_of(name) for name in one.names}
    linked = Mention.objects.filter(entity__in=one.people).values_list("fact", flat=True)
    pks = {*linked, *one.shared} - one.facts
    past = history.events_of(Fact).filter(pgh_obj_id__in=pks)
    for row in (*Fact.objects.filter(space=one.space, pk__in=pks), *past):
        row.text, row.quote = named.sub(ERASED, row.text), named.sub(ERASED, row.quote)
        row.said_key = text.said_key(row.text)
        row.said_by = "" if key_of(row.said_by) in keys else row.said_by
        row.evidence = [
            entry | ({"by": ERASED} if key_of(str(entry.get("by", ""))) in keys else {})
            for entry in row.evidence
        ]
        changed = ["text", "quote", "said_key", "said_by", "evidence"]
        try:
            with transaction.atomic():
                row.save(update_fields=changed)
        except IntegrityError:  # without the name another live fact says the same
            row.status = Fact.Status.ARCHIVED
            row.save(update_fields=[*changed, "status"])
    past = history.events_of(Episode).filter(pgh_obj_id__in=one.around)
    for row in (*Episode.objects.filter(pk__in=one.around), *past):
        row.participants = [name for name in row.participants if key_of(name) not in keys]
        row.save(update_fields=["participants"])


def _delete(one: Sweep) -> None:
    """Delete the facts, the vectors of what was erased, and files that still hold it."""
    silent = [SilencedMessage(message_id=pk) for pk in one.messages]
    SilencedMessage.objects.bulk_create(silent, ignore_conflicts=True)
    # Written again, their own triggers see that they are silent now.
    Message.objects.filter(pk__in=one.messages).update(episode=models.F("episode"))
    touched = Q(unit__kind="message", unit__owner_id__in=one.messages)
    held = Episode.objects.filter(messages__in=one.messages).values_list("pk", flat=True)
    touched |= Q(unit__kind="episode", unit__owner_id__in=list(held))
    gone = Embedding.objects.filter(touched, space=one.space)
    one.counts["memory.Embedding"] += gone.count()
    gone.delete()
    Ruling.objects.filter(fact__in=one.facts, kind=Ruling.Kind.KEEP).delete()
    spoken_of = set(
        Entity.objects.filter(mentions__fact__in=one.facts).values_list("pk", flat=True)
    )
    for model, pks in ((Fact, one.facts), (Episode, one.episodes)):
        history.events_of(model).filter(pgh_obj_id__in=pks).delete()
        one.counts[model._meta.label] += model.objects.filter(space=one.space, pk__in=pks).count()
        model.objects.filter(space=one.space, pk__in=pks).delete()
        history.events_of(model).filter(pgh_obj_id__in=pks).delete()
    people.forget_unseen(spoken_of)
    _delete_rows(one)
    # An export holds everything, and what was imported is not needed any more.
    packed = Parcel.objects.filter(space=one.space).exclude(status__in=Parcel.BUSY)
    one.counts["memory.Parcel"] += packed.filter(way=Parcel.Way.OUT).count()
    packed.filter(way=Parcel.Way.OUT).delete()
    waiting = packed.filter(status=Parcel.Status.READY)
    waiting.filter(lines__text__contains=ERASED).delete()
    done = (Parcel.Status.APPLIED, Parcel.Status.UNDONE, Parcel.Status.REFUSED)
    apps.get_model("memory.ParcelPiece").objects.filter(
        parcel__space=one.space, parcel__status__in=done
    ).delete()


def _delete_rows(one: Sweep) -> None:
    """Delete whole chats with all that hangs on them, and the further rows, with their history."""
    in_chat = [m for m in history.event_models() if _has(m, "chat")]
    chats = Chat.objects.filter(space=one.space, pk__in=one.chats)
    one.counts["memory.Chat"] += chats.count()
    for _round in range(2):  # what the deletion itself sets to null is an event, too
        for model in in_chat:
            model._base_manager.filter(chat__in=one.chats).delete()
        history.events_of(Chat).filter(pgh_obj_id__in=one.chats).delete()
        chats.delete()
    for row in one.rows:
        if type(row) in history.tracked_models():
            history.erase(row)
        one.counts[row._meta.label] += 1
        row.delete()


def _has(model: Any, name: str) -> bool:
    return any(column.name == name for column in model._meta.fields)


def _redact_history(one: Sweep, place: Place) -> None:
    """Take the words out of the events of every row of this table, too."""
    events = [m for m in history.event_models() if m.pgh_tracked_model is place.table]
    for model in events:
        names = {column.name for column in model._meta.fields}
        kept = tuple(name for name in place.fields if name in names)
        past = Place(model._meta.label, kept, space="space" if "space" in names else "")
        if not kept:
            continue
        rows = model._base_manager.all()
        rows = rows.filter(space=one.space.pk) if past.space else _of_space(rows, one.space)
        if one.own and place.table in OTHERS:
            mine = place.table._base_manager.filter(OTHERS[place.table](one), space=one.space.pk)
            rows = rows.filter(pgh_obj_id__in=mine.values("pk"))
        maybe = _repeating(one, rows, past)
        one.counts["history"] += _write(one, rows if maybe is None else maybe, past)


def _of_space(events: models.QuerySet, space: Space) -> models.QuerySet:
    tracked = events.model.pgh_tracked_model
    return events.filter(pgh_obj_id__in=tracked._base_manager.filter(space=space).values("pk"))


def _analyze(one: Sweep) -> None:
    """Take the planner's statistics again: they keep values that are common in a column."""
    with connection.cursor() as cursor:
        for place in PLACES:
            if one.counts[place.model]:
                cursor.execute(f'ANALYZE "{place.table._meta.db_table}"')
