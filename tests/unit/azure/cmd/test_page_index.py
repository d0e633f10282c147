"""The rows that a page shows, and the stream of their changes."""

import time
from datetime import UTC, datetime

import pytest

from asoreconcile.azure.cmd.ui.event_stream import EventStream
from asoreconcile.azure.cmd.ui.object_rows import state_of
from asoreconcile.azure.cmd.ui.objects_index import ObjectsIndex
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base import jsontext
from asoreconcile.base.objects import gvk_of

PREFIX = "serviceoperator.azure.com/"


def ready(status="True", reason="Succeeded", **more):
    return {"type": "Ready", "status": status, "reason": reason, **more}


def network(name="net", *, conditions=(), annotations=None, deleting=False):
    return {
        "apiVersion": "network.azure.com/v1api20240301",
        "kind": "VirtualNetwork",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "annotations": annotations or {},
            **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}),
        },
        "spec": {"owner": {"name": "group"}},
        "status": {"conditions": [*conditions]},
    }


def put(index, obj):
    index.put(builtin().version(gvk_of(obj)), obj)


@pytest.fixture
def index():
    return ObjectsIndex(lambda: datetime(2026, 1, 1, tzinfo=UTC))


def test_each_object_has_one_word_for_its_state():
    waits = ready("False", "WaitingForOwner", severity="Warning")
    broken = ready("False", "Failed", severity="Error")
    states = {
        "ready": network(conditions=[ready()]),
        "working": network(conditions=[ready("False", "Reconciling", severity="Info")]),
        "warning": network(conditions=[ready("False", "Conflict", severity="Warning")]),
        "failed": network(conditions=[broken], deleting=True),
        "waiting": network(conditions=[waits]),
        "paused": network(
            conditions=[ready()], annotations={"asoreconcile/paused": "true"}
        ),
        "deleting": network(conditions=[ready()], deleting=True),
        "unknown": network(),
    }
    assert {state: state_of(obj) for state, obj in states.items()} == {
        state: state for state in states
    }


def test_a_change_is_told_once_with_what_the_conditions_were(index):
    put(index, network(conditions=[ready("False", "Reconciling", severity="Info")]))
    assert [row["state"] for row in index.take_changes()["changed"]] == ["working"]
    put(index, network(conditions=[ready()]))
    put(index, network(conditions=[ready()]))
    (row,) = index.take_changes()["changed"]
    assert (row["state"], row["owner"]) == (
        "ready",
        "resources.azure.com/ResourceGroup/shop/group",
    )
    assert index.take_changes() is None
    _, history = index.get(row["key"])
    assert [one["reason"] for one in history] == ["Reconciling", "Succeeded"]
    index.remove(row["key"])
    assert index.take_changes()["gone"] == [row["key"]]
    assert index.get(row["key"]) == (None, [])


def test_a_list_of_5000_objects_costs_no_more_than_writing_it(index):
    for number in range(5000):
        put(index, network(f"net-{number}", conditions=[ready()]))
    index.take_changes()
    began = time.process_time()
    text = jsontext.dumps(index.all())
    assert time.process_time() - began < 1
    assert text.count(b'"key"') == 5000
    # One change is one row: nothing is made again.
    put(
        index, network("net-7", conditions=[ready("False", "Failed", severity="Error")])
    )
    assert len(index.take_changes()["changed"]) == 1


def test_a_client_that_falls_behind_is_told_to_read_everything():
    stream = EventStream(most_events=3)

    def since(last, seconds=0.0):
        found = jsontext.loads(b"".join(stream.since(last, seconds)))
        return found["last"], [(one["name"], one["data"]) for one in found["events"]]

    stream.publish("objects", {"n": 0})
    last, events = since("")
    assert events == [("objects", {"n": 0})]  # a page may have asked just before
    assert since(last) == (last, [])
    stream.publish("objects", {"n": 1})
    seen, events = since(last)
    assert events == [("objects", {"n": 1})]
    for number in range(2, 9):
        stream.publish("request", {"n": number})
    for old in (seen, "of-another-server-1", "-", "9" * 5000, seen + "0" * 5000):
        newest, events = since(old)
        assert events == [("reload", None)]
    assert since(newest) == (newest, [])
    stream.close()
    assert since(newest, 60.0) == (newest, [])  # at once
