"""The library's errors cross processes: they can be copied and pickled."""

import copy
import importlib
import pickle
import pkgutil

import pytest

import asoreconcile
from asoreconcile.base.errors import AsoreconcileError, RetryError
from asoreconcile.kube.errors import ApiError, ConflictError, TransportError
from asoreconcile.webhooks.reviews import ReviewError
from asoreconcile.wire.errors import WireError

MADE = [
    RetryError("later", after_seconds=5),
    ConflictError("changed", status=409, reason="Conflict", details={"name": "a"}),
    ApiError("too many", status=429, retry_after_seconds=3),
    TransportError("no answer", lost=True),
    ReviewError("bad", code=400),
    WireError("lost", is_sent=True, is_lost=True),
]


def same(one, other):
    assert type(one) is type(other)
    assert (one.args, vars(one)) == (other.args, vars(other))
    assert str(one) == str(other)


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_an_error_is_copied_and_pickled_whole(error):
    for one in (copy.copy(error), copy.deepcopy(error)):
        same(one, error)
    same(pickle.loads(pickle.dumps(error)), error)


def all_errors():
    for found in pkgutil.walk_packages(asoreconcile.__path__, "asoreconcile."):
        if ".azure" not in found.name and ".testing" not in found.name:
            importlib.import_module(found.name)
    classes = [AsoreconcileError]
    for cls in classes:
        classes += cls.__subclasses__()
    return [cls for cls in classes if cls.__module__.startswith("asoreconcile.")]


def test_every_error_of_the_library_can_be_pickled():
    errors = all_errors()
    assert len(errors) > 30
    for cls in errors:
        error = cls.__new__(cls, "a message")
        error.found = {"a": 1}
        same(pickle.loads(pickle.dumps(error)), error)
