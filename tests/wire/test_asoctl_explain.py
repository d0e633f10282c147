"""`asoctl explain`: an object's condition, what it leans on, and what to do."""

import base64
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from kubeapi import kube_server

import asoreconcile
from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.cmd.clean import crds
from asoreconcile.azure.cmd.doctor import doctor
from asoreconcile.azure.cmd.explain import explain
from asoreconcile.azure.cmd.export import objects
from asoreconcile.azure.cmd.plan import plan
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.advice import ADVICE, CAUSES
from asoreconcile.base.objects import GroupKind

POLICY = "serviceoperator.azure.com/reconcile-policy"
TOKEN = "serviceoperator.azure.com/poller-resume-token"
TOKEN_ID = "serviceoperator.azure.com/poller-resume-id"
VERSIONS = {
    "ResourceGroup": "resources.azure.com/v1api20200601",
    "VirtualNetwork": "network.azure.com/v20250301",
    "VirtualNetworksSubnet": "network.azure.com/v20250301",
    "FlexibleServer": "dbforpostgresql.azure.com/v20250801",
}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def kind_of(name):
    group = VERSIONS[name].partition("/")[0]
    return builtin().kind(GroupKind(group, name))


@pytest.fixture(scope="module")
def server():
    with kube_server() as (kube, client):
        for name, api_version in VERSIONS.items():
            version = api_version.partition("/")[2]
            client.post(CRDS, crd(kind_of(name), versions=[version])).expect(201)
        yield kube, client


@pytest.fixture
def cluster(server, tmp_path, monkeypatch, request):
    """Writes objects into a namespace of the test's own."""
    kube, client = server
    kube.write_kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    namespace = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:60].strip("-")
    client.post("/api/v1/namespaces", {"metadata": {"name": namespace}}).expect(201)

    class Cluster:
        def __init__(self):
            self.namespace = namespace

        def path(self, kind):
            return (
                f"/apis/{VERSIONS[kind]}/namespaces/{namespace}/{kind_of(kind).plural}"
            )

        def add(self, kind, name, condition=None, annotations=None, **spec):
            meta = {"name": name, "annotations": annotations or {}}
            obj = {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": meta}
            made = client.post(self.path(kind), {**obj, "spec": spec}).expect(201).json
            if condition:
                now = datetime.now(UTC) - timedelta(minutes=7)
                stated = {
                    "type": "Ready",
                    "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "observedGeneration": 1,
                    **condition,
                }
                self.state(kind, name, stated)
            return made

        def state(self, kind, name, *conditions):
            body = {"status": {"conditions": [*conditions]}}
            client.patch(f"{self.path(kind)}/{name}/status", body).expect(200)

        def core(self, plural, body):
            path = f"/api/v1/namespaces/{namespace}/{plural}"
            return client.post(path, body).expect(201).json

        def explain(self, name, *arguments, code=0):
            words = ["explain", name, "-n", namespace, *arguments]
            done = CliRunner().invoke(main, words)
            assert done.exit_code == code, done.output
            return done.stdout if code == 0 else done.stderr

    return Cluster()


def not_ready(reason, message="why", severity="Warning"):
    return {
        "status": "False",
        "reason": reason,
        "severity": severity,
        "message": message,
    }


READY = {"status": "True", "reason": "Succeeded"}


def asoctl(*words):
    return CliRunner().invoke(main, words)


def test_without_a_name_all_that_is_not_ready_is_grouped_by_its_cause(cluster):
    waiting = not_ready("WaitingForOwner", "Owner is not Ready")
    refused = not_ready("AuthorizationFailed", "no right")
    cluster.add("ResourceGroup", "rg", refused, location="x")
    cluster.add("VirtualNetwork", "net", waiting, owner={"name": "rg"}, location="x")
    cluster.add("ResourceGroup", "fine", READY, location="x")
    shown = asoctl("explain", "-n", cluster.namespace).stdout
    assert shown.splitlines()[:3] == [
        "AuthorizationFailed, Warning: no right",
        f"  ResourceGroup {cluster.namespace}/rg",
        f"  VirtualNetwork {cluster.namespace}/net (waits for its owner)",
    ]
    assert "3 Azure objects, 2 not Ready" in shown
    everywhere = asoctl("explain", "-A", "-o", "json").stdout.splitlines()
    (cause,) = (one for one in map(json.loads, everywhere) if "no right" in str(one))
    assert cause["objects"] == [f"ResourceGroup {cluster.namespace}/rg"]
    labelled = asoctl("explain", "-A", "-l", "team=none").stdout
    assert "no Azure object that matches the selector 'team=none'" in labelled


def test_kind_and_name_may_be_two_words_as_for_kubectl(cluster):
    cluster.add("ResourceGroup", "rg", READY, location="x")
    shown = asoctl("explain", "resourcegroup", "rg", "-n", cluster.namespace).stdout
    assert shown.startswith(f"ResourceGroup {cluster.namespace}/rg (")


def test_a_kind_alone_and_several_names_are_taken_as_by_kubectl(cluster):
    cluster.add("ResourceGroup", "a", not_ready("Failed"), location="x")
    cluster.add("ResourceGroup", "b", READY, location="x")
    cluster.add("VirtualNetwork", "net", not_ready("Invalid"), owner={"name": "a"})
    space = ("-n", cluster.namespace)
    of_kind = asoctl("explain", "rg", *space).stdout
    assert "Invalid" not in of_kind
    assert of_kind.endswith("2 Azure objects, 1 not Ready\n")
    for words in (("rg", "a", "b"), ("rg/a", "resourcegroup/b")):
        both = asoctl("explain", *words, *space).stdout
        assert both.count("ResourceGroup ") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rg/lonely",), "there is one in {space}: -n {space}"),
        (("flexibleserver/no",), "no FlexibleServer.dbformysql.azure.com or FlexibleS"),
        (("vn",), "no VirtualNetwork in namespace 'default': -A looks in all"),
        (("rg", "-n", "{space}s"), "which is not there; did you mean {space}?"),
        (("storageaccount",), "does not serve the CRD storageaccounts.storage.azure"),
    ],
)
def test_what_is_not_there_is_told_with_where_to_look(cluster, words, said):
    cluster.add("ResourceGroup", "lonely", READY, location="x")
    asked = [word.format(space=cluster.namespace) for word in words]
    done = asoctl("explain", *asked)
    assert said.format(space=cluster.namespace) in done.output


