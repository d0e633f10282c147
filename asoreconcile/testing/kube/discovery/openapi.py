"""OpenAPI of the served kinds, for clients that validate, explain and complete. Pure.

CRD kinds have the schemas of their CRDs, built-in kinds those of `messages`, without
descriptions. That is enough to find misspelt fields.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.discovery.paths import operations
from asoreconcile.testing.kube.kinds.builtin import schema_for
from asoreconcile.testing.kube.kinds.resources import RestMapper, RestResource
from asoreconcile.testing.kube.wire.messages import schema_of
from asoreconcile.testing.kube.wire.status import PageNotFoundError

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXT: JsonObject = {"type": "string"}
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION: JsonObject = {
    **_TEXT,
    "description": (
        "APIVersion defines the versioned schema of this representation of an object. "
        "Servers should convert recognized schemas to the latest internal value, and "
        f"may reject unrecognized values. More info: {_CONVENTIONS}#resources"
    ),
}
_KIND: JsonObject = {
    **_TEXT,
    "description": (
        "Kind is a string value representing the REST resource this object represents. "
        "Servers may infer this from the endpoint the client submits requests to. "
        f"Cannot be updated. In CamelCase. More info: {_CONVENTIONS}#types-kinds"
    ),
}
_V3, _V2 = "#/components/schemas/", "#/definitions/"
_INT_OR_STRING = "x-kubernetes-int-or-string"
# The two types of built-in kinds that are a number or text, by their formats.
_EITHER: Mapping[str, tuple[str, JsonObject]] = {
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [_TEXT, {"type": "number"}]},
    ),
    "int-or-string": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"oneOf": [{"type": "integer"}, _TEXT], "format": "int-or-string"},
    ),
}
_NOT_IN_V2 = ("anyOf", "oneOf", "allOf", "not", "nullable", "default")


def v3_index(kinds: RestMapper) -> JsonObject:
    """Return `/openapi/v3`: the paths of the documents, with hashes of
    their contents.
    """
    paths = {_base(resource): None for resource in kinds.all()}
    at = f"?hash={kinds.stamp:X}"
    return {
        "paths": {
            path: {"serverRelativeURL": f"/openapi/v3/{path}{at}"} for path in paths
        }
    }


def v3(kinds: RestMapper, path: str) -> JsonObject:
    """Return `/openapi/v3/PATH`: one group and version. Raises StatusError 404."""
    chosen = [resource for resource in kinds.all() if _base(resource) == path]
    if not chosen:
        raise PageNotFoundError
    custom = all(resource.is_custom for resource in chosen)
    title = "Kubernetes CRD Swagger" if custom else "Kubernetes"
    paths: JsonObject = {}
    for resource in chosen:
        paths |= operations(resource, f"/{path}", _V3 + name_of(resource))
    return {
        "openapi": "3.0.0",
        "info": {"title": title, "version": "v0.1.0" if custom else "v1.36.0"},
        "paths": paths,
        "components": {"schemas": _as_v3(_schemas(chosen, _V3), custom=custom)},
    }


def v2(kinds: RestMapper) -> JsonObject:
    """Return `/openapi/v2` in JSON, without the parts that version 2 cannot express."""
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": {},
        "definitions": {
            name: _as_v2(schema) for name, schema in _schemas(kinds.all(), _V2).items()
        },
    }


def name_of(resource: RestResource) -> str:
    """Return the name of a kind's schema."""
    if resource.is_custom:
        parts = [*reversed(resource.group.split("."))]
    elif resource.group == "apiextensions.k8s.io":
        parts = ["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions"]
    else:
        parts = ["io.k8s.api", resource.group.partition(".")[0] or "core"]
    return ".".join([*parts, resource.version, resource.kind])


def _base(resource: RestResource) -> str:
    root = "apis" if resource.group else "api"
    return f"{root}/{resource.api_version}"


def _schemas(chosen: Iterable[RestResource], at: str) -> JsonObject:
    schemas: JsonObject = {
        f"{_META}.ObjectMeta": schema_of("ObjectMeta"),
        f"{_META}.ListMeta": {
            "type": "object",
            "properties": {"resourceVersion": _TEXT, "continue": _TEXT},
        },
    }
    for resource in chosen:
        name = name_of(resource)
        schemas[name] = _with_kind(_schema(resource), resource, f"{at}{_META}.")
        items = {"type": "array", "items": {"$ref": at + name}}
        listed: JsonObject = {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": _TEXT,
                "kind": _TEXT,
                "metadata": {"$ref": f"{at}{_META}.ListMeta"},
                "items": items,
            },
        }
        listed["x-kubernetes-group-version-kind"] = [_gvk(resource, "List")]
        schemas[f"{name}List"] = listed
    return schemas


def _schema(resource: RestResource) -> JsonObject:
    if resource.schema is not None:
        return resource.schema
    return schema_for(resource.kind, resource.group) or _OPEN


def _with_kind(schema: JsonObject, resource: RestResource, meta: str) -> JsonObject:
    properties: JsonObject = {
        **(schema.get("properties") or {}),
        "apiVersion": _API_VERSION,
        "kind": _KIND,
        "metadata": {"$ref": f"{meta}ObjectMeta"},
    }
    return {
        **schema,
        "properties": properties,
        "x-kubernetes-group-version-kind": [_gvk(resource)],
    }


def _gvk(resource: RestResource, suffix: str = "") -> JsonObject:
    return {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind + suffix,
    }


def _as_v3(schemas: JsonObject, *, custom: bool) -> JsonObject:
    """Return schemas with references to the types that are a number or text.

    custom: whether the schemas are CRDs', which stay as their authors wrote them.
    """
    if custom:
        return schemas
    types = dict(_EITHER.values())
    return {**types, **{name: _referring(one) for name, one in schemas.items()}}


def _referring(part: Any) -> Any:
    if isinstance(part, list):
        return [_referring(one) for one in part]
    if not isinstance(part, dict):
        return part
    if part.get(_INT_OR_STRING) and part.get("format") in _EITHER:
        name, _ = _EITHER[part["format"]]
        return {"$ref": f"{_V3}{name}"}
    return {name: _referring(inner) for name, inner in part.items()}


def _as_v2(schema: Any) -> Any:
    """Return a schema without what OpenAPI 2 cannot express."""
    if not isinstance(schema, dict):
        return schema
    kept: JsonObject = {}
    for name, value in schema.items():
        if name == "properties":
            kept[name] = {key: _as_v2(inner) for key, inner in value.items()}
        elif name in ("items", "additionalProperties"):
            kept[name] = _as_v2(value)
        elif name not in _NOT_IN_V2:
            kept[name] = value
    if schema.get("nullable") or schema.get(_INT_OR_STRING):
        kept.pop("type", None)  # a null or a number would not match the type
        kept.pop("properties", None)
        kept.pop("items", None)
    return kept
