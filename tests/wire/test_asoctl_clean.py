"""`asoctl clean crds`: what is stored in old versions, and what the list says after."""

import json
from base64 import b64encode

import pytest
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.controllers import crd_cleanup, storage_rewrite
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.webhooks import converter
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupKind, copy_json
from asoreconcile.testing.http import HttpResponse
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.webhooks.server import WebhookServer
from asoreconcile.webhooks.serving_certificates import FileCertificates

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "virtualnetworks.network.azure.com"
OLD, NEW = "v1api20240301", "v20250301"
LABELS = {
    "app.kubernetes.io/name": "azure-service-operator",
    "app.kubernetes.io/version": "v2.13.0",
}


def clean(*arguments):
    return CliRunner().invoke(main, ["clean", "crds", *arguments])


class Cluster:
    def __init__(self, kube, client):
        self.kube = kube
        self.client = client

    def install(self, versions, storage, name=NAME):
        document = copy_json(crd(VNET, versions=versions, storage=storage))
        there = self.client.get(f"{CRDS}/{name}")
        if there.status == 404:
            self.client.post(CRDS, document).expect(201)
        else:
            changed = there.json | {"spec": document["spec"]}
            self.client.put(f"{CRDS}/{name}", changed).expect(200)

    def path(self, version=NEW):
        return f"/apis/network.azure.com/{version}/namespaces/default/virtualnetworks"

    def listed(self):
        return self.client.get(f"{CRDS}/{NAME}").json["status"]["storedVersions"]

    def writes(self):
        return [
            served.path
            for served in self.kube.journal
            if served.method in ("PATCH", "PUT", "POST", "DELETE")
        ]


@pytest.fixture
def empty(tmp_path, monkeypatch):
    with kube_server() as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        # Everything was done an hour ago.
        kube.clock.offset_seconds = -3600.0
        yield Cluster(kube, client)


@pytest.fixture
def cluster(empty):
    """Three objects of a version that is not the storage version any more."""
    empty.install([OLD], OLD)
    for name in ("a", "b", "c"):
        obj = {
            "apiVersion": f"network.azure.com/{OLD}",
            "kind": "VirtualNetwork",
            "metadata": {"name": name},
            "spec": {"location": "westeurope", "owner": {"name": "rg"}},
        }
        empty.client.post(empty.path(OLD), obj).expect(201)
    empty.install([OLD, NEW], NEW)
    assert empty.listed() == [OLD, NEW]
    empty.kube.journal.clear()
    return empty


def test_objects_are_stored_anew_and_the_old_version_is_dropped(cluster):
    done = clean()
    assert done.exit_code == 0, done.output
    assert f"{NAME}: 3 objects stored in {NEW}, {OLD} dropped" in done.stdout
    assert cluster.listed() == [NEW]
    # The proof: what no version serves any more nobody could read.
    cluster.install([NEW], NEW)
    items = cluster.client.get(cluster.path()).expect(200).json["items"]
    assert {item["metadata"]["name"] for item in items} == {"a", "b", "c"}
    cluster.kube.journal.clear()
    again = clean()
    said = "there is nothing to clean: all objects are stored in the current version"
    assert (again.exit_code, again.stdout) == (0, f"{said} (CRDs looked at: 1)\n")
    unconverted = clean("--one-version")
    assert "no CRD of an Azure kind has a conversion webhook" in unconverted.stdout
    assert cluster.writes() == []


def test_a_dry_run_says_so_and_writes_nothing(cluster):
    done = clean("--dry-run")
    assert done.exit_code == 0
    assert "3 objects would be stored in v20250301" in done.stdout
    assert f"{OLD} would be dropped" in done.stdout
    assert cluster.writes() == []
    assert cluster.listed() == [OLD, NEW]


def test_a_crd_that_has_just_changed_is_left_for_a_minute(cluster):
    cluster.kube.clock.offset_seconds = 0.0
    cluster.install([OLD, NEW], NEW)
    crd_now = cluster.client.get(f"{CRDS}/{NAME}").json
    crd_now["metadata"]["labels"] = {"a": "b"}
    cluster.client.put(f"{CRDS}/{NAME}", crd_now).expect(200)
    cluster.kube.journal.clear()
    done = clean()
    assert done.exit_code == 1
    assert "run this again in" in done.stderr
    assert "1 CRDs, 1 not cleaned" in done.stdout
    assert cluster.writes() == []


def test_what_fails_half_way_keeps_the_list_and_is_done_by_the_next_run(cluster):
    cluster.kube.faults.fail(verb="patch", resource=NAME, status=403)
    done = clean()
    assert done.exit_code == 1
    assert f"{OLD} stays listed" in done.stderr
    assert cluster.listed() == [OLD, NEW]
    assert clean().exit_code == 0
    assert cluster.listed() == [NEW]


def test_an_alpha_or_beta_version_stops_it_before_anything_is_written(cluster):
    beta = copy_json(crd(VNET, versions=[NEW]))
    beta["metadata"] = {"name": "things.old.azure.com", "labels": LABELS}
    beta["spec"]["group"] = "old.azure.com"
    names = {"kind": "Thing", "plural": "things", "singular": "thing"}
    beta["spec"]["names"] = {**names, "listKind": "ThingList"}
    beta["spec"]["versions"][0]["name"] = "v1beta20200601"
    cluster.client.post(CRDS, beta).expect(201)
    cluster.kube.journal.clear()
    done = clean()
    assert done.exit_code == 1
    assert "things.old.azure.com (v1beta20200601)" in done.stderr
    assert "install a newer operator" in done.stderr
    assert cluster.writes() == []
    assert cluster.listed() == [OLD, NEW]


