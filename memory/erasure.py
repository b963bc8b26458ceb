"""Erasure: take words out of the whole space for good, wherever they were written down.

`PLACES` lists the columns that hold words; a test fails when such a column is missing and the test
does not list it as wordless. The caller names rows (facts, messages, an episode). Everything that
repeats their words is found through the table, in every row and its history. What only points at
the rows stays: a message keeps its place and says "[erased]".
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
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
# Shorter words are equal by chance: "yes" in one message is not "yes" in another.
SHORTEST = 12
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
# JSON fields with words of Keno: the kind of a line, never what a person said.
CODES = {"outcome", "kind", "category", "type", "changes", "mode", "language", "heard_as", "by"}


@dataclass(frozen=True)
class Place:
    """One table and its columns that may hold the words of people."""

    model: str
    fields: list[str]
    # The lookup of the space; empty for a table that all spaces share.
    space: str = "space"
    # The columns that point at a message: such a row is erased whole.
    messages: list[str] = field(default_factory=list)
    # Delete the whole row, which is nothing but its words.
    delete: bool = False

    @property
    def table(self) -> Any:
        return apps.get_model(self.model)


TABLES = tomllib.loads(Path(__file__).with_name("erasure_places.toml").read_text("utf-8"))
PLACES = [Place(model, **values) for model, values in TABLES.items()]


@dataclass
class Sweep:
    """What to erase: the named rows, and the words by which the other rows are found."""

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
    # Erase only one person's words: what other people said stays, even when it is the same.
    own: bool = False
    # Facts and episodes that rest on other things too: they stay, without the erased words.
    shared: set[int] = field(default_factory=set)
    around: set[int] = field(default_factory=set)
    # Wordings, quotes and codes of the facts, in lower case.
    words: set[str] = field(default_factory=set)
    # The texts of the erased messages, in lower case.
    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    # The new tags of episodes that were described again.
    described: dict[int, list[str]] = field(default_factory=dict)
    counts: Counter = field(default_factory=Counter)

    @cached_property
    def phrases(self) -> list[str]:
        wordings = (*self.words, *self.texts)
        return [each for each in wordings if len(each) >= SHORTEST or CODE.fullmatch(each)]

    @property
    def is_short(self) -> bool:
        """Tell whether the database can search for the phrases; if not, every row is read."""
        return len(self.phrases) <= FEW_PHRASES and not encryption.has_keys(self.space.pk)

    @cached_property
    def heads(self) -> dict[str, list[str]]:
        """Group the phrases by their beginning, so that a text is read only once."""
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


# These tables hold other people's words too: look only at these rows, which rest on erased ones.
OTHERS: dict[Any, str] = {Fact: "shared", Episode: "around", Entity: "people"}
Progress = Callable[[int, int], None]


@transaction.atomic
def erase(
    space: Space,
    *,
    by: str,
    preview: bool = False,
    of: models.Model | None = None,
    tell: Progress = lambda done, total: None,
    note: Callable[[Sweep], None] = lambda sweep: None,
    **named: Any,
) -> dict[str, int]:
    """Erase these rows for good, with what repeats their words; return the row counts by table.

    `named` are fields of a Sweep: facts, messages, episodes, chats, people … A preview does the
    same and rolls it back. The caller has asked for confirmation. `of` is the row that the audit
    names. `note` is called with the sweep before anything goes, `tell` with the progress.
    """
    values: dict[str, Any] = {n: v if n in ("own", "rows") else set(v) for n, v in named.items()}
    sweep = Sweep(space, **values)
    total = 2 * len(PLACES) + 2
    _collect(sweep)
    note(sweep)
    if preview and len(sweep.messages) > MANY_MESSAGES:
        transaction.set_rollback(True)
        return _named_only(sweep)
    with (
        history.change(by=by, why="erase"),
        pgtrigger.ignore("memory.AuditEntry:append_only"),
        _titles_stay(sweep),
    ):
        for number, place in enumerate(PLACES, 1):
            _redact_place(sweep, place)
            tell(number, total)
        _describe_again(sweep)
        # A model worded it differently, so no search would find it. It is made again.
        ChatSummary.objects.filter(chat__messages__in=sweep.messages).delete()
        _forget_people(sweep)
        _delete(sweep)
        tell(len(PLACES) + 1, total)
        # Undo of an earlier change must not bring a word back, nor may this change hold one.
        for number, place in enumerate(PLACES, len(PLACES) + 2):
            _redact_history(sweep, place)
            tell(number, total)
        _forget_past_tags(sweep)
    if preview:
        transaction.set_rollback(True)
    else:
        if not sweep.own:
            action = f"{of._meta.model_name}.purged" if of else "words.erased"
            audit.record(action, actor=by, space=space, obj=of, **dict[str, Any](sweep.counts))
        _analyze(sweep)
    return dict(sweep.counts)


def _named_only(sweep: Sweep) -> dict[str, int]:
    named = {
        "Message": sweep.messages,
        "Fact": sweep.facts,
        "Episode": sweep.episodes,
        "Chat": sweep.chats,
    }
    return {f"memory.{name}": len(pks) for name, pks in named.items() if pks}


def purge(row: Fact | Episode, *, by: str, preview: bool = False) -> dict[str, int]:
    """Erase one fact or episode with the messages it rests on; see erase()."""
    what: dict[str, Any] = {"facts" if isinstance(row, Fact) else "episodes": [row.pk]}
    return erase(row.space, by=by, preview=preview, of=row, **what)


def _collect(sweep: Sweep) -> None:
    """Find every message and fact to erase, and the words by which the rest is found."""
    named = Q(pk__in=sweep.messages) | Q(episode__in=sweep.episodes)
    sweep.messages |= _ids(Message.objects.filter(named, space=sweep.space))
    if sweep.own:
        _follow(sweep)
    facts = list(Fact.objects.filter(space=sweep.space, pk__in=sweep.facts))
    sweep.words |= set(_wordings(facts))
    Fact.objects.filter(pk__in=sweep.facts).update(forgotten=True)  # names what they rest on
    rested = _source_messages(facts)
    sweep.words |= {code.lower() for wording in tuple(sweep.words) for code in codes(wording)}
    sweep.words -= {""}
    if sweep.own:
        _leave_to_others(sweep, rested)
    else:
        sweep.messages |= rested
        # The same was also said elsewhere, or is believed once more.
        sweep.messages |= _rows_holding(sweep, Message)
        sweep.facts |= _rows_holding(sweep, Fact)
    replies = Message.objects.filter(space=sweep.space, reply_to__in=sweep.messages)
    sweep.messages |= _ids(replies.exclude(role=Message.Role.USER))
    gone = Message.objects.filter(space=sweep.space, pk__in=sweep.messages)
    # Without Keno's replies: the same sentence of Keno stands under many messages.
    texts = gone.filter(role=Message.Role.USER).values_list("text", flat=True)
    sweep.texts |= {body.lower() for body in texts if body}
    for name in ("phrases", "heads", "sizes"):  # there are more now
        vars(sweep).pop(name, None)
    if sweep.own:
        others = Message.objects.filter(space=sweep.space, role=Message.Role.USER)
        theirs = others.exclude(pk__in=sweep.messages).values_list("text", flat=True)
        said_by_others = {body.lower() for body in theirs.iterator()}
        sweep.texts -= said_by_others
        sweep.words -= said_by_others


def _follow(sweep: Sweep) -> None:
    """Add what rests on these rows alone, unless it is about someone else."""
    roots = {("message", pk) for pk in sweep.messages} | {("episode", pk) for pk in sweep.episodes}
    descent = lineage.descent(sweep.space, roots | {("fact", pk) for pk in sweep.facts})
    alone = descent.ids("fact")
    theirs = about_others(alone - sweep.facts, sweep.people) if sweep.people else set()
    sweep.shared = descent.ids("fact", shared=True) | theirs
    sweep.facts |= alone - theirs
    sweep.around = descent.ids("episode") | descent.ids("episode", shared=True)
    sweep.episodes |= descent.ids("episode")
    for kind, model in lineage.MADE_BY_PROPOSALS.items():
        sweep.rows += model._default_manager.filter(space=sweep.space, pk__in=descent.ids(kind))


def about_others(facts: Iterable[int], people: Iterable[int]) -> set[int]:
    """Return those of the facts that are about anyone but these people."""
    about = Mention.objects.filter(fact__in=list(facts), role=Mention.Role.ABOUT)
    return set(about.exclude(entity=None).exclude(entity__in=people).values_list("fact", flat=True))


def _leave_to_others(sweep: Sweep, rested: set[int]) -> None:
    """Of the messages under the facts erase only Keno's replies: people keep their words."""
    sweep.messages |= _ids(Message.objects.filter(pk__in=rested).exclude(role=Message.Role.USER))
    mine = Entity.objects.filter(space=sweep.space, pk__in=sweep.people)
    names = {name for row in mine for name in (row.name, *row.aliases)}
    sweep.names = {name for name in names if len(name) > 1}


