"""Options of the client's writes and lists, and its rate, against a real API."""

import threading

import orjson
import pytest

from asoreconcile.base.backoff import TokenBucket
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import GroupKind, GroupVersionKind, ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.discovery import Discovery, UnknownKindError
from asoreconcile.kube.errors import ApiError, DecodeError, NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.kube.writes import Write
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse

KEY = ObjectKey("default", "one")
WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Cluster",
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
            for name in ("v1", "v1beta1")
        ],
    },
}


@pytest.fixture
def connect(server, tmp_path):
    """Make clients of the server."""
    server.write_kubeconfig(tmp_path / "kubeconfig")
    config = load(str(tmp_path / "kubeconfig"))
    made = []

    def connect(**options):
        made.append(KubeClient(config, user_agent="tests", **options))
        return made[-1]

    yield connect
    for client in made:
        client.close()


@pytest.fixture
def client(connect):
    return connect()


def config_map(name="one", namespace="default", **meta):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **meta},
    }


def managers(obj):
    return [one["manager"] for one in obj["metadata"].get("managedFields", ())]


def test_cl4_dry_run_of_any_write_changes_nothing(client):
    made = client.create(CONFIG_MAPS, config_map(), dry_run=True)
    assert made["metadata"]["uid"]
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, KEY)
    stored = client.create(CONFIG_MAPS, config_map())
    changed = {**stored, "data": {"a": "1"}}
    assert client.replace(CONFIG_MAPS, changed, dry_run=True)["data"] == {"a": "1"}
    body = {"data": {"a": "2"}}
    assert client.patch(CONFIG_MAPS, KEY, body, dry_run=True)["data"] == {"a": "2"}
    client.delete(CONFIG_MAPS, KEY, dry_run=True)
    client.delete_all(Selection(CONFIG_MAPS, "default"), dry_run=True)
    assert client.get(CONFIG_MAPS, KEY) == stored


def test_cl4_defaults_are_said_with_every_write(client):
    ours = client.with_defaults(field_manager="ours")
    body = {**config_map(), "data": {"b": "1"}}
    assert managers(ours.create(CONFIG_MAPS, body)) == ["ours"]
    told = ours.patch(CONFIG_MAPS, KEY, {"data": {"a": "1"}}, field_manager="theirs")
    assert sorted(managers(told)) == ["ours", "theirs"]
    told = client.create(CONFIG_MAPS, {**config_map("two"), "data": {"b": "1"}})
    assert "ours" not in managers(told)


def test_cl4_client_for_dry_runs_changes_nothing(client):
    dry = client.with_defaults(dry_run=True)
    assert dry.is_dry_run
    assert not client.is_dry_run
    dry.create(CONFIG_MAPS, config_map())
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, KEY)


def test_cl4_client_of_a_namespace_reaches_no_other(client):
    bound = client.with_defaults(namespace="default")
    bound.create(CONFIG_MAPS, config_map())
    client.create(CONFIG_MAPS, config_map(namespace="kube-public"))
    for forbidden in (
        lambda: bound.get(CONFIG_MAPS, ObjectKey("kube-public", "one")),
        lambda: bound.create(CONFIG_MAPS, config_map(namespace="kube-public")),
        lambda: bound.list_page(Selection(CONFIG_MAPS, "kube-public")),
        lambda: bound.watch(Selection(CONFIG_MAPS, "kube-public"), timeout_seconds=1),
    ):
        with pytest.raises(ValueError, match="default"):
            forbidden()
    namespaces = {one["metadata"]["namespace"] for one in bound.list_all(CONFIG_MAPS)}
    assert namespaces == {"default"}
    assert bound.get(NAMESPACES, ObjectKey("", "kube-public"))


def test_cl3_apply_needs_an_owner_of_the_fields(client):
    with pytest.raises(ApiError, match="fieldManager"):
        client.patch(CONFIG_MAPS, KEY, config_map(), kind="apply")


def test_cl2_delete_all_takes_what_is_selected(client):
    for name, tier in (("one", "x"), ("two", "x"), ("three", "y")):
        client.create(CONFIG_MAPS, config_map(name, labels={"tier": tier}))
    client.create(CONFIG_MAPS, config_map("one", "kube-public", labels={"tier": "x"}))
    client.delete_all(Selection(CONFIG_MAPS, "default", label_selector="tier=x"))
    left = [
        (one["metadata"]["namespace"], one["metadata"]["name"])
        for one in client.list_all(CONFIG_MAPS)
    ]
    assert left == [("default", "three"), ("kube-public", "one")]


def test_ca5_metadata_only_get_holds_no_data(client):
    client.create(CONFIG_MAPS, {**config_map(), "data": {"a": "1"}})
    told = client.get(CONFIG_MAPS, KEY, metadata_only=True)
    assert told["kind"] == "PartialObjectMetadata"
    assert "data" not in told


def test_cl2_list_all_reads_on_as_it_is_iterated(server, client):
    for number in range(5):
        client.create(CONFIG_MAPS, config_map(f"a{number}"))
    before = len(server.journal)
    objects = client.list_all(CONFIG_MAPS, page_size=2)
    first = next(objects)
    assert (first["apiVersion"], first["kind"]) == ("v1", "ConfigMap")
    assert len(server.journal) - before == 1
    client.create(CONFIG_MAPS, config_map("a9"))  # after the moment of the list
    names = [one["metadata"]["name"] for one in objects]
    assert names == ["a1", "a2", "a3", "a4"]
    assert len(server.journal) - before == 4


