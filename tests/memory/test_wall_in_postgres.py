"""Postgres refuses a row of one space that points to a row of another, whoever writes it."""

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from memory.models import Fact, Message, Space
from tests.factories import make_chat, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db
HELD = """
SELECT conrelid::regclass::text, attname, confrelid::regclass::text FROM pg_constraint
JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[2]
WHERE contype = 'f' AND cardinality(conkey) = 2 AND convalidated
"""


def in_spaces() -> dict[type, object]:
    """Every model whose rows belong to a space."""
    return {
        model: model._meta.db_table
        for model in apps.get_models()
        if any(f.name == "space" and f.related_model is Space for f in model._meta.concrete_fields)
    }


def test_t09_every_relation_between_rows_of_spaces_is_held():
    tables = in_spaces()
    wanted = {
        (table, field.column, tables[field.related_model])
        for model, table in tables.items()
        for field in model._meta.concrete_fields
        if field.related_model in tables and field.db_constraint
    }
    with connection.cursor() as cursor:
        cursor.execute(HELD)
        held = set(cursor.fetchall())
    assert len(wanted) > 30
    assert wanted - held == set(), "add it to a migration as memory 0029 does"


def test_t09_a_row_that_points_into_another_space_is_refused():
    here, there = make_space("casa"), make_space("taller")
    chat = make_chat(there)
    own = make_chat(here)
    fact, message = make_fact(here), make_message(own)
    for rows, value in (
        (Fact.objects.filter(pk=fact.pk), {"chat": chat}),
        (Fact.objects.filter(pk=fact.pk), {"superseded_by": make_fact(there)}),
        (Message.objects.filter(pk=message.pk), {"space": there}),
    ):
        with pytest.raises(IntegrityError, match="of_space"):
            write(rows, value)
    write(Fact.objects.filter(pk=fact.pk), {"chat": own})


@transaction.atomic
def write(rows, values) -> None:
    """As at the end of a transaction, when Postgres looks at what was written."""
    rows.update(**values)
    connection.check_constraints()
