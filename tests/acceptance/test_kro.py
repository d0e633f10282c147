"""kro's controller makes our kinds out of a ResourceGraphDefinition of its own examples.

`hack/go-program kro` builds it; the test is skipped if it is not there.
"""

import os
import subprocess
from contextlib import contextmanager

import goprograms
import pytest
import yaml
from operation import Operation

from asoreconcile.base.objects import key_of
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS as CRDS
from asoreconcile.kube.resources import NAMESPACES, ApiResource

MODULE = "github.com/kubernetes-sigs/kro"
DEFINITION = ApiResource(
    *("kro.run", "v1alpha1", "resourcegraphdefinitions", "ResourceGraphDefinition"),
    namespaced=False,
)
INSTANCE = ApiResource(
    *("kro.run", "v1alpha1", "azurecontainerdeployments", "AzureContainerDeployment")
)
CRD = {"metadata": {"name": f"{INSTANCE.plural}.{INSTANCE.group}"}}
ARGUMENTS = (
    *("--leader-elect", "--leader-election-namespace=default", "--allow-crd-deletion"),
    *("--metrics-bind-address=0", "--health-probe-bind-address=0"),
    *("--instance-requeue-interval=200ms", "--rgd-progress-requeue-delay=200ms"),
)


@contextmanager
def kro(operation):
    """Run the controller; it ends with the block."""
    log = operation.folder / "manager-kro.log"  # operation.logs() has it too
    kubeconfig = {"KUBECONFIG": str(operation.folder / "kubeconfig")}
    with (
        log.open("wb") as written,
        subprocess.Popen(
            [goprograms.built("kro"), *ARGUMENTS],
            env={**os.environ, **kubeconfig},
            stdout=written,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield
        finally:
            process.kill()


def example(name):
    """Return an example of kro's for Azure, as its module has it."""
    folder = goprograms.module_folder("kro", MODULE)
    return yaml.safe_load(
        (folder / "examples/azure/storage-container" / name).read_text()
    )


def in_state(state):
    return lambda found: found and found.get("status", {}).get("state") == state


def is_gone(found):
    return found is None


@pytest.mark.timeout(300)
def test_kros_storage_example_lives_its_life_over_our_kinds(make_cluster, tmp_path):
    definition, instance = example("rg.yaml"), example("instance.yaml")
    instance["metadata"]["namespace"] = "default"
    names = {"metadata": {"namespace": "mystorage", "name": "mystorage"}}
    group, account, blobs, container = (
        {**one["template"], **names} for one in definition["spec"]["resources"]
    )
    container["metadata"] = {**names["metadata"], "name": "krocontainer"}
    resources = {one["id"]: one["template"] for one in definition["spec"]["resources"]}
    # kro deletes a part before its owner, which Azure cannot do with this one.
    detach = {"serviceoperator.azure.com/reconcile-policy": "detach-on-delete"}
    resources["blobService"]["metadata"]["annotations"] = detach
    with Operation(tmp_path, cluster=make_cluster()) as operation:
        client = operation.client
        for path in goprograms.module_folder("kro", MODULE).glob("helm/crds/*.yaml"):
            crd = yaml.safe_load(path.read_text())
            client.create(CRDS, crd)
        client.create(NAMESPACES, {"metadata": {"name": "mystorage"}})
        operation.install(group, account, blobs, container)
        operation.start_manager()
        with kro(operation):
            client.create(DEFINITION, definition)
            operation.wait_for(definition, in_state("Active"), DEFINITION)
            client.create(INSTANCE, instance)
            operation.wait_for(instance, in_state("ACTIVE"), INSTANCE)
            for obj in (group, account, blobs, container):
                operation.wait_ready(obj)

            # The graph gets another field, and the instance a value of it.
            resources["storageAccount"]["spec"]["accessTier"] = "${schema.spec.tier}"
            fields = definition["spec"]["schema"]["spec"]
            fields["tier"] = "string | default=Hot"
            client.patch(DEFINITION, key_of(definition), {"spec": definition["spec"]})
            cool = {"spec": {"tier": "Cool"}}
            operation.wait_for(CRD, lambda found: "tier" in str(found), CRDS)
            while "tier" not in client.patch(INSTANCE, key_of(instance), cool)["spec"]:
                pass  # a real server takes a moment to serve the new schema
            operation.wait_for(
                account, lambda found: found["status"].get("accessTier") == "Cool"
            )

            client.delete(INSTANCE, key_of(instance))
            operation.wait_for(instance, is_gone, INSTANCE)
            deleted = [one.path.split("/")[-2] for one in operation.requests("DELETE")]
            assert deleted == ["containers", "storageAccounts", "resourceGroups"]
            client.delete(DEFINITION, key_of(definition))
            operation.wait_for(definition, is_gone, DEFINITION)
            operation.wait_for(CRD, is_gone, CRDS)
