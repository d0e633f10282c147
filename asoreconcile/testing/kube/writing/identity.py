"""The comparison of a body with its URL. Pure.

Raises StatusError 400, 409 and 422 as the API server does, which differs between custom
resources, built-in kinds, and the verbs.
"""

import orjson

from asoreconcile.base.objects import JsonObject, ObjectKey, metadata
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.fields.schema import shown
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.wire import complaints
from asoreconcile.testing.kube.wire.status import (
    StatusError,
    bad_request,
    conflict,
    invalid,
)

# A kind that has two versions.
_TWICE = (("Event", "v1"), ("Event", "events.k8s.io/v1"))


def check_kind(resource: RestResource, obj: JsonObject) -> None:
    """Check that the body of a POST or PUT has the resource's kind and version."""
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if resource.is_custom:
        if not kind:
            text = orjson.dumps(obj).decode()
            raise bad_request(
                "the object provided is unrecognized (must be of type "
                f"{resource.kind}): Object 'Kind' is missing in '{text}' "
                f"{complaints.excerpt(text.encode())}"
            )
        if version != resource.api_version:
            raise bad_request(
                f"the API version in the data ({version or ''}) does not match the "
                f"expected API version ({resource.api_version})"
            )
        if kind != resource.kind:
            raise _wrong(resource, obj, "kind", str(kind), resource.kind)
        return
    expected = (resource.kind, resource.api_version)
    if (kind or resource.kind, version or resource.api_version) != expected:
        if (kind, version) in _TWICE:
            raise bad_request(
                f"the API version in the data ({version}) does not match the expected "
                f"API version ({resource.api_version})"
            )
        short = str(version or "").rpartition("/")[2]
        raise bad_request(
            f'{kind} in version "{short}" cannot be handled as a {resource.kind}: no '
            f'kind "{kind}" is registered for version "{version}" in scheme '
            '"pkg/runtime/scheme.go:111"'
        )


def check_patched_kind(resource: RestResource, obj: JsonObject) -> None:
    """Check that a patch has not changed an object's kind."""
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if not kind:
        text = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS).decode()
        raise patch_refused(obj, f"Object 'Kind' is missing in '{text}'")
    if kind != resource.kind:
        raise _wrong(resource, obj, "kind", str(kind), resource.kind)
    if version != resource.api_version:
        wanted = resource.api_version
        raise _wrong(resource, obj, "apiVersion", str(version), wanted)


def patch_refused(obj: JsonObject, why: str) -> StatusError:
    """Return the refusal of a patch's result, which the message quotes."""
    text = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
    quoted = orjson.dumps(text.decode()).decode()
    cause = Cause("patch", "FieldValueInvalid", f"Invalid value: {quoted}: {why}")
    return invalid("", "", "", [cause])


def check_applied(resource: RestResource, obj: JsonObject) -> None:
    """Check that the body of an apply has kind and version, and no managed fields."""
    stated = (obj.get("apiVersion"), obj.get("kind"))
    if stated != (resource.api_version, resource.kind):
        version = str(stated[0] or "/")
        version = version if "/" in version else f"/{version}"
        raise bad_request(f"invalid object type: {version}, Kind={stated[1] or ''}")
    meta = obj.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        raise bad_request("error decoding YAML: metadata is no object")
    if (meta or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")


def check_named(key: ObjectKey, configuration: JsonObject) -> None:
    """Check that the body of an apply that creates has the object's name."""
    if not metadata(configuration).get("name"):
        raise bad_request(
            f"the name of the object ({key.name} based on URL) was undeterminable: "
            "name must be provided"
        )


def check_key(resource: RestResource, key: ObjectKey, obj: JsonObject) -> None:
    """Check that a body names the object of its URL.

    The name of the key is "" if the URL has none.
    """
    meta = metadata(obj)
    if key.name and meta.get("name") not in (None, "", key.name):
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the "
            f"URL ({key.name})"
        )
    own = key.namespace if resource.namespaced else ""
    if meta.get("namespace") not in (None, "", own):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on "
            "the request"
        )