def _wordings(facts: list[Fact]) -> Iterator[str]:
    """Yield the present and earlier texts of the facts, and the words they were taken from."""
    past = history.events_of(Fact).filter(pgh_obj_id__in=[fact.pk for fact in facts])
    for row in (*facts, *past.only("text", "quote")):
        yield from (row.text.lower(), row.quote.lower())
    for fact in facts:
        yield from (str(proof.get("quote", "")).lower() for proof in fact.evidence)


def _source_messages(facts: list[Fact]) -> set[int]:
    """Return the messages under the facts; a reply that only saw a fact in its prompt stays."""
    by_pk = {fact.pk: fact for fact in facts}
    stems = {pk: text.stems(fact.text) - text.stems(fact.subject) for pk, fact in by_pk.items()}
    messages = set()
    for silenced in SilencedMessage.objects.filter(fact__in=by_pk).select_related("message"):
        message, fact = silenced.message, by_pk[silenced.fact_id or 0]
        answers = message.reply_to_id == fact.message_id
        is_said = message.role == Message.Role.USER or answers
        if is_said or stems[fact.pk] & text.stems(message.text):
            messages.add(message.pk)
    return messages


def codes(sentence: str) -> list[str]:
    """Return its numbers and codes, each of which is enough alone to be erased everywhere."""
    return [code.strip() for code in CODE.findall(DATE.sub(" ", sentence))]


