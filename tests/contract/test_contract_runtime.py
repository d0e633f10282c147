"""Our own client, informers and events, on both servers: they behave alike."""

from collections.abc import Iterator

import pytest
from contractclient import GROUP, Server
from heard import Heard
from loopreader import streamed_list

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupKind, ObjectKey, resource_version
from asoreconcile.cache.client import CachedClient
from asoreconcile.cache.events import Deleted
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.scope import CacheOptions, Scope
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.create_or_patch import create_or_patch
from asoreconcile.kube.discovery import Discovery
from asoreconcile.kube.errors import (
    ApiError,
    ConflictError,
    NotFoundError,
    is_resource_version_too_large,
)
from asoreconcile.kube.events import EventRecorder
from asoreconcile.kube.finalizers import add_finalizer, remove_finalizer
from asoreconcile.kube.owners import set_owner
from asoreconcile.kube.resources import CONFIG_MAPS, EVENTS, ApiResource
from asoreconcile.kube.selection import ListOptions, Selection
from asoreconcile.wire.trust import TlsTrust

FAR_AHEAD = "999999999"


@pytest.fixture
def client(server: Server) -> Iterator[KubeClient]:
    config = ClusterConfig(
        url=server.url,
        trust=lambda: TlsTrust(server.authority_pem.encode()),
        authorization=lambda: f"Bearer {server.token}",
    )
    made = KubeClient(config, user_agent="contract")
    yield made
    made.close()


def config_map(name: str, namespace: str, **data: str) -> dict:
    meta = {"name": name, "namespace": namespace, "labels": {"kept": "yes"}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": data or {"a": "1"},
    }


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
@pytest.mark.parametrize("metadata_only", [True, False], ids=["metadata", "whole"])
def test_rf11_informer_follows_a_kind(
    client: KubeClient, namespace: str, streaming: bool, metadata_only: bool
):
    support = StreamingSupport(expected=streaming)
    for number in range(3):
        client.create(CONFIG_MAPS, config_map(f"m{number}", namespace))
    informer = Informer(
        client,
        CONFIG_MAPS,
        Scope([namespace], label_selector="kept=yes"),
        clock=SystemClock(),
        metadata_only=metadata_only,
        streaming=support,
    )
    heard = Heard(informer)
    informer.start()
    try:
        heard.until_synced()
        assert support.expected == streaming
        # The first list shows the server's cache, which may be a moment old.
        heard.until_named("m2")
        assert sorted(heard.shown()) == ["Added m0", "Added m1", "Added m2"]
        heard.clear()
        held = config_map("m3", namespace)
        add_finalizer(held, "example.com/hold")
        client.create(CONFIG_MAPS, held)
        key = ObjectKey(namespace, "m3")
        informer.record_write(client.delete(CONFIG_MAPS, key))
        stored = informer.get(key)
        assert stored is not None
        assert stored["metadata"]["deletionTimestamp"]
        assert ("data" in stored) is not metadata_only
        remove_finalizer(stored, "example.com/hold")
        patch = {"metadata": {"finalizers": stored["metadata"]["finalizers"]}}
        client.patch(CONFIG_MAPS, key, patch)
        heard.until(lambda events: bool(events) and isinstance(events[-1], Deleted))
        # Out of the selection is gone, and its last state is the one that was in it.
        unlabelled = {"metadata": {"labels": {"kept": "no"}}}
        client.patch(CONFIG_MAPS, ObjectKey(namespace, "m1"), unlabelled)
        heard.until_named("m1")
        assert isinstance(heard.events[-1], Deleted)
        assert [key.name for key in informer.keys(None)] == ["m0", "m2"]
    finally:
        assert informer.stop(20) == []


REVISIONS = ApiResource("apps", "v1", "controllerrevisions", "ControllerRevision")


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
def test_rf9_raw_parts_that_are_no_json_are_read_as_go_reads_them(
    client: KubeClient, server: Server, namespace: str, streaming: bool
):
    """kube-apiserver keeps `data` of this kind byte for byte, and sends it so."""
    path = f"/apis/apps/v1/namespaces/{namespace}/controllerrevisions"
    if server.get(path).status == 404:
        pytest.skip("the embedded server does not know the kind")
    odd = [rb'"\ud800"', b'"x\xffy"', b'{"\\udc00":"\\ud83d\\ude00"}']

    def revise(name: str, data: bytes) -> None:
        meta = b'"metadata":{"name":"%s"},"revision":1' % name.encode()
        body = (
            b'{"apiVersion":"apps/v1","kind":"ControllerRevision",%s,"data":{"v":%s}}'
        )
        server.post(path, body % (meta, data)).expect(201)

    for number, data in enumerate(odd):
        revise(f"r{number}", data)
    informer = Informer(
        client,
        REVISIONS,
        Scope([namespace]),
        clock=SystemClock(),
        streaming=StreamingSupport(expected=streaming),
    )
    heard = Heard(informer)
    informer.start()
    try:
        heard.until_synced()
        for number, data in enumerate(odd, start=len(odd)):
            revise(f"r{number}", data)
        heard.until_named(f"r{2 * len(odd) - 1}")
        expected = ["\ufffd", "x\ufffdy", {"\ufffd": "\U0001f600"}]
        found = {obj["metadata"]["name"]: obj["data"]["v"] for obj in informer.list()}
        assert [found[f"r{number}"] for number in range(6)] == expected * 2
        for number, data in enumerate(expected):
            key = ObjectKey(namespace, f"r{number}")
            assert client.get(REVISIONS, key)["data"] == {"v": data}
    finally:
        assert informer.stop(20) == []