def check_replaced(
    resource: RestResource, before: JsonObject, wanted: JsonObject
) -> None:
    """Check the preconditions in a PUT's body."""
    meta, present = metadata(wanted), metadata(before)
    name = str(present["name"])
    if meta.get("uid") not in (None, "", present["uid"]):
        raise _another(
            resource,
            ObjectKey(str(present.get("namespace") or ""), name),
            str(meta["uid"]),
            str(present["uid"]),
        )
    # Most built-in kinds allow an unconditional update, custom resources never do.
    if resource.is_custom and not meta.get("resourceVersion"):
        cause = Cause(
            "metadata.resourceVersion",
            "FieldValueInvalid",
            "Invalid value: 0: must be specified for an update",
        )
        raise invalid(resource.plural, resource.group, name, [cause])
    _check_version(resource, before, wanted)


def _another(
    resource: RestResource, key: ObjectKey, stated: str, present: str
) -> StatusError:
    group = f"{resource.group}/" if resource.is_custom else ""
    namespace = f"{key.namespace}/" if key.namespace else ""
    return conflict(
        resource.plural,
        resource.group,
        key.name,
        "StorageError: invalid object, Code: 4, Key: "
        f"/registry/{group}{resource.plural}/{namespace}{key.name}, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
        f"precondition: {stated}, UID in object meta: {present}",
    )


def check_patched(
    resource: RestResource, before: JsonObject, wanted: JsonObject
) -> None:
    """Check the preconditions in a patch's result."""
    meta, present = metadata(wanted), metadata(before)
    _check_version(resource, before, wanted)
    if meta.get("uid") not in (None, "", present["uid"]):
        why = f'Invalid value: "{meta["uid"]}": field is immutable'
        causes = [Cause("metadata.uid", "FieldValueInvalid", why)] * 2
        raise invalid(resource.kind, resource.group, str(present["name"]), causes)


def check_deletion(
    resource: RestResource, before: JsonObject, wanted: JsonObject
) -> None:
    """Check that only a deletion sets the time of deletion."""
    meta, present = metadata(wanted), metadata(before)
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        value = meta.get(field)
        if value is None or value == present.get(field):
            continue
        why = f"Invalid value: {shown(value)}: field is immutable"
        cause = Cause(f"metadata.{field}", "FieldValueInvalid", why)
        name = str(present["name"])
        raise invalid(
            resource.kind, resource.table.group, name, _repeated(resource, cause)
        )


def _check_version(
    resource: RestResource, before: JsonObject, wanted: JsonObject
) -> None:
    stated = metadata(wanted).get("resourceVersion")
    if stated not in (None, "", metadata(before)["resourceVersion"]):
        name = str(metadata(before)["name"])
        raise conflict(resource.plural, resource.group, name)


def check_finalizers(
    resource: RestResource, before: JsonObject, after: JsonObject
) -> None:
    """Check that no finalizer is added while an object is being deleted."""
    if not metadata(before).get("deletionTimestamp"):
        return
    old = metadata(before).get("finalizers") or []
    added = [f for f in metadata(after).get("finalizers") or [] if f not in old]
    if not added:
        return
    shown = ", ".join(f'"{name}"' for name in added)
    cause = Cause(
        "metadata.finalizers",
        "FieldValueForbidden",
        "Forbidden: no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{shown}}}",
    )
    name = str(metadata(before)["name"])
    raise invalid(resource.kind, resource.group, name, _repeated(resource, cause))


def _repeated(resource: RestResource, cause: Cause) -> list[Cause]:
    """Return a cause twice for custom resources, whose metadata is checked twice."""
    return [cause, cause] if resource.is_custom else [cause]


def _wrong(
    resource: RestResource, obj: JsonObject, field: str, stated: str, wanted: str
) -> StatusError:
    cause = Cause(
        field, "FieldValueInvalid", f'Invalid value: "{stated}": must be {wanted}'
    )
    kind, name = str(obj.get("kind")), str(metadata(obj).get("name") or "")
    return invalid(kind, resource.group, name, [cause])
