"""The object of a review, as it is now, or none."""

import threading

import pytest

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.live_objects import LiveObjects, as_reviewed
from asoreconcile.base.objects import GroupVersionKind, ObjectKey
from asoreconcile.kube.errors import ForbiddenError, NotFoundError, TransportError
from asoreconcile.webhooks.admission import AdmissionRequest

VNET = GroupVersionKind("network.azure.com", "v20250301", "VirtualNetwork")
LIVE = {"metadata": {"name": "it", "namespace": "ns", "uid": "u", "labels": {"a": "b"}}}


class Cluster:
    def __init__(self, answer=LIVE):
        self.answer, self.asked = answer, []

    def get(self, resource, key):
        self.asked.append((str(resource.plural), resource.version, str(key)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def review(uid="u", *, operation="UPDATE", name="it"):
    old = None if operation == "CREATE" else {"metadata": {"name": name, "uid": uid}}
    return AdmissionRequest(
        operation=operation,
        gvk=VNET,
        key=ObjectKey("ns", name),
        obj={"metadata": {"name": name, "uid": uid}},
        old=old,
        subresource="",
        dry_run=False,
        user={},
        options={},
    )


def test_wh12_an_object_that_is_there_is_read_as_it_is_now():
    cluster = Cluster()
    assert LiveObjects(cluster, builtin())(review()) == LIVE
    assert cluster.asked == [("virtualnetworks", "v20250301", "ns/it")]


@pytest.mark.parametrize(
    "asked",
    [review(uid="other"), review(uid=""), review(operation="CREATE"), review(name="")],
)
def test_wh12_an_invented_object_is_none(asked):
    assert LiveObjects(Cluster(), builtin())(asked) is None


@pytest.mark.parametrize(
    "error",
    [
        NotFoundError("no", status=404),
        ForbiddenError("no", status=403),
        TransportError("gone"),
    ],
)
def test_wh12_an_object_that_cannot_be_read_is_none(error):
    assert LiveObjects(Cluster(error), builtin())(review()) is None


def test_wh12_invented_reviews_use_a_bounded_number_of_reads(monkeypatch):
    """Those that wait for too long are judged without the object."""
    monkeypatch.setattr(
        "asoreconcile.azure.controllers.live_objects._WAIT_SECONDS", 0.01
    )
    release, reading = threading.Event(), []

    class Slow(Cluster):
        def get(self, resource, key):
            reading.append(key)
            release.wait(10)
            return super().get(resource, key)

    live = LiveObjects(Slow(), builtin())
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(live(review()))) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    while len(found) < 8:
        threads[-1].join(0.01)
    assert found == [None] * 8
    assert len(reading) == 4
    release.set()
    for thread in threads:
        thread.join()
    assert found[8:] == [LIVE] * 4
    assert live(review()) == LIVE


def test_wh12_where_callers_are_known_a_review_is_believed():
    asked = review(operation="CREATE")
    assert as_reviewed(asked) is asked.obj
    assert as_reviewed(review()) == review().old
