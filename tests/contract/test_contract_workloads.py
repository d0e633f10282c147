"""The kinds that controllers own: a server's defaults and refusals, and their
subresources.

Both servers behave the same; `hack/kube-kinds` recorded the result of each sample.
"""

import copy
import json
from pathlib import Path

import pytest
from contractclient import STRATEGIC
from learnkinds import AS_TABLE, filled_in, samples, shown

from asoreconcile.testing.kube.kinds import workloads

RECORDED = json.loads((Path(__file__).parent / "workloads.json").read_text())
KINDS = workloads.facts()["kinds"]
EVERY = {f"{one['kind']} {one['metadata']['name']}": one for one in samples()}


def path_of(obj, namespace, *, name="", part=""):
    api = obj["apiVersion"]
    base = f"/apis/{api}" if "/" in api else f"/api/{api}"
    kind = KINDS[f"{api}/{obj['kind']}"]
    space = f"/namespaces/{namespace}" if kind["namespaced"] else ""
    return "/".join(
        one for one in (f"{base}{space}/{kind['plural']}", name, part) if one
    )


def sample(name, **spec):
    obj = copy.deepcopy(EVERY[name])
    obj.setdefault("spec", {}).update(spec)
    return obj


def made(server, namespace, name, **spec):
    obj = sample(name, **spec)
    return server.post(path_of(obj, namespace), obj).expect(201).json


@pytest.mark.parametrize("name", EVERY)
def test_what_is_left_out_is_filled_in(server, namespace, name):
    obj = EVERY[name]
    answer = server.post(path_of(obj, namespace), obj, dryRun="All").expect(201)
    assert filled_in(obj, answer.json) == RECORDED[name]


TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
REFUSED = {
    "selector-of-others": (
        "Deployment small",
        {"selector": {"matchLabels": {"app": "other"}}},
        ("spec.template.metadata.labels", "`selector` does not match"),
    ),
    "no-selector": (
        "ReplicaSet small",
        {"selector": None},
        ("spec.selector", "Required value"),
    ),
    "empty-selector": (
        "StatefulSet small",
        {"selector": {}},
        ("spec.selector", "empty selector is invalid for statefulset"),
    ),
    "operator": (
        "DaemonSet small",
        {"selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}},
        ("spec.selector.matchExpressions[0].operator", "not a valid selector operator"),
    ),
    "no-containers": (
        "Pod small",
        {"containers": []},
        ("spec.containers", "Required value"),
    ),
    "two-containers-of-a-name": (
        "Pod small",
        {"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "y"}]},
        ("spec.containers[1].name", 'Duplicate value: "a"'),
    ),
    "name-of-a-container": (
        "Pod small",
        {"containers": [{"name": "A_b", "image": "x"}]},
        ("spec.containers[0].name", "a lowercase RFC 1123 label"),
    ),
    "no-volume": (
        "Pod small",
        {
            "containers": [
                {
                    "name": "a",
                    "image": "x",
                    "volumeMounts": [{"name": "none", "mountPath": "/x"}],
                }
            ]
        },
        ("spec.containers[0].volumeMounts[0].name", 'Not found: "none"'),
    ),
    "replicas": (
        "Deployment small",
        {"replicas": -1},
        ("spec.replicas", "must be greater than or equal to 0"),
    ),
    "strategy": (
        "Deployment small",
        {"strategy": {"type": "Slowly"}},
        ("spec.strategy", 'supported values: "Recreate", "RollingUpdate"'),
    ),
    "recreate-rolling": (
        "Deployment small",
        {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        ("spec.strategy.rollingUpdate", "may not be specified when strategy `type`"),
    ),
    "job-always": (
        "Job small",
        {"template": TEMPLATE},
        ("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'),
    ),
    "schedule-fields": (
        "CronJob small",
        {"schedule": "* * *"},
        ("spec.schedule", "expected exactly 5 fields, found 3: [* * *]"),
    ),
    "schedule-range": (
        "CronJob small",
        {"schedule": "61 * * * *"},
        ("spec.schedule", "end of range (61) above maximum (59): 61"),
    ),
    "no-ports": ("Service small", {"ports": None}, ("spec.ports", "Required value")),
    "port-names": (
        "Service small",
        {"ports": [{"port": 80}, {"port": 81}]},
        ("spec.ports[1].name", "Required value"),
    ),
    "port-number": (
        "Service small",
        {"ports": [{"port": 70000}]},
        ("spec.ports[0].port", "must be between 1 and 65535, inclusive"),
    ),
    "protocol": (
        "Service small",
        {"ports": [{"port": 80, "protocol": "ICMP"}]},
        ("spec.ports[0].protocol", 'supported values: "SCTP", "TCP", "UDP"'),
    ),
    "claim-size": (
        "PersistentVolumeClaim small",
        {"resources": {}},
        ("spec.resources[storage]", "Required value"),
    ),
    "ingress-empty": (
        "Ingress small",
        {"defaultBackend": None},
        ("spec", "either `defaultBackend` or `rules` must be specified"),
    ),
    "path-type": (
        "Ingress large",
        {
            "rules": [
                {
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "backend": {
                                    "service": {"name": "a", "port": {"number": 1}}
                                },
                            }
                        ]
                    }
                }
            ]
        },
        ("spec.rules[0].http.paths[0].pathType", "pathType must be specified"),
    ),
    "budget-both": (
        "PodDisruptionBudget small",
        {"maxUnavailable": 1},
        ("spec", "minAvailable and maxUnavailable cannot be both set"),
    ),
}


@pytest.mark.parametrize(("name", "spec", "cause"), REFUSED.values(), ids=[*REFUSED])
def test_what_is_not_valid_is_refused_with_its_field(
    server, namespace, name, spec, cause
):
    obj = sample(name, **spec)
    answer = server.post(path_of(obj, namespace), obj)
    answer.refused(422, "Invalid")
    field, words = cause
    found = [one["message"] for one in answer.causes if one["field"] == field]
    assert any(words in message for message in found), answer.causes


CHANGED = {
    "selector": (
        "Deployment small",
        {
            "selector": {"matchLabels": {"app": "b"}},
            "template": {"metadata": {"labels": {"app": "b"}}},
        },
        ("spec.selector", "field is immutable"),
    ),
    "stateful-set": (
        "StatefulSet small",
        {"serviceName": "other"},
        ("spec", "updates to statefulset spec for fields other than"),
    ),
    "pod": (
        "Pod small",
        {"restartPolicy": "Never"},
        ("spec", "pod updates may not change fields other than"),
    ),
    "job": (
        "Job small",
        {"completions": 5},
        ("spec.completions", "field is immutable"),
    ),
    "claim": (
        "PersistentVolumeClaim small",
        {"accessModes": ["ReadOnlyMany"]},
        ("spec", "spec is immutable after creation except"),
    ),
    "address": (
        "Service small",
        {"clusterIP": "10.0.0.99", "clusterIPs": ["10.0.0.99"]},
        ("spec.clusterIPs[0]", "may not change once set"),
    ),
}


@pytest.mark.parametrize(("name", "spec", "cause"), CHANGED.values(), ids=[*CHANGED])
def test_what_may_not_change_is_kept(server, namespace, name, spec, cause):
    obj = made(server, namespace, name)
    path = path_of(obj, namespace, name=obj["metadata"]["name"])
    answer = server.patch(path, {"spec": spec})
    answer.refused(422, "Invalid")
    field, words = cause
    found = [one["message"] for one in answer.causes if one["field"] == field]
    assert any(words in message for message in found), answer.causes


def test_what_may_change_does(server, namespace):
    pod = made(server, namespace, "Pod small")
    path = path_of(pod, namespace, name="small")
    image = {"spec": {"containers": [{"name": "main", "image": "example.com/new"}]}}
    changed = server.patch(path, image, STRATEGIC).expect(200).json
    (container,) = changed["spec"]["containers"]
    assert container["image"] == "example.com/new"
    assert container["terminationMessagePath"] == "/dev/termination-log"
    assert changed["metadata"]["generation"] == 2


def test_lists_are_merged_by_their_keys(server, namespace):
    deployment = made(server, namespace, "Deployment small")
    path = path_of(deployment, namespace, name="small")
    beside = {"name": "beside", "image": "example.com/beside:1"}
    template = {"spec": {"template": {"spec": {"containers": [beside]}}}}
    changed = server.patch(path, template, STRATEGIC).expect(200).json
    containers = changed["spec"]["template"]["spec"]["containers"]
    assert sorted(one["name"] for one in containers) == ["beside", "main"]
    gone = {"name": "main", "$patch": "delete"}
    template = {"spec": {"template": {"spec": {"containers": [gone]}}}}
    changed = server.patch(path, template, STRATEGIC).expect(200).json
    containers = changed["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["beside"]


def test_each_manager_owns_its_container(server, namespace):
    obj = sample("Deployment small")
    path = path_of(obj, namespace, name="small")
    server.apply(path, obj, "first").expect(201)
    beside = {"containers": [{"name": "beside", "image": "example.com/beside"}]}
    second = {
        **{name: obj[name] for name in ("apiVersion", "kind")},
        "metadata": {"name": "small"},
        "spec": {"template": {"spec": beside}},
    }
    changed = server.apply(path, second, "second").expect(200).json
    containers = changed["spec"]["template"]["spec"]["containers"]
    assert sorted(one["name"] for one in containers) == ["beside", "main"]
    answer = server.apply(path, {**second, "spec": {"replicas": 5}}, "third").expect(
        200
    )
    assert answer.json["spec"]["replicas"] == 5
    replicas = {"spec": {"replicas": 1}}
    server.apply(path, {**second, **replicas}, "second").refused(409, "Conflict")
    left = {**second, "spec": {}}
    changed = server.apply(path, {**left, "spec": {"minReadySeconds": 1}}, "second")
    containers = changed.expect(200).json["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["main"]


def test_a_scale_is_read_and_written(server, namespace):
    obj = made(server, namespace, "Deployment large")
    path = path_of(obj, namespace, name="large", part="scale")
    scale = server.get(path).expect(200).json
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 0, "selector": "app in (web),!tier"}
    server.patch(path, {"spec": {"replicas": 7}}).expect(200)
    changed = server.get(path_of(obj, namespace, name="large")).json
    assert changed["spec"]["replicas"] == 7
    assert changed["metadata"]["generation"] == 2


def test_a_status_is_written_alone(server, namespace):
    obj = made(server, namespace, "StatefulSet small")
    path = path_of(obj, namespace, name="small", part="status")
    both = {"spec": {"replicas": 4}, "status": {"readyReplicas": 1, "replicas": 1}}
    changed = server.patch(path, both).expect(200).json
    assert changed["spec"]["replicas"] == 1
    assert changed["status"]["readyReplicas"] == 1
    assert changed["metadata"]["generation"] == 1


def test_two_services_have_two_addresses(server, namespace):
    first = made(server, namespace, "Service small")
    second = made(server, namespace, "Service balanced")
    addresses = {one["spec"]["clusterIP"] for one in (first, second)}
    assert len(addresses) == 2
    assert 30000 <= second["spec"]["ports"][0]["nodePort"] <= 32767


def binding(name):
    target = {"kind": "Node", "name": "somewhere"}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": target,
    }


def bound(server, path, name):
    """Bind a Pod to a node; the Pod, once the server's watch cache has it so.

    A kube-apiserver's DELETE begins from that cache: a Pod that is not bound there gets
    no grace.
    """
    server.post(f"{path}/binding", binding(name)).expect(201)
    return server.get(path, resourceVersion=server.get(path).rv).expect(200).json


def test_a_pod_is_bound_once_and_ends_with_grace(server, namespace):
    pod = made(server, namespace, "Pod small")
    path = path_of(pod, namespace, name="small")
    found = bound(server, path, "small")
    assert found["spec"]["nodeName"] == "somewhere"
    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    again = server.post(f"{path}/binding", binding("small"))
    again.refused(409, "Conflict")
    assert "already assigned" in again.json["message"]
    going = server.delete(path).expect(200).json
    assert going["metadata"]["deletionGracePeriodSeconds"] == 30
    # A status is still written, and does not end it.
    server.patch(f"{path}/status", {"status": {"phase": "Running"}}).expect(200)
    server.get(path).expect(200)
    server.delete(path, {"gracePeriodSeconds": 0}).expect(200)
    server.get(path).expect(404)


def test_an_unbound_pod_goes_at_once(server, namespace):
    pod = made(server, namespace, "Pod small")
    path = path_of(pod, namespace, name="small")
    server.delete(path).expect(200)
    server.get(path).expect(404)


def test_an_eviction_takes_what_its_budget_allows(server, namespace):
    pod = made(server, namespace, "Pod large")
    path = path_of(pod, namespace, name="large")
    bound(server, path, "large")
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    server.patch(f"{path}/status", {"status": ready}).expect(200)
    budget = made(server, namespace, "PodDisruptionBudget small")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "large", "namespace": namespace},
    }
    refused = server.post(f"{path}/eviction", eviction)
    refused.refused(429, "TooManyRequests")
    assert refused.causes[0]["reason"] == "DisruptionBudget"
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
    }
    at = path_of(budget, namespace, name="small", part="status")
    server.patch(at, {"status": status}).expect(200)
    server.post(f"{path}/eviction", eviction).expect(201)
    going = server.get(path).json
    assert going["metadata"]["deletionTimestamp"]
    types = {one["type"] for one in going["status"]["conditions"]}
    assert "DisruptionTarget" in types
    left = server.get(path_of(budget, namespace, name="small")).json["status"]
    assert left["disruptionsAllowed"] == 0
    assert list(left["disruptedPods"]) == ["large"]
    server.delete(path, {"gracePeriodSeconds": 0}).expect(200)


