"""The API server calls our webhooks: admission and conversion end to end, over TLS."""

from contextlib import closing

import pytest

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ApiError, ForbiddenError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.testing.kube import KubeServer
from asoreconcile.webhooks.admission import Allowed, Denied
from asoreconcile.webhooks.ca_bundles import (
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    Address,
    Trust,
    WebhookTarget,
    inject_ca_bundle,
)
from asoreconcile.webhooks.conversion import ConversionError
from asoreconcile.webhooks.managed import ManagedCertificates
from asoreconcile.webhooks.server import WebhookServer, webhook_path

V1, V2 = (
    ApiResource("demo.example.com", version, "widgets", "Widget")
    for version in ("v1", "v2")
)
CRD = "widgets.demo.example.com"
KEY = ObjectKey("default", "one")


def convert(obj, desired):
    """v1 says `size`, v2 says `width`; a negative size has no width."""
    spec = dict(obj["spec"])
    if desired == V2.api_version:
        if spec.get("size", 0) < 0:
            raise ConversionError("no width is negative")
        spec["width"] = spec.pop("size", 0)
    else:
        spec["size"] = spec.pop("width", 0)
    return {**obj, "apiVersion": desired, "spec": spec}


def check(request):
    if request.obj["spec"].get("colour") == "pink":
        return Denied("pink is sold out")
    return Allowed(warnings=("widgets are old-fashioned",))


def fill_in(request):
    request.obj["spec"].setdefault("colour", "blue")
    return request.obj


@pytest.fixture
def client(tmp_path):
    """Of a cluster whose widgets are admitted and converted by us."""
    path = str(tmp_path / "kubeconfig")
    clock = SystemClock()
    with KubeServer() as cluster:
        cluster.write_kubeconfig(path)
        with closing(KubeClient(load(path), user_agent="tests")) as made:
            secret = ObjectKey("default", "certificate")
            certificates = ManagedCertificates(made, secret, ["localhost"], clock=clock)
            server = WebhookServer(
                "127.0.0.1:0", certificates=certificates, clock=clock
            )
            server.convert("/convert", convert)
            server.validate(webhook_path("validate", V1.gvk), check)
            server.mutate(webhook_path("mutate", V1.gvk), fill_in)
            certificates.start()
            server.start()
            introduce(made, f"https://localhost:{server.port}", certificates)
            yield made
            assert server.stop(5) == certificates.stop(5) == []


def introduce(client, url, certificates):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": resource.version,
            "served": True,
            "storage": resource is V1,
            "schema": {"openAPIV3Schema": schema},
        }
        for resource in (V1, V2)
    ]
    webhook = {
        "clientConfig": {"url": f"{url}/convert"},
        "conversionReviewVersions": ["v1"],
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {
            "group": V1.group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }
    client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    rule = {
        "apiGroups": [V1.group],
        "apiVersions": [V1.version],
        "resources": ["widgets"],
        "operations": ["CREATE", "UPDATE"],
    }
    for resource, verb in (
        (MUTATING_WEBHOOKS, "mutate"),
        (VALIDATING_WEBHOOKS, "validate"),
    ):
        hook = {
            "name": f"{verb}.demo.example.com",
            "clientConfig": {"url": url + webhook_path(verb, V1.gvk)},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        document = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": "demo"},
            "webhooks": [hook],
        }
        client.create(resource, document)
    for target in (
        WebhookTarget.crd(CRD),
        WebhookTarget.mutating("demo"),
        WebhookTarget.validating("demo"),
    ):
        address = Address(["localhost"])
        trust, _ = inject_ca_bundle(
            client,
            target,
            certificates.authorities,
            address=address,
            clock=SystemClock(),
        )
        assert trust is Trust.INJECTED


def widget(**spec):
    return {
        "apiVersion": V1.api_version,
        "kind": "Widget",
        "metadata": {"namespace": KEY.namespace, "name": KEY.name},
        "spec": spec,
    }


def test_wh5_what_is_written_is_filled_in_and_checked(client):
    made = client.create(V1, widget(size=3))
    assert made["spec"] == {"size": 3, "colour": "blue"}
    with pytest.raises(ForbiddenError, match="pink is sold out"):
        client.patch(V1, KEY, {"spec": {"colour": "pink"}})
    assert client.get(V1, KEY)["spec"]["colour"] == "blue"


def test_wh6_objects_are_read_and_written_in_any_version(client):
    client.create(V1, widget(size=3))
    other = client.get(V2, KEY)
    assert (other["apiVersion"], other["spec"]["width"]) == (V2.api_version, 3)
    client.patch(V2, KEY, {"spec": {"width": 5}})
    assert client.get(V1, KEY)["spec"]["size"] == 5
    (listed,) = client.list_page(V2).items
    assert listed["spec"]["width"] == 5


def test_wh6_what_has_no_form_in_a_version_is_an_error_that_says_why(client):
    client.create(V1, widget(size=-1))
    with pytest.raises(ApiError, match="no width is negative"):
        client.get(V2, KEY)
    assert client.get(V1, KEY)["spec"]["size"] == -1
