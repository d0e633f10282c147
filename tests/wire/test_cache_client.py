"""Cached reads beside direct writes: what readers see before the watch has told."""

import pytest
from heard import Heard

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.client import CachedClient
from asoreconcile.cache.informer import NotCachedError
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.scope import ALL_OTHER_NAMESPACES, CacheOptions, Scope, Selector
from asoreconcile.kube.create_or_patch import create_or_patch
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES

KEY = ObjectKey("default", "one")


@pytest.fixture
def caches(client):
    """Make running informers, and a client over them."""
    made = []

    def make(**options):
        informers = Informers(client, CacheOptions(**options), clock=SystemClock())
        informers.start()
        made.append(informers)
        return informers, CachedClient(client, informers)

    yield make
    for informers in made:
        assert informers.stop(10) == []


@pytest.fixture
def synced(client, caches):
    """A cached client of ConfigMaps that has seen the object `first`, and a handler."""
    client.create(CONFIG_MAPS, config_map("first"))
    informers, cached = caches()
    informer = informers.of(CONFIG_MAPS)
    heard = Heard(informer)
    heard.until_synced()
    return cached, informer, heard


def config_map(name="one", namespace="default", **data):
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


class Behind:
    """The watch stands still while this is entered; its events come after."""

    def __init__(self, server, client):
        self.server, self.client = server, client

    def __enter__(self):
        self.hold = self.server.faults.hold(method="GET", path="/configmaps$")
        self.server.cut_watches()
        assert self.hold.wait_arrived(10)

    def __exit__(self, *_):
        self.hold.release()


def names(objects):
    return [one["metadata"]["name"] for one in objects]


def test_cl1_reads_ask_the_cache_and_writes_the_server(server, synced):
    cached, _, _ = synced
    before = len(server.journal)
    assert names([cached.get(CONFIG_MAPS, ObjectKey("default", "first"))]) == ["first"]
    assert names(cached.list(CONFIG_MAPS)) == ["first"]
    assert len(server.journal) == before
    cached.create(CONFIG_MAPS, config_map())
    assert [one.method for one in server.journal[before:]] == ["POST"]


def test_cl1_absent_object_is_not_found_as_on_the_server(synced):
    cached, _, _ = synced
    with pytest.raises(NotFoundError) as caught:
        cached.get(CONFIG_MAPS, ObjectKey("default", "nope"))
    assert caught.value.status == 404


def test_ca1_kind_that_nobody_asked_for_is_not_cached(server, caches):
    _, cached = caches()
    before = len(server.journal)
    with pytest.raises(NotCachedError, match="ask for its informer"):
        cached.get(CONFIG_MAPS, KEY)
    with pytest.raises(NotCachedError):
        cached.list(CONFIG_MAPS)
    assert server.journal[before:] == []


def test_ca1_kind_that_has_not_synced_says_nothing_is_absent(server, caches):
    hold = server.faults.hold(method="GET", path="/configmaps$")
    informers, cached = caches()
    informers.of(CONFIG_MAPS)
    assert hold.wait_arrived(10)
    with pytest.raises(NotCachedError, match="has not synced: its first list"):
        cached.get(CONFIG_MAPS, KEY)
    hold.release()


def test_ca1_one_informer_serves_all_who_ask(caches):
    informers, _ = caches()
    assert informers.of(CONFIG_MAPS) is informers.of(CONFIG_MAPS)
    assert informers.of(CONFIG_MAPS) is informers.find(CONFIG_MAPS)
    slim = informers.of(CONFIG_MAPS, metadata_only=True)
    assert slim is not informers.of(CONFIG_MAPS)
    assert informers.find(CONFIG_MAPS, metadata_only=True) is slim
    assert informers.find(NAMESPACES) is None


def test_d21_own_writes_are_read_before_the_watch_tells_of_them(server, client, synced):
    cached, informer, heard = synced
    informer.add_index("v", lambda entry: entry.deep_copy()["data"].values())
    with Behind(server, client):
        cached.create(CONFIG_MAPS, config_map(v="1"))
        assert cached.get(CONFIG_MAPS, KEY)["data"] == {"v": "1"}
        assert names(cached.list(CONFIG_MAPS)) == ["first", "one"]
        assert informer.by_index("v", "1") == [KEY]
        cached.patch(CONFIG_MAPS, KEY, {"data": {"v": "2"}})
        assert cached.get(CONFIG_MAPS, KEY)["data"] == {"v": "2"}
        assert informer.by_index("v", "1") == []
        assert informer.by_index("v", "2") == [KEY]
    heard.until_named("one")


def test_d21_object_we_deleted_is_gone_before_the_watch_tells(server, client, synced):
    cached, informer, heard = synced
    first = ObjectKey("default", "first")
    with Behind(server, client):
        cached.delete(CONFIG_MAPS, first)
        with pytest.raises(NotFoundError):
            cached.get(CONFIG_MAPS, first)
        assert cached.list(CONFIG_MAPS) == []
        assert informer.keys() == []
        cached.create(CONFIG_MAPS, config_map("first", v="new"))
        assert cached.get(CONFIG_MAPS, first)["data"] == {"v": "new"}
    client.create(CONFIG_MAPS, config_map("end"))
    heard.until_named("end")
    assert cached.get(CONFIG_MAPS, first)["data"] == {"v": "new"}


