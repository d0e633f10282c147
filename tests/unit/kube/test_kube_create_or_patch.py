"""Retries on conflict and create-or-patch, over a scripted client."""

import threading

import pytest

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import ObjectKey, copy_json
from asoreconcile.kube.create_or_patch import (
    DEFAULT_BACKOFF,
    PATIENT_BACKOFF,
    create_or_patch,
    patch_object,
    retry_on_conflict,
)
from asoreconcile.kube.errors import ConflictError, NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS

KEY = ObjectKey("n", "one")


class Pauses:
    """A clock on which waiting takes no time."""

    def __init__(self, *, stopped=False):
        self.waited = []
        self.stopped = stopped

    def wait(self, event, timeout_seconds):
        self.waited.append(round(timeout_seconds, 6))
        return self.stopped


class Server:
    """Holds one object, and what was written to it."""

    def __init__(self, obj=None):
        self.obj = obj
        self.writes = []

    def get(self, _resource, _key):
        if self.obj is None:
            raise NotFoundError("not there", status=404)
        return self.obj

    def create(self, _resource, obj):
        self.writes.append(("create", obj))
        meta = {**obj["metadata"], "resourceVersion": "1"}
        return {**obj, "metadata": meta}

    def patch(self, _resource, _key, body, *, kind="merge", subresource=""):
        assert (kind == "json") == isinstance(body, list)
        self.writes.append((subresource or "patch", body))
        return {"metadata": {"name": "one", "namespace": "n", "resourceVersion": "9"}}


def conflicts(times):
    left = [times]

    def attempt():
        if left[0] == 0:
            return "done"
        left[0] -= 1
        raise ConflictError("changed", status=409)

    return attempt


@pytest.mark.parametrize(
    ("backoff", "pauses"),
    [
        pytest.param(DEFAULT_BACKOFF, [0.01] * 4, id="CL-5-default"),
        pytest.param(PATIENT_BACKOFF, [0.01, 0.05, 0.25], id="CL-5-patient"),
    ],
)
def test_conflicts_are_tried_again_with_pauses(backoff, pauses):
    clock = Pauses()
    done = retry_on_conflict(
        conflicts(len(pauses)), clock=clock, backoff=backoff, uniform=lambda _a, _b: 1.0
    )
    assert done == "done"
    assert clock.waited == pauses


def test_cl5_last_conflict_is_raised():
    with pytest.raises(ConflictError):
        retry_on_conflict(conflicts(5), clock=Pauses())


def test_cl5_jitter_is_a_tenth_either_way():
    asked = []

    def uniform(low, high):
        asked.append((low, high))
        return high

    retry_on_conflict(conflicts(1), clock=Pauses(), uniform=uniform)
    assert asked == [(0.9, 1.1)]


def test_cl5_other_errors_are_not_tried_again():
    def attempt():
        raise NotFoundError("gone", status=404)

    clock = Pauses()
    with pytest.raises(NotFoundError):
        retry_on_conflict(attempt, clock=clock)
    assert clock.waited == []


def test_cl5_stop_ends_a_pause():
    stopped = threading.Event()
    with pytest.raises(StoppedError):
        retry_on_conflict(conflicts(3), clock=Pauses(stopped=True), stop=stopped)


def present(**more):
    meta = {"name": "one", "namespace": "n", "resourceVersion": "7"}
    return {"metadata": meta, "data": {"a": "1"}, **more}


def put(obj, **data):
    obj.setdefault("data", {}).update(data)


def test_cl8_absent_object_is_created():
    server = Server()
    outcome, told = create_or_patch(
        server, CONFIG_MAPS, KEY, lambda obj: put(obj, a="1")
    )
    assert outcome == "created"
    assert told["metadata"]["resourceVersion"] == "1"
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one", "namespace": "n"},
        "data": {"a": "1"},
    }
    assert server.writes == [("create", made)]


def test_cl8_change_is_the_smallest_patch_on_what_was_seen():
    server = Server(present())
    outcome, _ = create_or_patch(server, CONFIG_MAPS, KEY, lambda obj: put(obj, b="2"))
    assert outcome == "updated"
    body = {"data": {"b": "2"}, "metadata": {"resourceVersion": "7"}}
    assert server.writes == [("patch", body)]


def test_cl8_no_change_writes_nothing():
    server = Server(present())
    outcome, told = create_or_patch(
        server, CONFIG_MAPS, KEY, lambda obj: put(obj, a="1")
    )
    assert outcome == "unchanged"
    assert told == present()
    assert server.writes == []


def test_cl8_an_object_that_was_read_is_changed_and_never_made():
    server = Server(None)
    before = present()
    outcome, _ = patch_object(
        server, CONFIG_MAPS, before, lambda obj: put(obj, b="2", a="1")
    )
    body = {"data": {"b": "2"}, "metadata": {"resourceVersion": "7"}}
    assert (outcome, server.writes) == ("updated", [("patch", body)])
    assert before == present()
    outcome, told = patch_object(server, CONFIG_MAPS, before, dict)
    assert (outcome, told, len(server.writes)) == ("unchanged", before, 1)


def test_cl8_object_that_was_read_is_not_changed():
    server = Server(present())
    create_or_patch(server, CONFIG_MAPS, KEY, lambda obj: put(obj, b="2"))
    assert server.obj == present()


