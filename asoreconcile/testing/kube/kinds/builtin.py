"""The API server's treatment of built-in kinds: types, defaults, and their own rules.

Raises StatusError 400 for objects that cannot be read, and yields causes for Invalid.
CustomResourceDefinitions have checks of their own, in `crds`.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from asoreconcile.base.objects import JsonObject, gvk_of, metadata, spec
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.access import rbacobjects
from asoreconcile.testing.kube.fields import schema
from asoreconcile.testing.kube.kinds import (
    events,
    policyobjects,
    secrets,
    webhookobjects,
    workloadchecks,
    workloaddefaults,
    workloadrules,
    workloads,
)
from asoreconcile.testing.kube.wire.messages import is_message, schema_of
from asoreconcile.testing.kube.wire.status import bad_request

_OWN_CHECKS = "CustomResourceDefinition"
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
    "'[-._a-zA-Z0-9]+')"
)
_MICROTIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_LARGEST_BYTES = 1 << 20
_IMMUTABLE = "Forbidden: field is immutable when `immutable` is set"
_BASE64 = re.compile(r"[A-Za-z0-9+/]*=*")
_SHOWN_EMPTY = (
    *("metadata", "spec", "status", "involvedObject", "source"),
    *("regarding", "deprecatedSource"),
)
_GO_KINDS = {"integer": "number", "boolean": "bool"}
_GO_TYPES = {"object": "map[string]string", "array": "[]string", "integer": "int32"}


@cache
def schema_for(kind: str, group: str = "") -> JsonObject | None:
    """Return the OpenAPI schema of a built-in kind, or None."""
    if group == events.GROUP:
        return schema_of(f"{group}/{kind}")
    if workloads.kind_facts(group, kind) is not None:
        return workloads.schema_of_kind(kind)
    for known in (webhookobjects.SCHEMAS, policyobjects.SCHEMAS):
        if kind in known:
            return known[kind]
    return schema_of(kind) if is_message(kind) and kind != _OWN_CHECKS else None


@cache
def _typed(kind: str, group: str) -> JsonObject:
    """Return the schema without formats, because Go's types check no formats."""
    found: JsonObject = _without_formats(schema_for(kind, group))
    return found


def _without_formats(known: Any) -> Any:
    if isinstance(known, list):
        return [_without_formats(one) for one in known]
    if not isinstance(known, dict):
        return known
    is_format = isinstance(known.get("format"), str)
    return {
        name: _without_formats(value)
        for name, value in known.items()
        if not (is_format and name == "format")
    }


def take_in(
    kind: str, group: str, version: str, obj: JsonObject
) -> tuple[JsonObject, list[str]]:
    """Return a copy with checked types and defaults, and the unknown fields."""
    known = schema_for(kind, group)
    if known is None:
        return obj, []
    is_workload = workloads.kind_facts(group, kind) is not None
    admit = workloads.admitted if is_workload else _admitted
    result, unknown = admit(kind, group, obj)
    if is_workload:
        more = workloadchecks.unreadable(kind, result)
    else:
        more = (cause.message for cause in schema.causes(_typed(kind, group), result))
    if (why := next(_mistyped(known, result, kind), "")) or (why := next(more, "")):
        raise _unreadable(kind, version, why)
    if is_workload:
        workloaddefaults.fill_in(result)
    else:
        _drop_empty(result)
    for at, value in _times(result):
        if value is not None and not _MICROTIME.fullmatch(str(value)):
            layout = "2006-01-02T15:04:05.000000Z07:00"
            why = f'{at}: parsing time "{value}" as "{layout}": cannot parse'
            raise _unreadable(kind, version, why)
    match kind:
        case "Secret":
            _take_in_secret(result, version)
        case "Event":
            result = events.with_all_fields(result)
        case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
            webhookobjects.take_in(result)
        case policyobjects.POLICY | policyobjects.BINDING:
            policyobjects.take_in(result)
        case "ClusterRole" | "Role" | "ClusterRoleBinding" | "RoleBinding":
            rbacobjects.take_in(result)
        case "Namespace":
            name = str(metadata(result).get("name") or "")
            labels = metadata(result).setdefault("labels", {})
            labels["kubernetes.io/metadata.name"] = name
            result["spec"] = {"finalizers": ["kubernetes"]}
            result.setdefault("status", {"phase": "Active"})
    return result, unknown


def _admitted(kind: str, group: str, obj: JsonObject) -> tuple[JsonObject, list[str]]:
    return schema.admit(schema_for(kind, group) or {}, obj)