def test_what_no_operator_has_looked_at_is_not_in_order(cluster):
    cluster.add("ResourceGroup", "rg", READY | {"observedGeneration": 7}, location="x")
    shown = cluster.explain("rg/rg")
    assert "Cause:      The object has changed, and no operator has looked" in shown
    assert "asoctl doctor" in shown
    assert "1 not Ready" in asoctl("explain", "-n", cluster.namespace).stdout


def test_what_is_wrong_with_a_ready_object_is_told(cluster):
    misspelt = {"serviceoperator.azure.com/reconcile-polcy": "detach-on-delete"}
    cluster.add("ResourceGroup", "rg", READY, misspelt, location="x")
    drifted = {
        "type": "Drifted",
        "severity": "Warning",
        "message": "tags.a was changed",
    }
    drifted |= {
        "status": "True",
        "reason": "Drift",
        "lastTransitionTime": "2026-11-01T00:00:00Z",
    }
    ready = READY | {"type": "Ready", "lastTransitionTime": "2026-11-01T00:00:00Z"}
    cluster.state("ResourceGroup", "rg", ready, drifted)
    shown = cluster.explain("rg/rg")
    assert "did you mean serviceoperator.azure.com/reconcile-policy?" in shown
    assert "Warning:    Drifted: tags.a was changed. Take the values" in shown


