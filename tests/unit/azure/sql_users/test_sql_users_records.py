"""The record of a user: what it says, and that it cannot be forged or copied."""

from datetime import UTC, datetime

import attrs
import pytest

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LAST_RECONCILED_VERSION,
)
from asoreconcile.azure.reconcile.model.existence import (
    IF_EXISTS,
    IfExists,
    stated_policy,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.sql_users.user import (
    NOTE,
    UserState,
    is_from_aso,
    new_record,
    record_of,
    stated_record,
)

KEY = RecordKey.new()
AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def obj(notes=None, uid="uid", **labels):
    return {
        "metadata": {
            "uid": uid,
            "annotations": notes or {},
            "labels": labels,
            "finalizers": [FINALIZER],
        }
    }


def made():
    record = new_record("db:3306/mysql", {"name": "app", "host": "%"}, AT)
    return attrs.evolve(record, state=UserState.MADE, server_id="7", password="hash")


def key():
    return KEY


def test_a_record_is_read_as_it_was_written():
    found = record_of(obj(made().annotation(obj(), KEY)), key)
    assert found == made()
    assert found.is_made
    assert found.since == "2026-01-31T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("claimed", "made"),
        ('"app"', '"boss"'),
        ("db:3306/mysql", "other:3306/mysql"),
        ('"id":"7"', '"id":"8"'),
        ("hash", "other"),
        ("2026", "2025"),
    ],
)
def test_a_record_that_was_edited_counts_for_nothing(before, after):
    record = attrs.evolve(made(), state=UserState.CLAIMED)
    (note,) = record.annotation(obj(), KEY).values()
    assert before in note
    assert record_of(obj({NOTE: note.replace(before, after)}), key) is None
    assert stated_record(obj({NOTE: note.replace(before, after)})) is not None


def test_a_record_of_another_object_or_key_counts_for_nothing():
    notes = made().annotation(obj(), KEY)
    assert record_of(obj(notes, uid="other"), key) is None
    assert record_of(obj(notes), RecordKey.new) is None


@pytest.mark.parametrize("note", ["", "{", "[]", "{}", '{"name": 5}', '{"name": "a"}'])
def test_what_is_no_record_counts_for_nothing(note):
    assert record_of(obj({NOTE: note}), key) is None


ASO = {LAST_RECONCILED_VERSION: "v2.21.0"}


@pytest.mark.parametrize(
    ("present", "found"),
    [
        (obj(**ASO), True),
        (obj(), False),
        (obj(**{LAST_RECONCILED_VERSION: "asoreconcile-1.0"}), False),
        (obj(**{LAST_RECONCILED_VERSION: "mine"}), False),
        (obj({NOTE: "{}"}, **ASO), False),
        ({"metadata": {"labels": ASO}}, False),
    ],
)
def test_an_object_of_aso_is_known_until_something_is_recorded(present, found):
    assert is_from_aso(present, "mine") is found


def test_what_happens_to_a_user_that_is_there_is_the_object_s_to_say():
    assert stated_policy({}, {}) is None
    assert stated_policy({}, {IF_EXISTS: "fail"}) is IfExists.FAIL
    chosen = stated_policy({IF_EXISTS: "observe"}, {IF_EXISTS: "fail"})
    assert chosen is IfExists.OBSERVE


@pytest.mark.parametrize("value", ["Fail", "fial", "x" * 99])
def test_a_misspelt_choice_adopts_nothing(value):
    assert stated_policy({IF_EXISTS: value}, {}) is IfExists.FAIL
