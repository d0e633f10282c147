"""Informers against a real API that breaks off, forgets and falls behind."""

import pytest
from heard import WAIT_SECONDS, Heard
from quickclock import QuickClock, QuickTimers

from asoreconcile.base import jsontext
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.threads import Threads
from asoreconcile.cache.events import Added, Deleted, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.watch_runner import SharedThreads
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    ApiResource,
)
from asoreconcile.testing.http import HttpResponse


@pytest.fixture(params=["streamed", "listed"])
def streaming(request):
    return StreamingSupport(expected=request.param == "streamed")


@pytest.fixture
def clock():
    return QuickClock()


@pytest.fixture
def runner(client, clock):
    timers = QuickTimers(clock)
    shared = SharedThreads(client, clock=timers, threads=Threads(clock))
    yield shared
    shared.stop()


@pytest.fixture
def run(client, streaming, runner, clock):
    """Start an informer of ConfigMaps, synced; stops it after the test."""
    started = []

    def start(resource=CONFIG_MAPS, *, synced=True, **options):
        informer = Informer(
            client,
            resource,
            clock=clock,
            streaming=streaming,
            uniform=lambda low, _high: low,
            runner=runner,
            **options,
        )
        heard = Heard(informer)
        started.append(informer)
        if synced:
            make(client, "first")
        informer.start()
        if synced:
            # Not before the first state is in: this one comes by the watch.
            heard.until_named("first")
            make(client, "synced")
            heard.until_named("synced")
            heard.clear()
        return informer, heard

    yield start
    for informer in started:
        assert informer.stop(WAIT_SECONDS) == []


def make(client, name, *, namespace="default", labels=None, **data):
    meta = {"name": name, "namespace": namespace, "labels": labels or {}}
    return client.create(CONFIG_MAPS, {"metadata": meta, "data": data})


def change(client, name, **data):
    return client.patch(CONFIG_MAPS, ObjectKey("default", name), {"data": data})


def remove(client, name):
    client.delete(CONFIG_MAPS, ObjectKey("default", name))


def test_events_arrive_in_order_and_the_cache_is_ahead_of_them(client, run):
    informer, heard = run()
    seen = []
    informer.add_handler(lambda event: seen.append(informer.get(event.key) is not None))
    after = Heard(informer)  # told of each event when the one before it has looked
    seen.clear()
    make(client, "a", v="1")
    change(client, "a", v="2")
    remove(client, "a")
    make(client, "end")
    after.until_named("end")
    assert heard.shown() == ["Added a", "Updated a", "Deleted a", "Added end"]
    assert seen == [True, True, False, True]
    updated = heard.events[1]
    assert updated.old.deep_copy()["data"] == {"v": "1"}
    assert updated.new.deep_copy()["data"] == {"v": "2"}


def test_in5_what_was_there_comes_marked_as_initial(client, run):
    make(client, "before")
    informer, heard = run(synced=False)
    heard.until_named("before")
    heard.until(lambda _events: informer.has_synced())
    make(client, "after")
    heard.until_named("after")
    assert [(one.key.name, one.initial) for one in heard.events] == [
        ("before", True),
        ("after", False),
    ]


def test_rf13_cut_watches_go_on_without_a_gap(server, client, run):
    informer, heard = run()
    for number in range(5):
        make(client, f"a{number}")
        server.cut_watches()
    make(client, "end")
    heard.until_named("end")
    assert heard.shown() == [f"Added a{n}" for n in range(5)] + ["Added end"]
    assert informer.get(ObjectKey("default", "a3")) is not None


