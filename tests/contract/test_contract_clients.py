"""Clients of other projects: the official Python client, and an operator made with
kopf.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from contractclient import GROUP, Json, Server, config_maps, widget, widgets
from kubernetes import client, dynamic, watch
from kubernetes.client.exceptions import ApiException

_OPERATOR = """
import kopf

@kopf.on.create("{group}", "v1", "widgets")
def made(spec, **_):
    return {{"size": spec["size"]}}

@kopf.on.update("{group}", "v1", "widgets")
def changed(old, new, **_):
    return {{"from": old["spec"]["size"], "to": new["spec"]["size"]}}

@kopf.on.delete("{group}", "v1", "widgets")
def gone(body, **_):
    kopf.info(body, reason="Gone", message="farewell")
"""


@pytest.fixture
def api(server: Server, tmp_path: Path) -> Iterator[client.ApiClient]:
    """The official client, an administrator's."""
    authority = tmp_path / "ca.pem"
    authority.write_text(server.authority_pem)
    configuration = client.Configuration(
        host=server.url,
        api_key={"authorization": server.token},
        api_key_prefix={"authorization": "Bearer"},
    )
    configuration.ssl_ca_cert = str(authority)
    with client.ApiClient(configuration) as made:
        yield made
        made.rest_client.pool_manager.clear()


# Old releases of the official client read headers by a method that urllib3 deprecates.
GETHEADERS = pytest.mark.filterwarnings(
    r"ignore:HTTPResponse\.getheaders\(\) is deprecated:DeprecationWarning"
)


@GETHEADERS
def test_typed_objects(api: client.ApiClient, namespace: str):
    core = client.CoreV1Api(api)
    meta = client.V1ObjectMeta(name="c", labels={"a": "b"})
    made = core.create_namespaced_config_map(
        namespace, client.V1ConfigMap(metadata=meta, data={"k": "v"})
    )
    assert made.metadata.creation_timestamp.tzinfo is not None
    patched = core.patch_namespaced_config_map("c", namespace, {"data": {"l": "w"}})
    assert patched.data == {"k": "v", "l": "w"}
    listed = core.list_namespaced_config_map(namespace, label_selector="a=b")
    assert [one.metadata.name for one in listed.items] == ["c"]
    replaced = core.replace_namespaced_config_map("c", namespace, patched)
    assert replaced.metadata.resource_version == patched.metadata.resource_version
    core.delete_namespaced_config_map("c", namespace)
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_config_map("c", namespace)
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")
    secret = client.V1Secret(
        metadata=client.V1ObjectMeta(name="s"), string_data={"a": "b"}
    )
    assert core.create_namespaced_secret(namespace, secret).data == {"a": "Yg=="}


@GETHEADERS
def test_leases_and_events(api: client.ApiClient, namespace: str):
    coordination = client.CoordinationV1Api(api)
    spec = client.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15)
    body = client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=spec)
    made = coordination.create_namespaced_lease(namespace, body)
    made.spec.holder_identity = "you"
    after = coordination.replace_namespaced_lease("l", namespace, made)
    assert after.spec.holder_identity == "you"
    with pytest.raises(ApiException) as refused:
        coordination.replace_namespaced_lease("l", namespace, made)
    assert refused.value.status == 409


def test_custom_objects(api: client.ApiClient, namespace: str):
    objects = client.CustomObjectsApi(api)
    where = (GROUP, "v1", namespace, "widgets")
    objects.create_namespaced_custom_object(*where, widget("a", size=2))
    status = {"status": {"ready": True}}
    objects.patch_namespaced_custom_object_status(*where, "a", status)
    found = objects.get_namespaced_custom_object(*where, "a")
    assert (found["spec"], found["status"]) == ({"size": 2}, {"ready": True})
    page = objects.list_namespaced_custom_object(*where, limit=1)
    assert [one["metadata"]["name"] for one in page["items"]] == ["a"]
    done = objects.delete_namespaced_custom_object(*where, "a")
    assert done["status"] == "Success"


