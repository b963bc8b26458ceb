"""Encrypt the words of a space, change its key, or take the encryption away, while it is in use.

New words are written in the new form at once; a job rewrites the others in batches, and continues
where it stopped. Meanwhile both forms are read.
"""

import json
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pgtrigger
from django.db import IntegrityError, connection, transaction
from django.db.models import UniqueConstraint
from django.utils import timezone
from django.utils.translation import gettext as _
from psycopg import sql

from memory import jobs
from memory.history import audit
from memory.models import Space, SpaceEncryption, SpaceKey
from memory.models import encryption as keys
from memory.models.content import (
    ContentJSONField,
    ContentListField,
    content_fields,
    content_models,
    way_to_space,
)
from memory.models.encryption import CACHE_SECONDS, DataKey, KeyMissing, Secret

Status = SpaceEncryption.Status
JOB = "memory.encrypt"
BATCH = 500
# By then every transaction that began before the switch is over.
LATE = timedelta(minutes=10)
# Tells the triggers that only the form changes: no history, no news, the vectors stay.
SAME_WORDS = "SELECT set_config('keno.same_words', 'on', true)"
Progress = Callable[[int, int], None]


class Refused(Exception):
    """A sentence that says why not, and what to do."""


def of(space: Space) -> SpaceEncryption:
    """Return the encryption of the space; an unsaved row when it never had one."""
    row = SpaceEncryption.objects.filter(space=space).first()
    return row or SpaceEncryption(space=space)


def unopened() -> list[Space]:
    """Return the spaces whose key cannot be opened with the key of this installation."""
    keys.forget()
    rows = SpaceKey.objects.select_related("space").order_by("space", "version")
    closed = [row.space for row in rows if keys.key_of(row.space_id, row.version) is None]
    return list(dict.fromkeys(closed))


def new_key_file() -> bytes:
    """Return the content of a new KENO_CONTENT_KEY_FILE."""
    return secrets.token_hex(keys.KEY_BYTES).encode() + b"\n"


def switch_on(space: Space, *, by: str, ip: str | None = None) -> SpaceEncryption:
    return _switch(space, to=Status.ENCRYPTING, action="space.encrypted", by=by, ip=ip)


def switch_off(space: Space, *, by: str, ip: str | None = None) -> SpaceEncryption:
    return _switch(space, to=Status.DECRYPTING, action="space.decrypted", by=by, ip=ip)


def rotate(space: Space, *, by: str, ip: str | None = None) -> SpaceEncryption:
    """Rewrite everything under a new key of the space; the old one is deleted afterwards."""
    return _switch(space, to=Status.ENCRYPTING, action="space.key_changed", by=by, ip=ip)


@transaction.atomic
def _switch(space: Space, *, to: str, action: str, by: str, ip: str | None) -> SpaceEncryption:
    SpaceEncryption.objects.get_or_create(space=space)
    state = SpaceEncryption.objects.select_for_update().get(space=space)
    if refusal := _refusal(state, action):
        raise Refused(refusal)
    state.version = _new_key(space) if to == Status.ENCRYPTING else None
    state.status, state.by, state.changed_at = to, by[:160], timezone.now()
    state.position, state.done, state.done_at = {}, 0, None
    state.total = sum(_rows(model, space.pk).count() for model in content_models())
    state.save()
    audit.record(action, actor=by, space=space, obj=space, ip=ip, version=state.version)
    _enqueue(space.pk, at=state.changed_at + timedelta(seconds=CACHE_SECONDS + 1))
    transaction.on_commit(keys.forget)
    return state


def _refusal(state: SpaceEncryption, action: str) -> str:
    if keys.installation() is None:
        return _(
            "This installation has no key for content yet. Set KENO_CONTENT_KEY_FILE or"
            " KENO_CONTENT_PASSPHRASE and restart; docs/security.md says how."
        )
    if state.is_busy:
        return _("The last change is still being made. Try again when it is done.")
    if (state.version is None) == (action != "space.encrypted"):
        return _("It is not encrypted.") if state.version is None else _("It is encrypted already.")
    if state.version and keys.key_of(state.space_id, state.version) is None:
        return str(KeyMissing(state.space_id))
    return ""


