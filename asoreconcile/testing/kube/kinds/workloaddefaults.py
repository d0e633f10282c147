"""The defaults that depend on other fields, or only on the kind.

Other defaults are in workloads.json. The functions change their argument.
"""

import ipaddress
import re
from collections.abc import Iterator
from typing import Any

from asoreconcile.base.objects import JsonObject, copy_json, metadata, spec
from asoreconcile.testing.kube.kinds.workloads import fields_of

_TEMPLATES = {
    "Deployment": ("template",),
    "ReplicaSet": ("template",),
    "StatefulSet": ("template",),
    "DaemonSet": ("template",),
    "Job": ("template",),
    "CronJob": ("jobTemplate", "spec", "template"),
}
_NOT_READY = "node.kubernetes.io/not-ready"
_EVICTED_BY = (_NOT_READY, "node.kubernetes.io/unreachable")
_EVICTED_AFTER_SECONDS = 300
_CLIENT_IP_SECONDS = 10800
_IMAGE = re.compile(r"[\w.:/-]+")
_JOB: JsonObject = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "manualSelector": False,
    "podReplacementPolicy": "TerminatingOrFailed",
    "suspend": False,
}
_ROLLING: dict[str, JsonObject] = {
    "Deployment": {"maxUnavailable": "25%", "maxSurge": "25%"},
    "DaemonSet": {"maxUnavailable": 1, "maxSurge": 0},
    "StatefulSet": {"partition": 0},
}
_SERVICE_RANGE = ipaddress.ip_network("10.96.0.0/12")
_NODE_PORTS = range(30000, 32768)


def pod_specs(obj: JsonObject) -> Iterator[JsonObject]:
    """Yield the specs of Pods in an object: its own, or its template's."""
    kind = str(obj.get("kind"))
    if kind == "Pod":
        yield spec(obj)
        return
    template = template_of(obj)
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        yield template["spec"]


def template_of(obj: JsonObject) -> JsonObject | None:
    """Return the template of Pods in an object, or None."""
    found: Any = spec(obj)
    for step in _TEMPLATES.get(str(obj.get("kind")), ("none",)):
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def fill_in(obj: JsonObject) -> None:
    """Fill in the defaults that depend on other fields, at any write."""
    kind = str(obj.get("kind"))
    for held in pod_specs(obj):
        _fill_pod(held)
    template = template_of(obj)
    if template is not None and kind in ("Job", "CronJob"):
        template.setdefault("metadata", {})
    strategy = spec(obj).get("strategy" if kind == "Deployment" else "updateStrategy")
    if kind in _ROLLING and isinstance(strategy, dict):
        sort = strategy.setdefault("type", "RollingUpdate")
        if sort == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            for name, value in _ROLLING[kind].items():
                rolling.setdefault(name, value)
    match kind:
        case "Pod":
            held = spec(obj)
            held.setdefault("enableServiceLinks", True)
        case "Job":
            _fill_job(spec(obj))
        case "Service":
            _fill_service(spec(obj))
        case "StatefulSet":
            for claim in spec(obj).get("volumeClaimTemplates") or ():
                claim.setdefault("apiVersion", "v1")
                claim.setdefault("kind", "PersistentVolumeClaim")
                claim.setdefault("status", {"phase": "Pending"})
        case "DaemonSet":
            noted = metadata(obj).setdefault("annotations", {})
            noted.setdefault("deprecated.daemonset.template.generation", "1")
        case "Node" if held := spec(obj):
            if one := held.get("podCIDR"):
                held.setdefault("podCIDRs", [one])


def fill_in_new(obj: JsonObject) -> None:
    """Fill in the fields that a new object gets once. It already has its
    uid and name.
    """
    kind, held = str(obj.get("kind")), obj.setdefault("spec", {})
    match kind:
        case "Pod":
            held.setdefault("preemptionPolicy", "PreemptLowerPriority")
            held.setdefault("priority", 0)
            _tolerate(held)
            obj["status"] = {"phase": "Pending", "qosClass": qos_class(held)}
        case "PersistentVolume":
            obj["status"]["lastPhaseTransitionTime"] = metadata(obj)[
                "creationTimestamp"
            ]
        case "Job" if not held.get("manualSelector"):
            _label_job(obj)
        case "Node":
            taint = {"key": _NOT_READY, "effect": "NoSchedule"}
            held.setdefault("taints", []).append(taint)
    if not held:
        del obj["spec"]