def causes(obj: JsonObject, before: JsonObject | None) -> Iterator[Cause]:
    """Yield the violations of a built-in kind's own rules.

    before: the object that is replaced, or None.
    """
    if workloads.kind_facts(gvk_of(obj).group, str(obj.get("kind"))) is not None:
        yield from workloadrules.causes(obj, before)
        return
    match obj.get("kind"):
        case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
            yield from webhookobjects.causes(obj)
        case policyobjects.POLICY | policyobjects.BINDING:
            yield from policyobjects.causes(obj)
        case "ClusterRole" | "Role" | "ClusterRoleBinding" | "RoleBinding":
            yield from rbacobjects.causes(obj, before)
        case "ConfigMap":
            yield from _size_causes(obj, "data", "binaryData")
            yield from _key_causes(obj, "data")
            yield from _key_causes(obj, "binaryData")
            for key in obj.get("data") or {}:
                if key in (obj.get("binaryData") or {}):
                    why = "duplicate of key present in binaryData"
                    yield _invalid(f"data[{key}]", key, why)
            yield from _immutable_causes(obj, before, ("data", "binaryData"))
        case "Secret":
            yield from _size_causes(obj, "data")
            yield from _key_causes(obj, "data")
            yield from secrets.causes(obj)
            if before is not None and obj.get("type") != before.get("type"):
                yield _invalid("type", str(obj.get("type")), "field is immutable")
            yield from _immutable_causes(obj, before, ("data",))
        case "Lease":
            seconds = spec(obj).get("leaseDurationSeconds")
            if seconds is not None and seconds <= 0:
                why = f"Invalid value: {seconds}: must be greater than 0"
                at = "spec.leaseDurationSeconds"
                yield Cause(at, "FieldValueInvalid", why)
        case "Event":
            yield from events.causes(obj, before)


def _take_in_secret(obj: JsonObject, version: str) -> None:
    data = dict(obj.get("data") or {})
    for value in data.values():
        try:
            base64.b64decode(str(value), validate=True)
        except (binascii.Error, ValueError) as error:
            place = _BASE64.match(str(value))
            at = place.end() if place else 0
            why = f"illegal base64 data at input byte {at}"
            raise _unreadable("Secret", version, why) from error
    for key, value in (obj.pop("stringData", None) or {}).items():
        data[key] = base64.b64encode(str(value).encode()).decode()
    if data:
        obj["data"] = data
    obj.setdefault("type", "Opaque")


def _times(obj: JsonObject) -> Iterator[tuple[str, Any]]:
    """Yield the times that must have six fractional digits of a second."""
    if obj.get("kind") == "Lease":
        for name in ("acquireTime", "renewTime"):
            yield f"spec.{name}", spec(obj).get(name)
    elif obj.get("kind") == "Event":
        yield "eventTime", obj.get("eventTime")


def _size_causes(obj: JsonObject, *fields: str) -> Iterator[Cause]:
    values = (v for field in fields for v in (obj.get(field) or {}).values())
    if sum(len(str(value)) for value in values) > _LARGEST_BYTES:
        at = "data" if obj.get("kind") == "Secret" else "[]"
        why = f"Too long: may not be more than {_LARGEST_BYTES} bytes"
        yield Cause(at, "FieldValueTooLong", why)


def _key_causes(obj: JsonObject, field: str) -> Iterator[Cause]:
    for key in obj.get(field) or {}:
        if not _KEY.fullmatch(key):
            yield _invalid(f"{field}[{key}]", key, _KEY_TEXT)


def _immutable_causes(
    obj: JsonObject, before: JsonObject | None, fields: tuple[str, ...]
) -> Iterator[Cause]:
    if before is None or not before.get("immutable"):
        return
    if not obj.get("immutable"):
        yield Cause("immutable", "FieldValueForbidden", _IMMUTABLE)
    for name in fields:
        if (obj.get(name) or {}) != (before.get(name) or {}):
            yield Cause(name, "FieldValueForbidden", _IMMUTABLE)


def _mistyped(part: JsonObject, value: Any, at: str) -> Iterator[str]:
    """Yield Go's messages about values with a wrong type."""
    expected = part.get("type", "")
    if value is not None and expected and not schema.is_a(value, expected):
        found = _GO_KINDS.get(schema.kind_of(value), schema.kind_of(value))
        wanted = _GO_TYPES.get(expected, expected)
        place = f"Go struct field {at} of type {wanted}"
        yield f"json: cannot unmarshal {found} into {place}"
    elif isinstance(value, dict):
        properties, extra = (
            part.get("properties") or {},
            part.get("additionalProperties"),
        )
        for name, inner in value.items():
            if name in properties:
                yield from _mistyped(properties[name], inner, f"{at}.{name}")
            elif isinstance(extra, dict):
                yield from _mistyped(extra, inner, at)
    elif isinstance(value, list) and isinstance(part.get("items"), dict):
        for item in value:
            yield from _mistyped(part["items"], item, at)


def _drop_empty(obj: JsonObject) -> None:
    """Remove the empty maps and lists that built-in kinds do not keep."""
    for name in [n for n, value in obj.items() if value in ({}, [])]:
        if name not in _SHOWN_EMPTY:
            del obj[name]


def _unreadable(kind: str, version: str, why: str) -> Exception:
    return bad_request(
        f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'
    )


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')