def test_cl8_a_null_counts_as_absent_unless_it_is_kept():
    server = Server(present(spec={"a": 1}))
    change = {"spec": {"a": None}, "status": {"b": None}}
    both = {"has_status": True, "keeps_nulls": True}

    def change_it(obj):
        obj.update(copy_json(change))

    create_or_patch(server, CONFIG_MAPS, KEY, lambda obj: obj["spec"].update(a=None))
    create_or_patch(server, CONFIG_MAPS, KEY, change_it, **both)
    on = {"op": "replace", "path": "/metadata/resourceVersion"}
    assert server.writes == [
        ("patch", {"spec": {"a": None}, "metadata": {"resourceVersion": "7"}}),
        (
            "patch",
            [
                {"op": "replace", "path": "/spec/a", "value": None},
                {**on, "value": "7"},
            ],
        ),
        (
            "status",
            [
                {"op": "add", "path": "/status", "value": {"b": None}},
                {**on, "value": "9"},
            ],
        ),
    ]
    server.obj = present(**change)
    outcome, _ = create_or_patch(server, CONFIG_MAPS, KEY, change_it, **both)
    assert (outcome, len(server.writes)) == ("unchanged", 3)


@pytest.mark.parametrize(
    ("change", "outcome", "writes"),
    [
        pytest.param({"data": {"a": "2"}}, "updated", ["patch"], id="CL-8-spec"),
        pytest.param(
            {"status": {"ok": True}},
            "updated-status-only",
            ["status"],
            id="CL-8-status-only",
        ),
        pytest.param(
            {"data": {"a": "2"}, "status": {"ok": True}},
            "updated-status",
            ["patch", "status"],
            id="CL-8-both",
        ),
    ],
)
def test_status_is_a_write_of_its_own(change, outcome, writes):
    server = Server(present())
    told, _ = create_or_patch(
        server, CONFIG_MAPS, KEY, lambda obj: obj.update(change), has_status=True
    )
    assert told == outcome
    assert [name for name, _ in server.writes] == writes
    if "status" in change:
        assert server.writes[-1][1]["status"] == {"ok": True}
        version = "9" if len(writes) == 2 else "7"
        assert server.writes[-1][1]["metadata"] == {"resourceVersion": version}


def test_cl8_a_status_that_was_removed_is_removed():
    server, before = Server(), {**present(), "status": {"ok": True}}
    outcome, _ = patch_object(
        server,
        CONFIG_MAPS,
        before,
        lambda obj: obj.update(status=None),
        has_status=True,
    )
    body = {"status": None, "metadata": {"resourceVersion": "7"}}
    assert (outcome, server.writes) == ("updated-status-only", [("status", body)])


def test_cl8_an_empty_status_is_none():
    server = Server()
    outcome, _ = patch_object(
        server,
        CONFIG_MAPS,
        present(),
        lambda obj: obj.update(status={}),
        has_status=True,
    )
    assert (outcome, server.writes) == ("unchanged", [])


def test_cl8_status_of_a_new_object_is_written_after_it():
    server = Server()
    create_or_patch(
        server,
        CONFIG_MAPS,
        KEY,
        lambda obj: obj.update({"status": {"ok": True}}),
        has_status=True,
    )
    assert [name for name, _ in server.writes] == ["create", "status"]
    assert "status" not in server.writes[0][1]


def test_cl8_name_may_not_change():
    with pytest.raises(ValueError, match="cannot become"):
        create_or_patch(
            Server(present()),
            CONFIG_MAPS,
            KEY,
            lambda obj: obj["metadata"].update(name="two"),
        )


@pytest.mark.parametrize(
    ("meta", "left", "order"),
    [
        pytest.param({"deletionTimestamp": "t"}, [], ["status", "patch"], id="last"),
        pytest.param({"deletionTimestamp": "t"}, ["b"], ["patch", "status"], id="held"),
        pytest.param({}, [], ["patch", "status"], id="not-deleted"),
    ],
)
def test_cl8_a_status_is_written_before_the_object_is_gone(meta, left, order):
    server = Server()
    held = {"finalizers": ["a", *left], "resourceVersion": "7", **meta}
    before = {"metadata": {"name": "one", "namespace": "n", **held}}

    def end(obj):
        obj["metadata"]["finalizers"] = left
        obj["status"] = {"phase": "Ended"}

    outcome, _ = patch_object(server, CONFIG_MAPS, before, end, has_status=True)
    assert outcome == "updated-status"
    assert [how for how, _ in server.writes] == order
    versions = [body["metadata"]["resourceVersion"] for _, body in server.writes]
    assert versions == ["7", "9"]  # each on the one before it


def test_cl8_the_answer_of_a_change_is_taken():
    server = Server()
    create_or_patch(server, CONFIG_MAPS, KEY, lambda obj: {**obj, "data": {"a": "1"}})
    assert server.writes[-1][1]["data"] == {"a": "1"}
    patch_object(
        server, CONFIG_MAPS, present(), lambda obj: {**obj, "data": {"a": "2"}}
    )
    assert server.writes[-1][1]["data"] == {"a": "2"}


@pytest.mark.parametrize("answer", [[], "x", 1, object(), ()])
def test_cl8_another_answer_is_an_error(answer):
    for call in (
        lambda: create_or_patch(Server(), CONFIG_MAPS, KEY, lambda _: answer),
        lambda: patch_object(Server(), CONFIG_MAPS, present(), lambda _: answer),
    ):
        with pytest.raises(TypeError, match="return None, or return another dict"):
            call()


def test_cl8_a_part_of_the_object_is_no_answer():
    """`setdefault` and `pop` return such a value."""
    with pytest.raises(ValueError, match="taken as the whole object"):
        patch_object(
            Server(), CONFIG_MAPS, present(), lambda one: one.setdefault("data", {})
        )