@pytest.mark.parametrize("says_how", [True, False])
def test_cl2_list_all_goes_on_when_its_moment_is_forgotten(server, client, says_how):
    for name in "abcde":
        client.create(CONFIG_MAPS, config_map(name))
    objects = client.list_all(CONFIG_MAPS, page_size=2)
    names = [next(objects)["metadata"]["name"]]
    client.delete(CONFIG_MAPS, ObjectKey("default", "d"))
    client.create(CONFIG_MAPS, config_map("f"))
    server.forget_changes()
    if not says_how:
        body = orjson.dumps({"kind": "Status", "code": 410, "reason": "Expired"})
        server.faults.respond("GET", "/configmaps", HttpResponse(410, body))
    names += [one["metadata"]["name"] for one in objects]
    assert names == ["a", "b", "c", "e", "f"]


def test_cl2_a_list_whose_pages_expire_for_ever_ends(server, client):
    for name in "abc":
        client.create(CONFIG_MAPS, config_map(name))
    objects = client.list_all(CONFIG_MAPS, page_size=1)
    next(objects)
    status = {"kind": "Status", "code": 410, "metadata": {"continue": "again"}}
    for _ in range(2):
        answer = HttpResponse(410, orjson.dumps(status))
        server.faults.respond("GET", "/configmaps", answer)
    with pytest.raises(DecodeError, match="circle"):
        list(objects)


def test_cl6_limiter_spaces_requests_after_the_burst(connect):
    clock = FakeClock()
    waited = []

    def wait(_event, seconds):
        waited.append(round(seconds, 6))
        clock.advance(seconds)
        return False

    clock.wait = wait
    client = connect(clock=clock, limiter=TokenBucket(2.0, 3, clock=clock))
    for _ in range(5):
        client.list_page(CONFIG_MAPS)
    assert waited == [0.5, 0.5]


def test_cl6_no_limit_unless_asked_for(connect):
    clock = FakeClock()
    client = connect(clock=clock)
    for _ in range(30):
        client.get(NAMESPACES, ObjectKey("", "default"))
    assert clock.monotonic() == 0.0


def test_th9_close_ends_a_wait_for_a_turn(connect):
    clock = FakeClock()
    client = connect(clock=clock, limiter=TokenBucket(0.001, 1, clock=clock))
    client.list_page(CONFIG_MAPS)
    ended = []

    def read():
        with pytest.raises(StoppedError):
            client.list_page(CONFIG_MAPS)
        ended.append(True)

    thread = threading.Thread(target=read)
    thread.start()
    clock.until_waiting()
    client.close()
    thread.join(10)
    assert ended == [True]


def test_cl7_kinds_are_found_where_the_server_keeps_them(server, client):
    discovery = Discovery(client)
    assert discovery.resource(GroupKind("", "ConfigMap")) == CONFIG_MAPS
    lease = GroupVersionKind("coordination.k8s.io", "v1", "Lease")
    assert discovery.resource(lease) == LEASES
    asked = len(server.journal)
    assert discovery.resource(GroupKind("", "Namespace")) == NAMESPACES
    assert len(server.journal) == asked  # the same group: known already


def test_cl7_kind_that_came_later_is_looked_for_again(client):
    discovery = Discovery(client)
    with pytest.raises(UnknownKindError, match=r"Widget\.example\.com"):
        discovery.resource(GroupKind("example.com", "Widget"))
    crds = discovery.resource(
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
    )
    client.create(crds, WIDGETS)
    found = discovery.resource(GroupKind("example.com", "Widget"))
    assert (found.version, found.plural, found.namespaced) == ("v1", "widgets", False)
    with pytest.raises(UnknownKindError):
        discovery.resource(GroupVersionKind("example.com", "v2", "Widget"))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_le5_no_write_goes_out_that_may_not(connect, server, method):
    def refuse():
        raise StoppedError("leads no more")

    client = connect(before_write=refuse)
    write = Write(method, CONFIG_MAPS, KEY, config_map(uid="u"))
    with pytest.raises(StoppedError, match="leads no more"):
        client.send(write)
    client.list_page(CONFIG_MAPS)
    assert {one.method for one in server.journal} == {"GET"}


def test_cl4_what_the_server_warns_of_is_logged_once(client, caplog):
    """A misspelt field is dropped, and the answer is a success."""
    labels = {"app": "shop"}
    pod = {"containers": [{"name": "shop", "image": "example.com/shop"}]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {
            "replica": 2,
            "paus": True,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    for _ in range(2):
        client.apply(DEPLOYMENTS, deployment, field_manager="tests")
    said = [one for one in caplog.records if one.msg == "API server warns"]
    assert [(one.levelname, one.asoreconcile_fields["warning"]) for one in said] == [
        ("WARNING", 'unknown field "spec.replica"'),
        ("WARNING", 'unknown field "spec.paus"'),
    ]
    assert said[0].asoreconcile_fields["method"] == "PATCH"
    assert said[0].asoreconcile_fields["path"].endswith("/deployments/one")