def test_who_is_not_ready_may_go_where_enough_are(server, namespace):
    pod = made(server, namespace, "Pod large")
    path = path_of(pod, namespace, name="large")
    server.patch(f"{path}/status", {"status": {"phase": "Running"}}).expect(200)
    budget = made(server, namespace, "PodDisruptionBudget small")
    healthy = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1}
    at = path_of(budget, namespace, name="small", part="status")
    server.patch(at, {"status": {**healthy, "disruptionsAllowed": 0}}).expect(200)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "large", "namespace": namespace},
    }
    server.post(f"{path}/eviction", eviction).expect(201)
    server.get(path).expect(404)


def test_an_empty_value_says_nothing_where_go_leaves_it_out(server, namespace):
    spec = {"nodeName": "", "hostNetwork": False, "tolerations": [], "nodeSelector": {}}
    obj = sample("Pod small", **spec)
    held = server.post(path_of(obj, namespace), obj).expect(201).json["spec"]
    assert not {"nodeName", "nodeSelector"} & held.keys()


def test_an_unknown_field_is_warned_of_and_dropped(server, namespace):
    obj = sample("Deployment small", replica=3)
    answer = server.post(path_of(obj, namespace), obj).expect(201)
    assert 'unknown field \\"spec.replica\\"' in answer.headers["warning"]
    assert "replica" not in answer.json["spec"]
    strict = server.post(path_of(obj, namespace), obj, fieldValidation="Strict")
    strict.refused(400, "BadRequest")


def test_a_quantity_that_is_none_cannot_be_read(server, namespace):
    limits = {"resources": {"limits": {"cpu": "much"}}}
    spec = {"containers": [{"name": "a", "image": "x", **limits}]}
    obj = sample("Pod small", **spec)
    answer = server.post(path_of(obj, namespace), obj)
    answer.refused(400, "BadRequest")
    assert "quantities must match the regular expression" in answer.json["message"]


def test_a_wrong_type_cannot_be_read(server, namespace):
    obj = sample("Deployment small", replicas="three")
    answer = server.post(path_of(obj, namespace), obj)
    answer.refused(400, "BadRequest")
    assert "cannot unmarshal string into Go struct field" in answer.json["message"]


@pytest.mark.parametrize("name", [n for n in EVERY if f"{n} shown" in RECORDED])
def test_kubectl_shows_what_a_person_wants_to_know(server, namespace, name):
    obj = EVERY[name]
    path = path_of(obj, namespace)
    answer = server.call("POST", path, obj, headers=AS_TABLE, dryRun="All").expect(201)
    assert shown(answer.json) == RECORDED[f"{name} shown"]