def test_a_retired_version_is_named_by_its_successor(empty):
    """ASO's `v1alpha1api20200601` became `v1beta20200601`."""
    stored = f"{NEW}storage"

    def definition(storage):
        made = copy_json(crd(VNET, versions=[OLD, NEW], storage=storage))
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        last = made["spec"]["versions"][-1]
        versions = [*made["spec"]["versions"], {**last, "name": stored}]
        for version in versions:
            version["schema"] = {"openAPIV3Schema": schema}
            version["storage"] = version["name"] == storage
        return made | {"spec": {**made["spec"], "versions": versions}}

    empty.client.post(CRDS, definition(OLD)).expect(201)
    for name, original in (("old", "v1alpha1api20200601"), ("new", NEW)):
        obj = {
            "apiVersion": f"network.azure.com/{OLD}",
            "kind": "VirtualNetwork",
            "metadata": {"name": name},
            "spec": {"originalVersion": original},
        }
        empty.client.post(empty.path(OLD), obj).expect(201)
    there = empty.client.get(f"{CRDS}/{NAME}").json
    empty.client.put(
        f"{CRDS}/{NAME}", there | definition(stored) | {"metadata": there["metadata"]}
    ).expect(200)
    done = clean()
    assert done.exit_code == 0, done.output
    found = {
        item["metadata"]["name"]: item["spec"]["originalVersion"]
        for item in empty.client.get(empty.path(stored)).json["items"]
    }
    assert found == {"old": "v1beta20200601", "new": NEW}
    assert empty.listed() == [stored]


def test_a_cluster_without_our_crds_is_an_error(empty):
    for options in ((), ("--one-version",)):
        done = clean(*options)
        assert done.exit_code == 1
        assert "nothing to clean, because no CRD of an Azure kind" in done.stderr


def test_a_rewrite_outlives_an_expired_token_and_an_interruption(cluster, monkeypatch):
    monkeypatch.setattr(storage_rewrite, "_PAGE", 1)
    body = {"kind": "Status", "code": 410, "reason": "Expired", "metadata": {}}
    expired = HttpResponse(410, json.dumps(body).encode())
    cluster.kube.faults.respond("GET", "continue=", expired)
    refused = HttpResponse(403, b"{}")
    cluster.kube.faults.respond("PATCH", f"{VNET.plural}/c", refused)
    done = clean()
    assert done.exit_code == 1
    assert f"{NAME}: 2 objects" in done.stderr
    cluster.kube.journal.clear()
    again = clean()
    assert f"{NAME}: 1 objects stored in {NEW}, {OLD} dropped" in again.stdout
    assert cluster.listed() == [NEW]
    assert sum(VNET.plural + "/" in path for path in cluster.writes()) == 1
    assert "annotations" not in cluster.client.get(f"{CRDS}/{NAME}").json["metadata"]


@pytest.fixture
def converted(empty, tmp_path):
    """A CRD that stores what a webhook converts, and the webhook."""
    authority = certificate_authority()
    pair = zip(("tls.crt", "tls.key"), authority.issue(["127.0.0.1"]), strict=True)
    for name, pem in pair:
        (tmp_path / name).write_bytes(pem)
    files = FileCertificates(tmp_path)
    server = WebhookServer("127.0.0.1:0", certificates=files, clock=SystemClock())
    server.convert("/convert", converter(builtin()))
    server.start()
    hook = WebhookClient(
        url=f"https://127.0.0.1:{server.port}",
        ca_bundle=b64encode(authority.pem).decode(),
    )
    made = copy_json(crd(VNET, versions=VNET.versions, conversion=hook))
    made["metadata"]["labels"] = LABELS
    empty.client.post(CRDS, made).expect(201)
    yield empty
    server.stop(5)


def test_one_version_is_stored_and_no_webhook_is_left(converted, monkeypatch):
    monkeypatch.setattr(crd_cleanup, "SETTLE_SECONDS", 0.0)
    obj = {
        "apiVersion": f"network.azure.com/{OLD}",
        "kind": "VirtualNetwork",
        "metadata": {"name": "a"},
        "spec": {"location": "westeurope", "owner": {"name": "rg"}},
    }
    converted.client.post(converted.path(OLD), obj).expect(201)
    would = clean("--one-version", "--dry-run")
    assert f"1 objects would be stored in {NEW}" in would.stdout
    done = clean("--one-version")
    assert done.exit_code == 0, done.output
    left = converted.client.get(f"{CRDS}/{NAME}").json
    assert [one["name"] for one in left["spec"]["versions"]] == [NEW]
    assert left["spec"]["conversion"] == {"strategy": "None"}
    assert left["status"]["storedVersions"] == [NEW]
    found = converted.client.get(f"{converted.path()}/a").expect(200).json
    assert found["spec"] == obj["spec"]


def test_what_one_version_would_lose_is_named(converted):
    obj = {
        "apiVersion": f"network.azure.com/{NEW}storage",
        "kind": "VirtualNetwork",
        "metadata": {"name": "a"},
        "spec": {"location": "x", "$propertyBag": {"brandNew": "1"}},
    }
    converted.client.post(converted.path(f"{NEW}storage"), obj).expect(201)
    done = clean("--one-version")
    assert done.exit_code == 1
    assert f"default/a sets spec.brandNew, which {NEW} lacks" in done.stderr
