"""An object that only observes states its id alone, whatever its CRD requires
(OW-3).
"""

import base64

import pytest
import yaml
from world import World, resource_group

from asoreconcile.azure.catalogue.manifests import read_manifests
from asoreconcile.azure.catalogue.validation import problems
from asoreconcile.azure.catalogue.webhook_manifests import (
    MUTATE_PATH,
    VALIDATE_PATH,
    WebhookClient,
    webhook_configurations,
)
from asoreconcile.azure.cmd.manifests import AppliedManifests, ManifestsError
from asoreconcile.azure.controllers.admission import Admission
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import PLACEHOLDERS
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.placeholders import with_placeholders
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupKind, annotations
from asoreconcile.kube.resources import ApiResource
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.webhooks.server import WebhookServer
from asoreconcile.webhooks.serving_certificates import FileCertificates

AUTHORITY = certificate_authority()
OBSERVES = {"annotations": {IF_EXISTS: "observe"}}
SKU = {"name": "Standard", "family": "C", "capacity": 2}
# The name of these kinds follows from a field, or is this field.
NAMED = {
    GroupKind("communication.azure.com", "Domain"): {
        "domainManagement": "CustomerManaged"
    },
    GroupKind("communication.azure.com", "SenderUsername"): {"username": "observed1"},
}


@pytest.fixture(scope="module")
def start(module_path):
    """A world whose API server asks the operator's webhooks."""
    names = ("tls.crt", "tls.key")
    for name, pem in zip(names, AUTHORITY.issue(["127.0.0.1"]), strict=True):
        (module_path / name).write_bytes(pem)
    certificates = FileCertificates(module_path, clock=SystemClock())
    server = WebhookServer(
        "127.0.0.1:0", certificates=certificates, clock=SystemClock()
    )
    admission = Admission(builtin())
    server.validate(VALIDATE_PATH, admission.validate)
    server.mutate(MUTATE_PATH, admission.mutate)
    with World(module_path) as running:
        server.start()
        bundle = base64.b64encode(AUTHORITY.pem).decode()
        client = WebhookClient(f"https://127.0.0.1:{server.port}", ca_bundle=bundle)
        for document in webhook_configurations(builtin().kinds(), client):
            plural = document["kind"].lower() + "s"
            resource = ApiResource(
                "admissionregistration.k8s.io",
                "v1",
                plural,
                document["kind"],
                namespaced=False,
            )
            running.client.create(resource, document)
        yield running
        assert server.stop(5) == []


def observer(world, version):
    """Return the least object of a version: its name and its owner."""
    owner = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    if not version.any_owner and len(version.types) > 1:
        names = [f"{type_}/up" for type_ in version.types[:-1]]
        owner = "/".join((owner, "providers", version.provider, *names))
    content = dict(NAMED.get(version.group_kind, {}))
    if "owner" in version.spec_schema["properties"]:
        content["owner"] = {"armId": owner}
    return {
        "apiVersion": version.gvk.api_version,
        "kind": version.gvk.kind,
        "metadata": {"name": "observed1", "annotations": {IF_EXISTS: "observe"}},
        "spec": content,
    }


def requires_more(version):
    made = with_placeholders(version, {"metadata": OBSERVES, "spec": {}})
    return PLACEHOLDERS in annotations(made)


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.long)])
def test_ow3_every_kind_can_be_observed_by_its_id_alone(world, step):
    """The API server admits the object by its kind's own CRD; Azure is only read."""
    versions = [kind.version() for kind in builtin().kinds()]
    versions = [one for one in versions if one.is_arm and requires_more(one)]
    assert len(versions) > 150
    for version in versions[::step]:
        world.install_version(version.gvk)
        obj = observer(world, version)
        world.apply(obj, marked=False)
        world.run(obj)
        world.run(obj)
        assert world.ready(obj)["reason"] == "AzureResourceNotFound", version.gvk
    assert {request.method for request in world.azure.journal} <= {"GET", "HEAD"}


def test_ow3_every_version_can_be_observed_by_its_id_alone():
    for kind in builtin().kinds():
        for name in kind.versions:
            version = kind.version(name)
            content = {"owner": {"group": "a.azure.com", "kind": "B", "name": "c"}}
            content |= NAMED.get(version.group_kind, {})
            if not version.any_owner:
                content["owner"] = {"name": "c"}
            if "owner" not in version.spec_schema["properties"]:
                del content["owner"]
            obj = {"metadata": {"name": "it", **OBSERVES}, "spec": content}
            obj |= {"apiVersion": version.gvk.api_version, "kind": version.gvk.kind}
            if version.is_arm:
                assert problems(version, with_placeholders(version, obj)) == []


def test_ow3_placeholders_are_never_sent(world):
    group = resource_group()
    world.install("resources.azure.com/ResourceGroup", "cache.azure.com/Redis")
    world.settled(group)
    obj = observer(
        world, builtin().kind(GroupKind("cache.azure.com", "Redis")).version()
    )
    arm_id = (
        f"{obj['spec']['owner']['armId']}/providers/Microsoft.Cache/redis/observed1"
    )
    body = {"location": "westeurope", "properties": {"sku": SKU}}
    world.arm.put(arm_id, "2024-11-01", body)
    world.settled(obj)
    assert world.read(obj)["status"]["location"] == "westeurope"
    world.azure.journal.clear()
    # The author lets it manage, and states one of the two fields.
    obj["metadata"]["annotations"] = {}
    obj["spec"]["location"] = "westeurope"
    world.apply(obj)
    world.annotate(obj, **{IF_EXISTS: None})
    world.run(obj)
    assert annotations(world.read(obj))[PLACEHOLDERS] == "sku"
    assert "spec.sku" in world.ready(obj)["message"]
    assert world.requests("PUT") == []
    obj["spec"]["sku"] = SKU
    world.settled(obj)
    assert PLACEHOLDERS not in annotations(world.read(obj))
    (sent,) = world.requests("PUT")
    assert sent.body["properties"]["sku"] == SKU


def test_ow3_the_sandbox_takes_an_object_that_states_its_id_alone(tmp_path):
    obj = {
        "apiVersion": "cache.azure.com/v20241101",
        "kind": "Redis",
        "metadata": {"name": "it", **OBSERVES},
        "spec": {"owner": {"name": "rg"}},
    }
    path = tmp_path / "it.yaml"
    path.write_text(yaml.safe_dump(obj))
    applied = AppliedManifests(builtin(), read_manifests([path]))
    assert applied.kind_count == 2
    obj |= {"metadata": {"name": "it"}}
    path.write_text(yaml.safe_dump(obj))
    with pytest.raises(ManifestsError, match=r"spec.location: is required"):
        AppliedManifests(builtin(), read_manifests([path]))
