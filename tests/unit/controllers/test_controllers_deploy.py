"""The installation manifests fit the program."""

import subprocess
import sys
from pathlib import Path

import yaml
from click.testing import CliRunner

from asoreconcile.cmd.manager import manager

ROOT = Path(__file__).resolve().parents[3]
OPERATOR = list(yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text()))


def deployment():
    (found,) = [d for d in OPERATOR if d["kind"] == "Deployment"]
    return found["spec"]["template"]["spec"]["containers"][0]


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
    rbac = yaml.safe_load((ROOT / "deploy" / "rbac.yaml").read_text())
    roles = [rbac, *(d for d in OPERATOR if d["kind"] == "ClusterRole")]
    for role in roles:
        for rule in role["rules"]:
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert "delete" not in rule["verbs"]