def test_rf2_expired_version_emits_exactly_the_difference(server, client, run):
    for name in ("kept", "changed", "gone", "recreated"):
        make(client, name)
    informer, heard = run()
    with gap(server):
        change(client, "changed", v="2")
        remove(client, "gone")
        remove(client, "recreated")
        make(client, "recreated")
        make(client, "new")
        make(client, "passing")
        remove(client, "passing")
    heard.until_named("new")
    make(client, "end")
    heard.until_named("end")
    assert sorted(heard.shown()[:-1]) == [
        "Added new",
        "Added recreated",
        "Deleted gone",
        "Deleted recreated",
        "Updated changed",
    ]
    assert heard.shown()[-1] == "Added end"
    # IN-1: deletions before what came or changed
    assert heard.shown()[0] == "Deleted gone"
    assert [one.observed for one in heard.events if isinstance(one, Deleted)] == [
        False,
        False,
    ]
    assert not any(one.initial for one in heard.events if isinstance(one, Added))
    assert informer.keys() == [
        ObjectKey("default", name)
        for name in (
            "changed",
            "end",
            "first",
            "kept",
            "new",
            "recreated",
            "synced",
        )
    ]


class gap:  # noqa: N801 - reads as a statement
    """Changes that no watch can tell of: the watch is away, then its version is old."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.hold = self.server.faults.hold(method="GET", path="/configmaps$")
        self.server.cut_watches()
        assert self.hold.wait_arrived(WAIT_SECONDS)

    def __exit__(self, *exc):
        self.server.forget_changes()
        self.hold.release()


def test_in8_relist_without_a_difference_emits_nothing(server, client, run):
    make(client, "kept")
    _, heard = run()
    with gap(server):
        make(client, "new")
    heard.until_named("new")
    assert heard.shown() == ["Added new"]


def test_rf1_failing_server_is_asked_again_with_growing_pauses(
    server, client, run, streaming, clock
):
    server.faults.respond("GET", "/configmaps", HttpResponse(500, b"{}"), times=4)
    expected = [0.8, 1.6] if streaming.expected else [0.8, 1.6, 3.2, 6.4]
    _informer, heard = run(synced=False)
    make(client, "a")
    heard.until_named("a")
    heard.until_healthy()
    assert clock.pauses == expected


def test_rf7_busy_server_is_watched_again_without_a_list(server, client, run, clock):
    _, heard = run()
    busy = HttpResponse(429, b"{}", {"Retry-After": "7"})
    server.faults.respond("GET", "/configmaps", busy)
    before = len(server.journal)
    server.cut_watches()
    make(client, "end")
    heard.until_named("end")
    assert clock.pauses == [7.0]
    asked = [one for one in server.journal[before:] if one.method == "GET"]
    assert [one.status for one in asked] == [429, 200]
    assert heard.shown() == ["Added end"]


def test_missing_permission_shows_and_heals(server, client, run):
    forbidden = HttpResponse(403, b'{"reason":"Forbidden","message":"not for you"}')
    server.faults.respond("GET", "/configmaps", forbidden, times=4)
    hold = server.faults.hold(method="GET", path="/configmaps", phase="before")
    informer, heard = run(synced=False)
    assert hold.wait_arrived(WAIT_SECONDS)
    assert not informer.has_synced()
    hold.release()
    make(client, "a")
    heard.until_named("a")
    heard.until_healthy()


def test_several_handlers_hear_the_same(client, run):
    informer, first = run()
    second = Heard(informer)
    assert second.shown() == ["Added first", "Added synced"]
    assert second.registration.has_synced()
    make(client, "a")
    second.until_named("a")
    first.until_named("a")
    second.registration.remove()
    make(client, "b")
    first.until_named("b")
    assert second.shown() == ["Added first", "Added synced", "Added a"]


def test_in9_failing_handler_is_logged_and_harms_nobody(client, run, caplog):
    informer, heard = run()

    def broken(_event):
        raise ValueError("broken on purpose")

    informer.add_handler(broken)
    after = Heard(informer)  # told of each event when the broken one has raised
    make(client, "a")
    heard.until_named("a")
    make(client, "b")
    after.until_named("b")
    assert [r.msg for r in caplog.records].count("Event handler failed") == 4


def test_in11_indexes_follow_the_watch(client, run):
    informer, heard = run()
    informer.add_index("tier", lambda entry: [entry.labels.get("tier", "none")])
    make(client, "a", labels={"tier": "x"})
    make(client, "b", labels={"tier": "x"})
    heard.until_named("b")
    assert informer.by_index("tier", "x") == [
        ObjectKey("default", "a"),
        ObjectKey("default", "b"),
    ]
    labels = {"metadata": {"labels": {"tier": "y"}}}
    client.patch(CONFIG_MAPS, ObjectKey("default", "a"), labels)
    remove(client, "b")
    make(client, "end")
    heard.until_named("end")
    assert informer.by_index("tier", "x") == []
    assert informer.by_index("tier", "y") == [ObjectKey("default", "a")]


def test_in11_failing_index_finds_an_object_under_nothing(client, run):
    informer, heard = run()
    informer.add_index("v", lambda entry: [entry.deep_copy()["data"]["v"]])
    make(client, "a", w="1")
    make(client, "b", v="1")
    heard.until_named("b")
    assert informer.by_index("v", "1") == [ObjectKey("default", "b")]
    remove(client, "a")
    make(client, "end")
    heard.until(lambda events: events[-1].key.name == "end")
    assert informer.get(ObjectKey("default", "a")) is None


def test_ca5_metadata_only_keeps_the_kind_and_no_content(client, run):
    make(client, "a", v="long")
    informer, heard = run(metadata_only=True, synced=False)
    heard.until_named("a")
    stored = informer.get(ObjectKey("default", "a"))
    assert (stored["apiVersion"], stored["kind"]) == ("v1", "ConfigMap")
    assert "data" not in stored
    informer.record_write(change(client, "a", v="longer"))
    assert "data" not in informer.get(ObjectKey("default", "a"))
    change(client, "a", v="3")
    heard.until(lambda events: isinstance(events[-1], Updated))
    assert "data" not in heard.events[-1].new.deep_copy()


ANYTHING = ApiResource("deep.example.com", "v1", "anythings", "Anything")


@pytest.fixture
def anythings(client):
    """A kind of objects that hold any JSON."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": ANYTHING.kind, "plural": ANYTHING.plural}
    spec = {
        "group": ANYTHING.group,
        "names": names,
        "scope": "Namespaced",
        "versions": [version],
    }
    meta = {"name": f"{ANYTHING.plural}.{ANYTHING.group}"}
    client.create(CUSTOM_RESOURCE_DEFINITIONS, {"metadata": meta, "spec": spec})
    return ANYTHING


@pytest.mark.parametrize("levels", [240, 300, 9000])
def test_an_object_nested_deep_is_cached_and_holds_up_nobody(
    client, run, anythings, levels
):
    """By a list, and by the watch."""
    text = '{"a":' * levels + "1" + "}" * levels

    def put(name, free):
        obj = {
            "apiVersion": anythings.api_version,
            "kind": anythings.kind,
            "metadata": {"name": name, "namespace": "default"},
        }
        return client.create(anythings, {**obj, "spec": {"x": free}})

    put("a-listed", jsontext.loads(text))
    put("b-neighbour", 1)
    informer, heard = run(anythings, synced=False)
    heard.until_named("b-neighbour")
    put("c-watched", jsontext.loads(text))
    put("d-neighbour", 2)
    heard.until_named("d-neighbour")
    names = [one["metadata"]["name"] for one in informer.list()]
    assert names == ["a-listed", "b-neighbour", "c-watched", "d-neighbour"]
    for name in ("a-listed", "c-watched"):
        key = ObjectKey("default", name)
        cached = informer.get(key)
        assert jsontext.dumps(cached["spec"]["x"]).decode() == text
        assert cached["spec"] == client.get(anythings, key)["spec"]
    assert not informer.last_error
    assert not informer.unreadable
