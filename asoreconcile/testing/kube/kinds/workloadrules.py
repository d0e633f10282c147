"""The rules for several fields of the kinds that controllers own. Pure.

They are about selectors and templates, immutable fields, and fields that exclude each
other, as in a real server.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject, copy_json, dig, spec
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.fields.schema import shown
from asoreconcile.testing.kube.kinds import workloadchecks, workloaddefaults
from asoreconcile.testing.kube.kinds.cronschedules import schedule_problem

_SELECTING = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
_STRATEGIES = {
    "Deployment": ("spec.strategy", ("Recreate", "RollingUpdate")),
    "DaemonSet": ("spec.updateStrategy", ("RollingUpdate", "OnDelete")),
    "StatefulSet": ("spec.updateStrategy", ("RollingUpdate", "OnDelete")),
}
_ALWAYS = "spec.template.spec.restartPolicy"
_STATEFUL_SET_FREE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
_POD_FREE = (
    *("activeDeadlineSeconds", "tolerations", "nodeName"),
    "terminationGracePeriodSeconds",
)
_STATEFUL_SET_SETTLED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
    "'template', 'updateStrategy', 'revisionHistoryLimit', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_CLAIM_SETTLED = (
    "spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims"
)
_POD_SETTLED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)
_SETTLED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "StatefulSet": (_STATEFUL_SET_FREE, _STATEFUL_SET_SETTLED),
    "PersistentVolumeClaim": (("volumeName",), _CLAIM_SETTLED),
    "Pod": (_POD_FREE, _POD_SETTLED),
}


def causes(obj: JsonObject, before: JsonObject | None) -> Iterator[Cause]:
    """Yield all mistakes in an object that has its defaults."""
    kind = str(obj.get("kind"))
    yield from workloadchecks.causes(kind, obj)
    if kind in _SELECTING:
        yield from _selector_causes(kind, obj)
    for at, held in _pod_places(obj):
        yield from _pod_causes(held, at)
    yield from _kind_causes(kind, spec(obj))
    if before is not None:
        yield from _change_causes(kind, spec(before), spec(obj))


def _selector_causes(kind: str, obj: JsonObject) -> Iterator[Cause]:
    held = spec(obj)
    selector = held.get("selector")
    labels = dig(held, "template.metadata.labels") or {}
    if selector == {}:
        why = f"empty selector is invalid for {kind.lower()}"
        yield Cause("spec.selector", "FieldValueInvalid", f"Invalid value: {{}}: {why}")
    elif wrong := list(workloadchecks.selector_causes(selector or {}, "spec.selector")):
        yield from wrong
        yield _invalid("spec.selector", selector, "invalid label selector")
    elif not selector or not selects(selector, labels):
        why = "`selector` does not match template `labels`"
        yield _invalid("spec.template.metadata.labels", labels or None, why)
    policy = dig(held, "template.spec.restartPolicy")
    if policy in ("Never", "OnFailure"):
        why = f'Unsupported value: "{policy}": supported values: "Always"'
        yield Cause(_ALWAYS, "FieldValueNotSupported", why)


def selects(selector: JsonObject, labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector selects these labels."""
    for name, value in (selector.get("matchLabels") or {}).items():
        if labels.get(name) != value:
            return False
    for one in selector.get("matchExpressions") or ():
        key, values = one.get("key"), one.get("values") or ()
        holds = {
            "In": labels.get(key) in values,
            "NotIn": key not in labels or labels[key] not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not holds.get(str(one.get("operator")), False):
            return False
    return True


def selector_text(selector: JsonObject) -> str:
    """Return a LabelSelector in the syntax of lists; "" if it selects everything."""
    parts = [f"{n}={v}" for n, v in (selector.get("matchLabels") or {}).items()]
    forms = {"Exists": "{key}", "DoesNotExist": "!{key}"}
    forms |= {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})"}
    for one in selector.get("matchExpressions") or ():
        values = ",".join(sorted(one.get("values") or ()))
        parts.append(forms[str(one["operator"])].format(key=one["key"], values=values))
    return ",".join(sorted(parts, key=lambda part: part.removeprefix("!")))