def test_the_clients_watch(api: client.ApiClient, server: Server, namespace: str):
    core = client.CoreV1Api(api)
    server.post(config_maps(namespace), {"metadata": {"name": "a"}}).expect(201)
    listed = core.list_namespaced_config_map(namespace)
    server.post(config_maps(namespace), {"metadata": {"name": "b"}}).expect(201)
    server.delete(config_maps(namespace, "a")).expect(200)
    stream = watch.Watch()
    told = []
    for event in stream.stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=10,
    ):
        told.append((event["type"], event["object"].metadata.name))
        if len(told) == 2:
            stream.stop()
    assert told == [("ADDED", "b"), ("DELETED", "a")]


def test_the_dynamic_client(
    api: client.ApiClient, server: Server, namespace: str, tmp_path: Path
):
    found = dynamic.DynamicClient(api, cache_file=str(tmp_path / "discovered.json"))
    kind = found.resources.get(api_version=f"{GROUP}/v1", kind="Widget")
    assert (kind.name, kind.namespaced) == ("widgets", True)
    assert found.resources.get(api_version="v1", kind="Secret").name == "secrets"
    made = kind.server_side_apply(
        body=widget("a", size=4), namespace=namespace, field_manager="dynamic"
    )
    assert made.metadata.managedFields[0].operation == "Apply"
    server.patch(widgets(namespace, "a"), {"spec": {"size": 5}}).expect(200)
    stream = kind.watch(
        namespace=namespace,
        resource_version=made.metadata.resourceVersion,
        timeout=10,
        watcher=(watcher := watch.Watch()),
    )
    event = next(iter(stream))
    watcher.stop()
    assert (event["type"], event["object"].spec.size) == ("MODIFIED", 5)
    stream.close()
    assert [one.metadata.name for one in kind.get(namespace=namespace).items] == ["a"]


@pytest.fixture
def operator(
    server: Server, namespace: str, tmp_path: Path
) -> Iterator[Callable[[], str]]:
    """A running kopf operator for the widgets of the namespace. Yields a function that
    returns its log.
    """
    if importlib.util.find_spec("kopf") is None:
        pytest.skip("kopf is not installed")
    program = tmp_path / "operator.py"
    program.write_text(_OPERATOR.format(group=GROUP))
    (tmp_path / "ca.pem").write_text(server.authority_pem)
    cluster = {"server": server.url, "certificate-authority": str(tmp_path / "ca.pem")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": {"token": server.token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--verbose"]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "-n", namespace, str(program)],
            env={**os.environ, "KUBECONFIG": str(tmp_path / "config")},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield log.read_text
    finally:
        process.terminate()
        process.wait(30)


def test_an_operator_made_with_kopf(
    server: Server, namespace: str, operator: Callable[[], str]
):
    def until(events: Iterator[Json], holds: Callable[[Json], bool]) -> Json:
        found = next((event for event in events if holds(event)), None)
        assert found is not None, operator()
        return found["object"]

    with server.watch(widgets(namespace), timeoutSeconds=40) as events:
        server.post(widgets(namespace), widget("a", size=1)).expect(201)
        made = until(events, lambda event: "made" in event["object"].get("status", {}))
        assert made["status"]["made"] == {"size": 1}
        assert made["metadata"]["finalizers"] == [
            "kopf.zalando.org/KopfFinalizerMarker"
        ]
        server.patch(widgets(namespace, "a"), {"spec": {"size": 2}}).expect(200)
        told = until(events, lambda event: "changed" in event["object"]["status"])
        assert told["status"]["changed"] == {"from": 1, "to": 2}
        server.delete(widgets(namespace, "a")).expect(200)
        until(events, lambda event: event["type"] == "DELETED")
    server.get(widgets(namespace, "a")).refused(404, "NotFound")
    with server.watch(f"/api/v1/namespaces/{namespace}/events") as events:
        event = until(events, lambda event: event["object"]["reason"] == "Gone")
    assert event["involvedObject"]["name"] == "a"
