"""The definitions of all kinds, as an API server takes them: schemas, rules, and size."""

from contextlib import closing

import pytest
from clusters import HAS_REAL, RealCluster
from operation import WAIT_SECONDS, Operation

from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers import crds
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import key_of
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS

CONVERTER = WebhookClient(namespace="azureserviceoperator-system", name="webhooks")


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path, cluster=RealCluster()) as running:
        yield running


@pytest.mark.real
@pytest.mark.timeout(600)
@pytest.mark.skipif(not HAS_REAL, reason="no KUBEBUILDER_ASSETS: see hack/envtest")
def test_every_kind_is_taken_in_one_version_and_in_all(operation):
    client = operation.client
    waiting = set()
    for kind in builtin().kinds():
        client.create(CUSTOM_RESOURCE_DEFINITIONS, crds.manifest(kind), dry_run=True)
        # Really written: what a store holds has a limit of its own.
        definition = crds.manifest(kind, conversion=CONVERTER)
        client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
        waiting.add(key_of(definition).name)
    assert len(waiting) > 290
    watch = client.watch(CUSTOM_RESOURCE_DEFINITIONS, timeout_seconds=WAIT_SECONDS)
    with closing(watch) as events:
        for type_, seen in events:
            if type_ != "BOOKMARK" and conditions(seen).get("Established") == "True":
                assert conditions(seen).get("NonStructuralSchema") != "True"
                waiting.discard(key_of(seen).name)
            if not waiting:
                return
    pytest.fail(f"never served: {waiting}")


def conditions(definition):
    """What is said of a definition: statuses by type."""
    found = definition["status"].get("conditions") or ()
    return {one["type"]: one["status"] for one in found}