def test_rf2_version_ahead_of_the_server_is_known_as_such(
    client: KubeClient, namespace: str
):
    with pytest.raises(ApiError) as caught:
        # Not tried again, though the server asks for it.
        streamed_list(
            client,
            Selection(CONFIG_MAPS, namespace),
            ListOptions(resource_version=FAR_AHEAD),
        )
    assert is_resource_version_too_large(caught.value)


def test_cl2_lists_arrive_whole_in_pages_and_in_pieces(
    client: KubeClient, namespace: str
):
    for number in range(7):
        client.create(CONFIG_MAPS, config_map(f"m{number}", namespace, a='},{"b'))
    whole = client.list_page(Selection(CONFIG_MAPS, namespace)).items
    assert [one["metadata"]["name"] for one in whole] == [f"m{n}" for n in range(7)]
    for metadata_only in (False, True):
        listing, version = streamed_list(
            client, Selection(CONFIG_MAPS, namespace, metadata_only=metadata_only)
        )
        names = [one["metadata"]["name"] for one in listing]
        assert names == [f"m{n}" for n in range(7)]
        assert version
    paged = client.list_all(Selection(CONFIG_MAPS, namespace), page_size=3)
    assert [one["data"] for one in paged] == [one["data"] for one in whole]


def test_cl4_dry_runs_and_preconditions(client: KubeClient, namespace: str):
    key = ObjectKey(namespace, "m")
    dry = client.with_defaults(dry_run=True)
    dry.create(CONFIG_MAPS, config_map("m", namespace))
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, key)
    made = client.create(CONFIG_MAPS, config_map("m", namespace))
    dry.delete(CONFIG_MAPS, key)
    dry.delete_all(Selection(CONFIG_MAPS, namespace))
    with pytest.raises(ConflictError):
        client.delete(CONFIG_MAPS, key, uid="another")
    with pytest.raises(ConflictError):
        client.delete(CONFIG_MAPS, key, resource_version="1")
    assert client.get(CONFIG_MAPS, key) == made
    strict = client.with_defaults(field_validation="Strict")
    with pytest.raises(ApiError, match="nope"):
        strict.create(CONFIG_MAPS, {**config_map("n", namespace), "nope": 1})


def test_cl7_kinds_are_found(client: KubeClient):
    discovery = Discovery(client)
    assert discovery.resource(GroupKind("", "ConfigMap")) == CONFIG_MAPS
    widget = discovery.resource(GroupKind(GROUP, "Widget"))
    assert (widget.version, widget.plural) == ("v1", "widgets")


def test_d21_cl8_cached_client_reads_what_it_wrote(client: KubeClient, namespace: str):
    informers = Informers(
        client, CacheOptions(namespaces=[namespace]), clock=SystemClock()
    )
    cached = CachedClient(client, informers)
    heard = Heard(informers.of(CONFIG_MAPS))
    informers.start()
    try:
        heard.until_synced()
        key = ObjectKey(namespace, "m")

        def change(obj: dict) -> None:
            obj["data"] = {"k": "v"}

        told = [create_or_patch(cached, CONFIG_MAPS, key, change) for _ in range(2)]
        assert [outcome for outcome, _ in told] == ["created", "unchanged"]
        cached.delete(CONFIG_MAPS, key)
        with pytest.raises(NotFoundError):
            cached.get(CONFIG_MAPS, key)
    finally:
        assert informers.stop(20) == []


def test_many_watches_share_a_few_connections_where_the_server_speaks_http2(
    client: KubeClient, namespace: str, request: pytest.FixtureRequest
):
    """The embedded server speaks HTTP/1.1: each watch has a connection of its own."""
    is_real = request.node.callspec.params["server"] == "real"
    informers = Informers(
        client, CacheOptions(namespaces=[namespace]), clock=SystemClock()
    )
    heard = [
        Heard(informers.of(CONFIG_MAPS, label_selector=f"kept,of notin (w{number})"))
        for number in range(120)
    ]
    informers.start()
    try:
        client.create(CONFIG_MAPS, config_map("m", namespace))
        for one in heard:
            one.until_named("m")
        (group,) = informers._shared.source._loop._groups
        # One of libcurl's own is among them.
        assert len(group._wanted) == 1 + (3 if is_real else len(heard))
    finally:
        assert informers.stop(20) == []


def test_owned_object_is_accepted(client: KubeClient, namespace: str):
    owner = client.create(CONFIG_MAPS, config_map("owner", namespace))
    child = config_map("child", namespace)
    assert set_owner(child, owner, controller=True, block_deletion=True)
    made = client.create(CONFIG_MAPS, child)
    assert not set_owner(made, owner, controller=True, block_deletion=True)


def test_events_are_written_and_counted(client: KubeClient, namespace: str):
    obj = client.create(CONFIG_MAPS, config_map("m", namespace))
    recorder = EventRecorder(client, "contract", clock=SystemClock())
    recorder.start()
    for _ in range(3):
        recorder.event(obj, "Warning", "Busy", "slow")
    assert recorder.stop(20) == []
    (event,) = client.list_page(Selection(EVENTS, namespace)).items
    assert (event["reason"], event["count"]) == ("Busy", 3)
    assert event["involvedObject"]["resourceVersion"] == resource_version(obj)