def _rows_holding(sweep: Sweep, model: type[models.Model]) -> set[int]:
    """Return the rows whose text holds the words."""
    rows = model._default_manager.filter(space=sweep.space)
    if sweep.is_short:
        holding = Q(pk__in=[])
        for phrase in sweep.phrases:
            holding |= Q(text__icontains=phrase)
        return _ids(rows.filter(holding))
    texts = rows.values_list("pk", "text").iterator(chunk_size=BATCH)
    return {pk for pk, body in texts if sweep.holds(body.lower())}


def _ids(rows: models.QuerySet) -> set[int]:
    return set(rows.values_list("pk", flat=True))


@contextmanager
def _titles_stay(sweep: Sweep) -> Iterator[None]:
    """Let hidden titles come back from their history only when the words are out of it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('keno.erasing', 'on', true)")
        yield
        cursor.execute("SELECT set_config('keno.erasing', 'off', true)")
    for model in (Chat, Episode):
        held = model.objects.filter(space=sweep.space, messages__in=sweep.messages)
        model.objects.filter(pk__in=held.values("pk")).update(title=F("title"))


def _redact_place(sweep: Sweep, place: Place) -> None:
    rows = place.table._base_manager.all()
    if place.space:
        rows = rows.filter(**{place.space: sweep.space.pk})
    if place.table is Message:
        # Two people may ask the same: of other messages only a reply can be a quotation.
        rows = rows.filter(Q(pk__in=sweep.messages) | Q(role=Message.Role.ASSISTANT))
    if sweep.own and place.table in OTHERS:
        rows = rows.filter(pk__in=getattr(sweep, OTHERS[place.table]))
    on_messages = Q(pk__in=[])
    for name in place.messages:
        on_messages |= Q(**{f"{name}__in": sweep.messages})
    whole = _ids(rows.filter(on_messages)) if place.messages else set()
    if place.model == "sleep.Proposal":
        whole |= _expire_proposals(sweep, rows)
    repeating = _rows_repeating(sweep, rows, place)
    affected = rows
    if repeating is not None:
        affected = rows.filter(Q(pk__in=whole) | Q(pk__in=repeating.values("pk")))
    if not place.delete:
        sweep.counts[place.model] += _write(sweep, affected, place, whole)
        return
    for row in affected:
        if row.pk not in whole and _redact(sweep, row, place, whole=False):
            whole.add(row.pk)
    sweep.counts[place.model] += rows.filter(pk__in=whole).delete()[0]


def _write(sweep: Sweep, rows: models.QuerySet, place: Place, whole: Container[int] = ()) -> int:
    """Put "[erased]" into the rows, many at once; return how many changed."""
    read = rows.only("pk", *place.fields)
    # A cursor costs two statements more, which is not worth it where the database has searched.
    rows_read = read if sweep.is_short else read.iterator(chunk_size=BATCH)
    changed = [row for row in rows_read if _redact(sweep, row, place, whole=row.pk in whole)]
    rows.model._base_manager.bulk_update(changed, place.fields, batch_size=BATCH)
    if rows.model is AuditEntry:  # its chain holds without these details, and guards nothing more
        with pgtrigger.ignore("memory.AuditSeal:append_only"):
            AuditSeal.objects.filter(entry__in=changed).update(salt="")
    return len(changed)


def _rows_repeating(sweep: Sweep, rows: models.QuerySet, place: Place) -> models.QuerySet | None:
    """Return the rows that hold a phrase or whose text is a part of one; None means all rows."""
    if not sweep.is_short:
        return None
    matches = Q(pk__in=[])
    for name in place.fields:
        column = place.table._meta.get_field(name)
        rows = rows.alias(**{f"text_of_{name}": Cast(name, models.TextField())})
        spelled = {json.dumps(phrase, ensure_ascii=False)[1:-1] for phrase in sweep.phrases}
        for phrase in {*sweep.phrases, *spelled}:
            matches |= Q(**{f"text_of_{name}__icontains": phrase})
        if isinstance(column, models.CharField | models.TextField) and sweep.haystack:
            bare = models.Func(RTrim(Lower(name)), Value(" .…"), function="rtrim")
            rows = rows.alias(
                **{
                    f"in_{name}": StrIndex(Value(sweep.haystack), bare),
                    f"long_{name}": Length(name),
                }
            )
            matches |= Q(**{f"in_{name}__gt": 0, f"long_{name}__gte": SHORTEST})
    return rows.filter(matches)


def _expire_proposals(sweep: Sweep, rows: models.QuerySet) -> set[int]:
    """Expire the proposals that change erased rows or rest on them; return their ids."""
    gone = {("fact", pk) for pk in sweep.facts} | {("message", pk) for pk in sweep.messages}
    gone |= {("entity", pk) for pk in sweep.people}
    affected = set()
    for pk, targets, evidence in rows.values_list("pk", "targets", "evidence").iterator():
        named = {(target.get("type"), target.get("id")) for target in targets}
        named |= {(kind, e.get(kind)) for e in evidence for kind in ("fact", "message")}
        if named & gone:
            affected.add(pk)
    rows.filter(pk__in=affected, status="pending").update(status="expired")
    return affected


def _redact(sweep: Sweep, row: Any, place: Place, *, whole: bool) -> bool:
    """Put "[erased]" in place of its words without saving it; return whether it changed."""
    has_changed = False
    for name in place.fields:
        was = getattr(row, name)
        if isinstance(row._meta.get_field(name), ArrayField):
            now = [] if whole else [entry for entry in was or () if not sweep.repeats(entry)]
        else:
            now = _redact_value(sweep, was, whole=whole)
        if now != was:
            # Names that are unique stay so.
            is_unique = name in ("slug", "key") and now == ERASED
            setattr(row, name, f"erased-{row.pk}" if is_unique else now)
            has_changed = True
    return has_changed


def _redact_text(sweep: Sweep, value: str) -> str:
    """Erase the sentences that repeat erased words; the whole text when none does by itself."""
    pieces = (ERASED if sweep.repeats(piece) else piece for piece in PIECES.split(value))
    redacted = "".join(pieces)
    return ERASED if sweep.repeats(redacted) else redacted


def _redact_value(sweep: Sweep, value: Any, *, whole: bool, name: str = "") -> Any:
    """Return a text or a JSON value without the erased words; `name` is the field it stands in."""
    if isinstance(value, dict):
        return {
            key: _redact_value(sweep, inner, whole=whole, name=key) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_redact_value(sweep, inner, whole=whole, name=name) for inner in value]
    if not isinstance(value, str) or not value or name in CODES - ({"by"} if whole else set()):
        return value
    return ERASED if whole else _redact_text(sweep, value)


def _describe_again(sweep: Sweep) -> None:
    """Make title, summary and tags of the episodes again from what is left in them."""
    held = Episode.objects.filter(space=sweep.space, messages__in=sweep.messages)
    for episode in held.exclude(pk__in=sweep.episodes).distinct():
        messages = grouping.said_by_people(grouping.messages_of(episode).exclude(text=ERASED))
        values = {"title": ERASED, "body": "", "tags": []}
        if messages:
            described = grouping.describe(messages)
            values = {name: described[name] for name in values}
        if episode.sticky or episode.status == Episode.Status.OPEN:
            values = {"tags": values["tags"]}  # a person wrote the rest, or it is still empty
        Episode.objects.filter(pk=episode.pk).update(**values)
        sweep.counts["memory.Episode"] += 1
        sweep.described[episode.pk] = list(values["tags"])


def _forget_past_tags(sweep: Sweep) -> None:
    """Take the erased words out of the tags that these episodes had before."""
    events = history.events_of(Episode)
    gone = set(text.words(text.fold("\n".join((*sweep.words, *sweep.texts)))))
    changed = []
    for event in events.filter(pgh_obj_id__in=sweep.described).only("pk", "pgh_obj", "tags"):
        described = {*sweep.described[event.pgh_obj_id]}
        tags = [tag for tag in event.tags if tag in described or text.fold(tag) not in gone]
        if tags != event.tags:
            event.tags = tags
            changed.append(event)
    events.model._base_manager.bulk_update(changed, ["tags"], batch_size=BATCH)
    sweep.counts["history"] += len(changed)


def _forget_people(sweep: Sweep) -> None:
    """Take the names of erased people out of what stays, and delete their own rows."""
    if not sweep.people and not sweep.accounts:
        return
    messages = Message.objects.filter(pk__in=sweep.messages, role=Message.Role.USER)
    messages.update(author=ERASED, author_id="")
    Recall.objects.filter(space=sweep.space, message__in=sweep.messages).update(person="")
    mine = Q(pk__in=[])
    for channel, author_id in sweep.accounts:
        mine |= Q(channel=channel, author_id=author_id)
    ChatLink.objects.filter(mine, space=sweep.space).delete()
    sweep.rows += [
        row for m in (Rule, Preference) for row in m.objects.filter(mine, space=sweep.space)
    ]
    _take_names_out(sweep)
    for row in Entity.objects.filter(space=sweep.space, owner__in=sweep.people):
        if row.pk not in sweep.people:
            history.erase(row)
            row.owner, row.relation = None, ""
            row.aliases = [name for name in row.aliases if not _names(sweep).search(name)]
            row.save(update_fields=["owner", "relation", "aliases"])
    sweep.rows += Entity.objects.filter(space=sweep.space, pk__in=sweep.people)


def _names(sweep: Sweep) -> re.Pattern:
    names = sorted(map(re.escape, sweep.names), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)" if names else r"(?!)", re.IGNORECASE)


def _take_names_out(sweep: Sweep) -> None:
    """Take the names out of facts about others, of their speakers and of episodes' participants."""
    named, keys = _names(sweep), {key_of(name) for name in sweep.names}
    linked = Mention.objects.filter(entity__in=sweep.people).values_list("fact", flat=True)
    pks = {*linked, *sweep.shared} - sweep.facts
    past = history.events_of(Fact).filter(pgh_obj_id__in=pks)
    for row in (*Fact.objects.filter(space=sweep.space, pk__in=pks), *past):
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
    past = history.events_of(Episode).filter(pgh_obj_id__in=sweep.around)
    for row in (*Episode.objects.filter(pk__in=sweep.around), *past):
        row.participants = [name for name in row.participants if key_of(name) not in keys]
        row.save(update_fields=["participants"])


