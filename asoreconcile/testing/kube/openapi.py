"""OpenAPI of the served kinds: enough for clients to validate and to explain fields.

CRD kinds have their whole schema; built-in kinds are open objects, as this server does
not validate them.
"""

from collections.abc import Iterable

from asoreconcile.objects import JsonObject
from asoreconcile.testing.kube.kinds import Kinds, Resource
from asoreconcile.testing.kube.status import unknown_path

_OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_INFO: JsonObject = {"title": "Kubernetes", "version": "v1.36.0"}


def v3_index(kinds: Kinds) -> JsonObject:
    """`/openapi/v3`."""
    paths = {_base(resource): None for resource in kinds.all()}
    return {
        "paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}
    }


def v3(kinds: Kinds, path: str) -> JsonObject:
    """`/openapi/v3/PATH`: one group and version. Raises StatusError 404."""
    chosen = [resource for resource in kinds.all() if _base(resource) == path]
    if not chosen:
        raise unknown_path()
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": dict(_path(resource) for resource in chosen),
        "components": {"schemas": _schemas(chosen)},
    }


def v2(kinds: Kinds) -> JsonObject:
    """`/openapi/v2`, in JSON."""
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": {},
        "definitions": _schemas(kinds.all()),
    }


def _base(resource: Resource) -> str:
    root = "apis" if resource.group else "api"
    return f"{root}/{resource.api_version}"


def _gvk(resource: Resource) -> JsonObject:
    return {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
    }


def _path(resource: Resource) -> tuple[str, JsonObject]:
    middle = "namespaces/{namespace}/" if resource.namespaced else ""
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation", "force")
    ]
    patch = {
        "operationId": f"patch{resource.kind}",
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _gvk(resource),
    }
    path = f"/{_base(resource)}/{middle}{resource.plural}/{{name}}"
    return path, {"patch": patch}


def _schemas(chosen: Iterable[Resource]) -> JsonObject:
    schemas: JsonObject = {}
    for resource in chosen:
        parts = reversed(resource.group.split(".")) if resource.group else ["core"]
        name = ".".join([*parts, resource.version, resource.kind])
        schema = {**(resource.schema or _OPEN)}
        properties = dict(schema.get("properties") or {})
        properties |= {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
        }
        schema["properties"] = properties
        schema["x-kubernetes-group-version-kind"] = [_gvk(resource)]
        schemas[name] = schema
    return schemas
