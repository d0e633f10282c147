"""The installation manifests fit the program."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from asoreconcile.azure.arm.credentials_federated import TOKEN_FILE
from asoreconcile.azure.catalogue.reserved import RECORD_KEY_SECRET
from asoreconcile.azure.cmd.manager import manager
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import copy_json

ROOT = Path(__file__).resolve().parents[4]
OPERATOR = list(yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text()))
RBAC = list(yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text()))


TENANT = list(yaml.safe_load_all((ROOT / "deploy" / "tenant.yaml").read_text()))


def pod(documents=OPERATOR):
    (found,) = [d for d in documents if d["kind"] == "Deployment"]
    return found["spec"]["template"]["spec"]


def deployment():
    (container,) = pod()["containers"]
    return container


def replicas():
    (found,) = [d for d in OPERATOR if d["kind"] == "Deployment"]
    return found["spec"]["replicas"]


def test_cluster_role_is_what_the_catalogue_says():
    done = subprocess.run(
        [sys.executable, ROOT / "hack" / "rbac.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_deployment_s_arguments_are_options_of_the_manager():
    known = {name for option in manager.params for name in option.opts}
    given = {argument.partition("=")[0] for argument in deployment()["args"]}
    assert given <= known
    assert CliRunner().invoke(manager, ["--help"]).exit_code == 0


def test_pods_run_without_any_privilege():
    context = deployment()["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}


def test_a_pod_s_temporary_files_are_bounded():
    (volume,) = [one for one in pod()["volumes"] if "emptyDir" in one]
    assert volume["emptyDir"] == {"sizeLimit": "64Mi"}


@pytest.mark.parametrize("documents", [OPERATOR, TENANT])
def test_pods_have_the_token_that_workload_identity_signs_in_with(documents):
    (volume,) = [one for one in pod(documents)["volumes"] if "projected" in one]
    (source,) = volume["projected"]["sources"]
    token = source["serviceAccountToken"]
    (container,) = pod(documents)["containers"]
    mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    assert f"{mounts[volume['name']]}/{token['path']}" == TOKEN_FILE
    assert token["audience"] == "api://AzureADTokenExchange"


def test_no_rule_is_a_wildcard_or_deletes():
    for role in [d for d in [*RBAC, *OPERATOR, *TENANT] if d["kind"].endswith("Role")]:
        for rule in role["rules"]:
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert "delete" not in rule["verbs"]


def test_several_replicas_elect_a_leader_by_leases_of_their_own_namespace_only():
    assert replicas() > 1
    assert "--enable-leader-election" in deployment()["args"]
    role, binding = own_role("leader-election")
    make, keep = role["rules"]
    assert make["resources"] == keep["resources"] == ["leases"]
    assert make["verbs"] == ["create"]
    assert keep["resourceNames"] == ["controllers-leader-election-azinfra-generated"]
    for cluster_role in [d for d in RBAC if d["kind"] == "ClusterRole"]:
        assert not any("leases" in rule["resources"] for rule in cluster_role["rules"])
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def own_role(name):
    """Return a role of the operator's own namespace, and its binding."""
    named = f"azureserviceoperator-{name}-role"
    (role,) = [d for d in RBAC if d["metadata"]["name"] == named]
    (binding,) = [d for d in OPERATOR if d["metadata"]["name"] == f"{named}binding"]
    for one in (role, binding):
        assert one["metadata"]["namespace"] == "azureserviceoperator-system"
    return role, binding


def test_the_record_key_is_made_once_and_read_by_name_in_the_operators_namespace():
    role, binding = own_role("record-key")
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    make, read = role["rules"]
    assert make["resources"] == read["resources"] == ["secrets"]
    assert make["verbs"] == ["create"]
    assert read["verbs"] == ["get"]
    assert read["resourceNames"] == [RECORD_KEY_SECRET]
    tenants = [d for d in TENANT if d["metadata"]["name"] == role["metadata"]["name"]]
    assert [d["rules"] for d in tenants] == [role["rules"]]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [("15 15 2", "outlast"), ("15 2 2", "second try"), ("0.5 0.4 0.1", "give 1 to")],
)
def test_le1_times_of_a_lease_that_cannot_work_are_bad_usage(seconds, message):
    arguments = ["--enable-leader-election", "--leader-election-seconds"]
    environment = {"POD_NAMESPACE": "system"}
    done = CliRunner().invoke(manager, [*arguments, *seconds.split()], env=environment)
    assert done.exit_code == 2
    assert message in done.output


def test_le1_a_lease_needs_the_namespace_it_is_kept_in():
    arguments, environment = ["--enable-leader-election"], {"POD_NAMESPACE": ""}
    done = CliRunner().invoke(manager, arguments, env=environment)
    assert done.exit_code == 2
    assert "POD_NAMESPACE" in done.output


def cluster_role(name):
    (found,) = [d for d in RBAC if d["metadata"]["name"].endswith(name)]
    return found["rules"]


