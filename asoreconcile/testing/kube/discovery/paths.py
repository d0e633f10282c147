"""The operations of a resource, listed by path as in OpenAPI. Pure."""

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.kinds.resources import RestResource

_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_LIST = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_TYPES = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_COLLECTION = (
    ("get", "list", _LIST),
    ("post", "post", _WRITE),
    ("delete", "deletecollection", (*_DELETE, *_LIST)),
)
_OBJECT = (
    ("get", "get", ("resourceVersion",)),
    ("put", "put", _WRITE),
    ("delete", "delete", _DELETE),
    ("patch", "patch", (*_WRITE, "force")),
)


def operations(resource: RestResource, base: str, schema: str) -> JsonObject:
    """Return all paths of a resource.

    base: path of the resource's version.
    schema: reference to the resource's schema.
    """
    middle = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{base}{middle}/{resource.plural}"
    found: JsonObject = {
        collection: _operations(resource, _COLLECTION, schema),
        f"{collection}/{{name}}": _operations(resource, _OBJECT, schema),
    }
    if resource.namespaced:
        everywhere = f"{base}/{resource.plural}"
        found[everywhere] = _operations(resource, _COLLECTION[:1], schema)
    changes = tuple(one for one in _OBJECT if one[0] != "delete")
    for part in resource.subresources:
        path = f"{collection}/{{name}}/{part}"
        found[path] = _operations(resource, changes, schema)
    return found


def _operations(
    resource: RestResource,
    chosen: tuple[tuple[str, str, tuple[str, ...]], ...],
    schema: str,
) -> JsonObject:
    kind = {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
    }
    content = {"application/json": {"schema": {"$ref": schema}}}
    found: JsonObject = {}
    for method, action, parameters in chosen:
        operation: JsonObject = {
            "operationId": f"{action}{resource.kind}",
            "parameters": [_parameter(name) for name in parameters],
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        }
        if action in ("post", "put"):
            operation["requestBody"] = {"content": content, "required": True}
        if action == "patch":
            patch = {sort: {"schema": {"type": "object"}} for sort in _PATCHES}
            operation["requestBody"] = {"content": patch, "required": True}
        found[method] = operation
    return found


def _parameter(name: str) -> JsonObject:
    schema = {"type": _TYPES.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": "query", "schema": schema}
