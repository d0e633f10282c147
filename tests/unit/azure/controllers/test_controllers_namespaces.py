"""What objects inherit of their Namespace, while the cache of Namespaces may lag."""

import threading

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.controllers.namespace_annotations import NamespaceAnnotations
from asoreconcile.base.errors import RetryError
from asoreconcile.cache.entry import Entry
from asoreconcile.kube.errors import ApiError, ForbiddenError, TransportError
from asoreconcile.testing.clock import FakeClock


class Cluster:
    """The cache of Namespaces, and the API server."""

    def __init__(self, *, synced=True, cached=None, stored=None, error=None):
        self._synced = synced
        self._cached = cached or {}
        self._stored = stored or {}
        self._error = error
        self.reads = 0
        self.recorded = []

    def annotations(self, clock=None):
        return NamespaceAnnotations(self, self, clock or FakeClock())

    def has_synced(self):
        return self._synced

    def entry(self, key):
        notes = self._cached.get(key.name)
        return None if notes is None else Entry(namespace(key.name, notes))

    def record_write(self, obj):
        self.recorded.append(obj)

    def get(self, _resource, key):
        self.reads += 1
        if self._error is not None:
            raise self._error
        return namespace(key.name, self._stored[key.name])


def namespace(name, notes):
    return {"metadata": {"name": name, "annotations": notes}}


def test_r1_7_annotations_are_those_of_the_namespace():
    cluster = Cluster(cached={"ns": {"a": "b"}})
    assert cluster.annotations()("ns") == {"a": "b"}
    assert cluster.reads == 0


def test_r1_7_a_namespace_that_is_not_cached_yet_is_waited_for():
    """It may have come with its objects, and say that nobody may write them."""
    with pytest.raises(RetryError) as caught:
        Cluster().annotations()("new")
    assert 0 < caught.value.after_seconds < 1


def test_r1_7_without_a_list_of_namespaces_the_server_is_asked():
    cluster = Cluster(synced=False, stored={"ns": {"policy": "skip"}})
    assert cluster.annotations()("ns") == {"policy": "skip"}


@pytest.mark.parametrize(
    "error",
    [
        ApiError("not now", status=503),
        ForbiddenError("not you", status=403),
        TransportError("no route"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("synced", [True, False])
def test_r1_7_a_policy_that_cannot_be_read_is_not_the_default(error, synced):
    read = Cluster(synced=synced, error=error).annotations()
    with pytest.raises(ConditionError, match="Namespace ns cannot be read") as caught:
        read.live("ns", since=0.0) if synced else read("ns")
    assert caught.value.reason == "NamespaceUnreadable"
    assert str(error) in str(caught.value)


def test_a_read_is_shown_to_the_cache():
    cluster = Cluster(cached={"ns": {}}, stored={"ns": {"policy": "skip"}})
    assert cluster.annotations().live("ns", since=0.0) == {"policy": "skip"}
    assert cluster.recorded == [namespace("ns", {"policy": "skip"})]


def test_a_read_that_began_too_early_is_made_again():
    """It may show what was there before the caller's own facts."""
    clock, inside, go = FakeClock(), threading.Event(), threading.Event()
    cluster = Cluster(stored={"ns": {"a": "old"}})
    plain = cluster.get

    def held(resource, key):
        found = plain(resource, key)
        if cluster.reads == 1:
            inside.set()
            go.wait(20)
        return found

    cluster.get = held
    read = cluster.annotations(clock)
    first = threading.Thread(target=lambda: read.live("ns", since=clock.monotonic()))
    first.start()
    assert inside.wait(20)
    clock.advance(1.0)
    since = clock.monotonic()
    found = []
    second = threading.Thread(target=lambda: found.append(read.live("ns", since=since)))
    second.start()
    cluster._stored["ns"] = {"a": "new"}
    go.set()
    first.join(20)
    second.join(20)
    assert found == [{"a": "new"}]