def _delete(sweep: Sweep) -> None:
    """Delete the facts, the vectors of erased rows, and files that still hold the words."""
    silent = [SilencedMessage(message_id=pk) for pk in sweep.messages]
    SilencedMessage.objects.bulk_create(silent, ignore_conflicts=True)
    # Saved again, so that their own triggers see that they are silent now.
    Message.objects.filter(pk__in=sweep.messages).update(episode=models.F("episode"))
    touched = Q(unit__kind="message", unit__owner_id__in=sweep.messages)
    held = Episode.objects.filter(messages__in=sweep.messages)
    touched |= Q(unit__kind="episode", unit__owner_id__in=_ids(held))
    gone = Embedding.objects.filter(touched, space=sweep.space)
    sweep.counts["memory.Embedding"] += gone.count()
    gone.delete()
    Ruling.objects.filter(fact__in=sweep.facts, kind=Ruling.Kind.KEEP).delete()
    mentioned = _ids(Entity.objects.filter(mentions__fact__in=sweep.facts))
    for model, pks in ((Fact, sweep.facts), (Episode, sweep.episodes)):
        history.events_of(model).filter(pgh_obj_id__in=pks).delete()
        sweep.counts[model._meta.label] += model.objects.filter(
            space=sweep.space, pk__in=pks
        ).count()
        model.objects.filter(space=sweep.space, pk__in=pks).delete()
        history.events_of(model).filter(pgh_obj_id__in=pks).delete()
    people.forget_unseen(mentioned)
    _delete_rows(sweep)
    # An export holds everything; the file of a finished import is not needed any more.
    packed = Parcel.objects.filter(space=sweep.space).exclude(status__in=Parcel.BUSY)
    sweep.counts["memory.Parcel"] += packed.filter(way=Parcel.Way.OUT).count()
    packed.filter(way=Parcel.Way.OUT).delete()
    waiting = packed.filter(status=Parcel.Status.READY)
    waiting.filter(lines__text__contains=ERASED).delete()
    done = (Parcel.Status.APPLIED, Parcel.Status.UNDONE, Parcel.Status.REFUSED)
    apps.get_model("memory.ParcelPiece").objects.filter(
        parcel__space=sweep.space, parcel__status__in=done
    ).delete()