def _pod_places(obj: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    paths = {"Pod": "spec", "CronJob": "spec.jobTemplate.spec.template.spec"}
    at = paths.get(str(obj.get("kind")), "spec.template.spec")
    for held in workloaddefaults.pod_specs(obj):
        yield at, held


def _pod_causes(held: JsonObject, at: str) -> Iterator[Cause]:
    volumes = [str(one.get("name")) for one in held.get("volumes") or ()]
    yield from _repeated(volumes, f"{at}.volumes")
    names: list[str] = []
    for part in ("containers", "initContainers"):
        listed = held.get(part) or ()
        own = [str(one.get("name")) for one in listed]
        yield from _repeated(own, f"{at}.{part}")
        names += own
        for index, container in enumerate(listed):
            here = f"{at}.{part}[{index}]"
            for place, mount in enumerate(container.get("volumeMounts") or ()):
                name = mount.get("name")
                if name and name not in volumes:
                    where = f"{here}.volumeMounts[{place}].name"
                    yield Cause(
                        where, "FieldValueNotFound", f"Not found: {shown(name)}"
                    )


def _repeated(names: list[str], at: str) -> Iterator[Cause]:
    for index, name in enumerate(names):
        if name in names[:index]:
            why = f"Duplicate value: {shown(name)}"
            yield Cause(f"{at}[{index}].name", "FieldValueDuplicate", why)


def _kind_causes(kind: str, held: JsonObject) -> Iterator[Cause]:
    match kind:
        case "Job" | "CronJob":
            path = "jobTemplate.spec.template" if kind == "CronJob" else "template"
            if dig(held, f"{path}.spec.restartPolicy") in (None, "Always"):
                why = 'Required value: valid values: "OnFailure", "Never"'
                yield Cause(
                    f"spec.{path}.spec.restartPolicy", "FieldValueRequired", why
                )
            schedule = held.get("schedule")
            if schedule and (problem := schedule_problem(str(schedule))):
                yield _invalid("spec.schedule", schedule, problem)
        case "PersistentVolumeClaim":
            if not dig(held, "resources.requests.storage"):
                at = "spec.resources[storage]"
                yield Cause(at, "FieldValueRequired", "Required value")
        case "DaemonSet" | "StatefulSet":
            yield from _strategy_causes(kind, held.get("updateStrategy") or {})
        case "Deployment":
            strategy = held.get("strategy") or {}
            yield from _strategy_causes(kind, strategy)
            if strategy.get("type") == "Recreate" and "rollingUpdate" in strategy:
                why = "Forbidden: may not be specified when strategy `type` is "
                at = "spec.strategy.rollingUpdate"
                yield Cause(at, "FieldValueForbidden", f"{why}'Recreate'")
        case "Service":
            yield from _service_causes(held)
        case "Ingress" if not held.get("rules") and "defaultBackend" not in held:
            why = "either `defaultBackend` or `rules` must be specified"
            yield Cause("spec", "FieldValueInvalid", f"Invalid value: null: {why}")
        case "PodDisruptionBudget":
            if "minAvailable" in held and "maxUnavailable" in held:
                why = "minAvailable and maxUnavailable cannot be both set"
                yield _invalid("spec", held, why)


def _strategy_causes(kind: str, strategy: JsonObject) -> Iterator[Cause]:
    sort = strategy.get("type")
    field, known = _STRATEGIES[kind]
    if sort is None or sort in known:
        return
    value = f'{{"Type":{shown(sort)},"RollingUpdate":null}}'
    choices = ", ".join(shown(one) for one in known)
    if kind == "StatefulSet":
        why = f"Invalid value: {value}: must be 'RollingUpdate' or 'OnDelete'"
        yield Cause(field, "FieldValueInvalid", why)
    else:
        why = f"Unsupported value: {value}: supported values: {choices}"
        yield Cause(field, "FieldValueNotSupported", why)


def _service_causes(held: JsonObject) -> Iterator[Cause]:
    ports, sort = held.get("ports") or [], held.get("type")
    headless = held.get("clusterIP") == "None"
    if not ports and not headless and sort != "ExternalName":
        yield Cause("spec.ports", "FieldValueRequired", "Required value")
    if len(ports) > 1:
        for index, port in enumerate(ports):
            if not port.get("name"):
                at = f"spec.ports[{index}].name"
                yield Cause(at, "FieldValueRequired", "Required value")
        names = [str(port["name"]) for port in ports if port.get("name")]
        yield from _repeated(names, "spec.ports")
    if sort == "ExternalName" and not held.get("externalName"):
        yield Cause("spec.externalName", "FieldValueRequired", "Required value")


def _change_causes(kind: str, old: JsonObject, new: JsonObject) -> Iterator[Cause]:
    if kind in ("Deployment", "ReplicaSet", "DaemonSet"):
        yield from _fixed(old, new, "selector")
    elif kind == "Job":
        if old.get("completionMode") != "Indexed":
            yield from _fixed(old, new, "completions")
        yield from _fixed(old, new, "selector")
        if not old.get("suspend"):
            yield from _fixed(old, new, "template")
    elif kind == "Service":
        had, has = old.get("clusterIP"), new.get("clusterIP")
        kept = "ExternalName" not in (old.get("type"), new.get("type"))
        if kept and had and had != has:
            why = f"Invalid value: {_json([has])}: may not change once set"
            yield Cause("spec.clusterIPs[0]", "FieldValueInvalid", why)
    elif kind in _SETTLED:
        free, why = _SETTLED[kind]
        may_grow = bool(old.get("volumeName"))
        before, after = (
            _settled(kind, one, free, may_grow=may_grow) for one in (old, new)
        )
        if before != after:
            yield Cause("spec", "FieldValueForbidden", f"Forbidden: {why}")


def _settled(
    kind: str, held: JsonObject, free: tuple[str, ...], *, may_grow: bool
) -> JsonObject:
    """Return the immutable part of a spec.

    may_grow: whether this is a claim that has its volume, so its size may grow.
    """
    kept: JsonObject = copy_json({n: v for n, v in held.items() if n not in free})
    if kind == "Pod":
        for part in ("containers", "initContainers"):
            for container in kept.get(part) or ():
                container.pop("image", None)
    elif kind == "PersistentVolumeClaim" and may_grow:
        (kept.get("resources") or {}).pop("requests", None)
    return kept


def _fixed(old: JsonObject, new: JsonObject, field: str) -> Iterator[Cause]:
    if old.get(field) != new.get(field):
        yield _invalid(f"spec.{field}", new.get(field), "field is immutable")


def _invalid(at: str, value: Any, why: str) -> Cause:
    text = shown(value) if isinstance(value, (str, int)) else _json(value)
    return Cause(at, "FieldValueInvalid", f"Invalid value: {text}: {why}")


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
