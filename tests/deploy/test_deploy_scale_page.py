"""The commands of `scale.md`: the chart knows the values that they set, and renders
them as promised.
"""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from operation import Operation, resource_for
from tools import CHART, DEPLOY, KUBECTL, NEEDS_KUBECTL, program, run
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import OPERATOR_NAMESPACE
from asoreconcile.base.objects import annotations, key_of
from asoreconcile.kube.resources import NAMESPACES

PAGE = (DEPLOY / "docs" / "scale.md").read_text()


@pytest.fixture(scope="module")
def releases():
    """Each `helm install` of the page: name, namespace and options."""
    (block,) = re.findall(
        r"^```\n(helm install.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
    lines = block.replace("\\\n", " ").replace("=...", "=some").splitlines()
    return [shlex.split(line) for line in lines]


@pytest.fixture(scope="module")
def deployments(releases):
    helm = program("helm", "helm")
    found = {}
    for _, _, name, _, *options in releases:
        flags = [flag for flag in options if flag != "--create-namespace"]
        rendered = run(helm, "template", name, str(CHART), *flags)
        (found[name],) = [
            document
            for document in yaml.safe_load_all(rendered)
            if document and document["kind"] == "Deployment"
        ]
    return found


def variables(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {entry["name"]: entry.get("value") for entry in container["env"]}


def test_each_release_has_its_own_namespaces(deployments):
    assert list(deployments) == ["shared", "team-a", "team-b"]
    for team in ("team-a", "team-b"):
        deployment = deployments[team]
        assert variables(deployment)["AZURE_TARGET_NAMESPACES"] == team
        namespace = deployment["metadata"]["namespace"]
        assert namespace == f"azureserviceoperator-{team}"
        # The label that marks the objects of one operator; step 2 of a move writes it.
        mark = (
            "serviceoperator.azure.com/operator-namespace=azureserviceoperator-team-b"
        )
        assert mark in PAGE
    assert variables(deployments["shared"])["AZURE_OPERATOR_MODE"] == "webhooks"


@NEEDS_KUBECTL
def test_the_command_of_a_move_marks_the_namespace_s_objects_of_all_kinds(tmp_path):
    (command,) = re.findall(
        r"^ +(kubectl annotate .*?)\n +```$", PAGE, re.MULTILINE | re.DOTALL
    )
    moved = [resource_group(), virtual_network()]
    for obj in moved:
        obj["metadata"]["namespace"] = "team-b"
    with Operation(tmp_path) as operation:
        operation.install(*moved, resource_group())
        operation.client.create(NAMESPACES, {"metadata": {"name": "team-b"}})
        stays = resource_group()
        for obj in (*moved, stays):
            operation.apply(obj)
        kubeconfig = operation.folder / "kubeconfig"
        path = f"{Path(KUBECTL).parent}:$PATH"
        run("bash", "-c", f'export KUBECONFIG={kubeconfig} PATH="{path}"\n{command}')
        marks = [
            annotations(operation.client.get(resource_for(obj), key_of(obj)))
            for obj in (*moved, stays)
        ]
    mark = "azureserviceoperator-team-b"
    assert [one.get(OPERATOR_NAMESPACE) for one in marks] == [mark, mark, None]