def _delete_rows(sweep: Sweep) -> None:
    """Delete whole chats with all that hangs on them, and the further rows, with their history."""
    in_chat = [m for m in history.event_models() if "chat" in _columns(m)]
    chats = Chat.objects.filter(space=sweep.space, pk__in=sweep.chats)
    sweep.counts["memory.Chat"] += chats.count()
    for _round in range(2):  # the deletion sets columns to null, which writes events too
        for model in in_chat:
            model._base_manager.filter(chat__in=sweep.chats).delete()
        history.events_of(Chat).filter(pgh_obj_id__in=sweep.chats).delete()
        chats.delete()
    for row in sweep.rows:
        if type(row) in history.tracked_models():
            history.erase(row)
        sweep.counts[row._meta.label] += 1
        row.delete()


def _columns(model: Any) -> set[str]:
    return {column.name for column in model._meta.fields}


def _redact_history(sweep: Sweep, place: Place) -> None:
    """Take the words out of the events of every row of this table."""
    events = [m for m in history.event_models() if m.pgh_tracked_model is place.table]
    for model in events:
        columns = _columns(model)
        fields = [name for name in place.fields if name in columns]
        if not fields:
            continue
        past, rows = Place(model._meta.label, fields), model._base_manager.all()
        tracked = place.table._base_manager.filter(space=sweep.space.pk)
        has_others = sweep.own and place.table in OTHERS
        if has_others:
            tracked = tracked.filter(pk__in=getattr(sweep, OTHERS[place.table]))
        if has_others or "space" not in columns:
            rows = rows.filter(pgh_obj_id__in=tracked.values("pk"))
        if "space" in columns:
            rows = rows.filter(space=sweep.space.pk)
        repeating = _rows_repeating(sweep, rows, past)
        sweep.counts["history"] += _write(sweep, rows if repeating is None else repeating, past)


def _analyze(sweep: Sweep) -> None:
    """Take the planner's statistics again: they keep values that are common in a column."""
    with connection.cursor() as cursor:
        for place in PLACES:
            if sweep.counts[place.model]:
                cursor.execute(f'ANALYZE "{place.table._meta.db_table}"')
