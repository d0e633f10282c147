"""The Helm chart, rendered by the real helm: its objects, the values it refuses, and
its agreement with the other manifests.
"""

import json

import pytest
import yaml
from charts import (
    CASES,
    HERE,
    NAMESPACE,
    command,
    golden,
    golden_path,
    refusal,
    rendered,
    values,
)
from tools import CHART, DEPLOY, one, run

from asoreconcile.azure.catalogue.secret_policy import POLICY_NAME
from asoreconcile.azure.cmd.manager import manager
from asoreconcile.azure.controllers import settings
from asoreconcile.azure.controllers.discovery import LEAST_KUBERNETES
from asoreconcile.base.version import __version__

OPERATOR = list(yaml.safe_load_all((DEPLOY / "operator.yaml").read_text()))
POLICY = list(yaml.safe_load_all((DEPLOY / "secret-policy.yaml").read_text()))
RBAC = {
    d["metadata"]["name"]: d["rules"]
    for d in [
        *yaml.safe_load_all((DEPLOY / "rbac.yaml").read_text()),
        *[o for o in POLICY if o["kind"] == "ClusterRole"],
        *[o for o in OPERATOR if o["kind"] == "ClusterRole"],
    ]
}


def pod(found):
    return one(found, "Deployment")["spec"]["template"]["spec"]


def container(found):
    (it,) = pod(found)["containers"]
    return it


def environment(found):
    return {e["name"]: e.get("value") for e in container(found)["env"]}


@pytest.mark.parametrize("case", CASES)
def test_the_chart_makes_what_is_kept_of_it(case):
    """After an intended change, run python tests/deploy/charts.py."""
    assert golden(rendered(case)) == golden_path(case).read_text()


@pytest.mark.parametrize("case", CASES)
def test_lint_finds_nothing(case):
    run(*command("lint", "--strict", "--quiet", CHART, *values(case)))


def test_the_chart_s_version_is_the_program_s():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__
    # "-0" admits the builds of cloud providers, such as 1.30.2-gke.1.
    assert chart["kubeVersion"] == f">={LEAST_KUBERNETES}.0-0"


@pytest.mark.parametrize("case", CASES)
def test_roles_are_those_that_the_catalogue_makes(case):
    roles = [o for o in rendered(case) if o["kind"] in {"Role", "ClusterRole"}]
    own = {
        "azureserviceoperator-metrics-reader",
        "azureserviceoperator-webhook-certificate-role",
        "azureserviceoperator-workload-identity-role",
    }
    for role in roles:
        if role["metadata"]["name"] not in own:
            assert role["rules"] == RBAC[role["metadata"]["name"]]
        for rule in role["rules"]:
            said = json.dumps(rule)
            assert '"*"' not in said
            assert '"delete"' not in said


def test_wh11_the_policy_is_installed_with_the_release_where_it_can_be():
    """The operator itself may only read it, by its name."""

    def policies(*options):
        found = rendered("everything", *options)
        return [o for o in found if o["kind"].startswith("ValidatingAdmissionP")]

    made = [o for o in POLICY if o["kind"].startswith("ValidatingAdmissionP")]
    assert len(made) == 2
    assert policies() == made
    assert policies("--set", "checkSecretAccess=false") == []
    for rule in [r for rules in RBAC.values() for r in rules]:
        if any(one.startswith("validatingadmissionp") for one in rule["resources"]):
            assert (rule["verbs"], rule["resourceNames"]) == (["get"], [POLICY_NAME])


