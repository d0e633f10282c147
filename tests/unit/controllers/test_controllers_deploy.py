"""The installation manifests fit the program."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from asoreconcile.cmd.manager import manager

ROOT = Path(__file__).resolve().parents[3]
OPERATOR = list(yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text()))
RBAC = list(yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text()))


def deployment():
    (found,) = [d for d in OPERATOR if d["kind"] == "Deployment"]
    return found["spec"]["template"]["spec"]["containers"][0]


def replicas():
    (found,) = [d for d in OPERATOR if d["kind"] == "Deployment"]
    return found["spec"]["replicas"]


def test_cluster_role_is_what_the_catalogue_says():
    done = subprocess.run(
        [sys.executable, ROOT / "hack" / "rbac", "--check"],
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


def test_no_rule_is_a_wildcard_or_deletes():
    for role in [d for d in [*RBAC, *OPERATOR] if d["kind"].endswith("Role")]:
        for rule in role["rules"]:
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert "delete" not in rule["verbs"]


def test_several_replicas_elect_a_leader_by_leases_of_their_own_namespace_only():
    assert replicas() > 1
    assert "--enable-leader-election" in deployment()["args"]
    (role,) = [d for d in RBAC if d["kind"] == "Role"]
    assert role["metadata"]["namespace"] == "azureserviceoperator-system"
    assert [rule["resources"] for rule in role["rules"]] == [["leases"]]
    (cluster_role,) = [d for d in RBAC if d["kind"] == "ClusterRole"]
    assert not any("leases" in rule["resources"] for rule in cluster_role["rules"])
    (binding,) = [d for d in OPERATOR if d["kind"] == "RoleBinding"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["metadata"]["namespace"] == role["metadata"]["namespace"]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [("15 15 2", "outlast"), ("15 2 2", "second try"), ("0.5 0.4 0.1", "1 s")],
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