@pytest.mark.parametrize(
    "kind",
    [
        "ResourceGroups",
        "rg",
        "resourcegroup.resources.azure.com",
        "resourcegroups.v1api20200601.resources.azure.com",
    ],
)
def test_a_kind_is_named_as_for_kubectl(cluster, kind):
    cluster.add("ResourceGroup", "shop", READY, location="x")
    assert cluster.explain(f"{kind}/shop").startswith("ResourceGroup")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cm", "ConfigMap is not a kind of Azure: kubectl describe cm shows"),
        ("deploy", "Deployment.apps is not a kind of Azure"),
        ("resourcegroup.v1api20200602.resources.azure.com", "mean v1api20200601?"),
        ("resourcegroup.resource.azure.com", "did you mean resources.azure.com?"),
    ],
)
def test_a_kind_of_others_is_named(cluster, kind, said):
    assert said in cluster.explain(f"{kind}/shop", code=2)


def test_of_several_groups_with_a_kind_the_one_with_the_object_counts(cluster):
    server = {"owner": {"armId": "/subscriptions/s/resourceGroups/rg"}}
    cluster.add("FlexibleServer", "db", READY, **server, location="x")
    shown = cluster.explain("FlexibleServer/db")
    assert "dbforpostgresql.azure.com" in shown


def test_file_context_and_its_namespace_are_chosen_as_by_kubectl(
    cluster, tmp_path, monkeypatch
):
    cluster.add("ResourceGroup", "rg", READY, location="x")
    file = tmp_path / "kubeconfig"
    config = yaml.safe_load(file.read_text())
    (context,) = config["contexts"]
    named = {**context["context"], "namespace": cluster.namespace}
    config["contexts"].append({"name": "mine", "context": named})
    file.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    words = ("explain", "ResourceGroup/rg", "--kubeconfig", str(file))
    assert asoctl(*words, "--context", "mine").exit_code == 0
    assert asoctl(*words).exit_code == 1  # the namespace of the current context
    missing = asoctl(*words, "--context", "other")
    assert "there is no context other" in missing.stderr


def test_h_is_help():
    shown = asoctl("explain", "-h")
    assert shown.exit_code == 0
    assert "-h, --help" in shown.stdout


@pytest.mark.parametrize("command", [crds, doctor, explain, objects, plan])
def test_each_command_that_reads_a_cluster_takes_kubectl_s_options(command):
    options = {name for param in command.params for name in param.opts}
    assert {"--kubeconfig", "--context"} <= options


def test_an_object_in_order_needs_nothing(cluster):
    cluster.add("ResourceGroup", "rg", READY, location="westeurope")
    shown = cluster.explain("ResourceGroup/rg")
    assert f"ResourceGroup {cluster.namespace}/rg (resources.azure.com/" in shown
    assert "Ready:      True, Succeeded, 7 min ago" in shown
    assert "To do" not in shown
    assert "Next try" not in shown
    assert "the operator's settings" in shown


def test_who_waits_is_told_for_whom_along_the_chain(cluster):
    waiting = not_ready("WaitingForOwner", "Owner is not Ready")
    cluster.add("VirtualNetwork", "net", waiting, owner={"name": "rg"}, location="x")
    cluster.add("VirtualNetworksSubnet", "web", waiting, owner={"name": "net"})
    shown = cluster.explain("virtualnetworkssubnets/web")
    space = cluster.namespace
    assert f"VirtualNetwork {space}/net: not Ready: WaitingForOwner" in shown
    assert f"ResourceGroup {space}/rg: missing" in shown
    assert "Owner is not Ready" in shown
    assert "To do:      Create the owner" in shown
    assert f"{space}/rg is missing" in shown
    assert "by itself within three minutes" in shown


def test_an_owner_of_another_namespace_is_told_of(cluster, server):
    waiting = not_ready("WaitingForOwner", "Owner is not there")
    cluster.add("VirtualNetwork", "net", waiting, owner={"name": "apart"}, location="x")
    _, client = server
    with client.namespace() as other:
        path = f"/apis/{VERSIONS['ResourceGroup']}/namespaces/{other}/resourcegroups"
        group = {
            "apiVersion": VERSIONS["ResourceGroup"],
            "kind": "ResourceGroup",
            "metadata": {"name": "apart"},
            "spec": {"location": "x"},
        }
        client.post(path, group).expect(201)
        shown = cluster.explain("VirtualNetwork/net")
    assert f"apart: missing, and there is one in namespace '{other}'" in shown
    assert "names are of the object's own namespace" in shown


