"""What objects inherit of their Namespace, while the cache of Namespaces may lag."""

import pytest

from asoreconcile.azure.controllers.dependencies import NamespaceAnnotations
from asoreconcile.base.errors import RetryError
from asoreconcile.cache.entry import Entry


class Headers:
    def __init__(self, *, synced, **namespaces):
        self._synced = synced
        self._namespaces = namespaces

    def has_synced(self):
        return self._synced

    def entry(self, key):
        notes = self._namespaces.get(key.name)
        if notes is None:
            return None
        return Entry({"metadata": {"name": key.name, "annotations": notes}})


def test_r1_7_annotations_are_those_of_the_namespace():
    assert NamespaceAnnotations(Headers(synced=True, ns={"a": "b"}))("ns") == {"a": "b"}


def test_r1_7_a_namespace_that_is_not_cached_yet_is_waited_for():
    """It may have come with its objects, and say that nobody may write them."""
    with pytest.raises(RetryError) as caught:
        NamespaceAnnotations(Headers(synced=True))("new")
    assert 0 < caught.value.after_seconds < 1


def test_r1_7_without_a_list_of_namespaces_the_defaults_count():
    assert NamespaceAnnotations(Headers(synced=False))("ns") == {}