def test_no_tenant_writes_what_all_share():
    kinds = {o["kind"] for o in rendered("tenant", "--set", "checkSecretAccess=true")}
    assert not kinds & {
        "ClusterRole",
        "ValidatingAdmissionPolicy",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
    bound = [
        (o["metadata"].get("namespace", ""), o["roleRef"]["name"])
        for o in rendered("tenant")
        if o["kind"].endswith("RoleBinding")
    ]
    assert sorted(bound) == [
        ("", "azureserviceoperator-cluster-reader-role"),
        ("", "azureserviceoperator-metrics-auth-role"),
        (NAMESPACE, "azureserviceoperator-leader-election-role"),
        (NAMESPACE, "azureserviceoperator-record-key-role"),
        ("blue", "azureserviceoperator-manager-role"),
        ("red", "azureserviceoperator-manager-role"),
    ]


def test_every_role_that_is_bound_is_there():
    shared = {o["metadata"]["name"] for o in rendered("webhooks")}
    for case in CASES:
        found = rendered(case)
        names = {o["metadata"]["name"] for o in found}
        for binding in [o for o in found if o["kind"].endswith("RoleBinding")]:
            assert binding["roleRef"]["name"] in names | shared


@pytest.mark.parametrize("case", CASES)
def test_the_manager_takes_every_argument_and_setting(case):
    found = rendered(case)
    known = {name for option in manager.params for name in option.opts}
    given = {argument.partition("=")[0] for argument in container(found)["args"]}
    assert given <= known
    names = set(environment(found)) - {"HTTPS_PROXY"}
    assert names <= settings.KNOWN
    secrets = [o for o in found if o["kind"] == "Secret"]
    assert {key for secret in secrets for key in secret["data"]} <= settings.KNOWN


def test_the_settings_of_the_values_are_what_the_manager_reads():
    found = rendered("theirs")
    given = environment(found) | {"POD_NAMESPACE": NAMESPACE, "POD_UID": "uid"}
    read = settings.from_environment({**given, "AZURE_SUBSCRIPTION_ID": ""})
    assert read.sync_period_seconds == 1800
    assert read.max_concurrent_reconciles == 8
    assert read.rate_limit == settings.RateLimit(5.0, 100)
    assert read.user_agent_suffix == "platform/1"
    assert read.credentials.allow_clouds


def test_values_at_their_defaults_leave_the_secret_s_keys_alone():
    """A Secret that the chart did not make may contain these settings."""
    assert set(environment(rendered("default"))) == {"POD_NAMESPACE", "POD_UID"}


def test_every_value_of_aso_s_chart_is_taken():
    theirs = yaml.safe_load((HERE / "values" / "theirs.yaml").read_text())
    ours = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(theirs) <= set(ours)
    deployment = one(rendered("theirs"), "Deployment")
    template = deployment["spec"]["template"]
    assert deployment["spec"]["replicas"] == 3
    assert template["metadata"]["labels"]["team"] == "platform"
    assert template["spec"]["priorityClassName"] == "system-cluster-critical"
    assert "--crd-labels=team=platform,stage=test" in container([deployment])["args"]


def test_the_schema_names_every_value_and_no_other():
    def names(schema):
        return {
            key: names(one) if "properties" in one else None
            for key, one in schema["properties"].items()
        }

    def shape(given, schema):
        return {
            key: shape(value, schema[key]) if schema.get(key) else None
            for key, value in given.items()
        }

    schema = names(json.loads((CHART / "values.schema.json").read_text()))
    schema.pop("global")  # helm's own, given to each chart of a release
    assert shape(yaml.safe_load((CHART / "values.yaml").read_text()), schema) == schema


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("azureSubscriptonID=x", "additional properties 'azureSubscriptonID'"),
        ("webhook.prot=1", "at '/webhook': additional properties 'prot'"),
        ("azureSyncPeriod=soon", "at '/azureSyncPeriod'"),
        ("azureOperatorMode=watcher", "at '/azureOperatorMode'"),
        ("defaultReconcilePolicy=keep", "at '/defaultReconcilePolicy'"),
        ("replicaCount=many", "at '/replicaCount'"),
        ("image.tag=v2.20.0", "Azure Service Operator's own"),
        (
            "image.repository=mcr.microsoft.com/k8s/azureserviceoperator:v2.20.0",
            "Azure Service Operator's own",
        ),
        ("aadPodIdentity.enable=true", "useWorkloadIdentityAuth"),
        ("multitenant.enable=true", "needs azureOperatorMode"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(option, message):
    assert message in refusal("--set", option)


def test_a_whole_image_may_be_named():
    digest = f"registry.example/mine@sha256:{'0' * 64}"
    found = rendered("default", "--set", f"image.repository={digest}")
    assert container(found)["image"] == digest


def test_pods_meet_the_restricted_standard_and_trust_nothing_with_their_disk():
    for case in CASES:
        found = rendered(case)
        context, own = (
            pod(found)["securityContext"],
            container(found)["securityContext"],
        )
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert context["runAsNonRoot"]
        assert own["readOnlyRootFilesystem"]
        assert own["allowPrivilegeEscalation"] is False
        assert own["capabilities"] == {"drop": ["ALL"]}


def test_an_old_pod_ends_once_a_new_one_is_ready():
    for case in ("default", "light", "tenant"):
        strategy = one(rendered(case), "Deployment")["spec"]["strategy"]
        assert strategy["rollingUpdate"] == {"maxUnavailable": 0}


def test_a_changed_secret_starts_other_pods():
    def note(*options):
        template = one(rendered("default", *options), "Deployment")["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/settings"]

    assert note() == note() != note("--set", "azureClientSecret=other")


def test_ports_that_are_named_are_open_in_the_network_policy():
    for case in ("default", "theirs", "everything", "webhooks", "tenant"):
        found = rendered(case)
        policy = one(found, "NetworkPolicy")["spec"]
        listens = {p["containerPort"] for p in container(found)["ports"]}
        assert {p["port"] for r in policy["ingress"] for p in r["ports"]} == listens
        for service in [o for o in found if o["kind"] == "Service"]:
            (port,) = service["spec"]["ports"]
            assert port["targetPort"] in {p["name"] for p in container(found)["ports"]}


def test_a_single_replica_keeps_no_node_from_being_drained():
    kinds = {o["kind"] for o in rendered("default", "--set", "replicaCount=1")}
    assert "PodDisruptionBudget" not in kinds