def test_crds_are_written_by_name_only():
    create, write, trim, *objects, hooks = cluster_role("crd-manager-role")
    assert create["verbs"] == ["create"]
    names = {f"{k.plural}.{k.group}" for k in builtin().kinds()}
    assert set(write["resourceNames"]) == names
    assert trim["resources"] == ["customresourcedefinitions/status"]
    assert set(trim["resourceNames"]) == names
    # What old versions are dropped after: no object changes by it, and none is read alone.
    assert all(rule["verbs"] == ["list", "patch"] for rule in objects)
    of_objects = {
        f"{r}.{rule['apiGroups'][0]}" for rule in objects for r in rule["resources"]
    }
    assert of_objects == names
    assert len(hooks["resourceNames"]) == 2
    for rule in [r for d in [*RBAC, *TENANT] for r in d.get("rules", ())]:
        if set(rule["verbs"]) & {"patch", "update"} and "." in rule["apiGroups"][0]:
            named = "resourceNames" in rule
            assert named or rule["apiGroups"][0].endswith(".azure.com")


def test_what_reads_the_whole_cluster_for_a_tenant_reads_no_content():
    """Bound to the cluster are namespaces and CRDs; Secrets only by a RoleBinding."""
    bound = {
        d["roleRef"]["name"]: d["kind"] for d in TENANT if d["kind"].endswith("Binding")
    }
    assert bound == {
        "azureserviceoperator-manager-role": "RoleBinding",
        "azureserviceoperator-cluster-reader-role": "ClusterRoleBinding",
        "azureserviceoperator-leader-election-role": "RoleBinding",
        "azureserviceoperator-record-key-role": "RoleBinding",
    }
    for rule in cluster_role("cluster-reader-role"):
        (resource,) = rule["resources"]
        assert resource in {"namespaces", "customresourcedefinitions"}
        only_named = ["get"] if resource == "namespaces" else []
        assert rule["verbs"] == [*only_named, "list", "watch"]


@pytest.mark.parametrize("name", ["rbac.yaml", "operator.yaml", "tenant.yaml"])
def test_each_rule_has_its_reason_beside_it(name):
    lines = (ROOT / "deploy" / name).read_text().splitlines()
    rules = [
        n for n, line in enumerate(lines) if line.lstrip().startswith("- apiGroups")
    ]
    assert rules
    for number in rules:
        before = lines[number - 1].strip()
        assert before.startswith("#"), f"{name}:{number + 1}: no reason"


def test_a_tenant_s_pod_is_the_operator_s_in_its_own_mode():
    ours, theirs = copy_json(pod()), copy_json(pod(TENANT))
    (one,), (other,) = ours.pop("containers"), theirs.pop("containers")
    assert ours == theirs
    extra = {e["name"]: e.get("value") for e in other.pop("env")[2:]}
    assert extra == {
        "AZURE_OPERATOR_MODE": "watchers",
        "AZURE_TARGET_NAMESPACES": "team-a",
    }
    assert set(other.pop("args")) <= set(one.pop("args"))
    (health,) = other.pop("ports")
    assert health in one.pop("ports")
    del one["env"]
    assert one == other


def ports(rules):
    return {
        (port["protocol"], port["port"]) for rule in rules for port in rule["ports"]
    }


def test_the_network_is_as_narrow_as_the_pods_need():
    (policy,) = [d["spec"] for d in OPERATOR if d["kind"] == "NetworkPolicy"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    (found,) = [d for d in OPERATOR if d["kind"] == "Deployment"]
    labels = found["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    listens = {("TCP", p["containerPort"]) for p in deployment()["ports"]}
    (hooks,) = webhook_service()["spec"]["ports"]
    assert ("TCP", hooks["targetPort"]) in listens
    assert ports(policy["ingress"]) == listens
    assert ports(policy["egress"]) == {
        *(("UDP", 53), ("TCP", 53), ("TCP", 443), ("TCP", 6443), ("TCP", 80)),
        # Servers of databases; the last is the first of Azure SQL's range.
        *(("TCP", 5432), ("TCP", 3306), ("TCP", 1433), ("TCP", 11000)),
    }
    (plain,) = [r for r in policy["egress"] if ports([r]) == {("TCP", 80)}]
    assert plain["to"] == [{"ipBlock": {"cidr": "169.254.169.254/32"}}]


def test_the_api_server_calls_no_pod_that_does_not_listen_yet_or_is_stopped():
    """And a pod that is stopped answers until its Service has forgotten it."""
    assert "publishNotReadyAddresses" not in webhook_service()["spec"]
    (manager,) = [d for d in OPERATOR if d["kind"] == "Deployment"]
    (container,) = manager["spec"]["template"]["spec"]["containers"]
    assert "--drain-seconds=5" in container["args"]


def webhook_service():
    name = "azureserviceoperator-webhook-service"
    (found,) = [d for d in OPERATOR if d["metadata"]["name"] == name]
    return found
