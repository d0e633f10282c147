"""Plays the controllers that a test's API server lacks: one call sets an outcome.

    make_ready(kube_client, deployment)
    make_ready(kube_client, job)         # it completed
    run_pod(kube_client, pod)
    fail_job(kube_client, job, message="no such file")

For any API server, through a `KubeClient`. Pass objects as read from the server. Each
function writes the status that the cluster's own controller would write, and returns
the updated object. Blocking; raises what the client raises.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from asoreconcile.base.objects import JsonObject, gvk_of, key_of, metadata, spec
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    INGRESSES,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
    ApiResource,
)

# This address is reserved for documentation: there is no such host.
_ADDRESS = "192.0.2.1"
_KINDS = {
    one.group_kind: one
    for one in (
        *(DAEMON_SETS, DEPLOYMENTS, INGRESSES, JOBS, NODES, PERSISTENT_VOLUME_CLAIMS),
        *(POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS),
    )
}


def make_ready(client: KubeClient, obj: JsonObject) -> JsonObject:
    """Make an object ready: replicas run, a Job is complete, a claim is bound.

    Deployments, ReplicaSets, StatefulSets, DaemonSets, Pods, Jobs, claims, Services and
    Ingresses (an address), Nodes, PodDisruptionBudgets (one may go). Raises ValueError
    for other kinds.
    """
    resource = _resource_of(obj)
    if resource == PODS:
        return run_pod(client, obj)
    if resource == JOBS:
        return complete_job(client, obj)
    if resource == PERSISTENT_VOLUME_CLAIMS:
        return bind_claim(client, obj)
    return _write(client, obj, _READY[resource.kind])


def run_pod(
    client: KubeClient, pod: JsonObject, *, node: str = "node", ip: str = _ADDRESS
) -> JsonObject:
    """Schedule a Pod to a node, with all its containers running and ready."""
    if not spec(pod).get("nodeName"):
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key_of(pod).name, "namespace": key_of(pod).namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        client.create(PODS, binding, subresource="binding")

    def running(obj: JsonObject) -> JsonObject:
        now = _now()
        return {
            "phase": "Running",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "startTime": now,
            "conditions": [
                _condition(sort)
                for sort in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                _container(one, {"running": {"startedAt": now}}, ready=True)
                for one in spec(obj)["containers"]
            ],
        }

    return _write(client, pod, running)


def finish_pod(
    client: KubeClient, pod: JsonObject, *, exit_code: int = 0
) -> JsonObject:
    """End all containers of a Pod: Succeeded, or Failed with an exit code."""

    def finished(obj: JsonObject) -> JsonObject:
        ended = {
            "terminated": {
                "exitCode": exit_code,
                "reason": "Error" if exit_code else "Completed",
                "finishedAt": _now(),
            }
        }
        return {
            "phase": "Failed" if exit_code else "Succeeded",
            "conditions": [
                _condition("Ready", status="False", reason="PodCompleted"),
                _condition("ContainersReady", status="False", reason="PodCompleted"),
            ],
            "containerStatuses": [
                _container(one, ended, ready=False) for one in spec(obj)["containers"]
            ],
        }

    return _write(client, pod, finished)


def end_pod(client: KubeClient, pod: JsonObject) -> None:
    """End a Pod that is being deleted, as its node would: it is removed at once."""
    client.delete(PODS, key_of(pod), grace_seconds=0)


def complete_job(client: KubeClient, job: JsonObject) -> JsonObject:
    """Set a Job to Complete, with all its completions done."""

    def completed(obj: JsonObject) -> JsonObject:
        now = _now()
        return {
            "startTime": (obj.get("status") or {}).get("startTime") or now,
            "completionTime": now,
            "succeeded": spec(obj).get("completions", 1),
            "active": 0,
            "ready": 0,
            "terminating": 0,
            "uncountedTerminatedPods": {},
            "conditions": [
                _condition("SuccessCriteriaMet", reason="CompletionsReached"),
                _condition("Complete", reason="CompletionsReached"),
            ],
        }

    return _write(client, job, completed)


def fail_job(
    client: KubeClient,
    job: JsonObject,
    *,
    reason: str = "BackoffLimitExceeded",
    message: str = "Job has reached the specified backoff limit",
) -> JsonObject:
    """Set a Job to Failed, for good."""

    def failed(obj: JsonObject) -> JsonObject:
        return {
            "startTime": (obj.get("status") or {}).get("startTime") or _now(),
            "failed": spec(obj).get("backoffLimit", 6) + 1,
            "active": 0,
            "ready": 0,
            "terminating": 0,
            "uncountedTerminatedPods": {},
            "conditions": [
                _condition("FailureTarget", reason=reason, message=message),
                _condition("Failed", reason=reason, message=message),
            ],
        }

    return _write(client, job, failed)


def bind_claim(
    client: KubeClient, claim: JsonObject, *, volume: str = ""
) -> JsonObject:
    """Bind a claim to a volume of the requested size. volume: "" makes up a name."""
    name = spec(claim).get("volumeName") or volume or f"pv-{key_of(claim).name}"
    if not spec(claim).get("volumeName"):
        client.patch(
            PERSISTENT_VOLUME_CLAIMS, key_of(claim), {"spec": {"volumeName": name}}
        )

    def bound(obj: JsonObject) -> JsonObject:
        asked = (spec(obj).get("resources") or {}).get("requests") or {}
        return {
            "phase": "Bound",
            "accessModes": spec(obj).get("accessModes"),
            "capacity": asked,
        }

    return _write(client, claim, bound)


def _deployment(obj: JsonObject) -> JsonObject:
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return {
        **dict.fromkeys(counts, _replicas(obj)),
        "observedGeneration": _generation(obj),
        "conditions": [
            _condition("Available", reason="MinimumReplicasAvailable"),
            _condition("Progressing", reason="NewReplicaSetAvailable"),
        ],
    }


def _replica_set(obj: JsonObject) -> JsonObject:
    counts = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    return {
        **dict.fromkeys(counts, _replicas(obj)),
        "observedGeneration": _generation(obj),
    }


def _stateful_set(obj: JsonObject) -> JsonObject:
    revision = f"{key_of(obj).name}-{_generation(obj)}"
    counts = (
        *("replicas", "readyReplicas", "currentReplicas"),
        *("updatedReplicas", "availableReplicas"),
    )
    return {
        **dict.fromkeys(counts, _replicas(obj)),
        "observedGeneration": _generation(obj),
        "currentRevision": revision,
        "updateRevision": revision,
    }


def _daemon_set(obj: JsonObject) -> JsonObject:
    counts = (
        *("desiredNumberScheduled", "currentNumberScheduled", "numberReady"),
        *("updatedNumberScheduled", "numberAvailable"),
    )
    return {
        **dict.fromkeys(counts, 1),
        "numberMisscheduled": 0,
        "observedGeneration": _generation(obj),
    }


def _balanced(_obj: JsonObject) -> JsonObject:
    return {"loadBalancer": {"ingress": [{"ip": _ADDRESS}]}}


def _node(_obj: JsonObject) -> JsonObject:
    return {"conditions": [_condition("Ready", reason="KubeletReady")]}


def _budget(obj: JsonObject) -> JsonObject:
    return {
        "observedGeneration": _generation(obj),
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
    }


_READY: Mapping[str, Callable[[JsonObject], JsonObject]] = {
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "Ingress": _balanced,
    "Node": _node,
    "PodDisruptionBudget": _budget,
    "ReplicaSet": _replica_set,
    "Service": _balanced,
    "StatefulSet": _stateful_set,
}


def _write(
    client: KubeClient, obj: JsonObject, status: Callable[[JsonObject], JsonObject]
) -> JsonObject:
    """Write the status of the object's current state on the server."""
    resource = _resource_of(obj)
    # The object is read again because its generation counts, and so do changes by the
    # test.
    present = client.get(resource, key_of(obj))
    return client.patch(
        resource, key_of(obj), {"status": status(present)}, subresource="status"
    )


def _resource_of(obj: JsonObject) -> ApiResource:
    found = _KINDS.get(gvk_of(obj).group_kind)
    if found is None:
        known = ", ".join(sorted(kind.kind for kind in _KINDS))
        raise ValueError(f"nobody plays {gvk_of(obj).group_kind} here, but {known}")
    return found


def _replicas(obj: JsonObject) -> int:
    return int(spec(obj).get("replicas", 1))


def _generation(obj: JsonObject) -> int:
    return int(metadata(obj).get("generation", 1))


def _container(one: JsonObject, state: JsonObject, *, ready: bool) -> JsonObject:
    return {
        "name": one["name"],
        "image": one.get("image", ""),
        "imageID": one.get("image", ""),
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }


def _condition(
    sort: str, *, status: str = "True", reason: str = "", message: str = ""
) -> JsonObject:
    found = {"type": sort, "status": status, "lastTransitionTime": _now()}
    said = {"reason": reason, "message": message}
    return {**found, **{name: text for name, text in said.items() if text}}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