def test_a_key_that_lacks_in_a_secret_is_named_beside_those_there(cluster):
    secret = {
        "metadata": {"name": "db"},
        "data": {"passwrd": base64.b64encode(b"hunter2").decode()},
    }
    cluster.core("secrets", secret)
    cluster.add(
        "FlexibleServer",
        "db",
        not_ready("SecretNotFound"),
        owner={"armId": "/subscriptions/s/resourceGroups/rg"},
        location="x",
        administratorLoginPassword={"name": "db", "key": "password"},
    )
    shown = cluster.explain("FlexibleServer.dbforpostgresql.azure.com/db")
    assert "spec.administratorLoginPassword Secret" in shown
    assert "it has no key password (its keys: passwrd)" in shown
    assert f"Secret {cluster.namespace}/db has no key password (its keys: " in shown
    assert "/subscriptions/s/resourceGroups/rg: by its ARM id" in shown
    assert "hunter2" not in shown
    assert base64.b64encode(b"hunter2").decode() not in shown


def test_operation_policy_and_credential_are_shown(cluster):
    cluster.core("secrets", {"metadata": {"name": "aso-credential"}})
    cluster.add(
        "ResourceGroup",
        "rg",
        not_ready("Reconciling", severity="Info"),
        annotations={
            POLICY: "detach-on-delete",
            TOKEN: "{}",
            TOKEN_ID: "GenericClient.CreateOrUpdateByID",
        },
        location="x",
    )
    shown = cluster.explain("resourcegroup/rg")
    assert "Policy:     detach-on-delete (of the object)" in shown
    assert "Azure was asked to create or update; the operation runs" in shown
    assert shown.splitlines()[1] == (
        "Cause:      Azure is making or changing the resource."
    )
    assert f"Secret {cluster.namespace}/aso-credential, of the namespace" in shown


def test_events_are_shown_the_newest_last(cluster):
    made = cluster.add("ResourceGroup", "rg", location="x")
    about = {
        "apiVersion": made["apiVersion"],
        "kind": "ResourceGroup",
        "name": "rg",
        "namespace": cluster.namespace,
        "uid": made["metadata"]["uid"],
    }
    for number in range(7):
        at = datetime.now(UTC) - timedelta(minutes=20 - number)
        cluster.core(
            "events",
            {
                "metadata": {"name": f"e{number}"},
                "involvedObject": about,
                "type": "Warning",
                "reason": "Refused",
                "message": f"message {number}",
                "lastTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "count": number + 1,
            },
        )
    shown = cluster.explain("resourcegroup/rg")
    assert re.findall(r"message (\d)", shown) == ["2", "3", "4", "5", "6"]
    assert "Warning Refused, 14 min ago: message 6 (7 times)" in shown
    assert "no condition yet" in shown


def test_throttling_names_the_time_of_the_next_try(cluster):
    throttled = not_ready("SubscriptionRequestsThrottled", "too many requests")
    made = cluster.add("ResourceGroup", "rg", throttled, location="x")
    at = datetime.now(UTC).replace(microsecond=0)
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {
            "name": "rg",
            "namespace": cluster.namespace,
            "uid": made["metadata"]["uid"],
        },
        "type": "Warning",
        "reason": "CreateOrUpdateActionError",
        "message": "too many requests (Azure asked to wait 120 s)",
        "lastTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    cluster.core("events", event)
    then = (at + timedelta(seconds=120)).strftime("%H:%M:%S")
    assert cluster.explain("resourcegroup/rg").splitlines()[1:3] == [
        (
            "Cause:      The operator sent more requests than Azure allows "
            "(SubscriptionRequestsThrottled)."
        ),
        (
            f"To do:      Nothing to do: it mends itself, next try at {then} UTC, because "
            "Azure asked for 120 s."
        ),
    ]


