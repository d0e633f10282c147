"""The columns that kubectl shows of built-in kinds. Pure."""

from datetime import datetime

from asoreconcile.base.objects import JsonObject, dig, metadata
from asoreconcile.testing.kube.reading import workloadcolumns
from asoreconcile.testing.kube.reading.ages import age
from asoreconcile.testing.kube.reading.columns import AGE, Column, Show


def columns_of(kind: str) -> tuple[Column, ...]:
    """Return a kind's columns without the name."""
    return _COLUMNS.get(kind) or workloadcolumns.COLUMNS.get(kind, (AGE,))


def _at(path: str) -> Show:
    return lambda obj, _: dig(obj, path) or ""


def _size(*fields: str) -> Show:
    return lambda obj, _: sum(len(obj.get(field) or ()) for field in fields)


def _validations(obj: JsonObject, _: datetime) -> int:
    return len(dig(obj, "spec.validations") or ())


def _involved(obj: JsonObject, _: datetime) -> str:
    found = obj.get("involvedObject") or {}
    kind, name = str(found.get("kind") or "").lower(), found.get("name")
    return f"{kind}/{name}" if name else kind


def _source(obj: JsonObject, _: datetime) -> str:
    found = obj.get("source") or {}
    component = found.get("component") or obj.get("reportingComponent") or ""
    host = found.get("host") or obj.get("reportingInstance")
    return f"{component}, {host}" if host else str(component)


def _last_seen(obj: JsonObject, now: datetime) -> str:
    series = obj.get("series") or {}
    last = series.get("lastObservedTime") or obj.get("lastTimestamp")
    return age(last, now) if last else _first_seen(obj, now)


def _first_seen(obj: JsonObject, now: datetime) -> str:
    return age(obj.get("firstTimestamp") or obj.get("eventTime"), now)


def _count(obj: JsonObject, _: datetime) -> int:
    return (obj.get("series") or {}).get("count") or obj.get("count") or 1


def _role(obj: JsonObject, _: datetime) -> str:
    return f"{dig(obj, 'roleRef.kind')}/{dig(obj, 'roleRef.name')}"


def _subjects(kind: str) -> Show:
    def shown(obj: JsonObject, _: datetime) -> str:
        chosen = [s for s in obj.get("subjects") or () if s.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{s.get('namespace', '')}/{s['name']}" for s in chosen)
        return ", ".join(s["name"] for s in chosen)

    return shown


_CREATED = Column("Created At", _at("metadata.creationTimestamp"), "date")
_BINDING = (
    Column("Role", _role),
    AGE,
    Column("Users", _subjects("User"), is_wide=True),
    Column("Groups", _subjects("Group"), is_wide=True),
    Column("ServiceAccounts", _subjects("ServiceAccount"), is_wide=True),
)
_WEBHOOKS = (Column("Webhooks", _size("webhooks"), "integer"), AGE)
_COLUMNS: dict[str, tuple[Column, ...]] = {
    "ConfigMap": (Column("Data", _size("data", "binaryData")), AGE),
    "Secret": (Column("Type", _at("type")), Column("Data", _size("data")), AGE),
    "Namespace": (Column("Status", _at("status.phase")), AGE),
    "Lease": (Column("Holder", _at("spec.holderIdentity")), AGE),
    "Role": (_CREATED,),
    "ClusterRole": (_CREATED,),
    "CustomResourceDefinition": (_CREATED,),
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingAdmissionPolicy": (
        Column("Validations", _validations, "integer"),
        Column("ParamKind", _at("spec.paramKind.kind")),
        AGE,
    ),
    "ValidatingAdmissionPolicyBinding": (
        Column("PolicyName", _at("spec.policyName")),
        Column("ParamRef", _at("spec.paramRef.name")),
        AGE,
    ),
    "Event": (
        Column("Last Seen", _last_seen),
        Column("Type", _at("type")),
        Column("Reason", _at("reason")),
        Column("Object", _involved),
        Column("Subobject", _at("involvedObject.fieldPath"), is_wide=True),
        Column("Source", _source, is_wide=True),
        Column("Message", lambda obj, _: str(obj.get("message") or "").strip()),
        Column("First Seen", _first_seen, is_wide=True),
        Column("Count", _count, is_wide=True),
        Column(
            "Name", lambda obj, _: metadata(obj)["name"], is_wide=True, format="name"
        ),
    ),
}
