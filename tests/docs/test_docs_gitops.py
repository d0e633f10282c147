"""The sample policy of the page on GitOps denies what the page says."""

import re

import yaml
from blocks import ROOT
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

PAGE = ROOT / "deploy" / "docs" / "gitops.md"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
GROUPS = "/apis/resources.azure.com/v1api20200601/namespaces/default/resourcegroups"


def test_the_policy_denies_other_locations():
    shown = re.findall(
        r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    policy, binding, _kyverno = map(yaml.safe_load, shown)
    kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
    with kube_server() as (_, client):
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        client.post(definitions, crd(kind, versions=["v1api20200601"])).expect(201)
        client.post(f"{POLICIES}/validatingadmissionpolicies", policy).expect(201)
        path = f"{POLICIES}/validatingadmissionpolicybindings"
        client.post(path, binding).expect(201)

        def create(name, location):
            group = {
                "apiVersion": "resources.azure.com/v1api20200601",
                "kind": "ResourceGroup",
                "metadata": {"name": name},
                "spec": {"location": location},
            }
            return client.post(GROUPS, group)

        create("near", "westeurope").expect(201)
        refused = create("far", "eastus").expect(422)
        assert "westeurope or northeurope" in refused.json["message"]
