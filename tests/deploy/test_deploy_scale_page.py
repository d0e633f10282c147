"""The commands of `scale.md`: what they set the chart knows, and renders as promised."""

import re
import shlex

import pytest
import yaml
from tools import CHART, DEPLOY, program, run

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
        # What marks the objects of one, and what step 2 of a move writes.
        mark = (
            "serviceoperator.azure.com/operator-namespace=azureserviceoperator-team-b"
        )
        assert mark in PAGE
    assert variables(deployments["shared"])["AZURE_OPERATOR_MODE"] == "webhooks"
