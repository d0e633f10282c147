"""A watch's stream: where it begins."""

import json

from asoreconcile.base.objects import ObjectKey
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.kube.kinds.resources import NAMESPACES
from asoreconcile.testing.kube.reading import watching
from asoreconcile.testing.kube.reading.reads import ObjectRenderer
from asoreconcile.testing.kube.store.storage import Storage


def test_a_watch_begins_when_it_is_answered_not_when_it_is_first_read():
    """Between the answer's head and its first line a client may write already."""
    storage, key = Storage(), ObjectKey("", "late")
    watch = watching.ClientWatch(
        renderer=ObjectRenderer(NAMESPACES, "whole", FakeClock()),
        namespace="",
        matches=lambda _obj: True,
        start=None,
        timeout_seconds=1,
        bookmarks=False,
        initial_events=True,
    )
    stream = watching.lines(storage, watch)

    storage.put(NAMESPACES.table, key, named("late", storage.next_version()))
    storage.remove(NAMESPACES.table, key, named("late", storage.next_version()))

    told = [json.loads(line)["type"] for line in next(stream).splitlines()]
    assert told == ["ADDED", "DELETED"]


def named(name, version):
    return {"metadata": {"name": name, "resourceVersion": version, "uid": name}}
