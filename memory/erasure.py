"""Erasure: take words out of the whole space for good, wherever they were written down.

`PLACES` is the table of where words live; a test fails when a column that can hold words is in
neither it nor `WORDLESS`. Whoever erases something (a fact, messages, an episode) names its rows;
everything that repeats their words is found through the table, in every row and its history. What
only points at them stays: a message keeps its place in the chat and says "[erased]".
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pgtrigger
from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction
from django.db.models import Q, Value
from django.db.models.functions import Cast, Length, Lower, RTrim, StrIndex

from memory import people
from memory.episodes import grouping
from memory.history import audit
from memory.history import changes as history
from memory.models import (
    Embedding,
    Entity,
    Episode,
    Fact,
    Message,
    Parcel,
    Ruling,
    SilencedMessage,
    Space,
)
from memory.text import normalise as text

ERASED = "[erased]"
# Shorter words are said by chance: "yes" in one message is not "yes" in another.
SHORTEST = 12
# So many rows are written at once.
BATCH = 2000
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
    Place("memory.WorkingNote", ("task", "context", "pending", "notes")),
    Place("memory.Episode", ("title", "body", "tags", "discard_reason", "salience_reasons")),
    Place("memory.Fact", ("quote", "evidence", "flags")),
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
    Place("memory.SelfCheck", ("forbidden",), messages=("reply",)),
    Place("memory.OutboxItem", ("text", "error"), messages=("message",)),
    Place("memory.DeadLetter", ("args", "error")),
    Place("memory.Notice", ("text", "words", "link", "key")),
    Place("memory.Parcel", ("name", "problem", "guild")),
    Place("memory.ParcelLine", ("place", "text", "why"), space="parcel__space"),
    Place("memory.LlmCall", ("error",)),
    Place("memory.AuditEntry", ("details",)),
    Place("sleep.Night", ("error",)),
    Place("sleep.PhaseRun", ("plan", "lines", "error"), space="night__space"),
    Place("sleep.NightChange", ("text", "evidence")),
    Place("sleep.Claim", ("subject", "text", "quote"), delete=True),
    Place("sleep.Proposal", ("title", "before", "after", "rationale", "evidence", "reason")),
    Place("sleep.Reflection", ("insights",)),
    Place("pghistory.Context", ("metadata",), space=""),
]
# Columns that hold names of ours, of people and of channels, numbers, or what follows from words
# that are erased: the index is written again by its triggers, vectors and files are deleted.
WORDLESS = {
    "memory.Space": {"name", "slug", "settings", "audit_key"},
    "memory.ApiToken": {"name"},
    "memory.AuditEntry": {"actor", "action", "object_type", "object_id"},
    "memory.Member": set(),
    "memory.Message": {"author", "external_id", "flags"},
    "memory.Chat": {"external_id", "thread"},
    "memory.Fact": {"subject", "text", "said_by"},
    "memory.Episode": {"participants", "flags"},
    "memory.Entity": {"relation", "accounts"},
    "memory.Recall": {"person", "ms", "sections", "profile"},
    "memory.RecallItem": {"parts", "lanes"},
    "memory.RecallProfile": {"name", "formula", "weights", "settings", "note", "made_by"},
    "memory.SelfCheck": {"signals"},
    "memory.OutboxItem": {"external_id"},
    "memory.DeadLetter": {"task", "retried_by"},
    "memory.Heartbeat": {"name", "version", "channels"},
    "memory.Breaker": {"provider", "last_error"},
    "memory.Parcel": {"counts", "change", "asked", "format"},
    "memory.ParcelPiece": {"data"},
    "memory.LlmCall": {"provider", "model", "trace"},
    "memory.Unit": {"words", "speaker"},
    "memory.EmbeddingModel": {"name", "provider", "model"},
    "memory.Embedding": {"model"},
    "memory.ChatLink": {"author"},
    "sleep.Night": {"asked_by", "phase"},
    "sleep.PhaseRun": {"phase", "counts"},
    "sleep.NightChange": {"phase", "undone_by"},
    "sleep.Claim": {"said_by", "speaker"},
    "sleep.Proposal": {"targets", "flags", "decided_name"},
    "sleep.Reflection": {"numbers"},
    "kenoweb.Account": {"theme"},
    "kenoweb.OneTimeLink": {"label"},
}
WORDLESS_NAMES = {
    "key", "digest", "said_key", "text_hash", "prefix", "scopes", "before_digest", "after_digest",
    "language", "mode", "source", "written_by", "by", "channel", "author_id", "person", "kind",
    "timezone", "verdict", "role", "category", "section_kind", "cut", "level", "status", "feedback",
    "pgh_label",
}  # fmt: skip


@dataclass
class Erasure:
    """What is erased: the rows that were named, and the words by which others are found."""

    space: Space
    facts: set[int] = field(default_factory=set)
    messages: set[int] = field(default_factory=set)
    episodes: set[int] = field(default_factory=set)
    # Wordings, quotes and codes of the facts, in lower case.
    words: set[str] = field(default_factory=set)
    # What the erased messages said, in lower case.
    texts: set[str] = field(default_factory=set)
    counts: Counter = field(default_factory=Counter)

    @cached_property
    def phrases(self) -> list[str]:
        found = (*self.words, *self.texts)
        return [one for one in found if len(one) >= SHORTEST or CODE.fullmatch(one)]

    @cached_property
    def haystack(self) -> str:
        return "\n".join((*self.words, *self.texts))

    def repeats(self, value: str) -> bool:
        """Tell whether the value holds erased words, or is a part of them."""
        lower = value.lower()
        if any(phrase in lower for phrase in self.phrases):
            return True
        bare = SAID_BY.sub("", lower).strip(" .…\"'“”«»")
        return len(bare) >= SHORTEST and bare in self.haystack


@transaction.atomic
def erase(
    space: Space,
    *,
    by: str,
    facts: Iterable[int] = (),
    messages: Iterable[int] = (),
    episodes: Iterable[int] = (),
    preview: bool = False,
    of: models.Model | None = None,
) -> dict[str, int]:
    """Erase these rows and what repeats their words, for good; return how many rows by table.

    A preview does the same and takes it back. The caller has asked first. `of` is the row that the
    audit names.
    """
    one = Erasure(space, set(facts), set(messages), set(episodes))
    _collect(one)
    with history.change(by=by, why="erase"), pgtrigger.ignore("memory.AuditEntry:append_only"):
        for place in PLACES:
            _redact_place(one, place)
        _describe_again(one)
        _delete(one)
        # Undo of what came before must not bring a word back, nor may this change tell of one.
        for place in PLACES:
            _redact_history(one, place)
    if preview:
        transaction.set_rollback(True)
    else:
        action = f"{of._meta.model_name}.purged" if of else "words.erased"
        audit.record(action, actor=by, space=space, obj=of, **dict[str, Any](one.counts))
        _analyze(one)
    return dict(one.counts)


def purge(row: Fact | Episode, *, by: str, preview: bool = False) -> dict[str, int]:
    """Erase one fact or episode with the messages it rests on; see erase()."""
    what = {"facts" if isinstance(row, Fact) else "episodes": [row.pk]}
    return erase(row.space, by=by, preview=preview, of=row, **what)


def _collect(one: Erasure) -> None:
    """Find every message and fact that goes, and the words by which the rest is found."""
    one.messages |= set(_messages(one).values_list("pk", flat=True))
    for fact in Fact.objects.filter(space=one.space, pk__in=one.facts).select_related("space"):
        one.words |= set(_wordings(fact))
        Fact.objects.filter(pk=fact.pk).update(forgotten=True)  # names what it rests on
        one.messages |= _rested_on(fact)
    one.words |= {code.lower() for said in tuple(one.words) for code in codes(said)}
    one.words -= {""}
    if one.words:
        # The same was also said elsewhere, or is believed once more.
        said = Message.objects.filter(space=one.space)
        one.messages |= set(said.filter(_holding(one.words, "text")).values_list("pk", flat=True))
        known = Fact.objects.filter(space=one.space)
        one.facts |= set(known.filter(_holding(one.words, "text")).values_list("pk", flat=True))
    replies = Message.objects.filter(space=one.space, reply_to__in=one.messages)
    one.messages |= set(replies.exclude(role=Message.Role.USER).values_list("pk", flat=True))
    gone = Message.objects.filter(space=one.space, pk__in=one.messages)
    # Not what Keno answered: the same sentence of ours stands under many messages.
    said_by_people = gone.filter(role=Message.Role.USER).values_list("text", flat=True)
    one.texts = {said.lower() for said in said_by_people if said}


def _messages(one: Erasure) -> models.QuerySet:
    named = Q(pk__in=one.messages) | Q(episode__in=one.episodes)
    return Message.objects.filter(named, space=one.space)


def _wordings(fact: Fact) -> Iterator[str]:
    """What the fact says and said, and the words it was taken from."""
    yield from (fact.text.lower(), fact.quote.lower())
    for before in history.events_of(Fact).filter(pgh_obj_id=fact.pk):
        yield from (before.text.lower(), before.quote.lower())
    for proof in fact.evidence:
        yield str(proof.get("quote", "")).lower()


def _rested_on(fact: Fact) -> set[int]:
    """The messages that the database found it to rest on; a reply that was only given it stays."""
    found = set()
    stems = text.stems(fact.text) - text.stems(fact.subject)
    for silenced in SilencedMessage.objects.filter(fact=fact).select_related("message"):
        message = silenced.message
        answers = message.reply_to_id == fact.message_id
        if message.role == Message.Role.USER or answers or stems & text.stems(message.text):
            found.add(message.pk)
    return found


def codes(said: str) -> list[str]:
    """Return the numbers and codes in it: what is enough alone to be erased everywhere."""
    return [code.strip() for code in CODE.findall(DATE.sub(" ", said))]


def _holding(phrases: Iterable[str], name: str) -> Q:
    found = Q(pk__in=[])
    for phrase in phrases:
        if len(phrase) >= SHORTEST or CODE.fullmatch(phrase):
            found |= Q(**{f"{name}__icontains": phrase})
    return found


def _redact_place(one: Erasure, place: Place) -> None:
    rows = place.table._base_manager.all()
    if place.space:
        rows = rows.filter(**{place.space: one.space.pk})
    if place.table is Message:
        # Two people may ask the same: of other messages only a reply can be a quotation.
        rows = rows.filter(Q(pk__in=one.messages) | Q(role=Message.Role.ASSISTANT))
    own = Q(pk__in=[])
    for name in place.messages:
        own |= Q(**{f"{name}__in": one.messages})
    whole = set(rows.filter(own).values_list("pk", flat=True))
    found = whole | set(_repeating(one, rows, place).values_list("pk", flat=True))
    if place.model == "sleep.Proposal":
        found |= _proposals(one, rows, whole)
    if place.delete:
        one.counts[place.model] += rows.filter(pk__in=found).delete()[0]
        return
    one.counts[place.model] += _write(one, rows.filter(pk__in=found), place, whole)


def _write(one: Erasure, rows: models.QuerySet, place: Place, whole: Container[int] = ()) -> int:
    """Put "[erased]" into the rows, many at once; return how many changed."""
    changed = [row for row in rows if _redact(one, row, place, whole=row.pk in whole)]
    rows.model._base_manager.bulk_update(changed, place.fields, batch_size=BATCH)
    return len(changed)


def _repeating(one: Erasure, rows: models.QuerySet, place: Place) -> models.QuerySet:
    """The rows that hold a phrase, or whose text is a part of what is erased."""
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


def _proposals(one: Erasure, rows: models.QuerySet, whole: set[int]) -> set[int]:
    """Those that would change, or rest on, what is erased; nobody can approve them any more."""
    found = Q(pk__in=[])
    for pk in one.facts:
        found |= Q(targets__contains=[{"type": "fact", "id": pk}])
    for name, pks in (("fact", one.facts), ("message", one.messages)):
        for pk in pks:
            found |= Q(evidence__contains=[{name: pk}])
    whole |= set(rows.filter(found).values_list("pk", flat=True))
    rows.filter(pk__in=whole, status="pending").update(status="expired")
    return whole


def _redact(one: Erasure, row: Any, place: Place, *, whole: bool) -> bool:
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


def _redacted(one: Erasure, value: Any, column: models.Field, *, whole: bool) -> Any:
    if isinstance(column, ArrayField):
        return [] if whole else [said for said in value or () if not one.repeats(said)]
    if isinstance(value, str) and value:
        return ERASED if whole else _redacted_text(one, value)
    return _redacted_json(one, value, whole=whole)


def _redacted_text(one: Erasure, value: str) -> str:
    """Erase the sentences that repeat what is erased; all of it when none does by itself."""
    pieces = (ERASED if one.repeats(piece) else piece for piece in PIECES.split(value))
    redacted = "".join(pieces)
    return ERASED if one.repeats(redacted) else redacted


def _redacted_json(one: Erasure, value: Any, *, whole: bool, name: str = "") -> Any:
    if isinstance(value, dict):
        return {
            key: _redacted_json(one, inner, whole=whole, name=key) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_redacted_json(one, inner, whole=whole, name=name) for inner in value]
    if not isinstance(value, str) or not value or name in CODES:
        return value
    return ERASED if whole else _redacted_text(one, value)


def _describe_again(one: Erasure) -> None:
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


def _delete(one: Erasure) -> None:
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


def _redact_history(one: Erasure, place: Place) -> None:
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
        one.counts["history"] += _write(one, _repeating(one, rows, past), past)


def _of_space(events: models.QuerySet, space: Space) -> models.QuerySet:
    tracked = events.model.pgh_tracked_model
    return events.filter(pgh_obj_id__in=tracked._base_manager.filter(space=space).values("pk"))


def _analyze(one: Erasure) -> None:
    """Take the planner's statistics again: they keep values that are common in a column."""
    with connection.cursor() as cursor:
        for place in PLACES:
            if one.counts[place.model]:
                cursor.execute(f'ANALYZE "{place.table._meta.db_table}"')
