"""The columns that kubectl shows of the kinds that controllers own. Pure."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from asoreconcile.base.objects import JsonObject, dig, metadata, spec
from asoreconcile.testing.kube.kinds.workloaddefaults import pod_specs
from asoreconcile.testing.kube.kinds.workloadrules import selector_text
from asoreconcile.testing.kube.reading.ages import age
from asoreconcile.testing.kube.reading.columns import AGE, Column, Show

_NONE = "<none>"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _at(path: str, default: Any = _NONE) -> Show:
    def show(obj: JsonObject, _: datetime) -> Any:
        found = dig(obj, path)
        return default if found in (None, "") else found

    return show


def _count(path: str) -> Show:
    return _at(path, 0)


def _of(path: str, wanted: str = "spec.replicas") -> Show:
    """Return a function that shows `ready/desired`."""
    return lambda obj, _: f"{dig(obj, path) or 0}/{dig(obj, wanted) or 0}"


def _containers(field: str) -> Show:
    def show(obj: JsonObject, _: datetime) -> str:
        listed = [
            one for held in pod_specs(obj) for one in held.get("containers") or ()
        ]
        return ",".join(str(one.get(field) or "") for one in listed)

    return show


def _selector(path: str) -> Show:
    return lambda obj, _: selector_text(dig(obj, path) or {}) or _NONE


def _labels(obj: JsonObject, _: datetime) -> str:
    found = spec(obj).get("selector") or {}
    return ",".join(f"{name}={value}" for name, value in found.items()) or _NONE


def _pod_ready(obj: JsonObject, _: datetime) -> str:
    states = dig(obj, "status.containerStatuses") or ()
    ready = sum(bool(one.get("ready")) for one in states)
    return f"{ready}/{len(spec(obj).get('containers') or ())}"


def _pod_status(obj: JsonObject, _: datetime) -> str:
    if metadata(obj).get("deletionTimestamp"):
        return "Terminating"
    for one in reversed(dig(obj, "status.containerStatuses") or ()):
        for state in ("waiting", "terminated"):
            if reason := dig(one, f"state.{state}.reason"):
                return str(reason)
    return str(dig(obj, "status.reason") or dig(obj, "status.phase") or "")


def _restarts(obj: JsonObject, _: datetime) -> str:
    states = dig(obj, "status.containerStatuses") or ()
    return str(sum(one.get("restartCount") or 0 for one in states))


def _external_ip(obj: JsonObject, _: datetime) -> str:
    held = spec(obj)
    if held.get("type") == "ExternalName":
        return str(held.get("externalName") or "")
    given = dig(obj, "status.loadBalancer.ingress") or ()
    found = [str(one.get("ip") or one.get("hostname") or "") for one in given]
    found += held.get("externalIPs") or []
    waits = held.get("type") == "LoadBalancer" and not found
    return "<pending>" if waits else ",".join(found) or _NONE


def _service_ports(obj: JsonObject, _: datetime) -> str:
    shown = [
        f"{one['port']}:{one['nodePort']}/{one['protocol']}"
        if one.get("nodePort")
        else f"{one['port']}/{one['protocol']}"
        for one in spec(obj).get("ports") or ()
    ]
    return ",".join(shown) or _NONE


def _modes(path: str) -> Show:
    return lambda obj, _: ",".join(_MODES.get(one, one) for one in dig(obj, path) or ())


def _if_bound(show: Show, otherwise: str) -> Show:
    return lambda obj, now: show(obj, now) if spec(obj).get("volumeName") else otherwise


def _capacity(obj: JsonObject, _: datetime) -> str:
    return str(dig(obj, "status.capacity.storage") or "0")


def _job_status(obj: JsonObject, _: datetime) -> str:
    held = {
        one.get("type"): one.get("status") == "True"
        for one in dig(obj, "status.conditions") or ()
    }
    chosen = ("Complete", "Failed", "Suspended", "FailureTarget")
    found = next((sort for sort in chosen if held.get(sort)), "Running")
    if metadata(obj).get("deletionTimestamp"):
        return "Terminating"
    return found


def _duration(obj: JsonObject, now: datetime) -> str:
    began, ended = dig(obj, "status.startTime"), dig(obj, "status.completionTime")
    if not began:
        return ""
    return age(began, datetime.fromisoformat(ended) if ended else now)


def _hosts(obj: JsonObject, _: datetime) -> str:
    hosts = [
        str(one["host"]) for one in spec(obj).get("rules") or () if one.get("host")
    ]
    return ",".join(hosts) or "*"


def _address(obj: JsonObject, _: datetime) -> str:
    given = dig(obj, "status.loadBalancer.ingress") or ()
    return ",".join(str(one.get("ip") or one.get("hostname") or "") for one in given)


def _node_status(obj: JsonObject, _: datetime) -> str:
    ready = [
        one.get("status")
        for one in dig(obj, "status.conditions") or ()
        if one.get("type") == "Ready"
    ]
    shown = "Unknown" if not ready else "Ready" if ready == ["True"] else "NotReady"
    return f"{shown},SchedulingDisabled" if spec(obj).get("unschedulable") else shown


def _roles(obj: JsonObject, _: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = metadata(obj).get("labels") or {}
    found = sorted(n.removeprefix(prefix) for n in labels if n.startswith(prefix))
    return ",".join(found) or _NONE


def _text(show: Show) -> Show:
    return lambda obj, now: str(show(obj, now))


_WIDE = (
    Column("Containers", _containers("name"), is_wide=True),
    Column("Images", _containers("image"), is_wide=True),
)
_SELECTED = (*_WIDE, Column("Selector", _selector("spec.selector"), is_wide=True))


def _number(name: str, path: str) -> Column:
    return Column(name, _count(path), "integer")


def _last_schedule(obj: JsonObject, now: datetime) -> str:
    last = dig(obj, "status.lastScheduleTime")
    return age(last, now) if last else _NONE


def _size(path: str) -> Callable[[JsonObject, datetime], int]:
    return lambda obj, _: len(dig(obj, path) or ())


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Pod": (
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", _restarts),
        AGE,
        Column("IP", _at("status.podIP"), is_wide=True),
        Column("Node", _at("spec.nodeName"), is_wide=True),
        Column("Nominated Node", _at("status.nominatedNodeName"), is_wide=True),
        Column("Readiness Gates", _at("spec.readinessGates"), is_wide=True),
    ),
    "Service": (
        Column("Type", _at("spec.type")),
        Column("Cluster-IP", _at("spec.clusterIP")),
        Column("External-IP", _external_ip),
        Column("Port(s)", _service_ports),
        AGE,
        Column("Selector", _labels, is_wide=True),
    ),
    "PersistentVolumeClaim": (
        Column("Status", _at("status.phase", "")),
        Column("Volume", _at("spec.volumeName", "")),
        Column("Capacity", _if_bound(_capacity, "")),
        Column("Access Modes", _if_bound(_modes("status.accessModes"), "")),
        Column("StorageClass", _at("spec.storageClassName", "")),
        Column(
            "VolumeAttributesClass", _at("spec.volumeAttributesClassName", "<unset>")
        ),
        AGE,
        Column("VolumeMode", _at("spec.volumeMode"), is_wide=True),
    ),
    "Deployment": (
        Column("Ready", _of("status.readyReplicas")),
        Column("Up-to-date", _count("status.updatedReplicas")),
        Column("Available", _count("status.availableReplicas")),
        AGE,
        *_SELECTED,
    ),
    "ReplicaSet": (
        _number("Desired", "spec.replicas"),
        _number("Current", "status.replicas"),
        _number("Ready", "status.readyReplicas"),
        AGE,
        *_SELECTED,
    ),
    "StatefulSet": (Column("Ready", _of("status.readyReplicas")), AGE, *_WIDE),
    "DaemonSet": (
        _number("Desired", "status.desiredNumberScheduled"),
        _number("Current", "status.currentNumberScheduled"),
        _number("Ready", "status.numberReady"),
        _number("Up-to-date", "status.updatedNumberScheduled"),
        _number("Available", "status.numberAvailable"),
        Column("Node Selector", _at("spec.template.spec.nodeSelector")),
        AGE,
        *_SELECTED,
    ),
    "Job": (
        Column("Status", _job_status),
        Column("Completions", _of("status.succeeded", "spec.completions")),
        Column("Duration", _duration),
        AGE,
        *_SELECTED,
    ),
    "CronJob": (
        Column("Schedule", _at("spec.schedule")),
        Column("Timezone", _at("spec.timeZone")),
        Column(
            "Suspend", lambda obj, _: str(bool(dig(obj, "spec.suspend"))), "boolean"
        ),
        Column("Active", _size("status.active"), "integer"),
        Column("Last Schedule", _last_schedule),
        AGE,
        *_WIDE,
        Column("Selector", _selector("spec.jobTemplate.spec.selector"), is_wide=True),
    ),
    "Ingress": (
        Column("Class", _at("spec.ingressClassName")),
        Column("Hosts", _hosts),
        Column("Address", _address),
        Column("Ports", lambda obj, _: "80, 443" if dig(obj, "spec.tls") else "80"),
        AGE,
    ),
    "NetworkPolicy": (Column("Pod-Selector", _selector("spec.podSelector")), AGE),
    "PodDisruptionBudget": (
        Column("Min Available", _text(_at("spec.minAvailable", "N/A"))),
        Column("Max Unavailable", _text(_at("spec.maxUnavailable", "N/A"))),
        _number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    "Node": (
        Column("Status", _node_status),
        Column("Roles", _roles),
        AGE,
        Column("Version", _at("status.nodeInfo.kubeletVersion", "")),
    ),
}
"""The columns by kind, without the name. A Node's wide columns are left out."""