def _fill_pod(held: JsonObject) -> None:
    for name in ("initContainers", "containers"):
        for container in held.get(name) or ():
            image = str(container.get("image") or "")
            container.setdefault("imagePullPolicy", _pull_policy(image))
            _fill_requests(container.get("resources") or {})
    if account := held.get("serviceAccountName"):
        held["serviceAccount"] = account
    elif account := held.get("serviceAccount"):
        held["serviceAccountName"] = account
    sources = fields_of("Volume").keys() - {"name"}
    for volume in held.get("volumes") or ():
        if not sources & volume.keys():
            volume["emptyDir"] = {}


def _pull_policy(image: str) -> str:
    last = image.rpartition("/")[2]
    if "@" in image or not _IMAGE.fullmatch(image):
        return "IfNotPresent"
    tag = last.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _fill_requests(resources: JsonObject) -> None:
    """Set missing requests to the limits."""
    limits = resources.get("limits") or {}
    asked = resources.get("requests") or {}
    if missing := {name: one for name, one in limits.items() if name not in asked}:
        resources["requests"] = {**asked, **missing}


def _fill_job(held: JsonObject) -> None:
    for name, value in _JOB.items():
        held.setdefault(name, value)
    if "completions" not in held and "parallelism" not in held:
        held["completions"] = held["parallelism"] = 1
    else:
        held.setdefault("parallelism", 1)


def _fill_service(held: JsonObject) -> None:
    sort = held.get("type")
    for port in held.get("ports") or ():
        if "targetPort" not in port and "port" in port:
            port["targetPort"] = port["port"]
    if held.get("sessionAffinity") == "ClientIP":
        client = held.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", _CLIENT_IP_SECONDS)
    if sort == "ExternalName":
        return
    held.setdefault("internalTrafficPolicy", "Cluster")
    if sort in ("NodePort", "LoadBalancer"):
        held.setdefault("externalTrafficPolicy", "Cluster")
    if sort == "LoadBalancer":
        held.setdefault("allocateLoadBalancerNodePorts", True)


def allocate(service: JsonObject, others: list[JsonObject]) -> None:
    """Give a Service the first free address and ports."""
    held = spec(service)
    if held.get("type") == "ExternalName":
        return
    if not held.get("clusterIP"):
        taken = {spec(one).get("clusterIP") for one in others}
        hosts = (str(host) for host in _SERVICE_RANGE.hosts())
        held["clusterIP"] = next(host for host in hosts if host not in taken)
    held.setdefault("clusterIPs", [held["clusterIP"]])
    held.setdefault("ipFamilies", ["IPv4"])
    held.setdefault("ipFamilyPolicy", "SingleStack")
    if held.get("type") in ("NodePort", "LoadBalancer"):
        ports = [port for one in others for port in spec(one).get("ports") or ()]
        used = {port.get("nodePort") for port in [*ports, *(held.get("ports") or ())]}
        free = (port for port in _NODE_PORTS if port not in used)
        for port in held.get("ports") or ():
            if "nodePort" not in port:
                port["nodePort"] = next(free)


def _tolerate(held: JsonObject) -> None:
    present = held.get("tolerations") or []
    keys = {one.get("key") for one in present}
    added = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _EVICTED_AFTER_SECONDS,
        }
        for key in _EVICTED_BY
        if key not in keys
    ]
    held["tolerations"] = [*present, *added]


def _label_job(obj: JsonObject) -> None:
    meta, held = metadata(obj), spec(obj)
    uid, name = str(meta.get("uid")), str(meta.get("name"))
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = held.setdefault("template", {}).setdefault("metadata", {})
    template["labels"] = {**(template.get("labels") or {}), **labels}
    if not meta.get("labels"):
        meta["labels"] = copy_json(template["labels"])
    own = {"batch.kubernetes.io/controller-uid": uid}
    held["selector"] = {"matchLabels": own}


def qos_class(held: JsonObject) -> str:
    """Return a Pod's quality-of-service class, from its requests and limits."""
    parts = [
        container.get("resources") or {}
        for name in ("initContainers", "containers")
        for container in held.get(name) or ()
    ]
    if not any(part.get("requests") or part.get("limits") for part in parts):
        return "BestEffort"
    whole = all(
        (part.get("limits") or {}).keys() >= {"cpu", "memory"}
        and (part.get("requests") or {}) == part["limits"]
        for part in parts
    )
    return "Guaranteed" if whole else "Burstable"