def test_how_long_an_operation_runs_and_what_was_heard_of_it(cluster):
    made = cluster.add(
        "ResourceGroup",
        "rg",
        not_ready("Reconciling", severity="Info"),
        annotations={TOKEN: "{}", TOKEN_ID: "GenericClient.CreateOrUpdateByID"},
        location="x",
    )
    about = {
        "name": "rg",
        "namespace": cluster.namespace,
        "uid": made["metadata"]["uid"],
    }
    correlation = "correlation id 11111111-1111-1111-1111-111111111111"
    for name, reason, message, minutes in (
        ("old", "Failed", "quota", 90),
        ("begun", "BeginCreateOrUpdate", "sent", 12),
        ("trouble", "Retry", f"503 from Azure, {correlation}", 3),
    ):
        at = datetime.now(UTC) - timedelta(minutes=minutes)
        event = {
            "metadata": {"name": name},
            "involvedObject": about,
            "type": "Normal",
            "reason": reason,
            "message": message,
            "lastTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        cluster.core("events", event)
    shown = cluster.explain("resourcegroup/rg")
    assert (
        "Operation:  Azure was asked to create or update, 12 min ago; the operation runs "
        f"and is polled; last heard of, 3 min ago: 503 from Azure, {correlation}"
    ) in shown
    assert "Next try:   by itself" in shown


def test_all_objects_of_a_manifest_are_explained(cluster, tmp_path):
    cluster.add("ResourceGroup", "rg", READY, location="x")
    manifest = {
        "apiVersion": VERSIONS["ResourceGroup"],
        "kind": "ResourceGroup",
        "metadata": {"name": "rg"},
        "spec": {"location": "x"},
    }
    missing = manifest | {"metadata": {"name": "rgg"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    path = tmp_path / "all.yaml"

    def run(*objs):
        path.write_text(yaml.safe_dump_all(objs))
        words = ["explain", "-f", str(path), "-n", cluster.namespace]
        return CliRunner().invoke(main, words)

    assert run(manifest, secret).exit_code == 0
    partly = run(missing, manifest)
    assert partly.exit_code == 1
    assert "did you mean rg?" in partly.stderr
    assert f"ResourceGroup {cluster.namespace}/rg (" in partly.stdout
    assert "no Azure resource" in run(secret).stderr
    both = CliRunner().invoke(main, ["explain", "resourcegroup/rg", "-f", str(path)])
    assert both.exit_code == 2


def test_json_says_the_same(cluster):
    cluster.add("ResourceGroup", "rg", READY, location="x")
    found = json.loads(cluster.explain("resourcegroup/rg", "-o", "json"))
    assert found["ready"].startswith("True, Succeeded")
    assert (found["reason"], found["advice"], found["next_try"]) == (
        "Succeeded",
        "",
        "",
    )


def test_a_wrong_name_is_told_with_the_nearest(cluster):
    cluster.add("ResourceGroup", "shop", location="x")
    assert "did you mean shop?" in cluster.explain("resourcegroup/shp", code=1)
    said = cluster.explain("resourcegrup/shop", code=2)
    assert "did you mean ResourceGroup?" in said
    assert "write KIND/NAME" in cluster.explain("resourcegroup/", code=2)
    absent = cluster.explain("redis.cache.azure.com/r", code=1)
    assert "does not serve the CRD redis.cache.azure.com" in absent
    assert "--crd-pattern 'cache.azure.com/Redis'" in absent


def test_there_is_advice_for_every_reason_that_the_operator_gives():
    root = Path(asoreconcile.__file__).parent / "azure"
    found = set()
    for folder in ("arm", "reconcile", "middleware", "controllers", "extensions"):
        for path in (root / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            # Reasons of refused reviews are the API server's.
            text = re.sub(r"Denied\([^\n]*", "", text)
            found |= set(re.findall(r'reason="([A-Z][A-Za-z]+)"', text))
    assert len(found) > 10
    assert found - ADVICE.keys() == set()
    assert CAUSES.keys() == ADVICE.keys()