def _new_key(space: Space) -> int:
    last = SpaceKey.objects.filter(space=space).order_by("-version").first()
    version, by = last.version + 1 if last else 1, keys.installation()
    assert by is not None
    value = secrets.token_bytes(keys.KEY_BYTES)
    wrapped = keys.wrap(value, by=by, space_id=space.pk, version=version)
    SpaceKey.objects.create(space=space, version=version, **wrapped)
    return version


def _enqueue(space_id: int, *, at: datetime) -> None:
    name = f"encrypt:{space_id}"
    jobs.enqueue(JOB, lock=name, once=name, at=at, space_id=space_id)


def work(space_id: int, *, now: datetime, progress: Progress = lambda done, total: None) -> bool:
    """Rewrite what is not in the form of new words; return whether there is more to do later.

    It goes round until it finds nothing, as others may still have written in the old form.
    """
    state = SpaceEncryption.objects.filter(space=space_id).first()
    if state is None or (state.status == Status.OFF and not state.space.content_keys.exists()):
        return False
    keys.forget()
    for version in state.space.content_keys.values_list("version", flat=True):
        if keys.key_of(space_id, version) is None:  # else its words would be left behind
            raise KeyMissing(space_id)
    key = keys.writing_key(space_id)
    while _round(state, key, progress):
        state.position, state.done = {}, 0
        state.save(update_fields=["position", "done"])
    if state.is_busy:
        _finish(state, now=now)
    if now < state.changed_at + LATE:
        _enqueue(space_id, at=state.changed_at + LATE)
        return True
    # Nothing is under another key any more, and nobody writes with one.
    old = SpaceKey.objects.filter(space=space_id).exclude(version=state.version or 0)
    old.delete()
    keys.forget()
    return False


def _finish(state: SpaceEncryption, *, now: datetime) -> None:
    was, state.status = state.status, Status.ON if state.version else Status.OFF
    state.done, state.done_at = state.total, now
    state.save(update_fields=["status", "done", "done_at"])
    action = "space.decryption_done" if was == Status.DECRYPTING else "space.encryption_done"
    audit.record(action, actor=state.by, space=state.space, obj=state.space, version=state.version)
    with connection.cursor() as cursor:
        for model in content_models():  # the planner keeps values that are common in a column
            cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(model._meta.db_table)))
        cursor.execute("ANALYZE memory_unit")


def _rows(model: Any, space_id: int) -> Any:
    return model._base_manager.filter(**{way_to_space(model): space_id}).order_by("pk")


def _round(state: SpaceEncryption, key: DataKey | None, progress: Progress) -> int:
    """Read every row once, from where the last run stopped; return how many were rewritten."""
    tables = content_models()
    for number in range(state.position.get("table", 0), len(tables)):
        while count := _batch(state, tables[number], number, key):
            progress(state.done, state.total)
            if count < BATCH:
                break
        state.position = {"table": number + 1, "changed": state.position.get("changed", 0)}
    return state.position.get("changed", 0)


@transaction.atomic
def _batch(state: SpaceEncryption, model: Any, number: int, key: DataKey | None) -> int:
    """Rewrite some rows and store the progress; return how many rows were read."""
    rows = _rows(model, state.space_id).filter(pk__gt=state.position.get("after", 0))
    pks = list(rows.values_list("pk", flat=True)[:BATCH])
    if not pks:
        return 0
    fields = content_fields(model)
    with pgtrigger.ignore(), connection.cursor() as cursor:
        cursor.execute(SAME_WORDS)
        cursor.execute(_read(model, fields), [pks])
        changed = [
            (pk, *new)
            for pk, *was in cursor.fetchall()
            if (new := [_rewritten(f, w, key) for f, w in zip(fields, was, strict=True)]) != was
        ]
        _put(cursor, model, fields, changed, key)
    state.done += len(pks)
    state.position = {
        "table": number,
        "after": pks[-1],
        "changed": state.position.get("changed", 0) + len(changed),
    }
    state.save(update_fields=["position", "done"])
    return len(pks)


