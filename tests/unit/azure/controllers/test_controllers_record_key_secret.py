"""The Secret that keeps the key of the operator's records."""

import base64

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.controllers.record_key_secret import (
    FRESH_SECONDS,
    RecordKeySecret,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base.objects import key_of
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ApiError,
    NotFoundError,
    TransportError,
)

PARTS = ("claim", "uid")


class Secrets:
    """A server of Secrets. fails: the error of the next reads. before_create: called
    before each creation, such as by another replica.
    """

    def __init__(self):
        self.stored = {}
        self.reads = 0
        self.fails = None
        self.before_create = lambda: None

    def get(self, _, key):
        self.reads += 1
        if self.fails is not None:
            raise self.fails
        if key not in self.stored:
            raise NotFoundError("there is none", status=404)
        return self.stored[key]

    def create(self, _, obj):
        self.before_create()
        if key_of(obj) in self.stored:
            raise AlreadyExistsError("there is one", status=409)
        self.stored[key_of(obj)] = obj
        return obj

    def write(self, **entries):
        (secret,) = self.stored.values()
        secret["data"] = {
            name: base64.b64encode(text.encode()).decode()
            for name, text in entries.items()
        }

    def entry(self, name):
        (secret,) = self.stored.values()
        return base64.b64decode(secret["data"][name]).decode()


@pytest.fixture
def secrets():
    return Secrets()


@pytest.fixture
def replica(secrets, clock):
    return lambda: RecordKeySecret(secrets, "system", clock)


def test_the_key_is_made_once_and_then_read(secrets, replica):
    mark = replica()().sign(PARTS)
    (key,) = secrets.stored
    assert str(key) == "system/asoreconcile-record-key"
    assert replica()().verify(PARTS, mark)
    again = replica()
    reads = secrets.reads
    again()
    again()
    assert secrets.reads == reads + 1


def test_replicas_that_start_together_use_one_key(secrets, replica):
    """The second makes the Secret between the first one's read and its creation."""
    second, marks = replica(), []

    def race():
        secrets.before_create = lambda: None
        marks.append(second().sign(PARTS))

    secrets.before_create = race
    marks.append(replica()().sign(PARTS))
    assert len(set(marks)) == 1


@pytest.mark.parametrize(
    "error",
    [
        TransportError("no answer"),
        ApiError("forbidden", status=403),
        ApiError("unavailable", status=503),
    ],
)
def test_without_a_key_nothing_is_permitted(secrets, replica, error):
    secrets.fails = error
    record_key = replica()
    for _ in range(2):
        with pytest.raises(ConditionError) as raised:
            record_key()
        assert raised.value.reason == "RecordKeyUnreadable"
        assert "nothing is sent to Azure" in str(raised.value)
    secrets.fails = None
    assert record_key().sign(PARTS)


@pytest.mark.parametrize(
    "entries", [{}, {"key": ""}, {"key": "short"}, {"key": "no base64!"}]
)
def test_a_stored_text_that_is_no_key_is_not_replaced(secrets, replica, entries):
    replica()()
    secrets.write(**entries)
    with pytest.raises(ConditionError) as raised:
        replica()()
    assert raised.value.reason == "RecordKeyUnreadable"
    (secret,) = secrets.stored.values()
    assert secret["data"].keys() == entries.keys()


def test_a_rotated_key_is_used_and_the_previous_one_still_verifies(
    secrets, replica, clock
):
    record_key = replica()
    old, text = record_key().sign(PARTS), secrets.entry("key")
    new = RecordKey.new()
    secrets.write(key=new.dumps(), previous=text + "\n")
    assert record_key().sign(PARTS) == old
    clock.advance(FRESH_SECONDS)
    assert record_key().sign(PARTS) == new.sign(PARTS)
    assert record_key().verify(PARTS, old)
    secrets.write(key=new.dumps())
    clock.advance(FRESH_SECONDS)
    assert not record_key().verify(PARTS, old)


def test_a_key_that_was_read_stays_in_use_while_its_secret_cannot_be_read(
    secrets, replica, clock
):
    record_key = replica()
    mark = record_key().sign(PARTS)
    secrets.fails = TransportError("no answer")
    clock.advance(FRESH_SECONDS)
    reads = secrets.reads
    assert record_key().verify(PARTS, mark)
    assert record_key().verify(PARTS, mark)
    assert secrets.reads == reads + 1  # not at every reconcile


def test_a_deleted_secret_is_made_again_with_the_same_key(secrets, replica, clock):
    record_key = replica()
    mark = record_key().sign(PARTS)
    secrets.stored.clear()
    clock.advance(FRESH_SECONDS)
    assert record_key().verify(PARTS, mark)
    assert replica()().verify(PARTS, mark)