def test_d21_deletion_told_late_hides_nothing(client, synced):
    """The watch was faster than the answer: another object may have the name now."""
    cached, informer, heard = synced
    first = ObjectKey("default", "first")
    uid = cached.get(CONFIG_MAPS, first)["metadata"]["uid"]
    client.delete(CONFIG_MAPS, first)
    client.create(CONFIG_MAPS, config_map("first", v="new"))
    client.create(CONFIG_MAPS, config_map("end"))
    heard.until_named("end")
    informer.record_deletion(first, uid)
    assert cached.get(CONFIG_MAPS, first)["data"] == {"v": "new"}


def test_d21_object_held_by_finalizers_is_read_as_deleting(server, client, synced):
    cached, _, _ = synced
    body = config_map()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    with Behind(server, client):
        cached.create(CONFIG_MAPS, body)
        cached.delete(CONFIG_MAPS, KEY)
        assert cached.get(CONFIG_MAPS, KEY)["metadata"]["deletionTimestamp"]


def test_d21_dry_runs_are_not_read(synced):
    cached, _, _ = synced
    cached.create(CONFIG_MAPS, config_map(), dry_run=True)
    dry = CachedClient(cached.server.with_defaults(dry_run=True), cached._informers)
    dry.create(CONFIG_MAPS, config_map("two"))
    dry.delete(CONFIG_MAPS, ObjectKey("default", "first"))
    cached.delete(CONFIG_MAPS, ObjectKey("default", "first"), dry_run=True)
    assert names(cached.list(CONFIG_MAPS)) == ["first"]


def test_ca4_lists_choose_by_namespace_label_and_index(client, caches):
    for name, namespace, tier in (
        ("a", "default", "x"),
        ("b", "default", "y"),
        ("c", "default", "x"),
        ("a", "kube-public", "x"),
    ):
        body = config_map(name, namespace)
        body["metadata"]["labels"] = {"tier": tier}
        client.create(CONFIG_MAPS, body)
    informers, cached = caches()
    informer = informers.of(CONFIG_MAPS)
    informer.add_index("tier", lambda entry: [entry.labels["tier"]])
    Heard(informer).until_synced()
    assert names(cached.list(CONFIG_MAPS)) == ["a", "b", "c", "a"]
    assert names(cached.list(CONFIG_MAPS, namespace="default")) == ["a", "b", "c"]
    assert names(cached.list(CONFIG_MAPS, labels={"tier": "y"})) == ["b"]
    by_tier = ("tier", "x")
    assert names(cached.list(CONFIG_MAPS, index=by_tier)) == ["a", "c", "a"]
    found = cached.list(CONFIG_MAPS, index=by_tier, namespace="default", limit=1)
    assert names(found) == ["a"]
    with pytest.raises(KeyError):
        cached.list(CONFIG_MAPS, index=("no such index", "x"))


def test_ca2_ca3_namespaces_with_selectors_of_their_own(client, caches):
    for namespace in ("default", "kube-public", "kube-system"):
        for tier in ("x", "y"):
            body = config_map(tier, namespace)
            body["metadata"]["labels"] = {"tier": tier}
            client.create(CONFIG_MAPS, body)
    scope = Scope(
        {"default": Selector("tier=x"), ALL_OTHER_NAMESPACES: Selector("tier=y")}
    )
    informers, _ = caches(kinds={CONFIG_MAPS.group_kind: scope})
    informer = informers.of(CONFIG_MAPS)
    Heard(informer).until_synced()
    assert [str(key) for key in informer.keys(None)] == [
        "default/x",
        "kube-public/y",
        "kube-system/y",
    ]


def test_ca3_unlisted_namespace_is_an_error_and_no_absence(client, caches):
    client.create(CONFIG_MAPS, config_map("one", "kube-public"))
    client.create(CONFIG_MAPS, config_map())
    informers, cached = caches(namespaces=["default", "kube-system"])
    Heard(informers.of(CONFIG_MAPS)).until_synced()
    Heard(informers.of(NAMESPACES)).until_synced()
    assert names(cached.list(CONFIG_MAPS)) == ["one"]
    with pytest.raises(NotCachedError, match="kube-public"):
        cached.get(CONFIG_MAPS, ObjectKey("kube-public", "one"))
    with pytest.raises(NotCachedError):
        cached.list(CONFIG_MAPS, namespace="kube-public")
    cached.create(CONFIG_MAPS, config_map("two", "kube-public"))
    assert names(cached.list(CONFIG_MAPS)) == ["one"]
    assert cached.get(NAMESPACES, ObjectKey("", "kube-public"))


def test_cl8_create_or_patch_works_over_the_cache(server, client, synced):
    cached, _, _ = synced

    def change(obj):
        obj["data"] = {"v": "1"}

    with Behind(server, client):
        told = [create_or_patch(cached, CONFIG_MAPS, KEY, change)[0] for _ in range(2)]
    assert told == ["created", "unchanged"]