def _put(
    cursor: Any, model: Any, fields: list[Any], changed: list[tuple], key: DataKey | None
) -> None:
    """Write the rows, all at once if possible.

    While a space has two forms, the same words may be stored in both: no unique key sees that. The
    later row keeps its words and gets a key of its own.
    """
    if not changed:
        return
    try:
        with transaction.atomic():
            cursor.execute(_write(model, fields), [list(c) for c in zip(*changed, strict=True)])
    except IntegrityError:
        if len(changed) > 1:
            for row in changed:
                _put(cursor, model, fields, [row], key)
            return
        [(pk, *values)] = changed
        for number, field in enumerate(fields):
            if field.name in _unique_names(model):
                values[number] = field.encrypt(f"{field.decrypt(values[number])}#{pk}", key)
        cursor.execute(_write(model, fields), [[pk], *([value] for value in values)])


def _unique_names(model: Any) -> set[str]:
    unique = (rule for rule in model._meta.constraints if isinstance(rule, UniqueConstraint))
    return {name for rule in unique for name in rule.fields}


def _rewritten(field: Any, stored: str | None, key: DataKey | None) -> str | None:
    """Return the words in the form of the key; a value that cannot be read stays as it is."""
    if stored is None:
        return None
    if isinstance(field, ContentListField | ContentJSONField):
        was = json.loads(stored)
        now = field.encrypt(field.decrypt(was), key)
        return stored if now == was else json.dumps(now, ensure_ascii=False)
    return str(field.encrypt(field.decrypt(stored), key))


def _read(model: Any, fields: list[Any]) -> sql.Composed:
    """Select every column as text: a list as JSON."""
    columns = []
    for field in fields:
        form = "to_jsonb({})::text" if isinstance(field, ContentListField) else "{}::text"
        columns.append(sql.SQL(form).format(sql.Identifier(field.column)))
    statement = "SELECT {}, {} FROM {} WHERE {} = ANY(%s) ORDER BY 1 FOR NO KEY UPDATE"
    pk = sql.Identifier(model._meta.pk.column)
    table = sql.Identifier(model._meta.db_table)
    return sql.SQL(statement).format(pk, sql.SQL(", ").join(columns), table, pk)


def _write(model: Any, fields: list[Any]) -> sql.Composed:
    sets = []
    for field in fields:
        form = "{0} = new.{0}"
        if isinstance(field, ContentListField):
            form = (
                "{0} = CASE WHEN new.{0} IS NOT NULL THEN"
                " ARRAY(SELECT jsonb_array_elements_text(new.{0}::jsonb)) END"
            )
        elif isinstance(field, ContentJSONField):
            form = "{0} = new.{0}::jsonb"
        sets.append(sql.SQL(form).format(sql.Identifier(field.column)))
    names = [sql.Identifier("its_pk"), *(sql.Identifier(field.column) for field in fields)]
    arrays = ["%s::bigint[]", *("%s::text[]" for _field in fields)]
    return sql.SQL(
        "UPDATE {} AS row SET {} FROM unnest({}) AS new ({}) WHERE row.{} = new.its_pk"
    ).format(
        sql.Identifier(model._meta.db_table),
        sql.SQL(", ").join(sets),
        sql.SQL(", ".join(arrays)),
        sql.SQL(", ").join(names),
        sql.Identifier(model._meta.pk.column),
    )


@transaction.atomic
def rewrap(old: Secret, *, by: str) -> int:
    """Wrap the keys of all spaces by the present key of the installation; return how many.

    The words stay as they are. Raise Refused, and change nothing, when a key is under neither.
    """
    new, count = keys.installation(), 0
    if new is None:
        raise Refused("Set KENO_CONTENT_KEY_FILE or KENO_CONTENT_PASSPHRASE to the new key first.")
    for row in SpaceKey.objects.select_for_update().select_related("space").order_by("pk"):
        which = {"space_id": row.space_id, "version": row.version}
        if keys.unwrap(row.salt, row.wrapped, by=new, **which):
            continue
        if (value := keys.unwrap(row.salt, row.wrapped, by=old, **which)) is None:
            raise Refused(f"The key of space {row.space_id} is under neither the old nor the new.")
        for name, column in keys.wrap(value, by=new, **which).items():
            setattr(row, name, column)
        row.save(update_fields=["salt", "wrapped"])
        audit.record("space.key_wrapped", actor=by, space=row.space, obj=row.space)
        count += 1
    transaction.on_commit(keys.forget)
    return count
