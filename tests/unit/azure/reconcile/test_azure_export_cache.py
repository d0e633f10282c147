"""When the values of exported Secrets are fetched again, and when they are not."""

import attrs
import pytest

from asoreconcile.azure.reconcile.model.annotations import (
    LATEST_RECONCILED_GENERATION,
    OWN_PREFIX,
)
from asoreconcile.azure.reconcile.model.birth import birth_of
from asoreconcile.azure.reconcile.state.export_cache import (
    ROTATE,
    ExportRecord,
    ExportTry,
    fingerprint,
    is_due,
    loads,
    may_retry,
    seconds_until_renewal,
    withdrawn,
)
from asoreconcile.base.objects import copy_json

SECRETS = {"secrets": {"key": {"name": "s", "key": "k"}}}
OBJ = {
    "metadata": {"name": "a", "generation": 1, "labels": {"l": "1"}, "annotations": {}},
    "spec": {"operatorSpec": SECRETS},
    "status": {"id": "/x", "conditions": []},
}
EXPRESSIONS = {
    "secretExpressions": [{"name": "s", "key": "k", "value": "self.status.id"}]
}


def changed(obj, path, value):
    obj = copy_json(obj)
    *above, last = path
    inner = obj
    for step in above:
        inner = inner[step]
    inner[last] = value
    return obj


GENERATION = (("metadata", "generation"), 2)
LABEL = (("metadata", "labels", "l"), "2")
NOTE = (("metadata", "annotations", "example.com/a"), "2")
ROTATED = (("metadata", "annotations", ROTATE), "2")
EXPORTS = (("spec", "operatorSpec"), {"secrets": {}})
STATUS = (("status", "id"), "/y")
ALWAYS = {EXPORTS[0], ROTATED[0]}
NEVER = (
    (("status", "conditions"), [{"type": "Ready"}]),
    (("metadata", "annotations", LATEST_RECONCILED_GENERATION), "2"),
    (("metadata", "annotations", OWN_PREFIX + "observed"), "2"),
    (("metadata", "resourceVersion"), "2"),
)
CHANGES = (GENERATION, LABEL, NOTE, ROTATED, EXPORTS, STATUS, *NEVER)


@pytest.mark.parametrize(
    ("uses", "spec", "reasons"),
    [
        ({}, SECRETS, {GENERATION[0]}),
        ({"uses_status": True}, SECRETS, {GENERATION[0], STATUS[0]}),
        ({}, EXPRESSIONS, {GENERATION[0], STATUS[0], LABEL[0], NOTE[0]}),
        ({"is_made": True, "uses_status": True}, EXPRESSIONS, set()),
    ],
    ids=["keys", "status", "expressions", "credential"],
)
@pytest.mark.parametrize(
    ("path", "value"), CHANGES, ids=["-".join(path) for path, _ in CHANGES]
)
def test_values_are_made_from_what_they_are_made_from(uses, spec, reasons, path, value):
    uses = {"uses_status": False, "is_made": False, **uses}
    obj = {**OBJ, "spec": {"operatorSpec": spec}}
    differs = fingerprint(changed(obj, path, value), **uses) != fingerprint(obj, **uses)
    assert differs is (path in reasons | ALWAYS)


RECORD = ExportRecord("of", {"s": "7"}, uses_status=False)


@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        attrs.evolve(RECORD, uses_status=True),
        attrs.evolve(RECORD, renew_at=1e9),
        attrs.evolve(
            RECORD, born="a=b=c", config_maps={"m": "8"}, versions={"Secret/s": "1"}
        ),
    ],
)
def test_a_record_is_read_as_it_was_written(record):
    assert loads(record.dumps()) == record


@pytest.mark.parametrize(
    "text",
    [
        *("", "garbage", "[]", '{"of": "x"}', '{"of": 1, "secrets": {}}'),
        *('{"of": "x", "secrets": {"s": 1}}', '{"of": "x", "secrets": []}'),
    ],
)
def test_a_record_that_somebody_spoiled_counts_for_nothing(text):
    assert loads(text) is None


def test_odd_parts_of_a_record_count_for_nothing():
    text = '{"of": "x", "secrets": {}, "born": 1, "maps": {"m": 1}, "versions": []}'
    assert loads(text) == ExportRecord("x", {}, uses_status=False)


def test_a_withdrawn_record_keeps_its_targets_and_is_of_no_inputs():
    text = withdrawn(RECORD.dumps())
    assert loads(text) == attrs.evolve(RECORD, of="")
    assert withdrawn("garbage") == "garbage"


def test_a_record_is_of_one_resource():
    obj = {**OBJ, "status": {"systemData": {"createdAt": "2024-05-06T03:07:29Z"}}}
    of = fingerprint(obj, uses_status=False, is_made=False)
    unknown = attrs.evolve(RECORD, of=of)
    same = attrs.evolve(unknown, born=birth_of(obj["status"]))
    other = attrs.evolve(unknown, born="systemData.createdAt=2024-05-07T03:07:29Z")
    assert [one.is_of(obj) for one in (unknown, same, other)] == [True, True, False]
    assert other.is_of({**obj, "status": {}})  # the birth is not shown now


HOUR = 3600.0


@pytest.mark.parametrize(
    ("period", "age", "due"),
    [
        (HOUR, None, True),  # a process that has asked for nothing yet
        (HOUR, HOUR, True),
        (HOUR, HOUR - 30.0, True),  # syncs differ by seconds
        (HOUR, HOUR - 90.0, False),
        (900.0, 2700.0, False),  # at most once an hour
        (900.0, HOUR, True),
        (4 * HOUR, 2 * HOUR, False),
        (4 * HOUR, 4 * HOUR, True),
        (None, None, False),
        (None, 99 * HOUR, False),
    ],
)
def test_what_is_only_read_is_read_again_with_the_syncs(period, age, due):
    last = None if age is None else ExportTry("of", 1000.0 - age)
    assert is_due(RECORD, last, period_seconds=period, monotonic=1000.0, now=0.0) is due


@pytest.mark.parametrize("period", [None, 900.0, HOUR])
@pytest.mark.parametrize(
    ("now", "age", "due"),
    [
        (499.0, None, False),
        (499.0, 99 * HOUR, False),
        (500.0, None, True),
        (500.0, 899.0, False),
        (500.0, 900.0, True),
    ],
)
def test_a_credential_is_made_again_at_its_time_only(period, now, age, due):
    record = attrs.evolve(RECORD, renew_at=500.0)
    last = None if age is None else ExportTry("of", 1000.0 - age)
    assert is_due(record, last, period_seconds=period, monotonic=1000.0, now=now) is due


def test_a_request_that_failed_is_repeated_for_other_inputs_or_after_an_hour():
    last = ExportTry("of", 0.0)
    assert may_retry(None, "of", monotonic=5.0)
    assert may_retry(last, "other", monotonic=5.0)
    assert not may_retry(last, "of", monotonic=HOUR - 90.0)
    assert may_retry(last, "of", monotonic=HOUR)


def test_the_next_reconcile_comes_with_the_renewal():
    text = attrs.evolve(RECORD, renew_at=500.0).dumps()
    assert seconds_until_renewal(text, now=100.0) == 400.0
    assert seconds_until_renewal(text, now=501.0) == 900.0
    assert seconds_until_renewal(RECORD.dumps(), now=100.0) is None
    assert seconds_until_renewal("", now=100.0) is None
