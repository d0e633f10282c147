"""Values made at random: the chart refuses them by name, or makes what works."""

import os
import random

import pytest
import yaml
from charts import NAMESPACE, command
from tools import CHART, attempt

from asoreconcile.azure.cmd.manager import manager

SETS = int(os.environ.get("ASORECONCILE_CHART_SETS", "30"))
SEED = int(os.environ.get("ASORECONCILE_CHART_SEED", "1"))
TEXTS = ("", "a", "a\nb", "a: b", "true", "1", "'", '"', "{{ fail `no` }}x", "é", "#a")
NUMBERS = (0, 1, 2, 3, 65535, 65536, 1000000, 10000000, 1.5, -1, "1", None)
PORTS = (8081, 8443, 9443, 443, 1, 0, 65535, 70000, "8443", None)
SECRETS = ("", "webhook-cert", "true", "123", "a b", "a\nb", "A", None)
MAPS = (
    {},
    None,
    {"team": "net"},
    {"a": "x\ny: z"},
    {"app.kubernetes.io/name": "mine"},
    {"helm.sh/chart": "x"},
    {"control-plane": "x"},
    {"checksum/settings": "x"},
    {"kubectl.kubernetes.io/default-container": "x"},
)
PROBES = ({}, None, {"periodSeconds": 3}, {"httpGet": {"path": "/", "port": 1}})
CHANGES = {
    "image.tag": ("", "v2.1.0", "1.2.3", "a b", None),
    "image.repository": ("registry.example/mine:v2.3", "x/azureserviceoperator", None),
    "podLabels": MAPS,
    "podAnnotations": MAPS,
    "deploymentAnnotations": MAPS,
    "metrics.serviceMonitor.labels": MAPS,
    "metrics.prometheusRule.labels": MAPS,
    "metrics.dashboard.labels": MAPS,
    "metrics.serviceMonitor.enable": (True,),
    "metrics.prometheusRule.enable": (True,),
    "metrics.dashboard.enable": (True,),
    "metrics.enable": (True, False, None),
    "metrics.port": PORTS,
    "metrics.address": (":8443", "127.0.0.1:8443", ":8081", "[::1]:8443", *TEXTS),
    "metrics.certSecret": SECRETS,
    "metrics": (None,),
    "webhook.port": PORTS,
    "webhook.enable": (True, False, None),
    "webhook.certSecret": SECRETS,
    "webhook.certManager": (True, False),
    "webhook.certDir": ("/tmp/a", "/tmp/a b", "/tmp/a\nb", "/tmp/{{ x }}", "", None),
    "webhook.drainSeconds": NUMBERS,
    "webhook": (None,),
    "podDisruptionBudget.minAvailable": ("100%", "99%", "50%", "0%", "1", *NUMBERS),
    "podDisruptionBudget": (None,),
    "replicaCount": (0, 1, 2, 3, 1000000, None),
    "terminationGracePeriodSeconds": NUMBERS,
    "revisionHistoryLimit": NUMBERS,
    "verbosity": NUMBERS,
    "probes": (None, {}),
    "probes.startup": PROBES,
    "probes.liveness": PROBES,
    "probes.readiness": PROBES,
    "rateLimit": ({"mode": "bucket"}, {"mode": "bucket", "qps": 1000000}, None),
    "rateLimit.bucketSize": NUMBERS,
    "rateLimit.qps": NUMBERS,
    "maxConcurrentReconciles": NUMBERS,
    "serviceAccount.name": SECRETS,
    "serviceAccount.create": (True, False, None),
    "azureUserAgentSuffix": TEXTS,
    "azureClientID": TEXTS,
    "azureClientSecret": TEXTS,
    "azureTargetNamespaces": ([], ["a"], ["true"], ["a b"], None),
    "azureOperatorMode": ("watchers", "webhooks", "", None),
    "crdPattern": ("*", "", "a\nb", "a;b", '"', None),
    "crdLabels": ("", "a=b", ["a=b", "c=d"], "a\nb", None),
    "crdManagement": ("auto", "none", None),
    "priorityClassName": TEXTS,
    "networkPolicies.kubernetesApiPort": PORTS,
    "networkPolicies.kubernetesApiCIDR": ("10.0.0.0/8", "::/0", "a", "1.1.1.1", None),
    "networkPolicies": (None,),
    "extraEnv": (
        [],
        None,
        [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
        [{"name": "HTTPS_PROXY", "value": "proxy.example"}],
        [{"name": "http_proxy", "value": "socks5://u:p@proxy.example"}],
        [{"name": "HTTPS_PROXY", "valueFrom": {"secretKeyRef": {}}}],
        [{"value": "x"}],
    ),
    "nodeSelector": ({}, None, {"a": "b"}),
    "resources": ({}, None),
    "strategy": ({}, None, {"type": "Recreate"}),
    "topologySpreadConstraints": ([], None),
}


class StrictLoader(yaml.SafeLoader):
    """Refuses a mapping that has a key twice, as a real server does."""


def _mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    assert len(keys) == len(set(keys)), f"twice: {keys}"
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def changed(rng):
    """Return some changes, by their paths; none is inside another one."""
    found = {}
    for path in rng.sample(sorted(CHANGES), rng.choice((1, 1, 2, 3, 5))):
        if not any(f"{path}.".startswith(f"{one}.") for one in found) and not any(
            f"{one}.".startswith(f"{path}.") for one in found
        ):
            found[path] = rng.choice(CHANGES[path])
    return found


def nested(changes):
    made = {}
    for path, value in changes.items():
        *parents, last = path.split(".")
        at = made
        for name in parents:
            at = at.setdefault(name, {})
        at[last] = value
    return made


def rendered(values, folder):
    """Return helm's objects for values, or its refusal."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values, allow_unicode=True))
    done = attempt(
        *command("template", "aso2", CHART, "--namespace", NAMESPACE),
        *("--values", file),
    )
    if done.returncode:
        return [], done.stderr
    return [one for one in yaml.load_all(done.stdout, StrictLoader) if one], ""


def check(found):
    """The objects fit each other: Services lead to ports at which something listens."""
    deployment = next(one for one in found if one["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    given = dict(one.partition("=")[::2] for one in container["args"])
    assert set(given) <= {name for option in manager.params for name in option.opts}
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert len(set(ports.values())) == len(ports)
    listens = {
        "health": given["--health-addr"],
        "metrics": given.get("--metrics-addr", ""),
        "webhooks": f":{given.get('--webhook-port', '')}",
    }
    for name, port in ports.items():
        assert listens[name].endswith(f":{port}")
    for service in (one for one in found if one["kind"] == "Service"):
        selector = service["spec"]["selector"]
        assert selector.items() <= template["metadata"]["labels"].items()
        assert {p["targetPort"] for p in service["spec"]["ports"]} <= set(ports)
    for one in container["env"]:
        assert "value" not in one or isinstance(one["value"], str)
        assert "e+0" not in str(one.get("value"))
    assert all("\n" not in text and "e+0" not in text for text in container["args"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == "health"
    replicas = deployment["spec"]["replicas"]
    for budget in (one for one in found if one["kind"] == "PodDisruptionBudget"):
        least = budget["spec"]["minAvailable"]
        if isinstance(least, str):
            least = -(-int(least.removesuffix("%")) * replicas // 100)
        assert least < replicas


@pytest.mark.timeout(600)
def test_values_are_refused_by_name_or_give_what_works(tmp_path):
    rng = random.Random(SEED)
    refused = 0
    for at in range(SETS):
        changes = changed(rng)
        found, refusal = rendered(nested(changes), tmp_path)
        if refusal:
            refused += 1
            names = {name for path in changes for name in path.split(".")}
            assert any(name in refusal for name in names), f"{changes}: {refusal}"
            assert "nil pointer" not in refusal, f"{changes}: {refusal}"
            continue
        try:
            check(found)
        except Exception as error:
            error.add_note(f"seed {SEED}, set {at}: {changes}")
            raise
    assert SETS / 5 < refused < SETS * 4 / 5


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"podLabels": {"helm.sh/chart": "x"}}, "podLabels: helm.sh/chart is"),
        ({"podAnnotations": {"checksum/settings": "x"}}, "podAnnotations: checksum"),
        ({"webhook.port": 8443}, "8443 is metrics.port, too"),
        ({"metrics.port": 8081}, "8081 is the probes' port, too"),
        ({"metrics.address": ":9"}, "metrics.address: :9 is not at metrics.port, 8443"),
        ({"metrics.certSecret": "a\nb"}, "at '/metrics/certSecret'"),
        ({"podDisruptionBudget.minAvailable": "100%"}, "minAvailable: 100% of"),
        ({"podDisruptionBudget.minAvailable": 2}, "minAvailable: 2 of replicaCount 2"),
        ({"podDisruptionBudget.minAvailable": "51%"}, "lets no pod go"),
        ({"probes": None}, "missing property 'probes'"),
        ({"image.tag": "v2.9.0"}, "Azure Service Operator's own"),
    ],
)
def test_what_cannot_work_is_refused_with_a_sentence(changes, why, tmp_path):
    _, refusal = rendered(nested(changes), tmp_path)
    assert why in refusal


def test_an_image_of_one_s_own_may_be_tagged_as_aso_s_are(tmp_path):
    changes = {"image.repositoryBase": "registry.example/mine", "image.tag": "v2.1.0"}
    found, refusal = rendered(nested(changes), tmp_path)
    assert not refusal
    (it,) = next(o for o in found if o["kind"] == "Deployment")["spec"]["template"][
        "spec"
    ]["containers"]
    assert it["image"] == "registry.example/mine:v2.1.0"


@pytest.mark.parametrize(
    ("name", "value", "port"),
    [
        ("HTTPS_PROXY", "http://proxy.example:3128", 3128),
        ("https_proxy", "http://u:p@proxy.example:8080/", 8080),
        ("HTTP_PROXY", "proxy.example", 80),
        ("ALL_PROXY", "socks5://proxy.example", 1080),
    ],
)
def test_a_proxy_can_be_reached_through_the_network_policy(name, value, port, tmp_path):
    changes = {"extraEnv": [{"name": name, "value": value}]}
    found, _ = rendered(changes, tmp_path)
    policy = next(one for one in found if one["kind"] == "NetworkPolicy")
    ports = [
        one["port"]
        for rule in policy["spec"]["egress"]
        if "to" not in rule
        for one in rule["ports"]
    ]
    assert port in ports
